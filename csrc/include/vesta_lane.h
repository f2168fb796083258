/* vesta_lane.h -- lanes: the part of vesta.h for threads that request very many ids.
 *
 * vesta_next needs an atomic add on one word for each id, and threads and processes contend for this word.  A *lane*
 * takes a *run* of up to n ticks in one add, and issues them to its thread from memory that no other thread writes.
 *
 *     struct vesta_lane *lane;
 *     if (vesta_lane_open(gen, 64, &lane, &err) == VESTA_OK) {
 *         while (vesta_lane_next(lane, &id, &pause) == VESTA_OK) ...
 *         vesta_lane_close(lane);
 *     }
 *
 * Ids stay unique, because the cursor grants a run to one lane only.  Lanes have these costs:
 *
 *     order   the ids of one lane ascend.  Between lanes, or between a lane and vesta_next, a later id may be smaller:
 *             by up to n - 1 ids per other active lane, by any number if a lane was idle
 *     holes   up to n - 1 ids of a run are lost when its lane ends.  No id is lost if the cursor is still at the run's
 *             end when the lane is closed: the remaining ticks then return to the generator
 *     age     the time in an id is the time at which its run was taken, which may be long ago for an idle lane
 *
 * A run is dropped when its lease ends (vesta_release, vesta_drop, vesta_switch, vesta_prepare_snapshot, a failstop, or
 * when another process ends the lease), and in a forked child, which takes its own runs.  When a process is killed, the
 * ids that remain in its runs are lost. */
#ifndef VESTA_LANE_H
#define VESTA_LANE_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_LANE_MAX 4096 /* the maximum number of ticks in a run */

struct vesta_lane;

/* Opens a lane of a generator with history pacing.  It does not take a run yet.
 * Shape: n must be between 1 and VESTA_LANE_MAX, and no more than the number of ids in one time unit of the layout.  A
 * lane with n = 1 reserves no ids.
 * Threads: any.  A lane belongs to the first thread that requests an id from it.  In a forked child it belongs to the
 * first thread of the child that requests one.
 * Own: close with vesta_lane_close, before its generator.
 * Errors: VESTA_EOPTION for a wrong n, or for clock pacing, where an id has the time of its call: use vesta_next or
 * vesta_next_n instead.  VESTA_ENOMEM. */
VESTA_API int vesta_lane_open(struct vesta_gen *gen, uint64_t n, struct vesta_lane **lane, struct vesta_error *err);

/* Ends a lane.  The remaining ticks of its run return to the generator if no later tick was taken.  Otherwise they are
 * lost.  lane may be NULL.
 * Threads: any.  No other call on this lane may run at the same time or follow. */
VESTA_API void vesta_lane_close(struct vesta_lane *lane);

/* Issues one id, like vesta_next.
 * Threads: the lane's own thread, also after fork() in parent and child.  Never call it in a signal handler: the
 * handler may interrupt another call on this lane, and then both issue the same id.
 * Errors: VESTA_EPAUSE, *id untouched.  VESTA_EOPTION if the lane belongs to another thread: open one for each thread.
 */
VESTA_API int vesta_lane_next(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause);

/* Like vesta_lane_next, but sleeps through pauses like vesta_next_wait.  Threads: the lane's own thread.  May block.
 * Errors: VESTA_EPAUSE with the last pause.  VESTA_EOPTION as vesta_lane_next. */
VESTA_API int vesta_lane_next_wait(struct vesta_lane *lane, uint64_t *id, int64_t wait_us_max,
                                   struct vesta_pause *pause);

#ifdef __cplusplus
}
#endif
#endif
