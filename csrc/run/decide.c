/* decide.c -- decides the next step for a program under a lease (see decide.h). */
#include "run/decide.h"

int64_t vs_run_kill_at_us(const struct vs_run_facts *run) {
    return run->deadline_boot_us - vs_run_margin_ms(run->times.ttl_ms) * 1000;
}

int64_t vs_run_kill_at_ms(const struct vs_run_facts *run) {
    return run->expires_ms - vs_run_margin_ms(run->times.ttl_ms);
}

static int64_t run_sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The next renewal is due after a third of the lease.  The lease ends by boot time or by the wall clock, whichever is
 * earlier.  This is the wall clock if the layout has long time units, or if the clock is ahead. */
void vs_run_held(struct vs_run_facts *run, const struct vs_run_now *sent, int64_t starts_ms, int64_t expires_ms,
                 int64_t deadline_boot_us) {
    int64_t left_ms = run_sooner(run->times.ttl_ms, expires_ms - sent->unix_ms);
    if (!run->has_lease) run->starts_ms = starts_ms;
    run->has_lease = true;
    run->expires_ms = expires_ms;
    run->deadline_boot_us = deadline_boot_us;
    run->retry_boot_us = sent->boot_us + left_ms * 1000 / 3;
}

void vs_run_lost(struct vs_run_facts *run) {
    run->has_lease = false;
    if (run->is_started) run->why = VS_RUN_LOST;
    run->is_released = run->is_started; /* a program that has started cannot use another lease */
    run->retry_boot_us = 0;
}

static enum vs_run_step run_sleep(const struct vs_run_now *now, int64_t until_us, int64_t *until_boot_us) {
    *until_boot_us = run_sooner(until_us, now->boot_us + VS_RUN_LOOK_MS * 1000);
    return VS_RUN_SLEEP;
}

/* ------------------------------------------------------------------ before the program starts */

static enum vs_run_step run_claim(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us) {
    if (run->is_calling) return run_sleep(now, INT64_MAX, until_boot_us);
    bool ends = run->is_asked || run->is_orphaned || run->has_failed;
    if (!run->give_up_boot_us) {
        int64_t patience_ms = run->times.patience_ms;
        if (patience_ms < VS_RUN_PATIENCE_MS_MIN) patience_ms = VS_RUN_PATIENCE_MS_MIN;
        run->give_up_boot_us = now->boot_us + patience_ms * 1000;
    }
    if (ends || run->retry_boot_us >= run->give_up_boot_us) return VS_RUN_END;
    return now->boot_us >= run->retry_boot_us ? VS_RUN_CLAIM : run_sleep(now, run->retry_boot_us, until_boot_us);
}

static enum vs_run_step run_wait(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us) {
    if (run->is_calling) return run_sleep(now, INT64_MAX, until_boot_us);
    if (run->is_asked || run->is_orphaned) return VS_RUN_RELEASE;
    if (now->boot_us >= run->deadline_boot_us) { /* the program has not started, so claim again */
        vs_run_lost(run);
        return VS_RUN_CLAIM;
    }
    int64_t start_ms = run->starts_ms + run->times.skew_ms, grace_ms = run->times.kill_after_ms;
    bool is_fresh = now->boot_us < vs_run_kill_at_us(run) - grace_ms * 1000 &&
                    now->unix_ms < vs_run_kill_at_ms(run) - grace_ms;
    if (now->unix_ms >= start_ms && is_fresh) {
        run->is_started = run->is_alive = true;
        return VS_RUN_START;
    }
    if (now->boot_us >= run->retry_boot_us) return VS_RUN_RENEW;
    int64_t left_ms = start_ms > now->unix_ms ? start_ms - now->unix_ms : VS_RUN_LOOK_MS;
    return run_sleep(now, run_sooner(run->retry_boot_us, now->boot_us + left_ms * 1000), until_boot_us);
}

/* ------------------------------------------------------------------ while it runs */

/* Returns why no process of the program may be alive any longer. */
static enum vs_run_why why_kill(const struct vs_run_facts *run, const struct vs_run_now *now) {
    if (!run->has_lease) return VS_RUN_LOST;
    if (now->boot_us >= vs_run_kill_at_us(run)) return VS_RUN_NO_ANSWER;
    if (now->high_ms >= vs_run_kill_at_ms(run)) return VS_RUN_AHEAD;
    return now->unix_ms < run->starts_ms ? VS_RUN_BEHIND : VS_RUN_FINE;
}

/* Returns why the program must be asked to end. */
static enum vs_run_why why_term(const struct vs_run_facts *run, const struct vs_run_now *now) {
    int64_t grace_ms = run->times.kill_after_ms;
    if (now->boot_us >= vs_run_kill_at_us(run) - grace_ms * 1000) return VS_RUN_NO_ANSWER;
    if (now->high_ms >= vs_run_kill_at_ms(run) - grace_ms) return VS_RUN_AHEAD;
    if (run->is_orphaned) return VS_RUN_ORPHANED;
    /* If COMMAND ended with exit code 0 and left processes, they are a daemon that uses the worker id. */
    return !run->is_alive && (run->is_asked || !run->has_ended_well) ? VS_RUN_LEFT : VS_RUN_FINE;
}

static enum vs_run_step run_watch(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us) {
    enum vs_run_why why = why_kill(run, now);
    int64_t graced_us = run->term_boot_us + run->times.kill_after_ms * 1000;
    bool kills = why || run->kill_boot_us || (run->term_boot_us && now->boot_us >= graced_us);
    if (why && !run->kill_boot_us) run->why = why;
    if (kills && now->boot_us >= run->kill_boot_us + VS_RUN_AGAIN_MS * 1000) {
        run->kill_boot_us = now->boot_us;
        return VS_RUN_KILL;
    }
    if (!kills && !run->term_boot_us && (why = why_term(run, now))) {
        run->why = why;
        run->term_boot_us = now->boot_us;
        return VS_RUN_TERM;
    }
    if (run->has_lease && !run->is_calling && now->boot_us >= run->retry_boot_us) return VS_RUN_RENEW;
    int64_t next_us = run->is_calling || !run->has_lease ? INT64_MAX : run->retry_boot_us;
    if (run->kill_boot_us) return run_sleep(now, run_sooner(next_us, run->kill_boot_us + VS_RUN_AGAIN_MS * 1000), until_boot_us);
    int64_t grace_ms = run->times.kill_after_ms, end_us = vs_run_kill_at_us(run), end_ms = vs_run_kill_at_ms(run);
    if (!run->term_boot_us) end_us -= grace_ms * 1000, end_ms -= grace_ms;
    next_us = run_sooner(next_us, run_sooner(end_us, now->boot_us + (end_ms - now->high_ms) * 1000));
    return run_sleep(now, run->term_boot_us ? run_sooner(next_us, graced_us) : next_us, until_boot_us);
}

/* ------------------------------------------------------------------ after its end */

static enum vs_run_step run_release(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us) {
    if (run->is_calling) return run_sleep(now, INT64_MAX, until_boot_us);
    return run->is_released ? VS_RUN_END : VS_RUN_RELEASE;
}

enum vs_run_step vs_run_next(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us) {
    if (run->is_started && (run->is_alive || run->has_others)) return run_watch(run, now, until_boot_us);
    if (run->is_started || run->is_released) return run_release(run, now, until_boot_us);
    return run->has_lease ? run_wait(run, now, until_boot_us) : run_claim(run, now, until_boot_us);
}
