/* leases.c -- policies about worker ids: whether to start, which worker id to claim, whether to continue while the
 * store does not respond, and what to do after a worker id was lost.  Does not call the store: the keeper asks for a
 * worker id, and the store decides which claim gets it.  If a policy has no such function, or the function fails, the
 * fixed rules apply: start, claim the default choice, continue. */
#include "policy/control/shadow.h"

#include "base/array.h"
#include "base/error.h"
#include "base/table.h"
#include "generator/generator.h"
#include "log/log.h"
#include "os/host.h"
#include "os/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of namespaces checked in one look, apart from those with a waiting keeper.  The remaining namespaces
 * are checked in the next look. */
#define LOOKS_MAX 256
/* Minimum interval between log lines about the same choice, which a policy may repeat each second, for example for a
 * held worker id. */
#define CHOICE_TOLD_US 60000000
#define STORE_DOWN_US 1000000 /* interval between calls of a policy while the store does not respond */

/* ------------------------------------------------------------------ asking */

static const char *leases_policy_name(const struct vs_control *c, int ns) {
    return c->set->text[ns].name;
}

static bool leases_has(const struct vs_control *c, int ns, enum vs_hook hook) {
    return c->set->policy[ns] && vs_policy_has(c->set->policy[ns], hook);
}

static bool leases_ask_policy(struct vs_control *c, int ns, const struct vs_hook_input *input,
                              struct vs_verdict *verdict) {
    struct vs_back_off *back_off = &c->leasing[ns].back_off[input->hook];
    struct vs_failure failure = {.hook = input->hook};
    if (!leases_has(c, ns, input->hook) || (back_off->ms > 0 && vs_control_now_us(c) < back_off->retry_us))
        return false;
    failure.result = vs_control_call(c, ns, input, verdict, &failure.err);
    if (failure.result == VS_CALL_OK)
        back_off->ms = 0;
    else
        vs_control_failed(c, ns, &failure, back_off);
    return failure.result == VS_CALL_OK;
}

/* Calls a policy's function.  Returns false if there is no such function, or if the function fails now or has failed a
 * moment ago. */
static bool leases_ask(struct vs_control *c, int ns, const struct vs_hook_input *input, struct vs_verdict *verdict) {
    bool answered = leases_ask_policy(c, ns, input, verdict);
    vs_shadow_offer(c, ns, input, answered ? verdict : NULL);
    return answered;
}

/* Ends the namespace's leases until the program restarts. */
static void leases_end(struct vs_control *c, int ns, const char *event, const char *what, const char *reason) {
    struct vs_leasing *leasing = &c->leasing[ns];
    vs_log(VS_LOG_ERROR, event, "namespace", c->name[ns], "policy", leases_policy_name(c, ns), "reason",
           *reason ? reason : NULL, NULL);
    pthread_mutex_lock(&c->lock);
    leasing->over = true;
    snprintf(leasing->why, sizeof leasing->why, "%s: %s", what, *reason ? reason : "it gave no reason");
    pthread_mutex_unlock(&c->lock);
}

bool vs_control_is_over(struct vs_control *c, int ns, char why[VS_OVER_MAX]) {
    pthread_mutex_lock(&c->lock);
    bool over = c->leasing[ns].over;
    memcpy(why, c->leasing[ns].why, VS_OVER_MAX);
    pthread_mutex_unlock(&c->lock);
    return over;
}

/* ------------------------------------------------------------------ records, as policies get them */

/* Returns whether the record is a live lease of another generator. */
static bool leases_is_peer(const struct vesta_record *r, const char *identity) {
    return r->held && !r->expired && strcmp(r->identity, identity) != 0;
}

/* Computes the peers' clocks.  A peer's clock is its time at its last write, plus the time since then. */
static size_t leases_read_peers(const struct vesta_choice *choice, const char *identity, struct vs_ctx_peer *out) {
    size_t count = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct vesta_record *r = &choice->record[i];
        if (leases_is_peer(r, identity))
            out[count++] = (struct vs_ctx_peer){r->worker, r->seen_ms + choice->store_ms - r->written_ms};
    }
    return count;
}

/* ------------------------------------------------------------------ starting, and losing */

static void leases_ask_to_start(struct vs_control *c, int ns, const struct vesta_choice *choice, const char *identity) {
    struct vs_ctx_peer *peers = calloc(choice->count + 1, sizeof *peers);
    struct vs_ctx ctx[VS_CTX_MAX];
    struct vs_verdict verdict;
    size_t count = 0;
    int64_t last_ms = INT64_MIN;
    for (size_t i = 0; i < choice->count; i++)
        if (strcmp(choice->record[i].identity, identity) == 0 && choice->record[i].seen_ms > last_ms)
            last_ms = choice->record[i].seen_ms;
    ctx[count++] = vs_ctx_text("namespace", c->name[ns]);
    ctx[count++] = vs_ctx_integer("now_ms", vs_control_unix_ms(c));
    if (last_ms != INT64_MIN) ctx[count++] = vs_ctx_integer("last_ms", last_ms);
    ctx[count++] = (struct vs_ctx){.name = "peers",
                                   .kind = VS_CTX_PEERS,
                                   .peers = peers,
                                   .count = peers ? leases_read_peers(choice, identity, peers) : 0};
    if (leases_ask(c, ns, &(struct vs_hook_input){VS_ON_START, ctx, count}, &verdict) &&
        verdict.kind == VS_VERDICT_REFUSE)
        leases_end(c, ns, "a policy refuses to start", "the policy refuses to start", verdict.reason);
    free(peers);
}

static void leases_ask_about_loss(struct vs_control *c, int ns, const struct vesta_choice *choice) {
    const struct vs_ctx ctx[] = {vs_ctx_text("namespace", c->name[ns]), vs_ctx_integer("now_ms", vs_control_unix_ms(c)),
                                 vs_ctx_integer("worker", (int64_t)choice->lost)};
    struct vs_verdict verdict;
    vs_log(VS_LOG_WARN, "a worker id was taken over by another process", "namespace", c->name[ns], "worker",
           VS_DIGITS((int64_t)choice->lost), NULL);
    if (leases_ask(c, ns, &(struct vs_hook_input){VS_ON_LEASE_LOST, ctx, VS_COUNT(ctx)}, &verdict) &&
        verdict.kind == VS_VERDICT_STOP)
        leases_end(c, ns, "a policy stops a namespace after the loss of its worker id: a restart claims again",
                   "the policy wants no other worker id after the loss of the last one", verdict.reason);
}

/* ------------------------------------------------------------------ choosing */

static bool leases_ask_for_worker(struct vs_control *c, int ns, const struct vesta_choice *choice, const char *identity,
                                  struct vs_verdict *verdict) {
    struct vs_ctx ctx[VS_CTX_MAX];
    char host[64], address[VS_ADDRESS_MAX];
    uint32_t random = 0;
    size_t count = 0;
    vs_host_name(host, sizeof host);
    int64_t ordinal = vs_host_ordinal(host);
    (void)vs_random(&random, sizeof random); /* if this fails, 0 is as good as a random number */
    ctx[count++] = vs_ctx_text("namespace", c->name[ns]);
    ctx[count++] = vs_ctx_integer("now_ms", choice->store_ms);
    ctx[count++] =
        (struct vs_ctx){.name = "records", .kind = VS_CTX_RECORDS, .records = choice->record, .count = choice->count};
    ctx[count++] = (struct vs_ctx){
        .name = "range", .kind = VS_CTX_RANGE, .integer = (int64_t)choice->first, .last = (int64_t)choice->last};
    ctx[count++] = vs_ctx_text("host", host);
    ctx[count++] = vs_ctx_text("ip", vs_host_address(address) == 0 ? address : NULL);
    ctx[count++] = vs_ctx_text("identity", identity);
    ctx[count++] = vs_ctx_integer("random", random);
    ctx[count++] = vs_ctx_integer("attempt", choice->attempt);
    if (ordinal >= 0) ctx[count++] = vs_ctx_integer("ordinal", ordinal);
    if (choice->is_switch) ctx[count++] = vs_ctx_integer("leaving", (int64_t)choice->leaving);
    return leases_ask(c, ns, &(struct vs_hook_input){VS_CHOOSE_WORKER, ctx, count}, verdict);
}

static void leases_tell_beyond(struct vs_control *c, int ns, const struct vesta_choice *choice, uint64_t worker) {
    struct vs_failure failure = {.hook = VS_CHOOSE_WORKER, .result = VS_CALL_GARBAGE};
    vs_fail(&failure.err, VESTA_EFIELD,
            "choose_worker returned %" PRIu64 ", but worker ids are %" PRIu64 " to %" PRIu64, worker, choice->first,
            choice->last);
    vs_control_failed(c, ns, &failure, &c->leasing[ns].back_off[VS_CHOOSE_WORKER]);
}

/* Returns whether the choice must be logged.  An equal choice that was logged a moment ago is not logged again. */
static bool leases_is_news(struct vs_control *c, int ns, unsigned attempt, const struct vs_verdict *verdict) {
    struct vs_leasing *leasing = &c->leasing[ns];
    const uint64_t numbers[] = {verdict->kind, verdict->kind == VS_VERDICT_WORKER ? verdict->worker : 0, attempt};
    uint64_t hash = vs_table_hash(numbers, sizeof numbers, 0);
    int64_t now_us = vs_control_now_us(c);
    hash = vs_table_hash(verdict->reason, strlen(verdict->reason), hash) | 1;
    if (leasing->choice_told == hash && now_us - leasing->choice_told_us < CHOICE_TOLD_US) return false;
    leasing->choice_told = hash;
    leasing->choice_told_us = now_us;
    return true;
}

/* Logs the choice and answers the keeper, in this order.  Otherwise the log would report the choice after the worker id
 * is in use.  If the question is over by now, the answer has no effect. */
static void leases_carry_out(struct vs_control *c, int ns, const struct vesta_pause *pause,
                             const struct vesta_choice *choice, const struct vs_verdict *verdict) {
    struct vesta_gen *gen = c->gen[ns];
    const char *reason = *verdict->reason ? verdict->reason : NULL;
    bool is_news = leases_is_news(c, ns, choice->attempt, verdict);
    if (verdict->kind == VS_VERDICT_NOTHING) {
        if (is_news)
            vs_log(VS_LOG_WARN, "a policy chose no worker id", "namespace", c->name[ns], "policy",
                   leases_policy_name(c, ns), "reason", reason, NULL);
        (void)vesta_choose_none(gen, pause, reason ? reason : "the policy chose no worker id");
    } else if (verdict->worker > choice->last) {
        leases_tell_beyond(c, ns, choice, verdict->worker);
        (void)vesta_choose(gen, pause, VESTA_ANY_WORKER);
    } else {
        if (is_news)
            vs_log(VS_LOG_INFO, "a policy chose a worker id", "namespace", c->name[ns], "policy",
                   leases_policy_name(c, ns), "worker", VS_DIGITS((int64_t)verdict->worker), "attempt",
                   VS_DIGITS(choice->attempt), "reason", reason, NULL);
        char host[64];
        vs_host_name(host, sizeof host);
        bool fixed = vs_policy_is_fixed(c->set->policy[ns], vs_host_ordinal(host) >= 0);
        (void)(fixed ? vesta_choose_fixed : vesta_choose)(gen, pause, verdict->worker);
    }
}

/* Logs once that the policy is not asked, even if the lease continues and the keeper does not ask.  A worker id that
 * was assigned when the file was created stays, whatever the config specifies later. */
static void leases_tell_fixed(struct vs_control *c, int ns) {
    struct vs_leasing *leasing = &c->leasing[ns];
    const struct vesta_gen *gen = c->gen[ns];
    if (leasing->told_fixed || !leases_has(c, ns, VS_CHOOSE_WORKER) || !atomic_load(&gen->map)->header.has_worker)
        return;
    leasing->told_fixed = true;
    vs_log(VS_LOG_WARN, "a policy is not asked for a worker id: the generator file has one, assigned by hand",
           "namespace", c->name[ns], "policy", leases_policy_name(c, ns), "do",
           "stop all processes that use the file and remove it, or remove choose_worker from the policy", NULL);
}

static void leases_choose(struct vs_control *c, int ns, const struct vesta_pause *pause,
                          const struct vesta_choice *choice, const char *identity) {
    struct vs_verdict verdict;
    if (!choice->is_fixed && leases_ask_for_worker(c, ns, choice, identity, &verdict))
        leases_carry_out(c, ns, pause, choice, &verdict);
    else
        (void)vesta_choose(c->gen[ns], pause, VESTA_ANY_WORKER);
}

/* Answers the keeper if it is asking for a worker id. */
static void leases_answer_keeper(struct vs_control *c, int ns) {
    static const struct vesta_pause pause = {.why = VESTA_CHOOSE};
    struct vs_leasing *leasing = &c->leasing[ns];
    struct vesta_choice *choice;
    struct vesta_info info;
    if (vesta_get_choice(c->gen[ns], &choice, NULL) != VESTA_OK) return;
    vesta_get_info(c->gen[ns], &info);
    if (!leasing->started) leases_ask_to_start(c, ns, choice, info.identity);
    leasing->started = true;
    if (choice->was_lost && !leasing->lost) leases_ask_about_loss(c, ns, choice);
    leasing->lost = choice->was_lost;
    if (leasing->over)
        (void)vesta_choose_none(c->gen[ns], &pause, leasing->why);
    else
        leases_choose(c, ns, &pause, choice, info.identity);
    vesta_choice_free(choice);
}

/* ------------------------------------------------------------------ a store that is silent */

static void leases_ask_about_silence(struct vs_control *c, int ns, const struct vesta_info *info) {
    struct vs_leasing *leasing = &c->leasing[ns];
    int64_t now_us = vs_control_now_us(c), now_ms = vs_control_unix_ms(c), left_ms = info->lease_end_ms - now_ms;
    struct vs_verdict verdict;
    if (leasing->suspect_us == 0) leasing->suspect_us = now_us;
    if (leasing->asked_us != 0 && now_us - leasing->asked_us < STORE_DOWN_US) return;
    leasing->asked_us = now_us;
    const struct vs_ctx ctx[] = {vs_ctx_text("namespace", c->name[ns]), vs_ctx_integer("now_ms", now_ms),
                                 vs_ctx_integer("down_ms", (now_us - leasing->suspect_us) / 1000),
                                 vs_ctx_integer("left_ms", left_ms > 0 ? left_ms : 0)};
    if (!leases_ask(c, ns, &(struct vs_hook_input){VS_ON_STORE_DOWN, ctx, VS_COUNT(ctx)}, &verdict) ||
        verdict.kind != VS_VERDICT_REFUSE)
        return;
    vs_log(VS_LOG_WARN, "a policy ends a lease because its store is silent", "namespace", c->name[ns], "policy",
           leases_policy_name(c, ns), "worker", VS_DIGITS((int64_t)info->worker), "reason",
           *verdict.reason ? verdict.reason : NULL, NULL);
    (void)vesta_drop(c->gen[ns]); /* cannot fail, because the map is not private */
}

/* ------------------------------------------------------------------ looking */

static void leases_look_at_store(struct vs_control *c, int ns) {
    struct vesta_info info;
    vesta_get_info(c->gen[ns], &info);
    bool is_silent = strcmp(info.state, "suspect") == 0 || strcmp(info.state, "drained") == 0;
    if (info.holds_lease) vs_shadow_settle(c, ns, info.worker);
    if (info.holds_lease && is_silent)
        leases_ask_about_silence(c, ns, &info);
    else
        c->leasing[ns].suspect_us = c->leasing[ns].asked_us = 0;
}

static void leases_look_at(struct vs_control *c, int ns) {
    atomic_store(&c->wants[ns], 0);
    if (!atomic_load(&c->gen[ns])) return;
    leases_tell_fixed(c, ns);
    leases_answer_keeper(c, ns);
    if (leases_has(c, ns, VS_ON_STORE_DOWN) || vs_shadow_has(c, ns, VS_ON_STORE_DOWN) ||
        vs_shadow_has(c, ns, VS_CHOOSE_WORKER))
        leases_look_at_store(c, ns);
}

void vs_control_look(struct vs_control *c) {
    int count = c->opts.ns_count;
    vs_saying_tell(c->set);
    for (int i = 0; i < count; i++)
        /* namespaces with a waiting keeper come first */
        if (atomic_load_explicit(&c->wants[i], memory_order_relaxed)) leases_look_at(c, i);
    for (int i = 0; i < count && i < LOOKS_MAX; i++) {
        leases_look_at(c, c->looked_at);
        c->looked_at = (c->looked_at + 1) % count;
    }
}
