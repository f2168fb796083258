/* claim.c -- the part of the lease engine that gets a lease: reads the namespace, chooses a worker id, reads its record
 * and claims it. */
#include "lease/steps.h"
#include "generator/point.h"
#include "id/id.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define ATTEMPTS_MAX 64 /* claims that may fail in a row, won by other processes, before a pause */

void vs_lease_forget_slot(struct vs_lease *lease) {
    lease->slot = -1;
    lease->published = lease->leaves = false;
    lease->until = 0;
}

void vs_act_restart(struct vs_lease *lease, struct vs_action *out) {
    vs_lease_forget_slot(lease);
    vs_act(lease, out, VS_PH_NS_READ, VS_DO_NS_READ);
}

/* Returns whether a lease could start only far ahead of this machine's clock, because of watermarks.  If so, sets the
 * message.  Such a claim would wait until that time even after `vesta store lower`. */
static bool claim_is_below_the_mark(struct vs_lease *lease, const struct vs_event *ev) {
    int64_t ahead_ms = lease->ns.mark_ms - ev->unix_us / 1000;
    char mark[VESTA_ISO_MAX];
    if (!lease->ns.mark_ms || ahead_ms <= lease->timing.skew_ms) return false;
    vesta_iso(lease->ns.mark_ms, mark);
    vs_lease_say(lease,
                 "watermarks permit leases from %s on, and this machine's clock is %.1f s behind that: correct the "
                 "clock, or if it is right, run vesta store lower",
                 mark, (double)ahead_ms / 1000);
    return true;
}

void vs_act_pick(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->attempt <= ATTEMPTS_MAX);
    vs_lease_forget_slot(lease);
    if (claim_is_below_the_mark(lease, ev)) {
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_NS_READ);
        return;
    }
    if (lease->attempt++ >= ATTEMPTS_MAX) {
        lease->attempt = 0;
        vs_lease_say(lease, "other processes won %d claims in a row", ATTEMPTS_MAX);
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_CHOOSE);
        return;
    }
    if (!lease->has_worker || lease->is_judged) {
        vs_act(lease, out, VS_PH_CHOOSE, VS_DO_CHOOSE);
        return;
    }
    lease->worker = lease->wanted_worker;
    vs_act(lease, out, VS_PH_READ, VS_DO_READ);
}

/* ------------------------------------------------------------------ the namespace */

void vs_act_begin_anew(struct vs_lease *lease, struct vs_action *out) {
    assert(lease->ns.floor_ms); /* without a floor set by a person, leases could start below earlier ones */
    lease->incarnation = lease->ns.incarnation;
    lease->failed_in = 0;
    vs_act_restart(lease, out);
}

/* Returns whether a person has repaired the namespace with a floor above all leases of this file. */
static bool was_put_right(const struct vs_lease *lease, const struct vs_ns_record *ns) {
    return ns->ver && ns->floor_ms && lease->granted <= vs_lease_tick_at(lease, ns->floor_ms);
}

/* Stays in the failstop, and checks from time to time whether a person has repaired the store. */
static void act_wait_for_a_person(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->failed_in);
    vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_FAILSTOP);
}

/* Sets the message for a floor that is too low, because `vesta store advance` was run for a timing whose window is
 * smaller than that of this file. */
static void say_floor_is_low(struct vs_lease *lease, const struct vs_ns_record *ns) {
    int64_t short_ms = vs_lease_ms_of(lease, lease->granted) - (int64_t)ns->floor_ms;
    vs_lease_say(lease,
                 "the store was repaired, but its floor is %" PRId64
                 " s too low for the leases granted here: run vesta "
                 "store advance again, with the widest --lease in use (default: balanced)",
                 short_ms / 1000 + 1);
}

/* Handles a store that is not the one that granted this file's leases. */
static void on_other_store(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    const struct vs_ns_record *ns = &ev->ns;
    assert(lease->incarnation || lease->failed_in); /* without a known incarnation, every store is accepted */
    if (was_put_right(lease, ns)) {
        vs_lease_say(lease, "the store was replaced and repaired: leases start above all that was granted");
        bool is_open = lease->published && !lease->failed_in; /* a failstop has already closed the slot */
        vs_act(lease, out, is_open ? VS_PH_MOVING : VS_PH_RECOVER, is_open ? VS_DO_CLOSE : VS_DO_RECOVER);
        return;
    }
    if (lease->failed_in) {
        if (ns->ver && ns->floor_ms) say_floor_is_low(lease, ns);
        act_wait_for_a_person(lease, ev, out);
        return;
    }
    vs_lease_say(lease,
                 "the store %s, so the leases that it granted are not in it. Restore its data if you can, then run: "
                 "vesta store advance. Or use a new namespace",
                 ns->ver == 0 ? "was emptied" : "was replaced");
    lease->failed_in = lease->incarnation;
    vs_act(lease, out, VS_PH_FAILSTOP, VS_DO_FAILSTOP);
}

/* Handles a missing namespace.  In a store of this host, the first generator creates the namespace.  In a shared store
 * a person must create it, because the namespace may be missing as a result of data loss. */
static void on_no_namespace(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(!lease->incarnation); /* a namespace that granted leases to this file must not be created again here */
    if (lease->timing.is_shared) {
        vs_lease_say(lease,
                     "the namespace is not in the store: check its name, or create it: vesta store init (--again, "
                     "if it was there before)");
        vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_NS_READ);
        return;
    }
    if (!lease->entropy) { /* without random bytes, two hosts could choose the same incarnation */
        vs_lease_say(lease, VS_NO_RANDOM);
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_NS_READ);
        return;
    }
    vs_act(lease, out, VS_PH_NS_SWAP, VS_DO_NS_SWAP);
    out->ns = (struct vs_ns_record){.ver = 1, .fingerprint = lease->fingerprint, .incarnation = lease->entropy | 1};
    vesta_layout_text(lease->layout, out->ns.layout);
    out->old_ver = 0;
}

/* Returns whether this generator's layout lacks a constant of the namespace's record, and sets the message.  Proofs
 * that the ids of two layouts differ rely on the recorded layout, so all generators of the namespace must have its
 * constants.  A recorded layout that does not match its fingerprint is ignored, because no proof uses it. */
static bool claim_departs(struct vs_lease *lease) {
    char why[VS_DEPARTURE_MAX];
    if (!vs_layout_departs(lease->layout, lease->ns.layout, why)) return false;
    vs_lease_say(lease, "the namespace has %s: open a new generator file with that constant, or use another namespace",
                 why);
    return true;
}

void vs_step_ns_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    if (vs_lease_trouble(lease, ev, out, lease->failed_in ? VS_PH_FAILSTOP : VS_PH_NS_READ)) return;
    lease->ns = ev->ns;
    uint64_t known = lease->failed_in ? lease->failed_in : lease->incarnation;
    if (known && (ev->ns.ver == 0 || ev->ns.incarnation != known)) {
        on_other_store(lease, ev, out);
        return;
    }
    if (lease->failed_in) { /* the store that lost writes has not been repaired yet */
        act_wait_for_a_person(lease, ev, out);
        return;
    }
    if (ev->ns.ver == 0) {
        on_no_namespace(lease, ev, out);
        return;
    }
    if (ev->ns.fingerprint != lease->fingerprint) {
        vs_lease_say(lease,
                     "the namespace has another layout: %.120s. Delete this generator file, and start with that layout",
                     ev->ns.layout);
        vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_NS_READ);
        return;
    }
    if (claim_departs(lease)) {
        vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_NS_READ);
        return;
    }
    lease->incarnation = ev->ns.incarnation;
    if (lease->slot >= 0)
        vs_act(lease, out, VS_PH_RESUME, VS_DO_READ);
    else
        vs_act_pick(lease, ev, out);
}

/* ------------------------------------------------------------------ claiming */

int64_t vs_lease_wait_ms(struct vs_lease *lease, uint64_t worker, const struct vs_record *r, int64_t store_ms) {
    int64_t ahead_ms = vs_lease_ms_of(lease, r->until) - store_ms;
    if (r->ver == 0) return 0;
    if (r->held && strcmp(r->identity, lease->identity) == 0 && !lease->waits_for_expiry) {
        if (ahead_ms <= 0) return 0;
        vs_lease_say(lease, "this generator's last lease of worker id %" PRIu64 " ends in %.1f s", worker,
                     (double)ahead_ms / 1000);
        return ahead_ms;
    }
    if (r->held) {
        int64_t age_ms = store_ms > r->written_ms ? store_ms - r->written_ms : 0, left_ms = r->lease_ms - age_ms;
        if (left_ms >= 0)
            vs_lease_say(lease, "worker id %" PRIu64 " is held by %.100s for %.1f s more", worker, r->holder,
                         (double)left_ms / 1000);
        if (left_ms >= 0) return left_ms < INT64_MAX ? left_ms + 1 : left_ms;
    }
    if (ahead_ms > 0)
        vs_lease_say(lease, "the last lease of worker id %" PRIu64 " ends %.1f s ahead of the clock", worker,
                     (double)ahead_ms / 1000);
    return ahead_ms > lease->timing.skew_ms ? ahead_ms - lease->timing.skew_ms : 0;
}

uint64_t vs_lease_floor(const struct vs_lease *lease) {
    int64_t ms = lease->ns.floor_ms > lease->ns.mark_ms ? lease->ns.floor_ms : lease->ns.mark_ms;
    return ms ? vs_lease_tick_at(lease, ms) : 0;
}

uint64_t vs_lease_earliest(const struct vs_lease *lease, const struct vs_record *r) {
    uint64_t floor = vs_lease_floor(lease);
    return r->until > floor ? r->until : floor;
}

uint64_t vs_lease_from(const struct vs_lease *lease, const struct vs_event *ev, const struct vs_record *r) {
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us), earliest = vs_lease_earliest(lease, r);
    uint64_t from = earliest > now ? earliest : now;
    /* only new records get this floor, because a store clock that is ahead would move the ids of every claim ahead */
    bool has_floor = r->ver == 0 && lease->timing.floor_ms;
    uint64_t floor = has_floor ? vs_lease_tick_at(lease, ev->store_ms + lease->timing.floor_ms) : 0;
    return from > floor ? from : floor;
}

/* Sets the message for a worker id that can never issue ids again: an import has reserved it permanently, or a clock
 * was set too far ahead. */
static void say_unusable(struct vs_lease *lease, const struct vs_record *r, bool foreign) {
    if (foreign)
        vs_lease_say(lease, "the record of worker id %" PRIu64 " is of another layout, so its ticks do not apply",
                     lease->worker);
    else if (r->ver && r->until >= vs_tick_end(&lease->shape))
        vs_lease_say(lease,
                     "every tick of worker id %" PRIu64 " was granted, up to the layout's end, to %.60s. Use another",
                     lease->worker, r->holder);
    else
        vs_lease_say(lease,
                     "the layout's time has ended for worker id %" PRIu64 ", by the clock or the namespace's floor",
                     lease->worker);
}

void vs_step_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->slot < 0);
    if (vs_lease_trouble(lease, ev, out, VS_PH_READ)) return;
    lease->record = ev->record;
    if (ev->doubt_us) {
        vs_lease_say(lease, "the clock jumped and is not trusted yet");
        vs_act_sleep(lease, ev, out, VS_LEASE_DOUBT_MS, VS_PH_READ);
        return;
    }
    if (vs_lease_is_ahead(lease, ev)) {
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_READ);
        return;
    }
    bool foreign = ev->record.ver && ev->record.fingerprint != lease->fingerprint;
    lease->from = vs_lease_from(lease, ev, &ev->record);
    if (foreign || lease->from >= vs_tick_end(&lease->shape)) {
        say_unusable(lease, &ev->record, foreign);
        vs_act_sleep(lease, ev, out, 10 * VS_LEASE_RETRY_MS, VS_PH_CHOOSE);
        return;
    }
    int64_t wait = vs_lease_wait_ms(lease, lease->worker, &ev->record, ev->store_ms);
    if (wait > 0) {
        lease->attempt = 0; /* this is not a lost claim: the worker id is held */
        vs_act_sleep(lease, ev, out, wait < VS_LEASE_RETRY_MS ? wait : VS_LEASE_RETRY_MS, VS_PH_CHOOSE);
        return;
    }
    vs_act(lease, out, VS_PH_TAKE, VS_DO_TAKE);
    out->from = lease->from;
}

void vs_step_slot(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_SLOT);
    assert(ev->slot >= VS_SLOT_NO_TOKEN);
    assert(ev->slot < VS_SLOTS_MAX);
    assert(lease->slot < 0);
    assert(lease->from < vs_tick_end(&lease->shape));
    if (ev->slot == VS_SLOT_NO_TOKEN) {
        vs_lease_say(lease, VS_NO_RANDOM);
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_READ);
        return;
    }
    if (ev->slot < 0) {
        vs_act(lease, out, VS_PH_ENDED, VS_DO_END); /* the map has no slot left, so the keeper retires it */
        return;
    }
    lease->slot = ev->slot;
    memcpy(lease->owner, ev->owner, sizeof lease->owner);
    vs_act_claim(lease, ev, out);
}

void vs_step_chosen(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_CHOSEN);
    assert(lease->slot < 0);
    if (!ev->found) {
        lease->attempt = 0;
        vs_lease_say(lease, "%s",
                     ev->text[0] ? ev->text
                                 : "every worker id of the namespace is held. `vesta workers` lists the holders. End "
                                   "one, or wait until a lease expires");
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_CHOOSE);
        return;
    }
    lease->worker = lease->has_worker ? lease->wanted_worker : ev->worker;
    lease->is_fixed = ev->is_fixed;
    if (ev->is_fixed) lease->timing = vs_lease_timing_for(&lease->timing, true);
    if (!lease->has_worker && vs_is_static(&lease->ns, lease->worker)) {
        lease->attempt = 0;
        vs_lease_say(lease, "worker id %" PRIu64 " was chosen, but the namespace reserves it for assignment by hand",
                     lease->worker);
        vs_act_sleep(lease, ev, out, VS_LEASE_RETRY_MS, VS_PH_CHOOSE);
        return;
    }
    vs_act(lease, out, VS_PH_READ, VS_DO_READ);
}

void vs_step_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->slot >= 0);
    assert(!lease->published);
    if (ev->outcome == VS_STORE_UNKNOWN || (ev->outcome == VS_STORE_CONFLICT && vs_lease_is_ours(lease, &ev->record))) {
        /* The claim may have succeeded, or may still succeed later.  Read the record, and repeat the claim with the
         * same token until the store confirms it. */
        vs_act_unsettled(lease, ev, out, VS_PH_LOOK);
        return;
    }
    if (ev->outcome == VS_STORE_CONFLICT) {
        if (vs_lease_went_back(lease, &ev->record))
            vs_lease_lost(lease, &ev->record, out);
        else
            vs_act_pick(lease, ev, out);
        return;
    }
    /* VS_PH_LOOK repeats the claim with the same token and slot if the record is unchanged. */
    if (vs_lease_trouble(lease, ev, out, VS_PH_LOOK)) return;
    vs_lease_adopt(lease, &ev->record);
    lease->attempt = 0;
    vs_act(lease, out, VS_PH_PUBLISH, VS_DO_PUBLISH);
    out->limit = lease->until;
    out->deadline_boot_us = lease->deadline_us;
}
