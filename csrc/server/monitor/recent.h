/* recent.h -- the newest events of the server: leases, stops, clock steps, reloads, limits. */
#ifndef VS_RECENT_H
#define VS_RECENT_H

#include "proto/json.h"
#include "server/server.h"

#define VS_RECENT_MAX 20

struct vs_recent;

/* NULL: no memory. */
struct vs_recent *vs_recent_new(void);
void vs_recent_free(struct vs_recent *recent);

/* If a second has passed, compares the server's state with the last recorded state and adds events for the differences.
 * Threads: the first loop's, between two requests. */
void vs_recent_look(struct vs_recent *recent, const struct vs_server *server);

/* Appends the member "recent": the newest events first, as many as fit in the first bytes_max bytes of `out`.  Threads:
 * any. */
void vs_recent_put(struct vs_recent *recent, struct vs_out *out, size_t bytes_max);

#endif
