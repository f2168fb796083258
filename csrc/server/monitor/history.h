/* history.h -- how many ids a namespace gave, and how many requests it refused, in each stretch of the last hour. */
#ifndef VS_HISTORY_H
#define VS_HISTORY_H

#include "proto/json.h"
#include "server/room.h"
#include "server/server.h"

#define VS_HISTORY_STEP_S 10
#define VS_HISTORY_STEPS 360

struct vs_history;

/* For so many namespaces; NULL: no memory. */
struct vs_history *vs_history_new(int namespaces);
void vs_history_free(struct vs_history *history);

/* Writes down how the counts stand, where the last stretch is over.  Threads: the first loop's,
 * between two requests. */
void vs_history_look(struct vs_history *history, struct vs_server *server);

/* Appends, as members of an object, what is known of a namespace that is told of (vs_told); of all together, and of the tags, where ns is
 * negative.  `since` is the last stretch that is known already, and becomes the newest (0: none is, or NULL: all are
 * told); false: there is no newer one, and nothing is appended.  Threads: any. */
bool vs_history_put(struct vs_history *history, const struct vs_server *server, int ns, int64_t *since,
                    struct vs_out *out);

#endif
