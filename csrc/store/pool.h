/* pool.h -- connections that the stores of one address in this process leave to each other between their calls: however
 * many leases there are, about as many connections are open as calls are under way.  Whoever makes a call takes one,
 * has it alone, and puts it back; so one that hangs holds up only who waits for it.  Knows no protocol, and takes the
 * process lock. */
#ifndef VS_STORE_POOL_H
#define VS_STORE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_POOL_MAX 16 /* connections that wait for the next call; one more is ended */

struct vs_pool_kind {
    int64_t idle_us;             /* one that nobody has taken for so long is ended */
    bool (*is_lost)(void *link); /* whether the other side has ended it: told without asking */
    void (*end)(void *link);
};

struct vs_pool;

/* One more store of that address, `key`: all that a connection depends on, its secret too.  NULL: no memory. */
struct vs_pool *vs_pool_enter(const struct vs_pool_kind *kind, const void *key, size_t bytes);
/* One less.  Behind the last the pool is gone: what it had is the caller's to end.  Returns how many. */
unsigned vs_pool_leave(struct vs_pool *pool, void *links[VS_POOL_MAX]);

/* The connection that was put back last, or NULL; and vs_pool_losses.  A forked child has none of its parent's. */
void *vs_pool_take(struct vs_pool *pool, int64_t boot_us, unsigned *losses);
void vs_pool_put(struct vs_pool *pool, void *link, int64_t boot_us);

/* One that a call had was ended by the other side: that makes one more of these. */
unsigned vs_pool_lose(struct vs_pool *pool);
/* Ends what nobody needs or the other side has ended; how often that was so until now.  Looked at ten times a second at
 * most, however many ask. */
unsigned vs_pool_losses(struct vs_pool *pool, int64_t boot_us);

/* Whether a single store uses it. */
bool vs_pool_is_one_stores(struct vs_pool *pool);

#endif
