/* shadow.c -- shadow policies run on a live server, but their verdicts are not carried out.  Each shadow policy is
 * asked the same questions as the policy in force, a moment later.  Its verdict is compared with the actual decision,
 * logged and counted.
 *
 * The shadow policies have a separate thread with the lowest priority.  Each call has a budget and is followed by a
 * pause, so a shadow policy delays nothing, whatever it does.  The control thread copies each question into a slot and
 * continues.  There is one slot per function of a namespace.  If the last question in a slot has not been answered yet,
 * the new question is counted as dropped. */
#include "policy/control/shadow.h"

#include "base/error.h"
#include "log/log.h"
#include "os/clock.h"
#include "os/thread.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NICENESS 19
/* After each call, the thread sleeps for this many times the call's CPU time, so that it uses at most a tenth of a
 * core. */
#define REST_TIMES 9
#define OFFER_STEPS 25   /* attempts of vs_control_lock_soon, 5 ms in total */
#define TELL_US 60000000 /* an unchanged result is logged again after this time */

enum shadow_state { FREE, AWAITED, READY }; /* AWAITED: the actual decision is not known yet */
struct shadow_sighting {
    struct vs_question_copy question;
    struct vs_done done;
};

/* The last logged result of a function, and the time at which the function may be called again. */
struct shadow_history {
    struct vs_back_off back_off;
    enum vs_verdict_kind said, done;
    int64_t told_us; /* time at which the result was logged.  0: no result was logged */
};

/* The state of one namespace. */
struct shadow_ns {
    struct shadow_history history[VS_HOOKS]; /* used only by the shadow thread */
    _Atomic unsigned hooks;                  /* bit 1 << enum vs_hook for each function of the current set's policy */
    struct shadow_sighting sighting[VS_HOOKS];
    struct vs_shadow_seen seen;
    struct vs_shadow_seen seen_told; /* guarded by the control's told_lock */
};

struct vs_shadow {
    struct vs_control *c;
    pthread_t thread;
    struct vs_policy_set *set; /* used only by the shadow thread, like the next member */
    int64_t rest_until_us;     /* end of the thread's pause, by vs_monotonic_us */
    _Atomic uint64_t dropped;
    struct shadow_ns *ns;
    pthread_cond_t event;             /* the control's shadow_lock guards this member and all members below */
    unsigned char (*state)[VS_HOOKS]; /* enum shadow_state of each question of each namespace */
    struct vs_policy_set *next;       /* the set that the thread must take over */
    bool idle;                        /* the thread is waiting for questions */
    int turn;
    struct vs_shadow_counts counts;
    struct vs_shadow_counts counts_told; /* guarded by the control's told_lock */
};

/* ------------------------------------------------------------------ questions kept for later */

static size_t shadow_rows_bytes(const struct vs_ctx *ctx) {
    size_t row = ctx->records ? sizeof *ctx->records : ctx->peers ? sizeof *ctx->peers : 0;
    return row * ctx->count;
}

/* Copies the question into one block.  Arrays come first, because they need alignment. */
bool vs_question_keep(struct vs_question_copy *to, const struct vs_hook_input *from) {
    size_t rows = 0, texts = 1;
    assert(from->count <= VS_CTX_MAX);
    for (size_t i = 0; i < from->count; i++) {
        rows += shadow_rows_bytes(&from->ctx[i]);
        if (from->ctx[i].text) texts += strlen(from->ctx[i].text) + 1;
    }
    char *row = malloc(rows + texts), *text = row + rows;
    if (!row) return false;
    *to = (struct vs_question_copy){.hook = from->hook, .count = from->count, .memory = row};
    for (size_t i = 0; i < from->count; i++) {
        struct vs_ctx *ctx = &to->ctx[i];
        *ctx = from->ctx[i];
        if (ctx->text) ctx->text = strcpy(text, ctx->text), text += strlen(text) + 1;
        if (ctx->records) ctx->records = memcpy(row, ctx->records, shadow_rows_bytes(ctx));
        if (ctx->peers) ctx->peers = memcpy(row, ctx->peers, shadow_rows_bytes(ctx));
        row += shadow_rows_bytes(ctx);
    }
    return true;
}

void vs_question_free(struct vs_question_copy *question) {
    free(question->memory);
    *question = (struct vs_question_copy){0};
}

/* ------------------------------------------------------------------ the control thread's side */

bool vs_shadow_has(const struct vs_control *c, int ns, enum vs_hook hook) {
    struct vs_shadow *s = atomic_load(&c->shadow);
    return s && (atomic_load(&s->ns[ns].hooks) & 1U << hook);
}

#define FIXED_RULE(upper, name, verdicts, fixed) VS_VERDICT_##fixed,
static const enum vs_verdict_kind fixed_rules[] = {VS_HOOK_ROWS(FIXED_RULE)};

/* Stores a question in its slot.  Returns false if the slot's last question has not been answered yet. */
static bool shadow_leave(struct vs_shadow *s, int ns, const struct vs_question_copy *question,
                         const struct vs_verdict *verdict) {
    struct shadow_sighting *at = &s->ns[ns].sighting[question->hook];
    unsigned char *state = &s->state[ns][question->hook];
    if (*state == READY) return false;
    vs_question_free(&at->question);
    at->question = *question;
    at->done = verdict ? (struct vs_done){verdict->kind, verdict->worker, verdict->amount_ms, true}
                       : (struct vs_done){.kind = fixed_rules[question->hook], .amount_ms = -1};
    *state = verdict || question->hook != VS_CHOOSE_WORKER ? READY : AWAITED;
    return true;
}

void vs_shadow_offer(struct vs_control *c, int ns, const struct vs_hook_input *input,
                     const struct vs_verdict *verdict) {
    struct vs_shadow *s = atomic_load(&c->shadow);
    struct vs_question_copy question;
    if (!vs_shadow_has(c, ns, input->hook)) return;
    bool kept = vs_question_keep(&question, input), left = false;
    if (kept && vs_control_lock_soon(&s->c->shadow_lock, OFFER_STEPS)) {
        left = shadow_leave(s, ns, &question, verdict);
        pthread_cond_signal(&s->event);
        pthread_mutex_unlock(&s->c->shadow_lock);
    }
    if (left) return;
    if (kept) vs_question_free(&question);
    atomic_fetch_add(&s->dropped, 1);
}

/* Returns whether the held worker id is the chosen one.  While a generator replaces its worker id, it still holds the
 * old one. */
static bool shadow_is_chosen(const struct shadow_sighting *at, uint64_t worker) {
    for (size_t i = 0; i < at->question.count; i++)
        if (strcmp(at->question.ctx[i].name, "leaving") == 0) return at->question.ctx[i].integer != (int64_t)worker;
    return true;
}

void vs_shadow_settle(struct vs_control *c, int ns, uint64_t worker) {
    struct vs_shadow *s = atomic_load(&c->shadow);
    if (!vs_shadow_has(c, ns, VS_CHOOSE_WORKER) || pthread_mutex_trylock(&s->c->shadow_lock) != 0) return;
    struct shadow_sighting *at = &s->ns[ns].sighting[VS_CHOOSE_WORKER];
    unsigned char *state = &s->state[ns][VS_CHOOSE_WORKER];
    if (*state == AWAITED && shadow_is_chosen(at, worker)) {
        at->done.worker = worker;
        *state = READY;
        pthread_cond_signal(&s->event);
    }
    pthread_mutex_unlock(&s->c->shadow_lock);
}

void vs_shadow_take(struct vs_shadow *s, struct vs_policy_set *set) {
    for (int i = 0; i < s->c->opts.ns_count; i++)
        atomic_store(&s->ns[i].hooks, vs_policy_set_hooks(set, i));
    pthread_mutex_lock(&s->c->shadow_lock);
    struct vs_policy_set *passed = s->next;
    s->next = set;
    s->counts.any = false;
    for (int i = 0; i < s->c->opts.ns_count; i++) {
        s->counts.any = s->counts.any || set->policy[i];
        s->ns[i].seen = (struct vs_shadow_seen){.said = ""};
        if (set->policy[i]) snprintf(s->ns[i].seen.policy, sizeof s->ns[i].seen.policy, "%s", set->text[i].name);
    }
    pthread_cond_signal(&s->event);
    pthread_mutex_unlock(&s->c->shadow_lock);
    vs_policy_set_free(passed);
}

/* ------------------------------------------------------------------ comparing its verdicts */

static bool shadow_agree(const struct vs_verdict *said, const struct vs_done *done) {
    return said->kind == done->kind && (said->kind != VS_VERDICT_WORKER || said->worker == done->worker);
}

/* Writes a decision, for example "borrow 1500 ms" or "7". */
static void shadow_show(char *buf, size_t size, const struct vs_done *what) {
    if (what->kind == VS_VERDICT_WORKER)
        snprintf(buf, size, "%" PRIu64, what->worker);
    else if (what->amount_ms >= 0)
        snprintf(buf, size, "%s %" PRId64 " ms", vs_verdict_name(what->kind), what->amount_ms);
    else
        snprintf(buf, size, "%s", vs_verdict_name(what->kind));
}

/* Returns whether the result must be logged.  A chosen worker id is always logged.  An unchanged verdict is not. */
static bool shadow_is_news(struct shadow_history *history, enum vs_hook hook, const struct vs_verdict *said,
                           const struct vs_done *done) {
    int64_t now_us = vs_monotonic_us();
    if (hook != VS_CHOOSE_WORKER && history->told_us != 0 && history->said == said->kind &&
        history->done == done->kind && now_us - history->told_us < TELL_US)
        return false;
    *history = (struct shadow_history){.said = said->kind, .done = done->kind, .told_us = now_us};
    return true;
}

/* Stores the result for the status.  Call with the lock held. */
static void shadow_see(struct vs_shadow *s, int ns, enum vs_hook hook, const struct vs_shadow_seen *now) {
    struct vs_shadow_seen *seen = &s->ns[ns].seen;
    seen->hook = hook;
    seen->last_unix_ms = vs_control_unix_ms(s->c);
    memcpy(seen->said, now->said, sizeof seen->said);
    memcpy(seen->done, now->done, sizeof seen->done);
    memcpy(seen->why, now->why, sizeof seen->why);
}

static void shadow_take_answer(struct vs_shadow *s, int ns, const struct shadow_sighting *asked,
                               const struct vs_verdict *said) {
    enum vs_hook hook = asked->question.hook;
    struct vs_shadow_seen *seen = &s->ns[ns].seen, now = {.policy = ""};
    const struct vs_done as_done = {said->kind, said->worker, said->amount_ms, true};
    bool agrees = shadow_agree(said, &asked->done);
    shadow_show(now.said, sizeof now.said, &as_done);
    shadow_show(now.done, sizeof now.done, &asked->done);
    snprintf(now.why, sizeof now.why, "%s", said->reason);
    s->ns[ns].history[hook].back_off.ms = 0;
    pthread_mutex_lock(&s->c->shadow_lock);
    (agrees ? s->counts.agreed : s->counts.differed)[hook][said->kind]++;
    *(agrees ? &seen->agreed : &seen->differed) += 1;
    shadow_see(s, ns, hook, &now);
    pthread_mutex_unlock(&s->c->shadow_lock);
    if (!shadow_is_news(&s->ns[ns].history[hook], hook, said, &asked->done)) return;
    vs_log(VS_LOG_INFO, agrees ? "a shadow policy agrees" : "a shadow policy differs", "namespace", s->c->name[ns],
           "policy", s->set->text[ns].name, "hook", vs_hook_name(hook), "said", now.said, "done", now.done, "by",
           asked->done.by_policy ? "the policy in force" : "the fixed rules", "reason",
           *said->reason ? said->reason : NULL, NULL);
}

static void shadow_take_failure(struct vs_shadow *s, int ns, const struct vs_failure *failure) {
    struct vs_shadow_seen now = {.policy = ""};
    int64_t ms = vs_back_off_more(&s->ns[ns].history[failure->hook].back_off, vs_monotonic_us());
    snprintf(now.said, sizeof now.said, "%s", vs_call_result_name(failure->result));
    snprintf(now.why, sizeof now.why, "%.*s", (int)sizeof now.why - 1, failure->err.text);
    pthread_mutex_lock(&s->c->shadow_lock);
    s->counts.failed[failure->hook][failure->result]++;
    s->ns[ns].seen.failed++;
    shadow_see(s, ns, failure->hook, &now);
    pthread_mutex_unlock(&s->c->shadow_lock);
    vs_log(VS_LOG_WARN, "a shadow policy failed", "namespace", s->c->name[ns], "policy", s->set->text[ns].name, "hook",
           vs_hook_name(failure->hook), "failure", vs_call_result_name(failure->result), "error", failure->err.text,
           "again_in_ms", VS_DIGITS(ms), NULL);
}

/* ------------------------------------------------------------------ the thread */

static void shadow_judge(struct vs_shadow *s, int ns, const struct shadow_sighting *asked) {
    const struct vs_hook_input input = {asked->question.hook, asked->question.ctx, asked->question.count};
    const struct vs_back_off *back_off = &s->ns[ns].history[input.hook].back_off;
    struct vs_failure failure = {.hook = input.hook};
    struct vs_verdict said;
    struct vs_policy *policy = s->set ? s->set->policy[ns] : NULL;
    if (!policy || !vs_policy_has(policy, input.hook)) return; /* the question was for the old set */
    if (back_off->ms > 0 && vs_monotonic_us() < back_off->retry_us) {
        atomic_fetch_add(&s->dropped, 1);
        return;
    }
    const struct vesta_clock *used = vs_clock_thread();
    int64_t from_us = used->boot_us(used->self);
    failure.result = vs_policy_call(policy, &input, &said, &failure.err);
    s->rest_until_us = vs_monotonic_us() + REST_TIMES * (used->boot_us(used->self) - from_us);
    if (atomic_load(&s->c->ending_now)) return;
    if (failure.result == VS_CALL_OK)
        shadow_take_answer(s, ns, asked, &said);
    else
        shadow_take_failure(s, ns, &failure);
}

/* Takes the next question that can be answered, and passes it to the caller.  Call with the lock held. */
static bool shadow_pick(struct vs_shadow *s, int *ns, struct shadow_sighting *out) {
    int count = s->c->opts.ns_count * VS_HOOKS;
    for (int i = 0; i < count; i++) {
        int at = (s->turn + i) % count;
        unsigned char *state = &s->state[at / VS_HOOKS][at % VS_HOOKS];
        struct shadow_sighting *place = &s->ns[at / VS_HOOKS].sighting[at % VS_HOOKS];
        if (*state != READY) continue;
        *state = FREE;
        *ns = at / VS_HOOKS;
        *out = *place;
        *place = (struct shadow_sighting){.done = {.by_policy = false}};
        s->turn = at + 1;
        return true;
    }
    return false;
}

static void shadow_wait_until(struct vs_shadow *s, int64_t until_us) {
    vs_cond_wait(&s->event, &s->c->shadow_lock, until_us);
}

static void shadow_wait_for_more(struct vs_shadow *s) {
    s->idle = true;
    if (s->set && vs_saying_tell(s->set))
        shadow_wait_until(s, vs_monotonic_us() + 1000000); /* dropped lines are reported when their second is over */
    else
        pthread_cond_wait(&s->event, &s->c->shadow_lock);
    s->idle = false;
}

/* Takes over the next set.  Frees the old set without the lock, because that can take long at this priority. */
static void shadow_take_next(struct vs_shadow *s) {
    struct vs_policy_set *old = s->set;
    s->set = s->next;
    s->next = NULL;
    pthread_mutex_unlock(&s->c->shadow_lock);
    for (int i = 0; i < s->c->opts.ns_count; i++)
        memset(s->ns[i].history, 0, sizeof s->ns[i].history);
    vs_policy_set_free(old);
    pthread_mutex_lock(&s->c->shadow_lock);
}

static void *shadow_main(void *arg) {
    struct vs_shadow *s = arg;
    struct shadow_sighting asked;
    int ns;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS); /* on Linux, the priority applies only to this thread */
    pthread_mutex_lock(&s->c->shadow_lock);
    while (!atomic_load(&s->c->ending_now)) {
        if (s->next) {
            shadow_take_next(s);
        } else if (vs_monotonic_us() < s->rest_until_us) {
            shadow_wait_until(s, s->rest_until_us);
        } else if (shadow_pick(s, &ns, &asked)) {
            pthread_mutex_unlock(&s->c->shadow_lock);
            shadow_judge(s, ns, &asked);
            vs_question_free(&asked.question);
            pthread_mutex_lock(&s->c->shadow_lock);
        } else {
            shadow_wait_for_more(s);
        }
    }
    pthread_mutex_unlock(&s->c->shadow_lock);
    return NULL;
}

static void shadow_free(struct vs_shadow *s) {
    free(s->ns);
    free(s->state);
    free(s);
}

static struct vs_shadow *shadow_make(struct vs_control *c) {
    size_t count = (size_t)c->opts.ns_count;
    struct vs_shadow *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->c = c;
    s->ns = calloc(count, sizeof *s->ns);
    s->state = calloc(count, sizeof *s->state);
    if (s->ns && s->state) return s;
    return shadow_free(s), NULL;
}

int vs_shadow_open(struct vs_control *c, struct vs_shadow **out, struct vesta_error *err) {
    struct vs_shadow *s = shadow_make(c);
    if (!s) return vs_fail(err, VESTA_ENOMEM, "no memory");
    vs_cond_init(&s->event);
    int rc = vs_thread_start(&s->thread, shadow_main, s);
    if (rc == 0) {
        *out = s;
        return VESTA_OK;
    }
    shadow_free(s);
    return vs_fail(err, VESTA_ENOMEM, "cannot start the thread of the shadow policies");
}

void vs_shadow_close(struct vs_shadow *s) {
    if (!s) return;
    atomic_store(&s->c->ending_now, true);
    pthread_mutex_lock(&s->c->shadow_lock);
    pthread_cond_signal(&s->event);
    pthread_mutex_unlock(&s->c->shadow_lock);
    pthread_join(s->thread, NULL);
    vs_policy_set_free(s->set);
    vs_policy_set_free(s->next);
    for (int i = 0; i < s->c->opts.ns_count; i++)
        for (int hook = 0; hook < VS_HOOKS; hook++)
            vs_question_free(&s->ns[i].sighting[hook].question);
    pthread_cond_destroy(&s->event);
    shadow_free(s);
}

/* ------------------------------------------------------------------ how they are */

bool vs_shadow_rests(const struct vs_control *c) {
    struct vs_shadow *s = atomic_load(&c->shadow);
    if (!s) return true;
    pthread_mutex_lock(&s->c->shadow_lock);
    bool rests = s->idle && !s->next;
    for (int i = 0; i < c->opts.ns_count * VS_HOOKS; i++)
        rests = rests && s->state[i / VS_HOOKS][i % VS_HOOKS] != READY;
    pthread_mutex_unlock(&s->c->shadow_lock);
    return rests;
}

/* Call with told_lock held, so that a second event loop never gets an older state than the first. */
static void shadow_look(struct vs_shadow *s, int ns) {
    if (!vs_control_lock_soon(&s->c->shadow_lock, VS_LOOK_STEPS)) return;
    s->counts_told = s->counts;
    if (ns >= 0) s->ns[ns].seen_told = s->ns[ns].seen;
    pthread_mutex_unlock(&s->c->shadow_lock);
}

void vs_shadow_counts(const struct vs_control *c, struct vs_shadow_counts *out) {
    struct vs_shadow *s = atomic_load(&c->shadow);
    if (!s) return;
    shadow_look(s, -1);
    *out = s->counts_told;
    out->dropped = atomic_load(&s->dropped);
}

void vs_shadow_look(void *control, int ns, struct vs_shadow_seen *out) {
    struct vs_control *c = control;
    struct vs_shadow *s = atomic_load(&c->shadow);
    *out = (struct vs_shadow_seen){.policy = ""};
    if (!s) return;
    pthread_mutex_lock(&c->told_lock);
    shadow_look(s, ns);
    *out = s->ns[ns].seen_told;
    pthread_mutex_unlock(&c->told_lock);
}
