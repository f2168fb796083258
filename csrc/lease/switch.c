/* switch.c -- the part of the lease engine that replaces the held worker id.  If the clock went back below the cursor,
 * a different worker id can issue ids from the present clock on.
 *
 * The engine first checks whether the other worker id can issue at once.  Only then does it close the slot, release the
 * held worker id at its exact cursor, and claim the other one. */
#include "lease/steps.h"
#include "generator/point.h"

#include <assert.h>
#include <inttypes.h>

static void switch_stay(struct vs_lease *lease, struct vs_action *out) {
    lease->attempt = 0;
    vs_act(lease, out, VS_PH_STAY, VS_DO_STAY);
}

void vs_act_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->published);
    assert(!lease->leaves);
    bool is_behind = ev->cursor > vs_tick_at(&lease->shape, ev->unix_us);
    if (lease->has_worker || !is_behind) { /* the clock may have caught up in the meantime */
        switch_stay(lease, out);
        return;
    }
    lease->attempt = 1;
    vs_act(lease, out, VS_PH_SWITCH, VS_DO_CHOOSE);
}

void vs_step_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_CHOSEN);
    assert(lease->published);
    bool is_other = ev->found && ev->worker != lease->worker && !vs_is_static(&lease->ns, ev->worker);
    if (!is_other) {
        vs_lease_say(lease, "worker id %" PRIu64 " is kept: %s", lease->worker,
                     ev->text[0] ? ev->text : "no other is free");
        switch_stay(lease, out);
        return;
    }
    lease->next_worker = ev->worker;
    vs_act(lease, out, VS_PH_SWITCH_READ, VS_DO_READ);
    out->worker = lease->next_worker;
}

/* Returns whether a claim of that record could issue ids at once.  If not, sets the message. */
static bool is_worth_it(struct vs_lease *lease, const struct vs_event *ev) {
    uint64_t next = lease->next_worker, now = vs_tick_at(&lease->shape, ev->unix_us);
    if (ev->outcome != VS_STORE_OK || ev->doubt_us) {
        vs_lease_say(lease, "worker id %" PRIu64 " is kept: %s", lease->worker,
                     ev->outcome == VS_STORE_OK ? "the clock jumped and is not trusted yet"
                     : ev->text[0]              ? ev->text
                                                : "the store did not answer");
        return false;
    }
    if (vs_lease_is_ahead(lease, ev) || vs_lease_wait_ms(lease, next, &ev->record, ev->store_ms) > 0) return false;
    bool foreign = ev->record.ver && ev->record.fingerprint != lease->fingerprint;
    if (!foreign && vs_lease_from(lease, ev, &ev->record) <= now && now < vs_tick_end(&lease->shape)) return true;
    vs_lease_say(lease, "worker id %" PRIu64 " is kept: the ids of worker id %" PRIu64 " would not begin earlier",
                 lease->worker, next);
    return false;
}

void vs_step_switch_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->next_worker != lease->worker);
    if (!is_worth_it(lease, ev)) {
        switch_stay(lease, out);
        return;
    }
    lease->attempt = 0;
    lease->leaves = true;
    vs_act(lease, out, VS_PH_CLOSING, VS_DO_CLOSE);
}

void vs_act_take_next(struct vs_lease *lease, struct vs_action *out) {
    assert(lease->leaves);
    vs_lease_forget_slot(lease);
    lease->attempt = 0;
    lease->worker = lease->next_worker;
    vs_act(lease, out, VS_PH_READ, VS_DO_READ);
}
