/* accept.h -- what a client said it can read: Accept's media ranges and their q, boiled down to the types that this
 * server writes.  Pure. */
#ifndef VS_ACCEPT_H
#define VS_ACCEPT_H

#include "base/slice.h"

#include <stdint.h>

enum vs_type { VS_TYPE_TEXT, VS_TYPE_JSON, VS_TYPE_OPENMETRICS, VS_TYPE_HTML, VS_TYPES };

/* All zero: nothing was said, and everything will do. */
struct vs_accept {
    bool given;
    struct {
        uint8_t exact; /* how exactly the range named it: 1 star/star, 2 text/star, 3 text/plain; 0: it did not */
        uint16_t q;    /* in thousandths */
    } type[VS_TYPES];
};

/* Takes in the value of one Accept header; several are one list.  What cannot be read in it counts as not said. */
void vs_accept_read(struct vs_accept *accept, struct vs_slice value);

/* How much the client wants a type, in thousandths; 0: not at all. */
int vs_accept_q(const struct vs_accept *accept, enum vs_type type);

#endif
