/* control.h -- the control thread: it owns the policies of all namespaces, judges pauses by them while requests wait
 * elsewhere, and puts other policies to work.  Knows no socket and no config file.
 *
 *   control.c  the thread, what it is asked for, how the policies are
 *   judge.c    verdicts: asked for, carried out, in force; functions that fail, and are left alone for a while
 *   leases.c   worker numbers: whether to start, which to claim, what when the store is silent or a number is lost
 *   reload.c   a set of policies: loaded, put in the place of the old one
 *   say.c      what policies say with log(), as lines of the log
 *   shadow.c   policies that are tried without being obeyed, on a thread of their own (shadow.h) */
#ifndef VS_CONTROL_H
#define VS_CONTROL_H

#include "policy/policy.h"

struct vs_control_opts {
    const char *const *name; /* the namespaces' names, which outlive the control, in the order of struct vs_server */
    int ns_count;            /* 1 at least */
    /* A handle of each, opened with VESTA_CHOOSES, which outlives the control, or NULL until vs_control_enter; without
     * the array leases are none of its business */
    struct vesta_gen *const *gen;
    /* Says which policies there are now, each of them tried: fills out[0..ns_count), which is zero, and in `shadow`
     * those that are to be tried without being obeyed; the control frees what is there, also after an error.  Called at
     * the start and with each reload, then by the control thread.  Errors: what is wrong with the sources. */
    int (*sources)(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow, struct vesta_error *err);
    void (*changed)(void *self); /* there is a new verdict: wake who waits; may be NULL */
    void *self;
    const struct vesta_clock *clock; /* NULL: the machine's */
    struct vs_vm_limits limits;
};

/* Loads the policies, starts the thread.  Own: end with vs_control_close.
 * Errors: what the sources and vs_policy_open say; VESTA_ENOMEM. */
struct vs_control;
int vs_control_open(const struct vs_control_opts *opts, struct vs_control **control, struct vesta_error *err);

/* A namespace's handle is there.  Threads: any. */
void vs_control_enter(struct vs_control *control, int ns, struct vesta_gen *gen);

/* Ends the thread when its call is over.  Nobody may ask any more.  NULL: nothing. */
void vs_control_close(struct vs_control *control);

/* Whether a policy wants no lease for that namespace any more: it refused to start, or stopped when its number was
 * lost.  *why is then its reason.  Threads: any. */
#define VS_OVER_MAX 320
bool vs_control_is_over(struct vs_control *control, int ns, char why[VS_OVER_MAX]);

/* What the server is given of it. */
struct vs_policies vs_control_policies(struct vs_control *control);

#endif
