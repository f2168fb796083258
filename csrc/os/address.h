/* address.h -- addresses as people write them (HOST:PORT, [v6]:PORT or unix:PATH), sockets on them, and networks.  A
 * network address may have a prefix: tls:HOST:PORT. */
#ifndef VS_ADDRESS_H
#define VS_ADDRESS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

#define VS_BACKLOG 1024

/* Whether the address has the prefix tls:, and the address without it. */
bool vs_address_is_secure(const char *address);
const char *vs_address_plain(const char *address);

/* 1 if only this machine can reach the address, whichever of its host's addresses is bound.  0 if others may reach it.
 * VESTA_EOPTION if it is not an address. */
int vs_address_is_local(const char *address, struct vesta_error *err);

#define VS_ADDRESS_TEXT_MAX 96
#define VS_ADDRESSES_MAX 8

/* The addresses of a host that belong to this machine, each as [v6]:PORT or v4:PORT without tls:.  At most the first
 * VS_ADDRESSES_MAX. */
struct vs_addresses {
    int count;
    char text[VS_ADDRESSES_MAX][VS_ADDRESS_TEXT_MAX];
};
/* The addresses that a server of HOST:PORT binds.  count is 0 if the address has no host name (unix:PATH,
 * 127.0.0.1:80).  If this machine has none of the host's addresses, it is the first of them, which vs_listen rejects.
 * Errors: VESTA_EOPTION. */
int vs_addresses_of(const char *address, struct vs_addresses *out, struct vesta_error *err);

/* Binds HOST:PORT, [v6]:PORT or unix:PATH and listens.  Without SO_REUSEPORT, so a second server on the port fails.
 * Only the host's first address is bound: see vs_addresses_of.  `mode`: the rights of the socket file, whatever the
 * umask.  No client can connect before it has them.
 * Errors: VESTA_EOPTION, VESTA_EIO, with the address and the next step. */
int vs_listen(const char *address, unsigned mode, int *fd, struct vesta_error *err);

/* Checks the syntax of an address, without looking up its host.  Errors: VESTA_EOPTION. */
int vs_address_check(const char *address, struct vesta_error *err);

/* Connects a client.  `patience_ms` limits connecting, each send and each receive, but not the lookup of the name.  All
 * addresses of a name are tried in turn.  Returns a descriptor, or -1 with err. */
int vs_connect(const char *address, int patience_ms, struct vesta_error *err);

/* Closes the socket, and removes the file of a unix: address. */
void vs_unlisten(const char *address, int fd);

/* A network as people write it: 10.0.0.0/8, 192.0.2.7, 2001:db8::/32, or "unix" for the sockets of this machine. */
struct vs_network {
    uint8_t family, bits; /* 4 or 6, or 0 for unix sockets */
    unsigned char at[16]; /* zeros after the first `bits` bits */
};

/* Errors: VESTA_EOPTION.  The text continues a sentence about the place: "has 'x', which must be ...". */
int vs_network_read(const char *text, struct vs_network *out, struct vesta_error *err);
/* `at`: the 4 or 16 bytes of an address, unused with family 0. */
bool vs_network_has(const struct vs_network *network, int family, const unsigned char *at);

#endif
