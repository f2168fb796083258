/* access.h -- the access log: one line per request, if the operator enables it.
 *
 * Each event loop has a ring, and writes its lines into that ring.  A thread writes the lines to the file, so loops
 * never wait for a disk.  If a ring is full, its lines are lost, counted and reported. */
#ifndef VS_ACCESS_H
#define VS_ACCESS_H

#include "log/line.h"

struct vs_access;

/* Opens the access log of `loops` event loops, and appends to its file.  Own: close with vs_access_close.  Errors:
 * VESTA_EIO, VESTA_ENOMEM. */
int vs_access_open(const char *path, enum vs_log_format format, int loops, struct vs_access **out,
                   struct vesta_error *err);
/* Writes the remaining lines and frees the log.  Waits at most wait_ms if the disk hangs.  `access` may be NULL. */
void vs_access_close(struct vs_access *access, int64_t wait_ms);

/* Reopens the file, as vs_log_reopen does.  `access` may be NULL.  Threads: any.  Returns at once. */
void vs_access_reopen(struct vs_access *access);

/* Begins a line for a loop, with the time.  The caller adds names and values, and then calls vs_access_put, which
 * writes the line `times` times.  Threads: the loop's. */
struct vs_line *vs_access_begin(struct vs_access *access, int loop, int64_t unix_ms);
void vs_access_put(struct vs_access *access, int loop, size_t times);

/* Returns how many lines were lost since the start. */
uint64_t vs_access_lost(struct vs_access *access);

#endif
