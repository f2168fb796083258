/* pool.h -- idle connections that all stores of one address in this process share.  The number of open connections
 * depends on the number of calls in progress, not on the number of leases.  A call takes a connection, uses it alone,
 * and puts it back, so a connection that hangs delays only one call.  Independent of protocols.  All functions take the
 * process lock. */
#ifndef VS_STORE_POOL_H
#define VS_STORE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_POOL_MAX 16 /* maximum number of idle connections.  Further connections are closed */

struct vs_pool_kind {
    int64_t idle_us;             /* an idle connection is closed after this time */
    bool (*is_lost)(void *link); /* returns whether the peer has closed the connection.  Must not send anything */
    void (*end)(void *link);
};

struct vs_pool;

/* Registers one more user of the address `key`.  The key contains everything that a connection depends on, including
 * the secret.  Returns NULL if there is no memory. */
struct vs_pool *vs_pool_enter(const struct vs_pool_kind *kind, const void *key, size_t bytes);
/* Unregisters a user.  For the last user, frees the pool, and returns its idle connections in `links`, to be closed.
 * Returns the number of these connections. */
unsigned vs_pool_leave(struct vs_pool *pool, void *links[VS_POOL_MAX]);

/* Returns the connection that was put back last, or NULL.  Sets *losses to the count that vs_pool_losses returns.  A
 * forked child never gets a connection of its parent. */
void *vs_pool_take(struct vs_pool *pool, int64_t boot_us, unsigned *losses);
void vs_pool_put(struct vs_pool *pool, void *link, int64_t boot_us);

/* Counts a connection that the peer closed during a call.  Returns the new count. */
unsigned vs_pool_lose(struct vs_pool *pool);
/* Closes connections that were idle for too long, or that the peer has closed.  Returns how many connections the peer
 * has closed so far.  Checks at most ten times a second, however often it is called. */
unsigned vs_pool_losses(struct vs_pool *pool, int64_t boot_us);

bool vs_pool_is_one_stores(struct vs_pool *pool);

#endif
