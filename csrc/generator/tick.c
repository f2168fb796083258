/* tick.c -- converts times to ticks and back, and decides whether to trust the clock. */
#include "generator/generator.h"
#include "id/id.h"

/* Returns the value to add for each overflow of the `width` bits at bit `from`, so that the overflow appears at bit
 * `place`. */
static uint64_t tick_skip(unsigned place, unsigned from, unsigned width) {
    return ((uint64_t)1 << place) - ((uint64_t)1 << from << width);
}

void vs_shape_of(const struct vesta_layout *layout, struct vs_shape *out) {
    const struct vesta_field *time = &layout->field[layout->time], *seq = vs_seq(layout);
    unsigned high_width = seq->width - seq->low_width;
    bool is_split = seq->low_width > 0;
    *out = (struct vs_shape){
        .seq_bits = seq->width,
        .seq_unit = (uint64_t)1 << (is_split ? seq->low_shift : seq->shift),
        .gap_bits = is_split ? seq->low_width : seq->width,
        .gap_skip = is_split ? tick_skip(seq->shift, seq->low_shift, seq->low_width)
                             : tick_skip(time->shift, seq->shift, seq->width),
        .far_skip = is_split ? tick_skip(time->shift, seq->shift, high_width) : 0,
        .worker_unit = layout->worker >= 0 ? (uint64_t)1 << layout->field[layout->worker].shift : 0,
        .time_max = time->max,
        .epoch_us = layout->epoch_ms * 1000,
        .unit_us = layout->unit_us,
        .start = (enum vesta_start)layout->start,
        .spread = layout->start == VESTA_SHARDS ? (uint64_t)layout->spread << seq->low_width : layout->spread,
        .shards = layout->spread,
        .key_shift = seq->shift,
        .low_bits = seq->low_width,
    };
}

/* Divides by a constant for the common units, because a division by a variable takes longer than all other work for an
 * id. */
static int64_t tick_units(int64_t us, int64_t unit_us) {
    switch (unit_us) {
    case 1: return us;
    case 1000: return us / 1000;
    case 10000: return us / 10000;
    case 1000000: return us / 1000000;
    default: return us / unit_us;
    }
}

int64_t vs_time_at(const struct vs_shape *shape, int64_t unix_us) {
    return unix_us < shape->epoch_us ? -1 : tick_units(unix_us - shape->epoch_us, shape->unit_us);
}

uint64_t vs_tick_end(const struct vs_shape *shape) {
    return (shape->time_max + 1) << shape->seq_bits;
}

uint64_t vs_tick_at(const struct vs_shape *shape, int64_t unix_us) {
    int64_t time = vs_time_at(shape, unix_us);
    if (time < 0) return 0;
    return (uint64_t)time > shape->time_max ? vs_tick_end(shape) : (uint64_t)time << shape->seq_bits;
}

int64_t vs_tick_unix_us(const struct vs_shape *shape, uint64_t tick) {
    int64_t us;
    /* a wide time field may end after INT64_MAX microseconds, and a damaged record may contain any tick */
    bool far = __builtin_mul_overflow((int64_t)(tick >> shape->seq_bits), shape->unit_us, &us) ||
               __builtin_add_overflow(us, shape->epoch_us, &us);
    return far ? INT64_MAX : us;
}

/* ------------------------------------------------------------------ trust in the clock
 *
 * CLOCK_REALTIME can be set, and CLOCK_BOOTTIME cannot.  The map stores the difference between them, called the offset.
 * If the offset changes by more than VS_CLOCK_LEAP_US, CLOCK_REALTIME was set.  If it was set forward, ids could get
 * times far in the future, so issuing pauses until the new offset has lasted for a minute.  If it was set back, no id
 * can repeat, because the cursor waits for the clock anyway. */

/* Packs an unconfirmed offset into one word, so that two threads cannot mix their values: (the second of CLOCK_BOOTTIME
 * at which it was first seen + 1) << 32 | its difference from the confirmed offset in seconds. */
static uint64_t pack_leap(int64_t boot_us, int64_t diff_us) {
    int64_t diff_s = diff_us / 1000000;
    diff_s = diff_s > INT32_MAX ? INT32_MAX : diff_s < INT32_MIN ? INT32_MIN : diff_s;
    return (uint64_t)(boot_us / 1000000 + 1) << 32 | (uint32_t)(int32_t)diff_s;
}

static bool is_small(int64_t diff_us) {
    return diff_us >= -VS_CLOCK_LEAP_US && diff_us <= VS_CLOCK_LEAP_US;
}

/* Replaces the unconfirmed offset in the word `was`.  If another thread has changed the word, that change counts. */
static void set_leap(struct vs_shared *shared, uint64_t was, uint64_t leap) {
    uint64_t to = leap | (was & VS_LEAP_MARKED);
    if (to != was)
        atomic_compare_exchange_strong_explicit(&shared->leap, &was, to, memory_order_relaxed, memory_order_relaxed);
}

int64_t vs_clock_doubt_us(struct vs_map *map, struct vs_instant now) {
    struct vs_shared *shared = &map->shared;
    int64_t known = atomic_load_explicit(&shared->offset_us, memory_order_relaxed);
    int64_t diff = now.unix_us - now.boot_us - known;
    uint64_t word = atomic_load_explicit(&shared->leap, memory_order_relaxed), met = pack_leap(now.boot_us, diff);
    uint64_t leap = word & ~VS_LEAP_MARKED;
    if (is_small(diff)) {
        set_leap(shared, word, 0);
        return 0;
    }
    if (!leap || !is_small(((int64_t)(int32_t)leap - (int32_t)met) * 1000000)) {
        leap = met; /* a new offset: its minute begins now */
        set_leap(shared, word, leap);
    }
    int64_t stood_us = now.boot_us - ((int64_t)(leap >> 32) - 1) * 1000000;
    if (stood_us >= VS_CLOCK_CONFIRM_US) {
        atomic_compare_exchange_strong_explicit(&shared->offset_us, &known, known + diff, memory_order_relaxed,
                                                memory_order_relaxed);
        set_leap(shared, atomic_load_explicit(&shared->leap, memory_order_relaxed), 0);
        return 0;
    }
    return diff > 0 ? VS_CLOCK_CONFIRM_US - stood_us : 0;
}

void vs_clock_anchor(struct vs_map *map, struct vs_instant now) {
    int64_t offset = now.unix_us - now.boot_us;
    int64_t known = atomic_load_explicit(&map->shared.offset_us, memory_order_relaxed);
    if (is_small(offset - known))
        atomic_compare_exchange_strong_explicit(&map->shared.offset_us, &known, offset, memory_order_relaxed,
                                                memory_order_relaxed);
}
