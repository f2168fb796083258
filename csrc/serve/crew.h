/* crew.h -- something done for every namespace at once, a thread each: what hangs for one holds up no other. */
#ifndef VS_CREW_H
#define VS_CREW_H

#include "server/server.h"

struct vs_crew;

/* Begins body(self, namespace) for each of `count` namespaces, as far as threads can be had.  NULL: no memory. */
struct vs_crew *vs_crew_start(int count, void (*body)(void *self, int ns), void *self);

/* Waits for all until that instant (vs_monotonic_us).  NULL: they are done, and the crew is freed.  Else some hang, or
 * were never begun: the crew tells which; what they use must stay. */
struct vs_crew *vs_crew_end(struct vs_crew *crew, int64_t until_us);
bool vs_crew_began(const struct vs_crew *crew, int ns);
/* Whether it was done for a namespace, by that instant at the latest; 0: by now. */
bool vs_crew_did(struct vs_crew *crew, int ns, int64_t until_us);

#endif
