/* proxy.h -- the PROXY protocol's header, version 2, by which a balancer says whose connection it passes on.
 * Bytes in, a peer out: knows no socket. */
#ifndef VS_SERVER_PROXY_H
#define VS_SERVER_PROXY_H

#include "os/peer.h"

#include <stdbool.h>
#include <stddef.h>

#define VS_PROXY_FIXED 16                   /* bytes, by which the length of the others is known */
#define VS_PROXY_READ (VS_PROXY_FIXED + 36) /* that are looked at: with two addresses of IPv6 and their ports */

/* What became of the headers of connections. */
enum vs_proxy_result {
    VS_PROXY_TAKEN,
    VS_PROXY_OWN,      /* taken, and the connection is the balancer's own, or that of nobody it can name */
    VS_PROXY_MISSING,  /* a listed address said something else */
    VS_PROXY_V1,       /* ... or the header of version 1 */
    VS_PROXY_BROKEN,   /* one that is none of version 2, or ends too early */
    VS_PROXY_LATE,     /* it was not complete in time */
    VS_PROXY_UNLISTED, /* one came where none is read: from an address that is not listed, or behind the first */
    VS_PROXY_RESULTS
};
extern const char *const vs_proxy_result_name[VS_PROXY_RESULTS];

/* How many bytes the header that begins so has in all; 0: VS_PROXY_FIXED are needed to tell; < 0: *what says why it is
 * none. */
int vs_proxy_size(const unsigned char *at, size_t length, enum vs_proxy_result *what);
/* Whom one of that size names, of which the first VS_PROXY_READ bytes are there, or all: TAKEN, and *peer is set, or
 * OWN. */
enum vs_proxy_result vs_proxy_peer(const unsigned char *at, struct vs_peer *peer);
/* Whether bytes that ought to be a protocol's are a header, of either version. */
bool vs_proxy_is_header(const char *at, size_t length);

#endif
