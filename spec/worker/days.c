/* days.c -- random schedules of programs with their own generators, under leases.  Clocks are up to a minute apart, the
 * store loses replies, does writes late and is rolled back, and holders stall, crash and release.  At the end, the
 * intervals of all programs are compared: those of one worker id must differ in real time and in the times of their
 * ids.  A schedule follows from its seed.  `days SEEDS` runs that many. */
#define FAKE_WORKERS 4
#include "fake.h"

#define LAYOUT_OF(time, seq, unit) "sign:1 time:" time " worker:2 seq:" seq " unit=" unit " epoch=2020-01-01T00:00:00Z"
#define HOLDERS 6
#define RUNS_MAX 4096
#define SECOND_US INT64_C(1000000)
#define CALL_US_MAX (3 * SECOND_US)

static uint64_t dice;
static uint64_t below(uint64_t limit) {
    return roll_below(&dice, limit);
}
static bool chance(unsigned percent) {
    return below(100) < percent;
}

/* Replaces vs_random, so that a schedule follows from its seed. */
int __wrap_vs_random(void *out, size_t size);
int __wrap_vs_random(void *out, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)roll(&dice);
    return 0;
}

/* A program with a lease, from its start to its end. */
struct run {
    uint64_t worker, owner[2];
    int64_t from_us, until_us; /* true time */
    int64_t from_unit, until_unit;
};
static struct run runs[RUNS_MAX];
static size_t run_count;

enum doing { IDLE, CLAIMS, HOLDS, RUNS };

struct holder {
    struct fake_host host;
    struct vs_worker w;
    enum doing doing;
    const char *identity;
    int64_t ttl_ms;
    int64_t next_us;                /* true time of the next step */
    int64_t started_us, renewed_us; /* true time */
    int64_t limit_us;               /* the program must have ended by this true time */
    bool is_busy;                   /* in a call, in which time passes */
};
static struct holder holders[HOLDERS];

static struct vesta_layout layout;
static struct vs_record kept[FAKE_WORKERS]; /* the records after a rollback */
static unsigned loss;                       /* percent of writes with a fault */
static int depth;

/* of all schedules, so that a run without events is detected */
static struct counts {
    uint64_t runs, takeovers, away, busy, rejected, lost, releases, crashes, stalls, rollbacks;
} counts;

static int64_t clock_us(const struct holder *h, int64_t true_us) {
    return FAKE_NOON_US + true_us + h->host.off_us;
}

static int64_t unit_at(const struct holder *h, int64_t true_us) {
    return vs_time_at(&h->w.lease.shape, clock_us(h, true_us));
}

/* ------------------------------------------------------------------ a holder */

static void end_program(struct holder *h, int64_t end_us) {
    if (h->doing != RUNS) return;
    h->doing = HOLDS;
    end_us = end_us < h->limit_us ? end_us : h->limit_us;
    if (end_us <= h->started_us || run_count == RUNS_MAX) return;
    runs[run_count++] = (struct run){
        h->w.key.worker,       {h->w.key.owner[0], h->w.key.owner[1]}, h->started_us, end_us, unit_at(h, h->started_us),
        unit_at(h, end_us - 1)};
}

static void note_limits(struct holder *h) {
    int64_t by_clock_us = h->w.expires_ms * 1000 - FAKE_NOON_US - h->host.off_us;
    int64_t by_boot_us = h->w.deadline_boot_us - fake_boot_us(NULL) + fake_now_us;
    h->limit_us = by_clock_us < by_boot_us ? by_clock_us : by_boot_us;
    h->renewed_us = fake_now_us;
}

static void go_idle(struct holder *h) {
    h->doing = IDLE;
    h->next_us = fake_now_us + (int64_t)below(10 * SECOND_US);
}

static void count_end(enum vs_worker_end end) {
    counts.away += end == VS_WORKER_AWAY;
    counts.busy += end == VS_WORKER_BUSY;
    counts.rejected += end == VS_WORKER_REJECTED;
    counts.lost += end == VS_WORKER_LOST;
    counts.releases += end == VS_WORKER_RELEASED;
}

static void step_claim(struct holder *h) {
    struct vesta_error err;
    if (h->doing == IDLE) {
        static const int64_t ttls[] = {3000, 9000, 30000};
        h->ttl_ms = ttls[below(3)];
        const struct vs_lineage at = {
            .uri = "fake:", .name = "orders", .clock = &h->host.clock, .store = &h->host.store};
        struct vs_worker_ask ask = {
            .layout = &layout, .ttl_ms = h->ttl_ms, .identity = h->identity, .holder = "a program"};
        CHECK_EQ_I64(vs_worker_init(&h->w, &at, &ask, &err), VESTA_OK);
        h->doing = CLAIMS;
    }
    enum vs_worker_end end = vs_worker_claim(&h->w, &err);
    count_end(end);
    h->next_us = h->w.retry_boot_us - 5000000;
    if (end == VS_WORKER_LOST || (end != VS_WORKER_HELD && chance(10))) go_idle(h);
    if (end != VS_WORKER_HELD) return;
    h->doing = HOLDS;
    h->next_us = fake_now_us;
    note_limits(h);
    counts.takeovers += h->w.fence > 1;
}

static void step_release(struct holder *h) {
    struct vesta_error err;
    int64_t at_us = fake_now_us < h->limit_us ? fake_now_us : h->limit_us;
    bool has_run = h->started_us > 0;
    end_program(h, at_us);
    int64_t ended_ms = !has_run ? VS_WORKER_UNUSED : chance(20) ? VS_WORKER_ENDS_LATE : clock_us(h, at_us) / 1000;
    if (chance(30)) { /* another process releases it, by its key */
        const struct vs_lineage at = h->w.at;
        struct vs_worker_key key = h->w.key;
        struct vs_worker_ask ask = {.layout = &layout, .identity = ""};
        vs_worker_resume(&h->w, &at, &key, &ask);
        if (!has_run) ended_ms = 0;
    }
    count_end(vs_worker_release(&h->w, ended_ms, &err));
    go_idle(h);
}

static void step_hold(struct holder *h) {
    struct vesta_error err;
    int64_t starts_us = (h->w.fence % 2 ? h->w.earlier_ms : h->w.starts_ms) * 1000 - FAKE_NOON_US - h->host.off_us;
    if (h->doing == RUNS && fake_now_us >= h->limit_us) end_program(h, h->limit_us);
    if (h->doing == HOLDS && fake_now_us >= starts_us && fake_now_us < h->limit_us) {
        h->doing = RUNS;
        h->started_us = fake_now_us;
        counts.runs++;
    }
    if (chance(3)) {
        step_release(h);
        return;
    }
    if (chance(2)) { /* killed with its program */
        counts.crashes++;
        end_program(h, fake_now_us);
        go_idle(h);
        return;
    }
    if (chance(4)) { /* stopped.  A watchdog ends the program in time */
        counts.stalls++;
        h->next_us = fake_now_us + (int64_t)below(90 * SECOND_US);
        return;
    }
    h->next_us = fake_now_us + (int64_t)below((uint64_t)h->ttl_ms * 200);
    if (fake_now_us - h->renewed_us < h->ttl_ms * 300) return;
    enum vs_worker_end end = vs_worker_renew(&h->w, &err);
    count_end(end);
    if (end == VS_WORKER_HELD) {
        if (h->doing == RUNS && fake_now_us >= h->limit_us) end_program(h, h->limit_us);
        note_limits(h);
    } else if (end == VS_WORKER_LOST) {
        end_program(h, fake_now_us);
        go_idle(h);
    }
}

static void step(struct holder *h) {
    h->is_busy = true;
    if (h->doing == IDLE || h->doing == CLAIMS) {
        h->started_us = 0;
        step_claim(h);
    } else {
        step_hold(h);
    }
    h->is_busy = false;
}

/* ------------------------------------------------------------------ the world */

/* The holder whose step is due next, or NULL if all are in a call. */
static struct holder *next_holder(void) {
    struct holder *next = NULL;
    for (int i = 0; i < HOLDERS; i++)
        if (!holders[i].is_busy && (!next || holders[i].next_us < next->next_us)) next = &holders[i];
    return next;
}

/* A call to the store: time passes, other holders continue, and late writes arrive. */
static int64_t pass(void *on) {
    (void)on;
    fake_now_us += (int64_t)(chance(12) ? below(CALL_US_MAX) : below(20000));
    while (depth < 2 && chance(30)) {
        struct holder *h = next_holder();
        if (!h || h->next_us > fake_now_us) break;
        depth++;
        step(h);
        depth--;
    }
    if (chance(20)) fake_arrive();
    fake_is_down = chance(loss / 4);
    fake_write_fate = chance(loss) ? (enum fake_fate)(FAKE_NO_REPLY + below(4)) : FAKE_DONE;
    return 0;
}

static void roll_back(void) {
    counts.rollbacks++;
    memcpy(fake_records, kept, sizeof kept);
    fake_late_count = 0; /* the new server does not get the old one's writes */
    vs_ns_put_right(&fake_ns, vs_lease_preset("balanced"), fake_store_ms(), roll(&dice) | 1);
}

static void make_world(uint64_t seed) {
    static const char *const layouts[] = {LAYOUT_OF("41", "20", "1ms"), LAYOUT_OF("39", "22", "10ms"),
                                          LAYOUT_OF("37", "24", "1s")};
    dice = seed * 7919;
    fake_reset();
    layout = parsed(layouts[below(3)]);
    fake_ns.fingerprint = layout.fingerprint;
    vesta_layout_text(&layout, fake_ns.layout);
    loss = (unsigned)below(40);
    run_count = 0;
    memset(holders, 0, sizeof holders);
    memset(kept, 0, sizeof kept);
    for (int i = 0; i < HOLDERS; i++) {
        static const char *const names[] = {"a", "a", "b", NULL, NULL, NULL};
        struct holder *h = &holders[i];
        int64_t off_us = chance(20) ? 0 : -51 * SECOND_US + (int64_t)below(60 * SECOND_US);
        (void)fake_connect(&h->host, chance(5) ? 30 * SECOND_US : off_us);
        h->identity = names[i];
        h->next_us = (int64_t)below(5 * SECOND_US);
    }
    fake_pass = pass;
}

static void run_schedule(uint64_t seed) {
    make_world(seed);
    int64_t end_us = 150 * SECOND_US, back_us = chance(20) ? (int64_t)below(120 * SECOND_US) : INT64_MAX;
    if (back_us < end_us) end_us = 1400 * SECOND_US; /* no lease starts below the floor of the repair */
    while (fake_now_us < end_us) {
        struct holder *h = next_holder();
        if (h->next_us > fake_now_us) fake_now_us = h->next_us;
        if (fake_now_us >= back_us) {
            roll_back();
            back_us = INT64_MAX;
        } else if (fake_now_us < 120 * SECOND_US && chance(5)) {
            memcpy(kept, fake_records, sizeof kept);
        }
        step(h);
    }
    for (int i = 0; i < HOLDERS; i++)
        end_program(&holders[i], fake_now_us);
}

/* ------------------------------------------------------------------ the comparison */

static bool is_one_claim(const struct run *a, const struct run *b) {
    return memcmp(a->owner, b->owner, sizeof a->owner) == 0;
}

static bool is_at_one_time(const struct run *a, const struct run *b) {
    return a->from_us < b->until_us && b->from_us < a->until_us;
}

static bool has_equal_ids(const struct run *a, const struct run *b) {
    return a->from_unit <= b->until_unit && b->from_unit <= a->until_unit;
}

static uint64_t seeds = 300;

static void compare(bool (*is_wrong)(const struct run *, const struct run *), const char *what) {
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        run_schedule(seed);
        CHECK(run_count < RUNS_MAX); /* all programs are compared */
        for (size_t i = 0; i < run_count; i++)
            for (size_t k = 0; k < i; k++) {
                const struct run *a = &runs[k], *b = &runs[i];
                if (a->worker != b->worker || is_one_claim(a, b) || !is_wrong(a, b)) continue;
                CHECK_FAIL("seed %" PRIu64 ": %s, worker id %" PRIu64 ", from %.3f to %.3f s and from %.3f to %.3f s",
                           seed, what, a->worker, (double)a->from_us / 1e6, (double)a->until_us / 1e6,
                           (double)b->from_us / 1e6, (double)b->until_us / 1e6);
                return;
            }
    }
}

static void no_two_at_one_time(void) {
    compare(is_at_one_time, "two programs at one time");
}

static void no_equal_ids(void) {
    compare(has_equal_ids, "ids with one time");
}

static void enough_happened(void) {
    printf("# %" PRIu64 " schedules: %" PRIu64 " programs, %" PRIu64 " takeovers, %" PRIu64
           " calls without a result, %" PRIu64 " busy, %" PRIu64 " rejected, %" PRIu64 " leases lost, %" PRIu64
           " released, %" PRIu64 " crashes, %" PRIu64 " stalls, %" PRIu64 " rollbacks\n",
           2 * seeds, counts.runs, counts.takeovers, counts.away, counts.busy, counts.rejected, counts.lost,
           counts.releases, counts.crashes, counts.stalls, counts.rollbacks);
    CHECK(counts.runs > 10 * seeds);
    CHECK(counts.takeovers > 10 * seeds);
    CHECK(counts.away > 10 * seeds);
    CHECK(counts.busy > 10 * seeds);
    CHECK(counts.rejected > seeds);
    CHECK(counts.lost > seeds);
    CHECK(counts.releases > 5 * seeds);
    CHECK(counts.crashes > 2 * seeds);
    CHECK(counts.stalls > 2 * seeds);
    CHECK(counts.rollbacks > seeds / 5);
}

static const struct check_case cases[] = {
    {"no two programs have one worker id at one time", no_two_at_one_time},
    {"no two holders' ids have one time", no_equal_ids},
    {"the schedules had enough takeovers and faults", enough_happened},
};

int main(int argc, char **argv) {
    if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9') {
        seeds = strtoull(argv[1], NULL, 10);
        argc = 1;
    }
    return check_main(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
