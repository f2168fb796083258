/* shared.h -- the two blocks of a client: take ids, publish blocks, drop stale ones. */
#ifndef VS_CLIENT_SHARED_H
#define VS_CLIENT_SHARED_H

#include "client/client.h"

/* Allocates the shared state, zeroed.  Sets client->is_cleared.  NULL: no memory. */
struct vs_client_shared *vs_shared_map(struct vesta_client *client);
void vs_shared_unmap(struct vesta_client *client);

/* Takes a run of up to n ids, which are valid while shared->stamp is *stamp.  Starts or wakes the thread if the next
 * block is needed.  Sets *uuid to what converts the ids, if uuid is not NULL.  Returns false if there is no block.
 * Threads: any. */
bool vs_shared_take(struct vesta_client *client, uint64_t n, struct vs_run *run, uint64_t *stamp, struct vs_uuid *uuid);

/* ------------------------------------------------------------------ for the thread */

/* The work that the thread must do next. */
struct vs_client_plan {
    bool is_due;       /* a block is wanted, and there is room for it */
    bool is_missed;    /* a caller is waiting for that block */
    bool is_active;    /* a block is wanted or in use */
    uint64_t asks;     /* number of ids to request */
    int64_t expiry_us; /* when a block becomes stale.  INT64_MAX: there is no block */
};
void vs_shared_plan(struct vesta_client *client, struct vs_client_plan *out);

/* Records whether every server rejects the client.  If every server does, wakes the waiting callers. */
void vs_shared_set_refused(struct vesta_client *client, bool is_refused);

/* Publishes a block from a source (a server's index, or VS_FALLBACK) as the next block.  Call only if there is no next
 * block.  held->block, sent_us and uuid must be set. */
void vs_shared_publish(struct vesta_client *client, int source, const struct vs_held *held);

#endif
