/* generator.h -- a handle on a map: ticks and the clock.  Knows no I/O, no Lua, allocates nothing. */
#ifndef VS_GENERATOR_H
#define VS_GENERATOR_H

#include "generator/map.h"

#define VS_CLOCK_LEAP_US (10 * 1000000ll)    /* S: a larger step against BOOTTIME must be confirmed */
#define VS_CLOCK_CONFIRM_US (60 * 1000000ll) /* an offset that stood this long is believed */
#define VS_LATE_SEQ_BITS_MAX 24              /* a tick of any second that a clock can show has 64 bits */
#define VS_LATE_US_MAX 10000                 /* the kernel's tick: by so much a late clock may be */
#ifndef VS_LATE_FROM                         /* the simulator's units are small */
#define VS_LATE_FROM 128                     /* ids of a unit before the late clock is asked in it, and then */
#define VS_LATE_RUN 32                       /* of so many in a row, one by the exact clock */
#endif
_Static_assert((VS_LATE_RUN & (VS_LATE_RUN - 1)) == 0, "where a run begins is a matter of low bits");
#define VS_LEASE_POLL_US 1000 /* how soon to ask again while the keeper works */

/* A layout, boiled down to what one id needs.  An id is
 *     base + worker * worker_unit + tick * seq_unit + (tick >> gap_bits) * gap_skip         modulo 2^64
 * where gap_skip is what lies between the tick's bits below and above gap_bits: those of the sequence and of the time,
 * 0 where they adjoin; or those of the sequence's two parts.  Where it has two and does not adjoin the time either,
 *     + (tick >> seq_bits) * far_skip
 * comes to it, which is 0 in every layout that is in use: no handle on another gives ids the shortest way. */
struct vs_shape {
    uint64_t seq_unit, gap_skip, worker_unit;
    int64_t epoch_us, unit_us;
    uint64_t time_max;
    uint32_t spread;
    uint8_t seq_bits, gap_bits;
    uint64_t far_skip;
};

/* The place of a tick in an id, by every term. */
static inline uint64_t vs_place_tick(const struct vs_shape *s, uint64_t tick) {
    return tick * s->seq_unit + (tick >> s->gap_bits) * s->gap_skip + (tick >> s->seq_bits) * s->far_skip;
}

struct vesta_gen {
    /* The slot that gave the last id, NULL before the first: an open slot gives ids whatever became of `active`, and
     * a closed one says so, hence most calls need not ask which slot is the active one. */
    struct vs_slot *_Atomic slot;
    enum vesta_pacing pacing;
    uint64_t base; /* the constant fields */
    struct vs_shape shape;
    const struct vesta_clock *clock;
    uint64_t ahead_ticks_max;
    /* Layouts of a second: which one it is since 1970, late by a few milliseconds; NULL: only clock is read.  And the
     * layout's epoch in seconds, and how many ticks of a unit follow its first. */
    int64_t (*late_s)(void *self);
    int64_t epoch_s;
    uint64_t unit_rest;
    /* Other layouts: a clock that is late by as much, and from which tick of a unit on it is asked; NULL as above. */
    int64_t (*late_us)(void *self);
    uint64_t late_from;
    struct vs_map *_Atomic map; /* changes only when a file is retired; the old one stays mapped */
    struct vesta_layout layout;
    struct vs_handle *handle; /* the keeper folder's part; NULL in the simulator */
    /* 1: the keeper of this process asks which number to claim; NULL: none does */
    const _Atomic uint32_t *_Atomic asks;
};

/* Makes a generator over a formatted map. */
void vs_gen_init(struct vesta_gen *gen, struct vs_map *map, const struct vesta_layout *layout, uint64_t base,
                 const struct vesta_clock *clock);

/* Lets a clock that is cheaper than `clock`, and a little late, say whether the unit goes on that the cursor stands in:
 * late_s where the layout counts whole seconds, else late_us, where a unit has room for many ids.  It opens none: no id
 * is of a unit that `clock` has not shown. */
void vs_gen_read_late(struct vesta_gen *gen, int64_t (*late_s)(void *self), int64_t (*late_us)(void *self));

/* As vesta_next_block, and of which slot. */
int vs_gen_take(struct vesta_gen *gen, uint64_t n, struct vs_slot **slot, struct vesta_block *out,
                struct vesta_pause *pause);

/* On to the map that takes a used-up one's place. */
void vs_gen_move(struct vesta_gen *gen, struct vs_map *map);

void vs_shape_of(const struct vesta_layout *layout, struct vs_shape *out);
/* The time field of an instant: -1 before the epoch; may pass time_max. */
int64_t vs_time_at(const struct vs_shape *shape, int64_t unix_us);
/* The first tick of an instant, clamped to [0, one past the last tick]. */
uint64_t vs_tick_at(const struct vs_shape *shape, int64_t unix_us);
/* When a tick's time unit begins; INT64_MAX if that is later. */
int64_t vs_tick_unix_us(const struct vs_shape *shape, uint64_t tick);
/* One past the last tick of the layout. */
uint64_t vs_tick_end(const struct vs_shape *shape);

/* Both clocks, read one right after the other. */
struct vs_instant {
    int64_t unix_us, boot_us;
};
static inline struct vs_instant vs_instant_now(const struct vesta_clock *clock) {
    int64_t unix_us = clock->unix_us(clock->self);
    return (struct vs_instant){unix_us, clock->boot_us(clock->self)};
}
/* 0: the clock may be believed; else microseconds until it may. */
int64_t vs_clock_doubt_us(struct vs_map *map, struct vs_instant now);
/* Follows small steps (a keeper calls it with every renewal). */
void vs_clock_anchor(struct vs_map *map, struct vs_instant now);

/* How many ids there are room for just now; what lies between the clock and its bound in all, with what may be ahead of
 * it or is borrowed; and when the next unit, of how many ids and how long, begins.  Of the clock alone: a lease's end is
 * not in it.  false: nothing is held. */
struct vs_room {
    uint64_t ids, span, unit;
    int64_t unit_us, next_us;
};
bool vs_gen_room(struct vesta_gen *gen, struct vs_room *out);

/* Whether the keeper ends such a pause: who waits wakes it first. */
bool vs_pause_wakes_keeper(enum vesta_why why);
/* How long to sleep before an id is asked for again, by who may wait for left_us in all; -1: not at all. */
int64_t vs_pause_step_us(const struct vesta_pause *pause, int64_t left_us);

#endif
