/* dial.h -- makes a connection: name lookup, socket, TLS, authentication.  This runs in a thread of its own (an
 * errand), because a name lookup has no deadline. */
#ifndef VS_CLIENT_DIAL_H
#define VS_CLIENT_DIAL_H

#include "client/options.h"
#include "client/wire.h"

struct vs_dial;

struct vs_dial_opts {
    const struct vs_wire *wire;
    const struct vs_tls *tls; /* NULL: no server uses TLS */
    const struct vs_place *place;
    const struct vs_client_access *access;
    int64_t timeout_ms;
    int wake_fd; /* an eventfd that is written when the dial is done */
};

/* NULL with err: no thread or descriptor is available. */
struct vs_dial *vs_dial_begin(const struct vs_dial_opts *opts, struct vesta_error *err);
bool vs_dial_is_done(const struct vs_dial *dial);
/* Takes the connection of a dial that is done, and frees the dial.  False with err: VESTA_EOPTION if the server rejects
 * the client, or is not trusted. */
bool vs_dial_end(struct vs_dial *dial, struct vs_link *link, struct vesta_error *err);
/* Abandons the dial.  Its connection will be closed. */
void vs_dial_leave(struct vs_dial *dial);

#endif
