/* shadow.h -- policies that are tried on a live server without being obeyed: the interface for control.c, judge.c and
 * leases.c. */
#ifndef VS_SHADOW_H
#define VS_SHADOW_H

#include "policy/control/controls.h"

/* The actual decision about a question, by the policy in force or by the fixed rules. */
struct vs_done {
    enum vs_verdict_kind kind;
    uint64_t worker;
    int64_t amount_ms;
    bool by_policy;
};

/* A copy of a question.  Own: vs_question_free.  vs_question_keep: false if there is no memory. */
struct vs_question_copy {
    enum vs_hook hook;
    struct vs_ctx ctx[VS_CTX_MAX];
    size_t count;
    void *memory;
};
bool vs_question_keep(struct vs_question_copy *to, const struct vs_hook_input *from);
void vs_question_free(struct vs_question_copy *question);

/* Starts their thread.  Own: end with vs_shadow_close.  Errors: VESTA_ENOMEM. */
int vs_shadow_open(struct vs_control *c, struct vs_shadow **shadow, struct vesta_error *err);
/* Ends a running call instead of waiting for it. */
void vs_shadow_close(struct vs_shadow *shadow);

/* Replaces the shadow policies.  The old ones are freed when their call is over.  Takes ownership of the set. */
void vs_shadow_take(struct vs_shadow *shadow, struct vs_policy_set *set);

/* Whether a shadow policy has that function.  Threads: any. */
bool vs_shadow_has(const struct vs_control *c, int ns, enum vs_hook hook);

/* Control thread only: a function is called.  `verdict` is the verdict of the policy in force, or NULL if the fixed
 * rules hold.  Then vs_shadow_settle reports the worker id that they chose.  Takes at most 5 ms.  A question that
 * cannot be stored in that time is dropped. */
void vs_shadow_offer(struct vs_control *c, int ns, const struct vs_hook_input *input, const struct vs_verdict *verdict);
void vs_shadow_settle(struct vs_control *c, int ns, uint64_t worker);

/* Whether their thread is idle.  Threads: any. */
bool vs_shadow_rests(const struct vs_control *c);

/* Return the status.  If its lock cannot be taken soon, they return the last known one.  vs_shadow_counts needs
 * told_lock, vs_shadow_look must not hold it. */
void vs_shadow_counts(const struct vs_control *c, struct vs_shadow_counts *out);
void vs_shadow_look(void *control, int ns, struct vs_shadow_seen *out);

#endif
