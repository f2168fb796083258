/* hold.c -- the part of the lease engine that holds a lease: renews it, detects its loss, releases it. */
#include "lease/steps.h"
#include "generator/point.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Returns whether the record is neither the known record nor a later version of it.  Versions only rise, and each write
 * adds one version. */
static bool is_other_history(const struct vs_lease *lease, const struct vs_record *r) {
    bool same_owner = memcmp(r->owner, lease->record.owner, sizeof r->owner) == 0;
    return r->ver < lease->record.ver || (r->ver == lease->record.ver && !same_owner);
}

/* The result is valid even if another process has the worker id now, because a successor cannot start below a bound
 * that was granted to this engine. */
bool vs_lease_went_back(const struct vs_lease *lease, const struct vs_record *r) {
    /* Another keeper of this file may have released the lease at a cursor below its bound. */
    bool released = memcmp(r->owner, lease->owner, sizeof r->owner) == 0 && !r->held;
    return is_other_history(lease, r) || (r->until < lease->until && !released);
}

void vs_lease_lost(struct vs_lease *lease, const struct vs_record *r, struct vs_action *out) {
    assert(lease->slot >= 0);
    if (vs_lease_went_back(lease, r)) {
        vs_lease_say(lease,
                     "the store went back: worker id %" PRIu64 " is at version %" PRIu64 ", but %" PRIu64
                     " was acknowledged. Check that this is the right store, then run: vesta store advance",
                     lease->worker, r->ver, lease->record.ver);
        lease->failed_in = lease->incarnation;
        lease->leaves = false; /* do not claim another worker id from this store */
        vs_act(lease, out, VS_PH_FAILSTOP, VS_DO_FAILSTOP);
        return;
    }
    if (r->held)
        vs_lease_say(lease, "worker id %" PRIu64 " was taken over by %.100s", lease->worker, r->holder);
    else
        vs_lease_say(lease, "the lease of worker id %" PRIu64 " has ended: it had expired, or it was released",
                     lease->worker);
    lease->was_lost = true;
    lease->lost_worker = lease->worker;
    vs_act(lease, out, VS_PH_FENCED, VS_DO_CLOSE);
}

/* ------------------------------------------------------------------ holding */

/* Resumes a lease that the map already has, if the store's record still has the token of that lease. */
void vs_step_resume(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->slot >= 0);
    if (vs_lease_trouble(lease, ev, out, VS_PH_RESUME)) return;
    bool ours = vs_lease_is_ours(lease, &ev->record);
    /* Give up a claim that is not in the store.  It is harmless if the claim arrives later, because no process uses its
     * token.  Also give up a claim that is in the store but starts below the floor: the store was restored, and it
     * lacks leases that were granted after the claim and may still be in use.  Or a process that was suspended in the
     * middle of its write to a `file:` store wrote the claim below a mark that was raised in the meantime. */
    if (!lease->published && (!ours || lease->from < vs_lease_floor(lease))) {
        vs_act_pick(lease, ev, out);
        return;
    }
    if (!ours || vs_lease_went_back(lease, &ev->record)) {
        vs_lease_lost(lease, &ev->record, out);
        return;
    }
    lease->record = ev->record;
    lease->until = ev->record.until;
    if (lease->published)
        vs_act_rest(lease, ev, out, 1);
    else
        vs_act_renew(lease, ev, out); /* a claim is adopted only when the store acknowledges a write */
}

/* Returns whether requests for ids may cause another renewal now: enough time has passed since the last renewal, or ids
 * have used up half of the window since then.  If the store's clock or the layout's end limits the bound, a renewal
 * would not help, so requests must not cause renewals in quick succession. */
static bool may_again(const struct vs_lease *lease, const struct vs_event *ev) {
    int64_t used_ms = vs_lease_ms_of(lease, ev->cursor) - vs_lease_ms_of(lease, lease->renewed_cursor);
    bool is_old = ev->boot_us - lease->renewed_boot_us >= VS_LEASE_AGAIN_MS * 1000;
    return (is_old && !vs_lease_is_hasty(lease, ev)) || used_ms >= lease->timing.window_ms / 2;
}

void vs_step_held(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->published);
    assert(!lease->failed_in); /* after a failstop no lease is held */
    if (ev->stop) {
        vs_act(lease, out, VS_PH_CLOSING, VS_DO_CLOSE);
        return;
    }
    if (ev->lost) {
        vs_act_restart(lease, out);
        return;
    }
    if (ev->doubt_us) {
        /* a clock that jumped by mistake must not raise the bound */
        vs_act_sleep(lease, ev, out, VS_LEASE_DOUBT_MS, VS_PH_HELD);
        return;
    }
    if (ev->leave) {
        vs_act_switch(lease, ev, out);
        return;
    }
    const struct vs_lease_timing *t = &lease->timing;
    int64_t left_ms = vs_lease_ms_of(lease, lease->until) - vs_lease_ms_of(lease, vs_lease_next(lease, ev));
    int64_t age_ms = (ev->boot_us - lease->renewed_boot_us) / 1000;
    bool active = ev->cursor != lease->renewed_cursor;
    /* renew also while no id is issued, so that the first request after a long idle time need not wait for the store */
    bool shrinks = left_ms < t->window_ms * 2 / 3;
    /* with watermarks the lease has a deadline, even if its ticks last longer because the clock went back */
    int64_t idle_ms = !t->idle_ms && vs_lease_is_marked(lease) ? t->window_ms / 3 : t->idle_ms;
    bool due = ((active || shrinks) && age_ms >= t->renew_ms) || (idle_ms && age_ms >= idle_ms) || ev->stirred;
    bool short_of = ev->wanted && left_ms < t->window_ms / 2;
    if ((due || (short_of && may_again(lease, ev))) && lease->until < vs_tick_end(&lease->shape))
        vs_act_renew(lease, ev, out);
    else if (short_of)
        vs_act_sleep(lease, ev, out, VS_LEASE_AGAIN_MS, VS_PH_HELD);
    else
        vs_act_rest(lease, ev, out, active && age_ms < t->renew_ms ? t->renew_ms - age_ms : t->renew_ms);
}

void vs_step_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->slot >= 0);
    if (ev->outcome == VS_STORE_UNKNOWN) {
        vs_act_unsettled(lease, ev, out, VS_PH_LOOK);
        return;
    }
    if (ev->outcome == VS_STORE_CONFLICT) {
        if (!vs_lease_is_ours(lease, &ev->record) || vs_lease_went_back(lease, &ev->record)) {
            vs_lease_lost(lease, &ev->record, out);
            return;
        }
        lease->record = ev->record; /* an earlier write of this engine has arrived: base the renewal on it */
        if (lease->unsettled || vs_lease_is_hasty(lease, ev)) {
            vs_act_unsettled(lease, ev, out, VS_PH_LOOK);
            return;
        }
        lease->unsettled = 1;
        vs_act_renew(lease, ev, out);
        return;
    }
    if (vs_lease_trouble(lease, ev, out, lease->published ? VS_PH_HELD : VS_PH_RESUME)) return;
    vs_lease_adopt(lease, &ev->record);
    if (!vs_lease_is_ahead(lease, ev)) lease->said[0] = '\0';
    vs_act(lease, out, lease->published ? VS_PH_RAISE : VS_PH_PUBLISH, lease->published ? VS_DO_RAISE : VS_DO_PUBLISH);
    out->limit = lease->until;
    out->deadline_boot_us = lease->deadline_us;
}

/* Handles the record that was read after a write with unknown outcome.  Reading adopts no bound: only an acknowledged
 * write does. */
void vs_step_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(lease->slot >= 0);
    if (vs_lease_trouble(lease, ev, out, VS_PH_LOOK)) return;
    if (vs_lease_went_back(lease, &ev->record)) {
        vs_lease_lost(lease, &ev->record, out);
    } else if (vs_lease_is_ours(lease, &ev->record)) {
        lease->record = ev->record;
        if (lease->until == 0) lease->until = ev->record.until; /* the bound of the claim, which is above `from` */
        vs_act_renew(lease, ev, out);
    } else if (lease->published) {
        vs_lease_lost(lease, &ev->record, out);
    } else if (ev->record.ver == lease->record.ver) {
        vs_act_claim(lease, ev,
                     out); /* the claim may still arrive, and a second claim with the same token is harmless */
    } else {
        vs_act_pick(lease, ev, out);
    }
}

/* ------------------------------------------------------------------ ending */

static void act_given_back(struct vs_lease *lease, struct vs_action *out) {
    assert(lease->phase >= VS_PH_CLOSING && lease->phase <= VS_PH_RELEASE_LOOK);
    if (lease->leaves)
        vs_act_take_next(lease, out);
    else
        vs_act(lease, out, VS_PH_ENDED, VS_DO_END);
}

void vs_step_closing(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_CLOSED);
    assert(lease->published);
    if (!ev->found) { /* another process closed the slot and has its cursor, so leave the record to it or let it expire
                       */
        act_given_back(lease, out);
        return;
    }
    lease->not_given_back = true;
    vs_act_swap(lease, ev, out, VS_PH_RELEASE, ev->cursor);
}

/* Records whether the lease is released: the store confirmed it, or the record has another owner.  If not, sets the
 * message to the reason. */
static void note_given_back(struct vs_lease *lease, const struct vs_event *ev) {
    bool is_another =
        (ev->outcome == VS_STORE_OK || ev->outcome == VS_STORE_CONFLICT) && !vs_lease_is_ours(lease, &ev->record);
    bool is_taken = ev->outcome == VS_STORE_OK && !ev->record.held;
    lease->not_given_back = !is_another && !is_taken;
    if (lease->not_given_back) vs_lease_say(lease, "%s", ev->text[0] ? ev->text : "the store did not answer");
}

/* Returns whether to cause a failstop because the store went back to an earlier state.  This matters only if the engine
 * goes on to claim a different worker id.  A record below `asked` is evidence: even if the release succeeded without a
 * confirmation, a successor would have started at `asked`. */
static bool must_stop(const struct vs_lease *lease, const struct vs_event *ev) {
    bool is_told = ev->outcome == VS_STORE_OK || ev->outcome == VS_STORE_CONFLICT;
    bool went_back = is_other_history(lease, &ev->record) || ev->record.until < lease->asked;
    return lease->leaves && is_told && went_back;
}

/* Handles the answer to a release.  The release is optional: after a few attempts the record is left to expire. */
void vs_step_release(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->published);
    if (must_stop(lease, ev)) {
        vs_lease_lost(lease, &ev->record, out);
        return;
    }
    bool is_moved = ev->outcome == VS_STORE_MOVED, is_ours = vs_lease_is_ours(lease, &ev->record);
    bool again = ev->outcome == VS_STORE_UNKNOWN || (ev->outcome == VS_STORE_CONFLICT && is_ours);
    again = is_moved || (again && lease->attempt++ < 3); /* a change of the namespace's record is no failure */
    note_given_back(lease, ev);
    if (!again)
        act_given_back(lease, out);
    else if (is_moved)
        vs_act(lease, out, VS_PH_RELEASE_NS, VS_DO_NS_READ);
    else
        vs_act(lease, out, VS_PH_RELEASE_LOOK, VS_DO_READ);
}

/* Handles the namespace's record, which was read because it had changed before the release.  It changes often if
 * watermarks are read.  The release is repeated, unless the store was replaced. */
void vs_step_release_ns(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->not_given_back);
    bool is_read = ev->outcome == VS_STORE_OK, is_same = is_read && ev->ns.incarnation == lease->incarnation;
    if (is_same) {
        lease->ns = ev->ns;
        vs_act(lease, out, VS_PH_RELEASE_LOOK, VS_DO_READ);
        return;
    }
    vs_lease_say(lease, "%s", is_read ? "the store was replaced" : ev->text[0] ? ev->text : "the store did not answer");
    if (is_read && lease->leaves) /* the next claim must respect the new store's floor */
        vs_act_restart(lease, out);
    else
        act_given_back(lease, out);
}

void vs_step_release_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out) {
    assert(ev->kind == VS_EV_REPLY);
    assert(lease->not_given_back);
    if (must_stop(lease, ev)) {
        vs_lease_lost(lease, &ev->record, out);
        return;
    }
    if (ev->outcome == VS_STORE_OK && vs_lease_is_ours(lease, &ev->record)) {
        lease->record = ev->record;
        vs_act_swap(lease, ev, out, VS_PH_RELEASE, lease->asked);
    } else {
        note_given_back(lease, ev);
        act_given_back(lease, out);
    }
}
