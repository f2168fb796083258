/* core.h -- what the core's files share with each other and with the floors above.  No I/O, no clock, no Lua. */
#ifndef VS_CORE_H
#define VS_CORE_H

#include "vesta.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define VS_COUNT(array) (sizeof(array) / sizeof *(array))

/* ------------------------------------------------------------------ errors */

/* Fills err (which may be NULL) and returns code, so that a failure is one line: return vs_fail(err, ...).
 * A text that does not fit is cut, never overrun. */
__attribute__((format(printf, 3, 4))) int vs_fail(struct vesta_error *err, int code, const char *fmt, ...);

/* Foreign text for a message: bytes that are not printable ASCII as \xNN (a message may end in a log), cut with "..."
 * where it is long.  Use: vs_fail(err, code, "'%s' is no width", VS_QUOTE(at, length)); lives to the block's end. */
#define VS_QUOTE_MAX 52
#define VS_QUOTE(text, length) vs_quote((char[VS_QUOTE_MAX]){0}, (text), (length))
const char *vs_quote(char *buf, const char *text, size_t length);

/* ------------------------------------------------------------------ words of a text */

/* A view into somebody's text. */
struct vs_word {
    const char *at;
    size_t length;
};

/* The next word of *text, words being split by white space; moves *text behind it.  False at the end. */
bool vs_next_word(const char **text, struct vs_word *word);

static inline bool vs_word_is(struct vs_word word, const char *name) {
    return strlen(name) == word.length && memcmp(word.at, name, word.length) == 0;
}

/* Splits word at the first `mark`: *before and *after are its sides.  False where it has none. */
bool vs_split(struct vs_word word, char mark, struct vs_word *before, struct vs_word *after);

/* vesta_time_parse of a view. */
int vs_time_read(struct vs_word text, int64_t *unix_ms, struct vesta_error *err);

/* ------------------------------------------------------------------ layouts */

#define VS_EPOCH_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z: the last that RFC 3339 can write */

/* The preset of that name, or NULL. */
const struct vesta_preset *vs_preset_find(struct vs_word name);

/* Reads a handle's constant fields, "method=1 version=0", into values[] (in the order of layout->field; the others
 * get their constant or 0).  text may be NULL.  Errors: VESTA_EFIELD. */
int vs_fields_parse(const struct vesta_layout *layout, const char *text, uint64_t *values, struct vesta_error *err);

/* VESTA_OK if field i may have this value; else VESTA_EFIELD with the field, the value and what it may be. */
int vs_field_check(const struct vesta_layout *layout, int i, uint64_t value, struct vesta_error *err);

/* Lays named values over a layout's constants: values[] and named[] follow layout->field.  `worker` and `machine` name
 * the same field.  Errors: VESTA_EFIELD for a name that is unknown or twice, a value that cannot be. */
int vs_values_take(const struct vesta_layout *layout, const struct vesta_value *given, size_t count, uint64_t *values,
                   bool *named, struct vesta_error *err);

/* The names of a layout's fields, for a message. */
#define VS_NAMES_MAX (VESTA_FIELDS_MAX * VESTA_NAME_MAX)
#define VS_NAMES(layout) vs_names((layout), (char[VS_NAMES_MAX]){0})
const char *vs_names(const struct vesta_layout *layout, char *buf);

/* ------------------------------------------------------------------ composing on the hot path */

/* The few numbers that join a tick into an id; copy them next to the cursor. */
struct vs_shape {
    uint64_t seq_max, tick_max;
    uint8_t seq_bits, seq_shift, time_shift;
};

static inline struct vs_shape vs_shape_of(const struct vesta_layout *layout) {
    const struct vesta_field *time = &layout->field[layout->time], *seq = &layout->field[layout->seq];
    return (struct vs_shape){.seq_max = seq->max,
                             .tick_max = time->max << seq->width | seq->max,
                             .seq_bits = seq->width,
                             .seq_shift = seq->shift,
                             .time_shift = time->shift};
}

/* The id of a tick; base holds every field but time and seq. */
static inline uint64_t vs_shape_id(const struct vs_shape *shape, uint64_t base, uint64_t tick) {
    return base | (tick >> shape->seq_bits) << shape->time_shift | (tick & shape->seq_max) << shape->seq_shift;
}

static inline uint64_t vs_compose_tick(const struct vesta_layout *layout, uint64_t base, uint64_t tick) {
    struct vs_shape shape = vs_shape_of(layout);
    assert(tick <= shape.tick_max);
    return vs_shape_id(&shape, base, tick);
}

/* The tick of an id of this layout. */
static inline uint64_t vs_tick_of(const struct vesta_layout *layout, uint64_t id) {
    struct vs_shape shape = vs_shape_of(layout);
    return (id >> shape.time_shift & layout->field[layout->time].max) << shape.seq_bits |
           (id >> shape.seq_shift & shape.seq_max);
}

/* The bits of a handle's fields and its worker; values[] as vs_fields_parse leaves them (time and seq are ignored).
 * The worker must fit: who leases checks it with vs_field_check. */
static inline uint64_t vs_layout_base(const struct vesta_layout *layout, uint64_t worker, const uint64_t *values) {
    uint64_t base = 0;
    for (int i = 0; i < layout->field_count; i++) {
        if (i == layout->time || i == layout->seq) continue;
        uint64_t value = i == layout->worker ? worker : values[i];
        assert(value <= layout->field[i].max);
        base |= value << layout->field[i].shift;
    }
    return base;
}

/* The time field at an instant, -1 before the epoch.  It may be above the field's maximum: the caller compares.
 * The switch lets the compiler divide by constants. */
static inline int64_t vs_time_of(const struct vesta_layout *layout, int64_t unix_us) {
    int64_t epoch_us = layout->epoch_ms * 1000;
    if (unix_us < epoch_us) return -1;
    switch (layout->unit_ms) {
    case 1: return (unix_us - epoch_us) / 1000;
    case 10: return (unix_us - epoch_us) / 10000;
    default: return (unix_us - epoch_us) / 1000000;
    }
}

/* When a time unit begins, in Unix milliseconds.  Never overflows: 2^53 s and the year 9999 fit. */
static inline int64_t vs_time_ms(const struct vesta_layout *layout, uint64_t time) {
    return layout->epoch_ms + (int64_t)time * layout->unit_ms;
}

#endif
