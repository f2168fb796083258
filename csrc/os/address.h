/* address.h -- addresses as people write them, HOST:PORT, [v6]:PORT or unix:PATH, sockets on them, networks.  A word may
 * stand before those of a network: tls:HOST:PORT. */
#ifndef VS_ADDRESS_H
#define VS_ADDRESS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

#define VS_BACKLOG 1024

/* Whether TLS is to be spoken there; what is behind that word. */
bool vs_address_is_secure(const char *address);
const char *vs_address_plain(const char *address);

/* 1: only this machine can reach the address, whichever of its host's addresses is bound; 0: others may;
 * VESTA_EOPTION: not an address. */
int vs_address_is_local(const char *address, struct vesta_error *err);

#define VS_ADDRESS_TEXT_MAX 96
#define VS_ADDRESSES_MAX 8

/* The addresses of a host that this machine has, each as [v6]:PORT or v4:PORT, without tls:.  A host with more than
 * VS_ADDRESSES_MAX has the first of them. */
struct vs_addresses {
    int count;
    char text[VS_ADDRESSES_MAX][VS_ADDRESS_TEXT_MAX];
};
/* All that a server of HOST:PORT binds.  count 0: the address names no host (unix:PATH, 127.0.0.1:80).  If this machine
 * has none of the host's addresses, it is the first of them, which vs_listen rejects.  Errors: VESTA_EOPTION. */
int vs_addresses_of(const char *address, struct vs_addresses *out, struct vesta_error *err);

/* Binds HOST:PORT, [v6]:PORT or unix:PATH and listens, without SO_REUSEPORT: a second server on the port fails.  A host's
 * first address is bound: see vs_addresses_of.
 * `mode`: the rights of a unix: address's file, whatever the umask; nobody can connect before it has them.
 * Errors: VESTA_EOPTION, VESTA_EIO; the text names the address and what to do. */
int vs_listen(const char *address, unsigned mode, int *fd, struct vesta_error *err);

/* VESTA_OK if it is written as an address is; nothing is looked up.  Errors: VESTA_EOPTION. */
int vs_address_check(const char *address, struct vesta_error *err);

/* Connects to an address, as a client that waits no longer than that for anything of it (but to look its name up); a
 * name's addresses are tried in turn.  A descriptor, or -1 with err. */
int vs_connect(const char *address, int patience_ms, struct vesta_error *err);

/* Removes the file of a unix: address; nothing for others. */
void vs_unlisten(const char *address, int fd);

/* A network as people write it: 10.0.0.0/8, 192.0.2.7, 2001:db8::/32, or "unix", this machine's sockets. */
struct vs_network {
    uint8_t family, bits; /* 4, 6, or 0: over a unix socket */
    unsigned char at[16]; /* behind its bits all are 0 */
};

/* Errors: VESTA_EOPTION; the text goes on from what was read: "has 'x', which must be ...". */
int vs_network_read(const char *text, struct vs_network *out, struct vesta_error *err);
/* `at`: the 4 or 16 bytes of an address; nothing of family 0. */
bool vs_network_has(const struct vs_network *network, int family, const unsigned char *at);

#endif
