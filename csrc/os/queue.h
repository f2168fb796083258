/* queue.h -- writers' turns at a file. */
#ifndef VS_OS_QUEUE_H
#define VS_OS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Whose turn it is to write, by locks of an open file and not of a process; count 0: from `first` on for ever.
 * False: somebody else has a part of it, or the file cannot be locked.  One opening has one turn at a time. */
bool vs_queue_try(int fd, int64_t first, int64_t count, bool exclusive);
bool vs_queue_wait(int fd, int64_t first, int64_t count, bool exclusive, int64_t us_max);
/* The process that stands in the way by a lock of its own (fcntl's); -1: none, or it is an opening of a file. */
int64_t vs_queue_process(int fd, int64_t first, int64_t count);
/* How many bytes the one has locked who stands in the way at `first`; 0: nobody does. */
int64_t vs_queue_count(int fd, int64_t first);
/* Gives up all turns of this opening, also where a forked child has it open still. */
void vs_queue_leave(int fd);

#endif
