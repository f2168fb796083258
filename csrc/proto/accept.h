/* accept.h -- parses the Accept header: the client's preference (q) for each content type that this server can send.
 * Pure. */
#ifndef VS_ACCEPT_H
#define VS_ACCEPT_H

#include "base/slice.h"

#include <stdint.h>

enum vs_type { VS_TYPE_TEXT, VS_TYPE_JSON, VS_TYPE_OPENMETRICS, VS_TYPE_HTML, VS_TYPES };

/* All zero: there is no Accept header, and every type is accepted. */
struct vs_accept {
    bool given;
    struct {
        uint8_t exact; /* the best matching range: 0 none, 1 star/star, 2 text/star, 3 text/plain */
        uint16_t q;    /* in thousandths */
    } type[VS_TYPES];
};

/* Adds the value of an Accept header.  Call it once per header.  Ranges that cannot be parsed are ignored. */
void vs_accept_read(struct vs_accept *accept, struct vs_slice value);

/* Returns the client's preference for a type, in thousandths (0: not acceptable). */
int vs_accept_q(const struct vs_accept *accept, enum vs_type type);

#endif
