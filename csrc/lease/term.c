/* term.c -- see term.h.  Only this file and slot.c change the map's state. */
#include "lease/term.h"
#include "lease/mark.h"
#include "id/id.h"
#include "generator/point.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The shortest interval between changes of the worker id.  Each change requires the store to list its records and to do
 * three writes. */
#define LEAVE_US 60000000
/* How often a resting keeper checks whether the rest has ended. */
#define REST_US 60000000

void vs_map_say(struct vs_map *map, const char *text) {
    size_t i = 0;
    for (; text[i] && i + 1 < VS_SAID_MAX; i++)
        atomic_store_explicit(&map->shared.keeper[i], text[i], memory_order_relaxed);
    atomic_store_explicit(&map->shared.keeper[i], '\0', memory_order_relaxed);
}

bool vs_map_leave(struct vs_map *map, uint32_t slot, int64_t boot_us) {
    assert(slot < VS_SLOTS_MAX);
    struct vs_shared *shared = &map->shared;
    int64_t was = atomic_load(&shared->left_boot_us);
    if (atomic_load(&shared->leave) == slot + 1) return true; /* the keeper has not decided yet */
    if (was && boot_us - was < LEAVE_US) return false;
    if (!atomic_compare_exchange_strong(&shared->left_boot_us, &was, boot_us)) return true;
    VS_POINT(asks_to_leave);
    atomic_store(&shared->leave, slot + 1);
    return true;
}

bool vs_map_drop(struct vs_map *map) {
    uint64_t cursor;
    int active = vs_map_active(map);
    VS_POINT(drops);
    return active >= 0 && vs_slot_close(&map->slot[active], &cursor);
}

/* ------------------------------------------------------------------ a heartbeat */

bool vs_term_is_silent(const struct vs_map *map, struct vs_watched *was, int64_t boot_us) {
    int64_t pulse_us = atomic_load(&map->shared.pulse_boot_us);
    uint64_t token = atomic_load(&map->shared.keeper_token);
    if (boot_us < pulse_us || token != was->token || pulse_us != was->pulse_us)
        *was = (struct vs_watched){token, pulse_us, boot_us};
    return boot_us - (was->silent_us > pulse_us ? was->silent_us : pulse_us) >= VS_SILENCE_US;
}

bool vs_term_take(struct vs_map *map, uint64_t was, uint64_t token, uint32_t pid, int64_t boot_us) {
    assert(token); /* 0 means that there is no keeper */
    if (!atomic_compare_exchange_strong(&map->shared.keeper_token, &was, token)) return false;
    atomic_store(&map->shared.keeper_pid, pid);
    atomic_store(&map->shared.pulse_boot_us, boot_us + VS_PULSE_US);
    return true;
}

void vs_term_beat(struct vs_term *term, int64_t for_us) {
    assert(for_us >= 0);
    if (!term->token || vs_term_is_replaced(term)) return;
    int64_t until_us = term->boot_us + (for_us > VS_PULSE_US ? for_us : VS_PULSE_US);
    atomic_store(&term->map->shared.pulse_boot_us, until_us);
}

bool vs_term_is_replaced(const struct vs_term *term) {
    return term->token && atomic_load(&term->map->shared.keeper_token) != term->token;
}

/* ------------------------------------------------------------------ applying actions */

void vs_term_choose(struct vs_term *term, struct vs_listing listing, struct vs_event *ev) {
    assert(listing.listed || listing.count == 0);
    assert(term->lease.phase == VS_PH_CHOOSE || term->lease.phase == VS_PH_SWITCH);
    uint64_t random, worker_max = vs_worker_max(term->layout);
    term->was_named = false;
    if (term->lease.has_worker)
        ev->found = true;
    else if (!term->ops->random(term, &random, sizeof random))
        snprintf(ev->text, sizeof ev->text, "%s", VS_NO_RANDOM);
    else
        ev->found = (term->lease.phase == VS_PH_SWITCH ? vs_choose_other : vs_choose_any)(
            &term->lease, listing, worker_max, random, &ev->worker);
}

static bool do_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    assert(action->kind != VS_DO_SWAP || action->record.ver == action->old_ver + 1);
    assert(action->kind != VS_DO_NS_SWAP || action->ns.ver == action->old_ver + 1);
    ev->kind = action->kind == VS_DO_CHOOSE ? VS_EV_CHOSEN : VS_EV_REPLY;
    ev->found = false;
    ev->text[0] = '\0';
    if (!term->ops->ask(term, action, ev)) return false;
    assert(ev->outcome <= VS_STORE_UNKNOWN); /* it is an index of `renewals` below */
    if (term->lease.phase == VS_PH_RENEW)    /* Relaxed: a counter orders no other memory. */
        atomic_fetch_add_explicit(&term->map->shared.renewals[ev->outcome], 1, memory_order_relaxed);
    return true;
}

static bool do_sleep(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    ev->kind = VS_EV_WAKE;
    if (!term->is_under_way) {
        vs_map_say(term->map, term->lease.said);
        atomic_store_explicit(&term->map->shared.retry_boot_us, action->on_want ? 0 : action->until_boot_us,
                              memory_order_relaxed);
    }
    return term->ops->sleep(term, action->until_boot_us, action->on_want);
}

static void term_do_take(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    assert(term->lease.slot < 0); /* the engine holds one lease at a time */
    ev->slot = VS_SLOT_NO_TOKEN;
    if (!term->ops->random(term, ev->owner, sizeof ev->owner)) return;
    const struct vs_lease *lease = &term->lease;
    ev->slot = vs_slot_take(
        term->map,
        &(struct vs_claim){
            action->worker, {ev->owner[0], ev->owner[1]}, action->from, lease->incarnation, lease->is_fixed});
}

/* Changes the map's stopped word from `from` to `to`.  Returns false if it has another value.  A retired map
 * (VESTA_CLOSED) never changes. */
static bool set_stopped(struct vs_map *map, uint32_t from, uint32_t to) {
    assert(from != VESTA_CLOSED);
    return atomic_compare_exchange_strong(&map->shared.stopped, &from, to);
}

/* Ends a failstop that belongs to an earlier store.  A keeper that was suspended may have recorded it after the first
 * lease from the new store. */
static void lift_late_stop(struct vs_map *map) {
    struct vs_shared *shared = &map->shared;
    uint64_t failed_in = atomic_load(&shared->failed_in);
    if (!failed_in || failed_in == vs_map_incarnation(map)) return;
    if (!set_stopped(map, VESTA_FAILSTOP, 0)) return;
    VS_POINT(lifts_stop);
    /* another keeper may have found the map already stopped and recorded a failstop for the present store: restore it
     */
    if (atomic_load(&shared->failed_in) == vs_map_incarnation(map)) set_stopped(map, 0, VESTA_FAILSTOP);
}

/* Ends the latest span of UUIDs, so that UUIDs of another worker id begin after it. */
static void end_span(const struct vs_term *term) {
    struct vs_map *map = term->map;
    uint64_t latest = atomic_load_explicit(&map->shared.uuid_span, memory_order_relaxed);
    int newest = vs_map_active(map);
    VS_POINT(ends_span);
    if (latest && newest >= 0 && map->slot[newest].worker != term->lease.worker)
        vs_raise_u64(&map->shared.uuid_span, latest + 1);
}

static void term_do_publish(struct vs_term *term, const struct vs_action *action) {
    assert(action->limit == term->lease.until); /* the bound that the store acknowledged */
    if (!term->lease.has_worker && !term->was_named && term->lease.record.epoch == 1)
        atomic_store_explicit(&term->map->shared.drew, term->pid, memory_order_relaxed);
    end_span(term);
    vs_slot_publish(term->map, action->slot, action->limit, action->deadline_boot_us);
}

static void do_stay(struct vs_term *term) {
    atomic_store(&term->map->shared.leave, 0);
    vs_map_say(term->map, term->lease.said);
}

/* Closes every slot that is open, or that a pending claim would open.  If two keepers were running, an earlier slot may
 * be open as well as the active one, and issuers may take ticks from both. */
static void close_slots(struct vs_map *map) {
    uint64_t cursor;
    uint32_t used = atomic_load_explicit(&map->shared.slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used && i < VS_SLOTS_MAX; i++) {
        uint64_t tick = atomic_load_explicit(&map->slot[i].tick, memory_order_acquire);
        if (tick != VS_CLOSED) vs_slot_close(&map->slot[i], &cursor);
    }
}

void vs_map_retire(struct vs_map *map) {
    /* first, because otherwise a second keeper could take and open a slot after close_slots */
    atomic_store(&map->shared.slots_used, VS_SLOTS_MAX);
    VS_POINT(takes_no_more);
    close_slots(map);
    VS_POINT(retires);
    uint32_t going_on = 0; /* a failstop is not overwritten, because its reason would be lost */
    /* Release: pairs with pause_lease.  A caller that then moves to the next map must see that this map issues no more
     * ids. */
    atomic_compare_exchange_strong_explicit(&map->shared.stopped, &going_on, VESTA_CLOSED, memory_order_release,
                                            memory_order_relaxed);
}

static void do_failstop(struct vs_map *map, uint64_t failed_in) {
    bool is_known = vs_map_incarnation(map) == failed_in;
    if (!is_known) return; /* another keeper has already seen the repair */
    VS_POINT(fails);
    atomic_store(&map->shared.failed_in, failed_in);
    VS_POINT(fails_in);
    set_stopped(map, 0, VESTA_FAILSTOP);
    VS_POINT(stopped);
    close_slots(map);
}

/* Applies an action and sets the event that answers it.  Returns false if the action is not finished.  Then call it
 * again. */
static bool term_carry_out(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    struct vs_map *map = term->map;
    ev->kind = VS_EV_DONE;
    if (!term->is_under_way) VS_POINT(carries_out);
    switch (action->kind) {
    case VS_DO_SLEEP: return do_sleep(term, action, ev);
    case VS_DO_NS_READ:
    case VS_DO_NS_SWAP:
    case VS_DO_CHOOSE:
    case VS_DO_READ:
    case VS_DO_SWAP: return do_ask(term, action, ev);
    case VS_DO_TAKE: term_do_take(term, action, ev), ev->kind = VS_EV_SLOT; break;
    case VS_DO_PUBLISH: term_do_publish(term, action); break;
    case VS_DO_RAISE:
        assert(action->limit == term->lease.until);
        vs_slot_raise(&map->slot[action->slot], action->limit, action->deadline_boot_us);
        break;
    case VS_DO_CLOSE:
        ev->kind = VS_EV_CLOSED;
        ev->found = vs_slot_close(&map->slot[action->slot], &ev->cursor);
        break;
    case VS_DO_STAY: do_stay(term); break;
    case VS_DO_FAILSTOP: do_failstop(map, term->lease.failed_in); break;
    case VS_DO_RECOVER: set_stopped(map, VESTA_FAILSTOP, 0); break;
    case VS_DO_END: break;
    }
    return true;
}

/* Prepares the map for watermarks, before the holder's next write reports its cursor to them.  Moves the cursor of an
 * idle generator up, so that watermarks can rise.  With clock pacing this loses no id, because ticks below the clock
 * are not issued.  If the clock is set back by more than the lag, ids wait for it, as they do after an id was issued.
 */
static void term_mark(struct vs_term *term, bool is_open, const struct vs_instant now) {
    struct vs_shared *shared = &term->map->shared;
    atomic_fetch_or_explicit(&shared->leap, VS_LEAP_MARKED, memory_order_relaxed);
    if (!is_open) return;
    struct vs_slot *slot = &term->map->slot[term->lease.slot];
    int64_t never = 0, to_us = now.unix_us - VS_MARK_LAG_MS * 1000;
    atomic_compare_exchange_strong_explicit(&slot->deadline_boot_us, &never,
                                            now.boot_us + term->lease.timing.window_ms * 1000, memory_order_relaxed,
                                            memory_order_relaxed);
    if (vs_clock_doubt_us(term->map, now)) return;
    vs_raise_i64(&shared->seen_us, to_us); /* so that a pause reports that the clock went back */
    vs_slot_skip(slot, vs_tick_at(&term->lease.shape, to_us));
}

/* Sets the members of the event that describe the current state. */
static void term_look_around(struct vs_term *term, struct vs_event *ev) {
    struct vs_lease *lease = &term->lease;
    uint32_t want = atomic_load_explicit(&term->map->shared.want, memory_order_acquire);
    const struct vs_instant now = vs_instant_now(term->clock);
    ev->unix_us = now.unix_us;
    ev->boot_us = term->boot_us = now.boot_us;
    ev->doubt_us = vs_clock_doubt_us(term->map, now);
    ev->wanted = want != term->want_seen;
    if (ev->kind == VS_EV_WAKE) term->want_seen = want;
    bool open = lease->slot >= 0 && lease->published;
    if (vs_lease_is_marked(lease)) term_mark(term, open, now);
    ev->lost = open && ev->kind != VS_EV_CLOSED && !vs_slot_cursor(&term->map->slot[lease->slot], &ev->cursor);
    ev->leave = open && atomic_load(&term->map->shared.leave) == (uint32_t)lease->slot + 1;
    ev->stirred = term->is_stirred;
    term->is_stirred = false;
    vs_clock_anchor(term->map, now);
}

/* Returns whether the term should end, because another keeper of this file has taken over or the map is used up.  If
 * the term continued, it would renew a lease that is not used, while callers wait for a new lease.  The next keeper
 * reads the state again. */
static bool is_superseded(const struct vs_term *term) {
    if (vs_term_is_replaced(term)) return true;
    uint32_t stopped = atomic_load_explicit(&term->map->shared.stopped, memory_order_acquire);
    if (stopped) return stopped == VESTA_CLOSED; /* in a failstop the term continues */
    return term->lease.published && vs_map_active(term->map) != term->lease.slot;
}

/* Returns whether a rest or a failstop began during this term.  The keeper then starts a new term, which handles it. */
static bool must_enter_anew(const struct vs_term *term) {
    const struct vs_shared *shared = &term->map->shared;
    bool stopped = atomic_load(&shared->stopped) == VESTA_FAILSTOP && atomic_load(&shared->failed_in);
    return atomic_load(&shared->rest) != VS_AWAKE || (stopped && !term->lease.failed_in);
}

/* Determines the next action, or the end of the term. */
static enum vs_term_end term_decide(struct vs_term *term, struct vs_event *ev, struct vs_action *action) {
    enum vs_stop stop = term->ops->stop(term);
    if (stop == VS_HAND_OVER || (ev->kind == VS_EV_WAKE && is_superseded(term))) return VS_TERM_LEFT;
    /* a resting keeper has no lease to release.  Without this check it would start new terms endlessly */
    if (stop == VS_GIVE_BACK && atomic_load(&term->map->shared.rest) == VS_RESTING) return VS_TERM_GAVE_BACK;
    if (must_enter_anew(term)) return VS_TERM_LEFT;
    ev->stop = stop == VS_GIVE_BACK;
    VS_POINT(looks_around);
    term_look_around(term, ev);
    vs_lease_step(&term->lease, ev, action);
    /* publish the reason first, so that a caller that sees the failstop can read it */
    if (action->kind == VS_DO_FAILSTOP) vs_map_say(term->map, term->lease.said);
    atomic_store_explicit(&term->map->shared.lease_state, vs_lease_state_of(&term->lease, ev), memory_order_relaxed);
    if (action->kind == VS_DO_END) return ev->stop ? VS_TERM_GAVE_BACK : VS_TERM_USED_UP;
    return VS_TERM_WAITS;
}

/* Event and action are local, and not stored during a wait, because they need kilobytes, and a process may have
 * thousands of terms. */
enum vs_term_end vs_term_serve(struct vs_term *term) {
    struct vs_event ev = {.kind = VS_EV_WAKE, .cursor = term->cursor};
    struct vs_action action = {.kind = term->doing, .until_boot_us = term->until_boot_us, .on_want = term->on_want};
    assert(term->lease.phase == VS_PH_NS_READ || term->is_under_way); /* the term is new or has waited */
    if (term->is_under_way) term->boot_us = term->clock->boot_us(term->clock->self);
    for (;;) {
        enum vs_term_end end = term->is_under_way ? VS_TERM_WAITS : term_decide(term, &ev, &action);
        if (end != VS_TERM_WAITS) return end;
        term->cursor = ev.cursor;
        term->is_under_way = !term_carry_out(term, &action, &ev);
        if (term->is_under_way) break;
    }
    assert(action.kind == VS_DO_SLEEP || action.kind == VS_DO_CHOOSE);
    term->doing = action.kind;
    term->until_boot_us = action.until_boot_us;
    term->on_want = action.on_want;
    return VS_TERM_WAITS;
}

/* ------------------------------------------------------------------ resting */

/* Closes the slots and begins the rest.  After a snapshot, two copies of this memory have the same tokens, so no claim
 * may remain that the store could grant to both copies. */
static void come_to_rest(struct vs_term *term) {
    struct vs_shared *shared = &term->map->shared;
    bool alone = !term->ops->alone || term->ops->alone(term);
    if (vs_map_must_rest(term->map) && alone) {
        close_slots(term->map);
        VS_POINT(closed_for_rest);
        atomic_store(&shared->rest_want, atomic_load(&shared->want));
        VS_POINT(rests);
        atomic_store(&shared->rest, VS_RESTING);
        vs_map_say(term->map, "at rest until ids are requested");
    }
}

bool vs_term_rest(struct vs_term *term) {
    struct vs_shared *shared = &term->map->shared;
    if (!term->has_rested) come_to_rest(term);
    term->has_rested = true;
    term->want_seen = atomic_load(&shared->rest_want);
    while (atomic_load(&shared->rest) == VS_RESTING && term->ops->stop(term) == VS_KEEP_ON &&
           !vs_term_is_replaced(term)) {
        uint32_t resting = VS_RESTING;
        term->boot_us = term->clock->boot_us(term->clock->self);
        if (atomic_load(&shared->want) != term->want_seen)
            atomic_compare_exchange_strong(&shared->rest, &resting, VS_AWAKE);
        else if (!term->ops->sleep(term, term->boot_us + REST_US, true))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the beginning of a term */

/* Finds the lease that the map has: the open slot, or else the newest claim that may have been sent but was not
 * published. */
static void find_lease(struct vs_map *map, struct vs_lease_opts *opts) {
    uint64_t cursor;
    uint32_t used = atomic_load_explicit(&map->shared.slots_used, memory_order_acquire);
    VS_POINT(finds_lease);
    int active = vs_map_active(map), at = active;
    VS_POINT(finds_active);
    opts->slot = -1;
    if (active >= 0 && vs_slot_cursor(&map->slot[active], &cursor)) {
        opts->published = true;
    } else {
        at = (int)(used < VS_SLOTS_MAX ? used : VS_SLOTS_MAX) - 1;
        struct vs_slot *slot = at >= 0 ? &map->slot[at] : NULL;
        /* Acquire: pairs with the release in slot_fill.  A slot that is only partly filled is skipped. */
        if (at <= active || atomic_load_explicit(&slot->state, memory_order_acquire) != VS_SLOT_CLAIMING ||
            atomic_load_explicit(&slot->tick, memory_order_acquire) != VS_FRESH)
            return;
    }
    opts->slot = at;
    opts->slot_worker = map->slot[at].worker;
    opts->slot_owner[0] = map->slot[at].owner[0];
    opts->slot_owner[1] = map->slot[at].owner[1];
    opts->slot_from = map->slot[at].from;
    opts->slot_limit = atomic_load_explicit(&map->slot[at].limit, memory_order_acquire);
    if (map->slot[at].is_fixed) opts->timing = vs_lease_timing_for(&opts->timing, true);
}

/* Returns the highest end of a lease from which the map has issued.  A newer claim does not count, because it may be
 * from a different store, and the floor of that store need not exceed the store's own grants. */
static uint64_t granted_most(const struct vs_map *map) {
    int newest = vs_map_active(map);
    uint64_t most = 0;
    for (int i = 0; i <= newest; i++) {
        uint64_t limit = atomic_load_explicit(&map->slot[i].limit, memory_order_acquire);
        most = limit > most ? limit : most;
    }
    return most;
}

void vs_term_begin(struct vs_term *term, const char *holder, const struct vs_lease_timing *timing) {
    assert(term->clock);
    struct vs_map *map = term->map;
    struct vs_lease_opts opts = {
        .layout = term->layout,
        .identity = map->header.identity,
        .holder = holder,
        .has_worker = map->header.has_worker,
        .worker = map->header.worker,
        .is_history = map->header.pacing == VESTA_PACING_HISTORY,
        .timing = vs_lease_timing_for(timing, map->header.has_worker),
        .incarnation = vs_map_incarnation(map),
        .granted = granted_most(map),
        .is_judged = term->is_judged,
        .is_local = term->is_local,
    };
    lift_late_stop(map);
    if (atomic_load(&map->shared.stopped) == VESTA_FAILSTOP) {
        opts.failed_in = atomic_load(&map->shared.failed_in);
        close_slots(map); /* the keeper that caused the failstop may have been killed before it closed them */
    }
    find_lease(map, &opts);
    if (!term->ops->random(term, &opts.entropy, sizeof opts.entropy)) opts.entropy = 0;
    vs_lease_init(&term->lease, &opts);
    if (opts.failed_in) /* a failstop that an earlier keeper caused ends only when the store is repaired */
        snprintf(term->lease.said, sizeof term->lease.said,
                 "the store went back or denied a lease that it had granted, as an earlier keeper detected");
}
