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

/* Appends members about one of the first namespaces (vs_told), or if ns is negative, about the sum of all namespaces
 * and tags.  Only appends steps after *since, and sets *since to the newest step.  If `since` is NULL or *since is 0,
 * appends all steps.  Returns false, and appends nothing, if there is no newer step.  Threads: any. */
bool vs_history_put(struct vs_history *history, const struct vs_server *server, int ns, int64_t *since,
                    struct vs_out *out);

#endif
