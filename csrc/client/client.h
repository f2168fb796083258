/* client.h -- a client in memory: its options, and the state that its threads share.
 *
 * All mutable state is in pages that the kernel clears in a forked child (MADV_WIPEONFORK).  So all zero bytes must be
 * a valid initial state: a free lock, no blocks, no thread.  A child then needs no initialization. */
#ifndef VS_CLIENT_CLIENT_H
#define VS_CLIENT_CLIENT_H

#include "client/block.h"
#include "client/options.h"
#include "client/wire.h"
#include "id/uuid.h"

#include <pthread.h>
#include <stdatomic.h>

#define VS_FALLBACK VESTA_SERVERS_MAX /* index of the fallback among the sources, after the servers */
#define VS_SOURCES (VESTA_SERVERS_MAX + 1)
#define VS_LOOK_US INT64_C(100000)

/* A block in the client. */
struct vs_held {
    struct vs_block block; /* the block's unused ids.  count 0: none left */
    uint64_t granted;      /* number of ids in the whole block.  0: no block */
    uint64_t mark;         /* the next block is requested when this many ids are taken */
    int64_t sent_us;       /* time of the request, and so the greatest age of its ids */
    struct vs_uuid uuid;   /* converts the ids to UUIDs.  All zero if their layout is unknown */
};

struct vs_client_shared {
    /* The ids that a thread has taken in advance (client.c) are valid while their stamp equals this value.  0
     * invalidates all of them.  All clients of a process, and its forked children, draw stamps from one counter, so no
     * stamp is used twice. */
    _Atomic uint64_t stamp;
    /* token of the process that owns these pages, if the kernel cannot clear them in a child.  Otherwise 0 */
    _Atomic uint64_t owner;
    _Atomic uint32_t arrived; /* futex, incremented with every block */
    atomic_bool is_refused;   /* every server rejects the client until an operator changes something */
    pthread_mutex_t lock;     /* guards the members below.  Held only briefly, except while the thread is started */
    struct vs_held current, next;
    struct vs_fetcher *fetcher; /* NULL: not started in this process */
    bool wanted;                /* the next block is wanted */
    int64_t switched_us;        /* when the current block came into use.  0: never */
    int64_t asked_us;           /* time of the last request for a block.  0: never */
    int64_t took_us;            /* duration of that request */
    int64_t retry_us;           /* latest time of the thread's next attempt */
    /* time at which a caller last found no block.  A waiting caller tries again every VS_LOOK_US */
    int64_t missed_us;
    int64_t renew_us; /* when the oldest block that was used up since the last stamp becomes stale.  0: none */
    struct vesta_client_info info;
    struct vesta_client_source source[VS_SOURCES];
};

struct vesta_client {
    struct vs_client_shared *shared;
    bool is_cleared; /* true if the kernel clears `shared` in a forked child */
    unsigned slot;   /* index into each thread's `slots` (client.c) */
    const struct vs_wire *wire;
    const struct vs_tls *tls; /* NULL: no server uses TLS */
    uint64_t uuid_key[2];     /* of the random bits of UUIDs */
    struct vs_setup setup;
};

void vs_client_lock(struct vesta_client *client);
void vs_client_unlock(struct vesta_client *client);
int64_t vs_client_now_us(void);

#endif
