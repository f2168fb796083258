/* wait.c -- a request that wants ids and finds none: it waits by the fixed rules, then asks the host's policies, or is
 * told why not.  Knows no socket, no protocol and no Lua.
 *
 * Whoever waits stands in its namespace's line of its loop; net.c asks the first of a line again when it is time. */
#include "server/commands.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_STEP_US_MIN 1000 /* a lease comes when a keeper's thread has got it: look often, not always */
#define LEASE_STEP_US_MAX 5000
#define JUDGE_US_MAX 300000 /* a policy that has not answered by then has no say in this request */
#define JUDGE_STEP_US 20000 /* who waits for its answer is woken by it; this is for a wake-up that came too early */
#define HELD_STEP_US 50000  /* a clock may be set right before its time */

/* ------------------------------------------------------------------ waiting */

/* How long to wait before the next try; -1: not at all. */
static int64_t step_us(const struct vs_request *r) {
    const struct vesta_pause *pause = &r->pause;
    bool needs_keeper = pause->why == VESTA_LEASE || pause->why == VESTA_CHOOSE || pause->why == VESTA_CLOSED ||
                        pause->why == VESTA_FAILSTOP;
    if (!needs_keeper) return pause->wait_us;
    if (vesta_keep(r->gen) != VESTA_OK || pause->why == VESTA_FAILSTOP) return -1;
    return pause->wait_us < LEASE_STEP_US_MIN   ? LEASE_STEP_US_MIN
           : pause->wait_us > LEASE_STEP_US_MAX ? LEASE_STEP_US_MAX
                                                : pause->wait_us;
}

static void stand_in_line(struct vs_request *r, int64_t wait_us) {
    struct vs_session *s = r->session;
    s->line = (int)(r->ns - s->app->ns);
    s->wait_us = wait_us;
    s->scratch->line[s->line].pause = r->pause;
}

static bool may_wait(struct vs_request *r, int64_t now_us) {
    struct vs_session *s = r->session;
    int64_t wait_us = step_us(r);
    if (s->deadline_us == 0) s->deadline_us = now_us + r->ns->wait_us_max;
    if (wait_us < 0 || now_us + wait_us > s->deadline_us) return false;
    stand_in_line(r, wait_us);
    return true;
}

/* ------------------------------------------------------------------ what a policy says */

/* There is room for so many only, or a clock that goes back would fill the server with those who wait for it. */
static bool take_place(struct vs_session *s) {
    if (!s->held && atomic_fetch_add_explicit(&s->app->held, 1, memory_order_relaxed) >= VS_HELD_MAX)
        atomic_fetch_sub_explicit(&s->app->held, 1, memory_order_relaxed); /* a count, orders nothing */
    else
        s->held = true;
    return s->held;
}

/* Holds a request past its deadline; it is tried again every now and then.  A server that is stopping holds nobody. */
static bool may_hold(struct vs_request *r, int64_t now_us, int64_t until_us, int64_t step_us_max) {
    int64_t wait_us = step_us(r);
    if (wait_us < 0 || now_us >= until_us || r->session->draining || !take_place(r->session)) return false;
    wait_us = wait_us < step_us_max ? wait_us : step_us_max;
    stand_in_line(r, wait_us < until_us - now_us ? wait_us : until_us - now_us);
    return true;
}

static bool may_hold_for_word(struct vs_request *r, int64_t now_us) {
    struct vs_session *s = r->session;
    if (s->judged_until_us == 0) s->judged_until_us = now_us + JUDGE_US_MAX;
    return may_hold(r, now_us, s->judged_until_us, JUDGE_STEP_US);
}

/* The policy's word came, and it was to take another worker number: who waited for the word waits for that. */
static bool may_hold_for_lease(struct vs_request *r, int64_t now_us) {
    bool needs_lease = r->pause.why == VESTA_LEASE || r->pause.why == VESTA_CHOOSE;
    return needs_lease && r->session->judged_until_us != 0 && may_hold_for_word(r, now_us);
}

/* A policy that says "wait" again and again says it once: a request has one limit. */
static bool may_hold_by_word(struct vs_request *r, int64_t now_us, int64_t until_us) {
    struct vs_session *s = r->session;
    int64_t until_us_max = now_us + r->ns->park_us_max;
    if (s->held_until_us == 0) s->held_until_us = until_us < until_us_max ? until_us : until_us_max;
    return may_hold(r, now_us, s->held_until_us, HELD_STEP_US);
}

static enum vs_verdict judge(struct vs_request *r, int64_t *until_us) {
    const struct vs_app *app = r->session->app;
    if (!app->host.judge) return VS_NO_VERDICT;
    return app->host.judge(app->host.self, (int)(r->ns - app->ns), r->gen, &r->pause, until_us);
}

/* ------------------------------------------------------------------ a request's way */

static enum vs_reply_state give_up(struct vs_request *r) {
    char text[256];
    const char *code = vesta_why_name(r->pause.why);
    vesta_pause_text(r->gen, &r->pause, text, sizeof text);
    atomic_store(&r->ns->refused_why, (int)r->pause.why);
    atomic_store(&r->ns->refused_wait_us, r->pause.wait_us);
    atomic_fetch_add(&r->ns->refused, 1);
    if (r->pause.wait_us >= 0) r->retry_after_s = (int)((r->pause.wait_us + 999999) / 1000000);
    return vs_refuse(r, code, "%s", text);
}

static enum vs_reply_state run(struct vs_request *r) {
    enum vs_reply_state outcome = r->call->handler(r);
    if (outcome == VS_PAUSED) r->out->used = r->start;
    return outcome;
}

static enum vs_reply_state settle_pause(struct vs_request *r) {
    const struct vesta_clock *clock = r->session->app->clock;
    int64_t now_us = clock->boot_us(clock->self), until_us = now_us;
    if (may_wait(r, now_us)) return VS_PAUSED;
    if (r->session->held_until_us != 0 && may_hold_by_word(r, now_us, 0)) return VS_PAUSED;
    if (may_hold_for_lease(r, now_us)) return VS_PAUSED;
    switch (judge(r, &until_us)) {
    case VS_PENDING:
        if (may_hold_for_word(r, now_us)) return VS_PAUSED;
        break;
    case VS_WAIT:
        if (may_hold_by_word(r, now_us, until_us)) return VS_PAUSED;
        break;
    case VS_TRY_AGAIN: {
        enum vs_reply_state outcome = run(r);
        if (outcome != VS_PAUSED || may_wait(r, now_us)) return outcome;
        break;
    }
    case VS_REFUSE:
    case VS_NO_VERDICT: break;
    }
    return give_up(r);
}

/* A server listens before its namespaces are open: who asks for one that is about to be has a moment, as for a lease.
 */
static bool may_wait_to_open(struct vs_request *r) {
    const struct vesta_clock *clock = r->session->app->clock;
    struct vs_session *s = r->session;
    int64_t now_us = clock->boot_us(clock->self);
    if (!r->opening || s->multi) return false;
    if (s->deadline_us == 0) s->deadline_us = now_us + r->opening->wait_us_max;
    if (now_us + LEASE_STEP_US_MAX > s->deadline_us || s->draining) return false;
    r->ns = r->opening;
    r->pause = (struct vesta_pause){.why = VESTA_LEASE, .wait_us = LEASE_STEP_US_MAX};
    r->out->used = r->start;
    stand_in_line(r, LEASE_STEP_US_MAX);
    return true;
}

static void count_pause(struct vs_request *r) {
    assert(r->pause.why < VS_WHYS_MAX);
    vs_add(&r->session->scratch->counts.pauses[r->ns - r->session->app->ns][r->pause.why], 1);
}

enum vs_reply_state vs_request_run(struct vs_request *r) {
    enum vs_reply_state outcome = run(r);
    if (outcome == VS_AGAIN) return outcome;
    if (may_wait_to_open(r)) return VS_PAUSED;
    if (outcome == VS_PAUSED) {
        if (r->session->deadline_us == 0) count_pause(r);
        outcome = settle_pause(r);
        if (outcome == VS_PAUSED || outcome == VS_AGAIN) return outcome;
    }
    if (r->session->deadline_us != 0 || r->session->kept) vs_session_settle(r->session);
    return outcome;
}
