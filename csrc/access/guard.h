/* guard.h -- wrong secrets cost time, by address.
 *
 * Only secrets that can be guessed need it: passwords and tokens that the config contains as they are, if they are
 * shorter than VS_SECRET_RANDOM_MIN.  After some wrong ones, the next from that address is compared a while later, and
 * the while grows.  Other addresses never wait for it. */
#ifndef VS_GUARD_H
#define VS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define VS_GUARD_FREE 4         /* wrong secrets of an address that delay nothing: a mistake is no attack */
#define VS_GUARD_STEP_US 250000 /* from a further wrong secret to the next one, at first */
#define VS_GUARD_STEP_US_MAX 4000000
#define VS_GUARD_GROWS_EVERY 8        /* wrong ones: then the step doubles */
#define VS_GUARD_FORGETS_US 300000000 /* after the last wrong one */

/* The other end: an address of IPv4, the first half of one of IPv6, or family 0: this machine's unix sockets. */
struct vs_guard_peer {
    uint8_t family;
    uint64_t prefix;
};

struct vs_guard;
struct vs_guard *vs_guard_new(void); /* NULL: no memory */
void vs_guard_free(struct vs_guard *guard);

/* Judges a secret of that address, which is right or not.  0: the answer may say so; a wrong one is noted.  Else how
 * long the address must wait until one is judged.  Threads: any. */
int64_t vs_guard_judge(struct vs_guard *guard, const struct vs_guard_peer *peer, bool is_right, int64_t now_us);

#endif
