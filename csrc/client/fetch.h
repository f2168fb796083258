/* fetch.h -- the thread of a client: one in each process that takes ids, with all signals blocked.  Only this thread
 * connects, requests blocks and publishes them, one block at a time. */
#ifndef VS_CLIENT_FETCH_H
#define VS_CLIENT_FETCH_H

#include "client/client.h"

struct vs_fetcher;

/* Starts the thread if there is none in this process yet.  Call with the client's lock held.  NULL: no thread is
 * available, and the first server's `error` has the reason. */
struct vs_fetcher *vs_fetch_started(struct vesta_client *client, int64_t now_us);

/* Wakes the thread, because a block is wanted.  Threads: any. */
void vs_fetch_wake(struct vs_fetcher *fetcher);

/* Ends the thread within a fraction of a second, and frees it. */
void vs_fetch_stop(struct vs_fetcher *fetcher);

#endif
