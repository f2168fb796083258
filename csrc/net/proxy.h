/* proxy.h -- parses the header of the PROXY protocol, version 2, in which a balancer names the client of a connection.
 * Contains no socket code. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "os/peer.h"

#include <stdbool.h>
#include <stddef.h>

#define NET_PROXY_FIXED 16                    /* bytes of the fixed part, which ends with the length of the rest */
#define NET_PROXY_READ (NET_PROXY_FIXED + 36) /* bytes that are parsed: the fixed part, two IPv6 addresses and ports */

/* The result of reading a header. */
enum net_proxy_result {
    NET_PROXY_TAKEN,
    NET_PROXY_OWN,      /* accepted, but the header names no client: the peer stays the balancer */
    NET_PROXY_MISSING,  /* a listed address sent other bytes */
    NET_PROXY_V1,       /* a listed address sent a header of version 1 */
    NET_PROXY_BROKEN,   /* the header is not of version 2, or ends too early */
    NET_PROXY_LATE,     /* the header was not complete in time */
    NET_PROXY_UNLISTED, /* a header came from an address that is not listed, or after the first header */
    NET_PROXY_RESULTS
};
extern const char *const net_proxy_result_name[NET_PROXY_RESULTS];

/* Returns the size of the header that begins with these bytes.  Returns 0 if more bytes are needed (NET_PROXY_FIXED in
 * total), or < 0 if the bytes are not a valid header, with the reason in *what. */
int net_proxy_size(const unsigned char *at, size_t length, enum net_proxy_result *what);
/* Reads the client's address from the first NET_PROXY_READ bytes of a header.  Returns TAKEN and sets *peer, or returns
 * OWN if the header names no client. */
enum net_proxy_result net_proxy_peer(const unsigned char *at, struct vs_peer *peer);
/* Returns whether the first bytes of a connection begin a PROXY header of either version. */
bool net_proxy_is_header(const char *at, size_t length);

#endif
