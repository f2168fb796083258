/* place.h -- the address and the credentials of a server: HOST:PORT or redis://NAME:SECRET@HOST:PORT, with rediss://
 * for TLS, and http:// or https:// for HTTP. docs/blocks.md describes the form. */
#ifndef VS_STORE_PLACE_H
#define VS_STORE_PLACE_H

#include "base/slice.h"
#include "vesta.h"

#define VS_PLACE_TEXT_MAX 2000 /* a longer text is rejected */
#define VS_PLACE_SECRET_MAX 512

struct vs_place {
    char address[256];                /* in the form of address.h, without the credentials */
    char user[256];                   /* "": none */
    char secret[VS_PLACE_SECRET_MAX]; /* "": none */
    bool is_tls;
};

/* Parses `text`.  `scheme` is "redis" or "http", and a trailing s selects TLS.  Does not look up names.  A message
 * quotes the text only if it cannot contain a secret.  Otherwise it names the server by its `number` in a list, where 0
 * means no number.  Errors: VESTA_EOPTION. */
int vs_place_read(struct vs_slice text, const char *scheme, int number, struct vs_place *out, struct vesta_error *err);

/* Writes the host without brackets and port, as TLS verifies it, to buf[0..size).  Writes "" for a unix: address.
 * Returns buf. */
const char *vs_place_host(const struct vs_place *place, char *buf, size_t size);

#endif
