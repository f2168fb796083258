/* queue.h -- takes turns at writing to a file. */
#ifndef VS_OS_QUEUE_H
#define VS_OS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Takes a turn by locking bytes of this opening of the file.  count 0: all bytes from `first` on.  False: another
 * opening or process has locked some of them, or the file cannot be locked.  An opening has one turn at a time. */
bool vs_queue_try(int fd, int64_t first, int64_t count, bool exclusive);
bool vs_queue_wait(int fd, int64_t first, int64_t count, bool exclusive, int64_t us_max);
/* The pid of a process whose own lock (fcntl's) is in the way.  -1 if there is none, or the lock belongs to an opening.
 */
int64_t vs_queue_process(int fd, int64_t first, int64_t count);
/* The length of the lock that is in the way at `first`, or 0 if there is none.  Its holder encodes its pid in it. */
int64_t vs_queue_count(int fd, int64_t first);
/* Ends all turns of this opening, even if a forked child still has it open. */
void vs_queue_leave(int fd);

#endif
