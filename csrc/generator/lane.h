/* lane.h -- a thread's own run of ticks.  Knows no I/O, allocates nothing. */
#ifndef VS_LANE_H
#define VS_LANE_H

#include "generator/generator.h"

struct vesta_lane {
    /* Which thread of which process: one word tells both. */
    _Alignas(VS_LINE) _Atomic uint64_t owner;
    const _Atomic uint64_t *process; /* a word that no other process has the like of, and that a forked child has not */
    /* The owner's alone: ids from `id` up to `stop`, in steps, until the layout's next gap; then those of the ticks
     * [next, end) of the slot. */
    struct vs_slot *slot;
    uint64_t id, stop, step;
    uint64_t next, end;
    uint64_t base; /* all bits of the id but the tick's */
    uint64_t n;
    struct vesta_gen *gen;
    uint64_t (*token)(void);     /* *process, which a child draws here */
    _Atomic uint64_t process_of; /* the owner's; 0: it is nobody's yet */
};

/* A lane of runs of n.  `process` lives as long as the lane. */
void vs_lane_init(struct vesta_lane *lane, struct vesta_gen *gen, uint64_t n, const _Atomic uint64_t *process,
                  uint64_t (*token)(void));

/* The longest run that the layout allows: a unit's ids. */
uint64_t vs_lane_max(const struct vs_shape *shape);

/* Gives back what is left, where the cursor still stands at its end; true if it did.  The lane has no run then. */
bool vs_lane_end(struct vesta_lane *lane);

#endif
