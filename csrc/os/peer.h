/* peer.h -- the address at the other end of a connection, and its text form. */
#ifndef VS_OS_PEER_H
#define VS_OS_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct vs_peer {
    uint8_t family; /* 4 or 6, or 0 for a unix socket, where clients have no address */
    uint16_t port;
    unsigned char at[16];
};

/* Makes a peer from the 4 or 16 bytes of an address.  Converts an IPv4 address in IPv6 form to IPv4. */
struct vs_peer vs_peer_at(int family, const void *at, uint16_t port);
struct sockaddr_storage;
/* Makes a peer from a socket address. */
struct vs_peer vs_peer_of(const struct sockaddr_storage *address);
/* Returns whether the peer is a unix socket or has a loopback address. */
bool vs_peer_is_local(const struct vs_peer *peer);
/* Returns the key for limits per host: the address without the port.  For IPv6 the key is the first 64 bits, because a
 * host can use all addresses that begin with them. */
struct vs_peer vs_peer_key(const struct vs_peer *peer);
#define VS_PEER_TEXT_MAX 56
/* Writes the address in the form "127.0.0.1:80", "[::1]:80" or "unix". */
const char *vs_peer_text(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]);
/* Writes the address without the port, or "unix" if peer is NULL. */
const char *vs_peer_host(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]);

#endif
