/* id.h -- layouts and ids, for this folder and for the code that issues ids.  Pure: no clock, no I/O, no generator. */
#ifndef VS_ID_H
#define VS_ID_H

#include "base/slice.h"
#include "vesta.h"

#include <assert.h>

/* Returns the preset with this name, or NULL. */
const struct vesta_preset *vs_preset_find(struct vs_slice name);

/* Returns the name of the preset that `word` probably misspells, or NULL. */
const char *vs_preset_meant(struct vs_slice word);

#define VS_PRESETS_MAX 40 /* at least the number of presets */

/* The default of the field `method`: the value that Vesta (Java) uses for REST.  Servers and programs use the same
 * default, because the field is above the time, so ids with different values would not sort by time. */
#define VS_METHOD_DEFAULT 2
#define VS_METHOD_BY_PROTOCOL "by_protocol"

/* Returns the index of the field `method` if the layout has it and does not fix its value, else -1. */
int vs_method_at(const struct vesta_layout *layout);

/* Sets values[], in the order of layout->field, from a handle's fields ("version=0 region=1") and its method (a number
 * or by_protocol).  If text sets no value for a field, it gets the layout's constant or 0, except that `method`
 * defaults to VS_METHOD_DEFAULT or the field's maximum, whichever is lower.  text and method may be NULL.
 * Errors: VESTA_EFIELD, VESTA_EOPTION. */
int vs_fields_parse(const struct vesta_layout *layout, const char *text, const char *method, uint64_t *values,
                    struct vesta_error *err);

/* For messages: returns the name of the preset with this layout, or `text` if there is no such preset. */
const char *vs_layout_shown(const char *text);
/* Returns the first preset with this fingerprint, or NULL. */
const struct vesta_preset *vs_preset_of(uint64_t fingerprint);

/* Checks whether field i may have this value.  Errors: VESTA_EFIELD with the field, the value and the valid values. */
int vs_field_check(const struct vesta_layout *layout, int i, uint64_t value, struct vesta_error *err);

/* The value of each field, in the order of layout->field. */
struct vs_values {
    uint64_t value[VESTA_FIELDS_MAX];
    bool named[VESTA_FIELDS_MAX]; /* false if `value` is a default: the field's constant, or 0 */
};

/* Sets the given values, and the layout's constants or 0 for the other fields.  `worker` and `machine` name the same
 * field.
 * Errors: VESTA_EFIELD if a name is unknown or repeated, or a value is not valid. */
int vs_values_take(const struct vesta_layout *layout, const struct vesta_value *given, size_t count,
                   struct vs_values *out, struct vesta_error *err);

/* Move a field's value to its bits in an id, and read it from there.  The low bits of a sequence may be separate from
 * its high bits. */
static inline uint64_t vs_field_put(const struct vesta_field *f, uint64_t value) {
    uint64_t low = value & ((UINT64_C(1) << f->low_width) - 1);
    return value >> f->low_width << f->shift | low << f->low_shift;
}

static inline uint64_t vs_field_get(const struct vesta_field *f, uint64_t id) {
    uint64_t low = id >> f->low_shift & ((UINT64_C(1) << f->low_width) - 1);
    return (id >> f->shift & f->max >> f->low_width) << f->low_width | low;
}

/* A contiguous part of an id: a whole field, or one of the two parts of a sequence. */
struct vs_part {
    int field; /* index into layout->field */
    unsigned width, shift;
    bool is_low; /* true for the lower part of a sequence with two parts */
};

/* Lists the parts of a layout from the highest bit to the lowest, and returns their count.  Shape: out[VS_PARTS_MAX].
 */
#define VS_PARTS_MAX VESTA_FIELDS_MAX
int vs_parts_of(const struct vesta_layout *layout, struct vs_part *out);

/* Returns the sequence field.  If the layout has none, returns a field of 0 bits, which is always 0. */
static inline const struct vesta_field *vs_seq(const struct vesta_layout *layout) {
    static const struct vesta_field none = {.name = "seq"};
    return layout->seq >= 0 ? &layout->field[layout->seq] : &none;
}

/* Returns the highest worker id, or 0 if the layout has no leased field. */
static inline uint64_t vs_worker_max(const struct vesta_layout *layout) {
    return layout->worker >= 0 ? layout->field[layout->worker].max : 0;
}

/* Returns whether every id of `part` is also an id of `whole`: the layouts have the same fingerprint, and `part` has
 * all constants of `whole` and perhaps more. */
bool vs_layout_is_part(const struct vesta_layout *part, const struct vesta_layout *whole);
/* Returns whether two layouts have the same ids, ignoring seq_start. */
static inline bool vs_layout_is_same(const struct vesta_layout *a, const struct vesta_layout *b) {
    return vs_layout_is_part(a, b) && vs_layout_is_part(b, a);
}
/* Compares a layout with the recorded layout `theirs` of a file or a store.  Returns the first constant of the recorded
 * layout that differs, for example "version:1=0, not version:1=1", or "version:1=0, not version:1" if the field is not
 * constant in `layout`.  Returns NULL if all recorded constants are kept, or if the fingerprints differ.  `layout` may
 * have additional constants.
 * Shape: buf has VS_DEPARTURE_MAX bytes. */
#define VS_DEPARTURE_MAX 96
const char *vs_layout_departs(const struct vesta_layout *layout, const char *theirs, char *buf);

/* Writes a time unit in the form that a layout uses, such as "10us" or "1ms".  Shape: buf has VS_UNIT_MAX bytes. */
#define VS_UNIT_MAX 16
#define VS_UNIT_US_MAX 1000000
#define VS_UNITS "from 1us to 1s, such as 10us, 1ms or 100ms, and a second is a multiple of it"
const char *vs_unit_text(int32_t unit_us, char *buf);
/* Parses a time unit into microseconds.  Returns 0 if it is not valid. */
int32_t vs_unit_read(struct vs_slice text);

static inline const char *vs_unit(const struct vesta_layout *layout, char *buf) {
    return vs_unit_text(layout->unit_us, buf);
}

/* Like vesta_fit, with a given unit or with fewer bits, for example 53 for JavaScript numbers.
 * Errors: VESTA_EFIELD with the reason if the need does not fit. */
struct vs_fit_how {
    int32_t unit_us; /* 0: vesta_fit chooses the unit */
    int bits;        /* VS_FIT_BITS_MIN to 63. 0: 63 */
};
#define VS_FIT_BITS_MIN 32
int vs_fit_as(const struct vesta_fit_need *need, const struct vs_fit_how *how, struct vesta_proposal *out,
              struct vesta_error *err);

/* Returns the names of a layout's fields, separated by spaces, for messages. */
#define VS_NAMES_MAX (VESTA_FIELDS_MAX * VESTA_NAME_MAX)
#define VS_NAMES(layout) vs_names((layout), (char[VS_NAMES_MAX]){0})
const char *vs_names(const struct vesta_layout *layout, char *buf);

/* Returns the bits of an id except those of time and sequence: the worker id, and values[] as set by vs_fields_parse.
 * The caller has checked the worker id with vs_field_check. */
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

/* Returns the start of a time unit in Unix milliseconds, rounded down.  It cannot overflow, even with 2^53 units of 1 s
 * and an epoch in the year 9999. */
static inline int64_t vs_time_ms(const struct vesta_layout *layout, uint64_t time) {
    int64_t thousands = (int64_t)(time / 1000), rest = (int64_t)(time % 1000);
    return layout->epoch_ms + thousands * layout->unit_us + rest * layout->unit_us / 1000;
}

/* Returns the time unit that contains the start of a millisecond, which must not be before the epoch.  The result may
 * exceed the field's maximum. */
static inline uint64_t vs_time_in(const struct vesta_layout *layout, int64_t unix_ms) {
    int64_t since_ms = unix_ms - layout->epoch_ms, unit_us = layout->unit_us;
    return (uint64_t)(since_ms / unit_us * 1000 + since_ms % unit_us * 1000 / unit_us);
}

/* ------------------------------------------------------------------ shards */

#define VS_SHARDS_BITS 10 /* a plan is for up to 1,024 shards */

/* How to choose shards, so that each gets equally many ids of a worker that issues few ids. */
struct vs_shards_plan {
    unsigned below; /* these lowest bits are equal in all ids of a worker */
    unsigned shift; /* choose the shard by (id >> shift) % N */
    unsigned max;   /* seq_start=shards:N is possible up to this N */
    /* For N above max: */
    bool by_history;      /* (id >> shift) % N is even with history pacing */
    char wider[64];       /* words that widen the sequence, which makes another layout, or "" */
    unsigned wider_shift; /* `shift` of that layout */
};
void vs_shards_plan(const struct vesta_layout *layout, struct vs_shards_plan *out);

/* ------------------------------------------------------------------ guessing */

/* A probability that may be too small for a double: part * 2^exponent. */
struct vs_chance {
    double part;
    int64_t exponent;
};

/* A layout that may have made the ids.  `share` is its probability, from 0 to 1.  `family` is the probability of its
 * family.  A family is all layouts that have the time in the same bits.  vs_guess_rank sets share, family and chance.
 */
struct vs_suspect {
    const char *name;
    const struct vesta_layout *layout;
    double share, family;
    struct vs_chance chance;
};

struct vs_evidence {
    const uint64_t *ids; /* made under one layout, ascending */
    size_t count;        /* at least 1 */
    int64_t now_ms, made_ms;
    bool has_made; /* true if the ids were made within a day of made_ms */
};

/* Returns whether two layouts have the time in the same bits with the same unit.  An id's time bits then fit both
 * layouts, and only the epoch makes one of them likelier. */
bool vs_guess_is_family(const struct vesta_layout *a, const struct vesta_layout *b);

/* Keeps only the suspects that could have made all the ids.  Sorts them by family, the likeliest first, and within a
 * family by probability.  Suspects with equal probabilities keep their order.  Returns the probability that the ids
 * were made by a layout that is not among the suspects, or with a different epoch.  The run time grows with the square
 * of the number of ids. */
double vs_guess_rank(const struct vs_evidence *evidence, struct vs_suspect *suspects, size_t *count);

/* Returns whether a field's value makes a layout unlikely: a time in the first quarter between epoch and present, or a
 * large number (one that needs more than half of the field's bits) in a field that usually has small ones. */
bool vs_guess_is_odd(const struct vs_suspect *suspect, int field, uint64_t value, int64_t now_ms);

#endif
