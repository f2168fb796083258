/* clients.h -- who is connected and what clients had, as JSON: for /admin/clients, and for who watches the server. */
#ifndef VS_MONITOR_CLIENTS_H
#define VS_MONITOR_CLIENTS_H

#include "server/clients/roster.h"
#include "proto/json.h"

#define VS_CONNECTIONS_SHOWN_MAX 400

/* The member "clients": those with names, as they are counted (vs_gate_counted), and all others as one. */
void vs_put_clients(struct vs_out *out, struct vs_server *server);

/* The members "connections": of those that are meant the first n by id, or those that took most ids; and "next", the
 * last id, where more are left by id.  false: there is no memory for it. */
bool vs_put_connections(struct vs_out *out, struct vs_server *server, const struct vs_wanted *wanted, size_t n,
                        bool by_ids);

#endif
