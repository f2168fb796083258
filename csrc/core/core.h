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

/* The entry of `names` (ended by NULL) that `word` was probably meant to be, or NULL. */
const char *vs_nearest(const char *word, const char *const *names);

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

/* The highest worker number; 0 where no field is leased. */
static inline uint64_t vs_worker_max(const struct vesta_layout *layout) {
    return layout->worker >= 0 ? layout->field[layout->worker].max : 0;
}

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

/* When a time unit begins, in Unix milliseconds.  Never overflows: 2^53 s and the year 9999 fit. */
static inline int64_t vs_time_ms(const struct vesta_layout *layout, uint64_t time) {
    return layout->epoch_ms + (int64_t)time * layout->unit_ms;
}

#endif
