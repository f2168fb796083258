/* Each step of a renewal reads the clock once. Regression: a renewal read the clock 34 times. */
#include "opened.h"
#include "term.h"

#include <pthread.h>

/* ------------------------------------------------------------------ a clock that counts */

static _Atomic unsigned readings;
static pthread_t main_thread;

static void count(void) {
    if (!pthread_equal(pthread_self(), main_thread)) atomic_fetch_add(&readings, 1);
}

static int64_t counted_unix_us(void *self) {
    count();
    return vs_clock_system()->unix_us(self);
}

static int64_t counted_boot_us(void *self) {
    count();
    return vs_clock_system()->boot_us(self);
}

static const struct vesta_clock counted_clock = {NULL, counted_unix_us, counted_boot_us, ahead_sleep_us};

/* ------------------------------------------------------------------ the term without a keeper */

static unsigned unix_readings, boot_readings;

static int64_t term_unix_us(void *self) {
    unix_readings++;
    return fake_unix_us(self);
}

static int64_t term_boot_us(void *self) {
    boot_readings++;
    return fake_boot_us(self);
}

static unsigned decisions;

static enum vs_stop count_decision(struct vs_term *real) {
    decisions++;
    return term_stop(real);
}

static void a_decision_reads_both_clocks(void) {
    struct vs_term_ops ops = term_ops;
    ops.stop = count_decision;
    term_begin(TERM_LAYOUT, VESTA_PACING_CLOCK, true);
    term.w.clock.unix_us = term_unix_us;
    term.w.clock.boot_us = term_boot_us;
    term.end_boot_us = term.w.time.boot_us + 1000 * SECOND;
    term.real = (struct vs_term){term.w.map, &term.w.clock, &term.w.layout, &ops, .pid = 1};
    vs_term_begin(&term.real, "here pid 1", &vs_lease_timing_file);
    CHECK(vs_term_serve(&term.real) == VS_TERM_LEFT);
    CHECK(term.writes.count > 100);
    CHECK_EQ_U64(unix_readings, decisions - 1); /* The last decision ended the term. */
    CHECK_EQ_U64(boot_readings, decisions - 1);
    term_end();
}

/* ------------------------------------------------------------------ a keeper with its thread */

#define FOR_S 5

static void a_keeper_reads_it_once_a_step(void) {
    struct vesta_pause pause;
    struct vesta_info info;
    uint64_t id;
    main_thread = pthread_self();
    struct vesta_gen *gen = open_in_state("a.gen", "snowflake", (struct vesta_opts){.any_worker = 1, .clock = &counted_clock});
    NEED(gen && vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
    vesta_get_info(gen, &info);
    uint64_t before = info.renewals.ok;
    atomic_store(&readings, 0);
    for (int i = 0; i < FOR_S * 100; i++, usleep(10000))
        (void)vesta_next(gen, &id, &pause);
    unsigned seen = atomic_load(&readings);
    vesta_get_info(gen, &info);
    unsigned renewals = (unsigned)(info.renewals.ok - before);
    printf("# %u readings in %u renewals and %d s\n", seen, renewals, FOR_S);
    CHECK(renewals >= 1);
    CHECK(seen <= 12 * (renewals + 1) + 3 * (FOR_S + 2)); /* The keeper checks once a second that all is well. */
    vesta_close(gen);
}

IN_NEW_STATE(a_keeper_reads_it_once_a_step)

static const struct check_case cases[] = {
    {"each decision of a term reads both clocks once", a_decision_reads_both_clocks},
    {"a keeper reads the clock once per step", a_keeper_reads_it_once_a_step_},
};

CHECK_MAIN(cases)
