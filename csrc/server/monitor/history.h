/* history.h -- ids issued and requests rejected by each namespace, in each step of the last hour. */
#ifndef VS_HISTORY_H
#define VS_HISTORY_H

#include "proto/json.h"
#include "server/room.h"
#include "server/server.h"

#define VS_HISTORY_STEP_S 10
#define VS_HISTORY_STEPS 360

struct vs_history;

/* NULL: no memory. */
struct vs_history *vs_history_new(int namespaces);
void vs_history_free(struct vs_history *history);

/* Records the counts if a step is over.  Threads: the first loop's, between two requests. */
void vs_history_look(struct vs_history *history, struct vs_server *server);

/* Appends members about one of the first namespaces (vs_told), or if ns is negative, about all namespaces and tags
 * together.  Only steps after *since are appended, and *since becomes the newest (0 or NULL: all steps).  false: there
 * is no newer step, and nothing is appended.  Threads: any. */
bool vs_history_put(struct vs_history *history, const struct vs_server *server, int ns, int64_t *since,
                    struct vs_out *out);

#endif
