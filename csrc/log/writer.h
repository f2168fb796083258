/* writer.h -- where lines go: a file or stderr, written by the log's own thread once that has begun, so that nobody
 * else waits for a disk. */
#ifndef VS_LOG_WRITER_H
#define VS_LOG_WRITER_H

#include "log/line.h"

/* The log's lock, over what its callers share.  While the thread runs it is held over no call that may hang. */
void vs_writer_lock(void);
void vs_writer_unlock(void);

/* Under the lock.  Ends a line, with how many were lost before it, and writes it or leaves it to the thread; it is lost
 * where the thread is too far behind. */
void vs_writer_put(struct vs_line *line);
bool vs_writer_is_journal(void); /* who reads it */

/* Goes to that file from now on, to stderr where it is NULL; on failure all stays.  Before the thread has begun. */
int vs_writer_open(const char *path, struct vesta_error *err);

/* A file to append lines to; `what` names it in the error.  Errors: VESTA_EIO. */
int vs_log_open_file(const char *what, const char *path, int *fd, struct vesta_error *err);

/* Ends the thread when all is written, and goes back to stderr; a thread that hangs is left behind after a while. */
void vs_writer_end(int64_t wait_ms);

#endif
