/* accept.h -- the types of content that a client accepts: Accept's media ranges and their q, for the types that this
 * server writes.  Pure. */
#ifndef VS_ACCEPT_H
#define VS_ACCEPT_H

#include "base/slice.h"

#include <stdint.h>

enum vs_type { VS_TYPE_TEXT, VS_TYPE_JSON, VS_TYPE_OPENMETRICS, VS_TYPE_HTML, VS_TYPES };

/* All zero: there is no Accept header, and each type is accepted. */
struct vs_accept {
    bool given;
    struct {
        uint8_t exact; /* how exactly the range named it: 1 star/star, 2 text/star, 3 text/plain; 0: it did not */
        uint16_t q;    /* in thousandths */
    } type[VS_TYPES];
};

/* Adds the value of one Accept header.  Several headers are one list.  Unreadable parts are ignored. */
void vs_accept_read(struct vs_accept *accept, struct vs_slice value);

/* How much the client wants a type, in thousandths; 0: not at all. */
int vs_accept_q(const struct vs_accept *accept, enum vs_type type);

#endif
