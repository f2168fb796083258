/* lease.c -- the lease engine: handles an event in each phase.  See lease.h. */
#include "lease/steps.h"
#include "lease/mark.h"
#include "generator/point.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ helpers */

void vs_lease_say(struct vs_lease *lease, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(lease->said, sizeof lease->said, format, args);
    va_end(args);
}

uint64_t vs_lease_tick_at(const struct vs_lease *lease, int64_t unix_ms) {
    /* a huge floor of a namespace must not overflow to an early tick */
    return unix_ms > INT64_MAX / 2000 ? vs_tick_end(&lease->shape) : vs_tick_at(&lease->shape, unix_ms * 1000);
}

int64_t vs_lease_ms_of(const struct vs_lease *lease, uint64_t tick) {
    return vs_tick_unix_us(&lease->shape, tick) / 1000;
}

bool vs_lease_is_ours(const struct vs_lease *lease, const struct vs_record *record) {
    return record->held && record->owner[0] == lease->owner[0] && record->owner[1] == lease->owner[1];
}

/* Returns the highest bound that may be requested: the store's clock + S + W.  Because of this limit, a floor at one
 * instant is enough to repair a store that lost its last writes, whatever they were.  The store's clock is computed
 * from its last answer and the time since then by CLOCK_BOOTTIME, which cannot be set.  `window` is W, rounded up to
 * whole units as in bound_wanted. */
static uint64_t bound_permitted(const struct vs_lease *lease, const struct vs_event *ev, uint64_t window) {
    if (!lease->store_ms) return 0;
    int64_t store_ms = vs_lease_store_now(lease, ev->boot_us);
    return vs_lease_tick_at(lease, store_ms + lease->timing.skew_ms) + window;
}

/* Returns the bound to request: W after the cursor or the clock, whichever is later, limited by the layout's end.  The
 * bound is never lower than the bound in the record, which may have been granted to another keeper of the same file
 * under the same token. */
static uint64_t bound_wanted(const struct vs_lease *lease, const struct vs_event *ev, uint64_t cursor) {
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us), end = vs_tick_end(&lease->shape);
    uint64_t units = (uint64_t)((lease->timing.window_ms * 1000 + lease->shape.unit_us - 1) / lease->shape.unit_us);
    uint64_t granted = lease->until > lease->record.until ? lease->until : lease->record.until;
    uint64_t base = cursor > now || lease->is_history ? cursor : now, step = units << lease->shape.seq_bits;
    bool far = base >= end || end - base < step || step >> lease->shape.seq_bits != units;
    uint64_t wanted = far ? end : base + step, permitted = far ? end : bound_permitted(lease, ev, step);
    assert(units > 0); /* an empty window would cause continuous renewals */
    if (wanted > permitted && lease->timing.is_shared) wanted = permitted;
    return wanted > granted ? wanted : granted;
}

int64_t vs_lease_store_now(const struct vs_lease *lease, int64_t boot_us) {
    return lease->store_ms + (boot_us - lease->store_boot_us) / 1000;
}

bool vs_lease_is_ahead(struct vs_lease *lease, const struct vs_event *ev) {
    int64_t ahead_ms = ev->unix_us / 1000 - ev->store_ms;
    if (!lease->timing.is_shared || ahead_ms <= lease->timing.skew_ms) return false;
    vs_lease_say(lease, "this machine's clock is %.1f s ahead of the store's: correct it", (double)ahead_ms / 1000);
    return true;
}

/* Returns when issuing must stop, unless the write that is sent now is acknowledged.  0: never.  With watermarks, each
 * lease has such a deadline, because a watermark passes a holder that does not renew. */
static int64_t lease_deadline_us(const struct vs_lease *lease) {
    int64_t ms = lease->timing.deadline_ms;
    if (!ms && vs_lease_is_marked(lease)) ms = lease->timing.window_ms;
    return ms ? lease->sent_boot_us + ms * 1000 : 0;
}

bool vs_lease_is_marked(const struct vs_lease *lease) {
    return lease->ns.mark_ms && !lease->is_history;
}

/* Returns the tick below which the holder issues no ids from now on.  A program with its own generator may use any time
 * of its lease at any time. */
static uint64_t lease_low(const struct vs_lease *lease) {
    if (lease->phase == VS_PH_RELEASE) return lease->asked;
    if (!lease->waits_for_expiry) return lease->asked_cursor;
    if (lease->earliest) return lease->earliest;
    return lease->record.has_low ? lease->record.low : VS_LOW_NONE;
}

/* Sets the members of the record for watermarks. */
static void lease_mark(const struct vs_lease *lease, const struct vs_event *ev, struct vs_record *r) {
    bool claims = lease->phase == VS_PH_CLAIM, releases = lease->phase == VS_PH_RELEASE;
    struct vs_mark_now now = {vs_lease_store_now(lease, ev->boot_us), ev->boot_us / 1000, lease->is_local};
    struct vs_mark_write write = {.claims = claims,
                                  .releases = releases,
                                  .is_history = lease->is_history,
                                  .stop_ms = lease_deadline_us(lease) / 1000 + 1,
                                  .cursor = lease_low(lease)};
    if (lease->ns.mark_ms) vs_mark_put(r, &lease->record, &lease->shape, &write, &now);
}

void vs_lease_adopt(struct vs_lease *lease, const struct vs_record *stored) {
    assert(lease->slot >= 0);
    assert(lease->phase == VS_PH_CLAIM || lease->phase == VS_PH_RENEW); /* a read must not adopt a bound */
    lease->record = *stored;
    lease->until = lease->asked;
    lease->was_lost = false;
    lease->troubles = lease->unsettled = 0;
    lease->renewed_cursor = lease->asked_cursor;
    if (lease->granted < lease->until) lease->granted = lease->until;
    /* measured from sending, so that a slow write does not delay the next one */
    lease->renewed_boot_us = lease->sent_boot_us;
    /* measured from sending, because the lease in the store did not begin earlier */
    lease->deadline_us = lease_deadline_us(lease);
}

/* ------------------------------------------------------------------ actions */

/* Returns whether the action changes a slot, or writes with its token. */
static bool needs_slot(enum vs_do kind) {
    return kind == VS_DO_PUBLISH || kind == VS_DO_RAISE || kind == VS_DO_CLOSE || kind == VS_DO_SWAP;
}

void vs_act(struct vs_lease *lease, struct vs_action *out, enum vs_phase phase, enum vs_do kind) {
    assert(lease->slot >= 0 || !needs_slot(kind));
    assert(lease->published || (kind != VS_DO_RAISE && kind != VS_DO_STAY));
    assert(!lease->published || (kind != VS_DO_PUBLISH && kind != VS_DO_TAKE));
    lease->phase = phase;
    out->kind = kind;
    out->worker = lease->worker;
    out->slot = lease->slot;
}

void vs_act_sleep(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms,
                  enum vs_phase after) {
    assert(after != VS_PH_SLEEP);
    assert(after != VS_PH_ENDED);
    vs_act(lease, out, VS_PH_SLEEP, VS_DO_SLEEP);
    lease->after = after;
    out->until_boot_us = ev->boot_us + (ms > 0 ? ms : 1) * 1000;
}

void vs_act_rest(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms) {
    assert(lease->published); /* without a lease, waking earlier would not help an issuer */
    vs_act_sleep(lease, ev, out, ms, VS_PH_HELD);
    out->on_want = true;
}

void vs_act_swap(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase phase,
                 uint64_t until) {
    assert(phase == VS_PH_CLAIM || phase == VS_PH_RENEW || phase == VS_PH_RELEASE);
    assert(!lease->failed_in || phase == VS_PH_RELEASE); /* no lease is taken from a store that lost writes */
    vs_act(lease, out, phase, VS_DO_SWAP);
    lease->asked = until;
    lease->sent_before_us = lease->sent_boot_us;
    lease->sent_boot_us = ev->boot_us;
    struct vs_record *r = &out->record;
    *r = lease->record;
    r->ver = lease->record.ver + 1;
    memcpy(r->owner, lease->owner, sizeof r->owner);
    r->until = until;
    r->fingerprint = lease->fingerprint;
    r->lease_ms = lease->timing.lease_ms;
    r->seen_ms = ev->unix_us / 1000;
    r->held = phase != VS_PH_RELEASE;
    snprintf(r->identity, sizeof r->identity, "%s", lease->identity);
    snprintf(r->holder, sizeof r->holder, "%s", lease->holder);
    lease_mark(lease, ev, r);
    out->old_ver = lease->record.ver;
}

void vs_act_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(!lease->published);
    lease->asked_cursor = lease->from;
    lease->earliest = vs_lease_earliest(lease, &lease->record);
    vs_act_swap(lease, ev, out, VS_PH_CLAIM, bound_wanted(lease, ev, lease->from));
    out->record.epoch = lease->record.epoch + 1;
}

void vs_act_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    uint64_t cursor = lease->published ? ev->cursor : lease->from;
    lease->asked_cursor = cursor;
    vs_act_swap(lease, ev, out, VS_PH_RENEW, bound_wanted(lease, ev, cursor));
}

/* ------------------------------------------------------------------ pauses between attempts
 *
 * One rule applies to every call without a useful result: no answer, a write with unknown outcome, or a write that
 * failed because another process wrote first.  The first such call since an acknowledged write is repeated at once.
 * Later attempts are at least a second apart, and further apart with a shared store, to limit the load on it.  So a
 * generator causes at most one connection and two writes per second: after two writes in the last second, even the
 * first failure waits.  A successful read does not end this state, because the writes still fail. */

/* Returns a random duration between `ms` and 1.5 * `ms`, so that hosts that failed together do not retry together. */
static int64_t lease_spread(struct vs_lease *lease, int64_t ms) {
    assert(ms >= VS_LEASE_RETRY_MS);
    lease->dice = lease->dice * 6364136223846793005u + 1442695040888963407u;
    return ms + (int64_t)((lease->dice >> 33) % (uint64_t)(ms / 2 + 1));
}

/* Returns the pause before the next attempt.  The pause is at most about R, because the window must outlast a few
 * failures. */
static int64_t rest_ms(struct vs_lease *lease) {
    unsigned times = lease->troubles > lease->unsettled ? lease->troubles : lease->unsettled;
    int64_t ms = VS_LEASE_RETRY_MS, most = lease->timing.renew_ms > ms ? lease->timing.renew_ms : ms;
    if (!lease->timing.is_shared) return ms;
    for (unsigned i = 1; i < times && ms < most; i++)
        ms *= 2;
    return lease_spread(lease, ms < most ? ms : most);
}

bool vs_lease_is_hasty(const struct vs_lease *lease, const struct vs_event *ev) {
    return lease->sent_before_us && ev->boot_us - lease->sent_before_us < VS_LEASE_RETRY_MS * 1000;
}

void vs_act_unsettled(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase next) {
    assert(ev->outcome != VS_STORE_OK);
    assert(next == VS_PH_LOOK || next == VS_PH_NS_READ);
    bool is_known = ev->outcome != VS_STORE_UNKNOWN;
    if (is_known && ev->store_ms) lease->store_ms = ev->store_ms, lease->store_boot_us = ev->boot_us;
    if (lease->unsettled++ + lease->troubles == 0 && !vs_lease_is_hasty(lease, ev)) {
        vs_act(lease, out, next, next == VS_PH_NS_READ ? VS_DO_NS_READ : VS_DO_READ);
        return;
    }
    const char *what = !is_known ? "the store did not confirm the write"
                       : ev->outcome == VS_STORE_MOVED
                           ? "the namespace's record changed during the write: reading it again"
                           : "an earlier write of this generator came in between";
    vs_lease_say(lease, "%s", ev->text[0] ? ev->text : what);
    vs_act_sleep(lease, ev, out, rest_ms(lease), next);
}

bool vs_lease_trouble(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase again) {
    assert(ev->kind == VS_EV_REPLY);
    if (ev->outcome == VS_STORE_OK || ev->outcome == VS_STORE_CONFLICT) {
        lease->troubles = 0;
        if (ev->store_ms) lease->store_ms = ev->store_ms, lease->store_boot_us = ev->boot_us;
        return false;
    }
    if (ev->outcome == VS_STORE_MOVED) { /* the store may have been replaced or repaired, so read the namespace */
        vs_act_unsettled(lease, ev, out, VS_PH_NS_READ);
        return true;
    }
    lease->troubles++;
    vs_lease_say(lease, "%s", ev->text[0] ? ev->text : "the store did not answer");
    vs_act_sleep(lease, ev, out, rest_ms(lease), again);
    return true;
}

/* ------------------------------------------------------------------ the step */

static void on_wake(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_WAKE);
    if (ev->stop) { /* stop issuing now, even if the store has not answered the last call */
        vs_act(lease, out, lease->published ? VS_PH_CLOSING : VS_PH_ENDED, lease->published ? VS_DO_CLOSE : VS_DO_END);
        return;
    }
    switch (lease->after) {
    case VS_PH_HELD: vs_step_held(lease, ev, out); break;
    case VS_PH_CHOOSE: vs_act_pick(lease, ev, out); break;
    case VS_PH_NS_READ: vs_act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ); break;
    /* read the namespace to see whether the store was repaired */
    case VS_PH_FAILSTOP: vs_act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ); break;
    default:
        assert(lease->after == VS_PH_RESUME || lease->after == VS_PH_READ || lease->after == VS_PH_LOOK);
        vs_act(lease, out, lease->after, VS_DO_READ);
        break;
    }
}

static void on_done(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_DONE);
    if (lease->phase == VS_PH_PUBLISH) {
        lease->published = true;
        lease->said[0] = '\0';
    }
    if (lease->phase == VS_PH_FAILSTOP)
        vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_FAILSTOP);
    else if (lease->phase == VS_PH_RECOVER)
        vs_act_begin_anew(lease, out);
    else
        vs_act_rest(lease, ev, out, lease->timing.renew_ms - (ev->boot_us - lease->renewed_boot_us) / 1000);
}

/* Returns whether the answer must be ignored, because another keeper of this file has closed the slot.  That keeper may
 * have released the worker id below this engine's bound.  A new holder that starts there would look like a store that
 * lost writes. */
static bool is_moot(const struct vs_lease *lease, const struct vs_event *ev) {
    bool asks = lease->phase == VS_PH_RESUME || lease->phase == VS_PH_RENEW || lease->phase == VS_PH_LOOK;
    return asks && ev->lost;
}

static void lease_step(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (is_moot(lease, ev)) {
        vs_act_restart(lease, out);
        return;
    }
    switch (lease->phase) {
    case VS_PH_NS_READ:
        if (ev->kind == VS_EV_WAKE) /* the first step */
            vs_act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
        else
            vs_step_ns_read(lease, ev, out);
        break;
    case VS_PH_NS_SWAP: /* whatever the outcome was, read the stored record */
        if (!vs_lease_trouble(lease, ev, out, VS_PH_NS_READ)) vs_act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
        break;
    case VS_PH_RESUME: vs_step_resume(lease, ev, out); break;
    case VS_PH_CHOOSE: vs_step_chosen(lease, ev, out); break;
    case VS_PH_READ: vs_step_read(lease, ev, out); break;
    case VS_PH_TAKE: vs_step_slot(lease, ev, out); break;
    case VS_PH_CLAIM: vs_step_claim(lease, ev, out); break;
    case VS_PH_RENEW: vs_step_renew(lease, ev, out); break;
    case VS_PH_LOOK: vs_step_look(lease, ev, out); break;
    case VS_PH_PUBLISH:
    case VS_PH_RAISE:
    case VS_PH_FAILSTOP:
    case VS_PH_RECOVER: on_done(lease, ev, out); break;
    case VS_PH_SWITCH: vs_step_switch(lease, ev, out); break;
    case VS_PH_SWITCH_READ: vs_step_switch_read(lease, ev, out); break;
    case VS_PH_STAY: vs_act_rest(lease, ev, out, 1); break;
    case VS_PH_FENCED: vs_act_restart(lease, out); break;
    case VS_PH_MOVING: vs_act_begin_anew(lease, out); break;
    case VS_PH_CLOSING: vs_step_closing(lease, ev, out); break;
    case VS_PH_RELEASE: vs_step_release(lease, ev, out); break;
    case VS_PH_RELEASE_NS: vs_step_release_ns(lease, ev, out); break;
    case VS_PH_RELEASE_LOOK: vs_step_release_look(lease, ev, out); break;
    case VS_PH_HELD: vs_step_held(lease, ev, out); break;
    case VS_PH_SLEEP: on_wake(lease, ev, out); break;
    case VS_PH_ENDED: vs_act(lease, out, VS_PH_ENDED, VS_DO_END); break;
    }
}

void vs_lease_step(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    memset(out, 0, sizeof *out);
    lease_step(lease, ev, out);
    assert((out->kind == VS_DO_SLEEP) == (lease->phase == VS_PH_SLEEP));
    assert((out->kind == VS_DO_END) == (lease->phase == VS_PH_ENDED));
    assert(lease->slot >= 0 || !lease->published);
    assert(lease->published || !lease->leaves);
    assert(!lease->leaves || !lease->has_worker); /* a worker id set by hand is not replaced */
}

void vs_lease_init(struct vs_lease *lease, const struct vs_lease_opts *opts) {
    assert(opts->identity);
    assert(opts->holder);
    assert(opts->slot >= 0 || !opts->published);
    assert(opts->timing.renew_ms > 0);
    assert(opts->timing.renew_ms < opts->timing.window_ms);
    /* A holder that cannot reach the store must stop before other processes may claim its worker id. */
    assert(opts->timing.deadline_ms < opts->timing.lease_ms);
    memset(lease, 0, sizeof *lease);
    vs_shape_of(opts->layout, &lease->shape);
    lease->timing = opts->timing;
    lease->fingerprint = opts->layout->fingerprint;
    lease->layout = opts->layout;
    lease->identity = opts->identity;
    snprintf(lease->holder, sizeof lease->holder, "%s", opts->holder);
    lease->has_worker = opts->has_worker;
    lease->wanted_worker = opts->worker;
    lease->entropy = lease->dice = opts->entropy;
    lease->incarnation = opts->incarnation;
    lease->is_history = opts->is_history;
    lease->is_judged = opts->is_judged;
    lease->waits_for_expiry = opts->waits_for_expiry;
    lease->is_local = opts->is_local;
    lease->granted = opts->granted;
    lease->failed_in = opts->failed_in;
    lease->slot = opts->slot;
    if (opts->slot >= 0) {
        lease->published = opts->published;
        lease->worker = opts->slot_worker;
        memcpy(lease->owner, opts->slot_owner, sizeof lease->owner);
        lease->from = opts->slot_from;
        lease->until = opts->slot_limit;
    }
    lease->phase = VS_PH_NS_READ;
}
