/* proxy.h -- the PROXY protocol's header, version 2, by which a balancer says whose connection it passes on.
 * Bytes in, a peer out: knows no socket. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "os/peer.h"

#include <stdbool.h>
#include <stddef.h>

#define NET_PROXY_FIXED 16                   /* bytes, by which the length of the others is known */
#define NET_PROXY_READ (NET_PROXY_FIXED + 36) /* that are looked at: with two addresses of IPv6 and their ports */

/* What became of the headers of connections. */
enum net_proxy_result {
    NET_PROXY_TAKEN,
    NET_PROXY_OWN,      /* taken, and the connection is the balancer's own, or that of nobody it can name */
    NET_PROXY_MISSING,  /* a listed address said something else */
    NET_PROXY_V1,       /* ... or the header of version 1 */
    NET_PROXY_BROKEN,   /* one that is none of version 2, or ends too early */
    NET_PROXY_LATE,     /* it was not complete in time */
    NET_PROXY_UNLISTED, /* one came where none is read: from an address that is not listed, or behind the first */
    NET_PROXY_RESULTS
};
extern const char *const net_proxy_result_name[NET_PROXY_RESULTS];

/* How many bytes the header that begins so has in all; 0: NET_PROXY_FIXED are needed to tell; < 0: *what says why it is
 * none. */
int net_proxy_size(const unsigned char *at, size_t length, enum net_proxy_result *what);
/* Whom one of that size names, of which the first NET_PROXY_READ bytes are there, or all: TAKEN, and *peer is set, or
 * OWN. */
enum net_proxy_result net_proxy_peer(const unsigned char *at, struct vs_peer *peer);
/* Whether bytes that ought to be a protocol's are a header, of either version. */
bool net_proxy_is_header(const char *at, size_t length);

#endif
