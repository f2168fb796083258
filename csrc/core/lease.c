/* lease.c -- the lease engine.  Pure; see lease.h. */
#include "core/lease.h"
#include "core/mutant.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RETRY_MS 1000    /* after a refusal, a store that is down, or a number that somebody holds */
#define RETRY_SOON_MS 50 /* after an unknown outcome */
#define ATTEMPTS_MAX 64  /* lost races in a row before a rest */

const struct vs_lease_timing vs_lease_timing_file = {
    .window_ms = 5000, .renew_ms = 1500, .lease_ms = 15000, .skew_ms = 10000};

/* ------------------------------------------------------------------ small parts */

static __attribute__((format(printf, 2, 3))) void say(struct vs_lease *lease, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(lease->said, sizeof lease->said, format, args);
    va_end(args);
}

static uint64_t tick_at_ms(const struct vs_lease *lease, int64_t unix_ms) {
    return vs_tick_at(&lease->shape, unix_ms * 1000);
}

static int64_t tick_ms(const struct vs_lease *lease, uint64_t tick) {
    return vs_tick_unix_us(&lease->shape, tick) / 1000;
}

static bool is_ours(const struct vs_lease *lease, const struct vs_record *record) {
    return record->held && record->owner[0] == lease->owner[0] && record->owner[1] == lease->owner[1];
}

/* The bound to ask for: W past the cursor or the clock, at most the layout's end, never lower than what stands in the
 * record: another keeper of the same file may have been granted that under the same token. */
static uint64_t bound_wanted(const struct vs_lease *lease, const struct vs_event *ev, uint64_t cursor) {
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us), end = vs_tick_end(&lease->shape);
    uint64_t units = (uint64_t)((lease->timing.window_ms * 1000 + lease->shape.unit_us - 1) / lease->shape.unit_us);
    uint64_t granted = lease->until > lease->record.until ? lease->until : lease->record.until;
    uint64_t base = cursor > now ? cursor : now, step = units << lease->shape.seq_bits;
    if (base >= end || end - base < step || step >> lease->shape.seq_bits != units) return end;
    return base + step > granted ? base + step : granted;
}

static int64_t deadline(const struct vs_lease *lease) {
    /* counted from before the request was sent: the store's lease began no earlier */
    return lease->timing.deadline_ms ? lease->sent_boot_us + lease->timing.deadline_ms * 1000 : 0;
}

/* ------------------------------------------------------------------ actions */

static void act(struct vs_lease *lease, struct vs_action *out, enum vs_phase phase, enum vs_do kind) {
    lease->phase = phase;
    out->kind = kind;
    out->worker = lease->worker;
    out->slot = lease->slot;
}

static void act_sleep(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms,
                      bool on_want, enum vs_phase after) {
    act(lease, out, VS_PH_SLEEP, VS_DO_SLEEP);
    lease->after = after;
    out->until_boot_us = ev->boot_us + (ms > 0 ? ms : 1) * 1000;
    out->on_want = on_want;
}

/* Writes the record with these changes, over the version last seen. */
static void act_swap(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase phase,
                     uint64_t until, bool held) {
    act(lease, out, phase, VS_DO_SWAP);
    lease->asked = until;
    lease->sent_boot_us = ev->boot_us;
    struct vs_record *r = &out->record;
    *r = lease->record;
    r->ver = lease->record.ver + 1;
    memcpy(r->owner, lease->owner, sizeof r->owner);
    r->until = VS_IS_MUTANT(MARK_BEHIND) && held ? vs_tick_at(&lease->shape, ev->unix_us) : until;
    r->fingerprint = lease->fingerprint;
    r->lease_ms = lease->timing.lease_ms;
    r->seen_ms = ev->unix_us / 1000;
    r->held = held;
    snprintf(r->identity, sizeof r->identity, "%s", lease->identity);
    snprintf(r->holder, sizeof r->holder, "%s", lease->holder);
    out->old_ver = lease->record.ver;
}

static void act_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    act_swap(lease, ev, out, VS_PH_CLAIM, bound_wanted(lease, ev, lease->from), true);
    out->record.epoch = lease->record.epoch + 1;
}

static void act_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    uint64_t cursor = lease->published ? ev->cursor : lease->from;
    lease->renewed_cursor = cursor;
    act_swap(lease, ev, out, VS_PH_RENEW, bound_wanted(lease, ev, cursor), true);
}

/* Every attempt has a slot of its own: another keeper may have taken up the claim in the last one. */
static void forget_slot(struct vs_lease *lease) {
    lease->slot = -1;
    lease->published = false;
    lease->until = 0;
}

/* Starts over with a fresh claim. */
static void act_restart(struct vs_lease *lease, struct vs_action *out) {
    forget_slot(lease);
    act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
}

/* The way to a record: the number given by hand, or a choice. */
static void act_pick(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    forget_slot(lease);
    if (lease->attempt++ >= ATTEMPTS_MAX) {
        lease->attempt = 0;
        say(lease, "others were faster %d times in a row", ATTEMPTS_MAX);
        act_sleep(lease, ev, out, RETRY_MS, false, VS_PH_CHOOSE);
        return;
    }
    if (!lease->has_worker) {
        act(lease, out, VS_PH_CHOOSE, VS_DO_CHOOSE);
        return;
    }
    lease->worker = lease->wanted_worker;
    act(lease, out, VS_PH_READ, VS_DO_READ);
}

/* A reply that is neither yes nor a conflict.  True if it was one, and *out is filled. */
static bool is_trouble(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase again) {
    if (ev->outcome == VS_STORE_OK || ev->outcome == VS_STORE_CONFLICT) return false;
    say(lease, "%s", ev->text[0] ? ev->text : "the store did not answer");
    act_sleep(lease, ev, out, ev->outcome == VS_STORE_UNKNOWN ? RETRY_SOON_MS : RETRY_MS, false, again);
    return true;
}

/* ------------------------------------------------------------------ the namespace */

static void on_ns_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (is_trouble(lease, ev, out, VS_PH_NS_READ)) return;
    lease->ns = ev->ns;
    bool other = ev->ns.ver == 0 || ev->ns.incarnation != lease->incarnation;
    if (lease->incarnation && other) {
        say(lease,
            "the store %s: what it granted before is not in it; bring its data back, or give the namespace a "
            "new name",
            ev->ns.ver == 0 ? "was emptied" : "was replaced");
        act(lease, out, VS_PH_FAILSTOP, VS_DO_FAILSTOP);
        return;
    }
    if (ev->ns.ver == 0) {
        act(lease, out, VS_PH_NS_SWAP, VS_DO_NS_SWAP);
        out->ns = (struct vs_ns_record){.ver = 1, .fingerprint = lease->fingerprint, .incarnation = lease->entropy | 1};
        memcpy(out->ns.layout, lease->layout, sizeof lease->layout);
        out->old_ver = 0;
        return;
    }
    if (ev->ns.fingerprint != lease->fingerprint) {
        say(lease, "the namespace has another layout: %.120s", ev->ns.layout);
        act_sleep(lease, ev, out, 10 * RETRY_MS, false, VS_PH_NS_READ);
        return;
    }
    lease->incarnation = ev->ns.incarnation;
    if (lease->slot >= 0)
        act(lease, out, VS_PH_RESUME, VS_DO_READ);
    else
        act_pick(lease, ev, out);
}

/* ------------------------------------------------------------------ claiming */

/* How long this record must be left alone; 0: it may be claimed now.  Being early would be safe, only unkind. */
static int64_t wait_ms(struct vs_lease *lease, const struct vs_record *r, int64_t store_ms) {
    int64_t ahead_ms = tick_ms(lease, r->until) - store_ms;
    if (r->ver == 0) return 0;
    if (r->held && strcmp(r->identity, lease->identity) == 0) {
        say(lease, "this generator's last lease of number %" PRIu64 " ends in %.1f s", lease->worker,
            (double)ahead_ms / 1000);
        return ahead_ms > 0 ? ahead_ms : 0;
    }
    if (r->held) {
        int64_t age_ms = store_ms > r->written_ms ? store_ms - r->written_ms : 0, left_ms = r->lease_ms - age_ms;
        say(lease, "number %" PRIu64 " is held by %.100s for %.1f s more", lease->worker, r->holder,
            (double)left_ms / 1000);
        if (left_ms >= 0) return left_ms < INT64_MAX ? left_ms + 1 : left_ms;
    }
    say(lease, "the last lease of number %" PRIu64 " ends %.1f s ahead of the clock", lease->worker,
        (double)ahead_ms / 1000);
    return ahead_ms > lease->timing.skew_ms ? ahead_ms - lease->timing.skew_ms : 0;
}

static uint64_t claim_from(const struct vs_lease *lease, const struct vs_event *ev) {
    const struct vs_record *r = &lease->record;
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us), from = r->until > now ? r->until : now;
    uint64_t floor = r->ver == 0 ? tick_at_ms(lease, ev->store_ms + lease->timing.floor_ms) : 0;
    uint64_t ns_floor = lease->ns.floor_ms ? tick_at_ms(lease, lease->ns.floor_ms) : 0;
    floor = floor > ns_floor ? floor : ns_floor;
    return from > floor ? from : floor;
}

static void on_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (is_trouble(lease, ev, out, VS_PH_READ)) return;
    lease->record = ev->record;
    if (ev->doubt_us) {
        say(lease, "the clock leapt and is not believed yet");
        act_sleep(lease, ev, out, ev->doubt_us / 1000 + 1, false, VS_PH_READ);
        return;
    }
    bool foreign = ev->record.ver && ev->record.fingerprint != lease->fingerprint;
    lease->from = claim_from(lease, ev);
    if (foreign || lease->from >= vs_tick_end(&lease->shape)) {
        say(lease,
            foreign ? "the record of number %" PRIu64 " is of another layout: its ticks mean something else"
                    : "every tick of number %" PRIu64 " was granted: the layout's time is over for it",
            lease->worker);
        act_sleep(lease, ev, out, 10 * RETRY_MS, false, VS_PH_CHOOSE);
        return;
    }
    int64_t wait = wait_ms(lease, &ev->record, ev->store_ms);
    if (wait > 0) {
        lease->attempt = 0; /* nobody was faster: it is held */
        act_sleep(lease, ev, out, wait < RETRY_MS ? wait : RETRY_MS, false, VS_PH_CHOOSE);
        return;
    }
    act(lease, out, VS_PH_TAKE, VS_DO_TAKE);
    out->from = lease->from;
}

static void on_slot(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->slot < 0) {
        act(lease, out, VS_PH_ENDED, VS_DO_END); /* the file is used up: the keeper retires it */
        return;
    }
    lease->slot = ev->slot;
    memcpy(lease->owner, ev->owner, sizeof lease->owner);
    act_claim(lease, ev, out);
}

/* Whoever holds the number now: versions only rise, and no successor can start below what was granted to us. */
static bool went_back(const struct vs_lease *lease, const struct vs_record *r) {
    /* ours and free: another keeper of this file gave it back, at a cursor that may be lower than its bound */
    bool released = memcmp(r->owner, lease->owner, sizeof r->owner) == 0 && !r->held;
    return r->ver < lease->record.ver || (r->until < lease->until && !released);
}

static void on_lost(struct vs_lease *lease, const struct vs_record *r, struct vs_action *out) {
    if (went_back(lease, r)) {
        say(lease,
            "the store went back: number %" PRIu64 " stands at version %" PRIu64 ", %" PRIu64 " was acknowledged",
            lease->worker, r->ver, lease->record.ver);
        act(lease, out, VS_PH_FAILSTOP, VS_DO_FAILSTOP);
        return;
    }
    say(lease, "number %" PRIu64 " was taken over by %.100s", lease->worker, r->holder);
    act(lease, out, VS_PH_FENCED, VS_DO_CLOSE);
}

static void on_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->outcome == VS_STORE_UNKNOWN || (ev->outcome == VS_STORE_CONFLICT && is_ours(lease, &ev->record))) {
        /* Perhaps it is ours, or will be: look, and set it again under the same token until the store says so. */
        act(lease, out, VS_PH_LOOK, VS_DO_READ);
        return;
    }
    if (ev->outcome == VS_STORE_CONFLICT) {
        if (went_back(lease, &ev->record))
            on_lost(lease, &ev->record, out);
        else
            act_pick(lease, ev, out);
        return;
    }
    if (is_trouble(lease, ev, out, VS_PH_LOOK)) /* the same token and slot again, if the record still stands */
        return;
    lease->record = ev->record;
    lease->until = lease->asked;
    lease->attempt = 0;
    lease->renewed_boot_us = ev->boot_us, lease->renewed_cursor = lease->from;
    act(lease, out, VS_PH_PUBLISH, VS_DO_PUBLISH);
    out->limit = lease->until;
    out->deadline_boot_us = deadline(lease);
}

/* ------------------------------------------------------------------ holding */

/* A lease that the map already has: the record must still be ours. */
static void on_resume(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (is_trouble(lease, ev, out, VS_PH_RESUME)) return;
    bool ours = is_ours(lease, &ev->record);
    if (!ours && !lease->published) {
        act_pick(lease, ev, out); /* that claim never arrived; should it still, its token is nobody's */
        return;
    }
    if (!ours || went_back(lease, &ev->record)) {
        on_lost(lease, &ev->record, out);
        return;
    }
    lease->record = ev->record;
    lease->until = ev->record.until;
    if (lease->published)
        act_sleep(lease, ev, out, 1, true, VS_PH_HELD);
    else
        act_renew(lease, ev, out); /* adopted only by a write that the store acknowledges */
}

static void on_held(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->stop) {
        act(lease, out, VS_PH_CLOSING, VS_DO_CLOSE);
        return;
    }
    if (ev->lost) {
        act_restart(lease, out);
        return;
    }
    if (ev->doubt_us) {
        /* one wrong jump of the clock must not poison the future: nothing is raised on it */
        act_sleep(lease, ev, out, ev->doubt_us / 1000 + 1, false, VS_PH_HELD);
        return;
    }
    const struct vs_lease_timing *t = &lease->timing;
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us), at = ev->cursor > now ? ev->cursor : now;
    int64_t left_ms = tick_ms(lease, lease->until) - tick_ms(lease, at);
    int64_t age_ms = (ev->boot_us - lease->renewed_boot_us) / 1000;
    bool active = ev->cursor != lease->renewed_cursor || t->renew_idle;
    bool due = active && age_ms >= t->renew_ms;
    bool short_of = ev->wanted && left_ms < t->window_ms / 2;
    if ((due || short_of) && lease->until < vs_tick_end(&lease->shape))
        act_renew(lease, ev, out);
    else
        act_sleep(lease, ev, out, active && age_ms < t->renew_ms ? t->renew_ms - age_ms : t->renew_ms, true,
                  VS_PH_HELD);
}

static void on_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->outcome == VS_STORE_UNKNOWN) {
        act(lease, out, VS_PH_LOOK, VS_DO_READ);
        return;
    }
    if (ev->outcome == VS_STORE_CONFLICT) {
        bool ours = is_ours(lease, &ev->record) && !VS_IS_MUTANT(CONFLICT_IS_FENCED);
        if (!ours || went_back(lease, &ev->record)) {
            on_lost(lease, &ev->record, out);
            return;
        }
        lease->record = ev->record; /* an earlier write of ours arrived: on top of it */
        act_renew(lease, ev, out);
        return;
    }
    if (is_trouble(lease, ev, out, lease->published ? VS_PH_HELD : VS_PH_RESUME)) return;
    lease->record = ev->record;
    lease->until = lease->asked;
    lease->said[0] = '\0';
    lease->renewed_boot_us = ev->boot_us;
    act(lease, out, lease->published ? VS_PH_RAISE : VS_PH_PUBLISH, lease->published ? VS_DO_RAISE : VS_DO_PUBLISH);
    out->limit = lease->until;
    out->deadline_boot_us = deadline(lease);
}

/* After an unknown outcome: what stands in the store decides, and nothing is adopted by looking. */
static void on_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (is_trouble(lease, ev, out, VS_PH_LOOK)) return;
    if (went_back(lease, &ev->record)) {
        on_lost(lease, &ev->record, out);
    } else if (is_ours(lease, &ev->record)) {
        lease->record = ev->record;
        if (lease->until == 0) lease->until = ev->record.until; /* the claim's own; `from` is below it */
        act_renew(lease, ev, out);
    } else if (lease->published) {
        on_lost(lease, &ev->record, out);
    } else if (ev->record.ver == lease->record.ver) {
        act_claim(lease, ev, out); /* it may still arrive: the same token makes the second harmless */
    } else {
        act_pick(lease, ev, out);
    }
}

/* ------------------------------------------------------------------ ending */

static void on_closing(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (!ev->found) { /* somebody else closed it and knows the cursor; the record runs out by itself */
        act(lease, out, VS_PH_ENDED, VS_DO_END);
        return;
    }
    act_swap(lease, ev, out, VS_PH_RELEASE, ev->cursor, false);
}

/* Giving back is a courtesy: a few tries, then the record runs out by itself. */
static void on_release(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    bool again = ev->outcome == VS_STORE_UNKNOWN || (ev->outcome == VS_STORE_CONFLICT && is_ours(lease, &ev->record));
    again = again && lease->attempt++ < 3;
    act(lease, out, again ? VS_PH_RELEASE_LOOK : VS_PH_ENDED, again ? VS_DO_READ : VS_DO_END);
}

static void on_release_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->outcome == VS_STORE_OK && is_ours(lease, &ev->record)) {
        lease->record = ev->record;
        act_swap(lease, ev, out, VS_PH_RELEASE, lease->asked, false);
    } else {
        act(lease, out, VS_PH_ENDED, VS_DO_END);
    }
}

/* ------------------------------------------------------------------ the step */

static void on_wake(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (ev->stop) { /* whatever the store was last asked: issuing stops here */
        act(lease, out, lease->published ? VS_PH_CLOSING : VS_PH_ENDED, lease->published ? VS_DO_CLOSE : VS_DO_END);
        return;
    }
    switch (lease->after) {
    case VS_PH_HELD: on_held(lease, ev, out); break;
    case VS_PH_CHOOSE: act_pick(lease, ev, out); break;
    case VS_PH_NS_READ: act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ); break;
    case VS_PH_FAILSTOP: act_sleep(lease, ev, out, 10 * RETRY_MS, false, VS_PH_FAILSTOP); break;
    default: act(lease, out, lease->after, VS_DO_READ); break; /* RESUME, READ, LOOK */
    }
}

static void on_chosen(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (!ev->found) {
        lease->attempt = 0;
        say(lease, "%s", ev->text[0] ? ev->text : "every worker number of the namespace is held");
        act_sleep(lease, ev, out, RETRY_MS, false, VS_PH_CHOOSE);
        return;
    }
    lease->worker = ev->worker;
    act(lease, out, VS_PH_READ, VS_DO_READ);
}

static void on_done(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (lease->phase == VS_PH_PUBLISH) {
        lease->published = true;
        lease->said[0] = '\0';
    }
    if (lease->phase == VS_PH_FAILSTOP)
        act_sleep(lease, ev, out, 10 * RETRY_MS, false, VS_PH_FAILSTOP);
    else
        act_sleep(lease, ev, out, lease->timing.renew_ms, true, VS_PH_HELD);
}

void vs_lease_step(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    memset(out, 0, sizeof *out);
    switch (lease->phase) {
    case VS_PH_NS_READ:
        if (ev->kind == VS_EV_WAKE) /* the first step */
            act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
        else
            on_ns_read(lease, ev, out);
        break;
    case VS_PH_NS_SWAP: /* whatever became of it, what stands there now decides */
        if (!is_trouble(lease, ev, out, VS_PH_NS_READ)) act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
        break;
    case VS_PH_RESUME: on_resume(lease, ev, out); break;
    case VS_PH_CHOOSE: on_chosen(lease, ev, out); break;
    case VS_PH_READ: on_read(lease, ev, out); break;
    case VS_PH_TAKE: on_slot(lease, ev, out); break;
    case VS_PH_CLAIM: on_claim(lease, ev, out); break;
    case VS_PH_RENEW: on_renew(lease, ev, out); break;
    case VS_PH_LOOK: on_look(lease, ev, out); break;
    case VS_PH_PUBLISH:
    case VS_PH_RAISE:
    case VS_PH_FAILSTOP: on_done(lease, ev, out); break;
    case VS_PH_FENCED: act_restart(lease, out); break;
    case VS_PH_CLOSING: on_closing(lease, ev, out); break;
    case VS_PH_RELEASE: on_release(lease, ev, out); break;
    case VS_PH_RELEASE_LOOK: on_release_look(lease, ev, out); break;
    case VS_PH_HELD: on_held(lease, ev, out); break;
    case VS_PH_SLEEP: on_wake(lease, ev, out); break;
    case VS_PH_ENDED: act(lease, out, VS_PH_ENDED, VS_DO_END); break;
    }
}

void vs_lease_init(struct vs_lease *lease, const struct vs_lease_opts *opts) {
    memset(lease, 0, sizeof *lease);
    vs_shape_of(opts->layout, &lease->shape);
    lease->timing = opts->timing;
    lease->fingerprint = opts->layout->fingerprint;
    vesta_layout_text(opts->layout, lease->layout);
    snprintf(lease->identity, sizeof lease->identity, "%s", opts->identity);
    snprintf(lease->holder, sizeof lease->holder, "%s", opts->holder);
    lease->has_worker = opts->has_worker;
    lease->wanted_worker = opts->worker;
    lease->entropy = opts->entropy;
    lease->incarnation = opts->incarnation;
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
