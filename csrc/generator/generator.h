/* generator.h -- a handle of a map: takes ticks and reads the clock.  No I/O, no Lua, no allocation. */
#ifndef VS_GENERATOR_H
#define VS_GENERATOR_H

#include "generator/map.h"
#include "id/uuid.h"

/* A larger step of CLOCK_REALTIME against CLOCK_BOOTTIME must be confirmed (S in the documents). */
#define VS_CLOCK_LEAP_US (10 * 1000000ll)
/* A new offset between the two clocks is trusted after it has lasted this long. */
#define VS_CLOCK_CONFIRM_US (60 * 1000000ll)
/* The late clock of seconds needs a sequence of at most this many bits, so that the tick of any second fits 64 bits. */
#define VS_LATE_SEQ_BITS_MAX 24
/* The longest kernel tick, which is also the largest delay of a late clock. */
#define VS_LATE_US_MAX 10000
/* The simulator sets smaller values, because its time units have few ids. */
#ifndef VS_LATE_FROM
#define VS_LATE_FROM 128 /* ids of a time unit after which the late clock is used */
#define VS_LATE_RUN 32   /* one id of this many still reads the exact clock. A power of two */
#endif
_Static_assert((VS_LATE_RUN & (VS_LATE_RUN - 1)) == 0, "the start of a run is found by its low bits");
#define VS_LEASE_POLL_US 1000 /* how long to wait before the next attempt while the keeper works */

/* The constants of a layout from which an id is computed:
 *     base + worker * worker_unit + tick * seq_unit + (tick >> gap_bits) * gap_skip         modulo 2^64
 * gap_skip accounts for the gap between the tick's bits below and above gap_bits.  The gap is between sequence and
 * time, and gap_skip is 0 if they are adjacent.  If the sequence has two parts, the gap is between these parts.  If
 * there is also a gap between a two-part sequence and the time, the id has the additional term
 *     + (tick >> seq_bits) * far_skip
 * far_skip is 0 in all known layouts.  Layouts in which it is not 0 do not use the fastest path. */
struct vs_shape {
    uint64_t seq_unit, gap_skip, worker_unit;
    int64_t epoch_us, unit_us;
    uint64_t time_max;
    uint64_t spread; /* the sequence of a time unit starts below this. 0: at 0 */
    uint32_t shards; /* seq_start=shards:N: the shard of an id is (id >> key_shift) % shards */
    enum vesta_start start;
    uint8_t key_shift, low_bits;
    uint8_t seq_bits, gap_bits;
    uint64_t far_skip;
};

/* Returns a tick's contribution to the id. */
static inline uint64_t vs_place_tick(const struct vs_shape *s, uint64_t tick) {
    return tick * s->seq_unit + (tick >> s->gap_bits) * s->gap_skip + (tick >> s->seq_bits) * s->far_skip;
}

struct vesta_gen {
    /* The slot that issued the last id, or NULL.  Most calls use it without looking up the active slot.  This is safe,
     * because an open slot may issue ids even if it is not the active one, and a closed slot rejects. */
    struct vs_slot *_Atomic slot;
    enum vesta_pacing pacing;
    uint64_t base; /* the bits of the constant fields */
    struct vs_shape shape;
    const struct vesta_clock *clock;
    uint64_t ahead_ticks_max;
    uint64_t lead_ticks_max; /* the same for UUIDs while the clock is behind the cursor */
    /* For layouts that count seconds: a clock of seconds since 1970 that may be a few milliseconds late, or NULL.
     * epoch_s is the epoch in seconds.  unit_rest is the number of ticks in a unit minus 1. */
    int64_t (*late_s)(void *self);
    int64_t epoch_s;
    uint64_t unit_rest;
    /* For other layouts: a clock of microseconds that may be as late, or NULL.  It is used when the sequence has
     * reached late_from. */
    int64_t (*late_us)(void *self);
    uint64_t late_from;
    struct vs_map *_Atomic map; /* replaced only when the map is used up. The old map stays mapped */
    struct vesta_layout layout;
    struct vs_handle *handle; /* data of csrc/keeper. NULL in the simulator */
    /* Points to 1 while this process's keeper is asking which worker id to claim.  NULL: no keeper. */
    const _Atomic uint32_t *_Atomic asks;
    struct vs_uuid uuid; /* converts ids to UUIDs */
    uint8_t span_units;  /* the time units of a span of UUIDs, as a power of two */
};

/* Initializes a generator for a map that vs_map_format has initialized. */
void vs_gen_init(struct vesta_gen *gen, struct vs_map *map, const struct vesta_layout *layout, uint64_t base,
                 const struct vesta_clock *clock);

/* Sets a cheaper clock that may be late, to detect that the cursor's time unit continues.  Layouts that count seconds
 * use late_s, and other layouts with many ids per unit use late_us.  Only `clock` begins a new unit, so no id has a
 * time unit that `clock` has not reached. */
void vs_gen_read_late(struct vesta_gen *gen, int64_t (*late_s)(void *self), int64_t (*late_us)(void *self));

/* Like vesta_next_block, and sets *slot to the slot that issued the block. */
int vs_gen_take(struct vesta_gen *gen, uint64_t n, struct vs_slot **slot, struct vesta_block *out,
                struct vesta_pause *pause);

/* Returns how many low bits of a tick are its place in a span of UUIDs.  A span is a time unit or about a millisecond,
 * whichever is longer.  The order of UUIDs across leases is checked by spans, so that few UUIDs write a shared word. */
unsigned vs_span_bits(const struct vs_shape *shape);

/* Returns whether an id is in the latest span of UUIDs, so that a UUID can be made from it. */
static inline bool vs_gen_is_in_span(const struct vesta_gen *gen, uint64_t id) {
    const struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    return vs_uuid_time(&gen->uuid, id) >> gen->span_units ==
           atomic_load_explicit(&map->shared.uuid_span, memory_order_relaxed);
}

/* Takes an id for a UUID after vesta_next returned a pause or an id that is not in the latest span. */
int vs_gen_next_lead(struct vesta_gen *gen, int rc, uint64_t *id, struct vesta_pause *pause);
/* Like vesta_next_block, for UUIDs.  They do not pause if the clock is at most VESTA_UUID_LEAD_MS behind the cursor,
 * and ascend also from one lease to the next. */
int vs_gen_take_lead(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause);

/* Switches the handle to a new map, which replaces a used-up one. */
void vs_gen_move(struct vesta_gen *gen, struct vs_map *map);

void vs_shape_of(const struct vesta_layout *layout, struct vs_shape *out);
/* Returns the time field's value at an instant, or -1 before the epoch.  The value may exceed time_max. */
int64_t vs_time_at(const struct vs_shape *shape, int64_t unix_us);
/* Returns the first tick of the time unit that contains an instant, limited to [0, vs_tick_end]. */
uint64_t vs_tick_at(const struct vs_shape *shape, int64_t unix_us);
/* Returns the start of a tick's time unit, or INT64_MAX if it would overflow. */
int64_t vs_tick_unix_us(const struct vs_shape *shape, uint64_t tick);
/* Returns the last tick of the layout + 1. */
uint64_t vs_tick_end(const struct vs_shape *shape);

/* Returns the first tick of a time unit to which the cursor, which is below it, skips.  `open` is the tick whose
 * sequence is 0. */
uint64_t vs_gen_start(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t cursor, uint64_t open);

/* The readings of both clocks, CLOCK_REALTIME first. */
struct vs_instant {
    int64_t unix_us, boot_us;
};
static inline struct vs_instant vs_instant_now(const struct vesta_clock *clock) {
    int64_t unix_us = clock->unix_us(clock->self);
    return (struct vs_instant){unix_us, clock->boot_us(clock->self)};
}
/* Returns 0 if the clock can be trusted, else how many microseconds remain until it can be trusted. */
int64_t vs_clock_doubt_us(struct vs_map *map, struct vs_instant now);
/* Adopts small changes of the offset between both clocks.  The keeper calls it in each step. */
void vs_clock_anchor(struct vs_map *map, struct vs_instant now);

/* How many ids the clock permits, regardless of the lease's end. */
struct vs_room {
    uint64_t ids;    /* ids that can be issued now */
    uint64_t span;   /* ids from the latest known time up to the bound, including ids ahead of the clock */
    uint64_t unit;   /* ids in a time unit */
    int64_t unit_us; /* length of a time unit */
    int64_t next_us; /* time until the next unit */
};
/* Sets *out.  Returns false if no lease is held. */
bool vs_gen_room(struct vesta_gen *gen, struct vs_room *out);

/* Returns whether the keeper can end a pause with this reason, which means that a waiting caller should wake the keeper
 * first. */
bool vs_pause_wakes_keeper(enum vesta_why why);
/* Returns how long to sleep before the next attempt if the caller may wait for another left_us, or -1 if the caller
 * must not wait. */
int64_t vs_pause_step_us(const struct vesta_pause *pause, int64_t left_us);

#endif
