/* worker.c -- runs the lease engine for a program that has its own generator. */
#include "worker/worker.h"
#include "base/error.h"
#include "id/id.h"
#include "os/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t vs_worker_ttl_ms_max(const struct vs_store *store) {
    const struct vs_lease_timing *assumed =
        store->backend->is_local ? &vs_lease_timing_file : vs_lease_preset("balanced");
    return 2 * assumed->window_ms;
}

/* Returns the length of the window.  The window begins with the current time unit, and must be long enough to issue ids
 * until the deadline. */
static int64_t worker_window_ms(int64_t ttl_ms, int32_t unit_us) {
    return unit_us > 1000 ? ttl_ms + unit_us / 1000 : ttl_ms;
}

static struct vs_lease_timing worker_timing(const struct vs_store *store, const struct vesta_layout *layout,
                                            int64_t ttl_ms) {
    return (struct vs_lease_timing){.name = "worker",
                                    .window_ms = worker_window_ms(ttl_ms, layout->unit_us),
                                    .renew_ms = ttl_ms / 3,
                                    .idle_ms = ttl_ms / 3,
                                    .lease_ms = ttl_ms,
                                    .deadline_ms = ttl_ms / 5 * 4,
                                    .skew_ms = vs_lease_timing_file.skew_ms,
                                    .is_shared = !store->backend->is_local};
}

/* ------------------------------------------------------------------ the program's clock and ticks */

/* Returns the first instant at which every id time is at or after `from`. */
static int64_t first_ms(const struct vs_shape *shape, uint64_t from) {
    uint64_t unit = from >> shape->seq_bits;
    bool has_begun = from != unit << shape->seq_bits; /* some ids of the unit may belong to an earlier holder */
    int64_t us = vs_tick_unix_us(shape, (unit + has_begun) << shape->seq_bits);
    return us / 1000 + (us % 1000 > 0);
}

/* Returns the tick at which the next holder may start, if the program ended at that instant.  It is in [from, until],
 * because the ticks below `from` belong to earlier holders, and no tick from `until` on was granted. */
static uint64_t end_tick(const struct vs_shape *shape, int64_t ended_ms, uint64_t from, uint64_t until) {
    if (ended_ms == VS_WORKER_UNUSED) return from < until ? from : until;
    if (ended_ms >= INT64_MAX / 2000) return until;
    uint64_t end = vs_tick_at(shape, ended_ms * 1000 + 999) + (UINT64_C(1) << shape->seq_bits);
    end = end > from ? end : from;
    return end < until ? end : until;
}

/* Returns a lower bound of the first tick of the lease with this record: its `until` is at least a window above it. */
static uint64_t from_at_least(const struct vs_shape *shape, const struct vs_record *r) {
    int64_t window_us = worker_window_ms(r->lease_ms, (int32_t)shape->unit_us) * 1000;
    uint64_t units = (uint64_t)((window_us + shape->unit_us - 1) / shape->unit_us);
    uint64_t time = r->until >> shape->seq_bits;
    bool has_begun = r->until != time << shape->seq_bits;
    return time + has_begun > units ? (time + has_begun - units) << shape->seq_bits : 0;
}

/* ------------------------------------------------------------------ answering the engine */

/* Answers CHOOSE from the store's list. */
static void worker_choose(struct vs_worker *w, struct vs_event *ev) {
    struct vs_listed *listed;
    struct vs_reply reply;
    uint64_t random;
    size_t count;
    ev->kind = VS_EV_CHOSEN;
    w->at.store->leases->list(w->at.store, &listed, &count, &reply);
    w->outcome = reply.outcome;
    struct vs_listing listing = {listed, count, reply.store_ms};
    if (reply.outcome != VS_STORE_OK)
        vs_reply_say(&reply, "", ev->text, sizeof ev->text);
    else if (vs_random(&random, sizeof random) != 0)
        snprintf(ev->text, sizeof ev->text, "%s", VS_NO_RANDOM);
    else
        ev->found = vs_choose_any(&w->lease, listing, vs_worker_max(&w->layout), random, &ev->worker);
    free(listed);
}

static void worker_ask(struct vs_worker *w, const struct vs_action *action, struct vs_event *ev) {
    struct vs_store *store = w->at.store;
    struct vs_reply reply;
    ev->kind = VS_EV_REPLY;
    if (action->kind == VS_DO_NS_READ)
        vs_lineage_ns_read(&w->at, !w->lease.incarnation, &reply);
    else if (action->kind == VS_DO_NS_SWAP)
        vs_lineage_ns_create(&w->at, &w->layout, &action->ns, &reply);
    else if (action->kind == VS_DO_READ)
        store->leases->read(store, action->worker, &reply);
    else
        store->leases->swap(store, action->worker, action->old_ver, &action->record, &reply);
    w->outcome = ev->outcome = reply.outcome;
    ev->store_ms = reply.store_ms;
    ev->record = reply.record;
    ev->ns = reply.ns;
    vs_reply_say(&reply, "", ev->text, sizeof ev->text);
}

/* Carries out an action, and sets the event that answers it.  `end` is the cursor of a release. */
static void worker_answer(struct vs_worker *w, const struct vs_action *action, uint64_t end, struct vs_event *ev) {
    *ev = (struct vs_event){.kind = VS_EV_DONE, .cursor = w->lease.from};
    switch (action->kind) {
    case VS_DO_CHOOSE: worker_choose(w, ev); break;
    case VS_DO_TAKE:
        ev->kind = VS_EV_SLOT;
        ev->slot = vs_random(ev->owner, sizeof ev->owner) == 0 ? 0 : VS_SLOT_NO_TOKEN;
        break;
    case VS_DO_CLOSE:
        ev->kind = VS_EV_CLOSED;
        ev->found = true;
        ev->cursor = end;
        break;
    case VS_DO_NS_READ:
    case VS_DO_NS_SWAP:
    case VS_DO_READ:
    case VS_DO_SWAP: worker_ask(w, action, ev); break;
    default: /* RECOVER, if the store was repaired during a claim, and PUBLISH and RAISE: there is no map to change */
        assert(action->kind == VS_DO_PUBLISH || action->kind == VS_DO_RAISE || action->kind == VS_DO_RECOVER);
        break;
    }
}

struct worker_turn {
    bool stop; /* release the lease at the tick `end` */
    uint64_t end;
    bool is_new; /* result: the store has acknowledged a claim or a renewal */
};

/* Runs the engine until it sleeps, ends, or has lost the lease.  Returns its last action. */
static struct vs_action worker_run(struct vs_worker *w, struct worker_turn *turn) {
    struct vs_event ev = {.kind = VS_EV_WAKE, .stirred = true, .stop = turn->stop, .cursor = w->lease.from};
    for (;;) {
        struct vs_action action;
        const struct vs_instant now = vs_instant_now(w->at.clock);
        ev.unix_us = now.unix_us;
        ev.boot_us = now.boot_us;
        vs_lease_step(&w->lease, &ev, &action);
        bool is_lost = action.kind == VS_DO_FAILSTOP || (action.kind == VS_DO_CLOSE && !turn->stop);
        if (is_lost || action.kind == VS_DO_SLEEP || action.kind == VS_DO_END) return action;
        turn->is_new = action.kind == VS_DO_PUBLISH || action.kind == VS_DO_RAISE;
        worker_answer(w, &action, turn->end, &ev);
    }
}

/* ------------------------------------------------------------------ results */

static enum vs_worker_end worker_held(struct vs_worker *w) {
    const struct vs_lease *lease = &w->lease;
    assert(lease->published);
    if (!w->earlier_ms) w->earlier_ms = first_ms(&lease->shape, lease->earliest);
    w->key = (struct vs_worker_key){lease->worker, {lease->owner[0], lease->owner[1]}, lease->incarnation};
    w->fence = lease->record.epoch;
    w->ttl_ms = lease->timing.lease_ms;
    w->starts_ms = first_ms(&lease->shape, lease->from);
    w->expires_ms = vs_tick_unix_us(&lease->shape, lease->until) / 1000;
    w->deadline_boot_us = lease->deadline_us;
    return VS_WORKER_HELD;
}

static enum vs_worker_end worker_end(enum vs_worker_end end, const char *said, struct vesta_error *err) {
    static const int codes[] = {[VS_WORKER_BUSY] = VESTA_ENOTNOW,
                                [VS_WORKER_AWAY] = VESTA_EIO,
                                [VS_WORKER_REJECTED] = VESTA_EMISMATCH,
                                [VS_WORKER_LOST] = VESTA_ENOTNOW};
    vs_fail(err, codes[end], "%s", said);
    return end;
}

/* Returns the reason why the engine sleeps without a new acknowledgement. */
static enum vs_worker_end worker_why(const struct vs_worker *w) {
    if (w->outcome == VS_STORE_REFUSED) return VS_WORKER_REJECTED;
    if (w->outcome != VS_STORE_OK && w->outcome != VS_STORE_CONFLICT) return VS_WORKER_AWAY;
    if (w->lease.after == VS_PH_CHOOSE) return VS_WORKER_BUSY;
    return w->lease.after == VS_PH_LOOK ? VS_WORKER_AWAY : VS_WORKER_REJECTED;
}

/* Returns whether the engine holds the lease, and sleeps although no call has failed. */
static bool is_idle(const struct vs_worker *w, const struct vs_action *action) {
    return action->kind == VS_DO_SLEEP && w->lease.after == VS_PH_HELD && w->outcome == VS_STORE_OK;
}

static enum vs_worker_end worker_failed(struct vs_worker *w, const struct vs_action *action, struct vesta_error *err) {
    if (action->kind != VS_DO_SLEEP) return worker_end(VS_WORKER_LOST, w->lease.said, err);
    w->retry_boot_us = action->until_boot_us;
    if (is_idle(w, action))
        return worker_end(VS_WORKER_REJECTED, "the layout's time has ended: use another namespace", err);
    return worker_end(worker_why(w), w->lease.said, err);
}

/* ------------------------------------------------------------------ a lease that another process claimed */

#define WORKER_GONE                                                                                                    \
    "the store has no such lease: it was released, or it expired and its worker id was claimed again. Request a new "  \
    "lease"

/* Looks for the resumed lease, and adopts its ttl.  Returns VS_WORKER_HELD if the store has it. */
static enum vs_worker_end worker_look(struct vs_worker *w, struct vesta_error *err) {
    struct worker_turn turn = {.stop = false};
    struct vs_action action = worker_run(w, &turn);
    if (action.kind == VS_DO_CLOSE) return worker_end(VS_WORKER_LOST, WORKER_GONE, err);
    if (!is_idle(w, &action)) return worker_failed(w, &action, err);
    const struct vs_record *r = &w->lease.record;
    if (strncmp(r->identity, w->identity, strlen(w->identity)) != 0)
        return worker_end(VS_WORKER_LOST, WORKER_GONE, err);
    memcpy(w->identity, r->identity, sizeof w->identity);
    memcpy(w->lease.holder, r->holder, sizeof w->lease.holder);
    int64_t most_ms = vs_worker_ttl_ms_max(w->at.store), ttl_ms = r->lease_ms;
    ttl_ms = ttl_ms < VS_WORKER_TTL_MS_MIN ? VS_WORKER_TTL_MS_MIN : ttl_ms > most_ms ? most_ms : ttl_ms;
    w->lease.timing = worker_timing(w->at.store, &w->layout, ttl_ms);
    uint64_t from = from_at_least(&w->lease.shape, r);
    w->lease.from = r->has_low && r->low > from ? r->low : from; /* with watermarks, no id is below `low` */
    w->is_resumed = false;
    return VS_WORKER_HELD;
}

/* ------------------------------------------------------------------ the interface */

static enum vs_worker_end worker_hold(struct vs_worker *w, struct vesta_error *err) {
    struct worker_turn turn = {.stop = false};
    struct vs_action action = worker_run(w, &turn);
    /* the first run may only have read the namespace's changed record, and the second run then sends the renewal */
    if (is_idle(w, &action) && !turn.is_new) action = worker_run(w, &turn);
    return is_idle(w, &action) && turn.is_new ? worker_held(w) : worker_failed(w, &action, err);
}

enum vs_worker_end vs_worker_claim(struct vs_worker *w, struct vesta_error *err) {
    assert(!w->lease.published);
    return worker_hold(w, err);
}

enum vs_worker_end vs_worker_renew(struct vs_worker *w, struct vesta_error *err) {
    assert(w->lease.published);
    enum vs_worker_end end = w->is_resumed ? worker_look(w, err) : VS_WORKER_HELD;
    return end == VS_WORKER_HELD ? worker_hold(w, err) : end;
}

enum vs_worker_end vs_worker_release(struct vs_worker *w, int64_t ended_ms, struct vesta_error *err) {
    enum vs_worker_end end = w->is_resumed ? worker_look(w, err) : VS_WORKER_HELD;
    if (end != VS_WORKER_HELD) return end;
    if (!w->lease.published) return VS_WORKER_RELEASED;
    struct worker_turn turn = {.stop = true, .end = end_tick(&w->lease.shape, ended_ms, w->lease.from, w->lease.until)};
    enum vs_do last = worker_run(w, &turn).kind;
    assert(last == VS_DO_END);
    (void)last;
    return w->lease.not_given_back ? worker_end(VS_WORKER_AWAY, w->lease.said, err) : VS_WORKER_RELEASED;
}

enum vs_worker_end vs_worker_count(const struct vs_lineage *at, const char *prefix, uint64_t *count,
                                   struct vesta_error *err) {
    struct vs_listed *listed = NULL;
    struct vs_reply reply;
    char text[sizeof err->text];
    size_t all = 0;
    at->store->leases->list(at->store, &listed, &all, &reply);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        *count += strncmp(listed[i].record.identity, prefix, strlen(prefix)) == 0 &&
                  !vs_record_is_free(&listed[i].record, reply.store_ms);
    free(listed);
    if (reply.outcome == VS_STORE_OK) return VS_WORKER_HELD;
    return worker_end(VS_WORKER_AWAY, vs_reply_say(&reply, "the store did not answer", text, sizeof text), err);
}

/* ------------------------------------------------------------------ preparing */

static int identify(struct vs_worker *w, const char *identity, struct vesta_error *err) {
    uint64_t random[2];
    if (identity && strlen(identity) >= sizeof w->identity)
        return vs_fail(err, VESTA_EOPTION, "the name of a lease has %zu bytes: use at most %zu", strlen(identity),
                       sizeof w->identity - 1);
    if (!identity && vs_random(random, sizeof random) != 0) return vs_fail(err, VESTA_EIO, "%s", VS_NO_RANDOM);
    if (identity)
        snprintf(w->identity, sizeof w->identity, "%s", identity);
    else
        snprintf(w->identity, sizeof w->identity, "lease %016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return VESTA_OK;
}

static void worker_begin(struct vs_worker *w, const struct vs_worker_ask *ask, struct vs_lease_opts opts) {
    w->layout = *ask->layout;
    opts.layout = &w->layout;
    opts.identity = w->identity;
    opts.holder = ask->holder ? ask->holder : "";
    opts.waits_for_expiry = true;
    opts.is_local = w->at.store->backend->is_local;
    vs_lease_init(&w->lease, &opts);
}

int vs_worker_init(struct vs_worker *w, const struct vs_lineage *at, const struct vs_worker_ask *ask,
                   struct vesta_error *err) {
    struct vs_lease_opts opts = {.has_worker = ask->has_worker, .worker = ask->worker, .slot = -1};
    int64_t most_ms = vs_worker_ttl_ms_max(at->store);
    memset(w, 0, sizeof *w);
    w->at = *at;
    if (ask->ttl_ms < VS_WORKER_TTL_MS_MIN || ask->ttl_ms > most_ms)
        return vs_fail(err, VESTA_EOPTION, "a ttl of %.3f s is out of range: use %d to %" PRId64 " s",
                       (double)ask->ttl_ms / 1000, VS_WORKER_TTL_MS_MIN / 1000, most_ms / 1000);
    if (ask->has_worker && ask->worker > vs_worker_max(ask->layout))
        return vs_fail(err, VESTA_EFIELD,
                       "worker id %" PRIu64 " is too large for the namespace's layout: use at most %" PRIu64,
                       ask->worker, vs_worker_max(ask->layout));
    int rc = identify(w, ask->identity, err);
    if (rc != VESTA_OK) return rc;
    if (vs_random(&opts.entropy, sizeof opts.entropy) != 0) return vs_fail(err, VESTA_EIO, "%s", VS_NO_RANDOM);
    opts.timing = worker_timing(at->store, ask->layout, ask->ttl_ms);
    worker_begin(w, ask, opts);
    return VESTA_OK;
}

void vs_worker_resume(struct vs_worker *w, const struct vs_lineage *at, const struct vs_worker_key *key,
                      const struct vs_worker_ask *ask) {
    struct vs_lease_opts opts = {.timing = worker_timing(at->store, ask->layout, VS_WORKER_TTL_MS_DEFAULT),
                                 .incarnation = key->incarnation,
                                 .published = true,
                                 .slot_worker = key->worker,
                                 .slot_owner = {key->owner[0], key->owner[1]}};
    memset(w, 0, sizeof *w);
    w->at = *at;
    w->is_resumed = true;
    snprintf(w->identity, sizeof w->identity, "%s", ask->identity);
    worker_begin(w, ask, opts);
}

static int worker_fits(const struct vesta_layout *layout, const char *name, struct vesta_error *err) {
    if (layout->worker >= 0) return VESTA_OK;
    return vs_fail(err, VESTA_EMISMATCH, "the layout of namespace %s has no worker id: use another namespace", name);
}

int vs_worker_layout(const struct vs_lineage *at, const struct vesta_layout *fallback, struct vesta_layout *out,
                     struct vesta_error *err) {
    struct vs_reply reply;
    struct vesta_error why;
    char text[sizeof err->text];
    at->store->leases->ns_read(at->store, &reply);
    if (reply.outcome != VS_STORE_OK)
        return vs_fail(err, VESTA_EIO, "%s", vs_reply_say(&reply, "the store did not answer", text, sizeof text));
    bool may_create = at->store->backend->is_local && fallback;
    if (reply.ns.ver == 0 && !may_create)
        return vs_fail(err, VESTA_ENOGEN,
                       "namespace %s is not in the store: check its name, or create it (vesta store init)", at->name);
    if (reply.ns.ver && vesta_layout_parse(reply.ns.layout, out, &why) != VESTA_OK)
        return vs_fail(err, VESTA_EMISMATCH, "the layout of namespace %s cannot be read: %.200s", at->name, why.text);
    if (reply.ns.ver && fallback && fallback->fingerprint != out->fingerprint)
        return vs_fail(err, VESTA_EMISMATCH,
                       "namespace %s has another layout: %.160s. Use that layout, or another namespace", at->name,
                       reply.ns.layout);
    if (reply.ns.ver == 0) *out = *fallback;
    return worker_fits(out, at->name, err);
}
