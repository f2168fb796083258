/* controls.h -- shared by the files of the control thread. */
#ifndef VS_CONTROLS_H
#define VS_CONTROLS_H

#include "policy/control/control.h"

#include <pthread.h>
#include <stdatomic.h>

#define VS_STUCK_MS (VS_CALL_MS + 1000) /* processor time: the budget did not end a call that used this much */

enum vs_cause { VS_CAUSE_BACK, VS_CAUSE_EXHAUSTED, VS_CAUSES };

/* A function that failed is not called before retry_us.  ms 0: its last call succeeded. */
struct vs_back_off {
    int64_t ms, retry_us;
};

/* The state of one cause of pauses in one namespace. */
struct vs_pause_question {
    struct vesta_gen *gen;
    struct vesta_pause pause; /* the pause of the request that asked */
    /* The last verdict.  VS_PENDING: none. */
    enum vs_next_step next;
    enum vs_verdict_kind kind;
    uint32_t slot;                     /* the slot that it is about */
    int64_t amount_ms, at_us, told_us; /* told_us: when such a verdict was logged */
    char *refusal; /* for example "policy night.lua refused: it is day".  NULL: the last verdict was not to refuse */
    struct vs_back_off back_off;
};

/* The state of one namespace's leases.  Used by the control thread only, except for `over` and `why`. */
struct vs_leasing {
    bool started;       /* on_start was called */
    bool told_fixed;    /* it was logged that choose_worker is not called, because the worker id was assigned by hand */
    bool lost;          /* on_lease_lost was called for the loss that the keeper reports */
    int64_t suspect_us; /* since when the store is silent.  0: it is not */
    int64_t asked_us;   /* when on_store_down was called */
    uint64_t choice_told;   /* hash of the last logged choice.  0: none */
    int64_t choice_told_us; /* when it was logged */
    struct vs_back_off back_off[VS_HOOKS];
    bool over; /* guarded by the lock, like `why` */
    char why[VS_OVER_MAX];
};

/* The lines that a namespace's policy writes with log(): this many a second are logged, and the others are counted. */
#define VS_SAID_LINES_MAX 10
struct vs_saying {
    struct vs_policy_set *set;
    int ns;
    int64_t from_us; /* start of the current second */
    int lines;
    uint64_t dropped; /* not reported yet */
};

struct vs_policy_set {
    const struct vs_control *control;
    bool is_shadow;
    struct vs_policy_set *shadow; /* the policies that are tried next to it.  NULL: none, or taken over by their
                                     thread */
    bool has_dropped;             /* some lines were dropped and not reported yet.  Used by the set's thread only */
    /* Arrays with one element per namespace: */
    struct vs_saying *saying; /* used by the set's thread only */
    struct vs_policy_text *text;
    struct vs_policy **policy; /* NULL: none */
    uint64_t *mark;            /* hash of the texts of the policy and of its shadow.  Only in the set in force */
};

struct vs_shadow;

struct vs_control {
    struct vs_control_opts opts;
    const struct vesta_clock *clock;
    pthread_t thread;
    struct vs_policy_set *set; /* the control thread changes it with the lock held.  Other threads read names with the
                                  lock held */
    bool switch_told;          /* control thread only */
    int64_t looked_us;         /* control thread only: when it last checked the leases */
    /* Arrays with one element per namespace: */
    const char **name;
    _Atomic(struct vesta_gen *) *gen; /* NULL: no handle yet, or the control does not handle its leases */
    struct vs_leasing *leasing;
    _Atomic unsigned *hooks;            /* 1 << enum vs_hook for each function of its policy */
    _Atomic unsigned char *wants;       /* its keeper asked for a worker id, and was not served since */
    int looked_at;                      /* control thread only: the next namespace to check */
    _Atomic int64_t busy_since_us;      /* start of the current call, in its thread's time.  0: no call */
    atomic_bool stuck;                  /* as last logged */
    _Atomic(struct vs_shadow *) shadow; /* owned by shadow.c.  NULL: there was no shadow policy yet */
    pthread_mutex_t shadow_lock;        /* owned by shadow.c */
    atomic_bool ending_now;             /* ends a running call of a shadow policy */
    pthread_mutex_t lock;               /* guards all members below */
    pthread_cond_t event;
    bool ending, reload, look;
    bool idle;                          /* the thread waits for a question, and will take the lock */
    int turn;                           /* the question to check first */
    struct vs_pause_question *question; /* VS_CAUSES per namespace */
    bool *asked;                        /* ... the thread was asked, and has not answered yet */
    _Atomic uint32_t *lent;             /* ... slot + 1 for which the last verdict allowed ids.  0: it allowed none */
    struct vs_policies_status status;
    /* A copy of the status for event loops.  They wait neither for `lock` nor for shadow_lock, because a holder of
     * these has a lower priority.  Only loops hold told_lock, while they copy and try for VS_LOOK_STEPS. */
    pthread_mutex_t told_lock;
    struct vs_policies_status told;
};

/* Tries to take a lock, in up to `steps` steps of 200 us.  The lock's holder may have a lower priority than the caller,
 * and so may not run soon. */
#define VS_LOOK_STEPS 5
bool vs_control_lock_soon(pthread_mutex_t *lock, int steps);

static inline int64_t vs_control_now_us(const struct vs_control *c) {
    return c->clock->boot_us(c->clock->self);
}

static inline int64_t vs_control_unix_ms(const struct vs_control *c) {
    return c->clock->unix_us(c->clock->self) / 1000;
}

/* Tells the watchdog that a call or a load starts or ends. */
void vs_control_busy(struct vs_control *c, bool busy);
/* Whether a call does not end.  Logs it once. */
bool vs_control_is_stuck(struct vs_control *c);
/* Keeps an error for the status.  Needs the lock. */
void vs_control_note(struct vs_control *c, const struct vesta_error *err);

/* judge.c */
bool vs_control_lends(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
enum vs_next_step vs_control_judge(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                                   int64_t *until_boot_us);
void vs_control_look_at_policy(void *control, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out);
/* Returns the next question that was asked, or -1.  Needs the lock. */
int vs_control_next(struct vs_control *c);
/* Settles a question.  Call it without the lock. */
void vs_control_settle(struct vs_control *c, int question);

/* Calls one of a namespace's functions.  Counts the call, and tells the watchdog. */
enum vs_call_result vs_control_call(struct vs_control *c, int ns, const struct vs_hook_input *input,
                                    struct vs_verdict *verdict, struct vesta_error *err);
struct vs_failure {
    enum vs_hook hook;
    enum vs_call_result result;
    struct vesta_error err;
};
/* Logs a failure, and sets when the function may be called again. */
void vs_control_failed(struct vs_control *c, int ns, const struct vs_failure *failure, struct vs_back_off *back_off);

/* Sets when a function that failed once more may be called again, and returns the milliseconds until then. */
int64_t vs_back_off_more(struct vs_back_off *back_off, int64_t now_us);

/* say.c: logs a policy's line.  `self` is a struct vs_saying.  Only for the thread that calls the set's policies. */
void vs_saying_hear(void *self, const char *said);
/* Reports dropped lines of past seconds.  Returns whether there are more to report later. */
bool vs_saying_tell(struct vs_policy_set *set);

/* leases.c: checks the leases, periodically and when a keeper asks.  Call it without the lock. */
#define VS_LOOK_MS 100
void vs_control_look(struct vs_control *c);

/* reload.c: reads and tries a new set. */
int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err);
void vs_policy_set_free(struct vs_policy_set *set);
/* Returns 1 << enum vs_hook for each function of a namespace's policy. */
unsigned vs_policy_set_hooks(const struct vs_policy_set *set, int ns);
/* Returns the name of a namespace's policy, as in the config or on the command line. */
const char *vs_policy_set_name(const struct vs_policy_set *set, int ns);
/* Puts the set in force and returns the old one.  Earlier verdicts are dropped.  Needs the lock. */
struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set);
/* Reloads.  Call it without the lock. */
void vs_control_renew(struct vs_control *c);

#endif
