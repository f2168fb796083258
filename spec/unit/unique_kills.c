/* unique_kills.c -- processes are killed with -9 at random moments, and their ids are counted together with those of
 * survivors and successors.  Also a keeper that is killed, stopped or hung while others issue. */
#include "crowd.h"

#define KILLS 60

static enum vesta_pacing pacing;

static struct vesta_gen *open_default(void) {
    return must_open((struct vesta_opts){.layout = FAST, .pacing = pacing, .any_worker = 1});
}

/* Issues, and sometimes releases its lease or starts over, until it is killed or the tally is marked. */
static void restless(uint64_t dice) {
    struct vesta_error err;
    while (atomic_load(&tally->mark) == 0) {
        struct vesta_gen *gen = open_default();
        for (int i = 0; gen && i < 20 && atomic_load(&tally->mark) == 0; i++) {
            if (!issue(gen, 200, dice++)) return;
            usleep(100);
            if (roll_below(&dice, 8) == 0 && vesta_release(gen, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
        }
        vesta_close(gen);
    }
}

static void killed_at_random_moments(void) {
    enum { AT_WORK = 4 };
    pid_t pids[AT_WORK];
    uint64_t dice = 7;
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
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
}

/* All processes are killed at once, again and again.  Their successors start at the exact cursor, or at the lease's
 * bound. */
static void all_killed_and_started_again(void) {
    pid_t pids[3];
    uint64_t dice = 11;
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        for (int round = 0; round < 15; round++) {
            if (round % 5 == 4) unlink(in_folder("default.gen")); /* as after a reboot: only the store has a record */
            for (uint64_t i = 0; i < 3; i++)
                pids[i] = spawn(restless, (uint64_t)round * 100 + i);
            usleep((useconds_t)(10000 + roll_below(&dice, 60000)));
            for (int i = 0; i < 3; i++)
                kill(pids[i], SIGKILL);
            for (int i = 0; i < 3; i++)
                reap(pids[i], true);
        }
        check_tally(1);
    }
}

/* ------------------------------------------------------------------ the keeper */

static struct vesta_gen *open_given(void) {
    return must_open((struct vesta_opts){.layout = FAST, .pacing = pacing, .has_worker = 1, .worker = 1});
}

static void keep_only(uint64_t unused) {
    (void)unused;
    struct vesta_gen *gen = open_given();
    if (!gen || !issue(gen, 1, 1)) return;
    atomic_store(&tally->mark, 1);
    for (;;)
        pause();
}

/* The window of a worker id set by hand is five seconds long.  When its keeper is dead, another one must extend it. */
static void a_keeper_is_killed(void) {
    pacing = VESTA_PACING_CLOCK;
    empty_folder();
    tally_clear();
    pid_t keeper = spawn(keep_only, 0);
    AWAIT(atomic_load(&tally->mark) == 1);
    struct vesta_gen *gen = open_given();
    NEED(gen != NULL);
    CHECK(issue(gen, 1000, 1)); /* within the first keeper's lease */
    struct vesta_info before, after;
    vesta_get_info(gen, &before);
    kill(keeper, SIGKILL);
    reap(keeper, true);
    int64_t killed_us = now_us(), worst_us = 0, last_us = killed_us;
    uint64_t id;
    struct vesta_pause pause;
    while (now_us() - killed_us < 7 * 1000000) { /* until the dead keeper's lease has ended */
        CHECK(vesta_next_wait(gen, &id, 3 * 1000000, &pause) == VESTA_OK);
        tally_add(&id, 1);
        int64_t now = now_us();
        if (now - last_us > worst_us) worst_us = now - last_us;
        last_us = now;
        usleep(500);
    }
    vesta_get_info(gen, &after);
    CHECK_EQ_U64(after.worker, before.worker);
    CHECK_EQ_U64(after.slots_used, before.slots_used); /* the lease was resumed, not claimed again */
    CHECK(after.limit > before.limit);
    if (worst_us > 2000000) CHECK_FAIL("issuers had to wait %" PRId64 " us", worst_us);
    check_tally(1000);
    vesta_close(gen);
}

static const struct check_case cases[] = {
    {"60 processes killed at random moments, with survivors: no duplicate", killed_at_random_moments},
    {"all killed and started again, the file removed at times: no duplicate", all_killed_and_started_again},
    {"a keeper is killed: others continue within two seconds, under the same lease", a_keeper_is_killed},
};

CHECK_MAIN_IN_FOLDER(cases)
