/* mark.c -- computes watermarks from records.  See mark.h. */
#include "lease/mark.h"

#include <assert.h>

/* How long a claim waits for the end of a lease without `low`, from a store on this host, after its last renewal. */
#define MARK_SILENT_MS INT64_C(3600000)

/* Returns whether the instants of CLOCK_BOOTTIME in a record may be of this boot.  Its deadline was at most a lease or a
 * window ahead when it was written. */
static bool mark_is_this_boot(const struct vs_record *r, const struct vs_mark_now *now) {
    int64_t most_ms = r->lease_ms > VS_STANDING_WINDOW_MS_MAX ? r->lease_ms : VS_STANDING_WINDOW_MS_MAX;
    return r->stop_ms - now->boot_ms <= most_ms + VS_MARK_LAG_MS;
}

static bool mark_is_running(const struct vs_record *r, const struct vs_mark_now *now) {
    return now->boot_ms <= r->stop_ms && mark_is_this_boot(r, now);
}

bool vs_mark_is_pinned(const struct vs_record *r, const struct vs_mark_now *now) {
    if (r->pin_ms == VS_PIN_EVER || !r->pin_ms) return r->pin_ms;
    return r->stop_ms ? now->boot_ms <= r->pin_ms && mark_is_this_boot(r, now) : now->store_ms <= r->pin_ms;
}

/* Returns how much longer than its length a lease is waited for.  Without `low`, a lease from a store on this host has
 * no deadline, so only a clock that was set back by an hour could revive it.  Otherwise the lag covers a store's clock
 * that was set by a few seconds. */
static int64_t mark_slack_ms(const struct vs_record *r, const struct vs_mark_now *now) {
    return now->by_boot && !r->has_low ? MARK_SILENT_MS : VS_MARK_LAG_MS;
}

/* Returns whether the holder has passed its deadline, if it has one. */
static bool mark_has_expired(const struct vs_record *r, const struct vs_shape *shape, const struct vs_mark_now *now) {
    int64_t age_ms = now->store_ms - r->written_ms, length_ms = vs_standing_length_ms(r, shape);
    if (!r->held || vs_mark_is_pinned(r, now) || age_ms <= length_ms) return false;
    if (r->stop_ms) return !mark_is_running(r, now);
    return age_ms > length_ms + mark_slack_ms(r, now);
}

/* A holder without `low` may have history pacing.  Then its generator file can issue ids of the lease at any time. */
bool vs_mark_is_over(const struct vs_record *r, const struct vs_shape *shape, const struct vs_mark_now *now) {
    return r->has_low && mark_has_expired(r, shape, now);
}

void vs_mark_end(struct vs_record *r) {
    assert(r->held);
    r->ver++;
    r->held = false;
    r->has_low = true;
    r->low = r->until;
    r->pin_ms = 0;
}

/* Returns until when the holder of a record may issue, by the clock of `now`. */
static int64_t mark_stops_ms(const struct vs_record *r, const struct vs_shape *shape, const struct vs_mark_now *now) {
    int64_t length_ms = vs_standing_length_ms(r, shape) + mark_slack_ms(r, now);
    if (now->by_boot && r->stop_ms && mark_is_running(r, now)) return r->stop_ms;
    return (now->by_boot ? now->boot_ms : now->store_ms) + length_ms;
}

void vs_mark_put(struct vs_record *r, const struct vs_record *was, const struct vs_shape *shape,
                 const struct vs_mark_write *write, const struct vs_mark_now *now) {
    bool is_pinned = vs_mark_is_pinned(was, now), same_clock = (was->stop_ms != 0) == now->by_boot;
    bool is_early = write->claims && was->held && (is_pinned || !mark_has_expired(was, shape, now));
    int64_t stops_ms = is_early || (is_pinned && !same_clock) ? mark_stops_ms(was, shape, now) : 0;
    r->has_low = true;
    r->stop_ms = now->by_boot ? write->stop_ms : 0;
    r->low = write->cursor;
    r->pin_ms = 0;
    if (is_pinned || is_early) {
        bool is_kept = is_pinned && (was->pin_ms == VS_PIN_EVER || (same_clock && was->pin_ms > stops_ms));
        r->low = was->has_low ? was->low : VS_LOW_NONE;
        r->pin_ms = is_kept ? was->pin_ms : stops_ms;
    }
    if (r->low > r->until) r->low = r->until; /* a lease may start above its first bound, if the namespace has a floor */
    if (write->is_history) {
        r->low = write->releases ? write->cursor : VS_LOW_NONE;
        r->pin_ms = write->releases ? 0 : VS_PIN_EVER;
    }
}

static enum vs_mark_by mark_by(const struct vs_record *r, uint64_t fingerprint, bool is_pinned) {
    if (r->has_low && r->pin_ms == VS_PIN_EVER) return VS_MARK_BY_HISTORY;
    if (!r->has_low || r->fingerprint != fingerprint) return VS_MARK_BY_SILENT;
    return is_pinned ? VS_MARK_BY_EARLIER : VS_MARK_BY_HOLDER;
}

struct vs_lease_mark vs_mark_of(struct vs_listing listing, const struct vs_shape *shape, uint64_t fingerprint,
                                int64_t mark_ms, const struct vs_mark_now *now) {
    struct vs_lease_mark mark = {.tick = vs_tick_at(shape, mark_ms * 1000), .by = VS_MARK_BY_NONE};
    assert(mark_ms > 0);
    for (size_t i = 0; i < listing.count; i++) {
        const struct vs_record *r = &listing.listed[i].record;
        bool is_pinned = vs_mark_is_pinned(r, now);
        if (!r->held && !is_pinned) continue;
        if (mark.by == VS_MARK_BY_NONE) mark.by = VS_MARK_BY_CLOCK;
        enum vs_mark_by by = mark_by(r, fingerprint, is_pinned);
        uint64_t low = by >= VS_MARK_BY_SILENT ? 0 : r->low;
        if (low > mark.tick || (mark.tick == 0 && by <= mark.by)) continue;
        mark = (struct vs_lease_mark){low, by, &listing.listed[i]};
    }
    return mark;
}

/* Returns the first instant above every id of the unit before `tick`. */
static int64_t mark_above_ms(const struct vs_shape *shape, uint64_t tick) {
    uint64_t unit = (tick + ((UINT64_C(1) << shape->seq_bits) - 1)) >> shape->seq_bits;
    int64_t us = vs_tick_unix_us(shape, unit << shape->seq_bits);
    return us / 1000 + (us % 1000 > 0);
}

int64_t vs_mark_first_ms(const struct vs_shape *shape) {
    int64_t ms = mark_above_ms(shape, 1);
    return ms > 0 ? ms : 1;
}

/* Returns the end of the last lease.  Ignores leases of a clock that was ahead, reserved ticks, and other layouts. */
static uint64_t mark_last(struct vs_listing listing, const struct vs_shape *shape, uint64_t fingerprint,
                          int64_t store_ms) {
    uint64_t last = 0, ahead = vs_tick_at(shape, (store_ms + VS_MARK_LAG_MS) * 1000);
    for (size_t i = 0; i < listing.count; i++) {
        const struct vs_record *r = &listing.listed[i].record;
        if (r->fingerprint == fingerprint && r->until > last && r->until <= ahead) last = r->until;
    }
    return last;
}

int64_t vs_mark_due_ms(struct vs_listing listing, const struct vs_shape *shape, uint64_t fingerprint, int64_t mark_ms,
                       const struct vs_mark_now *now) {
    int64_t due_ms = now->store_ms - VS_MARK_LAG_MS;
    if (due_ms <= 0) return 0;
    struct vs_lease_mark lowest = vs_mark_of(listing, shape, fingerprint, due_ms, now);
    bool is_any_held = lowest.by != VS_MARK_BY_NONE;
    uint64_t tick = is_any_held ? lowest.tick : mark_last(listing, shape, fingerprint, now->store_ms);
    int64_t most_ms = mark_above_ms(shape, tick);
    if (most_ms < due_ms) due_ms = most_ms;
    return tick > 0 && due_ms - mark_ms >= (is_any_held ? VS_MARK_STEP_MS : 1) ? due_ms : 0;
}
