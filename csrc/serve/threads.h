/* threads.h -- something done for every namespace at once, a thread each: what hangs for one holds up no other. */
#ifndef VS_THREADS_H
#define VS_THREADS_H

#include "server/server.h"

struct vs_threads;

/* Begins body(self, namespace) for each of `count` namespaces, as far as threads can be had.  NULL: no memory. */
struct vs_threads *vs_threads_start(int count, void (*body)(void *self, int ns), void *self);

/* Waits for all until that instant (vs_monotonic_us).  NULL: they are done, and *threads is freed.  Else some hang, or
 * were never begun: vs_threads_did tells which; what they use must stay. */
struct vs_threads *vs_threads_end(struct vs_threads *threads, int64_t until_us);
bool vs_threads_began(const struct vs_threads *threads, int ns);
/* Whether it was done for a namespace, by that instant at the latest; 0: by now. */
bool vs_threads_did(struct vs_threads *threads, int ns, int64_t until_us);

#endif
