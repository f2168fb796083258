/* vesta_lane.h -- lanes: the part of vesta.h for threads that ask for very many ids.
 *
 * Each id costs vesta_next an atomic add on one word, for which threads and processes queue.  A *lane* takes a *run* of
 * up to n ticks in one such step, and gives them to its thread one by one out of memory that nobody else writes.
 *
 *     struct vesta_lane *lane;
 *     if (vesta_lane_open(gen, 64, &lane, &err) == VESTA_OK) {
 *         while (vesta_lane_next(lane, &id, &pause) == VESTA_OK) ...
 *         vesta_lane_close(lane);
 *     }
 *
 * An id is given once, as any is: a run is what the cursor has granted, to one lane.  What a lane costs:
 *
 *     order   the ids of a lane ascend; between lanes, and beside vesta_next, one that is given later may be smaller:
 *             by up to n - 1 ids for each other lane that is in use, and by any number from one that stood idle
 *     holes   what is left of a run when its lane ends, up to n - 1 ids; none where the cursor still stands at the
 *             run's end when the lane is closed: then it is given back
 *     age     a run is as old as when it was taken, and so is an idle lane's next id
 *
 * A run is dropped, and never given, when its lease has ended (vesta_release, vesta_drop, vesta_switch,
 * vesta_prepare_snapshot, a failstop, another process's end of it), and in a forked child, which goes on with runs of
 * its own.  A process that is killed leaves holes. */
#ifndef VESTA_LANE_H
#define VESTA_LANE_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_LANE_MAX 4096 /* ticks of a run */

struct vesta_lane;

/* Opens a lane over a generator under history pacing.  Takes nothing yet.
 * Shape: n is 1 to VESTA_LANE_MAX, and no more than a time unit of the layout has ids; a lane of 1 holds nothing.
 * Threads: any.  A lane belongs to the thread that asks it for an id first; a forked child's to the one that does so in
 * the child.  Own: close with vesta_lane_close, before its generator.
 * Errors: VESTA_EOPTION: n; clock pacing, whose ids have the time of their call: use vesta_next or vesta_next_n there;
 * VESTA_ENOMEM. */
VESTA_API int vesta_lane_open(struct vesta_gen *gen, uint64_t n, struct vesta_lane **lane, struct vesta_error *err);

/* Ends a lane.  What is left of its run goes back to the generator where nobody has taken a tick behind it, and is lost
 * otherwise.  lane may be NULL.  Threads: any; no other call on this lane may run or follow. */
VESTA_API void vesta_lane_close(struct vesta_lane *lane);

/* Gives one id, as vesta_next does.  Threads: the lane's own, and not in a signal handler, which may stand in the
 * middle of another call on this lane and would give its id again; after fork() in parent and child.
 * Errors: VESTA_EPAUSE, *id untouched; VESTA_EOPTION: it is another thread's lane: open one for each. */
VESTA_API int vesta_lane_next(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause);

/* As vesta_lane_next, but sleeps through pauses as vesta_next_wait does.  Threads: the lane's own; blocks.
 * Errors: VESTA_EPAUSE with the last pause; VESTA_EOPTION as vesta_lane_next. */
VESTA_API int vesta_lane_next_wait(struct vesta_lane *lane, uint64_t *id, int64_t wait_us_max,
                                   struct vesta_pause *pause);

#ifdef __cplusplus
}
#endif
#endif
