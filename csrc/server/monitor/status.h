/* status.h -- the state of the server as one JSON object, for /admin/status and /admin/events. */
#ifndef VS_STATUS_H
#define VS_STATUS_H

#include "proto/json.h"
#include "server/room.h"
#include "server/server.h"

/* Appends the object, without a line end.  The object fits in one reply.  `ns` is the index of the only namespace to
 * report.  If it is negative, the first VS_NAMESPACES_TOLD namespaces are reported.  Threads: any, while loops run. */
void vs_put_status(struct vs_out *out, const struct vs_server *server, int ns, bool draining);

#endif
