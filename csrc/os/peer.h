/* peer.h -- the address at the other end of a connection, and its text. */
#ifndef VS_OS_PEER_H
#define VS_OS_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct vs_peer {
    uint8_t family; /* 4 or 6, or 0 for a unix socket, whose clients have no address */
    uint16_t port;
    unsigned char at[16];
};

/* Makes a peer from the 4 or 16 bytes of an address.  An IPv4 address in IPv6 form becomes IPv4. */
struct vs_peer vs_peer_at(int family, const void *at, uint16_t port);
struct sockaddr_storage;
struct vs_peer vs_peer_of(const struct sockaddr_storage *address); /* from the kernel's form */
bool vs_peer_is_local(const struct vs_peer *peer);                 /* a unix socket, or a loopback address */
/* The key under which a host is counted: its address without the port.  For IPv6 it is the first 64 bits, because one
 * host owns all addresses below them. */
struct vs_peer vs_peer_key(const struct vs_peer *peer);
#define VS_PEER_TEXT_MAX 56
const char *vs_peer_text(const struct vs_peer *peer,
                         char buf[VS_PEER_TEXT_MAX]); /* "127.0.0.1:80", "[::1]:80", "unix" */
/* The text without the port.  "unix" for NULL. */
const char *vs_peer_host(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]);

#endif
