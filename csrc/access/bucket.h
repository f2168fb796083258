/* bucket.h -- a token bucket for all threads: a rate a second, of which one second's worth can be saved up.  Knows no
 * clock.
 *
 * It is one instant: when everything that was taken is paid for.  If that is past, a request is served at once,
 * whatever it asks for, and the instant moves on by its cost.  If not, the request learns when its turn comes, and the
 * turn is its own: first come, first served, and a request asks once.  So the rate holds in the long run, and a request
 * may be larger than what is saved up.  `now_ns` is of a monotonic clock. */
#ifndef ACCESS_BUCKET_H
#define ACCESS_BUCKET_H

#include <stdatomic.h>
#include <stdint.h>

#define ACCESS_RATE_MAX 1000000000 /* a second: a nanosecond each */

/* All zero: no limit. */
struct access_bucket {
    _Atomic int64_t paid_ns;
    _Atomic uint64_t rate; /* a second; 0: no limit */
};

/* Sets the rate (at most ACCESS_RATE_MAX).  A debt is converted to the new rate. */
void access_bucket_set(struct access_bucket *bucket, uint64_t rate, int64_t now_ns);

/* Takes n.  0: they may be used at once.  > 0: they may be used after so many ns, and are taken.  < 0: nothing was
 * taken, since the turn would be later than patience_ns; the value is minus the wait.  With patience_ns < 0 a request
 * is still served if its turn is now. */
int64_t access_bucket_take(struct access_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns);
/* Gives back what was taken and is not used. */
void access_bucket_give(struct access_bucket *bucket, uint64_t n);
/* How many can be taken now without a debt. */
uint64_t access_bucket_room(const struct access_bucket *bucket, int64_t now_ns);
/* When it will have saved up all it can, as a new one. */
int64_t access_bucket_full_ns(const struct access_bucket *bucket);

static inline uint64_t access_bucket_rate(const struct access_bucket *bucket) {
    /* relaxed: a number, orders nothing */
    return atomic_load_explicit(&bucket->rate, memory_order_relaxed);
}

#endif
