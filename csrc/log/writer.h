/* writer.h -- writes lines to a file or stderr.  Once the log's thread runs, only that thread waits for a disk. */
#ifndef VS_LOG_WRITER_H
#define VS_LOG_WRITER_H

#include "log/line.h"

/* The log's lock.  While the thread runs, no thread has this lock during a call that may hang. */
void vs_writer_lock(void);
void vs_writer_unlock(void);

/* Ends a line with the number of lines lost before it, and writes the line or passes it to the thread.  The line is
 * lost if the thread lags too far behind.  Call with the lock held. */
void vs_writer_put(struct vs_line *line);
bool vs_writer_is_journal(void); /* true if stderr is the journal */

/* Directs the log to that file, or to stderr if `path` is NULL.  After an error, nothing is changed.  Call this before
 * the thread has begun. */
int vs_writer_open(const char *path, struct vesta_error *err);

/* Opens a file for appending lines.  `what` names the file in the error.  Errors: VESTA_EIO. */
int vs_log_open_file(const char *what, const char *path, int *fd, struct vesta_error *err);

/* Ends the thread after it has written all lines, and directs the log to stderr.  A thread that hangs longer than
 * wait_ms is left running. */
void vs_writer_end(int64_t wait_ms);

#endif
