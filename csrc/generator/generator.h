/* generator.h -- a handle on a map: takes ticks and reads the clock.  No I/O, no Lua, no allocation. */
#ifndef VS_GENERATOR_H
#define VS_GENERATOR_H

#include "generator/map.h"

#define VS_CLOCK_LEAP_US (10 * 1000000ll)    /* S: a larger step against BOOTTIME must be confirmed */
#define VS_CLOCK_CONFIRM_US (60 * 1000000ll) /* an offset that lasts this long is trusted */
#define VS_LATE_SEQ_BITS_MAX 24              /* then the tick of any second that a clock can show fits into 64 bits */
#define VS_LATE_US_MAX 10000                 /* the longest kernel tick, which is the largest delay of a late clock */
#ifndef VS_LATE_FROM                         /* the simulator's time units are small */
#define VS_LATE_FROM 128                     /* the late clock is used after this many ids of a unit, */
#define VS_LATE_RUN 32                       /* except for one of this many in a row, which reads the exact clock */
#endif
_Static_assert((VS_LATE_RUN & (VS_LATE_RUN - 1)) == 0, "the start of a run is found by its low bits");
#define VS_LEASE_POLL_US 1000 /* when to ask again while the keeper works */

/* The constants of a layout that one id needs.  An id is
 *     base + worker * worker_unit + tick * seq_unit + (tick >> gap_bits) * gap_skip         modulo 2^64
 * gap_skip is the distance between the tick's bits below and above gap_bits.  That is the distance between sequence and
 * time, 0 if they are adjacent, or between the two parts of the sequence.  If the sequence has two parts and is not
 * adjacent to the time either, the id also has the term
 *     + (tick >> seq_bits) * far_skip
 * It is 0 in all known layouts.  Other layouts do not use the fastest path. */
struct vs_shape {
    uint64_t seq_unit, gap_skip, worker_unit;
    int64_t epoch_us, unit_us;
    uint64_t time_max;
    uint32_t spread;
    uint8_t seq_bits, gap_bits;
    uint64_t far_skip;
};

/* The bits of a tick within an id. */
static inline uint64_t vs_place_tick(const struct vs_shape *s, uint64_t tick) {
    return tick * s->seq_unit + (tick >> s->gap_bits) * s->gap_skip + (tick >> s->seq_bits) * s->far_skip;
}

struct vesta_gen {
    /* The slot that issued the last id, or NULL.  An open slot issues ids whatever `active` is, and a closed slot
     * rejects, so most calls need not look up the active slot. */
    struct vs_slot *_Atomic slot;
    enum vesta_pacing pacing;
    uint64_t base; /* the bits of the constant fields */
    struct vs_shape shape;
    const struct vesta_clock *clock;
    uint64_t ahead_ticks_max;
    /* For layouts of whole seconds: a clock of seconds since 1970 that may be a few milliseconds late, or NULL.  With
     * it the epoch in seconds, and the number of ticks of a unit after the first. */
    int64_t (*late_s)(void *self);
    int64_t epoch_s;
    uint64_t unit_rest;
    /* For other layouts: a clock that may be as late, or NULL, and the tick of a unit from which on it is used. */
    int64_t (*late_us)(void *self);
    uint64_t late_from;
    struct vs_map *_Atomic map; /* changes only when a file is retired; the old map stays mapped */
    struct vesta_layout layout;
    struct vs_handle *handle; /* the keeper folder's data; NULL in the simulator */
    /* 1: the keeper of this process asks which worker id to claim; NULL: no keeper */
    const _Atomic uint32_t *_Atomic asks;
};

/* Initializes a generator over a formatted map. */
void vs_gen_init(struct vesta_gen *gen, struct vs_map *map, const struct vesta_layout *layout, uint64_t base,
                 const struct vesta_clock *clock);

/* Sets a cheaper clock that may be late.  It decides whether the cursor's time unit continues: late_s for layouts of
 * whole seconds, else late_us, for layouts with many ids per unit.  It never begins a unit: no id is of a unit that
 * `clock` has not reached. */
void vs_gen_read_late(struct vesta_gen *gen, int64_t (*late_s)(void *self), int64_t (*late_us)(void *self));

/* Like vesta_next_block, and sets the slot. */
int vs_gen_take(struct vesta_gen *gen, uint64_t n, struct vs_slot **slot, struct vesta_block *out,
                struct vesta_pause *pause);

/* Moves to the map that replaces a used-up one. */
void vs_gen_move(struct vesta_gen *gen, struct vs_map *map);

void vs_shape_of(const struct vesta_layout *layout, struct vs_shape *out);
/* The time field at an instant.  -1 before the epoch; may exceed time_max. */
int64_t vs_time_at(const struct vs_shape *shape, int64_t unix_us);
/* The first tick of an instant, limited to [0, vs_tick_end]. */
uint64_t vs_tick_at(const struct vs_shape *shape, int64_t unix_us);
/* The start of a tick's time unit, or INT64_MAX if it is later than that. */
int64_t vs_tick_unix_us(const struct vs_shape *shape, uint64_t tick);
/* One past the last tick of the layout. */
uint64_t vs_tick_end(const struct vs_shape *shape);

/* Both clocks, read one after the other. */
struct vs_instant {
    int64_t unix_us, boot_us;
};
static inline struct vs_instant vs_instant_now(const struct vesta_clock *clock) {
    int64_t unix_us = clock->unix_us(clock->self);
    return (struct vs_instant){unix_us, clock->boot_us(clock->self)};
}
/* 0 if the clock can be trusted, else the microseconds until it can. */
int64_t vs_clock_doubt_us(struct vs_map *map, struct vs_instant now);
/* Follows small steps of the clock.  A keeper calls it with each renewal. */
void vs_clock_anchor(struct vs_map *map, struct vs_instant now);

/* How many ids can be issued now (`ids`), and the whole range between the latest known time and the bound (`span`),
 * which includes ticks ahead of the clock and borrowed ones.  Also the size and length of a time unit, and the time
 * until the next one.  Depends on the clock only, not on the lease's end.  False if no lease is held. */
struct vs_room {
    uint64_t ids, span, unit;
    int64_t unit_us, next_us;
};
bool vs_gen_room(struct vesta_gen *gen, struct vs_room *out);

/* Whether the keeper ends such a pause, so that a waiting caller should wake it first. */
bool vs_pause_wakes_keeper(enum vesta_why why);
/* How long to sleep before asking again, if the caller may wait left_us in total.  -1: do not wait. */
int64_t vs_pause_step_us(const struct vesta_pause *pause, int64_t left_us);

#endif
