/* threads.h -- calls a function for every namespace on a few threads per store, so that a store that hangs does not
 * delay the namespaces of other stores. */
#ifndef VS_THREADS_H
#define VS_THREADS_H

#include "server/server.h"

struct vs_threads;

/* The assignment of `count` members to threads.  `of` maps a member to its thread (NULL: each member has its own
 * thread). */
struct vs_crews {
    int count, threads;
    int *of;
};

/* Does work for one member.  Returns after how many microseconds to call the function again, or VS_THREADS_DONE. */
#define VS_THREADS_DONE (-1)
typedef int64_t vs_threads_body(void *self, int i);

/* Starts threads that call body(self, i) for each member.  A member may get no thread (vs_threads_began).  `crews` must
 * outlive the threads.  Returns NULL if there is no memory. */
struct vs_threads *vs_threads_start(const struct vs_crews *crews, vs_threads_body *body, void *self);

/* Waits until all members are done, or until until_us (vs_monotonic_us).  If all are done, frees `threads` and returns
 * NULL.  Otherwise some members hang or were never begun (see vs_threads_did), and the memory that they use must not be
 * freed. */
struct vs_threads *vs_threads_end(struct vs_threads *threads, int64_t until_us);
bool vs_threads_began(const struct vs_threads *threads, int i);
/* Waits for a member until until_us (0: does not wait).  Returns whether it is done. */
bool vs_threads_did(struct vs_threads *threads, int i, int64_t until_us);

#endif
