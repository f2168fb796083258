/* guard.h -- wrong secrets cost time.  An address that has said one may say the next a while later, and the while
 * grows; all such addresses together have so many a second.  Who has said none wrong is not held up by others. */
#ifndef VS_GUARD_H
#define VS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define VS_GUARD_STEP_US 250000 /* between two secrets of an address that says wrong ones, at first */
#define VS_GUARD_STEP_US_MAX 4000000
#define VS_GUARD_GROWS_EVERY 8        /* wrong ones: then the step doubles */
#define VS_GUARD_ALL_US 2500          /* between two of all those addresses */
#define VS_GUARD_PATIENCE_US 5000000  /* who would wait for longer is refused */
#define VS_GUARD_FORGETS_US 300000000 /* after the last wrong one */
#define VS_GUARD_STORM_US 1000000     /* so far behind all are with wrong ones: strangers wait, too */

struct vs_guard;
/* Who is at the other end: an address of IPv4, the first half of one of IPv6, or 0: this machine's sockets. */
struct vs_guard_peer {
    uint8_t family;
    uint64_t prefix;
};

struct vs_guard *vs_guard_new(void); /* NULL: no memory */
void vs_guard_free(struct vs_guard *guard);

/* When a secret of that address may be looked at: an instant, which is this one's own from now on; -1: so late that
 * nobody waits for it.  Threads: any, as the next. */
int64_t vs_guard_turn(struct vs_guard *guard, const struct vs_guard_peer *peer, int64_t now_us);
/* It was wrong, or right.  How many that address has said that were wrong. */
unsigned vs_guard_wrong(struct vs_guard *guard, const struct vs_guard_peer *peer, int64_t now_us);
void vs_guard_right(struct vs_guard *guard, const struct vs_guard_peer *peer, int64_t now_us);
unsigned vs_guard_count(struct vs_guard *guard, const struct vs_guard_peer *peer);

#endif
