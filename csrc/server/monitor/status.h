/* status.h -- the state of the server as one JSON object: /admin/status, and each event of /admin/events. */
#ifndef VS_STATUS_H
#define VS_STATUS_H

#include "proto/json.h"
#include "server/room.h"
#include "server/server.h"

/* Appends the object, with that namespace alone, or (ns is negative) those that are told of; without a line end; fits a
 * reply.  Threads: any, while loops run. */
void vs_put_status(struct vs_out *out, const struct vs_server *server, int ns, bool draining);

#endif
