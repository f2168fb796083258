/* proxy.h -- the PROXY protocol's header, version 2, in which a balancer names the client of a connection.
 * Bytes in, a peer out: knows no socket. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "os/peer.h"

#include <stdbool.h>
#include <stddef.h>

#define NET_PROXY_FIXED 16                    /* bytes, by which the length of the others is known */
#define NET_PROXY_READ (NET_PROXY_FIXED + 36) /* that are looked at: with two addresses of IPv6 and their ports */

/* The result of reading a header. */
enum net_proxy_result {
    NET_PROXY_TAKEN,
    NET_PROXY_OWN,      /* taken, and the connection is the balancer's own, or the balancer names no client */
    NET_PROXY_MISSING,  /* a listed address sent other bytes */
    NET_PROXY_V1,       /* ... or the header of version 1 */
    NET_PROXY_BROKEN,   /* one that is none of version 2, or ends too early */
    NET_PROXY_LATE,     /* it was not complete in time */
    NET_PROXY_UNLISTED, /* one came where none is read: from an address that is not listed, or behind the first */
    NET_PROXY_RESULTS
};
extern const char *const net_proxy_result_name[NET_PROXY_RESULTS];

/* The size of the header that begins with these bytes.  0: NET_PROXY_FIXED bytes are needed first.  < 0: this is no
 * header, and *what is the reason. */
int net_proxy_size(const unsigned char *at, size_t length, enum net_proxy_result *what);
/* Reads the client's address from the first NET_PROXY_READ bytes of a header, or from all if it is shorter.  TAKEN:
 * *peer is set.  OWN: the header names no client. */
enum net_proxy_result net_proxy_peer(const unsigned char *at, struct vs_peer *peer);
/* Whether the first bytes of a protocol are a header of either version instead. */
bool net_proxy_is_header(const char *at, size_t length);

#endif
