/* wait.c -- runs the stages of a request and decides whether it waits between them.  A request is admitted, enters a
 * namespace or a tag, takes ids and is answered.  Contains no socket, protocol or Lua code.
 *
 * A stage that cannot continue returns VS_WAITS.  request_settle alone then decides, by the cause, how long the request
 * may wait, or with which error it is rejected.  A waiting request is copied to session->waiting, and waiters.c resumes
 * it in the order of its queue. */
#include "generator/generator.h"
#include "server/commands.h"
#include "server/rights.h"
#include "server/shares.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_STEP_US 100000
#define OPENING_STEP_US 5000
#define READING_US_MAX 1000000  /* time limit for reading the tables of tags */
#define JUDGE_US_MAX 300000     /* time limit for a policy's verdict */
#define JUDGE_STEP_US 20000     /* interval of tries during that time, in case a wake-up came too early */
#define BY_POLICY_STEP_US 50000 /* interval of tries, because the clock may be corrected earlier than expected */

/* ------------------------------------------------------------------ waiting */

/* Returns how long to wait before the next try, if the request may wait left_us in total.  Returns -1 if it must not
 * wait.  A tag's segment wakes its requests when it has numbers (vs_serve_wake), but the requests also retry at
 * intervals, in case the wake-up was missed. */
static int64_t request_step_us(const struct vs_request *r, int64_t left_us) {
    if (r->tag && (r->pause.why != VESTA_RANGE || left_us <= 0)) return -1;
    if (r->tag) return left_us < RANGE_STEP_US ? left_us : RANGE_STEP_US;
    if (vs_pause_wakes_keeper(r->pause.why) && vesta_keep(r->gen) != VESTA_OK) return -1;
    return vs_pause_step_us(&r->pause, left_us);
}

static int queue_of(const struct vs_request *r) {
    if (r->waits_for == VS_FOR_SHARE) return VS_QUEUE_OF_SHARES;
    if (r->waits_for == VS_FOR_LEASE) return VS_QUEUE_OF_LEASES;
    return r->waits_for == VS_FOR_TABLES ? VS_QUEUE_OF_TABLES : vs_request_queue(r);
}

static enum vs_reply_state queue_up(struct vs_request *r, int64_t wait_us) {
    struct vs_session *s = r->session;
    s->waiting.queue = queue_of(r);
    s->waiting.wait_us = wait_us;
    s->waiting.charged.again_us = s->scratch->now_us + wait_us;
    s->scratch->queue[s->waiting.queue].pause = r->pause;
    return VS_WAITS;
}

static void request_begin_waiting(struct vs_request *r, int64_t now_us) {
    struct vs_waiting *waiting = &r->session->waiting;
    /* an earlier deadline applied to reading a table, not to ids */
    bool was_unknown = waiting->queue < VS_QUEUE_OF_SHARES;
    if (waiting->deadline_us == 0 || was_unknown)
        waiting->deadline_us = now_us + (r->tag ? r->tag->wait_us_max : r->ns->wait_us_max);
}

static bool may_wait(struct vs_request *r, int64_t now_us) {
    struct vs_session *s = r->session;
    request_begin_waiting(r, now_us);
    int64_t wait_us = request_step_us(r, s->waiting.deadline_us - now_us);
    if (wait_us < 0) return false;
    queue_up(r, wait_us);
    return true;
}

/* A waiting request with copies of its arguments.  The bytes of the arguments follow `arg`. */
struct whole {
    struct vs_request request; /* first, because struct vs_waiting points to it */
    struct vs_http http;
    struct vs_slice arg[];
};

static void copy_args(struct whole *whole, const struct vs_request *r) {
    char *to = (char *)&whole->arg[r->arg_count];
    for (int i = 0; i < r->arg_count; i++) {
        whole->arg[i] = (struct vs_slice){r->arg[i].at ? to : NULL, r->arg[i].length};
        if (r->arg[i].at) memcpy(to, r->arg[i].at, r->arg[i].length);
        to += r->arg[i].length;
    }
    whole->request.arg = whole->arg;
}

static size_t whole_size(const struct vs_request *r) {
    size_t size = sizeof(struct whole) + (size_t)r->arg_count * sizeof *r->arg;
    for (int i = 0; i < r->arg_count; i++)
        size += r->arg[i].length;
    return size;
}

/* Holds a reference to the request's set of tags, unless a transaction already holds one. */
static void hold_tags(struct vs_request *r) {
    struct vs_waiting *waiting = &r->session->waiting;
    if (waiting->tags || r->waits_for == VS_FOR_TABLES || r->session->multi) return;
    waiting->tags = r->tags;
    vs_tags_hold(waiting->tags);
}

/* Copies the request, because by the time it resumes the input buffer will contain other requests.  Returns false if
 * there is no memory. */
static bool keep_whole(struct vs_request *r) {
    struct vs_waiting *waiting = &r->session->waiting;
    hold_tags(r);
    if (waiting->request) return true;
    size_t size = whole_size(r);
    if (!vs_session_take(r->session, size)) return false;
    struct whole *whole = malloc(size);
    if (!whole) return vs_session_give(r->session, size), false;
    whole->request = *r;
    whole->request.bytes = (struct vs_slice){NULL, 0};
    whole->request.behind = 0;
    if (r->http) {
        whole->http =
            (struct vs_http){.method = r->http->method, .keep_alive = r->http->keep_alive, .http10 = r->http->http10};
        whole->request.http = &whole->http;
    }
    copy_args(whole, r);
    waiting->request = &whole->request;
    waiting->size = size;
    return true;
}

/* ------------------------------------------------------------------ verdicts of a policy */

/* Counts a request that waits because of a policy.  Returns false if too many such requests wait, because otherwise a
 * clock that goes back would fill the server with waiting requests. */
static bool request_take_place(struct vs_session *s) {
    if (!s->waiting.by_policy &&
        atomic_fetch_add_explicit(&s->server->waiting_by_policy, 1, memory_order_relaxed) >= VS_BY_POLICY_MAX)
        /* relaxed: a count, orders nothing */
        atomic_fetch_sub_explicit(&s->server->waiting_by_policy, 1, memory_order_relaxed);
    else
        s->waiting.by_policy = true;
    return s->waiting.by_policy;
}

/* Queues a request that is past its deadline for another try, until until_us.  Returns false if it must not wait, for
 * example because the server is stopping. */
static bool may_wait_on(struct vs_request *r, int64_t now_us, int64_t until_us, int64_t step_us_max) {
    int64_t wait_us = request_step_us(r, INT64_MAX);
    if (wait_us < 0 || now_us >= until_us || r->session->draining || !request_take_place(r->session)) return false;
    wait_us = wait_us < step_us_max ? wait_us : step_us_max;
    queue_up(r, wait_us < until_us - now_us ? wait_us : until_us - now_us);
    return true;
}

static bool may_wait_for_verdict(struct vs_request *r, int64_t now_us) {
    struct vs_session *s = r->session;
    if (s->waiting.judged_until_us == 0) s->waiting.judged_until_us = now_us + JUDGE_US_MAX;
    return may_wait_on(r, now_us, s->waiting.judged_until_us, JUDGE_STEP_US);
}

/* If the policy chose a different worker id, requests that waited for its verdict now wait for the new lease. */
static bool may_wait_for_lease(struct vs_request *r, int64_t now_us) {
    bool needs_lease = r->pause.why == VESTA_LEASE || r->pause.why == VESTA_CHOOSE;
    return needs_lease && r->session->waiting.judged_until_us != 0 && may_wait_for_verdict(r, now_us);
}

/* A policy may return "wait" repeatedly, but only the time limit of its first verdict applies. */
static bool may_wait_by_verdict(struct vs_request *r, int64_t now_us, int64_t until_us) {
    struct vs_session *s = r->session;
    int64_t until_us_max = now_us + r->ns->policy_wait_us_max;
    if (s->waiting.policy_until_us == 0) s->waiting.policy_until_us = until_us < until_us_max ? until_us : until_us_max;
    return may_wait_on(r, now_us, s->waiting.policy_until_us, BY_POLICY_STEP_US);
}

static enum vs_next_step request_judge(struct vs_request *r, int64_t *until_us) {
    const struct vs_server *server = r->session->server;
    if (!server->above.policies.judge) return VS_NO_VERDICT;
    return server->above.policies.judge(server->above.policies.self, (int)(r->ns - server->names.at), r->gen, &r->pause,
                                        until_us);
}

/* ------------------------------------------------------------------ the stages of a request */

/* Rejects a request for lack of an id.  A policy's reason may contain file and host names, so only clients that may see
 * reasons receive it. */
static enum vs_reply_state request_give_up(struct vs_request *r) {
    char text[VS_PAUSE_TEXT_MAX];
    const char *code = vesta_why_name(r->pause.why);
    bool is_stores = r->pause.why == VESTA_LEASE || r->pause.why == VESTA_FAILSTOP;
    if (vs_rights_sees_reasons(r->session))
        vs_namespace_pause_text(r->session->server, r->ns, &r->pause, text);
    else
        vesta_pause_text(r->gen, &r->pause, text, sizeof text);
    atomic_store(&r->ns->refused_why, (int)r->pause.why);
    atomic_store(&r->ns->refused_wait_us, r->pause.wait_us);
    atomic_fetch_add(&r->ns->refused, 1);
    if (r->pause.wait_us >= 0) r->retry_after_s = (int)((r->pause.wait_us + 999999) / 1000000);
    if (is_stores && !vs_rights_sees_reasons(r->session))
        return vs_refuse_why(r, code, "the server has no worker id, so it cannot issue ids", text);
    return vs_refuse(r, code, "%s", text);
}

static enum vs_reply_state give_up_tag(struct vs_request *r) {
    char text[256];
    if (r->tag->seg && !vs_rights_sees_reasons_of(r->session, r->tag))
        snprintf(text, sizeof text, "there is no range of '%s' now. The server's log has the reason", r->tag->name);
    else if (r->tag->seg)
        vesta_segment_pause_text(r->tag->seg, &r->pause, text, sizeof text);
    else
        snprintf(text, sizeof text,
                 "the database of '%s' did not reply in time, so the change may have been applied: send the request "
                 "again",
                 r->tag->name);
    atomic_fetch_add_explicit(&r->tag->refused, 1, memory_order_relaxed); /* relaxed: a count, orders nothing */
    if (r->pause.wait_us >= 0) r->retry_after_s = (int)((r->pause.wait_us + 999999) / 1000000);
    return vs_refuse(r, vesta_why_name(r->pause.why), "%s", text);
}

/* Does not consult policies, because there are still ids for other clients. */
static enum vs_reply_state settle_share(struct vs_request *r, int64_t now_us) {
    request_begin_waiting(r, now_us);
    if (r->pause.wait_us > r->session->waiting.deadline_us - now_us) return vs_shares_refuse(r);
    vs_shares_note(r, false);
    return queue_up(r, r->pause.wait_us);
}

/* Lets a request wait for its namespace to open or for tables to be read, because a server already listens before that
 * is done. */
static enum vs_reply_state settle_opening(struct vs_request *r, int64_t now_us) {
    struct vs_session *s = r->session;
    if (s->waiting.deadline_us == 0)
        s->waiting.deadline_us = now_us + (r->waits_for == VS_FOR_OPENING ? r->ns->wait_us_max : READING_US_MAX);
    if (now_us + OPENING_STEP_US > s->waiting.deadline_us || s->draining) return vs_request_not_entered(r);
    r->pause = (struct vesta_pause){.why = VESTA_LEASE, .wait_us = OPENING_STEP_US};
    return queue_up(r, OPENING_STEP_US);
}

/* Lets a request wait for the desk of leases or of watermarks, which wakes the loops (vs_serve_wake). */
static enum vs_reply_state settle_lease(struct vs_request *r, int64_t now_us) {
    struct vs_waiting *waiting = &r->session->waiting;
    waiting->deadline_us = waiting->job->until_us;
    int64_t left_us = waiting->deadline_us - now_us;
    r->pause = (struct vesta_pause){.why = VESTA_LEASE, .wait_us = RANGE_STEP_US};
    if (left_us > 0) return queue_up(r, left_us < RANGE_STEP_US ? left_us : RANGE_STEP_US);
    if (waiting->job->ask == VS_DESK_WATERMARK)
        return vs_refuse(r, "watermark_unknown", "the store did not reply in time: send the request again");
    return vs_refuse(r, "lease_unknown",
                     "the store did not reply in time, so the change may have been applied: send the request again");
}

static bool request_is_used_up(const struct vs_request *r) {
    return !r->tag && (r->pause.why == VESTA_FULL || r->pause.why == VESTA_AHEAD);
}

static void count_pause(struct vs_request *r) {
    assert(r->pause.why < VS_WHYS_MAX);
    if (r->tag)
        vs_add(&r->tag->counts[r->session->scratch->loop].pauses, 1);
    else
        vs_add(&r->session->scratch->counts->ns[r->ns - r->session->server->names.at].pauses[r->pause.why], 1);
}

/* Tries the request once more, after a policy ended the pause. */
static enum vs_reply_state request_try_again(struct vs_request *r, int64_t now_us) {
    enum vs_reply_state state = r->stage(r);
    if (state != VS_WAITS || (r->waits_for != VS_FOR_SHARE && may_wait(r, now_us))) return state;
    return r->waits_for == VS_FOR_SHARE ? settle_share(r, now_us) : request_give_up(r);
}

static enum vs_reply_state settle_pause(struct vs_request *r, int64_t now_us) {
    int64_t until_us = now_us;
    if (r->session->waiting.deadline_us == 0) count_pause(r);
    if (request_is_used_up(r)) vs_shares_full(r);
    if (may_wait(r, now_us)) return VS_WAITS;
    if (r->tag) return give_up_tag(r);
    if (r->session->waiting.policy_until_us != 0 && may_wait_by_verdict(r, now_us, 0)) return VS_WAITS;
    if (may_wait_for_lease(r, now_us)) return VS_WAITS;
    switch (request_judge(r, &until_us)) {
    case VS_PENDING:
        if (may_wait_for_verdict(r, now_us)) return VS_WAITS;
        break;
    case VS_WAIT:
        if (may_wait_by_verdict(r, now_us, until_us)) return VS_WAITS;
        break;
    case VS_TRY_AGAIN: return request_try_again(r, now_us);
    case VS_REFUSE:
    case VS_NO_VERDICT: break;
    }
    return request_give_up(r);
}

static enum vs_reply_state request_settle(struct vs_request *r) {
    const struct vesta_clock *clock = r->session->server->clock;
    int64_t now_us = clock->boot_us(clock->self);
    r->out->used = r->start;
    switch (r->waits_for) {
    case VS_FOR_OPENING:
    case VS_FOR_TABLES: return settle_opening(r, now_us);
    case VS_FOR_SHARE: return settle_share(r, now_us);
    case VS_FOR_LEASE: return settle_lease(r, now_us);
    case VS_FOR_NOTHING:
    case VS_FOR_IDS:
    case VS_FOR_JOB: break;
    }
    return settle_pause(r, now_us);
}

static enum vs_reply_state conclude(struct vs_request *r, enum vs_reply_state state) {
    if (state == VS_WAITS) state = request_settle(r);
    r->session->scratch->quantum.cost += vs_call_cost(r->call);
    if ((state == VS_WAITS || state == VS_AGAIN) && !keep_whole(r)) return vs_refuse_memory(r);
    if (state != VS_WAITS && state != VS_AGAIN && r->also > 0 && r->session->is_metered)
        vs_shares_also(r, r->also);
    return state;
}

enum vs_reply_state vs_request_run(struct vs_request *r) {
    if (r->session->is_metered && !vs_shares_admit(r))
        return conclude(r, vs_wait_for(r, VS_FOR_SHARE, r->call->handler));
    return conclude(r, r->call->handler(r));
}

enum vs_reply_state vs_request_go_on(struct vs_request *r, struct vs_out *out) {
    r->out = out;
    r->start = out->used;
    r->held = VS_SHARE_NONE;
    if (vs_request_is_lost(r)) return VS_ANSWERED;
    return conclude(r, r->stage(r));
}

void vs_request_forget(struct vs_session *s) {
    vs_shares_settle(s);
    if (s->waiting.by_policy) atomic_fetch_sub_explicit(&s->server->waiting_by_policy, 1, memory_order_relaxed);
    vs_tags_let(s->waiting.tags);
    free(s->waiting.request);
    free(s->waiting.ids);
    vs_desk_job_let(s->waiting.job);
    vs_session_give(s, s->waiting.size + s->waiting.ids_size * sizeof *s->waiting.ids);
    s->waiting = (struct vs_waiting){0};
}

void vs_request_end(struct vs_request *r) {
    struct vs_session *s = r->session;
    const struct vs_waiting *waiting = &s->waiting;
    struct vs_scratch *scratch = s->scratch;
    vs_count *of_client = scratch->counts->of_client[s->grant.count];
    vs_add(&of_client[r->code ? vs_code_reason(r->code) : VS_CLIENT_ANSWERED], 1 + r->also);
    vs_add(&scratch->counts->requests[s->protocol][r->code], 1 + r->also);
    vs_add(r->code ? &s->member.refused : &s->member.requests, 1 + r->also);
    /* relaxed: only shown in lists */
    atomic_store_explicit(&s->member.call, r->call, memory_order_relaxed);
    scratch->answered += 1 + r->also;
    if (waiting->deadline_us != 0 || waiting->request || waiting->ids || waiting->job || waiting->charged.ids != 0)
        vs_request_forget(s);
}
