/* controls.h -- declarations shared by the control thread's files. */
#ifndef VS_CONTROLS_H
#define VS_CONTROLS_H

#include "policy/control/control.h"

#include <pthread.h>
#include <stdatomic.h>

/* CPU time after which a call is stuck, because its budget should have ended it earlier */
#define VS_STUCK_MS (VS_CALL_MS + 1000)

enum vs_cause { VS_CAUSE_BACK, VS_CAUSE_EXHAUSTED, VS_CAUSES };

/* The waiting time after a failure.  The function is not called before retry_us.  ms is 0 if its last call succeeded.
 */
struct vs_back_off {
    int64_t ms, retry_us;
};

/* The state of one cause of pauses in one namespace. */
struct vs_pause_question {
    struct vesta_gen *gen;
    struct vesta_pause pause; /* the pause of the request that asked the question */
    /* The last verdict.  VS_PENDING means that there is none. */
    enum vs_next_step next;
    enum vs_verdict_kind kind;
    uint32_t slot;                     /* the slot that the verdict is about */
    int64_t amount_ms, at_us, told_us; /* at_us: time of the verdict.  told_us: when such a verdict was last logged */
    char *refusal; /* for example "policy night.lua refused: it is day".  NULL: the last verdict was not "refuse" */
    struct vs_back_off back_off;
};

/* The state of one namespace's leases.  Used only by the control thread, except for `over` and `why`. */
struct vs_leasing {
    bool started; /* on_start has been called */
    /* the log has reported that choose_worker is not called, because the worker id was assigned by hand */
    bool told_fixed;
    bool lost;              /* on_lease_lost has been called for the loss that the keeper reports */
    int64_t suspect_us;     /* time since which the store has not responded.  0: it responds */
    int64_t asked_us;       /* time at which on_store_down was last called */
    uint64_t choice_told;   /* hash of the last logged choice.  0: none */
    int64_t choice_told_us; /* time at which that choice was logged */
    struct vs_back_off back_off[VS_HOOKS];
    bool over; /* guarded by the lock, like `why` */
    char why[VS_OVER_MAX];
};

/* The lines that a namespace's policy writes with log().  VS_SAID_LINES_MAX lines a second are logged, and further
 * lines are only counted. */
#define VS_SAID_LINES_MAX 10
struct vs_saying {
    struct vs_policy_set *set;
    int ns;
    int64_t from_us; /* start of the current second */
    int lines;
    uint64_t dropped; /* dropped lines that have not been reported yet */
};

struct vs_policy_set {
    const struct vs_control *control;
    bool is_shadow;
    /* the set of shadow policies.  NULL: none, or the shadow thread has taken the set over */
    struct vs_policy_set *shadow;
    /* some lines were dropped and have not been reported yet.  Used only by the set's thread */
    bool has_dropped;
    /* The following arrays have one element per namespace. */
    struct vs_saying *saying; /* used only by the set's thread */
    struct vs_policy_text *text;
    struct vs_policy **policy; /* NULL: the namespace has no policy */
    /* hash of the texts of the policy and its shadow policy.  Used only in the set in force */
    uint64_t *mark;
};

struct vs_shadow;

struct vs_control {
    struct vs_control_opts opts;
    const struct vesta_clock *clock;
    pthread_t thread;
    /* the control thread changes this pointer with the lock held, and other threads read names with the lock held */
    struct vs_policy_set *set;
    bool switch_told;  /* used only by the control thread */
    int64_t looked_us; /* used only by the control thread: time of its last check of the leases */
    /* The following arrays have one element per namespace. */
    const char **name;
    _Atomic(struct vesta_gen *) *gen; /* NULL: no handle yet, or the control does not handle this namespace's leases */
    struct vs_leasing *leasing;
    _Atomic unsigned *hooks; /* bit 1 << enum vs_hook for each function of the namespace's policy */
    /* the namespace's keeper has asked for a worker id, and has not been answered since */
    _Atomic unsigned char *wants;
    int looked_at; /* used only by the control thread: the next namespace to check */
    /* start of the current call, in the thread's CPU time.  0: no call is running */
    _Atomic int64_t busy_since_us;
    atomic_bool stuck;                  /* the state that was last logged */
    _Atomic(struct vs_shadow *) shadow; /* owned by shadow.c.  NULL: no shadow policy has been loaded yet */
    pthread_mutex_t shadow_lock;        /* owned by shadow.c */
    atomic_bool ending_now;             /* makes a running call of a shadow policy end */
    pthread_mutex_t lock;               /* guards all members below */
    pthread_cond_t event;
    bool ending, reload, look;
    bool idle;                          /* the thread is waiting for a question, and will take the lock */
    int turn;                           /* index of the question to check first */
    struct vs_pause_question *question; /* VS_CAUSES per namespace */
    bool *asked;                        /* one per question: the thread was asked, and has not answered yet */
    /* one per question: 1 + the slot for which the last verdict allowed ids.  0: it allowed no ids */
    _Atomic uint32_t *lent;
    struct vs_policies_status status;
    /* A copy of the status for event loops.  Event loops must not wait for `lock` or shadow_lock, because the threads
     * that hold them have a lower priority.  Only event loops hold told_lock: while they copy the status, and during
     * VS_LOOK_STEPS attempts to take such a lock. */
    pthread_mutex_t told_lock;
    struct vs_policies_status told;
};

/* Tries to take a lock, in up to `steps` attempts of 200 us.  The thread that holds the lock may have a lower priority
 * than the caller, and so may not run soon. */
#define VS_LOOK_STEPS 5
bool vs_control_lock_soon(pthread_mutex_t *lock, int steps);

static inline int64_t vs_control_now_us(const struct vs_control *c) {
    return c->clock->boot_us(c->clock->self);
}

static inline int64_t vs_control_unix_ms(const struct vs_control *c) {
    return c->clock->unix_us(c->clock->self) / 1000;
}

/* Records for the watchdog that a call or a load starts or ends. */
void vs_control_busy(struct vs_control *c, bool busy);
/* Returns whether a call is stuck.  Logs each change of this state once. */
bool vs_control_is_stuck(struct vs_control *c);
/* Stores an error for the status.  Call with the lock held. */
void vs_control_note(struct vs_control *c, const struct vesta_error *err);

/* judge.c */
bool vs_control_lends(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
enum vs_next_step vs_control_judge(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                                   int64_t *until_boot_us);
void vs_control_look_at_policy(void *control, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out);
/* Returns the next question that was asked, or -1.  Call with the lock held. */
int vs_control_next(struct vs_control *c);
/* Settles a question.  Call without the lock. */
void vs_control_settle(struct vs_control *c, int question);

/* Calls a function of a namespace's policy.  Counts the call, and informs the watchdog. */
enum vs_call_result vs_control_call(struct vs_control *c, int ns, const struct vs_hook_input *input,
                                    struct vs_verdict *verdict, struct vesta_error *err);
struct vs_failure {
    enum vs_hook hook;
    enum vs_call_result result;
    struct vesta_error err;
};
/* Logs a failure, and sets the time at which the function may be called again. */
void vs_control_failed(struct vs_control *c, int ns, const struct vs_failure *failure, struct vs_back_off *back_off);

/* Doubles the waiting time after another failure, and returns the time in milliseconds. */
int64_t vs_back_off_more(struct vs_back_off *back_off, int64_t now_us);

/* say.c: logs a line of a policy.  `self` is a struct vs_saying.  Call only in the thread that calls the set's
 * policies. */
void vs_saying_hear(void *self, const char *said);
/* Reports the lines dropped in past seconds.  Returns whether more dropped lines remain to be reported later. */
bool vs_saying_tell(struct vs_policy_set *set);

/* leases.c: checks the leases.  Called periodically, and when a keeper asks.  Call without the lock. */
#define VS_LOOK_MS 100
void vs_control_look(struct vs_control *c);

/* reload.c: reads and test-runs a new set of policies. */
int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err);
void vs_policy_set_free(struct vs_policy_set *set);
/* Returns a bit 1 << enum vs_hook for each function of a namespace's policy. */
unsigned vs_policy_set_hooks(const struct vs_policy_set *set, int ns);
/* Returns the name of a namespace's policy, as in the config or on the command line. */
const char *vs_policy_set_name(const struct vs_policy_set *set, int ns);
/* Puts the set in force and returns the old set.  Discards earlier verdicts.  Call with the lock held. */
struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set);
/* Reloads the policies.  Call without the lock. */
void vs_control_renew(struct vs_control *c);

#endif
