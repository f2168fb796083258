/* client.h -- a client in memory: what it was told, and what its threads share.
 *
 * All that changes lies in pages that the kernel clears in a child (MADV_WIPEONFORK), however it was forked; so zero is
 * how a client begins, a lock that is free, no blocks, no thread, and a child begins without a step of its own. */
#ifndef VS_CLIENT_CLIENT_H
#define VS_CLIENT_CLIENT_H

#include "client/block.h"
#include "client/options.h"
#include "client/wire.h"

#include <pthread.h>
#include <stdatomic.h>

#define VS_FALLBACK VESTA_SERVERS_MAX /* as a source: behind the servers */
#define VS_SOURCES (VESTA_SERVERS_MAX + 1)
#define VS_LOOK_US INT64_C(100000)

/* A block that is here. */
struct vs_held {
    struct vs_block block; /* its rest; count 0: none is here */
    uint64_t granted;      /* ids that it had; 0: none is here, nor was the last one */
    uint64_t mark;         /* when so many are taken the next block is wanted */
    int64_t sent_us;       /* when it was asked for: its ids may be as old as that */
};

struct vs_client_shared {
    /* What threads hold of a block ahead (client.c) is good while it has this stamp; 0: nothing is.  Drawn from one
     * count for all clients of a process, which its children count on: none ever comes again. */
    _Atomic uint64_t stamp;
    _Atomic uint64_t owner;   /* the process whose memory this is, where the kernel does not clear it; else 0 */
    _Atomic uint32_t arrived; /* a futex: rises with every block */
    atomic_bool is_refused;   /* every server refuses, and only a person can change that */
    pthread_mutex_t lock;     /* of what follows; held for some instructions, but while the thread is started */
    struct vs_held current, next;
    struct vs_fetcher *fetcher; /* NULL: not started in this process */
    bool wanted;                /* the next block is */
    int64_t switched_us;        /* when the current block was begun; 0: there was none */
    int64_t asked_us;           /* when a block was asked for last; 0: never */
    int64_t took_us;            /* how long that took */
    int64_t retry_us;           /* when the thread tries again at the latest, as it said last */
    int64_t missed_us;          /* when somebody found no block last; who waits looks again every VS_LOOK_US */
    int64_t renew_us;           /* when the oldest block that was used up since becomes stale; 0: none was */
    struct vesta_client_info info;
    struct vesta_client_source source[VS_SOURCES];
};

struct vesta_client {
    struct vs_client_shared *shared;
    bool is_cleared; /* the kernel does it */
    unsigned slot;   /* of what a thread holds ahead */
    const struct vs_wire *wire;
    const struct vs_tls *tls; /* NULL: no server has it */
    struct vs_setup setup;
};

void vs_client_lock(struct vesta_client *client);
void vs_client_unlock(struct vesta_client *client);
int64_t vs_client_now_us(void);

#endif
