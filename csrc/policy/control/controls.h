/* controls.h -- what control.c, judge.c and reload.c share. */
#ifndef VS_CONTROLS_H
#define VS_CONTROLS_H

#include "policy/control/control.h"

#include <pthread.h>
#include <stdatomic.h>

#define VS_STUCK_MS (VS_CALL_MS + 1000) /* of the processor: a call that had so much was not ended by its budget */

enum vs_cause { VS_CAUSE_BACK, VS_CAUSE_EXHAUSTED, VS_CAUSES };

/* A function that failed, and is not called before retry_us; 0: the last call went well. */
struct vs_back_off {
    int64_t ms, retry_us;
};

/* What is known about one cause of pauses in one namespace. */
struct vs_pause_question {
    struct vesta_gen *gen;
    struct vesta_pause pause; /* of who asked */
    /* the last verdict; VS_PENDING: there is none */
    enum vs_next_step next;
    enum vs_verdict_kind kind;
    uint32_t slot; /* it is about */
    int64_t amount_ms, at_us, told_us; /* told_us: when the log was told of such a verdict */
    char *refusal; /* "policy night.lua refused: it is day"; NULL: the last verdict was another */
    struct vs_back_off back_off;
};

/* What is known about one namespace's leases; the thread's own, but for `over` and `why`. */
struct vs_leasing {
    bool started;       /* on_start was asked */
    bool told_fixed;    /* that choose_worker is not asked, since the number was given by hand */
    bool lost;          /* on_lease_lost was asked about the loss that the keeper tells of */
    int64_t suspect_us; /* since when the store was seen to be silent; 0: it is not */
    int64_t asked_us;   /* when on_store_down was asked */
    uint64_t choice_told;   /* a hash of the last choice that was logged; 0: none */
    int64_t choice_told_us; /* when */
    struct vs_back_off back_off[VS_HOOKS];
    bool over; /* under the lock */
    char why[VS_OVER_MAX];
};

/* What a namespace's policy says with log(): so many lines a second, the rest is counted. */
#define VS_SAID_LINES_MAX 10
struct vs_saying {
    struct vs_policy_set *set;
    int ns;
    int64_t from_us; /* when this second began */
    int lines;
    uint64_t dropped; /* and not told yet */
};

struct vs_policy_set {
    const struct vs_control *control;
    bool is_shadow;
    struct vs_policy_set *shadow; /* what is tried beside it; NULL: none, or taken by their thread */
    bool has_dropped;             /* something of what was said, that was not told yet; its thread's own */
    /* of each namespace */
    struct vs_saying *saying; /* its thread's own */
    struct vs_policy_text *text;
    struct vs_policy **policy; /* NULL: none */
    uint64_t *mark; /* a hash of the texts of the policy and of its shadow; of the set in force only */
};

struct vs_shadow;

struct vs_control {
    struct vs_control_opts opts;
    const struct vesta_clock *clock;
    pthread_t thread;
    struct vs_policy_set *set; /* the thread changes it under the lock; others read names, under the lock */
    bool switch_told;          /* the thread's own */
    int64_t looked_us;         /* the thread's own: when it looked at the leases */
    /* of each namespace */
    const char **name;
    _Atomic(struct vesta_gen *) *gen; /* NULL: its leases are none of our business, or not yet */
    struct vs_leasing *leasing;
    _Atomic unsigned *hooks;    /* 1 << enum vs_hook of the functions that the set has */
    _Atomic unsigned char *wants; /* its keeper asked for a number, and was not looked at since */
    int looked_at;              /* the thread's own: where it goes on looking */
    _Atomic int64_t busy_since_us;                     /* a call runs since then, in its thread's time; 0: none does */
    atomic_bool stuck;                                 /* as it was last told */
    _Atomic(struct vs_shadow *) shadow;                /* shadow.c's; NULL: there was no such policy yet */
    pthread_mutex_t shadow_lock;                       /* shadow.c's */
    atomic_bool ending_now;                            /* ends a shadow's call that goes on */
    pthread_mutex_t lock;                              /* over what follows */
    pthread_cond_t event;
    bool ending, reload, look;
    bool idle; /* the thread waits to be asked, and takes the lock when it is */
    int turn;  /* the question to be looked at first */
    struct vs_pause_question *question; /* VS_CAUSES of each namespace */
    bool *asked; /* ... the thread has been told of it, and has not answered yet */
    _Atomic uint32_t *lent; /* ... the slot + 1 for which the last verdict gave ids; 0: it gave none */
    struct vs_policies_status status;
    /* What loops are told, which wait neither for `lock` nor for shadow_lock: who holds those stands back behind all
     * others.  Held by loops alone, while they copy and try for VS_LOOK_STEPS. */
    pthread_mutex_t told_lock;
    struct vs_policies_status told;
};

/* Tries for so many steps of 200 us to take a lock whose holder may stand back behind who asks, in case it runs. */
#define VS_LOOK_STEPS 5
bool vs_control_lock_soon(pthread_mutex_t *lock, int steps);

static inline int64_t vs_control_now_us(const struct vs_control *c) {
    return c->clock->boot_us(c->clock->self);
}

static inline int64_t vs_control_unix_ms(const struct vs_control *c) {
    return c->clock->unix_us(c->clock->self) / 1000;
}

/* A call, or a load, seen by the watchdog. */
void vs_control_busy(struct vs_control *c, bool busy);
/* Whether a call will not end; says so once. */
bool vs_control_is_stuck(struct vs_control *c);
/* Keeps an error for the status; under the lock. */
void vs_control_note(struct vs_control *c, const struct vesta_error *err);

/* judge.c */
bool vs_control_lends(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
enum vs_next_step vs_control_judge(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                                   int64_t *until_boot_us);
void vs_control_look_at_policy(void *control, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out);
/* The next question that was asked for, -1 if none; under the lock. */
int vs_control_next(struct vs_control *c);
/* Settles it; without the lock. */
void vs_control_settle(struct vs_control *c, int question);

/* Calls one of a namespace's functions; counted, and seen by the watchdog. */
enum vs_call_result vs_control_call(struct vs_control *c, int ns, const struct vs_hook_input *input,
                                    struct vs_verdict *verdict, struct vesta_error *err);
struct vs_failure {
    enum vs_hook hook;
    enum vs_call_result result;
    struct vesta_error err;
};
/* It failed: says so, and sets when it may be called again. */
void vs_control_failed(struct vs_control *c, int ns, const struct vs_failure *failure, struct vs_back_off *back_off);

/* A function failed once more: sets when it may be called again, and gives in how many milliseconds that is. */
int64_t vs_back_off_more(struct vs_back_off *back_off, int64_t now_us);

/* say.c: what policies say, for the log; `self` is a struct vs_saying.  For the thread that asks them. */
void vs_saying_hear(void *self, const char *said);
/* Tells of what was dropped in seconds that are over; whether there is more to be told later. */
bool vs_saying_tell(struct vs_policy_set *set);

/* leases.c: the thread looks at the leases, every now and then and when a keeper asks; without the lock. */
#define VS_LOOK_MS 100
void vs_control_look(struct vs_control *c);

/* reload.c: reads and tries a new set. */
int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err);
void vs_policy_set_free(struct vs_policy_set *set);
/* 1 << enum vs_hook of the functions that a namespace's policy has. */
unsigned vs_policy_set_hooks(const struct vs_policy_set *set, int ns);
/* The name of a namespace's policy, as the config or the command line has it. */
const char *vs_policy_set_name(const struct vs_policy_set *set, int ns);
/* Puts it to work; nothing that was judged before is in force any more.  Under the lock.  Returns the old one. */
struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set);
/* A reload; without the lock. */
void vs_control_renew(struct vs_control *c);

#endif
