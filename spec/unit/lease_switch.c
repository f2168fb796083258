/* lease_switch.c -- the lease engine replaces its worker id after the clock went back: when it leaves the worker id,
 * when it keeps it, and the order of its steps. */
#include "base/array.h"
#include "engine.h"
#include "lease/steps.h"

#define BACK_MS 3000

static struct vs_record held; /* the record in the store */

/* Starts with a lease of worker id 7, which was drawn, and some issued ids. Then the clock goes back, and a policy asks
 * for another worker id. */
static void start_behind(void) {
    start_with((struct vs_lease_opts){.slot = -1});
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_CHOOSE);
    ev.kind = VS_EV_CHOSEN, ev.found = true, ev.worker = 7;
    vs_lease_step(&lease, &ev, &did);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    slot(0);
    DID(VS_DO_SWAP);
    held = did.record;
    held.written_ms = ev.unix_us / 1000;
    reply(VS_STORE_OK, &held);
    DID(VS_DO_PUBLISH);
    ev.cursor = lease.from + 17;
    done();
    DID(VS_DO_SLEEP);
    pass_ms(500);
    ev.unix_us -= BACK_MS * 1000;
    ev.leave = true;
    wake();
}

static void choose(bool found, uint64_t worker) {
    DID(VS_DO_CHOOSE);
    CHECK_EQ_U64(lease.attempt, 1);
    ev.kind = VS_EV_CHOSEN, ev.found = found, ev.worker = worker;
    vs_lease_step(&lease, &ev, &did);
}

/* Leaves worker id 7 for 9, which is free, up to the release of 7. */
static void leave(void) {
    start_behind();
    choose(true, 9);
    reply(VS_STORE_OK, NULL);
    closed(true, ev.cursor);
    DID(VS_DO_SWAP);
}

/* Leaves worker id 7, and its release is acknowledged. */
static void leave_and_give_back(void) {
    leave();
    struct vs_record given = did.record;
    reply(VS_STORE_OK, &given);
}

/* Checks that the engine keeps its worker id: nothing is closed, and the lease continues. */
static void stays(const char *why) {
    DID(VS_DO_STAY);
    CHECK_HAS(lease.said, why);
    ev.leave = false;
    done();
    SLEEPS_MS(1);
    CHECK_EQ_U64(lease.worker, 7);
    CHECK(lease.published && !lease.leaves);
    pass_ms(6000);
    ev.cursor = tick_now() + 1;
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.worker, 7);
    CHECK(did.record.held);
}

/* ------------------------------------------------------------------ leaving */

static void leaves_at_the_exact_cursor_and_starts_with_the_clock(void) {
    start_behind();
    choose(true, 9);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 9);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_CLOSE); /* the slot is closed before the release */
    CHECK_EQ_I64(did.slot, 0);
    CHECK_STR(vs_lease_state_name(vs_lease_state_of(&lease, &ev)), "claiming");
    uint64_t cursor = ev.cursor + 3; /* ids that were issued until the close */
    closed(true, cursor);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.worker, 7);
    CHECK_EQ_U64(did.old_ver, held.ver);
    CHECK_EQ_U64(did.record.until, cursor);
    CHECK(!did.record.held);
    struct vs_record given = did.record;
    reply(VS_STORE_OK, &given);
    DID(VS_DO_READ); /* reads again, because a claim must not rely on an earlier read */
    CHECK_EQ_U64(did.worker, 9);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now());
    CHECK(did.from < cursor);
    slot(1);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.worker, 9);
    CHECK(did.record.owner[0] != held.owner[0]);
    struct vs_record claimed = did.record;
    reply(VS_STORE_OK, &claimed);
    DID(VS_DO_PUBLISH);
    CHECK_EQ_I64(did.slot, 1);
}

static void a_release_without_a_reply_is_repeated(void) {
    leave();
    uint64_t cursor = did.record.until;
    for (int i = 0; i < 3; i++) {
        DID(VS_DO_SWAP);
        CHECK_EQ_U64(did.record.until, cursor);
        reply(VS_STORE_UNKNOWN, NULL);
        DID(VS_DO_READ);
        CHECK_EQ_U64(did.worker, 7);
        reply(VS_STORE_OK, &held);
    }
    DID(VS_DO_SWAP);
    reply(VS_STORE_DOWN, NULL);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 9);
}

/* A reader of watermarks often changes the namespace's record. */
static void a_release_after_a_change_of_the_namespace_is_repeated(void) {
    leave();
    uint64_t cursor = did.record.until;
    reply(VS_STORE_MOVED, NULL);
    DID(VS_DO_NS_READ);
    ns.ver++;
    ns.mark_ms = NOON_MS - 10000;
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 7);
    reply(VS_STORE_OK, &held);
    DID(VS_DO_SWAP);
    CHECK(!did.record.held && did.record.has_low);
    CHECK_EQ_U64(did.record.until, cursor);
    CHECK_EQ_U64(did.record.low, cursor);
    struct vs_record given = did.record;
    reply(VS_STORE_OK, &given);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 9);
    CHECK(!lease.not_given_back);
}

/* The next claim must respect the floor of the new store. */
static void a_release_to_another_store_is_given_up(void) {
    leave();
    reply(VS_STORE_MOVED, NULL);
    DID(VS_DO_NS_READ);
    ns.incarnation++;
    ns.floor_ms = NOON_MS + 400000;
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_RECOVER);
    leave();
    lease.leaves = false; /* the process stops */
    reply(VS_STORE_MOVED, NULL);
    ns.incarnation++;
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_END);
    CHECK(lease.not_given_back);
    CHECK_HAS(lease.said, "replaced");
    leave();
    lease.leaves = false;
    reply(VS_STORE_MOVED, NULL);
    reply(VS_STORE_DOWN, NULL);
    DID(VS_DO_END);
    CHECK_HAS(lease.said, "did not answer");
}

static void a_slot_that_another_closed_is_not_released(void) {
    start_behind();
    choose(true, 9);
    reply(VS_STORE_OK, NULL);
    closed(false, 0);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 9);
}

static void a_store_that_went_back_meanwhile_stops_everything(void) {
    leave();
    struct vs_record older = record_of("elsewhere", true, NOON_MS - 60000);
    older.ver = 0;
    reply(VS_STORE_CONFLICT, &older);
    DID(VS_DO_FAILSTOP);
    CHECK_HAS(lease.said, "went back");
}

static void nothing_is_claimed_from_it_at_the_end(void) {
    a_store_that_went_back_meanwhile_stops_everything();
    done();
    ev.stop = true;
    SLEEPS_MS(10000);
    wake();
    DID(VS_DO_CLOSE);
    closed(false, 0); /* all slots were closed by the failstop */
    DID(VS_DO_END);
}

static void the_wanted_worker_id_was_taken(void) {
    leave_and_give_back();
    struct vs_record other = record_of("elsewhere", true, NOON_MS + 5000);
    other.written_ms = ev.unix_us / 1000;
    reply(VS_STORE_OK, &other);
    DID(VS_DO_SLEEP); /* claims any worker id, like a first claim */
    pass_ms(1000);
    ev.leave = false;
    wake();
    DID(VS_DO_CHOOSE);
    CHECK(!lease.published && !lease.leaves);
}

static void a_stop_releases_the_held_worker_id(void) {
    leave_and_give_back();
    ev.stop = true;
    reply(VS_STORE_OK, NULL);
    slot(1);
    struct vs_record claimed = did.record;
    reply(VS_STORE_OK, &claimed);
    DID(VS_DO_PUBLISH);
    done();
    wake();
    DID(VS_DO_CLOSE);
    closed(true, lease.from);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.worker, 9);
    reply(VS_STORE_OK, &did.record);
    DID(VS_DO_END);
}

/* ------------------------------------------------------------------ staying */

static void stays_without_a_benefit(void) {
    struct vs_record r;
    start_behind();
    choose(false, 0);
    stays("worker id 7 is kept: no other is free");
    start_behind();
    choose(true, 7); /* a policy may name the worker id that is held */
    stays("no other is free");
    start_behind();
    lease.ns.static_first = 9, lease.ns.static_count = 1;
    choose(true, 9);
    stays("no other is free");
    start_behind();
    choose(true, 9);
    r = record_of("elsewhere", false, NOON_MS); /* its end is ahead of the clock, which went back */
    reply(VS_STORE_OK, &r);
    stays("the ids of worker id 9 would not begin earlier");
    start_behind();
    choose(true, 9);
    r = record_of("elsewhere", true, NOON_MS - 60000);
    r.written_ms = ev.unix_us / 1000;
    reply(VS_STORE_OK, &r);
    stays("worker id 9 is held by elsewhere");
    start_behind();
    choose(true, 9);
    r = record_of("elsewhere", false, NOON_MS - 60000);
    r.fingerprint++;
    reply(VS_STORE_OK, &r);
    stays("would not begin");
}

static void stays_without_a_trusted_store_and_clock(void) {
    static const enum vs_outcome outcomes[] = {VS_STORE_DOWN, VS_STORE_UNKNOWN, VS_STORE_REFUSED, VS_STORE_MOVED};
    for (size_t i = 0; i < VS_COUNT(outcomes); i++) {
        start_behind();
        choose(true, 9);
        reply(outcomes[i], NULL);
        stays("worker id 7 is kept: the store did not answer");
    }
    start_behind();
    choose(true, 9);
    ev.doubt_us = 5000000;
    reply(VS_STORE_OK, NULL);
    ev.doubt_us = 0;
    stays("the clock jumped");
}

static void a_clock_that_has_caught_up_needs_no_other_number(void) {
    start_behind();
    choose(true, 9);
    start_behind();
    ev.kind = VS_EV_CHOSEN, ev.found = false;
    vs_lease_step(&lease, &ev, &did);
    DID(VS_DO_STAY);
    done();
    ev.unix_us += 10 * BACK_MS * 1000; /* the request to switch is still there */
    wake();
    DID(VS_DO_STAY);
}

static void an_assigned_worker_id_is_kept(void) {
    held = start_held();
    ev.unix_us -= BACK_MS * 1000;
    ev.leave = true;
    ev.cursor = lease.from + 17;
    wake();
    DID(VS_DO_STAY);
}

static void a_stop_comes_first(void) {
    start_behind();
    ev.kind = VS_EV_CHOSEN, ev.found = false;
    vs_lease_step(&lease, &ev, &did);
    done();
    ev.stop = true;
    wake();
    DID(VS_DO_CLOSE);
    closed(true, ev.cursor);
    reply(VS_STORE_OK, &did.record);
    DID(VS_DO_END);
}

/* ------------------------------------------------------------------ choosing */

static struct vs_listed listed_as(uint64_t worker, bool is_held, int64_t until_ms) {
    struct vs_listed at = {.worker = worker, .record = record_of("elsewhere", is_held, until_ms)};
    at.record.written_ms = NOON_MS - (is_held ? 100 : 60000);
    return at;
}

static void the_other_worker_id_is_unused_or_longest_free(void) {
    start_behind();
    struct vs_listed list[] = {listed_as(0, true, NOON_MS + 900), listed_as(1, false, NOON_MS - 100),
                               listed_as(2, false, NOON_MS - 900), listed_as(3, false, NOON_MS - 500)};
    uint64_t worker = 99;
    lease.worker = 2;
    CHECK(vs_choose_other(&lease, (struct vs_listing){list, 4, NOON_MS}, 4, 12345, &worker));
    CHECK_EQ_U64(worker, 4);
    CHECK(vs_choose_other(&lease, (struct vs_listing){list, 4, NOON_MS}, 3, 12345, &worker));
    CHECK_EQ_U64(worker, 3); /* worker id 2 ends earlier, but is the one to leave */
    CHECK(vs_choose_other(&lease, (struct vs_listing){list, 2, NOON_MS}, 1, 12345, &worker));
    CHECK_EQ_U64(worker, 1);
    lease.worker = 1;
    CHECK(!vs_choose_other(&lease, (struct vs_listing){list, 2, NOON_MS}, 1, 12345, &worker));
    lease.ns.static_first = 3, lease.ns.static_count = 2;
    CHECK(vs_choose_other(&lease, (struct vs_listing){list, 4, NOON_MS}, 4, 12345, &worker));
    CHECK_EQ_U64(worker, 2);
}

static const struct check_case cases[] = {
    {"a worker id is left at its exact cursor, and the next one starts at the clock",
     leaves_at_the_exact_cursor_and_starts_with_the_clock},
    {"a release without an answer is tried again, and then given up", a_release_without_a_reply_is_repeated},
    {"a release is repeated after the namespace's record has changed",
     a_release_after_a_change_of_the_namespace_is_repeated},
    {"a release is given up if the store was replaced", a_release_to_another_store_is_given_up},
    {"a slot that another process closed is not released", a_slot_that_another_closed_is_not_released},
    {"a store that went back in the meantime stops everything", a_store_that_went_back_meanwhile_stops_everything},
    {"at the program's end no worker id is claimed from a store that went back in the meantime",
     nothing_is_claimed_from_it_at_the_end},
    {"if the chosen worker id was taken, any other one is claimed", the_wanted_worker_id_was_taken},
    {"a stop during the change releases the held worker id", a_stop_releases_the_held_worker_id},
    {"a worker id is kept if the change has no benefit", stays_without_a_benefit},
    {"a worker id is kept if store or clock cannot be trusted", stays_without_a_trusted_store_and_clock},
    {"after the clock has caught up the worker id is kept", a_clock_that_has_caught_up_needs_no_other_number},
    {"a worker id set by hand is kept", an_assigned_worker_id_is_kept},
    {"a stop comes first", a_stop_comes_first},
    {"the other worker id is one never used, else the one free for longest",
     the_other_worker_id_is_unused_or_longest_free},
};

CHECK_MAIN(cases)
