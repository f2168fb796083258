/* dial.h -- a connection that is being made: name, socket, TLS, greeting, secret, in a thread of its own (an errand),
 * because looking a name up has no deadline. */
#ifndef VS_CLIENT_DIAL_H
#define VS_CLIENT_DIAL_H

#include "client/options.h"
#include "client/wire.h"

struct vs_dial;

struct vs_dial_opts {
    const struct vs_wire *wire;
    const struct vs_tls *tls; /* NULL: no server has it */
    const struct vs_place *place;
    const struct vs_client_access *access;
    int64_t timeout_ms;
    int wake_fd; /* an eventfd that is told when it is done */
};

/* NULL with err: no thread or descriptor can be had. */
struct vs_dial *vs_dial_begin(const struct vs_dial_opts *opts, struct vesta_error *err);
bool vs_dial_is_done(const struct vs_dial *dial);
/* Of one that is done: the connection, or false with err, VESTA_EOPTION where the server refuses, or is not trusted.  The
 * dial is gone. */
bool vs_dial_end(struct vs_dial *dial, struct vs_link *link, struct vesta_error *err);
/* Whatever comes of it is dropped. */
void vs_dial_leave(struct vs_dial *dial);

#endif
