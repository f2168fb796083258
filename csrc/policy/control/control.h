/* control.h -- the control thread.  It owns the policies of all namespaces, asks them about pauses while the requests
 * wait elsewhere, and replaces the policies at a reload.  Does not depend on sockets or the config file.
 *
 *     control.c  the thread, its requests, and the status of the policies
 *     judge.c    verdicts about pauses, and the waiting time after a function has failed
 *     leases.c   worker ids: start, choice, an unresponsive store, a lost worker id
 *     reload.c   loads a set of policies, and replaces the old set
 *     say.c      lines that policies write with log()
 *     shadow.c   shadow policies, whose verdicts are not carried out, on a separate thread (shadow.h) */
#ifndef VS_CONTROL_H
#define VS_CONTROL_H

#include "policy/policy.h"

struct vs_control_opts {
    /* the namespaces' names, in the order of struct vs_server.  The array must outlive the control */
    const char *const *name;
    int ns_count; /* at least 1 */
    /* The namespaces' handles, opened with VESTA_CHOOSES.  They must outlive the control.  An element is NULL until
     * vs_control_enter.  Without this array, the control does not handle leases. */
    struct vesta_gen *const *gen;
    /* Reads the policies, each already test-run.  Fills out[0..ns_count), which is zeroed, and fills `shadow` with the
     * shadow policies, whose verdicts are not carried out.  The control frees all of them, even after an error.  Called
     * at the start, and by the control thread at each reload.  Errors: those of the policies' sources. */
    int (*sources)(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow, struct vesta_error *err);
    void (*changed)(void *self); /* called after each new verdict, to wake the waiting requests.  May be NULL */
    void *self;
    const struct vesta_clock *clock; /* NULL selects the machine's clock */
    struct vs_vm_limits limits;
};

/* Loads the policies and starts the thread.  Own: end with vs_control_close.  Errors: those of `sources` and of
 * vs_policy_open.  VESTA_ENOMEM. */
struct vs_control;
int vs_control_open(const struct vs_control_opts *opts, struct vs_control **control, struct vesta_error *err);

/* Announces a namespace's handle.  Threads: any. */
void vs_control_enter(struct vs_control *control, int ns, struct vesta_gen *gen);

/* Ends the thread when its current call is over.  No other thread may use the control any more.  `control` may be NULL.
 */
void vs_control_close(struct vs_control *control);

/* Returns whether a policy has ended the namespace's leases, because it refused to start, or because it stopped when
 * the worker id was lost.  If so, *why is the reason.  Threads: any. */
#define VS_OVER_MAX 320
bool vs_control_is_over(struct vs_control *control, int ns, char why[VS_OVER_MAX]);

/* Returns the interface through which the server uses the control. */
struct vs_policies vs_control_policies(struct vs_control *control);

#endif
