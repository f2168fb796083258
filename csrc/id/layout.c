/* layout.c -- reads and writes the text of a layout. */
#include "base/array.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/time.h"
#include "id/id.h"

#include <stdio.h>

#define SEQ_PARTS_MAX 2
#define TICK_BITS_MAX 62            /* a generator's cursor uses the other two bits as flags */
#define WIDTH_MAX 53                /* values up to 53 bits are exact as numbers in Lua and JSON */
#define START_MAX (UINT32_MAX >> 2) /* the largest N of seq_start: it has 30 bits in struct vesta_layout */

/* A layout during parsing.  If the text names a preset, the preset's text is parsed first, and later words replace its
 * fields. */
struct layout_draft {
    /* Each part of a sequence is a separate field until join_parts joins them.  Shifts and roles are set at the end. */
    struct vesta_layout layout;
    bool has_unit, has_epoch, has_start, from_preset;
    bool said[VESTA_FIELDS_MAX]; /* whether the user's text has the field, not only the preset's */
    uint64_t spread;
    int start;            /* enum vesta_start */
    bool starts_anywhere; /* the preset's sequences start at each of their values, also if they are widened */
    struct vesta_error *err;
};

static int layout_bad(struct layout_draft *d, struct vs_slice slice, const char *why) {
    return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: '%s': %s", VS_QUOTE(slice.at, slice.length), why);
}

/* ------------------------------------------------------------------ words: name:width, name:width=constant */

static bool layout_is_name(struct vs_slice name) {
    if (name.length == 0 || name.length >= VESTA_NAME_MAX) return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.at[i];
        bool letter = c >= 'a' && c <= 'z';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '_'))) return false;
    }
    return true;
}

/* Returns whether a name has another meaning in a layout's text or in the output of explain.  A field cannot have such
 * a name. */
static bool is_reserved(struct vs_slice name) {
    static const char *const reserved[] = {"unit", "epoch", "seq_start", "id", "unix_ms", "iso"};
    for (size_t i = 0; i < VS_COUNT(reserved); i++)
        if (vs_slice_is(name, reserved[i])) return true;
    return false;
}

static bool is_leased_name(const char *name) {
    return strcmp(name, "worker") == 0 || strcmp(name, "machine") == 0;
}

static int find_name(const struct vesta_layout *layout, struct vs_slice name) {
    for (int i = 0; i < layout->field_count; i++)
        if (vs_slice_is(name, layout->field[i].name)) return i;
    return -1;
}

/* Returns the index of a field with this name that the user's text has not set yet, or -1.  Sets *said to the number of
 * fields with this name that the text has set.  A sequence may have two parts, so a name may occur twice. */
static int find_unsaid(const struct layout_draft *d, struct vs_slice name, int *said) {
    *said = 0;
    for (int i = 0; i < d->layout.field_count; i++) {
        if (!vs_slice_is(name, d->layout.field[i].name)) continue;
        if (!d->said[i]) return i;
        ++*said;
    }
    return -1;
}

/* Returns the index of a new field: that of the preset's field with this name, or the next free one without a preset.
 * Returns -1 after an error. */
static int place_field(struct layout_draft *d, struct vs_slice slice, struct vs_slice name) {
    struct vesta_layout *l = &d->layout;
    int said, i = find_unsaid(d, name, &said);
    if (said > 0 && i < 0 && (d->from_preset || !vs_slice_is(name, "seq")))
        return layout_bad(d, slice, "this field is written twice"), -1;
    if (said == SEQ_PARTS_MAX) return layout_bad(d, slice, "a sequence has one part or two"), -1;
    if (i < 0 && d->from_preset)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: '%s': the preset has no such field, it has %s",
                       VS_QUOTE(slice.at, slice.length), VS_NAMES(l)),
               -1;
    if (i < 0 && l->field_count == VESTA_FIELDS_MAX) return layout_bad(d, slice, "there are at most 16 fields"), -1;
    return i >= 0 ? i : l->field_count++;
}

static int read_constant(struct layout_draft *d, struct vs_slice slice, struct vs_slice text,
                         struct vesta_field *field) {
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, &field->value) != VESTA_OK)
        return layout_bad(d, slice, "the constant after '=' must be a decimal number");
    if (field->value > field->max)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: '%s': %u bits hold at most %llu",
                       VS_QUOTE(slice.at, slice.length), field->width, (unsigned long long)field->max);
    if (strcmp(field->name, "time") == 0 || strcmp(field->name, "seq") == 0 || is_leased_name(field->name))
        return layout_bad(d, slice, "time, seq and the leased field change with every id: they cannot be constant");
    field->fixed = 1;
    return VESTA_OK;
}

static int layout_read_field(struct layout_draft *d, struct vs_slice slice, struct vs_slice name,
                             struct vs_slice rest) {
    struct vs_slice width = rest, constant;
    struct vesta_field field = {0};
    uint64_t bits;
    bool has_constant = vs_slice_split(rest, '=', &width, &constant);
    if (!layout_is_name(name))
        return layout_bad(d, slice, "a field's name is a lower-case letter followed by up to 14 of a-z, 0-9 and _");
    if (is_reserved(name))
        return layout_bad(d, slice, "a field cannot have this name: it means something else next to an id");
    if (vesta_parse(VESTA_DECIMAL, width.at, width.length, &bits) != VESTA_OK || bits < 1 || bits > WIDTH_MAX)
        return layout_bad(d, slice, "a field's width is 1 to 53 bits");
    memcpy(field.name, name.at, name.length);
    field.width = (uint8_t)bits;
    field.max = (UINT64_C(1) << bits) - 1;
    int rc = has_constant ? read_constant(d, slice, constant, &field) : VESTA_OK;
    if (rc != VESTA_OK) return rc;
    int i = place_field(d, slice, name);
    if (i < 0) return VESTA_ELAYOUT;
    d->layout.field[i] = field;
    d->said[i] = true;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ words: unit=, epoch=, seq_start= */

/* Sorted from the longest to the shortest, because vs_unit_text uses the first entry that divides the unit. */
static const struct {
    const char *name;
    int32_t us;
} measures[] = {{"s", VS_UNIT_US_MAX}, {"ms", 1000}, {"us", 1}};

int32_t vs_unit_read(struct vs_slice text) {
    size_t digits = 0;
    uint64_t count;
    while (digits < text.length && text.at[digits] >= '0' && text.at[digits] <= '9')
        digits++;
    struct vs_slice measure = {text.at + digits, text.length - digits};
    bool is_count =
        vesta_parse(VESTA_DECIMAL, text.at, digits, &count) == VESTA_OK && count > 0 && count <= VS_UNIT_US_MAX;
    for (size_t i = 0; is_count && i < VS_COUNT(measures); i++)
        if (vs_slice_is(measure, measures[i].name) && VS_UNIT_US_MAX % (count * (uint64_t)measures[i].us) == 0)
            return (int32_t)count * measures[i].us;
    return 0;
}

static int read_unit(struct layout_draft *d, struct vs_slice slice, struct vs_slice value) {
    d->layout.unit_us = vs_unit_read(value);
    return d->layout.unit_us ? VESTA_OK : layout_bad(d, slice, "the unit is " VS_UNITS);
}

static int read_epoch(struct layout_draft *d, struct vs_slice slice, struct vs_slice value) {
    struct vesta_error why;
    if (vs_time_read(value, &d->layout.epoch_ms, &why) != VESTA_OK)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: epoch: %s", why.text);
    if (d->layout.epoch_ms < 0 || d->layout.epoch_ms > VS_EPOCH_MS_MAX)
        return layout_bad(d, slice, "the epoch must be between 1970 and 9999, as a date or as Unix milliseconds");
    return VESTA_OK;
}

static const char *const starts[] = {[VESTA_SPREAD] = "spread", [VESTA_ROTATE] = "rotate", [VESTA_SHARDS] = "shards"};

static int read_start(struct layout_draft *d, struct vs_slice slice, struct vs_slice value) {
    struct vs_slice how, count;
    if (!vs_slice_split(value, ':', &how, &count)) how = value, count = (struct vs_slice){value.at, 0};
    d->start = VESTA_SHARDS;
    while (d->start >= 0 && !vs_slice_is(how, starts[d->start]))
        d->start--;
    if (d->start < 0 || vesta_parse(VESTA_DECIMAL, count.at, count.length, &d->spread) != VESTA_OK)
        return layout_bad(d, slice, "write seq_start=shards:N, seq_start=spread:N or seq_start=rotate:N");
    return VESTA_OK;
}

static int layout_read_option(struct layout_draft *d, struct vs_slice slice, struct vs_slice name,
                              struct vs_slice value) {
    const struct {
        const char *name;
        int (*read)(struct layout_draft *, struct vs_slice, struct vs_slice);
        bool *has;
    } options[] = {{"unit", read_unit, &d->has_unit},
                   {"epoch", read_epoch, &d->has_epoch},
                   {"seq_start", read_start, &d->has_start}};
    for (size_t i = 0; i < VS_COUNT(options); i++) {
        if (!vs_slice_is(name, options[i].name)) continue;
        if (*options[i].has) return layout_bad(d, slice, "this is written twice");
        *options[i].has = true;
        return options[i].read(d, slice, value);
    }
    return layout_bad(d, slice, "write a field as name:width. The only options are unit=, epoch= and seq_start=");
}

static int read_words(struct layout_draft *d, const char *text) {
    struct vs_slice slice, name, rest;
    while (vs_slice_next(&text, &slice)) {
        bool option = vs_slice_split(slice, '=', &name, &rest) && !memchr(name.at, ':', name.length);
        if (!option && !vs_slice_split(slice, ':', &name, &rest))
            return layout_bad(d, slice, "this is not a field (name:width), and a preset's name comes first and alone");
        int rc = option ? layout_read_option(d, slice, name, rest) : layout_read_field(d, slice, name, rest);
        if (rc != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

/* ------------------------------------------------------------------ presets */

static int no_preset(struct layout_draft *d, struct vs_slice name) {
    const char *meant = vs_preset_meant(name);
    if (!meant)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: there is no preset '%s': `vesta layout` lists the presets. Write fields as "
                       "name:width",
                       VS_QUOTE(name.at, name.length));
    return vs_fail(d->err, VESTA_ELAYOUT,
                   "bad layout: there is no preset '%s', did you mean %s? `vesta layout` lists the presets",
                   VS_QUOTE(name.at, name.length), meant);
}

/* If the text begins with a preset's name, parses that preset and moves *text past the name. */
static int read_preset(struct layout_draft *d, const char **text) {
    const char *behind = *text;
    struct vs_slice slice;
    if (!vs_slice_next(&behind, &slice))
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: it is empty. Write a preset's name, such as vesta-second, or fields");
    if (memchr(slice.at, ':', slice.length) || memchr(slice.at, '=', slice.length)) return VESTA_OK;
    const struct vesta_preset *preset = vs_preset_find(slice);
    if (!preset) return no_preset(d, slice);
    int rc = read_words(d, preset->text);
    assert(rc == VESTA_OK);
    d->from_preset = true;
    int seq = find_name(&d->layout, (struct vs_slice){"seq", 3});
    d->starts_anywhere = seq >= 0 && d->spread == d->layout.field[seq].max + 1;
    if (!preset->may_issue) d->layout.read_only = preset->why;
    d->has_unit = d->has_epoch = d->has_start = false; /* the user's text may override these */
    memset(d->said, 0, sizeof d->said);
    *text = behind;
    return rc;
}

/* ------------------------------------------------------------------ the whole */

static int total_bits(const struct vesta_layout *l) {
    int bits = 0;
    for (int i = 0; i < l->field_count; i++)
        bits += l->field[i].width;
    return bits;
}

/* If the fields have 63 bits, adds the field sign:1=0 above them, so that ids are positive as signed numbers. */
static int add_sign(struct layout_draft *d) {
    static const struct vesta_field sign = {.name = "sign", .width = 1, .fixed = 1, .max = 1};
    struct vesta_layout *l = &d->layout;
    int bits = total_bits(l);
    if (bits == 64) return VESTA_OK;
    if (bits != 63)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: the widths add up to %d, not to 64 (or 63 and a sign bit)",
                       bits);
    if (find_name(l, (struct vs_slice){"sign", 4}) >= 0 || l->field_count == VESTA_FIELDS_MAX)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: the widths add up to 63, and no field sign:1=0 can be added (%s): make it 64",
                       l->field_count == VESTA_FIELDS_MAX ? "there are 16 fields" : "it is there");
    memmove(&l->field[1], &l->field[0], sizeof *l->field * (size_t)l->field_count++);
    l->field[0] = sign;
    return VESTA_OK;
}

static void place_shifts(struct vesta_layout *l) {
    unsigned shift = 64;
    for (int i = 0; i < l->field_count; i++) {
        shift -= l->field[i].width;
        l->field[i].shift = (uint8_t)shift;
    }
}

static void find_roles(struct vesta_layout *l) {
    l->time = find_name(l, (struct vs_slice){"time", 4});
    l->seq = find_name(l, (struct vs_slice){"seq", 3});
    l->worker = -1;
    for (int i = 0; i < l->field_count; i++)
        if (is_leased_name(l->field[i].name)) l->worker = i;
}

/* Joins the two parts of a sequence into one field.  The second part becomes the low bits. */
static int join_parts(struct layout_draft *d) {
    struct vesta_layout *l = &d->layout;
    int i = l->field_count - 1;
    while (i > l->seq && strcmp(l->field[i].name, "seq") != 0)
        i--;
    if (l->seq < 0 || i <= l->seq) return VESTA_OK;
    struct vesta_field *high = &l->field[l->seq], low = l->field[i];
    int width = high->width + low.width;
    if (i == l->seq + 1)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: the sequence's parts are adjacent: write them as one, seq:%d", width);
    if (l->seq < l->time)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: both parts of a sequence must be below the time");
    if (width > WIDTH_MAX)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: the sequence's parts have %d bits together, at most %d are allowed", width,
                       WIDTH_MAX);
    high->width = (uint8_t)width;
    high->max = (UINT64_C(1) << width) - 1;
    high->low_width = low.width;
    high->low_shift = low.shift;
    memmove(&l->field[i], &l->field[i + 1], sizeof low * (size_t)(--l->field_count - i));
    find_roles(l);
    return VESTA_OK;
}

/* Proposes a layout that supports `spread`: the low bits of the sequence become the lowest field.  Proposes only "seq"
 * if that is not possible. */
static const char *spread_text(const struct vesta_layout *l, uint64_t spread, char *buf, size_t size) {
    int low = 64 - __builtin_clzll(spread - 1), high = l->field[l->seq].width - low;
    size_t used = (size_t)snprintf(buf, size, "seq");
    if (l->seq < l->time || l->field[l->seq].low_width || high < 1) return buf;
    used = (size_t)snprintf(buf, size, "its low bits: seq:%d", high);
    for (int i = l->seq + 1; i < l->field_count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, " %s:%u", l->field[i].name, l->field[i].width);
    if (used < size) snprintf(buf + used, size - used, " seq:%d", low);
    return buf;
}

/* Checks seq_start.  For `spread`, the sequence must be lowest: the bits below it are equal in all ids of a handle, so
 * without low sequence bits its ids would be equal modulo 2, 4, 8 and so on.  With `rotate` and `shards`, the sequence
 * may be above other fields, because shards may be chosen by the bits above these. */
static int check_start(struct layout_draft *d) {
    const struct vesta_layout *l = &d->layout;
    const struct vesta_field *seq = vs_seq(l), *lowest = &l->field[l->field_count - 1];
    bool is_low = seq->low_width && d->start == VESTA_SPREAD;
    unsigned width = is_low                     ? seq->low_width
                     : d->start == VESTA_SHARDS ? (unsigned)(seq->width - seq->low_width)
                                                : seq->width,
             shift = is_low ? seq->low_shift : seq->shift;
    uint64_t max = UINT64_C(1) << width;
    const char *where = is_low                                       ? "the lower part of "
                        : d->start == VESTA_SHARDS && seq->low_width ? "the upper part of "
                                                                     : "";
    char text[160];
    if (max > START_MAX) max = START_MAX;
    if (!d->has_start && d->starts_anywhere) d->spread = max;
    while (!d->has_start && d->spread > max) /* reduce a preset's spread if the user made its sequence narrower */
        d->spread /= 2;
    if (width == 0 && d->has_start && d->spread != 1) /* spread:1 has no effect, and is in stored layouts */
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: seq_start=%s:%llu needs the field seq: add it, or leave out seq_start",
                       starts[d->start], (unsigned long long)d->spread);
    if ((d->has_start && d->spread == 0) || d->spread > max)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: seq_start=%s:%llu must be from 1 to %llu, because %sseq has %u bits",
                       starts[d->start], (unsigned long long)d->spread, (unsigned long long)max, where, width);
    if (d->start == VESTA_SPREAD && d->spread > 1 && shift > 0)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: seq_start=spread:%llu spreads nothing: %s is below the sequence, so ids of one "
                       "generator would be equal modulo 2, 4, 8 ... To spread them, put at the end %s",
                       (unsigned long long)d->spread, lowest->name, spread_text(l, d->spread, text, sizeof text));
    return VESTA_OK;
}

static int layout_check_whole(struct layout_draft *d) {
    const struct vesta_layout *l = &d->layout;
    if (l->time < 0) return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: the field 'time' is missing");
    if (find_name(l, (struct vs_slice){"worker", 6}) >= 0 && find_name(l, (struct vs_slice){"machine", 7}) >= 0)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: worker and machine both name the leased field: a layout has only one");
    if (!d->has_unit && !d->from_preset)
        return vs_fail(d->err, VESTA_ELAYOUT, "bad layout: unit= is missing: write the time unit, such as unit=1ms");
    if (!d->has_epoch && !d->from_preset)
        return vs_fail(d->err, VESTA_ELAYOUT,
                       "bad layout: epoch= is missing: write the date of time 0, such as epoch=2026-01-01T00:00:00Z");
    return check_start(d);
}

static uint64_t layout_fingerprint(const struct vesta_layout *layout);

int vesta_layout_parse(const char *text, struct vesta_layout *out, struct vesta_error *err) {
    struct layout_draft d = {.err = err};
    int rc;
    assert(text && out);
    if ((rc = read_preset(&d, &text)) != VESTA_OK) return rc;
    if ((rc = read_words(&d, text)) != VESTA_OK) return rc;
    if ((rc = add_sign(&d)) != VESTA_OK) return rc;
    place_shifts(&d.layout);
    find_roles(&d.layout);
    if ((rc = join_parts(&d)) != VESTA_OK) return rc;
    if ((rc = layout_check_whole(&d)) != VESTA_OK) return rc;
    d.layout.spread = (uint32_t)d.spread & START_MAX;
    d.layout.start = (uint32_t)d.start & 3;
    if (d.layout.field[d.layout.time].width + vs_seq(&d.layout)->width > TICK_BITS_MAX)
        d.layout.read_only = "its time and sequence have more than 62 bits together, in which a generator counts";
    d.layout.fingerprint = layout_fingerprint(&d.layout);
    *out = d.layout;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ writing */

/* The longest text fits: 16 names of 15 characters, 16 ':' and spaces, 22 digits of widths, 14 '=', 35 digits of
 * constants (64 bits in total), and " unit=500000us epoch=9999-12-31T23:59:59.999Z seq_start=rotate:1073741823". */
_Static_assert(16 * (15 + 2) + 22 + 14 + 35 + 75 < VESTA_LAYOUT_TEXT_MAX, "a layout fits its text");

const char *vs_unit_text(int32_t unit_us, char *buf) {
    size_t i = 0;
    while (unit_us % measures[i].us != 0)
        i++;
    snprintf(buf, VS_UNIT_MAX, "%d%s", unit_us / measures[i].us, measures[i].name);
    return buf;
}

static size_t write_fields(const struct vesta_layout *layout, char *buf, bool constants) {
    struct vs_part parts[VS_PARTS_MAX];
    size_t used = 0, room = VESTA_LAYOUT_TEXT_MAX;
    for (int i = 0, count = vs_parts_of(layout, parts); i < count; i++) {
        const struct vesta_field *f = &layout->field[parts[i].field];
        used += (size_t)snprintf(buf + used, room - used, "%s:%u", f->name, parts[i].width);
        if (f->fixed && constants)
            used += (size_t)snprintf(buf + used, room - used, "=%llu", (unsigned long long)f->value);
        buf[used++] = ' ';
    }
    char epoch[VESTA_ISO_MAX];
    vesta_iso(layout->epoch_ms, epoch);
    char unit[VS_UNIT_MAX];
    return used + (size_t)snprintf(buf + used, room - used, "unit=%s epoch=%s", vs_unit(layout, unit), epoch);
}

size_t vesta_layout_text(const struct vesta_layout *layout, char *buf) {
    size_t used = write_fields(layout, buf, true);
    if (layout->spread)
        used += (size_t)snprintf(buf + used, VESTA_LAYOUT_TEXT_MAX - used, " seq_start=%s:%u", starts[layout->start],
                                 layout->spread);
    assert(used < VESTA_LAYOUT_TEXT_MAX);
    return used;
}

/* Writes a field, which must have one part. */
static const char *write_field(const struct vesta_field *f, char *buf, size_t size) {
    int used = snprintf(buf, size, "%s:%u", f->name, f->width);
    if (f->fixed) snprintf(buf + used, size - (size_t)used, "=%llu", (unsigned long long)f->value);
    return buf;
}

/* Returns the index of the first constant field of `from` that `layout` does not fix to the same value, or -1.  Both
 * layouts must have the same fingerprint. */
static int find_departure(const struct vesta_layout *layout, const struct vesta_layout *from) {
    for (int i = 0; i < from->field_count; i++) {
        const struct vesta_field *a = &from->field[i], *b = &layout->field[i];
        if (a->fixed && (!b->fixed || b->value != a->value)) return i;
    }
    return -1;
}

bool vs_layout_is_part(const struct vesta_layout *part, const struct vesta_layout *whole) {
    return part->fingerprint == whole->fingerprint && find_departure(part, whole) < 0;
}

const char *vs_layout_departs(const struct vesta_layout *layout, const char *theirs, char *buf) {
    char has[VS_DEPARTURE_MAX / 2 - 4], wants[VS_DEPARTURE_MAX / 2 - 4];
    struct vesta_layout of;
    if (vesta_layout_parse(theirs, &of, NULL) != VESTA_OK || of.fingerprint != layout->fingerprint) return NULL;
    int i = find_departure(layout, &of);
    if (i < 0) return NULL;
    snprintf(buf, VS_DEPARTURE_MAX, "%s, not %s", write_field(&of.field[i], has, sizeof has),
             write_field(&layout->field[i], wants, sizeof wants));
    return buf;
}

/* Returns the FNV-1a hash of the canonical text without constants and seq_start.  Other programs can compute the same
 * hash. */
static uint64_t layout_fingerprint(const struct vesta_layout *layout) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    size_t length = write_fields(layout, text, false);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ------------------------------------------------------------------ properties */

int64_t vesta_layout_end_ms(const struct vesta_layout *layout) {
    uint64_t end = layout->field[layout->time].max + 1;
    return vs_time_ms(layout, end) + (end % 1000 * (uint64_t)layout->unit_us % 1000 > 0);
}

int vesta_layout_find(const struct vesta_layout *layout, const char *name) {
    if (is_leased_name(name)) return layout->worker;
    return find_name(layout, (struct vs_slice){name, strlen(name)});
}

int vs_parts_of(const struct vesta_layout *layout, struct vs_part *out) {
    const struct vesta_field *seq = vs_seq(layout);
    struct vs_part low = {layout->seq, seq->low_width, seq->low_shift, true};
    int count = 0;
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *f = &layout->field[i];
        if (low.width > 0 && low.shift > f->shift) out[count++] = low, low.width = 0;
        out[count++] = (struct vs_part){i, f->width - f->low_width, f->shift, false};
    }
    if (low.width > 0) out[count++] = low;
    return count;
}

const char *vs_names(const struct vesta_layout *layout, char *buf) {
    size_t used = 0;
    for (int i = 0; i < layout->field_count; i++)
        used += (size_t)snprintf(buf + used, VS_NAMES_MAX - used, "%s%s", i ? " " : "", layout->field[i].name);
    return buf;
}
