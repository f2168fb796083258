/* id.h -- layouts and the ids that they describe: what the files of this folder share with each other and with who
 * makes ids.  Pure: no clock, no I/O, no generator. */
#ifndef VS_ID_H
#define VS_ID_H

#include "base/slice.h"
#include "vesta.h"

#include <assert.h>

/* The preset of that name, or NULL. */
const struct vesta_preset *vs_preset_find(struct vs_slice name);

/* The preset that a misspelt name was probably meant to be, or NULL. */
const char *vs_preset_meant(struct vs_slice word);

#define VS_PRESETS_MAX 40 /* room for all of them in a list */

/* The value of the field `method` unless a handle sets another one: what Vesta (Java) writes over REST.  It is the same
 * in servers and programs, so that ids of a namespace sort by time although the field is above the time. */
#define VS_METHOD_DEFAULT 2
#define VS_METHOD_BY_PROTOCOL "by_protocol"

/* The index of the field `method` if a handle may choose its value, else -1. */
int vs_method_at(const struct vesta_layout *layout);

/* Reads a handle's constant fields, "version=0 region=1", and its method, a number or by_protocol, into values[] in the
 * order of layout->field.  The other fields get their constant, VS_METHOD_DEFAULT (at most the field's maximum) or 0.
 * text and method may be NULL.  Errors: VESTA_EFIELD, VESTA_EOPTION. */
int vs_fields_parse(const struct vesta_layout *layout, const char *text, const char *method, uint64_t *values,
                    struct vesta_error *err);

/* The preset that a layout's text is of, else the text: as messages show it. */
const char *vs_layout_shown(const char *text);
/* The first preset with that fingerprint, or NULL. */
const struct vesta_preset *vs_preset_of(uint64_t fingerprint);

/* VESTA_OK if field i may have this value; else VESTA_EFIELD with the field, the value and what it may be. */
int vs_field_check(const struct vesta_layout *layout, int i, uint64_t value, struct vesta_error *err);

struct vs_values {
    uint64_t value[VESTA_FIELDS_MAX];
    bool named[VESTA_FIELDS_MAX]; /* it was given: the others are constants, or 0 */
};

/* Lays named values over a layout's constants: values[] and named[] follow layout->field.  `worker` and `machine` name
 * the same field.  Errors: VESTA_EFIELD for a name that is unknown or twice, a value that cannot be. */
int vs_values_take(const struct vesta_layout *layout, const struct vesta_value *given, size_t count,
                   struct vs_values *out, struct vesta_error *err);

/* Where a field's value stands in an id, and back; the low bits of a sequence may stand apart. */
static inline uint64_t vs_field_put(const struct vesta_field *f, uint64_t value) {
    uint64_t low = value & ((UINT64_C(1) << f->low_width) - 1);
    return value >> f->low_width << f->shift | low << f->low_shift;
}

static inline uint64_t vs_field_get(const struct vesta_field *f, uint64_t id) {
    uint64_t low = id >> f->low_shift & ((UINT64_C(1) << f->low_width) - 1);
    return (id >> f->shift & f->max >> f->low_width) << f->low_width | low;
}

/* A run of bits of a layout: a whole field, or one of the two parts of a sequence. */
struct vs_part {
    int field; /* index into layout->field */
    unsigned width, shift;
    bool is_low; /* the low bits of a sequence that stands in two parts */
};

/* The parts of a layout, from the highest bit to the lowest.  Shape: out[VS_PARTS_MAX]; returns how many. */
#define VS_PARTS_MAX VESTA_FIELDS_MAX
int vs_parts_of(const struct vesta_layout *layout, struct vs_part *out);

/* The sequence; where a layout has none, one of 0 bits, which is always 0. */
static inline const struct vesta_field *vs_seq(const struct vesta_layout *layout) {
    static const struct vesta_field none = {.name = "seq"};
    return layout->seq >= 0 ? &layout->field[layout->seq] : &none;
}

/* The highest worker number; 0 where no field is leased. */
static inline uint64_t vs_worker_max(const struct vesta_layout *layout) {
    return layout->worker >= 0 ? layout->field[layout->worker].max : 0;
}

/* Whether each id of a layout is one of another of its fingerprint, too: it may fix what that leaves free. */
bool vs_layout_is_part(const struct vesta_layout *part, const struct vesta_layout *whole);
/* Whether two layouts have the same ids.  Where a sequence starts is no part of what ids can be. */
static inline bool vs_layout_is_same(const struct vesta_layout *a, const struct vesta_layout *b) {
    return vs_layout_is_part(a, b) && vs_layout_is_part(b, a);
}
/* What keeps ids of a layout from being ids of the one that a file or a store has for it: a constant, as "version:1=0,
 * not version:1=1" or, where it is left free, "..., not version:1".  It may fix what theirs leaves free.  NULL:
 * nothing, or theirs is no layout of this fingerprint.  Shape: buf of VS_DEPARTURE_MAX bytes. */
#define VS_DEPARTURE_MAX 96
const char *vs_layout_departs(const struct vesta_layout *layout, const char *theirs, char *buf);

/* A time unit as a layout's text has it: "10us", "1ms".  Shape: buf of VS_UNIT_MAX bytes. */
#define VS_UNIT_MAX 16
#define VS_UNIT_US_MAX 1000000
#define VS_UNITS "from 1us to 1s, such as 10us, 1ms or 100ms, and a second is a multiple of it"
const char *vs_unit_text(int32_t unit_us, char *buf);
int32_t vs_unit_read(struct vs_slice text); /* 0: it is no unit */

static inline const char *vs_unit(const struct vesta_layout *layout, char *buf) {
    return vs_unit_text(layout->unit_us, buf);
}

/* vesta_fit with a unit that is given, or in fewer bits: 53 are exact as a number of JavaScript.  Errors: VESTA_EFIELD,
 * if the need does not fit; the text says why. */
struct vs_fit_how {
    int32_t unit_us; /* 0: the finest of vesta_fit's units that is enough */
    int bits;        /* VS_FIT_BITS_MIN to 63; 0: 63 */
};
#define VS_FIT_BITS_MIN 32
int vs_fit_as(const struct vesta_fit_need *need, const struct vs_fit_how *how, struct vesta_proposal *out,
              struct vesta_error *err);

/* The names of a layout's fields, for a message. */
#define VS_NAMES_MAX (VESTA_FIELDS_MAX * VESTA_NAME_MAX)
#define VS_NAMES(layout) vs_names((layout), (char[VS_NAMES_MAX]){0})
const char *vs_names(const struct vesta_layout *layout, char *buf);

/* The bits of a handle's fields and its worker; values[] as vs_fields_parse leaves them (time and seq are ignored).
 * The worker must fit: who leases checks it with vs_field_check. */
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

/* When a time unit begins, in Unix milliseconds, rounded down.  Never overflows: 2^53 s and the year 9999 fit. */
static inline int64_t vs_time_ms(const struct vesta_layout *layout, uint64_t time) {
    int64_t thousands = (int64_t)(time / 1000), rest = (int64_t)(time % 1000);
    return layout->epoch_ms + thousands * layout->unit_us + rest * layout->unit_us / 1000;
}

/* The time unit in which a millisecond begins, which is not before the epoch; may be more than the field holds. */
static inline uint64_t vs_time_in(const struct vesta_layout *layout, int64_t unix_ms) {
    int64_t since_ms = unix_ms - layout->epoch_ms, unit_us = layout->unit_us;
    return (uint64_t)(since_ms / unit_us * 1000 + since_ms % unit_us * 1000 / unit_us);
}

/* ------------------------------------------------------------------ guessing */

/* A probability too small for a double: part * 2^exponent. */
struct vs_chance {
    double part;
    int64_t exponent;
};

/* A layout that may have made ids; `share` of all the possibilities is its, from 0 to 1, and `family` that of all that
 * find the time where it does. */
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

/* Whether two layouts find the time in the same bits and the same unit: ids tell such apart by the epoch alone. */
bool vs_guess_is_family(const struct vesta_layout *a, const struct vesta_layout *b);

/* Keeps the suspects that can have made all of the ids, family by family: the likeliest family first, and in it the
 * likeliest layout; equals keep their order.  Returns the share of the possibility that it was none of them, or one
 * with another epoch.  Time grows with the square of the ids. */
double vs_guess_rank(const struct vs_evidence *evidence, struct vs_suspect *suspects, size_t *count);

/* Whether a field's value speaks against a layout: a time in the first quarter of those that there were until now, or a
 * number that takes more than half of its bits where small ones are usual. */
bool vs_guess_is_odd(const struct vs_suspect *suspect, int field, uint64_t value, int64_t now_ms);

#endif
