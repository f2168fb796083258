/* status.h -- the state of the server as one JSON object: /admin/status, and each event of /admin/events. */
#ifndef VS_STATUS_H
#define VS_STATUS_H

#include "server/reply.h"
#include "server/server.h"

/* Appends the object, without a line end; fits a reply.  Threads: any, while loops run. */
void vs_put_status(struct vs_out *out, const struct vs_app *app, bool draining);

#endif
