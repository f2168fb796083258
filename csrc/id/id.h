/* id.h -- layouts and ids, for this folder and for the code that makes ids.  Pure: no clock, no I/O, no generator. */
#ifndef VS_ID_H
#define VS_ID_H

#include "base/slice.h"
#include "vesta.h"

#include <assert.h>

const struct vesta_preset *vs_preset_find(struct vs_slice name);

/* The name of the preset that a misspelt name was probably meant to be, or NULL. */
const char *vs_preset_meant(struct vs_slice word);

#define VS_PRESETS_MAX 40 /* more than the number of presets */

/* The default of the field `method`: the value that Vesta (Java) writes over REST.  It is the same in servers and
 * programs, so that ids of a namespace sort by time although the field is above the time. */
#define VS_METHOD_DEFAULT 2
#define VS_METHOD_BY_PROTOCOL "by_protocol"

/* The index of the field `method` if a handle may choose its value, else -1. */
int vs_method_at(const struct vesta_layout *layout);

/* Reads a handle's constant fields ("version=0 region=1") and its method (a number or by_protocol) into values[], in
 * the order of layout->field.  Other fields get their constant, or VS_METHOD_DEFAULT (at most the field's maximum), or
 * 0.  text and method may be NULL.  Errors: VESTA_EFIELD, VESTA_EOPTION. */
int vs_fields_parse(const struct vesta_layout *layout, const char *text, const char *method, uint64_t *values,
                    struct vesta_error *err);

/* The name of the preset with this layout, else the text, for messages. */
const char *vs_layout_shown(const char *text);
/* The first preset with this fingerprint, or NULL. */
const struct vesta_preset *vs_preset_of(uint64_t fingerprint);

/* VESTA_OK if field i may have this value.  Otherwise VESTA_EFIELD with the field, the value and the valid values. */
int vs_field_check(const struct vesta_layout *layout, int i, uint64_t value, struct vesta_error *err);

struct vs_values {
    uint64_t value[VESTA_FIELDS_MAX];
    bool named[VESTA_FIELDS_MAX]; /* false: `value` is the field's constant, or 0 */
};

/* Sets the named values, and the layout's constants for other fields.  value[] and named[] have the order of
 * layout->field.  `worker` and `machine` name the same field.
 * Errors: VESTA_EFIELD for a name that is unknown or repeated, or a value that is not valid. */
int vs_values_take(const struct vesta_layout *layout, const struct vesta_value *given, size_t count,
                   struct vs_values *out, struct vesta_error *err);

/* Puts a field's value at its place in an id, and reads it back.  The low bits of a sequence may have a separate place.
 */
static inline uint64_t vs_field_put(const struct vesta_field *f, uint64_t value) {
    uint64_t low = value & ((UINT64_C(1) << f->low_width) - 1);
    return value >> f->low_width << f->shift | low << f->low_shift;
}

static inline uint64_t vs_field_get(const struct vesta_field *f, uint64_t id) {
    uint64_t low = id >> f->low_shift & ((UINT64_C(1) << f->low_width) - 1);
    return (id >> f->shift & f->max >> f->low_width) << f->low_width | low;
}

/* Adjacent bits of a layout: a whole field, or one of the two parts of a sequence. */
struct vs_part {
    int field; /* index into layout->field */
    unsigned width, shift;
    bool is_low; /* the lower part of a sequence with two parts */
};

/* The parts of a layout, from the highest bit to the lowest.  Shape: out[VS_PARTS_MAX].  Returns their count. */
#define VS_PARTS_MAX VESTA_FIELDS_MAX
int vs_parts_of(const struct vesta_layout *layout, struct vs_part *out);

/* The sequence.  If the layout has none, a field of 0 bits, which is always 0. */
static inline const struct vesta_field *vs_seq(const struct vesta_layout *layout) {
    static const struct vesta_field none = {.name = "seq"};
    return layout->seq >= 0 ? &layout->field[layout->seq] : &none;
}

/* The highest worker id, or 0 if no field is leased. */
static inline uint64_t vs_worker_max(const struct vesta_layout *layout) {
    return layout->worker >= 0 ? layout->field[layout->worker].max : 0;
}

/* Whether each id of `part` is also an id of `whole`, which has the same fingerprint: `part` may have more constants.
 */
bool vs_layout_is_part(const struct vesta_layout *part, const struct vesta_layout *whole);
/* Whether two layouts have the same ids.  seq_start does not matter. */
static inline bool vs_layout_is_same(const struct vesta_layout *a, const struct vesta_layout *b) {
    return vs_layout_is_part(a, b) && vs_layout_is_part(b, a);
}
/* Compares a layout with the layout `theirs` that a file or a store has for it.  Returns the constant of theirs that
 * the layout does not keep, such as "version:1=0, not version:1=1" or "..., not version:1" if it is not constant.  More
 * constants than theirs are allowed.  NULL: no difference, or theirs has another fingerprint.
 * Shape: buf of VS_DEPARTURE_MAX bytes. */
#define VS_DEPARTURE_MAX 96
const char *vs_layout_departs(const struct vesta_layout *layout, const char *theirs, char *buf);

/* A time unit as written in a layout: "10us", "1ms".  Shape: buf of VS_UNIT_MAX bytes. */
#define VS_UNIT_MAX 16
#define VS_UNIT_US_MAX 1000000
#define VS_UNITS "from 1us to 1s, such as 10us, 1ms or 100ms, and a second is a multiple of it"
const char *vs_unit_text(int32_t unit_us, char *buf);
int32_t vs_unit_read(struct vs_slice text); /* 0: not a valid unit */

static inline const char *vs_unit(const struct vesta_layout *layout, char *buf) {
    return vs_unit_text(layout->unit_us, buf);
}

/* vesta_fit with a given unit, or with fewer bits: JavaScript numbers are exact up to 53 bits.
 * Errors: VESTA_EFIELD with the reason if the need does not fit. */
struct vs_fit_how {
    int32_t unit_us; /* 0: the finest of vesta_fit's units that suffices */
    int bits;        /* VS_FIT_BITS_MIN to 63. 0: 63 */
};
#define VS_FIT_BITS_MIN 32
int vs_fit_as(const struct vesta_fit_need *need, const struct vs_fit_how *how, struct vesta_proposal *out,
              struct vesta_error *err);

/* The names of a layout's fields, for messages. */
#define VS_NAMES_MAX (VESTA_FIELDS_MAX * VESTA_NAME_MAX)
#define VS_NAMES(layout) vs_names((layout), (char[VS_NAMES_MAX]){0})
const char *vs_names(const struct vesta_layout *layout, char *buf);

/* The bits of a handle's fields and its worker id.  values[] are those of vs_fields_parse (time and seq are ignored).
 * The worker id must fit: the code that leases it checks it with vs_field_check. */
static inline uint64_t vs_layout_base(const struct vesta_layout *layout, uint64_t worker, const uint64_t *values) {
    uint64_t base = 0;
    for (int i = 0; i < layout->field_count; i++) {
        if (i == layout->time || i == layout->seq) continue;
        uint64_t value = i == layout->worker ? worker : values[i];
        assert(value <= layout->field[i].max);
        base |= vs_field_put(&layout->field[i], value);
    }
    return base;
}

/* The start of a time unit in Unix milliseconds, rounded down.  Never overflows: 2^53 s and the year 9999 fit. */
static inline int64_t vs_time_ms(const struct vesta_layout *layout, uint64_t time) {
    int64_t thousands = (int64_t)(time / 1000), rest = (int64_t)(time % 1000);
    return layout->epoch_ms + thousands * layout->unit_us + rest * layout->unit_us / 1000;
}

/* The time unit that contains the start of a millisecond, which must not be before the epoch.  It may exceed the field.
 */
static inline uint64_t vs_time_in(const struct vesta_layout *layout, int64_t unix_ms) {
    int64_t since_ms = unix_ms - layout->epoch_ms, unit_us = layout->unit_us;
    return (uint64_t)(since_ms / unit_us * 1000 + since_ms % unit_us * 1000 / unit_us);
}

/* ------------------------------------------------------------------ guessing */

/* A probability that is too small for a double: part * 2^exponent. */
struct vs_chance {
    double part;
    int64_t exponent;
};

/* A layout that may have made ids.  `share` is its probability, from 0 to 1, and `family` the sum over all layouts that
 * have the time in the same bits. */
struct vs_suspect {
    const char *name;
    const struct vesta_layout *layout;
    double share, family;
    struct vs_chance chance;
};

struct vs_evidence {
    const uint64_t *ids; /* of one layout, ascending */
    size_t count;        /* at least 1 */
    int64_t now_ms, made_ms;
    bool has_made; /* the ids were made within a day of made_ms */
};

/* Whether two layouts have the time in the same bits with the same unit.  Ids distinguish them by the epoch alone. */
bool vs_guess_is_family(const struct vesta_layout *a, const struct vesta_layout *b);

/* Keeps the suspects that can have made all ids.  Sorts them by family, the likeliest first, and within a family by
 * probability.  Equal ones keep their order.  Returns the probability that no suspect made them, or one with another
 * epoch.  Its run time grows with the square of the number of ids. */
double vs_guess_rank(const struct vs_evidence *evidence, struct vs_suspect *suspects, size_t *count);

/* Whether a field's value makes a layout unlikely: a time in the first quarter of the layout's past, or a number that
 * uses more than half of its bits if small ones are usual. */
bool vs_guess_is_odd(const struct vs_suspect *suspect, int field, uint64_t value, int64_t now_ms);

#endif
