/* memory.h -- what this host remembers of a counter whose numbers have no gap (order dense).  Its numbers are reserved
 * one by one in the database, so there is no range to take from; but a database that is restored from a backup grants
 * and forgets again what it had granted before.  The memory is the segment's map of order strict: all processes of the
 * host share it, and the next start finds it.
 *
 *     granted     the database granted all numbers below
 *     committed   of the last VS_REMEMBERED_MAX numbers that it granted: those that a client of this host has committed,
 *                 whichever host reserved them
 *     stopped     the database went back: nothing is reserved until `vesta segments resume` */
#ifndef VS_SEGMENT_MEMORY_H
#define VS_SEGMENT_MEMORY_H

#include "store/store.h"
#include "vesta_segment.h"

#include <stdbool.h>

#define VS_REMEMBERED_MAX 2016 /* a commit of an older number is not remembered */

/* Whether the store grants all numbers of the counter.  False: `reply` says why nothing may be reserved.  Threads: those
 * of the segment's desk. */
bool vs_memory_is_alone(struct vesta_segment *seg, struct vs_store *store, struct vs_reply *reply);

uint64_t vs_memory_granted(struct vesta_segment *seg);
bool vs_memory_is_stopped(struct vesta_segment *seg);
bool vs_memory_has_committed(struct vesta_segment *seg, uint64_t number);

/* The database granted the number to this host, not again but for the first time.  Call before a client sees it. */
void vs_memory_grant(struct vesta_segment *seg, uint64_t number);
/* The database has committed the number, so it had granted it, perhaps to another host.  Call before the client sees
 * the answer.  Threads: any, in any process of the host. */
void vs_memory_commit(struct vesta_segment *seg, uint64_t number);
/* An operator starts the counter again below what was granted: no commit is remembered.  Only if nothing is reserved
 * until that is done. */
void vs_memory_forget(struct vesta_segment *seg);
/* The database went back, and its counter stands at `lowered`. */
void vs_memory_stop(struct vesta_segment *seg, uint64_t lowered);

#endif
