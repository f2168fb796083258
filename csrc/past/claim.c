/* claim.c -- leases a range of past ticks from a store, and returns its unused end. */
#include "past/past.h"
#include "base/error.h"
#include "base/slice.h"
#include "id/id.h"
#include "os/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define PAST_TRIES_MAX 64  /* claims that other processes may win in a row */
#define PAST_UNKNOWN_MAX 3 /* writes that the store may leave unconfirmed */
#define PAST_MS_MAX (INT64_MAX / 2000)
#define PAST_MARK "past " /* the start of the identity of a past range, for people and for the choice */

/* A claim in progress. */
struct past_claim {
    const struct vs_lineage *at;
    const struct vs_past_ask *ask;
    struct vs_past_range *range;
    struct vs_shape shape;
    struct vs_ns_record ns;
    struct vs_record record; /* of range->worker, as last read */
    uint64_t values[VESTA_FIELDS_MAX];
};

static int past_fail_store(const struct vs_reply *reply, const char *otherwise, struct vesta_error *err) {
    char text[sizeof err->text];
    return vs_fail(err, VESTA_EIO, "%s", vs_reply_say(reply, otherwise, text, sizeof text));
}

/* ------------------------------------------------------------------ the namespace */

/* Creates the namespace in a store on this host.  Then or earlier, another process may have created it. */
static int past_create(const struct past_claim *claim, struct vesta_error *err) {
    const struct vesta_layout *layout = claim->ask->layout ? claim->ask->layout : claim->ask->fallback;
    struct vs_ns_record fresh = {.ver = 1, .fingerprint = layout->fingerprint};
    struct vs_reply reply;
    if (vs_random(&fresh.incarnation, sizeof fresh.incarnation) != 0) return vs_fail(err, VESTA_EIO, VS_NO_RANDOM);
    fresh.incarnation |= 1;
    vesta_layout_text(layout, fresh.layout);
    vs_lineage_ns_create(claim->at, layout, &fresh, &reply);
    bool is_there = reply.outcome == VS_STORE_OK || reply.outcome == VS_STORE_CONFLICT;
    return is_there ? VESTA_OK : past_fail_store(&reply, "the store did not create the namespace", err);
}

static int past_take_layout(struct past_claim *claim, struct vesta_error *err) {
    const struct vesta_layout *wanted = claim->ask->layout;
    struct vesta_layout *layout = &claim->range->layout;
    struct vesta_error why;
    char departs[VS_DEPARTURE_MAX];
    if (vesta_layout_parse(claim->ns.layout, layout, &why) != VESTA_OK || layout->fingerprint != claim->ns.fingerprint)
        return vs_fail(err, VESTA_EIO, "the record of namespace %s is damaged: its layout is %.160s", claim->at->name,
                       claim->ns.layout);
    if (wanted && (wanted->fingerprint != layout->fingerprint || vs_layout_departs(wanted, claim->ns.layout, departs)))
        return vs_fail(err, VESTA_EMISMATCH,
                       "namespace %s has another layout: %.160s. Use that layout, or another namespace",
                       claim->at->name, claim->ns.layout);
    if (wanted) *layout = *wanted;
    if (layout->read_only)
        return vs_fail(err, VESTA_ELAYOUT, "ids of this layout can be read, not issued: %s", layout->read_only);
    vs_shape_of(layout, &claim->shape);
    return vs_fields_parse(layout, claim->ask->fields, claim->ask->method, claim->values, err);
}

/* Reads the namespace and the store's clock. */
static int past_enter(struct past_claim *claim, int64_t *store_ms, struct vesta_error *err) {
    const struct vs_lineage *at = claim->at;
    struct vs_reply reply;
    vs_lineage_ns_read(at, true, &reply);
    bool creates = claim->ask->fallback && at->store->backend->is_local;
    if (reply.outcome == VS_STORE_OK && reply.ns.ver == 0 && creates) {
        int rc = past_create(claim, err);
        if (rc != VESTA_OK) return rc;
        vs_lineage_ns_read(at, true, &reply);
    }
    if (reply.outcome != VS_STORE_OK) return past_fail_store(&reply, "the store did not answer", err);
    if (reply.ns.ver == 0)
        return vs_fail(err, VESTA_ENOGEN,
                       "namespace %s is not in the store: check its name, or create it (vesta store init)", at->name);
    claim->ns = reply.ns;
    *store_ms = reply.store_ms;
    return past_take_layout(claim, err);
}

/* ------------------------------------------------------------------ the dates */

static const char *past_iso(int64_t unix_ms, char buf[VESTA_ISO_MAX]) {
    vesta_iso(unix_ms, buf);
    return buf;
}
#define PAST_ISO(unix_ms) past_iso((unix_ms), (char[VESTA_ISO_MAX]){0})

static int past_check_dates(const struct vesta_past_span *span, struct vesta_error *err) {
    if (span->from_ms < -PAST_MS_MAX || span->until_ms > PAST_MS_MAX)
        return vs_fail(err, VESTA_EOPTION, "the times of the range are out of range: use Unix milliseconds");
    if (span->until_ms > span->from_ms) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "the range ends at %s, which is not after its start %s: put the earlier time "
                   "first",
                   PAST_ISO(span->until_ms), PAST_ISO(span->from_ms));
}

/* Sets the ticks of the range.  Both ends are rounded down to the start of their time unit. */
static int past_take_dates(struct past_claim *claim, int64_t store_ms, struct vesta_error *err) {
    const struct vesta_past_span *span = &claim->ask->span;
    const struct vesta_clock *clock = claim->at->clock;
    struct vs_past_range *range = claim->range;
    int64_t host_ms = clock->unix_us(clock->self) / 1000, now_ms = host_ms < store_ms ? host_ms : store_ms;
    int64_t floor_ms = claim->ns.floor_ms;
    if (span->from_ms < range->layout.epoch_ms)
        return vs_fail(err, VESTA_EEPOCH, "the range starts at %s, before the layout's epoch: start it at %s or later",
                       PAST_ISO(span->from_ms), PAST_ISO(range->layout.epoch_ms));
    if (span->from_ms >= vesta_layout_end_ms(&range->layout))
        return vs_fail(err, VESTA_EEPOCH, "the range starts at %s, and the layout's time ended at %s: start it earlier",
                       PAST_ISO(span->from_ms), PAST_ISO(vesta_layout_end_ms(&range->layout)));
    if (span->until_ms > now_ms)
        return vs_fail(err, VESTA_EOPTION,
                       "the range ends at %s, which is not in the past: end it at %s or earlier, because later ids are "
                       "issued live",
                       PAST_ISO(span->until_ms), PAST_ISO(now_ms));
    if (span->from_ms < floor_ms)
        return vs_fail(err, VESTA_EOPTION,
                       "the store once lost data, so ids from before %s may have been issued without a record: start "
                       "the range at that time or later, or use another namespace",
                       PAST_ISO(floor_ms));
    range->from = vs_tick_at(&claim->shape, span->from_ms * 1000);
    range->until = vs_tick_at(&claim->shape, span->until_ms * 1000);
    if (range->until == range->from)
        return vs_fail(err, VESTA_EOPTION, "the range from %s until %s has no whole time unit: make it longer",
                       PAST_ISO(span->from_ms), PAST_ISO(span->until_ms));
    if (range->until - range->from >= span->count) return VESTA_OK;
    return vs_fail(err, VESTA_EFULL,
                   "the range has %" PRIu64 " ids, and %" PRIu64 " are needed: use a longer range, or lease several",
                   range->until - range->from, span->count);
}

/* ------------------------------------------------------------------ the worker id */

/* Returns whether the record permits the range.  A worker id that is held is not taken even if its lease has expired,
 * because only a live claim or a watermark's reader ends a lease. */
static bool past_fits(const struct past_claim *claim, const struct vs_record *r) {
    return r->ver == 0 || (!r->held && r->fingerprint == claim->ns.fingerprint && r->until <= claim->range->from);
}

static bool past_is_mark(const struct vs_record *r) {
    return strncmp(r->identity, PAST_MARK, strlen(PAST_MARK)) == 0;
}

/* Returns whether `a` should be used before `b`.  Other imports' worker ids come first, so that generators keep the
 * worker ids that they had.  Then the latest `until` comes first, because an earlier one also fits earlier ranges. */
static bool past_is_better(const struct vs_record *a, const struct vs_record *b) {
    if (past_is_mark(a) != past_is_mark(b)) return past_is_mark(a);
    return a->until > b->until;
}

/* Returns how many worker ids in [0, max] are neither listed nor reserved for assignment by hand. */
static uint64_t past_unused(const struct past_claim *claim, struct vs_listing listing, uint64_t max) {
    uint64_t taken = 0, last = claim->ns.static_first + claim->ns.static_count;
    for (size_t i = 0; i < listing.count; i++)
        taken += !vs_is_static(&claim->ns, listing.listed[i].worker);
    if (claim->ns.static_count && claim->ns.static_first <= max)
        taken += (last <= max ? last : max + 1) - claim->ns.static_first;
    return max + 1 - taken;
}

/* Chooses a worker id from the store's list: one of an earlier import, else an unused one, else one of a generator. */
static int past_choose(struct past_claim *claim, struct vs_listing listing, struct vesta_error *err) {
    uint64_t max = vs_worker_max(&claim->range->layout), random, fitting = 0;
    const struct vs_listed *best = NULL;
    listing = vs_listing_up_to(listing, max);
    for (size_t i = 0; i < listing.count; i++) {
        const struct vs_listed *one = &listing.listed[i];
        if (vs_is_static(&claim->ns, one->worker) || !past_fits(claim, &one->record)) continue;
        fitting++;
        if (!best || past_is_better(&one->record, &best->record)) best = one;
    }
    uint64_t unused = past_unused(claim, listing, max);
    claim->range->others = fitting + unused - (fitting + unused > 0);
    if (vs_random(&random, sizeof random) != 0) return vs_fail(err, VESTA_EIO, VS_NO_RANDOM);
    if (claim->ask->has_worker)
        claim->range->worker = claim->ask->worker;
    else if (best && past_is_mark(&best->record))
        claim->range->worker = best->worker;
    else if (!vs_choose_unused(&claim->ns, listing, max, random, &claim->range->worker)) {
        if (!best)
            return vs_fail(err, VESTA_EFULL,
                           "no worker id is free for these dates, because all %" PRIu64
                           " are held or were used after the start of the range: use later dates, or release a range "
                           "that is no longer needed (vesta range release)",
                           max + 1);
        claim->range->worker = best->worker;
    }
    return VESTA_OK;
}

/* Returns VESTA_OK if the record of the chosen worker id permits the range. */
static int past_check_record(const struct past_claim *claim, struct vesta_error *err) {
    const struct vs_record *r = &claim->record;
    uint64_t worker = claim->range->worker;
    if (past_fits(claim, r)) return VESTA_OK;
    if (r->fingerprint != claim->ns.fingerprint)
        return vs_fail(err, VESTA_EFULL,
                       "the record of worker id %" PRIu64 " belongs to another layout: lease another worker id",
                       worker);
    if (r->until <= claim->range->from)
        return vs_fail(err, VESTA_EFULL, "worker id %" PRIu64 " is held by %.100s: lease another worker id", worker,
                       r->holder);
    return vs_fail(err, VESTA_EFULL,
                   "worker id %" PRIu64 " was used until %s, after the start of the range: start the range at that "
                   "time or later, or lease another worker id",
                   worker, PAST_ISO(vs_tick_unix_us(&claim->shape, r->until) / 1000));
}

/* ------------------------------------------------------------------ the claim */

/* Lists the records, chooses a worker id and reads its record.  Sets *is_taken if another process took the worker id
 * after the list was read. */
static int past_pick(struct past_claim *claim, bool *is_taken, struct vesta_error *err) {
    struct vs_store *store = claim->at->store;
    struct vs_listed *listed = NULL;
    struct vs_reply reply;
    size_t count = 0;
    store->leases->list(store, &listed, &count, &reply);
    int rc = reply.outcome == VS_STORE_OK ? past_choose(claim, (struct vs_listing){listed, count, reply.store_ms}, err)
                                          : past_fail_store(&reply, "the store did not answer", err);
    free(listed);
    if (rc != VESTA_OK) return rc;
    store->leases->read(store, claim->range->worker, &reply);
    if (reply.outcome != VS_STORE_OK) return past_fail_store(&reply, "the store did not answer", err);
    claim->record = reply.record;
    *is_taken = !past_fits(claim, &claim->record) && !claim->ask->has_worker;
    return *is_taken ? VESTA_OK : past_check_record(claim, err);
}

/* Writes the grant.  The record stays free, so the grant itself is the only effect on other processes. */
static int past_write(struct past_claim *claim, struct vs_reply *reply, struct vesta_error *err) {
    const struct vesta_clock *clock = claim->at->clock;
    struct vs_past_range *range = claim->range;
    struct vs_record next = claim->record;
    if (vs_random(range->owner, sizeof range->owner) != 0) return vs_fail(err, VESTA_EIO, VS_NO_RANDOM);
    next.ver++;
    next.epoch++;
    memcpy(next.owner, range->owner, sizeof next.owner);
    next.until = range->until;
    next.fingerprint = claim->ns.fingerprint;
    next.lease_ms = 0;
    next.seen_ms = clock->unix_us(clock->self) / 1000;
    next.held = false;
    snprintf(next.identity, sizeof next.identity, PAST_MARK "%s to %s",
             PAST_ISO(vs_tick_unix_us(&claim->shape, range->from) / 1000),
             PAST_ISO(vs_tick_unix_us(&claim->shape, range->until) / 1000));
    snprintf(next.holder, sizeof next.holder, "%s", claim->ask->holder ? claim->ask->holder : "");
    claim->at->store->leases->swap(claim->at->store, range->worker, claim->record.ver, &next, reply);
    return VESTA_OK;
}

/* Makes one attempt.  Sets *done if it succeeded.  Any result but an acknowledged write is answered with a new attempt
 * and a new token, so an unconfirmed write that arrives late only wastes its range. */
static int past_try(struct past_claim *claim, bool *done, unsigned *unknown, struct vesta_error *err) {
    struct vs_reply reply;
    int64_t store_ms = 0;
    bool is_taken = false;
    int rc = past_enter(claim, &store_ms, err);
    if (rc == VESTA_OK) rc = past_take_dates(claim, store_ms, err);
    if (rc == VESTA_OK && claim->ask->has_worker && claim->ask->worker > vs_worker_max(&claim->range->layout))
        rc = vs_fail(err, VESTA_EFIELD,
                     "worker id %" PRIu64 " is too large for the namespace's layout: use at most "
                     "%" PRIu64,
                     claim->ask->worker, vs_worker_max(&claim->range->layout));
    if (rc == VESTA_OK) rc = past_pick(claim, &is_taken, err);
    if (rc != VESTA_OK || is_taken) return rc;
    if ((rc = past_write(claim, &reply, err)) != VESTA_OK) return rc;
    *done = reply.outcome == VS_STORE_OK;
    bool again = reply.outcome == VS_STORE_CONFLICT || reply.outcome == VS_STORE_MOVED ||
                 (reply.outcome == VS_STORE_UNKNOWN && ++*unknown < PAST_UNKNOWN_MAX);
    return *done || again ? VESTA_OK : past_fail_store(&reply, "the store did not confirm the lease", err);
}

int vs_past_claim(const struct vs_lineage *at, const struct vs_past_ask *ask, struct vs_past_range *out,
                  struct vesta_error *err) {
    struct past_claim claim = {.at = at, .ask = ask, .range = out};
    unsigned unknown = 0;
    bool done = false;
    memset(out, 0, sizeof *out);
    int rc = past_check_dates(&ask->span, err);
    for (int tries = 0; rc == VESTA_OK && !done && tries < PAST_TRIES_MAX; tries++)
        rc = past_try(&claim, &done, &unknown, err);
    if (rc == VESTA_OK && !done)
        rc = vs_fail(err, VESTA_EIO, "other processes won %d claims in a row: try again", PAST_TRIES_MAX);
    if (rc == VESTA_OK) out->base = vs_layout_base(&out->layout, out->worker, claim.values);
    return rc;
}

/* ------------------------------------------------------------------ returning the end of a range */

static bool past_is_ours(const struct vs_past_range *range, const struct vs_record *r) {
    return r->owner[0] == range->owner[0] && r->owner[1] == range->owner[1];
}

/* Returns whether the record contradicts the acknowledged lease: later claims start at or after its end. */
static bool past_went_back(const struct vs_past_range *range, const struct vs_record *r) {
    return !past_is_ours(range, r) && r->until < range->until;
}

static int past_say_not_ours(const struct vs_past_range *range, const struct vs_record *r, struct vesta_error *err) {
    if (past_went_back(range, r))
        return vs_fail(err, VESTA_EMISMATCH,
                       "the store has lost this lease of worker id %" PRIu64 ", so another import may have the same "
                       "ids: compare the imported ids, and run: vesta store advance",
                       range->worker);
    return vs_fail(err, VESTA_ENOTNOW,
                   "worker id %" PRIu64 " was leased again since then, so nothing of this range can be returned",
                   range->worker);
}

int vs_past_give_back(struct vs_store *store, const struct vs_past_range *range, uint64_t next,
                      struct vesta_error *err) {
    struct vs_reply reply;
    assert(next >= range->from && next <= range->until);
    for (int tries = 0; tries < PAST_UNKNOWN_MAX; tries++) {
        store->leases->read(store, range->worker, &reply);
        if (reply.outcome != VS_STORE_OK) return past_fail_store(&reply, "the store did not answer", err);
        struct vs_record r = reply.record;
        if (!past_is_ours(range, &r)) return past_say_not_ours(range, &r, err);
        if (r.until == next) return VESTA_OK;
        if (r.until < next)
            return vs_fail(err, VESTA_ENOTNOW,
                           "this range was already returned, from an earlier id on: its record ends "
                           "at tick %" PRIu64 ", before tick %" PRIu64,
                           r.until, next);
        uint64_t old_ver = r.ver++;
        r.until = next;
        r.seen_ms = store->clock->unix_us(store->clock->self) / 1000;
        store->leases->swap(store, range->worker, old_ver, &r, &reply);
        if (reply.outcome == VS_STORE_OK) return VESTA_OK;
        if (reply.outcome == VS_STORE_REFUSED || reply.outcome == VS_STORE_DOWN) break;
    }
    return past_fail_store(&reply, "the store did not confirm the change", err);
}

/* ------------------------------------------------------------------ the text of a range */

const char *vs_past_text(const struct vs_past_range *range, char buf[VESTA_PAST_TEXT_MAX]) {
    int length = snprintf(buf, VESTA_PAST_TEXT_MAX, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%016" PRIx64 "%016" PRIx64,
                          range->worker, range->from, range->until, range->owner[0], range->owner[1]);
    assert(length < VESTA_PAST_TEXT_MAX);
    (void)length;
    return buf;
}

static bool past_read_owner(struct vs_slice text, uint64_t owner[2]) {
    struct vs_slice high = {text.at, 16}, low = {text.at + 16, 16};
    return text.length == 32 && vesta_parse(VESTA_HEX, high.at, high.length, &owner[0]) == VESTA_OK &&
           vesta_parse(VESTA_HEX, low.at, low.length, &owner[1]) == VESTA_OK;
}

bool vs_past_read(const char *text, struct vs_past_range *range) {
    struct vs_slice rest = {text, strlen(text)}, part;
    uint64_t *const numbers[] = {&range->worker, &range->from, &range->until};
    for (int i = 0; i < 3; i++) {
        struct vs_slice behind;
        if (!vs_slice_split(rest, '.', &part, &behind) ||
            vesta_parse(VESTA_DECIMAL, part.at, part.length, numbers[i]) != VESTA_OK)
            return false;
        rest = behind;
    }
    return range->from < range->until && past_read_owner(rest, range->owner);
}

int vs_past_tick_of(const struct vs_past_range *range, uint64_t id, uint64_t *tick, struct vesta_error *err) {
    struct vesta_parts parts;
    int rc = vesta_explain(&range->layout, id, &parts, err);
    if (rc != VESTA_OK) return rc;
    *tick = parts.time << vs_seq(&range->layout)->width | parts.seq;
    if (*tick >= range->from && *tick < range->until && (range->layout.worker < 0 || parts.worker == range->worker))
        return VESTA_OK;
    return vs_fail(err, VESTA_EID, "%" PRIu64 " is not an id of this range: give the largest id that was made of it",
                   id);
}
