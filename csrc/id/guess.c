/* guess.c -- ranks layouts by the probability that they made given ids.  The caller passes the present time.
 *
 * A layout is likely if the ids, read with it, look like those of a typical generator: recent times that are near each
 * other, sequences near 0, and a few worker ids that repeat.  Each field value gets a probability, and the probability
 * of an id is the product over its fields.  A wrong layout yields random values, which are improbable.  The layouts
 * compete with the hypothesis "none of them": numbers of any size, each near the previous one.  So no candidate gets a
 * high probability merely because the right layout is not a candidate. */
#include "base/array.h"
#include "id/id.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The furthest that the generator's clock may have been ahead. */
#define CLOCK_DOUBT_MS INT64_C(86400000)
/* The weight of a family with an unknown epoch, because ids without a known time determine only how the bits are split
 * into fields. */
#define EPOCH_DOUBT 0.25
/* The earliest likely time for layouts with the epoch 1970: the epoch of Twitter's snowflake. */
#define SNOWFLAKE_MS INT64_C(1288834974657)
/* The prior weight of "none of them", relative to one layout. */
#define NONE_WEIGHT 3

/* ------------------------------------------------------------------ products of small probabilities */

static const struct vs_chance one = {1, 0};

static struct vs_chance guess_times(struct vs_chance c, double p) {
    int exponent;
    c.part = frexp(c.part * p, &exponent);
    c.exponent += exponent;
    return c;
}

static bool guess_is_less(struct vs_chance a, struct vs_chance b) {
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.part < b.part;
}

/* Returns a / b, limited to the range of a double. */
static double guess_ratio(struct vs_chance a, struct vs_chance b) {
    int64_t apart = a.exponent - b.exponent;
    return apart < -1000 ? 0 : ldexp(a.part / b.part, apart > 1000 ? 1000 : (int)apart);
}

/* Moderates a ratio of probabilities by returning its square root, because the assumed distributions are rough and the
 * fields of an id are not independent.  Computes it by Newton's method, so that libvesta needs no libm. */
static double guess_believed(double ratio) {
    int exponent;
    if (!(ratio > 0)) return 0;
    frexp(ratio, &exponent);
    double root = ldexp(1, exponent / 2);
    for (int i = 0; i < 6; i++)
        root = (root + ratio / root) / 2;
    return root;
}

/* ------------------------------------------------------------------ probabilities of values */

static double log_of_bits(double bits) {
    return 0.693 * bits + 0.58;
}

/* Returns the probability of a number in a field where small numbers are likelier than large ones, because machines are
 * numbered from 0 and most generators restart a sequence at 0.  The result is 1 / (value + 1), divided by the sum of
 * this term over all values of the field, which is about ln(max + 1) + 0.58. */
static double small_is_likely(uint64_t value, unsigned width) {
    return 1 / (((double)value + 1) * log_of_bits(width));
}

/* Fields in which small values are hardly likelier than large ones, because by default the generator draws them at
 * random, takes them from an address, or counts up without restarting. */
static const struct {
    const char *preset, *field;
} drawn[] = {{"butterfly", "seq"},     {"butterfly-v1.0.1", "seq"},
             {"sonyflake", "machine"}, {"sonyflake-v2", "machine"},
             {"instagram", "seq"},     {"mastodon", "seq"},
             {"tsid", "worker"},       {"tsid", "seq"},
             {"seata", "worker"},      {"seata", "seq"},
             {"tid", "worker"}};
/* The weight of small values in these fields: 172.17.0.2 is a common address, and some users set a small number. */
#define SMALL_ALL_THE_SAME 0.1

static bool is_drawn(const char *preset, const char *field) {
    for (size_t i = 0; i < VS_COUNT(drawn); i++)
        if (strcmp(drawn[i].preset, preset) == 0 && strcmp(drawn[i].field, field) == 0) return true;
    return false;
}

static double guess_usual(const struct vs_suspect *suspect, const struct vesta_field *f, uint64_t value) {
    double small = small_is_likely(value, f->width);
    if (!is_drawn(suspect->name, f->name)) return small;
    return SMALL_ALL_THE_SAME * small + (1 - SMALL_ALL_THE_SAME) / ((double)f->max + 1);
}

/* Like small_is_likely, for the distance between two successive numbers below 2^bits, in either direction. */
static double near_is_likely(uint64_t a, uint64_t b, unsigned bits) {
    uint64_t apart = a < b ? b - a : a - b;
    return 0.5 / (((double)apart + 1) * log_of_bits(bits));
}

/* Returns the probability of a time.  The density rises linearly from the epoch to the present. */
static double recent_is_likely(const struct vesta_layout *layout, uint64_t time, int64_t now_ms) {
    int64_t from_ms = layout->epoch_ms > 0 ? layout->epoch_ms : SNOWFLAKE_MS;
    double units_so_far = (double)(now_ms - from_ms) * 1000 / layout->unit_us,
           units_before = (double)(from_ms - layout->epoch_ms) * 1000 / layout->unit_us,
           units_max = (double)layout->field[layout->time].max - units_before, since = (double)time - units_before;
    if (since < 0) since = 0;
    if (units_so_far > units_max) units_so_far = units_max;
    if (units_so_far < since) units_so_far = since; /* the time is later than the present, by up to CLOCK_DOUBT_MS */
    return (since + 1) / ((units_so_far + 1) * (units_so_far + 1));
}

/* Returns the probability of the i-th id under the hypothesis "none of them". */
static double none_chance(const struct vs_evidence *e, size_t i) {
    return i ? near_is_likely(e->ids[i], e->ids[i - 1], 64) : small_is_likely(e->ids[i], 64);
}

/* Returns whether the i-th id differs from the previous one only by a larger sequence. */
static bool is_same_tick(const struct vs_evidence *e, const struct vesta_layout *layout, size_t i) {
    if (i == 0 || layout->seq < 0 || e->ids[i] <= e->ids[i - 1]) return false;
    for (int f = 0; f < layout->field_count; f++)
        if (f != layout->seq &&
            vs_field_get(&layout->field[f], e->ids[i]) != vs_field_get(&layout->field[f], e->ids[i - 1]))
            return false;
    return true;
}

/* Returns the probability of a worker id, which is higher if more of the earlier ids have it. */
static double again_is_likely(const struct vs_evidence *e, const struct vesta_field *f, size_t i, double otherwise) {
    size_t seen = 0;
    for (size_t k = 0; k < i; k++)
        seen += vs_field_get(f, e->ids[k]) == vs_field_get(f, e->ids[i]);
    return ((double)seen + otherwise) / ((double)i + 1);
}

static double field_chance(const struct vs_evidence *e, const struct vs_suspect *suspect, int field, size_t i) {
    const struct vesta_layout *layout = suspect->layout;
    const struct vesta_field *f = &layout->field[field];
    uint64_t value = vs_field_get(f, e->ids[i]);
    if (f->fixed) return 1;
    if (field == layout->time) {
        double recent = recent_is_likely(layout, value, e->now_ms);
        return i == 0 ? recent : 0.5 * recent + 0.5 * near_is_likely(value, vs_field_get(f, e->ids[i - 1]), f->width);
    }
    double alone = guess_usual(suspect, f, value);
    if (i == 0) return alone;
    return field == layout->seq ? 0.5 * alone + 0.5 / ((double)f->max + 1) : again_is_likely(e, f, i, alone);
}

bool vs_guess_is_odd(const struct vs_suspect *suspect, int field, uint64_t value, int64_t now_ms) {
    const struct vesta_layout *layout = suspect->layout;
    const struct vesta_field *f = &layout->field[field];
    if (f->fixed) return false;
    if (field != layout->time) return !is_drawn(suspect->name, f->name) && value >> (f->width + 1) / 2 > 0;
    int64_t from_ms = layout->epoch_ms > 0 ? layout->epoch_ms : SNOWFLAKE_MS;
    return vs_time_ms(layout, value) < from_ms + (now_ms - from_ms) / 4;
}

/* ------------------------------------------------------------------ layouts */

static bool is_possible(const struct vs_evidence *e, const struct vesta_layout *layout, uint64_t id) {
    struct vesta_parts parts;
    if (vesta_explain(layout, id, &parts, NULL) != VESTA_OK) return false;
    if (parts.unix_ms - CLOCK_DOUBT_MS > e->now_ms) return false;
    return !e->has_made ||
           (parts.unix_ms >= e->made_ms - CLOCK_DOUBT_MS && parts.unix_ms <= e->made_ms + CLOCK_DOUBT_MS);
}

static bool guess_weigh(const struct vs_evidence *e, struct vs_suspect *suspect) {
    suspect->chance = one;
    for (size_t i = 0; i < e->count; i++) {
        if (!is_possible(e, suspect->layout, e->ids[i])) return false;
        double chance = 1;
        for (int f = 0; f < suspect->layout->field_count; f++)
            chance *= field_chance(e, suspect, f, i);
        /* In a burst each id is slightly larger than the previous one, which is also likely under "none of them".
         * Therefore such an id must not count against the layout. */
        if (is_same_tick(e, suspect->layout, i) && chance < none_chance(e, i)) chance = none_chance(e, i);
        suspect->chance = guess_times(suspect->chance, chance);
    }
    return true;
}

static struct vs_chance weigh_none(const struct vs_evidence *e) {
    struct vs_chance chance = guess_times(one, NONE_WEIGHT);
    for (size_t i = 0; i < e->count; i++)
        chance = guess_times(chance, none_chance(e, i));
    return chance;
}

bool vs_guess_is_family(const struct vesta_layout *a, const struct vesta_layout *b) {
    return a->unit_us == b->unit_us && a->field[a->time].shift == b->field[b->time].shift;
}

/* Moves the suspects that could have made all ids to the front, sorted by probability, and returns their count.
 * Suspects with equal probabilities keep their order. */
static size_t keep_possible(const struct vs_evidence *e, struct vs_suspect *suspects, size_t count) {
    size_t fit = 0;
    for (size_t i = 0; i < count; i++) {
        struct vs_suspect own = suspects[i];
        if (!guess_weigh(e, &own)) continue;
        size_t at = fit++;
        for (; at > 0 && guess_is_less(suspects[at - 1].chance, own.chance); at--)
            suspects[at] = suspects[at - 1];
        suspects[at] = own;
    }
    return fit;
}

/* Sorts the families by probability.  The likeliest family comes first, even if one layout of another family is
 * likelier than each of its members, because the ids show the position of the time field more clearly than its epoch.
 * The suspects are sorted by probability, and keep that order within a family. */
static void sort_by_family(struct vs_suspect *suspects, size_t count) {
    for (size_t first = 0, end; first < count; first = end) {
        size_t best = first;
        for (size_t i = first; i < count; i++)
            if (suspects[i].family > suspects[best].family) best = i;
        const struct vesta_layout *layout = suspects[best].layout;
        end = first;
        for (size_t i = first; i < count; i++) {
            if (!vs_guess_is_family(layout, suspects[i].layout)) continue;
            struct vs_suspect member = suspects[i];
            memmove(&suspects[end + 1], &suspects[end], (i - end) * sizeof *suspects);
            suspects[end++] = member;
        }
    }
}

/* Returns whether no earlier suspect of the family has the same epoch.  Layouts that yield equal times count only once,
 * so that a duplicate candidate adds no weight. */
static bool is_first_of_its_epoch(const struct vs_suspect *suspects, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (suspects[k].layout->epoch_ms == suspects[i].layout->epoch_ms &&
            vs_guess_is_family(suspects[k].layout, suspects[i].layout))
            return false;
    return true;
}

/* Sets family and share of each suspect, and returns the weight of the heaviest family.  A family's weight is the sum
 * over its epochs, which are equally likely in advance.  Its members share that weight.  The suspects are sorted by
 * probability. */
static double weigh_families(struct vs_suspect *suspects, size_t count, struct vs_chance best) {
    double heaviest = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0, beliefs = 0;
        for (size_t k = 0; k < count; k++) {
            if (!vs_guess_is_family(suspects[i].layout, suspects[k].layout)) continue;
            if (is_first_of_its_epoch(suspects, k)) sum += guess_ratio(suspects[k].chance, best);
            beliefs += guess_believed(guess_ratio(suspects[k].chance, best));
        }
        suspects[i].family = guess_believed(sum);
        suspects[i].share =
            beliefs > 0 ? suspects[i].family * guess_believed(guess_ratio(suspects[i].chance, best)) / beliefs : 0;
        if (suspects[i].family > heaviest) heaviest = suspects[i].family;
    }
    return heaviest;
}

double vs_guess_rank(const struct vs_evidence *e, struct vs_suspect *suspects, size_t *count) {
    size_t fit = *count = keep_possible(e, suspects, *count);
    if (fit == 0) return 1;
    struct vs_chance best = suspects[0].chance;
    double heaviest = weigh_families(suspects, fit, best);
    double none = guess_believed(guess_ratio(weigh_none(e), best)) + (e->has_made ? 0 : EPOCH_DOUBT * heaviest),
           sum = none;
    for (size_t i = 0; i < fit; i++)
        sum += suspects[i].share;
    for (size_t i = 0; i < fit; i++)
        suspects[i].share /= sum, suspects[i].family /= sum;
    sort_by_family(suspects, fit);
    return none / sum;
}

size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_candidate *out, size_t max) {
    struct vesta_layout layouts[VS_PRESETS_MAX];
    struct vs_suspect suspects[VS_PRESETS_MAX];
    struct vs_evidence evidence = {.ids = &id, .count = 1, .now_ms = now_ms};
    size_t count = 0;
    for (; vesta_preset_at((int)count); count++) {
        assert(count < VS_PRESETS_MAX);
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
