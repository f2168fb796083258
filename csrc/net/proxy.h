/* proxy.h -- parses the header of the PROXY protocol, version 2, in which a balancer names the client of a connection.
 * Knows no socket. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "os/peer.h"

#include <stdbool.h>
#include <stddef.h>

#define NET_PROXY_FIXED 16                    /* bytes that contain the length of the rest */
#define NET_PROXY_READ (NET_PROXY_FIXED + 36) /* bytes that are parsed: room for two IPv6 addresses and ports */

/* The result of reading a header. */
enum net_proxy_result {
    NET_PROXY_TAKEN,
    NET_PROXY_OWN,      /* taken: the connection is the balancer's own, or the balancer names no client */
    NET_PROXY_MISSING,  /* a listed address sent other bytes */
    NET_PROXY_V1,       /* a listed address sent a header of version 1 */
    NET_PROXY_BROKEN,   /* the header is not of version 2, or ends too early */
    NET_PROXY_LATE,     /* the header was not complete in time */
    NET_PROXY_UNLISTED, /* a header came from an address that is not listed, or after the first header */
    NET_PROXY_RESULTS
};
extern const char *const net_proxy_result_name[NET_PROXY_RESULTS];

/* Returns the size of the header that begins with these bytes.  0: NET_PROXY_FIXED bytes are needed first.  < 0: not a
 * header, and *what is the reason. */
int net_proxy_size(const unsigned char *at, size_t length, enum net_proxy_result *what);
/* Reads the client's address from the first NET_PROXY_READ bytes of a header.  TAKEN: *peer is set.  OWN: the header
 * names no client. */
enum net_proxy_result net_proxy_peer(const unsigned char *at, struct vs_peer *peer);
/* Whether the first bytes of a connection are a PROXY header of either version. */
bool net_proxy_is_header(const char *at, size_t length);

#endif
