/* range.c -- the ids of an interval of time, as pairs of a smallest and a largest id. */
#include "base/error.h"
#include "id/id.h"

#include <stdio.h>

/* An interval of time, with the field values that the caller has given. */
struct span {
    const struct vesta_layout *layout;
    struct vs_values taken;
    uint64_t first, last; /* the first and the last time unit */
};

/* Returns whether a field above the time has several possible values.  Fields are ordered from the highest bit, so
 * fields above the time have lower indexes. */
static bool is_free_above(const struct span *s, int i) {
    return i < s->layout->time && !s->taken.named[i] && !s->layout->field[i].fixed;
}

static unsigned bits_above(const struct span *s) {
    unsigned bits = 0;
    for (int i = 0; i < s->layout->time; i++)
        if (is_free_above(s, i)) bits += s->layout->field[i].width;
    return bits;
}

static int too_many(const struct span *s, uint64_t need, size_t max, struct vesta_error *err) {
    char names[VS_NAMES_MAX] = "";
    size_t used = 0;
    for (int i = 0; i < s->layout->time; i++)
        if (is_free_above(s, i))
            used += (size_t)snprintf(names + used, sizeof names - used, " %s", s->layout->field[i].name);
    return vs_fail(err, VESTA_EFULL,
                   "the interval has %llu pairs of ids, not %zu: fields above the time split it. Name the value of%s",
                   (unsigned long long)need, max, names);
}

/* Returns the last time unit that begins before an instant. */
static uint64_t last_before(const struct vesta_layout *l, int64_t unix_ms) {
    bool begins_then = (unix_ms - l->epoch_ms) % l->unit_us * 1000 % l->unit_us == 0;
    uint64_t time = vs_time_in(l, unix_ms) - begins_then, max = l->field[l->time].max;
    return time < max ? time : max;
}

/* Sets the first and last time unit of [from_ms, until_ms), limited to the layout's time. */
static int take_interval(struct span *s, int64_t from_ms, int64_t until_ms, struct vesta_error *err) {
    const struct vesta_layout *l = s->layout;
    char from[VESTA_ISO_MAX], until[VESTA_ISO_MAX];
    int64_t end_ms = vesta_layout_end_ms(l);
    if (until_ms < from_ms) {
        vesta_iso(from_ms, from), vesta_iso(until_ms, until);
        return vs_fail(err, VESTA_EFIELD, "the interval ends at %s, before it starts at %s", until, from);
    }
    int64_t last_ms = until_ms > from_ms ? until_ms - 1 : from_ms;
    if (last_ms < l->epoch_ms || from_ms >= end_ms) {
        vesta_iso(l->epoch_ms, from), vesta_iso(end_ms, until);
        return vs_fail(err, VESTA_EEPOCH, "the interval is outside this layout's time, which is from %s until %s", from,
                       until);
    }
    if (from_ms < l->epoch_ms) from_ms = l->epoch_ms;
    if (last_ms >= end_ms) last_ms = end_ms - 1;
    s->first = vs_time_in(l, from_ms);
    s->last = last_before(l, last_ms + 1);
    return VESTA_OK;
}

/* Returns the k-th pair.  The bits of k are the values of the free fields above the time, starting with the lowest
 * field, so that pairs ascend.  A free field below the time is 0 in min and all ones in max. */
static struct vesta_pair pair_at(const struct span *s, uint64_t k) {
    const struct vesta_layout *l = s->layout;
    struct vesta_pair pair = {0, 0};
    for (int i = l->field_count; i-- > 0;) {
        const struct vesta_field *f = &l->field[i];
        uint64_t low = s->taken.value[i], high = s->taken.value[i];
        if (i == l->time)
            low = s->first, high = s->last;
        else if (is_free_above(s, i))
            low = high = k & f->max, k >>= f->width;
        else if (!s->taken.named[i] && !f->fixed)
            low = 0, high = f->max;
        pair.min |= vs_field_put(f, low);
        pair.max |= vs_field_put(f, high);
    }
    return pair;
}

int vesta_range(const struct vesta_layout *layout, const struct vesta_interval *interval, struct vesta_pairs *pairs,
                struct vesta_error *err) {
    struct span s = {.layout = layout};
    int rc = vs_values_take(layout, interval->given, interval->given_count, &s.taken, err);
    if (rc != VESTA_OK) return rc;
    if (s.taken.named[layout->time])
        return vs_fail(err, VESTA_EFIELD, "time cannot be given: it comes from the interval");
    if ((rc = take_interval(&s, interval->from_ms, interval->until_ms, err)) != VESTA_OK) return rc;
    uint64_t need = UINT64_C(1) << bits_above(&s);
    if (need > pairs->max) return too_many(&s, need, pairs->max, err);
    for (uint64_t k = 0; k < need; k++)
        pairs->pair[k] = pair_at(&s, k);
    pairs->count = (size_t)need;
    return VESTA_OK;
}
