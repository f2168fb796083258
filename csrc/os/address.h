/* address.h -- parses addresses (HOST:PORT, [v6]:PORT or unix:PATH) and networks, and opens sockets.  HOST:PORT and
 * [v6]:PORT may have the prefix tls:. */
#ifndef VS_ADDRESS_H
#define VS_ADDRESS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

#define VS_BACKLOG 1024

/* Returns whether the address has the prefix tls:. */
bool vs_address_is_secure(const char *address);
/* Returns the address without the prefix tls:. */
const char *vs_address_plain(const char *address);

/* Returns 1 if only this machine can reach the address: it is a unix: path, or all addresses of its host are loopback
 * addresses.  Returns 0 if other machines may reach it, and VESTA_EOPTION if it is not an address. */
int vs_address_is_local(const char *address, struct vesta_error *err);

#define VS_ADDRESS_TEXT_MAX 96
#define VS_ADDRESSES_MAX 8

/* Addresses of this machine, each as [v6]:PORT or v4:PORT without tls:. */
struct vs_addresses {
    int count;
    char text[VS_ADDRESSES_MAX][VS_ADDRESS_TEXT_MAX];
};
/* Looks up the addresses that a server of HOST:PORT must bind: at most VS_ADDRESSES_MAX addresses of the host that this
 * machine has.  If this machine has none of the host's addresses, returns the first of them, which vs_listen rejects
 * with a message.  Sets count to 0 if the address has no host name (unix:PATH, 127.0.0.1:80).  May block on a name
 * server.
 * Errors: VESTA_EOPTION. */
int vs_addresses_of(const char *address, struct vs_addresses *out, struct vesta_error *err);

/* Binds HOST:PORT, [v6]:PORT or unix:PATH, and listens there.  It does not set SO_REUSEPORT, so a second server on the
 * port fails.  It binds only the host's first address: call vs_addresses_of to get the other addresses.  The socket
 * file gets exactly the permissions `mode`, regardless of the umask, before any client can connect.
 * Errors: VESTA_EOPTION, VESTA_EIO, with the address and the next step. */
int vs_listen(const char *address, unsigned mode, int *fd, struct vesta_error *err);

/* Checks the syntax of an address, without looking up its host.  Errors: VESTA_EOPTION. */
int vs_address_check(const char *address, struct vesta_error *err);

/* Connects a client.  Tries all addresses of the host in turn.  `patience_ms` limits each connection attempt, each send
 * and each receive, but not the lookup of the name.  Returns a descriptor, or -1 with err. */
int vs_connect(const char *address, int patience_ms, struct vesta_error *err);

/* Closes the socket, and removes the file of a unix: address. */
void vs_unlisten(const char *address, int fd);

/* A network: 10.0.0.0/8, 192.0.2.7, 2001:db8::/32, or "unix" for all clients of unix sockets. */
struct vs_network {
    uint8_t family;       /* 4 or 6, or 0 for unix sockets */
    uint8_t bits;         /* the length of the prefix */
    unsigned char at[16]; /* zeros after the first `bits` bits */
};

/* Parses a network.
 * Errors: VESTA_EOPTION.  The message completes a sentence that begins with the name of the option: "has 'x', which
 * must be ...". */
int vs_network_read(const char *text, struct vs_network *out, struct vesta_error *err);
/* Returns whether an address is in the network.  `at`: the 4 or 16 bytes of the address, ignored if `family` is 0. */
bool vs_network_has(const struct vs_network *network, int family, const unsigned char *at);

#endif
