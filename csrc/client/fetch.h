/* fetch.h -- the thread of a client: one in each process that takes ids, with all signals blocked.  It alone connects,
 * asks and publishes; one block is fetched at a time. */
#ifndef VS_CLIENT_FETCH_H
#define VS_CLIENT_FETCH_H

#include "client/client.h"

struct vs_fetcher;

/* The thread, started if there is none in this process yet.  Under the client's lock.  NULL: none can be had; why
 * stands with the first server. */
struct vs_fetcher *vs_fetch_started(struct vesta_client *client, int64_t now_us);

/* A block is wanted.  Threads: any. */
void vs_fetch_wake(struct vs_fetcher *fetcher);

/* Ends it: what it waits for it leaves within a fraction of a second. */
void vs_fetch_stop(struct vs_fetcher *fetcher);

#endif
