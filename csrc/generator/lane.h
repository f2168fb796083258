/* lane.h -- a thread's own run of ticks.  No I/O, no allocation. */
#ifndef VS_LANE_H
#define VS_LANE_H

#include "generator/generator.h"

struct vesta_lane {
    /* Identifies thread and process in one word. */
    _Alignas(VS_LINE) _Atomic uint64_t owner;
    const _Atomic uint64_t *process; /* a word that is unique to this process, and changes in a forked child */
    /* Used by the owner only.  First the ids from `id` up to `stop`, `step` apart, which end at the layout's next gap.
     * Then the ids of the ticks [next, end) of the slot. */
    struct vs_slot *slot;
    uint64_t id, stop, step;
    uint64_t next, end;
    uint64_t base; /* the bits of an id without its tick */
    uint64_t n;
    struct vesta_gen *gen;
    uint64_t (*token)(void);     /* returns *process, and draws it in a child */
    _Atomic uint64_t process_of; /* the owner's process, or 0 if the lane has no owner yet */
};

/* Initializes a lane with runs of n.  `process` must live as long as the lane. */
void vs_lane_init(struct vesta_lane *lane, struct vesta_gen *gen, uint64_t n, const _Atomic uint64_t *process,
                  uint64_t (*token)(void));

/* The longest run that the layout allows: the ids of one time unit. */
uint64_t vs_lane_max(const struct vs_shape *shape);

/* Returns the rest of the run if the cursor is still at its end.  True if it did.  The lane has no run afterwards. */
bool vs_lane_end(struct vesta_lane *lane);

#endif
