/* queue.h -- lets processes take turns at writing to a file. */
#ifndef VS_OS_QUEUE_H
#define VS_OS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Takes a turn by locking `count` bytes that start at `first` with an OFD lock (count 0: all bytes from `first` on),
 * which belongs to the open file description.  Returns false if another description or process has locked some of these
 * bytes, or the file cannot be locked.  A description has at most one turn. */
bool vs_queue_try(int fd, int64_t first, int64_t count, bool exclusive);
bool vs_queue_wait(int fd, int64_t first, int64_t count, bool exclusive, int64_t us_max);
/* Returns the pid of a process with an fcntl lock that prevents the turn.  Returns -1 if there is none, or if the
 * conflicting lock is an OFD lock. */
int64_t vs_queue_process(int fd, int64_t first, int64_t count);
/* Returns the length of the conflicting lock at `first`, or 0 if there is none.  OFD locks report no pid, so the holder
 * encodes its pid as the length. */
int64_t vs_queue_count(int fd, int64_t first);
/* Ends the turn of this open file description, even if a forked child still has it open. */
void vs_queue_leave(int fd);

#endif
