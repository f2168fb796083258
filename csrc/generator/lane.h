/* lane.h -- issues ids from a run of ticks that belongs to one thread.  No I/O, no allocation. */
#ifndef VS_LANE_H
#define VS_LANE_H

#include "generator/generator.h"

struct vesta_lane {
    /* Identifies the owner: its thread and process, in one word. */
    _Alignas(VS_LINE) _Atomic uint64_t owner;
    const _Atomic uint64_t *process; /* a word that is unique to each process, also to a forked child */
    /* The run.  Only the owner uses these members.  The next ids are `id` up to `stop` (exclusive), `step` apart.  They
     * end at the next gap of the layout.  After them come the ids of the slot's ticks [next, end). */
    struct vs_slot *slot;
    uint64_t id, stop, step;
    uint64_t next, end;
    uint64_t base; /* an id without the bits of its tick */
    uint64_t n;    /* ticks to take for a run */
    struct vesta_gen *gen;
    uint64_t (*token)(void);     /* returns *process. In a forked child it first draws a new value */
    _Atomic uint64_t process_of; /* the value of *process in the owner's process. 0: the lane has no owner yet */
};

/* Initializes a lane that takes n ticks per run.  `process` must live as long as the lane. */
void vs_lane_init(struct vesta_lane *lane, struct vesta_gen *gen, uint64_t n, const _Atomic uint64_t *process,
                  uint64_t (*token)(void));

/* Returns the longest run that the layout allows: the ids of one time unit, at most VESTA_LANE_MAX. */
uint64_t vs_lane_max(const struct vs_shape *shape);

/* Ends the lane's run.  If the cursor is still at the end of the run, gives the remaining ticks back to the slot.
 * Returns whether it gave them back. */
bool vs_lane_end(struct vesta_lane *lane);

#endif
