/* shadow.h -- policies that are tried on a live server without being obeyed: what control.c, judge.c and leases.c tell
 * them. */
#ifndef VS_SHADOW_H
#define VS_SHADOW_H

#include "policy/control/controls.h"

/* What was done about a question, by the policy in force or by the fixed rules. */
struct vs_done {
    enum vs_verdict_kind kind;
    uint64_t worker;
    int64_t amount_ms;
    bool by_policy;
};

/* A question for later.  Own: vs_question_free.  False: there is no memory. */
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
/* A call that goes on is ended, not waited for. */
void vs_shadow_close(struct vs_shadow *shadow);

/* From now on these; the last ones are freed when their call is over.  Owns the set. */
void vs_shadow_take(struct vs_shadow *shadow, struct vs_policy_set *set);

/* Whether there is a shadow with that function.  Threads: any. */
bool vs_shadow_has(const struct vs_control *c, int ns, enum vs_hook hook);

/* The control thread's: a function was to be asked.  `verdict` is what the policy in force said, or NULL where the
 * fixed rules hold, of which vs_shadow_settle tells what worker number they chose.  Takes 5 ms at most: what cannot
 * be left in that time is dropped. */
void vs_shadow_offer(struct vs_control *c, int ns, const struct vs_hook_input *input, const struct vs_verdict *verdict);
void vs_shadow_settle(struct vs_control *c, int ns, uint64_t worker);

/* Whether their thread has nothing to do.  Threads: any. */
bool vs_shadow_rests(const struct vs_control *c);

/* How they are; where their lock cannot be had in a moment, how they were last.  The first with told_lock held, the
 * other on any thread. */
void vs_shadow_counts(const struct vs_control *c, struct vs_shadow_counts *out);
void vs_shadow_look(void *control, int ns, struct vs_shadow_seen *out);

#endif
