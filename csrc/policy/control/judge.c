/* judge.c -- verdicts about pauses.  A caller gets the verdict in force, or VS_PENDING while the control thread is
 * asking the policy.  The control thread calls the policy and carries out its verdict.  After a function has failed, it
 * is not called for a while, and the fixed rules apply. */
#include "policy/control/shadow.h"

#include "base/array.h"
#include "log/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH_US 250000                              /* a verdict older than this is requested again */
#define OLDEST_US (VESTA_VERDICT_MS * INT64_C(1000)) /* a verdict older than this has expired, like a loan */
/* minimum interval between log lines about a loan, which is renewed each second */
#define LOAN_TOLD_US 10000000
/* time allowed for the keeper to get another worker id, or to find none */
#define SWITCH_WAIT_MS 1000
#define BACK_OFF_MS_MIN 1000
#define BACK_OFF_MS_MAX 60000

static const enum vs_hook hooks[VS_CAUSES] = {
    [VS_CAUSE_BACK] = VS_ON_CLOCK_BACK, [VS_CAUSE_EXHAUSTED] = VS_ON_EXHAUSTED};

/* ------------------------------------------------------------------ asking, on any thread, never blocking */

/* Returns the index of the function that decides about the pause, or -1. */
static int judge_cause_of(enum vesta_why why) {
    switch (why) {
    case VESTA_CLOCK_BACK: return VS_CAUSE_BACK;
    case VESTA_FULL:
    case VESTA_AHEAD: return VS_CAUSE_EXHAUSTED;
    default: return -1;
    }
}

static void judge_ask(struct vs_control *c, struct vs_pause_question *m, struct vesta_gen *gen,
                      const struct vesta_pause *pause) {
    bool *asked = &c->asked[m - c->question];
    if (*asked) return;
    *asked = true;
    m->gen = gen;
    m->pause = *pause;
    pthread_cond_signal(&c->event);
}

/* Returns the verdict in force, or VS_PENDING, or VS_NO_VERDICT after a failure.  Asks the thread if the verdict is
 * old.  Call with the lock held. */
static enum vs_next_step judge_look_up(struct vs_control *c, struct vs_pause_question *m, struct vesta_gen *gen,
                                       const struct vesta_pause *pause, int64_t *until_boot_us) {
    int64_t now_us = vs_control_now_us(c), age_us = now_us - m->at_us;
    if (m->back_off.ms > 0) {
        if (now_us >= m->back_off.retry_us) judge_ask(c, m, gen, pause);
        return VS_NO_VERDICT;
    }
    bool known = m->next != VS_PENDING && age_us < OLDEST_US && m->slot == pause->slot;
    if (!known || age_us >= FRESH_US) judge_ask(c, m, gen, pause);
    *until_boot_us = m->amount_ms < 0 ? INT64_MAX : now_us + m->amount_ms * 1000;
    return known ? m->next : VS_PENDING;
}

/* Tells the control thread that the keeper asks for a worker id.  If a policy is stuck, lets the fixed rules choose. */
static enum vs_next_step judge_tell_to_look(struct vs_control *c, int ns, struct vesta_gen *gen,
                                            const struct vesta_pause *pause) {
    if (vs_control_is_stuck(c)) {
        (void)vesta_choose(gen, pause, VESTA_ANY_WORKER); /* fails if a worker id has been chosen in the meantime */
        return VS_NO_VERDICT;
    }
    atomic_store(&c->wants[ns], 1);
    if (pthread_mutex_trylock(&c->lock) == 0) {
        c->look = true;
        pthread_cond_signal(&c->event);
        pthread_mutex_unlock(&c->lock);
    }
    return VS_NO_VERDICT;
}

/* Lets the fixed rules decide.  Asks a shadow policy about the pause as often as a policy would be asked. */
static enum vs_next_step judge_show_shadow(struct vs_control *c, int ns, int cause, struct vesta_gen *gen,
                                           const struct vesta_pause *pause) {
    struct vs_pause_question *m = &c->question[ns * VS_CAUSES + cause];
    if (vs_shadow_has(c, ns, hooks[cause]) && pthread_mutex_trylock(&c->lock) == 0) {
        if (vs_control_now_us(c) - m->at_us >= FRESH_US) judge_ask(c, m, gen, pause);
        pthread_mutex_unlock(&c->lock);
    }
    return VS_NO_VERDICT;
}

enum vs_next_step vs_control_judge(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                                   int64_t *until_boot_us) {
    struct vs_control *c = control;
    int cause = judge_cause_of(pause->why);
    assert(ns >= 0 && ns < c->opts.ns_count);
    if (pause->why == VESTA_CHOOSE) return judge_tell_to_look(c, ns, gen, pause);
    if (cause < 0) return VS_NO_VERDICT;
    /* relaxed: a set that is being swapped may be missed once */
    if (!(atomic_load_explicit(&c->hooks[ns], memory_order_relaxed) & 1U << hooks[cause]))
        return judge_show_shadow(c, ns, cause, gen, pause);
    if (vs_control_is_stuck(c)) return VS_NO_VERDICT;
    /* the lock may be held by the control thread, which has a low priority, so an event loop does not wait for it */
    if (pthread_mutex_trylock(&c->lock) != 0) return VS_PENDING;
    enum vs_next_step next = judge_look_up(c, &c->question[ns * VS_CAUSES + cause], gen, pause, until_boot_us);
    pthread_mutex_unlock(&c->lock);
    return next;
}

bool vs_control_lends(void *control, int ns, struct vesta_gen *gen, const struct vesta_pause *pause) {
    struct vs_control *c = control;
    int cause = judge_cause_of(pause->why);
    int64_t until_boot_us;
    if (cause < 0) return false;
    (void)vs_control_judge(c, ns, gen, pause, &until_boot_us); /* this asks again if the verdict has expired */
    /* relaxed: this is only a hint for later requests, each of which asks the policy again */
    return atomic_load_explicit(&c->lent[ns * VS_CAUSES + cause], memory_order_relaxed) == pause->slot + 1;
}

void vs_control_look_at_policy(void *control, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out) {
    struct vs_control *c = control;
    int cause = pause ? judge_cause_of(pause->why) : -1;
    *out = (struct vs_policy_seen){.policy = ""};
    if (pthread_mutex_trylock(&c->lock) != 0) return; /* do not wait, for the same reason as in vs_control_judge */
    const struct vs_pause_question *m = cause < 0 ? NULL : &c->question[ns * VS_CAUSES + cause];
    if (c->set->policy[ns]) snprintf(out->policy, sizeof out->policy, "%s", vs_policy_set_name(c->set, ns));
    if (m && m->refusal && m->slot == pause->slot && vs_control_now_us(c) - m->at_us < OLDEST_US)
        snprintf(out->refusal, sizeof out->refusal, "%s", m->refusal);
    pthread_mutex_unlock(&c->lock);
}

/* ------------------------------------------------------------------ the call */

static void judge_set_lent(struct vs_control *c, int question, uint32_t lent) {
    atomic_store_explicit(&c->lent[question], lent, memory_order_relaxed); /* relaxed: see vs_control_lends */
}

int vs_control_next(struct vs_control *c) {
    size_t count = (size_t)c->opts.ns_count * VS_CAUSES, turn = (size_t)c->turn;
    const bool *found = memchr(c->asked + turn, true, count - turn);
    if (!found) found = memchr(c->asked, true, turn);
    if (!found) return -1;
    c->turn = (int)(found - c->asked) + 1;
    return c->turn - 1;
}

static int judge_ns_of(int question) {
    return question / VS_CAUSES;
}

static enum vs_hook judge_hook_of(int question) {
    return hooks[question % VS_CAUSES];
}

static size_t judge_pause_ctx(const struct vs_control *c, int question, const struct vs_pause_question *was,
                              struct vs_ctx *ctx) {
    const struct vesta_pause *pause = &was->pause;
    uint64_t ahead = pause->ahead_ticks < INT64_MAX ? pause->ahead_ticks : INT64_MAX;
    struct vesta_info info;
    size_t count = 0;
    vesta_get_info(was->gen, &info);
    ctx[count++] = vs_ctx_text("namespace", c->name[judge_ns_of(question)]);
    ctx[count++] = vs_ctx_integer("now_ms", vs_control_unix_ms(c));
    ctx[count++] = vs_ctx_integer("worker", (int64_t)info.worker);
    ctx[count++] = vs_ctx_integer("ahead_ms_max", info.ahead_ms_max);
    if (judge_hook_of(question) == VS_ON_CLOCK_BACK)
        ctx[count++] = vs_ctx_integer("back_ms", (pause->back_us + 999) / 1000);
    else
        ctx[count++] = vs_ctx_integer("ahead_ticks", (int64_t)ahead);
    return count;
}

enum vs_call_result vs_control_call(struct vs_control *c, int ns, const struct vs_hook_input *input,
                                    struct vs_verdict *verdict, struct vesta_error *err) {
    int64_t from_us = vs_control_now_us(c);
    vs_control_busy(c, true);
    enum vs_call_result result = vs_policy_call(c->set->policy[ns], input, verdict, err);
    vs_control_busy(c, false);
    pthread_mutex_lock(&c->lock);
    c->status.calls[input->hook][result]++;
    if (result == VS_CALL_OK) c->status.verdicts[input->hook][verdict->kind]++;
    c->status.call_us[input->hook] += (uint64_t)(vs_control_now_us(c) - from_us);
    pthread_mutex_unlock(&c->lock);
    return result;
}

/* ------------------------------------------------------------------ carrying out verdicts */

static enum vs_next_step judge_switch_number(struct vs_control *c, int ns, struct vesta_gen *gen,
                                             const struct vesta_pause *pause) {
    int rc = vesta_switch(gen, pause);
    if (rc == VESTA_OK) return VS_WAIT;
    if (rc == VESTA_EOPTION && !c->switch_told) {
        vs_log(VS_LOG_WARN, "'switch' counts as 'refuse': this worker id was assigned by hand", "namespace",
               c->name[ns], "policy", c->set->text[ns].name, NULL);
        c->switch_told = true;
    }
    return VS_REFUSE; /* the worker id was assigned by hand, or was changed less than a minute ago */
}

static enum vs_next_step judge_carry_out(struct vs_control *c, int ns, struct vesta_gen *gen,
                                         const struct vesta_pause *pause, const struct vs_verdict *verdict) {
    switch (verdict->kind) {
    case VS_VERDICT_WAIT: return VS_WAIT;
    case VS_VERDICT_BORROW:
        return vesta_borrow(gen, pause, verdict->amount_ms) == VESTA_OK ? VS_TRY_AGAIN : VS_NO_VERDICT;
    case VS_VERDICT_SWITCH: return judge_switch_number(c, ns, gen, pause);
    default: return VS_REFUSE;
    }
}

/* One sentence per verdict, because the log limits repeats by sentence. */
static const char *const sentences[] = {[VS_VERDICT_WAIT] = "a policy judged: wait",
                                        [VS_VERDICT_BORROW] = "a policy judged: borrow",
                                        [VS_VERDICT_SWITCH] = "a policy judged: switch",
                                        [VS_VERDICT_REFUSE] = "a policy judged: refuse"};

static void judge_tell_verdict(struct vs_control *c, int ns, enum vs_hook hook, const struct vesta_pause *pause,
                               const struct vs_verdict *verdict) {
    assert(verdict->kind < VS_COUNT(sentences) && sentences[verdict->kind]);
    bool refuses = verdict->kind == VS_VERDICT_REFUSE;
    vs_log(refuses ? VS_LOG_WARN : VS_LOG_INFO, sentences[verdict->kind], "namespace", c->name[ns], "policy",
           c->set->text[ns].name, "hook", vs_hook_name(hook), "amount_ms",
           verdict->amount_ms < 0 ? NULL : VS_DIGITS(verdict->amount_ms), "reason",
           *verdict->reason ? verdict->reason : NULL, "back_ms",
           hook == VS_ON_CLOCK_BACK ? VS_DIGITS((pause->back_us + 999) / 1000) : NULL, NULL);
}

/* Returns the text of a refusal.  NULL if the verdict is not "refuse", or if there is no memory. */
static char *judge_refusal(const struct vs_control *c, int ns, const struct vs_verdict *verdict) {
    char text[VS_REFUSAL_MAX];
    if (verdict->kind != VS_VERDICT_REFUSE) return NULL;
    snprintf(text, sizeof text, "policy %s refused%s%s", vs_policy_set_name(c->set, ns), *verdict->reason ? ": " : "",
             verdict->reason);
    return strdup(text);
}

static void judge_take_verdict(struct vs_control *c, int question, const struct vs_pause_question *was,
                               const struct vs_verdict *verdict) {
    int ns = judge_ns_of(question);
    enum vs_hook hook = judge_hook_of(question);
    struct vs_pause_question *m = &c->question[question];
    int64_t now_us = vs_control_now_us(c);
    enum vs_next_step next = judge_carry_out(c, ns, was->gen, &was->pause, verdict);
    bool in_force = was->next != VS_PENDING && was->slot == was->pause.slot && now_us - was->at_us < OLDEST_US;
    bool goes_on = was->kind == VS_VERDICT_BORROW && verdict->kind == was->kind && now_us - was->told_us < LOAN_TOLD_US;
    bool is_told = was->kind != verdict->kind || !(in_force || goes_on);
    if (is_told) judge_tell_verdict(c, ns, hook, &was->pause, verdict);
    char *refusal = judge_refusal(c, ns, verdict);
    if (was->back_off.ms > 0)
        vs_log(VS_LOG_INFO, "a policy that had failed works again", "namespace", c->name[ns], "hook",
               vs_hook_name(hook), NULL);
    pthread_mutex_lock(&c->lock);
    c->asked[question] = false;
    m->next = next;
    judge_set_lent(c, question, next == VS_TRY_AGAIN ? was->pause.slot + 1 : 0);
    m->kind = verdict->kind;
    free(m->refusal);
    m->refusal = refusal;
    m->slot = was->pause.slot;
    m->amount_ms = verdict->kind == VS_VERDICT_SWITCH ? SWITCH_WAIT_MS : verdict->amount_ms;
    m->at_us = now_us;
    if (is_told) m->told_us = now_us;
    m->back_off.ms = 0;
    pthread_mutex_unlock(&c->lock);
}

static int64_t judge_back_off_ms(const struct vs_back_off *back_off) {
    int64_t ms = back_off->ms == 0 ? BACK_OFF_MS_MIN : 2 * back_off->ms;
    return ms < BACK_OFF_MS_MAX ? ms : BACK_OFF_MS_MAX;
}

int64_t vs_back_off_more(struct vs_back_off *back_off, int64_t now_us) {
    int64_t ms = judge_back_off_ms(back_off);
    *back_off = (struct vs_back_off){ms, now_us + ms * 1000};
    return ms;
}

void vs_control_failed(struct vs_control *c, int ns, const struct vs_failure *failure, struct vs_back_off *back_off) {
    int64_t ms = judge_back_off_ms(back_off);
    vs_log(VS_LOG_WARN, "a policy failed: the fixed rules hold", "namespace", c->name[ns], "policy",
           c->set->text[ns].name, "hook", vs_hook_name(failure->hook), "failure", vs_call_result_name(failure->result),
           "error", failure->err.text, "again_in_ms", VS_DIGITS(ms), NULL);
    pthread_mutex_lock(&c->lock);
    vs_back_off_more(back_off, vs_control_now_us(c));
    vs_control_note(c, &failure->err);
    pthread_mutex_unlock(&c->lock);
}

static void judge_take_failure(struct vs_control *c, int question, const struct vs_failure *failure) {
    struct vs_pause_question *m = &c->question[question];
    vs_control_failed(c, judge_ns_of(question), failure, &m->back_off);
    pthread_mutex_lock(&c->lock);
    c->asked[question] = false;
    m->next = VS_PENDING;
    free(m->refusal);
    m->refusal = NULL;
    judge_set_lent(c, question, 0);
    pthread_mutex_unlock(&c->lock);
}

void vs_control_settle(struct vs_control *c, int question) {
    struct vs_pause_question *m = &c->question[question], was;
    struct vs_failure failure = {.hook = judge_hook_of(question)};
    struct vs_verdict verdict;
    struct vs_ctx ctx[VS_CTX_MAX];
    pthread_mutex_lock(&c->lock);
    was = *m;
    bool has = atomic_load_explicit(&c->hooks[judge_ns_of(question)], memory_order_relaxed) & 1U << failure.hook;
    if (!has) { /* the caller missed the swap of the sets, or only a shadow policy has the function */
        c->asked[question] = false;
        judge_set_lent(c, question, 0);
        m->at_us = vs_control_now_us(c);
    }
    pthread_mutex_unlock(&c->lock);
    const struct vs_hook_input input = {failure.hook, ctx, judge_pause_ctx(c, question, &was, ctx)};
    if (!has) {
        vs_shadow_offer(c, judge_ns_of(question), &input, NULL);
        return;
    }
    failure.result = vs_control_call(c, judge_ns_of(question), &input, &verdict, &failure.err);
    vs_shadow_offer(c, judge_ns_of(question), &input, failure.result == VS_CALL_OK ? &verdict : NULL);
    if (failure.result == VS_CALL_OK)
        judge_take_verdict(c, question, &was, &verdict);
    else
        judge_take_failure(c, question, &failure);
    if (c->opts.changed) c->opts.changed(c->opts.self);
}
