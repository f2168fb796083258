/* server.h -- what the program above asks of the server: addresses, and to serve until told to stop.
 *
 *   listen.c    an address as text -> a bound socket
 *   loop.c      loops, sweeping, drain; with net.c the only file that knows libuv
 *   net.c       connections: buffers, writing, waiting
 *   http.c      bytes -> request -> reply, by llhttp; the only file that knows it
 *   resp.c      the same for the Redis protocol
 *   commands.c  the one table behind both protocols, and what a failure looks like in each
 *   ids.c       handlers that give, read and make ids
 *   session.c   handlers that answer what Redis clients ask of any server
 *
 * What those files share stands in request.h and net.h. */
#ifndef VS_SERVER_H
#define VS_SERVER_H

#include "vesta.h"

#include <stdatomic.h>

#define VS_THREADS_MAX 64
#define VS_CONNECTIONS_MAX 10000
#define VS_BACKLOG 1024

enum vs_face { VS_RESP, VS_HTTP, VS_FACES };

/* What every loop and connection shares.  Read-only while the loops run, but for the counters. */
struct vs_app {
    struct vesta_gen *gen[VS_FACES]; /* one file, two handles: the `method` field says which face made an id */
    const struct vesta_layout *layout;
    char namespace_[VESTA_NAMESPACE_MAX];
    const struct vesta_clock *clock;
    int64_t wait_us_max;    /* how long a request may wait for an id */
    int64_t started_us;     /* boot_us when the server began */
    atomic_int connections; /* open now */
    atomic_ullong clients;  /* ever accepted */
};

/* ------------------------------------------------------------------ listening and serving */

/* Binds HOST:PORT, [v6]:PORT or unix:PATH and listens, without SO_REUSEPORT: a second server on the port fails.
 * Errors: VESTA_EOPTION, VESTA_EIO; the text names the address and what to do. */
int vs_listen(const char *address, int *fd, struct vesta_error *err);

/* 1: only this machine can reach the address; 0: others may; VESTA_EOPTION: not an address. */
int vs_address_is_local(const char *address, struct vesta_error *err);

/* Removes the file of a unix: address; nothing for others. */
void vs_unlisten(const char *address, int fd);

struct vs_serve_opts {
    struct vs_app *app;
    int fd[VS_FACES];          /* listening sockets, -1: this face is off */
    int threads;               /* 1 to VS_THREADS_MAX */
    void (*ready)(void *self); /* called once, when connections and signals will be answered */
    void *self;
};

/* Call once, before there are threads: changes the environment. */
void vs_serve_init(void);

/* Serves until TERM or INT: then stops accepting, answers what is in flight and returns.  A second TERM or INT ends
 * the process at once.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err);

#endif
