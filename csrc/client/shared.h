/* shared.h -- the two blocks of a client: taken from, published to, dropped when stale. */
#ifndef VS_CLIENT_SHARED_H
#define VS_CLIENT_SHARED_H

#include "client/client.h"

/* Memory for what is shared, zeroed; NULL: there is none.  Sets client->is_cleared. */
struct vs_client_shared *vs_shared_map(struct vesta_client *client);
void vs_shared_unmap(struct vesta_client *client);

/* Takes a run of up to n ids; *stamp is what they are good under.  False: no block is here.  Wakes the thread, or
 * starts it, where the next block is wanted.  Threads: any. */
bool vs_shared_take(struct vesta_client *client, uint64_t n, struct vs_run *run, uint64_t *stamp);

/* ------------------------------------------------------------------ for the thread */

/* What there is to do. */
struct vs_client_plan {
    bool is_due;       /* a block is wanted, and there is room for it */
    bool is_missed;    /* and somebody waits for it */
    bool is_active;    /* a block is wanted, or one is in use */
    uint64_t asks;     /* ids to ask for */
    int64_t expiry_us; /* when a block becomes stale; INT64_MAX: none is here */
};
void vs_shared_plan(struct vesta_client *client, struct vs_client_plan *out);

/* Whether every server refuses. */
void vs_shared_set_refused(struct vesta_client *client, bool is_refused);

/* A block came from a source (VS_FALLBACK, or a server's number); there was room for it. */
void vs_shared_publish(struct vesta_client *client, int source, const struct vs_block *block, int64_t sent_us);

#endif
