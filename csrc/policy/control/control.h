/* control.h -- the control thread.  It owns the policies of all namespaces, asks them about pauses while requests wait
 * elsewhere, and replaces them at a reload.  Knows no socket and no config file.
 *
 *     control.c  the thread, its requests, and the status of the policies
 *     judge.c    verdicts about pauses, and the pauses between calls of a function that fails
 *     leases.c   worker ids: start, choice, a silent store, a lost worker id
 *     reload.c   loads a set of policies, and replaces the old one
 *     say.c      lines that policies write with log()
 *     shadow.c   policies that are tried without being obeyed, on their own thread (shadow.h) */
#ifndef VS_CONTROL_H
#define VS_CONTROL_H

#include "policy/policy.h"

struct vs_control_opts {
    const char *const *name; /* the namespaces' names, in the order of struct vs_server.  They must outlive the
                                control */
    int ns_count;            /* at least 1 */
    /* The handle of each namespace, opened with VESTA_CHOOSES.  It must outlive the control.  NULL until
     * vs_control_enter.  Without this array, the control does not handle leases. */
    struct vesta_gen *const *gen;
    /* Provides the policies, each already tried: fills out[0..ns_count), which is zeroed, and in `shadow` the policies
     * that are tried without being obeyed.  The control frees them, also after an error.  Called at the start, and by
     * the control thread at each reload.  Errors: those of the sources. */
    int (*sources)(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow, struct vesta_error *err);
    void (*changed)(void *self); /* there is a new verdict: wake waiting requests.  May be NULL */
    void *self;
    const struct vesta_clock *clock; /* NULL: the machine's clock */
    struct vs_vm_limits limits;
};

/* Loads the policies and starts the thread.  Own: end with vs_control_close.  Errors: those of the sources and of
 * vs_policy_open.  VESTA_ENOMEM. */
struct vs_control;
int vs_control_open(const struct vs_control_opts *opts, struct vs_control **control, struct vesta_error *err);

/* Announces a namespace's handle.  Threads: any. */
void vs_control_enter(struct vs_control *control, int ns, struct vesta_gen *gen);

/* Ends the thread when its call is over.  No other thread may use the control any more.  NULL: nothing. */
void vs_control_close(struct vs_control *control);

/* Whether a policy wants no lease for that namespace any more, because it refused to start, or stopped when its worker
 * id was lost.  Then *why is the reason.  Threads: any. */
#define VS_OVER_MAX 320
bool vs_control_is_over(struct vs_control *control, int ns, char why[VS_OVER_MAX]);

/* Returns the server's view of the control. */
struct vs_policies vs_control_policies(struct vs_control *control);

#endif
