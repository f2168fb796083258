/* generator.h -- a handle on a map: ticks and the clock.  Knows no I/O, no Lua, allocates nothing. */
#ifndef VS_GENERATOR_H
#define VS_GENERATOR_H

#include "core/map.h"

#define VS_CLOCK_LEAP_US (10 * 1000000ll)    /* S: a larger step against BOOTTIME must be confirmed */
#define VS_CLOCK_CONFIRM_US (60 * 1000000ll) /* an offset that stood this long is believed */
#define VS_LEASE_POLL_US 1000                /* how soon to ask again while the keeper works */

/* A layout, boiled down to what one id needs. */
struct vs_shape {
    uint8_t seq_bits, seq_shift, time_shift, worker_shift;
    uint64_t time_max;
    int64_t epoch_us, unit_us;
    uint32_t spread;
};

struct vesta_gen {
    struct vs_map *_Atomic map; /* changes only when a file is retired; the old one stays mapped */
    const struct vesta_clock *clock;
    uint64_t base;              /* the constant fields */
    uint64_t ahead_ticks_max;
    enum vesta_pacing pacing;
    struct vs_shape shape;
    struct vesta_layout layout;
    struct vs_handle *handle;   /* the keeper floor's part; NULL in the simulator */
};

/* Makes a generator over a formatted map. */
void vs_gen_init(struct vesta_gen *gen, struct vs_map *map, const struct vesta_layout *layout, uint64_t base,
                 const struct vesta_clock *clock);

void vs_shape_of(const struct vesta_layout *layout, struct vs_shape *out);
/* The time field of an instant: -1 before the epoch; may pass time_max. */
int64_t vs_time_at(const struct vs_shape *shape, int64_t unix_us);
/* The first tick of an instant, clamped to [0, one past the last tick]. */
uint64_t vs_tick_at(const struct vs_shape *shape, int64_t unix_us);
/* When a tick's time unit begins; INT64_MAX if that is later. */
int64_t vs_tick_unix_us(const struct vs_shape *shape, uint64_t tick);
/* One past the last tick of the layout. */
uint64_t vs_tick_end(const struct vs_shape *shape);

/* 0: the clock may be believed; else microseconds until it may.  Reads BOOTTIME. */
int64_t vs_clock_doubt_us(struct vs_map *map, const struct vesta_clock *clock, int64_t unix_us);
/* Follows small steps (a keeper calls it with every renewal). */
void vs_clock_anchor(struct vs_map *map, const struct vesta_clock *clock);

#endif
