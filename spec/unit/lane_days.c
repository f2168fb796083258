/* lane_days.c -- lanes in difficult cases, with real files and keepers: kept over a fork, a switch, a drop, a release,
 * a failstop and a snapshot, used by two threads at once, and counted with threads, forks and killed processes. */
#include "crowd.h"
#include "generator/generator.h"
#include "vesta_lane.h"

#define WAIT_US 10000000
#define KILLS 40

static struct vesta_gen *open_history(void) {
    return must_open((struct vesta_opts){.layout = FAST, .pacing = VESTA_PACING_HISTORY, .any_worker = 1});
}

static struct vesta_lane *lane_of(struct vesta_gen *gen, uint64_t n) {
    struct vesta_lane *lane = NULL;
    struct vesta_error err = {.text = ""};
    if (vesta_lane_open(gen, n, &lane, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return lane;
}

/* Waits for one id and adds it to the tally. */
static uint64_t take(struct vesta_lane *lane) {
    struct vesta_pause pause;
    uint64_t id = 0;
    if (vesta_lane_next_wait(lane, &id, WAIT_US, &pause) != VESTA_OK)
        CHECK_FAIL("no id for ten seconds: %s", vesta_why_name(pause.why));
    else
        tally_add(&id, 1);
    return id;
}

static void begin(struct vesta_gen **gen, struct vesta_lane **lane, uint64_t n) {
    empty_folder();
    tally_clear();
    *gen = open_history();
    NEED(*gen != NULL);
    *lane = lane_of(*gen, n);
    NEED(*lane != NULL);
    take(*lane);
}

static void end(struct vesta_gen *gen, struct vesta_lane *lane, size_t ids) {
    vesta_lane_close(lane);
    vesta_close(gen);
    check_tally(ids);
}

/* ------------------------------------------------------------------ kept over a fork */

static struct vesta_gen *kept_gen;
static struct vesta_lane *kept;

/* Forks with libc's fork, or with clone(2), which runs no fork handlers. */
static pid_t fork_by(bool is_raw) {
    return is_raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static void kept_over_a_fork(void) {
    for (int is_raw = 0; is_raw < 2; is_raw++) {
        begin(&kept_gen, &kept, 64);
        for (int i = 0; i < 4; i++) {
            pid_t child = fork_by(is_raw);
            if (child == 0) { /* the child issues ids, and returns none of its parent's run */
                struct vesta_pause pause;
                uint64_t id;
                for (int n = 0; n < 100 && vesta_lane_next(kept, &id, &pause) == VESTA_OK; n++)
                    tally_add(&id, 1);
                vesta_lane_close(kept);
                _exit(0);
            }
            for (int n = 0; n < 100; n++)
                take(kept);
            reap(child, false);
        }
        end(kept_gen, kept, 801);
    }
}

static void a_child_gives_back_nothing(void) {
    begin(&kept_gen, &kept, 64);
    pid_t child = fork();
    if (child == 0) {
        vesta_lane_close(kept);
        _exit(0);
    }
    reap(child, false);
    struct vesta_pause pause;
    uint64_t id, before = 0;
    CHECK(vesta_next(kept_gen, &before, &pause) == VESTA_OK);
    for (int i = 0; i < 63; i++) {
        id = take(kept);
        CHECK(id != before);
    }
    tally_add(&before, 1);
    end(kept_gen, kept, 65);
}

/* ------------------------------------------------------------------ kept over the end of its lease */

static int refused_why(struct vesta_lane *lane) {
    struct vesta_pause pause = {.why = 0};
    uint64_t id;
    if (vesta_lane_next(lane, &id, &pause) != VESTA_OK) return (int)pause.why;
    tally_add(&id, 1);
    return 0;
}

static struct vesta_info info_of(struct vesta_gen *gen) {
    struct vesta_info info;
    vesta_get_info(gen, &info);
    return info;
}

static void drop(struct vesta_gen *gen) {
    CHECK(vesta_drop(gen) == VESTA_OK);
}

static void release(struct vesta_gen *gen) {
    CHECK(vesta_release(gen, NULL) == VESTA_OK);
}

static void snapshot(struct vesta_gen *gen) {
    CHECK(vesta_prepare_snapshot(gen, NULL) == VESTA_OK);
}

/* The rest of the run must not be issued: every later id comes from a later slot. */
static void kept_over(void (*ends)(struct vesta_gen *gen)) {
    struct vesta_gen *gen;
    struct vesta_lane *lane;
    begin(&gen, &lane, 64);
    struct vesta_info before = info_of(gen);
    ends(gen);
    uint64_t id = take(lane);
    struct vesta_parts parts;
    struct vesta_info after = info_of(gen);
    CHECK(after.slot > before.slot);
    CHECK(vesta_explain(vesta_gen_layout(gen), id, &parts, NULL) == VESTA_OK);
    CHECK_EQ_U64(parts.worker, after.worker);
    CHECK((parts.time << 22 | parts.seq) >= before.tick || parts.worker != before.worker);
    for (int i = 0; i < 200; i++)
        take(lane);
    end(gen, lane, 202);
}

static void kept_over_a_drop(void) {
    kept_over(drop);
}

static void kept_over_a_release(void) {
    kept_over(release);
}

static void kept_over_a_snapshot(void) {
    kept_over(snapshot);
}

/* ------------------------------------------------------------------ over a switch */

static _Atomic int64_t set_us;

static int64_t unix_us(void *self) {
    (void)self;
    return INT64_C(1700000000000000) + now_us() + atomic_load(&set_us);
}

static int64_t boot_us(void *self) {
    (void)self;
    return now_us();
}

static void sleep_us(void *self, int64_t us) {
    (void)self;
    usleep((useconds_t)us);
}

static void kept_over_a_switch(void) {
    static const struct vesta_clock clock = {NULL, unix_us, boot_us, sleep_us};
    struct vesta_pause pause = {.why = 0};
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = must_open(
        (struct vesta_opts){.layout = TIGHT, .pacing = VESTA_PACING_HISTORY, .any_worker = 1, .clock = &clock});
    NEED(gen != NULL);
    struct vesta_lane *lane = lane_of(gen, 8);
    NEED(lane != NULL);
    take(lane);
    struct vesta_info before = info_of(gen);
    atomic_store(&set_us, -INT64_C(5000000)); /* back by half of the step that must be confirmed */
    pause.slot = before.slot;
    CHECK(vesta_switch(gen, &pause) == VESTA_OK);
    AWAIT(info_of(gen).slot != before.slot && info_of(gen).holds_lease);
    uint64_t id = take(lane);
    struct vesta_parts parts;
    CHECK(vesta_explain(vesta_gen_layout(gen), id, &parts, NULL) == VESTA_OK);
    CHECK(parts.worker != before.worker);
    end(gen, lane, 2);
}

/* ------------------------------------------------------------------ over a failstop */

static void kept_over_a_failstop(void) {
    char command[400];
    struct vesta_pause pause = {.why = 0};
    uint64_t id;
    empty_folder();
    tally_clear();
    struct vesta_gen *gen =
        must_open((struct vesta_opts){.layout = FAST, .pacing = VESTA_PACING_HISTORY, .has_worker = 1, .worker = 7});
    NEED(gen != NULL);
    struct vesta_lane *lane = lane_of(gen, 64);
    NEED(lane != NULL);
    take(lane);
    snprintf(command, sizeof command, "cp %s/default/7 %s/backup", folder, folder);
    CHECK(system(command) == 0);
    uint64_t renewals = info_of(gen).renewals.ok;
    AWAIT(info_of(gen).renewals.ok > renewals);
    snprintf(command, sizeof command, "cp %s/backup %s/default/7", folder, folder);
    for (int i = 0; i < 300 && (vesta_next(gen, &id, &pause) == VESTA_OK || pause.why != VESTA_FAILSTOP); i++) {
        CHECK(system(command) == 0); /* repeated, because a renewal may have overwritten it */
        usleep(100000);
    }
    CHECK_STR(vesta_why_name(pause.why), "failstop");
    CHECK_STR(vesta_why_name((enum vesta_why)refused_why(lane)), "failstop"); /* although 63 ids of its run were left */
    end(gen, lane, 1);
}

/* ------------------------------------------------------------------ used by two threads */

static void *use_the_kept_one(void *count) {
    struct vesta_pause pause;
    uint64_t id, given = 0;
    for (int i = 0; i < 200000; i++)
        if (vesta_lane_next(kept, &id, &pause) == VESTA_OK && given++ < 20000) tally_add(&id, 1);
    *(uint64_t *)count = given;
    return NULL;
}

static void used_by_two_threads(void) {
    pthread_t threads[2];
    uint64_t given[2] = {0, 0};
    begin(&kept_gen, &kept, 64);
    vesta_lane_close(kept);
    kept = lane_of(kept_gen, 64); /* the thread that uses it first will own it */
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, use_the_kept_one, &given[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(given[0] > 0 || given[1] > 0);
    CHECK(given[0] == 0 || given[1] == 0); /* one thread owned it, and the other was always rejected */
    end(kept_gen, kept, 20000);
}

/* ------------------------------------------------------------------ counted */

/* Takes ids from lanes that are opened and closed, sometimes ends its lease, and leaves a child. */
static void restless(uint64_t dice) {
    struct vesta_gen *gen = open_history();
    while (gen && atomic_load(&tally->mark) == 0) {
        struct vesta_lane *lane = lane_of(gen, 1 + roll_below(&dice, 200));
        for (uint64_t i = roll_below(&dice, 300); lane && i > 0 && atomic_load(&tally->mark) == 0; i--)
            take(lane);
        if (roll_below(&dice, 40) == 0) CHECK(vesta_drop(gen) == VESTA_OK);
        pid_t child = roll_below(&dice, 60) == 0 ? fork() : -1;
        if (child == 0) {
            for (int i = 0; i < 70; i++)
                take(lane);
            _exit(0); /* leaves the run that it began open */
        }
        if (child > 0) waitpid(child, NULL, 0);
        vesta_lane_close(lane);
    }
    vesta_close(gen);
}

static void killed_at_random_moments(void) {
    enum { AT_WORK = 4 };
    pid_t pids[AT_WORK];
    uint64_t dice = 7;
    empty_folder();
    tally_clear();
    for (uint64_t i = 0; i < AT_WORK; i++)
        pids[i] = spawn(restless, i * 1000);
    for (uint64_t i = 0; i < KILLS; i++) {
        usleep((useconds_t)roll_below(&dice, 30000));
        pid_t *victim = &pids[roll_below(&dice, AT_WORK)];
        kill(*victim, SIGKILL);
        reap(*victim, true);
        *victim = spawn(restless, 100000 + i * 1000);
    }
    usleep(100000);
    atomic_store(&tally->mark, 1);
    for (int i = 0; i < AT_WORK; i++)
        reap(pids[i], false);
    check_tally(KILLS);
}

static void *issue_by_lane(void *gen) {
    struct vesta_lane *lane = lane_of(gen, 64);
    for (int i = 0; i < 60000 && lane; i++)
        take(lane);
    vesta_lane_close(lane);
    return NULL;
}

static void threads_with_lanes(void) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct vesta_gen *gen;
    struct vesta_lane *lane;
    begin(&gen, &lane, 64);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, issue_by_lane, gen) == 0);
    for (int i = 0; i < 20; i++) {
        CHECK(issue(gen, 500, (uint64_t)i)); /* while other threads use lanes */
        CHECK(vesta_drop(gen) == VESTA_OK);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end(gen, lane, THREADS * 60000 + 20 * 500);
}

static const struct check_case cases[] = {
    {"kept over a fork, by libc or by the system call alone: parent and child issue different ids", kept_over_a_fork},
    {"a child that closes a lane returns nothing of its parent's run", a_child_gives_back_nothing},
    {"kept over a drop: its run is dropped", kept_over_a_drop},
    {"kept over a release: its run is dropped", kept_over_a_release},
    {"kept over a snapshot: its run is dropped", kept_over_a_snapshot},
    {"kept over a switch: its ids have the other worker id", kept_over_a_switch},
    {"kept over a failstop: it issues nothing and reports the failstop", kept_over_a_failstop},
    {"used by two threads: one owns it, the other is rejected", used_by_two_threads},
    {"40 processes killed at random moments, leases that end, forks: no duplicate", killed_at_random_moments},
    {"threads with and without lanes, leases that end: no duplicate", threads_with_lanes},
};

CHECK_MAIN_IN_FOLDER(cases)
