/* access.h -- the access log: a line a request, where the operator wants it.
 *
 * Each loop has a ring of bytes, into which it alone writes lines; a thread writes them to the file, and whatever that
 * waits for, loops do not: a line that finds no room is lost, counted, and told of. */
#ifndef VS_ACCESS_H
#define VS_ACCESS_H

#include "log/line.h"

struct vs_access;

/* Appends to that file, for so many loops.  Own: close it.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int vs_access_open(const char *path, enum vs_log_format format, int loops, struct vs_access **out,
                   struct vesta_error *err);
/* Writes what is left; a disk that hangs is waited for so long.  NULL: nothing. */
void vs_access_close(struct vs_access *access, int64_t wait_ms);

/* Opens the file anew, as vs_log_reopen does.  NULL: nothing.  Threads: any; returns at once. */
void vs_access_reopen(struct vs_access *access);

/* A line of a loop, in which the time stands, to be filled with names and values, and put so many times.  Threads: the
 * loop's. */
struct vs_line *vs_access_begin(struct vs_access *access, int loop, int64_t unix_ms);
void vs_access_put(struct vs_access *access, int loop, size_t times);

/* How many lines were lost since the start. */
uint64_t vs_access_lost(struct vs_access *access);

#endif
