/* place.h -- where a server is and who asks it: HOST:PORT, or redis://NAME:SECRET@HOST:PORT, rediss:// with TLS; of HTTP
 * http:// and https://.  docs/blocks.md has the form. */
#ifndef VS_STORE_PLACE_H
#define VS_STORE_PLACE_H

#include "base/slice.h"
#include "vesta.h"

#define VS_PLACE_TEXT_MAX 2000 /* longer ones are none */
#define VS_PLACE_SECRET_MAX 512

struct vs_place {
    char address[256];                /* as address.h has it: what may be shown of a place */
    char user[256];                   /* "": not said */
    char secret[VS_PLACE_SECRET_MAX]; /* "": not said */
    bool is_tls;
};

/* `scheme`: "redis" or "http"; with an s behind it, it is TLS.  Nothing is looked up, and a message shows the text only if
 * that can have no secret, else its `number` in a list; 0: it has none.  Errors: VESTA_EOPTION. */
int vs_place_read(struct vs_slice text, const char *scheme, int number, struct vs_place *out, struct vesta_error *err);

/* The host alone, without brackets and port, by which TLS knows the server.  Shape: buf[0..size); "": a unix: address. */
const char *vs_place_host(const struct vs_place *place, char *buf, size_t size);

#endif
