/* fetch.h -- a client's thread, one in each process that takes ids, with all signals blocked.  Only this thread
 * connects, requests blocks and publishes them, one block at a time. */
#ifndef VS_CLIENT_FETCH_H
#define VS_CLIENT_FETCH_H

#include "client/client.h"

struct vs_fetcher;

/* Starts the thread if this process has none yet.  Call with the client's lock held.  Returns NULL if no thread is
 * available, and writes the reason to the first server's `error`. */
struct vs_fetcher *vs_fetch_started(struct vesta_client *client, int64_t now_us);

/* Wakes the thread, because a block is wanted.  Threads: any. */
void vs_fetch_wake(struct vs_fetcher *fetcher);

/* Ends the thread within a fraction of a second, and frees it. */
void vs_fetch_stop(struct vs_fetcher *fetcher);

#endif
