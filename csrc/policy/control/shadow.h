/* shadow.h -- shadow policies, which run on a live server without being obeyed.  This is the interface for control.c,
 * judge.c and leases.c. */
#ifndef VS_SHADOW_H
#define VS_SHADOW_H

#include "policy/control/controls.h"

/* The actual decision about a question, made by the policy in force or by the fixed rules. */
struct vs_done {
    enum vs_verdict_kind kind;
    uint64_t worker;
    int64_t amount_ms;
    bool by_policy;
};

/* A copy of a question.  Own: free with vs_question_free.  vs_question_keep returns false if there is no memory. */
struct vs_question_copy {
    enum vs_hook hook;
    struct vs_ctx ctx[VS_CTX_MAX];
    size_t count;
    void *memory;
};
bool vs_question_keep(struct vs_question_copy *to, const struct vs_hook_input *from);
void vs_question_free(struct vs_question_copy *question);

/* Starts the shadow thread.  Own: end with vs_shadow_close.  Errors: VESTA_ENOMEM. */
int vs_shadow_open(struct vs_control *c, struct vs_shadow **shadow, struct vesta_error *err);
/* Ends the thread.  Cancels a running call instead of waiting for it. */
void vs_shadow_close(struct vs_shadow *shadow);

/* Replaces the shadow policies, and takes ownership of the set.  The old policies are freed when their call is over. */
void vs_shadow_take(struct vs_shadow *shadow, struct vs_policy_set *set);

/* Returns whether a shadow policy has that function.  Threads: any. */
bool vs_shadow_has(const struct vs_control *c, int ns, enum vs_hook hook);

/* Offers a question to the shadow policies when the function is called for the policy in force.  `verdict` is the
 * verdict of the policy in force, or NULL if the fixed rules apply.  In the latter case, vs_shadow_settle reports the
 * worker id that the fixed rules chose.  Takes at most 5 ms.  A question that cannot be stored in that time is dropped.
 * Threads: the control thread only. */
void vs_shadow_offer(struct vs_control *c, int ns, const struct vs_hook_input *input, const struct vs_verdict *verdict);
void vs_shadow_settle(struct vs_control *c, int ns, uint64_t worker);

/* Returns whether the shadow thread is idle.  Threads: any. */
bool vs_shadow_rests(const struct vs_control *c);

/* Both return the status, or the last known status if the lock cannot be taken soon.  Call vs_shadow_counts with
 * told_lock held, and vs_shadow_look without it. */
void vs_shadow_counts(const struct vs_control *c, struct vs_shadow_counts *out);
void vs_shadow_look(void *control, int ns, struct vs_shadow_seen *out);

#endif
