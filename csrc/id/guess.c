/* guess.c -- which layouts could have made ids, and how far the ids tell.  Pure: the caller says what time it is.
 *
 * A layout is likely when what it says about the ids is little: recent times near each other, sequences near 0, the
 * same few workers again.  Each value has a probability under such habits, an id the product of its fields'; an id read
 * under a wrong layout has fields of chance, which no habit makes probable.  Beside the layouts stands none of them:
 * numbers of any size, of which the next is near the last.  That keeps the answer honest where the right layout is not
 * asked for. */
#include "id/id.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PRESETS_MAX 40
#define CLOCK_DOUBT_MS INT64_C(86400000) /* an id from a clock that is a day fast is still a likely id */
#define EPOCH_DOUBT                                                                                                    \
    0.25 /* ids tell a split, and no epoch: that of the first may be another's; unless their time is known */
#define SNOWFLAKE_MS INT64_C(1288834974657) /* an epoch of 1970 is nobody's beginning; nothing of the kind is older */
#define NONE_WEIGHT 3 /* how much likelier than one layout it is beforehand that it is none of them */

/* ------------------------------------------------------------------ products of small probabilities */

static const struct vs_chance one = {1, 0};

static struct vs_chance times(struct vs_chance c, double p) {
    int exponent;
    c.part = frexp(c.part * p, &exponent);
    c.exponent += exponent;
    return c;
}

static bool is_less(struct vs_chance a, struct vs_chance b) {
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.part < b.part;
}

/* a / b, as far as a double tells. */
static double ratio(struct vs_chance a, struct vs_chance b) {
    int64_t apart = a.exponent - b.exponent;
    return apart < -1000 ? 0 : ldexp(a.part / b.part, apart > 1000 ? 1000 : (int)apart);
}

/* The habits are assumptions, and fields of one id are no independent witnesses: half of what they say is believed,
 * which is the root of a ratio (by Newton's steps: libvesta needs no libm). */
static double believed(double ratio) {
    int exponent;
    if (!(ratio > 0)) return 0;
    frexp(ratio, &exponent);
    double root = ldexp(1, exponent / 2);
    for (int i = 0; i < 6; i++)
        root = (root + ratio / root) / 2;
    return root;
}

/* ------------------------------------------------------------------ habits */

static double log_of_bits(double bits) {
    return 0.693 * bits + 0.58;
}

/* Small numbers are likelier than large ones: machines are counted from 0, and most generators restart a sequence at
 * 0.  1 / (value + 1), divided by the sum of that over the field, which is near ln(max + 1) + 0.58. */
static double small_is_likely(uint64_t value, unsigned width) {
    return 1 / (((double)value + 1) * log_of_bits(width));
}

/* Of numbers below 2^bits: the same law, for how far the next is from the last, on either side. */
static double near_is_likely(uint64_t a, uint64_t b, unsigned bits) {
    uint64_t apart = a < b ? b - a : a - b;
    return 0.5 / (((double)apart + 1) * log_of_bits(bits));
}

/* Recent times are likelier than old ones: a density that rises from the epoch until now. */
static double recent_is_likely(const struct vesta_layout *layout, uint64_t time, int64_t now_ms) {
    int64_t from_ms = layout->epoch_ms > 0 ? layout->epoch_ms : SNOWFLAKE_MS;
    double units_so_far = (double)(now_ms - from_ms) * 1000 / layout->unit_us,
           units_before = (double)(from_ms - layout->epoch_ms) * 1000 / layout->unit_us,
           units_max = (double)layout->field[layout->time].max - units_before, since = (double)time - units_before;
    if (since < 0) since = 0;
    if (units_so_far > units_max) units_so_far = units_max;
    if (units_so_far < since) units_so_far = since; /* the day of doubt */
    return (since + 1) / ((units_so_far + 1) * (units_so_far + 1));
}

/* A worker that was seen among the earlier ids is likely to be seen again. */
static double again_is_likely(const struct vs_evidence *e, const struct vesta_field *f, size_t i, uint64_t value) {
    size_t seen = 0;
    for (size_t k = 0; k < i; k++)
        seen += vs_field_get(f, e->ids[k]) == value;
    return ((double)seen + small_is_likely(value, f->width)) / ((double)i + 1);
}

static double field_chance(const struct vs_evidence *e, const struct vesta_layout *layout, int field, size_t i) {
    const struct vesta_field *f = &layout->field[field];
    uint64_t value = vs_field_get(f, e->ids[i]);
    if (f->fixed) return 1;
    if (field == layout->time) {
        double recent = recent_is_likely(layout, value, e->now_ms);
        return i == 0 ? recent : 0.5 * recent + 0.5 * near_is_likely(value, vs_field_get(f, e->ids[i - 1]), f->width);
    }
    if (i == 0) return small_is_likely(value, f->width);
    if (field == layout->seq) return 0.5 * small_is_likely(value, f->width) + 0.5 / ((double)f->max + 1);
    return again_is_likely(e, f, i, value);
}

/* ------------------------------------------------------------------ layouts */

static bool is_possible(const struct vs_evidence *e, const struct vesta_layout *layout, uint64_t id) {
    struct vesta_parts parts;
    if (vesta_explain(layout, id, &parts, NULL) != VESTA_OK) return false;
    if (parts.unix_ms - CLOCK_DOUBT_MS > e->now_ms) return false;
    return !e->has_made ||
           (parts.unix_ms >= e->made_ms - CLOCK_DOUBT_MS && parts.unix_ms <= e->made_ms + CLOCK_DOUBT_MS);
}

static bool weigh(const struct vs_evidence *e, struct vs_suspect *suspect) {
    suspect->chance = one;
    for (size_t i = 0; i < e->count; i++) {
        if (!is_possible(e, suspect->layout, e->ids[i])) return false;
        for (int f = 0; f < suspect->layout->field_count; f++)
            suspect->chance = times(suspect->chance, field_chance(e, suspect->layout, f, i));
    }
    return true;
}

static struct vs_chance weigh_none(const struct vs_evidence *e) {
    struct vs_chance chance = times(one, NONE_WEIGHT);
    for (size_t i = 0; i < e->count; i++)
        chance = times(chance, i ? near_is_likely(e->ids[i], e->ids[i - 1], 64) : small_is_likely(e->ids[i], 64));
    return chance;
}

bool vs_guess_is_family(const struct vesta_layout *a, const struct vesta_layout *b) {
    return a->unit_us == b->unit_us && a->field[a->time].shift == b->field[b->time].shift;
}

double vs_guess_rank(const struct vs_evidence *e, struct vs_suspect *suspects, size_t *count) {
    size_t fit = 0;
    for (size_t i = 0; i < *count; i++) {
        struct vs_suspect own = suspects[i];
        if (!weigh(e, &own)) continue;
        size_t at = fit++;
        for (; at > 0 && is_less(suspects[at - 1].chance, own.chance); at--) /* equals keep their order */
            suspects[at] = suspects[at - 1];
        suspects[at] = own;
    }
    *count = fit;
    if (fit == 0) return 1;
    double none = believed(ratio(weigh_none(e), suspects[0].chance)) + (e->has_made ? 0 : EPOCH_DOUBT), sum = none;
    for (size_t i = 0; i < fit; i++)
        sum += suspects[i].share = believed(ratio(suspects[i].chance, suspects[0].chance));
    for (size_t i = 0; i < fit; i++)
        suspects[i].share /= sum;
    return none / sum;
}

size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_candidate *out, size_t max) {
    struct vesta_layout layouts[PRESETS_MAX];
    struct vs_suspect suspects[PRESETS_MAX];
    struct vs_evidence evidence = {.ids = &id, .count = 1, .now_ms = now_ms};
    size_t count = 0;
    for (; vesta_preset_at((int)count); count++) {
        assert(count < PRESETS_MAX);
        int rc = vesta_layout_parse(vesta_preset_at((int)count)->text, &layouts[count], NULL);
        assert(rc == VESTA_OK);
        (void)rc;
        suspects[count] = (struct vs_suspect){.name = vesta_preset_at((int)count)->name, .layout = &layouts[count]};
    }
    vs_guess_rank(&evidence, suspects, &count);
    if (count > max) count = max;
    for (size_t i = 0; i < count; i++) {
        out[i].preset = vs_preset_find((struct vs_slice){suspects[i].name, strlen(suspects[i].name)});
        vesta_explain(suspects[i].layout, id, &out[i].parts, NULL);
    }
    return count;
}
