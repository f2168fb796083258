/* guard.h -- wrong secrets cost time.  An address that has said one may say the next a while later, and the while
 * grows; all such addresses together have so many a second, and so have those that say their first.  Who has said none
 * wrong is not held up by others; nor is a name that was right from an address by what is said there of other names. */
#ifndef VS_GUARD_H
#define VS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define VS_GUARD_STEP_US 250000 /* between two secrets of an address that says wrong ones, at first */
#define VS_GUARD_STEP_US_MAX 4000000
#define VS_GUARD_GROWS_EVERY 8            /* wrong ones: then the step doubles */
#define VS_GUARD_ALL_US 4000              /* between two of all those addresses, and between the first ones of others */
#define VS_GUARD_PATIENCE_US 5000000      /* who would wait for longer is refused */
#define VS_GUARD_FORGETS_US 300000000     /* after the last wrong one */
#define VS_GUARD_NAME_FORGETS_US 10000000 /* the same of a name: then it is looked at apart again */
#define VS_GUARD_STORM_US 400000          /* so far behind all are with first ones: strangers wait, too */

struct vs_guard;
/* Who is at the other end: an address of IPv4, the first half of one of IPv6, or 0: this machine's sockets; as anybody
 * there, or as a name that was right from there, which is looked at apart. */
struct vs_guard_peer {
    uint8_t family;
    uint32_t name; /* 0: anybody */
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
/* It has said a right one, and no wrong one lately. */
bool vs_guard_is_good(struct vs_guard *guard, const struct vs_guard_peer *peer, int64_t now_us);

#endif
