/* Regression: after a write with an unknown outcome, the holder read and wrote again without pause, message or
 * limit. It made 1,439 renewals in 17 s when the disk failed, and 293 connections in 20 s when each was cut after a
 * write.
 *
 * The spec runs in virtual time, with every preset, assigned and drawn worker ids, and continuous requests. */
#include "base/array.h"
#include "term.h"

#define MINUTES 3

/* ------------------------------------------------------------------ answers of a store */

static unsigned turn;

static struct term_answer to_write(bool is_write, enum vs_outcome outcome, bool done) {
    /* The lease is claimed before the failures begin. */
    bool hit = is_write && term.w.time.boot_us > WORLD_BOOT_US + 10 * SECOND;
    return hit ? (struct term_answer){outcome, done, 5 * MS} : (struct term_answer){VS_STORE_OK, true, 5 * MS};
}

static struct term_answer done_and_cut(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return to_write(is_write, VS_STORE_UNKNOWN, true);
}

static struct term_answer cut_before(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return to_write(is_write, VS_STORE_UNKNOWN, false);
}

static struct term_answer every_second_is_cut(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    turn += is_write;
    return to_write(is_write, turn % 2 ? VS_STORE_UNKNOWN : VS_STORE_OK, true);
}

static struct term_answer from_the_first_on(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return (struct term_answer){is_write ? VS_STORE_UNKNOWN : VS_STORE_OK, true, 5 * MS};
}

static struct term_answer down_after_reads(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return to_write(is_write, VS_STORE_DOWN, false);
}

static struct term_answer the_namespace_moved(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return to_write(is_write, VS_STORE_MOVED, false);
}

static struct term_answer own_conflict(struct term *t, const struct vs_action *action, bool is_write) {
    (void)action;
    struct term_answer answer = to_write(is_write, VS_STORE_CONFLICT, true);
    if (answer.outcome == VS_STORE_CONFLICT) answer.done = false, t->stored.ver++;
    return answer;
}

static struct term_answer refused(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return to_write(is_write, VS_STORE_REFUSED, false);
}

static struct term_answer its_clock_is_behind(struct term *t, const struct vs_action *action, bool is_write) {
    (void)action, (void)is_write;
    if (t->w.time.boot_us > WORLD_BOOT_US + 10 * SECOND) t->store_off_ms = -40000;
    return (struct term_answer){VS_STORE_OK, true, 5 * MS};
}

/* Renewals that issuers wait for are written every half second. A failure among them must not cause a third write. */
static struct term_answer behind_and_cut_now_and_then(struct term *t, const struct vs_action *action, bool is_write) {
    (void)its_clock_is_behind(t, action, is_write);
    turn += is_write;
    return to_write(is_write && turn % 3 == 0, VS_STORE_UNKNOWN, true);
}

static struct term_answer behind_and_overtaken(struct term *t, const struct vs_action *action, bool is_write) {
    (void)its_clock_is_behind(t, action, is_write);
    turn += is_write;
    return own_conflict(t, action, is_write && turn % 3 == 0);
}

static const struct {
    const char *name;
    struct term_answer (*answer)(struct term *, const struct vs_action *, bool);
} stores[] = {
    {"each write succeeds, and then its connection is cut", done_and_cut},
    {"each write is lost with its connection", cut_before},
    {"every second write is lost", every_second_is_cut},
    {"the claim is lost as well", from_the_first_on},
    {"reads succeed, and writes cannot connect", down_after_reads},
    {"the namespace is always another one", the_namespace_moved},
    {"an earlier write of the same process always arrived first", own_conflict},
    {"writes are rejected", refused},
    {"the store's clock is 40 s behind", its_clock_is_behind},
    {"the clock is behind, and every third write is cut", behind_and_cut_now_and_then},
    {"the clock is behind, and before every third write an earlier one arrived", behind_and_overtaken},
};

/* ------------------------------------------------------------------ requests */

static int said; /* how often the reason was visible */

/* A request every 10 ms. A request that meets a pause wakes the keeper, as in the server. */
static void ask_often(struct term *t, int64_t until_boot_us) {
    struct vesta_pause pause;
    said += t->w.map->shared.keeper[0] != '\0';
    while (t->w.time.boot_us < until_boot_us) {
        pass_us(&t->w.time, 10 * MS);
        if (next_tick(&t->w, &pause) != UINT64_MAX) continue;
        if (pause.why == VESTA_LEASE) atomic_fetch_add(&t->w.map->shared.want, 1);
        bool on_want = atomic_load(&t->w.map->shared.retry_boot_us) == 0; /* whether a request would wake the keeper */
        if (on_want && atomic_load(&t->w.map->shared.want) != t->real.want_seen) return;
    }
}

static void serve_under(const struct vs_lease_timing *timing, bool has_worker, int store) {
    bool is_autonomous = strcmp(timing->name, "autonomous") == 0;
    said = 0;
    turn = 0;
    term_begin(TERM_LAYOUT, is_autonomous ? VESTA_PACING_HISTORY : VESTA_PACING_CLOCK, has_worker);
    term.answer = stores[store].answer;
    term.pass = ask_often;
    term_serve(timing, MINUTES * MINUTE);
    const unsigned seconds = MINUTES * 60;
    /* A new process may lose the connection that it has just opened. */
    const unsigned at_once = stores[store].answer == from_the_first_on ? 2 : 1;
    if (term.writes.count > 2 * seconds || term.connections.count > seconds + 2 || term.writes.most > 2 ||
        term.connections.most > at_once)
        CHECK_FAIL("%s, number %s, %s: %u writes (%u within a second), %u connections (%u within one) in %u s",
                   timing->name, has_worker ? "given" : "drawn", stores[store].name, term.writes.count,
                   term.writes.most, term.connections.count, term.connections.most, seconds);
    bool is_behind = term.store_off_ms != 0, is_heard = timing->is_shared || !is_behind;
    if (stores[store].answer != every_second_is_cut && is_heard && said == 0)
        CHECK_FAIL("%s, %s: nobody says a word", timing->name, stores[store].name);
    if (term.calls > 6 * seconds) CHECK_FAIL("%s, %s: %u calls", timing->name, stores[store].name, term.calls);
    term_end();
}

static void at_most_two_writes_and_one_connection_a_second(void) {
    for (int preset = TERM_LOCAL; preset <= TERM_AUTONOMOUS; preset++)
        for (int store = 0; store < (int)VS_COUNT(stores); store++)
            for (int has_worker = 0; has_worker < 2; has_worker++)
                serve_under(vs_lease_preset(term_presets[preset]), has_worker, store);
}

/* ------------------------------------------------------------------ slow but acknowledged writes */

static int64_t commit_us;

static struct term_answer slowly(struct term *t, const struct vs_action *action, bool is_write) {
    (void)t, (void)action;
    return (struct term_answer){VS_STORE_OK, true, is_write ? commit_us : 5 * MS};
}

static int refusals;

static void ask_and_count(struct term *t, int64_t until_boot_us) {
    struct vesta_pause pause;
    while (t->w.time.boot_us < until_boot_us) {
        pass_us(&t->w.time, 10 * MS);
        refusals += next_tick(&t->w, &pause) == UINT64_MAX && t->w.time.boot_us > WORLD_BOOT_US + MINUTE;
    }
}

/* Sends the requests that arrive during a write, because the virtual store sleeps through it. */
static struct term_answer slowly_beside_requests(struct term *t, const struct vs_action *action, bool is_write) {
    struct term_answer answer = slowly(t, action, is_write);
    ask_and_count(t, t->w.time.boot_us + answer.us);
    answer.us = 0;
    return answer;
}

static void slow_commits_stop_no_ids(void) {
    static const int64_t commits_us[] = {700 * MS, 1000 * MS, 2000 * MS};
    for (int preset = TERM_LOCAL; preset <= TERM_AUTONOMOUS; preset++)
        for (size_t i = 0; i < VS_COUNT(commits_us); i++)
            for (int has_worker = 0; has_worker < 2; has_worker++) {
                const struct vs_lease_timing *timing = vs_lease_preset(term_presets[preset]);
                bool is_autonomous = preset == TERM_AUTONOMOUS;
                commit_us = commits_us[i];
                refusals = 0;
                term_begin(TERM_LAYOUT, is_autonomous ? VESTA_PACING_HISTORY : VESTA_PACING_CLOCK, has_worker);
                term.answer = slowly_beside_requests;
                term.pass = ask_and_count;
                term_serve(timing, 10 * MINUTE);
                if (refusals)
                    CHECK_FAIL("%s, number %s, commits of %d ms: %d refused", timing->name,
                               has_worker ? "given" : "drawn", (int)(commit_us / 1000), refusals);
                term_end();
            }
}

static const struct check_case cases[] = {
    {"for any answer of the store, a holder makes at most two writes and one connection per second, and reports the "
     "reason",
     at_most_two_writes_and_one_connection_a_second},
    {"commits that take 0.7, 1 and 2 s stop no ids", slow_commits_stop_no_ids},
};

CHECK_MAIN(cases)
