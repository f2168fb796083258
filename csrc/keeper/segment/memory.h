/* memory.h -- this host's record of a counter of order dense, which issues gapless numbers.  The numbers are reserved
 * one by one in the database, without ranges.  A database that was restored from a backup has lost commits, and grants
 * their numbers again.  This record detects that.  It is the segment's map of order strict, which all processes of the
 * host share, and which outlives them.
 *
 *     granted     the database has granted all numbers below this value
 *     committed   which of the last VS_REMEMBERED_MAX granted numbers a client of this host has committed, no matter
 *                 which host reserved them
 *     stopped     the database was rolled back: no number is reserved until `vesta segments resume` */
#ifndef VS_SEGMENT_MEMORY_H
#define VS_SEGMENT_MEMORY_H

#include "store/store.h"
#include "vesta_segment.h"

#include <stdbool.h>

#define VS_REMEMBERED_MAX 2016 /* commits of older numbers are forgotten */

/* Returns true if the store issues all numbers of the counter.  If the result is false, `reply` has the reason, and no
 * number may be reserved.  Threads: only those of the segment's desk (serve/desk.c). */
bool vs_memory_is_alone(struct vesta_segment *seg, struct vs_store *store, struct vs_reply *reply);

uint64_t vs_memory_granted(struct vesta_segment *seg);
bool vs_memory_is_stopped(struct vesta_segment *seg);
bool vs_memory_has_committed(struct vesta_segment *seg, uint64_t number);

/* Records that the database granted the number to this host for the first time.  Call before a client sees it. */
void vs_memory_grant(struct vesta_segment *seg, uint64_t number);
/* Records that the database has committed the number, which another host may have reserved.  Call before the client
 * sees the reply.  Threads: any, in any process of the host. */
void vs_memory_commit(struct vesta_segment *seg, uint64_t number);
/* Forgets all commits, because an operator restarts the counter below the granted numbers.  No number may be reserved
 * during the call. */
void vs_memory_forget(struct vesta_segment *seg);
/* Records that the database was rolled back, and that its counter is at `lowered`. */
void vs_memory_stop(struct vesta_segment *seg, uint64_t lowered);

#endif
