/* uuid.h -- converts ids to 128 bits: UUIDs of versions 7 and 8, ULIDs and trace ids.  Pure.
 *
 * The first 48 bits are the Unix milliseconds of the id's time unit.  The counter follows, which consists of the other
 * bits of the tick: the number of the time unit within its millisecond, if units are shorter, and the sequence.  After
 * the counter come random bits, or in VESTA_UUID8 the other bits of the id.  Version and variant are inserted at their
 * places. */
#ifndef VS_UUID_H
#define VS_UUID_H

#include "id/siphash.h"
#include "id/id.h"
#include "vesta_uuid.h"

#include <endian.h>
#include <string.h>

#define VS_UUID_MS_END ((uint64_t)1 << 48)
#define VS_UUID_COUNTER_MAX 42 /* bits of the counter.  RFC 9562 recommends at most 42, so 32 bits are random */
#define VS_UUID_HEX32_MAX 24   /* the same for VESTA_HEX32, because W3C Trace Context requires 56 random bits */

/* How ids of a layout are converted.  Shifts and masks are computed once, because they cost more than the rest. */
struct vs_uuid {
    uint64_t time_end; /* the first time whose milliseconds exceed 48 bits */
    /* Where an id has its time and its sequence.  The low part of a sequence with one part has 0 bits. */
    uint64_t time_max, seq_max, seq_low_max;
    uint8_t time_shift, seq_shift, seq_low_shift, seq_low_width, seq_width;
    uint8_t counter_bits, counter_shift; /* counter_shift moves the counter to the highest bits of 64 */
    bool can[VESTA_SHAPES + 1];          /* by shape: the layout, and in a generator also the key, permits it */
    bool is_long[VESTA_SHAPES + 1];      /* by shape: it has more than 64 random bits */
    uint32_t unit_us, unit_ms;           /* unit_ms is 0 if the unit is not a whole number of milliseconds */
    int64_t epoch_ms;
    uint64_t random_mask; /* the bits of 64 below the counter */
    uint64_t key[2];      /* of the random bits */
    uint64_t fingerprint;
    uint8_t rest_bits, run_count; /* the bits of the id that are neither time nor sequence, and their contiguous runs */
    struct {
        uint8_t width, shift;
    } run[4]; /* the highest first */
};

/* Initializes *out.  The key is 0 until the caller sets it. */
void vs_uuid_of(const struct vesta_layout *layout, struct vs_uuid *out);

/* Returns the first 64 bits of a sequence of bits that begins with the low `bits` bits of `head`, and continues with
 * `tail` from its highest bit. */
static inline uint64_t vs_uuid_join(uint64_t head, unsigned bits, uint64_t tail) {
    return bits ? head << (64 - bits) | tail >> bits : tail;
}

static inline void vs_uuid_store(uint64_t word, unsigned char *out) {
    word = htobe64(word);
    memcpy(out, &word, sizeof word);
}

static inline uint64_t vs_uuid_time(const struct vs_uuid *u, uint64_t id) {
    return id >> u->time_shift & u->time_max;
}

static inline uint64_t vs_uuid_seq(const struct vs_uuid *u, uint64_t id) {
    uint64_t seq = id >> u->seq_shift & u->seq_max;
    return u->seq_low_width ? seq << u->seq_low_width | (id >> u->seq_low_shift & u->seq_low_max) : seq;
}

/* Splits a tick into the milliseconds since 1970 and the counter.  The time must be below time_end. */
static inline uint64_t vs_uuid_split(const struct vs_uuid *u, uint64_t time, uint64_t seq, uint64_t *counter) {
    uint64_t in_ms = 0, ms = time * u->unit_ms;
    if (!u->unit_ms) {
        uint64_t us = time * u->unit_us;
        ms = us / 1000;
        in_ms = (uint32_t)(us % 1000) / u->unit_us;
    }
    *counter = in_ms << u->seq_width | seq;
    return (uint64_t)u->epoch_ms + ms;
}

/* Returns the bits of an id that are neither time nor sequence. */
static inline uint64_t vs_uuid_rest(const struct vs_uuid *u, uint64_t id) {
    uint64_t rest = 0;
    for (int i = 0; i < u->run_count; i++)
        rest = rest << u->run[i].width | (id >> u->run[i].shift & ((UINT64_C(1) << u->run[i].width) - 1));
    return rest;
}

/* Converts an id.  u->can[shape] must be true.  Returns false if the id's time does not fit. */
static inline bool vs_uuid_put(const struct vs_uuid *u, enum vesta_shape shape, uint64_t id, unsigned char *out) {
    uint64_t counter, time = vs_uuid_time(u, id);
    if (__builtin_expect(time >= u->time_end, 0)) return false;
    uint64_t ms = vs_uuid_split(u, time, vs_uuid_seq(u, id), &counter);
    /* `first` is the 64 bits after the milliseconds, and `more` begins with the 10 or 16 bits after them.  If these are
     * random, they are the highest bits of the hash, of which `first` contains only the bits below the counter. */
    uint64_t first, more;
    if (shape == VESTA_UUID8) {
        uint64_t tail = vs_uuid_join(vs_uuid_rest(u, id), u->rest_bits, u->fingerprint);
        first = vs_uuid_join(counter, u->counter_bits, tail);
        more = vs_uuid_join(tail, u->counter_bits, 0);
    } else if (u->is_long[shape]) {
        first = counter << u->counter_shift | (vs_siphash(u->key, id, &more) & u->random_mask);
    } else {
        more = vs_siphash(u->key, id, NULL);
        first = counter << u->counter_shift | (more & u->random_mask);
    }
    if (shape == VESTA_ULID || shape == VESTA_HEX32) {
        vs_uuid_store(ms << 16 | first >> 48, out);
        vs_uuid_store(first << 16 | more >> 48, out + 8);
    } else {
        vs_uuid_store(ms << 16 | (uint64_t)(shape == VESTA_UUID8 ? 8 : 7) << 12 | first >> 52, out);
        vs_uuid_store((uint64_t)2 << 62 | (first << 12 | more >> 52) >> 2, out + 8);
    }
    return true;
}

#endif
