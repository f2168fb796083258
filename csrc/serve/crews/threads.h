/* threads.h -- something done for every namespace, by a few threads for each store: what hangs for one holds up none of
 * another's. */
#ifndef VS_THREADS_H
#define VS_THREADS_H

#include "server/server.h"

struct vs_threads;

/* Which thread does it for which: `of` says it for each of `count`; without it each has its own. */
struct vs_crews {
    int count, threads;
    int *of;
};

/* What is done for one: how many microseconds from now to go on with it, or VS_THREADS_DONE. */
#define VS_THREADS_DONE (-1)
typedef int64_t vs_threads_body(void *self, int i);

/* Begins body(self, i) for each, as far as threads can be had.  `crews` outlives them.  NULL: no memory. */
struct vs_threads *vs_threads_start(const struct vs_crews *crews, vs_threads_body *body, void *self);

/* Waits for all until that instant (vs_monotonic_us).  NULL: they are done, and *threads is freed.  Else some hang, or
 * were never begun: vs_threads_did tells which; what they use must stay. */
struct vs_threads *vs_threads_end(struct vs_threads *threads, int64_t until_us);
bool vs_threads_began(const struct vs_threads *threads, int i);
/* Whether it was done for one, by that instant at the latest; 0: by now. */
bool vs_threads_did(struct vs_threads *threads, int i, int64_t until_us);

#endif
