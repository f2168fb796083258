/* clients.h -- clients and their connections as JSON, for /admin/clients and the feed. */
#ifndef VS_MONITOR_CLIENTS_H
#define VS_MONITOR_CLIENTS_H

#include "server/clients/roster.h"
#include "proto/json.h"

#define VS_CONNECTIONS_SHOWN_MAX 400

/* Appends the member "clients": each client with separate counters (vs_gate_counted), and the sum of the other
 * clients. */
void vs_put_clients(struct vs_out *out, struct vs_server *server);

/* Appends the member "connections": the first n wanted connections in order of their ids, or if is_by_ids, the n
 * connections that received the most ids.  In order of ids, the member "next" is the last listed id if more connections
 * follow.  Returns false if there is no memory. */
bool vs_put_connections(struct vs_out *out, struct vs_server *server, const struct vs_wanted *wanted, size_t n,
                        bool is_by_ids);

#endif
