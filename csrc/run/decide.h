/* decide.h -- decides what happens next to a program under a lease.  Pure: it reads facts and times, and returns the next
 * step.  keep.c carries out the steps. */
#ifndef VS_RUN_DECIDE_H
#define VS_RUN_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

struct vs_run_times {
    int64_t ttl_ms;
    int64_t skew_ms;       /* the program starts this long after the ids of earlier holders end */
    int64_t kill_after_ms; /* from TERM to KILL */
    int64_t patience_ms;   /* how long to wait for a worker id */
};

/* KILL is sent this long before the lease ends, so that the program has ended by then. */
#define VS_RUN_MARGIN_MS_MAX 1000
static inline int64_t vs_run_margin_ms(int64_t ttl_ms) {
    return ttl_ms / 20 < VS_RUN_MARGIN_MS_MAX ? ttl_ms / 20 : VS_RUN_MARGIN_MS_MAX;
}
/* The longest and the default kill_after_ms.  They leave enough of the lease to retry failed renewals. */
static inline int64_t vs_run_kill_after_ms_max(int64_t ttl_ms) {
    return ttl_ms / 3;
}
static inline int64_t vs_run_kill_after_ms(int64_t ttl_ms) {
    return ttl_ms / 5 < 10000 ? ttl_ms / 5 : 10000;
}
#define VS_RUN_AGAIN_MS 20          /* between two KILLs, because a process may have forked since the first */
#define VS_RUN_LOOK_MS 1000         /* the longest sleep, because a kernel may not report that the clock was set */
#define VS_RUN_PATIENCE_MS_MIN 2000 /* processes that claim one worker id at the same time need several attempts */

/* Why vesta ends the program. */
enum vs_run_why {
    VS_RUN_FINE,
    VS_RUN_NO_ANSWER, /* no renewal was acknowledged in time */
    VS_RUN_LOST,      /* the store has another holder, or lost the lease */
    VS_RUN_AHEAD,     /* the clock reached the end of the lease's id times */
    VS_RUN_BEHIND,    /* the clock went back to the id times of earlier holders */
    VS_RUN_ORPHANED,  /* the process that the user started was killed */
    VS_RUN_LEFT       /* the program ended, but processes that it started did not */
};

struct vs_run_facts {
    struct vs_run_times times;
    /* the lease */
    bool has_lease, is_released; /* is_released: a release was tried, or the lease was lost */
    bool is_calling;       /* a call to the store is in progress */
    bool has_failed;       /* no worker id can be claimed */
    int64_t starts_ms, expires_ms, deadline_boot_us;
    int64_t retry_boot_us;   /* the next claim or renewal */
    int64_t give_up_boot_us; /* the end of the wait for a worker id.  0: not yet set */
    /* the program */
    bool is_started, is_alive; /* is_alive: the process of COMMAND itself */
    bool has_others;           /* other processes that it started are alive */
    bool has_ended_well;       /* COMMAND ended with exit code 0 */
    bool is_asked;             /* a signal has requested the end */
    bool is_orphaned;
    int64_t term_boot_us, kill_boot_us; /* when TERM and the last KILL were sent.  0: not sent */
    enum vs_run_why why;
};

struct vs_run_now {
    int64_t boot_us, unix_ms;
    /* The latest time that an id of the program may have.  Later than unix_ms after the clock went back, because some
     * generators read the clock once, and add the monotonic clock to that time. */
    int64_t high_ms;
};
static inline int64_t vs_run_high_ms(const struct vs_run_now *now, int64_t high_offset_ms) {
    int64_t high_ms = now->boot_us / 1000 + high_offset_ms;
    return high_ms > now->unix_ms ? high_ms : now->unix_ms;
}

enum vs_run_step {
    VS_RUN_SLEEP,
    VS_RUN_CLAIM,
    VS_RUN_RENEW,
    VS_RUN_RELEASE,
    VS_RUN_START,
    VS_RUN_TERM, /* send TERM to all processes of the program */
    VS_RUN_KILL,
    VS_RUN_END
};

/* Records a claim or a renewal that the store has acknowledged.  `sent` is the time when it was sent. */
void vs_run_held(struct vs_run_facts *run, const struct vs_run_now *sent, int64_t starts_ms, int64_t expires_ms,
                 int64_t deadline_boot_us);
/* Records that the lease is lost, so that another process may hold the worker id. */
void vs_run_lost(struct vs_run_facts *run);

/* Returns the next step.  If it is VS_RUN_SLEEP, sets *until_boot_us, and an event may end the sleep earlier.  TERM, KILL
 * and START update the facts, because the caller carries them out at once. */
enum vs_run_step vs_run_next(struct vs_run_facts *run, const struct vs_run_now *now, int64_t *until_boot_us);

/* Return the last instants at which the program may be alive, in boot time and by the clock.  The front checks them
 * independently. */
int64_t vs_run_kill_at_us(const struct vs_run_facts *run);
int64_t vs_run_kill_at_ms(const struct vs_run_facts *run);

#endif
