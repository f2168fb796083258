/* address.h -- addresses as people write them, HOST:PORT, [v6]:PORT or unix:PATH, and plain sockets on them. */
#ifndef VS_ADDRESS_H
#define VS_ADDRESS_H

#include "vesta.h"

#define VS_BACKLOG 1024

/* 1: only this machine can reach the address; 0: others may; VESTA_EOPTION: not an address. */
int vs_address_is_local(const char *address, struct vesta_error *err);

/* Binds HOST:PORT, [v6]:PORT or unix:PATH and listens, without SO_REUSEPORT: a second server on the port fails.
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

#endif
