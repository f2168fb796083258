/* run_decide.c -- what `vesta lease run` does next, in virtual time. */
#include "check.h"
#include "run/decide.h"
#include "run/keep.h"

#include <errno.h>
#include <stdlib.h>

#define S_US INT64_C(1000000)
#define NOON_MS INT64_C(1795700000000)

static struct vs_run_facts run;
static struct vs_run_now now;
static int64_t until_us;

/* The times of a step are those of the last call of `step`. */
static enum vs_run_step step(void) {
    until_us = 0;
    return vs_run_next(&run, &now, &until_us);
}

static void pass_ms(int64_t ms) {
    now.boot_us += ms * 1000;
    now.unix_ms += ms;
    now.high_ms += ms;
}

static void set_clock(int64_t unix_ms) {
    now.unix_ms = unix_ms;
    if (now.high_ms < unix_ms) now.high_ms = unix_ms;
}

static void begin_with(int64_t ttl_ms, int64_t kill_after_ms) {
    run = (struct vs_run_facts){
        .times = {.ttl_ms = ttl_ms, .skew_ms = 1000, .kill_after_ms = kill_after_ms, .patience_ms = 0}};
    now = (struct vs_run_now){.boot_us = 100 * S_US, .unix_ms = NOON_MS, .high_ms = NOON_MS};
}

/* A lease that the store has acknowledged now.  Ids of earlier holders end `ago_ms` ago. */
static void hold(int64_t ago_ms) {
    int64_t ttl_ms = run.times.ttl_ms;
    vs_run_held(&run, &now, now.unix_ms - ago_ms, now.unix_ms + ttl_ms, now.boot_us + ttl_ms * 800);
}

static void begin_running(void) {
    begin_with(30000, 6000);
    CHECK_EQ_I64(step(), VS_RUN_CLAIM);
    hold(5000);
    CHECK_EQ_I64(step(), VS_RUN_START);
}

/* Lets time pass until a step other than a sleep or `but` is due.  Returns that step, or SLEEP after `ms`. */
static enum vs_run_step next_within(int64_t ms, enum vs_run_step but) {
    int64_t end_us = now.boot_us + ms * 1000;
    while (now.boot_us <= end_us) {
        enum vs_run_step next = step();
        if (next != VS_RUN_SLEEP && next != but) return next;
        if (next == VS_RUN_SLEEP) {
            CHECK(until_us > now.boot_us);
            pass_ms((until_us - now.boot_us + 999) / 1000);
        } else
            run.retry_boot_us = now.boot_us + S_US; /* the call failed */
    }
    return VS_RUN_SLEEP;
}

static void starts_after_earlier_holders(void) {
    begin_with(30000, 6000);
    CHECK_EQ_I64(step(), VS_RUN_CLAIM);
    hold(-2000);
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    pass_ms(2999);
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    CHECK(!run.is_started);
    pass_ms(1);
    CHECK_EQ_I64(step(), VS_RUN_START);
}

static void renews_while_it_waits(void) {
    begin_with(30000, 6000);
    hold(-60000);
    for (int i = 0; i < 6; i++) {
        CHECK_EQ_I64(next_within(11000, VS_RUN_SLEEP), VS_RUN_RENEW);
        hold(0); /* the start of the lease is that of its claim */
    }
    CHECK_EQ_I64(run.starts_ms, NOON_MS + 60000);
    CHECK_EQ_I64(next_within(11000, VS_RUN_SLEEP), VS_RUN_START);
    CHECK(now.unix_ms >= NOON_MS + 61000);
}

static void starts_with_time_left_only(void) {
    begin_with(30000, 6000);
    hold(-16500); /* at the start, a later TERM would come at once */
    CHECK_EQ_I64(next_within(17700, VS_RUN_RENEW), VS_RUN_SLEEP);
    CHECK(now.unix_ms > NOON_MS + 17500 && !run.is_started);
    hold(0);
    CHECK_EQ_I64(step(), VS_RUN_START);
}

static void claims_again_after_the_deadline(void) {
    begin_with(30000, 6000);
    hold(-100000);
    CHECK_EQ_I64(next_within(100000, VS_RUN_RENEW), VS_RUN_CLAIM);
    CHECK(now.boot_us >= 124 * S_US && !run.has_lease);
}

static void gives_up_after_its_patience(void) {
    for (int64_t patience_ms = 0; patience_ms <= 10000; patience_ms += 10000) {
        begin_with(30000, 6000);
        run.times.patience_ms = patience_ms;
        CHECK_EQ_I64(next_within(60000, VS_RUN_CLAIM), VS_RUN_END);
        int64_t waited_us = now.boot_us - 100 * S_US, least_us = patience_ms ? 10 * S_US : VS_RUN_PATIENCE_MS_MIN * 1000;
        CHECK(waited_us >= least_us - S_US && waited_us <= least_us);
    }
    begin_with(30000, 6000);
    run.has_failed = true;
    CHECK_EQ_I64(step(), VS_RUN_END);
}

static void ends_before_the_start(void) {
    begin_with(30000, 6000);
    run.is_calling = true;
    run.is_asked = true;
    CHECK_EQ_I64(step(), VS_RUN_SLEEP); /* the claim may succeed, and must then be released */
    run.is_calling = false;
    hold(0);
    CHECK_EQ_I64(step(), VS_RUN_RELEASE);
    run.is_released = true;
    CHECK_EQ_I64(step(), VS_RUN_END);
}

static void term_and_kill_are_in_time(void) {
    for (int64_t ttl_s = 1; ttl_s <= 1200; ttl_s++)
        for (int i = 0; i < 3; i++) {
            int64_t ttl_ms = ttl_s * 1000, longest_ms = vs_run_kill_after_ms_max(ttl_ms);
            int64_t grace_ms = i == 0 ? 1 : i == 1 ? vs_run_kill_after_ms(ttl_ms) : longest_ms;
            begin_with(ttl_ms, grace_ms);
            hold(5000);
            int64_t deadline_us = run.deadline_boot_us;
            CHECK_EQ_I64(step(), VS_RUN_START);
            CHECK_EQ_I64(next_within(ttl_ms, VS_RUN_SLEEP), VS_RUN_RENEW);
            CHECK_EQ_I64(next_within(ttl_ms, VS_RUN_RENEW), VS_RUN_TERM);
            int64_t term_us = now.boot_us;
            CHECK_EQ_I64(run.why, VS_RUN_NO_ANSWER);
            CHECK_EQ_I64(next_within(ttl_ms, VS_RUN_RENEW), VS_RUN_KILL);
            CHECK(now.boot_us - term_us >= (grace_ms - 1) * 1000);
            CHECK(now.boot_us <= deadline_us - vs_run_margin_ms(ttl_ms) * 1000 + 1000);
            CHECK(grace_ms <= longest_ms);
        }
}

static void a_late_renewal_does_not_undo_term(void) {
    begin_running();
    CHECK_EQ_I64(next_within(30000, VS_RUN_RENEW), VS_RUN_TERM);
    pass_ms(1000);
    hold(0);
    CHECK_EQ_I64(next_within(30000, VS_RUN_RENEW), VS_RUN_KILL);
    CHECK_EQ_I64(now.boot_us, run.term_boot_us + 6 * S_US);
}

static void an_answer_after_the_deadline_is_too_late(void) {
    begin_running();
    run.is_calling = true; /* for a long time */
    CHECK_EQ_I64(next_within(30000, VS_RUN_SLEEP), VS_RUN_TERM);
    CHECK_EQ_I64(next_within(30000, VS_RUN_SLEEP), VS_RUN_KILL);
    CHECK(now.boot_us < run.deadline_boot_us);
    run.is_calling = false;
    hold(0);
    pass_ms(VS_RUN_AGAIN_MS);
    CHECK_EQ_I64(step(), VS_RUN_KILL); /* until all processes have ended */
}

static void a_clock_beyond_the_lease_kills_at_once(void) {
    begin_running();
    set_clock(run.expires_ms);
    CHECK_EQ_I64(step(), VS_RUN_KILL);
    CHECK_EQ_I64(run.why, VS_RUN_AHEAD);
    now.unix_ms = now.high_ms = run.starts_ms + 5000; /* the clock was corrected */
    pass_ms(VS_RUN_AGAIN_MS);
    CHECK_EQ_I64(step(), VS_RUN_KILL); /* until all processes have ended */
}

static void a_clock_before_the_lease_kills_at_once(void) {
    begin_running();
    set_clock(run.starts_ms);
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    now.unix_ms--;
    CHECK_EQ_I64(step(), VS_RUN_KILL);
    CHECK_EQ_I64(run.why, VS_RUN_BEHIND);
}

static void ids_may_not_follow_a_clock_that_goes_back(void) {
    begin_running();
    pass_ms(9000);
    vs_run_held(&run, &now, run.starts_ms, now.high_ms + 12000, now.boot_us + 24 * S_US);
    set_clock(now.unix_ms - 8000);
    CHECK_EQ_I64(next_within(30000, VS_RUN_RENEW), VS_RUN_TERM);
    CHECK_EQ_I64(run.why, VS_RUN_AHEAD);
    CHECK(now.high_ms < run.expires_ms && now.unix_ms < run.expires_ms - 8000);
}

static void renews_sooner_if_id_times_end_sooner(void) {
    begin_running();
    vs_run_held(&run, &now, run.starts_ms, now.unix_ms + 12000, now.boot_us + 24 * S_US);
    int64_t held_us = now.boot_us;
    CHECK_EQ_I64(next_within(30000, VS_RUN_SLEEP), VS_RUN_RENEW);
    CHECK_EQ_I64(now.boot_us - held_us, 4 * S_US);
    CHECK_EQ_I64(next_within(30000, VS_RUN_RENEW), VS_RUN_TERM);
    CHECK_EQ_I64(now.boot_us - held_us, 5 * S_US);
    CHECK_EQ_I64(run.why, VS_RUN_AHEAD);
}

static void suspend_kills_at_once(void) {
    begin_running();
    now.boot_us = vs_run_kill_at_us(&run);
    CHECK(now.boot_us < run.deadline_boot_us);
    CHECK_EQ_I64(step(), VS_RUN_KILL);
}

static void a_lost_lease_kills_at_once(void) {
    begin_running();
    vs_run_lost(&run);
    CHECK_EQ_I64(step(), VS_RUN_KILL);
    CHECK_EQ_I64(run.why, VS_RUN_LOST);
    run.is_alive = false;
    CHECK_EQ_I64(step(), VS_RUN_END); /* there is nothing to release */
}

static void renews_for_an_orphan_that_ends(void) {
    begin_running();
    pass_ms(9500);
    run.is_orphaned = true;
    CHECK_EQ_I64(step(), VS_RUN_TERM);
    CHECK_EQ_I64(next_within(30000, VS_RUN_SLEEP), VS_RUN_RENEW);
    hold(0);
    CHECK_EQ_I64(next_within(30000, VS_RUN_SLEEP), VS_RUN_KILL);
    CHECK_EQ_I64(now.boot_us, run.term_boot_us + 6 * S_US);
    CHECK_EQ_I64(run.why, VS_RUN_ORPHANED);
    run.is_alive = false;
    CHECK_EQ_I64(step(), VS_RUN_RELEASE);
}

static void a_signal_of_the_user_does_not_hurry(void) {
    begin_running();
    run.is_asked = true; /* the program got the signal, and may take its time */
    for (int i = 0; i < 20; i++) {
        CHECK_EQ_I64(next_within(11000, VS_RUN_SLEEP), VS_RUN_RENEW);
        hold(0);
    }
}

static void a_daemon_keeps_the_lease(void) {
    begin_running();
    run.is_alive = false;
    run.has_others = run.has_ended_well = true;
    CHECK_EQ_I64(next_within(11000, VS_RUN_SLEEP), VS_RUN_RENEW);
    hold(0);
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    run.is_asked = true;
    CHECK_EQ_I64(step(), VS_RUN_TERM);
    run.has_others = false;
    CHECK_EQ_I64(step(), VS_RUN_RELEASE);
}

static void a_failed_program_leaves_no_processes(void) {
    begin_running();
    run.is_alive = false;
    run.has_others = true;
    CHECK_EQ_I64(step(), VS_RUN_TERM);
    CHECK_EQ_I64(next_within(30000, VS_RUN_RENEW), VS_RUN_KILL);
    CHECK_EQ_I64(now.boot_us, run.term_boot_us + 6 * S_US);
}

static void releases_once(void) {
    begin_running();
    run.is_alive = false;
    run.is_calling = true; /* a renewal is in progress */
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    run.is_calling = false;
    CHECK_EQ_I64(step(), VS_RUN_RELEASE);
    run.is_calling = true;
    CHECK_EQ_I64(step(), VS_RUN_SLEEP);
    run.is_calling = false;
    run.is_released = true;
    CHECK_EQ_I64(step(), VS_RUN_END);
}

/* Random clocks, renewals, losses and ends: whenever the limits have passed, the next step is KILL. */
static void never_alive_after_the_limits(void) {
    uint64_t dice = 1;
    int kills = 0;
    for (int round = 0; round < 20000; round++) {
        begin_running();
        for (int i = 0; i < 40 && run.is_alive; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            unsigned roll = (unsigned)(dice >> 40) % 100, size = (unsigned)(dice >> 33) % 3000;
            if (roll < 3) set_clock(now.unix_ms + (int64_t)size * 20);
            if (roll >= 3 && roll < 6) now.unix_ms -= (int64_t)size * 20;
            if (roll == 6) run.is_asked = true;
            if (roll == 7) run.is_orphaned = true;
            if (roll == 8) vs_run_lost(&run);
            if (roll >= 9 && roll < 20 && run.has_lease) hold(0);
            pass_ms(size);
            bool must_end = !run.has_lease || now.boot_us >= vs_run_kill_at_us(&run) ||
                            now.high_ms >= vs_run_kill_at_ms(&run) || now.unix_ms < run.starts_ms;
            enum vs_run_step next = step();
            if (must_end) CHECK_EQ_I64(next, VS_RUN_KILL);
            CHECK(next != VS_RUN_RELEASE && next != VS_RUN_END && next != VS_RUN_START);
            if (next == VS_RUN_KILL) run.is_alive = false, kills++;
        }
    }
    CHECK(kills > 1000);
}

/* ------------------------------------------------------------------ the environment of the program */

static int puts_left = -1; /* how many variables can be set.  -1: all */

int __real_setenv(const char *key, const char *value, int replaces);
int __wrap_setenv(const char *key, const char *value, int replaces);
int __wrap_setenv(const char *key, const char *value, int replaces) {
    if (puts_left == 0) return errno = ENOMEM, -1;
    puts_left -= puts_left > 0;
    return __real_setenv(key, value, replaces);
}

static void each_variable_must_be_set(void) {
    char *names[] = {"A", "B={machine}-{worker}", NULL};
    struct vs_run_opts opts = {.names = names, .datacenter_bits = 5};
    for (puts_left = 0; puts_left < 6; puts_left++) {
        int puts = puts_left;
        CHECK_EQ_I64(vs_run_set_names(&opts, 70, 10, NOON_MS), ENOMEM);
        puts_left = puts;
    }
    CHECK_EQ_I64(vs_run_set_names(&opts, 70, 10, NOON_MS), 0);
    CHECK_STR(getenv("VESTA_WORKER"), "70");
    CHECK_STR(getenv("B"), "6-70");
    puts_left = -1;
}

static const struct check_case cases[] = {
    {"if a variable of the worker id cannot be set, the program is not started", each_variable_must_be_set},
    {"the program starts when the clock has passed earlier ids and the skew", starts_after_earlier_holders},
    {"the lease is renewed while the start waits", renews_while_it_waits},
    {"the program starts only if enough of the lease is left", starts_with_time_left_only},
    {"a lease that ends before the start is claimed again", claims_again_after_the_deadline},
    {"claims end after the patience, or at once if a setting is wrong", gives_up_after_its_patience},
    {"a signal before the start releases the lease", ends_before_the_start},
    {"without an answer TERM and KILL come before the deadline, for every ttl", term_and_kill_are_in_time},
    {"a renewal after TERM does not undo it", a_late_renewal_does_not_undo_term},
    {"an answer after the deadline is too late", an_answer_after_the_deadline_is_too_late},
    {"a clock that reaches the end of the lease kills at once", a_clock_beyond_the_lease_kills_at_once},
    {"a clock that goes back to earlier holders kills at once", a_clock_before_the_lease_kills_at_once},
    {"a clock that goes back prolongs no lease: ids may not follow it", ids_may_not_follow_a_clock_that_goes_back},
    {"a renewal is due sooner if the id times of the lease end sooner", renews_sooner_if_id_times_end_sooner},
    {"a resume from a long suspend kills at once", suspend_kills_at_once},
    {"a lost lease kills at once, and is not released", a_lost_lease_kills_at_once},
    {"a program without its wrapper gets TERM, then KILL, and keeps its lease until then", renews_for_an_orphan_that_ends},
    {"a forwarded signal starts no timer", a_signal_of_the_user_does_not_hurry},
    {"a daemon keeps the lease until it ends", a_daemon_keeps_the_lease},
    {"processes that a failed program left get TERM, then KILL", a_failed_program_leaves_no_processes},
    {"the lease is released once, after all calls and processes", releases_once},
    {"no step lets a program live after a limit, in random schedules", never_alive_after_the_limits},
};
CHECK_MAIN(cases)
