/* uuid.c -- converts ids to UUIDs and reads UUIDs back. */
#include "id/uuid.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>

static const char *const uuid_names[] = {
    [VESTA_UUID7] = "uuid7", [VESTA_UUID8] = "uuid8", [VESTA_ULID] = "ulid", [VESTA_HEX32] = "hex32"};
_Static_assert(sizeof uuid_names / sizeof *uuid_names == VESTA_SHAPES + 1, "each shape has a name");

const char *vesta_shape_name(enum vesta_shape shape) {
    return (unsigned)shape <= VESTA_SHAPES ? uuid_names[shape] : NULL;
}

int vesta_shape_find(const char *name, size_t length) {
    for (int i = 1; i <= VESTA_SHAPES; i++)
        if (vs_slice_is((struct vs_slice){name, length}, uuid_names[i])) return i;
    return 0;
}

/* Returns the most counter bits that a shape permits. */
static unsigned uuid_counter_max(enum vesta_shape shape) {
    return shape == VESTA_UUID8 ? 63 : shape == VESTA_HEX32 ? VS_UUID_HEX32_MAX : VS_UUID_COUNTER_MAX;
}

/* Returns the bits of a shape after the milliseconds, without version and variant. */
static unsigned uuid_bits(enum vesta_shape shape) {
    return shape == VESTA_ULID || shape == VESTA_HEX32 ? 80 : 74;
}

/* Sets the runs of bits that are neither time nor sequence. */
static void uuid_find_rest(const struct vesta_layout *layout, struct vs_uuid *out) {
    struct vs_part part[VS_PARTS_MAX];
    for (int i = 0, n = vs_parts_of(layout, part), was = -1; i < n; i++) {
        if (part[i].field == layout->time || part[i].field == layout->seq) continue;
        if (out->run_count == 0 || was != i - 1) out->run[out->run_count++].width = 0;
        was = i;
        out->run[out->run_count - 1].width += part[i].width;
        out->run[out->run_count - 1].shift = part[i].shift;
        out->rest_bits += part[i].width;
    }
}

void vs_uuid_of(const struct vesta_layout *layout, struct vs_uuid *out) {
    const struct vesta_field *time = &layout->field[layout->time], *seq = vs_seq(layout);
    unsigned unit_us = (unsigned)layout->unit_us, units = unit_us % 1000 ? (999 + unit_us) / unit_us : 1, bits = 0;
    while (units > 1u << bits)
        bits++;
    bits += seq->width;
    *out = (struct vs_uuid){
        .time_end = ((VS_UUID_MS_END - (uint64_t)layout->epoch_ms) * 1000 + unit_us - 1) / unit_us,
        .time_max = time->max,
        .time_shift = time->shift,
        .seq_max = seq->max >> seq->low_width,
        .seq_shift = seq->shift,
        .seq_low_max = (UINT64_C(1) << seq->low_width) - 1,
        .seq_low_shift = seq->low_shift,
        .seq_low_width = seq->low_width,
        .seq_width = seq->width,
        .counter_bits = (uint8_t)bits,
        .counter_shift = (uint8_t)((64 - bits) & 63), /* a counter of 0 bits is 0 */
        .random_mask = UINT64_MAX >> bits,
        .unit_us = unit_us,
        .unit_ms = unit_us % 1000 ? 0 : unit_us / 1000,
        .epoch_ms = layout->epoch_ms,
        .fingerprint = layout->fingerprint,
    };
    assert(bits < 64); /* a field has at most 53 bits, and a millisecond at most 1,000 time units */
    uuid_find_rest(layout, out);
    for (enum vesta_shape shape = 1; shape <= VESTA_SHAPES; shape++) {
        out->can[shape] = bits <= uuid_counter_max(shape);
        out->is_long[shape] = uuid_bits(shape) > 64 + bits;
    }
}

static int uuid_check(const struct vs_uuid *u, enum vesta_shape shape, struct vesta_error *err) {
    if (!vesta_shape_name(shape))
        return vs_fail(err, VESTA_EOPTION, "there is no shape %d: use uuid7, uuid8, ulid or hex32", (int)shape);
    if (u->can[shape]) return VESTA_OK;
    return vs_fail(
        err, VESTA_EOPTION,
        "%s has room for a counter of %u bits, and the layout needs %u: use uuid8, or a layout with a shorter "
        "sequence",
        vesta_shape_name(shape), uuid_counter_max(shape), u->counter_bits);
}

int vesta_shape_check(const struct vesta_layout *layout, enum vesta_shape shape, struct vesta_error *err) {
    struct vs_uuid u;
    vs_uuid_of(layout, &u);
    return uuid_check(&u, shape, err);
}

int vesta_uuid_make(const struct vesta_layout *layout, enum vesta_shape shape, uint64_t id, const unsigned char *key,
                    unsigned char *out, struct vesta_error *err) {
    struct vs_uuid u;
    vs_uuid_of(layout, &u);
    int rc = uuid_check(&u, shape, err);
    if (rc != VESTA_OK) return rc;
    if (key)
        memcpy(u.key, key, sizeof u.key);
    else if (shape != VESTA_UUID8)
        return vs_fail(err, VESTA_EOPTION, "%s needs a key for its random bits: draw 16 random bytes once per process",
                       vesta_shape_name(shape));
    if (vs_uuid_put(&u, shape, id, out)) return VESTA_OK;
    return vs_fail(err, VESTA_EEPOCH, "the time of id %" PRIu64 " does not fit into 48 bits of milliseconds", id);
}

/* ------------------------------------------------------------------ reading */

static uint64_t uuid_load(const unsigned char *at) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word = word << 8 | at[i];
    return word;
}

/* Sets tick, time and seq from the milliseconds and the counter.  Returns false if no id has them. */
static bool uuid_find_tick(const struct vs_uuid *u, struct vesta_uuid_parts *parts) {
    int64_t since_ms = parts->unix_ms - u->epoch_ms;
    uint64_t counter;
    if (since_ms < 0) return false;
    /* the first time unit that begins in this millisecond */
    uint64_t first = ((uint64_t)since_ms * 1000 + u->unit_us - 1) / u->unit_us;
    parts->time = first + (parts->counter >> u->seq_width);
    parts->seq = parts->counter & ((UINT64_C(1) << u->seq_width) - 1);
    parts->tick = parts->time << u->seq_width | parts->seq;
    return parts->time <= u->time_max && parts->time < u->time_end &&
           vs_uuid_split(u, parts->time, parts->seq, &counter) == (uint64_t)parts->unix_ms && counter == parts->counter;
}

/* Restores the id from the bits after the milliseconds. */
static uint64_t uuid_find_id(const struct vesta_layout *layout, const struct vs_uuid *u, uint64_t first, uint64_t more,
                             const struct vesta_uuid_parts *parts) {
    uint64_t tail = u->counter_bits ? first << u->counter_bits | more >> (64 - u->counter_bits) : first;
    uint64_t rest = u->rest_bits ? tail >> (64 - u->rest_bits) : 0;
    uint64_t id = vs_field_put(&layout->field[layout->time], parts->time) | vs_field_put(vs_seq(layout), parts->seq);
    for (int i = u->run_count - 1; i >= 0; i--) {
        id |= (rest & ((UINT64_C(1) << u->run[i].width) - 1)) << u->run[i].shift;
        rest >>= u->run[i].width;
    }
    return id;
}

int vesta_uuid_explain(const struct vesta_layout *layout, enum vesta_shape shape, const unsigned char *uuid,
                       struct vesta_uuid_parts *out, struct vesta_error *err) {
    unsigned char again[VESTA_UUID_BYTES];
    struct vesta_parts fields;
    struct vs_uuid u;
    vs_uuid_of(layout, &u);
    int rc = uuid_check(&u, shape, err);
    if (rc != VESTA_OK) return rc;
    bool has_version = shape == VESTA_UUID7 || shape == VESTA_UUID8;
    uint64_t high = uuid_load(uuid), low = uuid_load(uuid + 8), first, more;
    if (has_version && ((high >> 12 & 15) != (shape == VESTA_UUID7 ? 7 : 8) || low >> 62 != 2))
        return vs_fail(err, VESTA_EID, "the version is %d and the variant is %d, which for %s are %d and 2",
                       (int)(high >> 12 & 15), (int)(low >> 62), vesta_shape_name(shape), shape == VESTA_UUID7 ? 7 : 8);
    if (has_version) {
        first = high << 52 | low << 2 >> 12;
        more = low << 54;
    } else {
        first = high << 48 | low >> 16;
        more = low << 48;
    }
    struct vesta_uuid_parts parts = {.unix_ms = (int64_t)(high >> 16), .counter_bits = u.counter_bits};
    parts.counter = u.counter_bits ? first >> (64 - u.counter_bits) : 0;
    if (!uuid_find_tick(&u, &parts))
        return vs_fail(err, VESTA_EID,
                       "no id of this layout has the time %" PRId64 " ms and the counter %" PRIu64
                       ": it was made elsewhere, or with another layout",
                       parts.unix_ms, parts.counter);
    if (shape == VESTA_UUID8) {
        parts.has_id = 1;
        parts.id = uuid_find_id(layout, &u, first, more, &parts);
        if (!vs_uuid_put(&u, shape, parts.id, again) || memcmp(again, uuid, sizeof again) != 0)
            return vs_fail(err, VESTA_EID, "it has the fingerprint of another layout, or was made elsewhere");
        rc = vesta_explain(layout, parts.id, &fields, err);
        if (rc != VESTA_OK) return rc;
    } else {
        parts.random_bits = uuid_bits(shape) - u.counter_bits;
    }
    *out = parts;
    return VESTA_OK;
}
