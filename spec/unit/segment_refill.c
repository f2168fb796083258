/* segment_refill.c -- the refiller of a counter, event by event: when it requests a range, how large, and how it reacts
 * to each reply. */
#include "base/array.h"
#include "check.h"
#include "segment/refill.h"

#define S ((int64_t)1000000)

static struct vs_refill refill;
static struct vs_refill_event ev;
static struct vs_refill_action did;

static void step(enum vs_refill_event_kind kind) {
    ev.kind = kind;
    vs_refill_step(&refill, &ev, &did);
}

#define DID(what) CHECK_EQ_I64(did.kind, what)

static void start_with(struct vs_refill_opts opts) {
    if (!opts.step) opts.step = 2000;
    if (!opts.step_max) opts.step_max = VS_STEP_MAX;
    if (!opts.delta) opts.delta = 1;
    vs_refill_init(&refill, &opts);
    ev = (struct vs_refill_event){.boot_us = 1000 * S, .due = true};
}

static void start(void) {
    start_with((struct vs_refill_opts){.step = 0});
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_TAKE);
    CHECK_EQ_U64(did.step, 2000);
}

static void wake_after(int64_t us) {
    ev.boot_us += us;
    step(VS_REFILL_WAKE);
}

static void reply(enum vs_outcome outcome) {
    ev.outcome = outcome;
    step(VS_REFILL_REPLY);
}

static void grants(uint64_t from, uint64_t until) {
    ev.from = from;
    ev.until = until;
    reply(VS_STORE_OK);
}

static void published(enum vs_published how) {
    ev.published = how;
    if (how == VS_PUBLISHED && ev.granted < refill.range.until) ev.granted = refill.range.until;
    step(VS_REFILL_PUBLISHED);
}

/* Refills `count` numbers from `from` on, `us` after the last refill. */
static void refills(int64_t us, uint64_t from, uint64_t count) {
    wake_after(us);
    DID(VS_REFILL_TAKE);
    CHECK_EQ_U64(did.step, count);
    grants(from, from + count);
    DID(VS_REFILL_PUBLISH);
    published(VS_PUBLISHED);
    DID(VS_REFILL_SLEEP);
    CHECK(did.on_want);
}

/* ------------------------------------------------------------------ requesting */

static void asks_when_it_is_due(void) {
    start_with((struct vs_refill_opts){.step = 0});
    ev.due = false;
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_SLEEP);
    CHECK(did.on_want);
    CHECK_EQ_I64(did.until_boot_us, ev.boot_us + VS_REFILL_LOOK_US);
    ev.due = true;
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_TAKE);
    grants(1, 2001);
    DID(VS_REFILL_PUBLISH);
    CHECK_EQ_U64(did.range.first, 1);
    CHECK_EQ_U64(did.range.count, 2000);
    CHECK_EQ_U64(did.range.mark, 200);
    CHECK_EQ_U64(did.range.until, 2001);
}

static void steps_are_leafs(void) {
    uint64_t from = 1, loads[] = {2000, 2000, 4000, 8000, 16000};
    start_with((struct vs_refill_opts){.step = 0});
    for (size_t i = 0; i < VS_COUNT(loads); from += loads[i++])
        refills(60 * S, from, loads[i]);
    refills(20 * 60 * S, from, 16000);
    refills(31 * 60 * S, from + 16000, 8000);
}

static void the_rows_step_is_the_configured_one(void) {
    start_with((struct vs_refill_opts){.step = 0});
    ev.step = 500;
    refills(0, 1, 2000);
    refills(S, 2001, 500);
    ev.step = VS_RANGE_MAX + 1; /* mistyped, so it is ignored */
    refills(S, 2501, 1000);
    refills(31 * 60 * S, 3501, 500);
    refills(31 * 60 * S, 4001, 500);
}

/* Before the row was read, the refiller requests the row's own step. */
static void the_first_ranges_step_is_the_rows(void) {
    start();
    ev.step = 500;
    grants(1, 501);
    DID(VS_REFILL_PUBLISH);
    CHECK_EQ_U64(refill.step, 500);
    published(VS_PUBLISHED);
    refills(S, 501, 500);
    refills(S, 1001, 1000);
}

static void asks_earlier_where_the_store_is_slow(void) {
    start_with((struct vs_refill_opts){.step = 1000, .step_max = 1000});
    refills(0, 1, 1000);
    refills(0, 1001, 1000);
    wake_after(400000); /* 1000 numbers in 400 ms, and the reply takes 190 ms */
    DID(VS_REFILL_TAKE);
    ev.boot_us += 190000;
    grants(2001, 3001);
    CHECK_EQ_U64(did.range.mark, 50);
    start_with((struct vs_refill_opts){.step = 1000, .step_max = 1000});
    refills(0, 1, 1000);
    refills(0, 1001, 1000);
    wake_after(400000);
    ev.boot_us += 200000;
    grants(2001, 3001);
    CHECK_EQ_U64(did.range.mark, 0);
}

static void numbers_of_one_database_of_three(void) {
    start_with((struct vs_refill_opts){.step = 30, .delta = 3, .remainder = 2});
    step(VS_REFILL_WAKE);
    grants(100, 130);
    DID(VS_REFILL_PUBLISH);
    CHECK_EQ_U64(did.range.first, 101);
    CHECK_EQ_U64(did.range.stride, 3);
    CHECK_EQ_U64(did.range.count, 10);
}

/* ------------------------------------------------------------------ replies without a range */

static void backs_off(int64_t least, int64_t most) {
    DID(VS_REFILL_SLEEP);
    CHECK(!did.on_want);
    int64_t us = did.until_boot_us - ev.boot_us;
    if (us < least || us > most) CHECK_FAIL("sleeps %" PRId64 " us, want %" PRId64 " to %" PRId64, us, least, most);
}

static void a_store_that_is_down(void) {
    start();
    for (int i = 0; i < 30; i++) {
        reply(VS_STORE_DOWN);
        CHECK_HAS(refill.said, "is unreachable");
        int64_t most = S / 10 << (i < 6 ? i : 6);
        backs_off(most * 3 / 4, most);
        wake_after(did.until_boot_us - ev.boot_us);
        DID(VS_REFILL_TAKE);
        CHECK_EQ_U64(did.step, 2000);
    }
    grants(1, 2001);
    published(VS_PUBLISHED);
    CHECK_STR(refill.said, "");
    wake_after(S);
    reply(VS_STORE_DOWN);
    backs_off(S * 3 / 40, S / 10);
}

/* The event holds a range that looks like ours. It must not be used, because it may be another process's. */
static void an_unknown_commit_stays_unused(void) {
    start();
    ev.from = 1, ev.until = 2001;
    reply(VS_STORE_UNKNOWN);
    backs_off(S * 3 / 40, S / 10);
    CHECK_HAS(refill.said, "which stays unused");
    wake_after(S);
    DID(VS_REFILL_TAKE);
    grants(2001, 4001);
    DID(VS_REFILL_PUBLISH);
    CHECK_EQ_U64(did.range.first, 2001);
}

static void a_conflict_is_asked_again(void) {
    start();
    for (int i = 0; i < 3; i++) {
        reply(VS_STORE_CONFLICT);
        DID(VS_REFILL_TAKE);
    }
    reply(VS_STORE_CONFLICT);
    DID(VS_REFILL_SLEEP);
    CHECK_HAS(refill.said, "other processes changed the counter");
}

static void a_rejection_is_reported(void) {
    start();
    snprintf(ev.text, sizeof ev.text, "there is no tag 'orders'");
    reply(VS_STORE_REFUSED);
    backs_off(S * 3 / 4, S);
    CHECK_HAS(refill.said, "there is no tag 'orders'");
}

/* A database that was read-only rejects requests, and later grants ranges again. */
static void a_refusal_that_ends_is_noticed_within_6_4_s(void) {
    start();
    for (int i = 0; i < 30; i++) {
        snprintf(ev.text, sizeof ev.text, "the server is read-only");
        reply(VS_STORE_REFUSED);
        int64_t most = i < 3 ? S << i : 64 * S / 10;
        backs_off(most * 3 / 4, most);
        wake_after(did.until_boot_us - ev.boot_us);
        DID(VS_REFILL_TAKE);
    }
}

static void an_invalid_range_is_not_used(void) {
    static const struct {
        uint64_t from, until;
        const char *said;
    } rows[] = {{5, 5, "empty"},
                {9, 5, "positive"},
                {VS_NUMBER_MAX - 9, VS_NUMBER_MAX + 1, "2^63"},
                {1, VS_RANGE_MAX + 2, "longer"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        start();
        grants(rows[i].from, rows[i].until);
        backs_off(S * 3 / 4, S);
        CHECK_HAS(refill.said, rows[i].said);
    }
}

/* ------------------------------------------------------------------ a counter that went back */

static void a_counter_that_went_back_is_raised(void) {
    start();
    grants(1, 2001);
    published(VS_PUBLISHED);
    wake_after(S);
    grants(1001, 3001);
    DID(VS_REFILL_HALT);
    CHECK_HAS(refill.said, "went back");
    CHECK_HAS(refill.said, "1001");
    CHECK_HAS(refill.said, "2001");
    ev.stopped = true;
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_RAISE); /* at once, so that no other host is granted those numbers from now on */
    CHECK_EQ_U64(did.floor, 2001);
    reply(VS_STORE_UNKNOWN);
    backs_off(S * 3 / 4, S);
    wake_after(2 * S);
    DID(VS_REFILL_RAISE);          /* repeated until it succeeds */
    for (int i = 0; i < 10; i++) { /* the counter may be lowered again, and raising it does not end the stop */
        reply(VS_STORE_OK);
        DID(VS_REFILL_SLEEP);
        CHECK(!did.on_want);
        CHECK_EQ_I64(did.until_boot_us, ev.boot_us + VS_REFILL_RAISE_US);
        CHECK_HAS(refill.said, "went back");
        wake_after(VS_REFILL_RAISE_US);
        DID(VS_REFILL_RAISE);
        CHECK_EQ_U64(did.floor, 2001);
    }
    reply(VS_STORE_OK);
    ev.stopped = false; /* a person set the counter to 9000 */
    wake_after(S);
    DID(VS_REFILL_TAKE);
    grants(9000, 11000);
    DID(VS_REFILL_PUBLISH);
}

/* The range was requested before the counter went back, or another process of this host raised the counter first. */
static void a_range_after_a_stop_is_not_used(void) {
    start();
    ev.granted = 2001;
    ev.answered = 4001; /* of another refiller, which may be returning its range */
    ev.stopped = true;
    grants(2001, 4001);
    DID(VS_REFILL_RAISE);
    CHECK_EQ_U64(did.floor, 4001);
    start();
    grants(1, 2001);
    DID(VS_REFILL_PUBLISH);
    ev.stopped = true;
    published(VS_NOT_NEEDED);
    DID(VS_REFILL_SLEEP);
}

static void its_own_end_is_no_step_back(void) {
    start();
    grants(1, 2001);
    published(VS_PUBLISHED);
    wake_after(S);
    grants(2001, 4001);
    DID(VS_REFILL_PUBLISH);
}

/* Another refiller of the host was granted numbers up to 4001 during the call. Either this range was granted before and
 * the reply is late, or the database lost that grant in a failover and repeats its numbers. */
static void a_late_answer_is_not_used(void) {
    start();
    ev.granted = 4001;
    grants(1, 2001);
    DID(VS_REFILL_PUBLISH);
    published(VS_NOT_NEEDED);
    DID(VS_REFILL_SLEEP);
    wake_after(S);
    DID(VS_REFILL_TAKE);
    grants(4001, 6001);
    DID(VS_REFILL_PUBLISH);
    published(VS_NOT_NEEDED);
    DID(VS_REFILL_UNTAKE);
    CHECK_EQ_U64(did.unused.from, 4001);
    CHECK_EQ_U64(did.unused.until, 6001);
    reply(VS_STORE_CONFLICT);
    DID(VS_REFILL_SLEEP);
    wake_after(S);
    DID(VS_REFILL_TAKE);
    grants(2001, 4001); /* requested after everything below 4001 was granted */
    DID(VS_REFILL_HALT);
}

/* Numbers that a closed segment returned may be granted again, so a lower range does not prove that the counter went
 * back. */
static void a_closed_segment_goes_back(void) {
    start();
    refill.granted = 9001;
    ev.granted = 1;
    ev.closed = true;
    grants(1, 2001);
    DID(VS_REFILL_UNTAKE);
    reply(VS_STORE_OK);
    DID(VS_REFILL_CLOSE);
    ev.unused_count = 0; /* another refiller has claimed them */
    step(VS_REFILL_CLAIMED);
    DID(VS_REFILL_END);
}

/* Another refiller of the host was granted numbers above the start of this range, and has issued them. The database may
 * have lost that grant in a failover. Returning the range would let the next host issue the same numbers. */
static void a_repeated_range_is_not_returned(void) {
    start();
    ev.granted = 4001;
    ev.closed = true;
    grants(1, 2001);
    DID(VS_REFILL_CLOSE);
    start();
    grants(1, 2001);
    DID(VS_REFILL_PUBLISH);
    ev.granted = 4001;
    published(VS_SEGMENT_CLOSED);
    DID(VS_REFILL_CLOSE);
    start();
    refill.granted = 9001;
    ev.granted = 4001;
    ev.forgone = 1;
    grants(1, 2001);
    DID(VS_REFILL_SLEEP);
}

/* A rest that was returned after the request lowers the counter, so the reply may be below what was granted before. */
static void a_returned_rest_is_no_step_back(void) {
    start();
    refill.granted = 2001;
    ev.granted = 1500;
    ev.forgone = 1;
    grants(1500, 3500);
    DID(VS_REFILL_UNTAKE);
    reply(VS_STORE_OK);
    DID(VS_REFILL_SLEEP);
    wake_after(S);
    DID(VS_REFILL_TAKE);
    grants(1500, 3500);
    DID(VS_REFILL_PUBLISH);
}

/* ------------------------------------------------------------------ the end */

static void stop_with_two_left(void) {
    start();
    grants(1, 2001);
    ev.stop = true; /* in the middle of a refill: the range is published, and closed with the rest */
    published(VS_PUBLISHED);
    DID(VS_REFILL_SLEEP);
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_CLAIM);
    ev.unused_count = 2;
    ev.unused[0] = (struct vs_unused){2001, 4001, 1, 2001, 0, true};
    ev.unused[1] = (struct vs_unused){1500, 2001, 1, 1500, 0, true};
}

static void put_back(uint64_t from, bool is_kept) {
    DID(VS_REFILL_PUT_BACK);
    CHECK_EQ_U64(did.unused.from, from);
    ev.is_kept = is_kept;
    step(VS_REFILL_KEPT);
}

static void the_rest_is_given_back(void) {
    stop_with_two_left();
    step(VS_REFILL_CLAIMED);
    DID(VS_REFILL_UNTAKE);
    CHECK_EQ_U64(did.unused.from, 2001);
    CHECK_EQ_U64(did.unused.until, 4001);
    reply(VS_STORE_OK);
    DID(VS_REFILL_UNTAKE);
    CHECK_EQ_U64(did.unused.from, 1500);
    CHECK_EQ_U64(did.unused.until, 2001);
    reply(VS_STORE_OK);
    DID(VS_REFILL_END);
    CHECK_STR(refill.said, "");
}

static void each_rest_is_returned_once(void) {
    for (int outcome = VS_STORE_CONFLICT; outcome <= VS_STORE_UNKNOWN; outcome++) {
        stop_with_two_left();
        step(VS_REFILL_CLAIMED);
        DID(VS_REFILL_UNTAKE);
        reply((enum vs_outcome)outcome);
        CHECK_HAS(refill.said, "from 2001 on");
        put_back(1500, true);
        if (outcome != VS_STORE_UNKNOWN) put_back(2001, true); /* it was not returned */
        DID(VS_REFILL_END);
        CHECK_HAS(refill.said, outcome == VS_STORE_UNKNOWN ? "stay unused" : "kept for the next start");
        start();
        grants(1, 2001);
        published(VS_NOT_NEEDED);
        DID(VS_REFILL_UNTAKE);
        reply((enum vs_outcome)outcome);
        DID(VS_REFILL_SLEEP);
    }
}

static void a_rest_that_cannot_be_kept_stays_unused(void) {
    stop_with_two_left();
    step(VS_REFILL_CLAIMED);
    reply(VS_STORE_DOWN);
    put_back(1500, true);
    put_back(2001, false);
    DID(VS_REFILL_END);
    CHECK_HAS(refill.said, "from 2001 on");
    CHECK_HAS(refill.said, "stay unused");
}

static void a_rest_below_later_grants_is_kept(void) {
    stop_with_two_left();
    ev.unused[1].is_last = false;
    step(VS_REFILL_CLAIMED);
    DID(VS_REFILL_UNTAKE);
    reply(VS_STORE_OK);
    put_back(1500, true);
    DID(VS_REFILL_END);
}

/* The counter may have reached the rest's end again with numbers that it granted to other processes. */
static void nothing_is_returned_to_a_counter_that_went_back(void) {
    stop_with_two_left();
    ev.stopped = true;
    step(VS_REFILL_CLAIMED);
    put_back(1500, true);
    put_back(2001, true);
    DID(VS_REFILL_END);
}

static void words_that_are_used_up(void) {
    start();
    grants(1, 2001);
    published(VS_SEGMENT_SPENT);
    DID(VS_REFILL_UNTAKE);
    reply(VS_STORE_UNKNOWN);
    DID(VS_REFILL_CLOSE);
    ev.unused_count = 0;
    step(VS_REFILL_CLAIMED);
    DID(VS_REFILL_END);
    CHECK_HAS(refill.said, "new map");
}

static void stopped_while_the_store_is_down(void) {
    start();
    reply(VS_STORE_DOWN);
    ev.stop = true;
    step(VS_REFILL_WAKE);
    DID(VS_REFILL_CLAIM);
}

static const struct check_case cases[] = {
    {"a refiller requests a range when it is due, and checks once a second", asks_when_it_is_due},
    {"steps equal Leaf's, range by range", steps_are_leafs},
    {"the row's step is the configured one", the_rows_step_is_the_configured_one},
    {"the first range's step is the row's", the_first_ranges_step_is_the_rows},
    {"if the store is slow, the next range is requested earlier", asks_earlier_where_the_store_is_slow},
    {"with one database of three, its numbers are used", numbers_of_one_database_of_three},
    {"an unreachable store is asked less and less often", a_store_that_is_down},
    {"a range whose commit is unknown stays unused", an_unknown_commit_stays_unused},
    {"a conflict is retried at once, three times", a_conflict_is_asked_again},
    {"a rejection is reported with the store's text", a_rejection_is_reported},
    {"the end of a rejection is noticed within 6.4 s, however long it lasted",
     a_refusal_that_ends_is_noticed_within_6_4_s},
    {"an invalid range is not used, and the reason is reported", an_invalid_range_is_not_used},
    {"a counter that went back is raised, and stays stopped until a person acts", a_counter_that_went_back_is_raised},
    {"a range that arrives after a stop is neither used nor returned", a_range_after_a_stop_is_not_used},
    {"a range that begins at the end of the last one is no step back", its_own_end_is_no_step_back},
    {"a late reply is no step back, and its range is not used", a_late_answer_is_not_used},
    {"a closed segment's counter may go back", a_closed_segment_goes_back},
    {"a range that a failover may have repeated is not returned", a_repeated_range_is_not_returned},
    {"a rest that is returned during a request is no step back", a_returned_rest_is_no_step_back},
    {"a stop returns the rest, the newest first", the_rest_is_given_back},
    {"each rest is returned once, whatever the store replies, and kept if that failed", each_rest_is_returned_once},
    {"a rest that the segment cannot keep stays unused, and that is reported", a_rest_that_cannot_be_kept_stays_unused},
    {"a rest below later grants is kept without asking the store", a_rest_below_later_grants_is_kept},
    {"nothing is returned to a counter that went back", nothing_is_returned_to_a_counter_that_went_back},
    {"a used-up segment ends the refiller", words_that_are_used_up},
    {"a refiller ends while the store is unreachable", stopped_while_the_store_is_down},
};

CHECK_MAIN(cases)
