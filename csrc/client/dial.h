/* dial.h -- makes a connection: name lookup, socket, TLS, authentication.  Each dial runs in a separate thread (an
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
    int wake_fd; /* eventfd that is written when the dial is done */
};

/* Starts a dial.  Returns NULL and sets err if no thread or descriptor is available. */
struct vs_dial *vs_dial_begin(const struct vs_dial_opts *opts, struct vesta_error *err);
bool vs_dial_is_done(const struct vs_dial *dial);
/* Takes the connection of a finished dial, and frees the dial.  Returns false and sets err on failure.  The code is
 * VESTA_EOPTION if the server rejects the client, or if the server is not trusted. */
bool vs_dial_end(struct vs_dial *dial, struct vs_link *link, struct vesta_error *err);
/* Abandons the dial.  Its connection is closed. */
void vs_dial_leave(struct vs_dial *dial);

#endif
