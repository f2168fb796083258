/* bucket.h -- a token bucket for all threads: a rate a second, of which one second's worth can be saved.  Knows no
 * clock.
 *
 * Its state is one instant: when everything taken so far is paid for.  If that is past, a request is served at once,
 * whatever its size, and the instant advances by its cost.  Otherwise the request learns when its turn comes and is
 * already charged, so it does not ask again: first come, first served.  So the rate holds in the long run, and a
 * request may exceed what is saved.  `now_ns` is of a monotonic clock. */
#ifndef ACCESS_BUCKET_H
#define ACCESS_BUCKET_H

#include <stdatomic.h>
#include <stdint.h>

#define ACCESS_RATE_MAX 1000000000 /* a second: one per nanosecond */

/* All zero: no limit. */
struct access_bucket {
    _Atomic int64_t paid_ns;
    _Atomic uint64_t rate; /* a second (0: no limit) */
};

/* Sets the rate (at most ACCESS_RATE_MAX).  A debt is converted to the new rate. */
void access_bucket_set(struct access_bucket *bucket, uint64_t rate, int64_t now_ns);

/* Takes n.  Returns 0: they may be used now.  > 0: they are taken, and may be used after so many ns.  < 0: nothing was
 * taken, because the turn would come after patience_ns; the value is minus the wait.  With patience_ns < 0 a request is
 * still served if its turn is now. */
int64_t access_bucket_take(struct access_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns);
/* Returns taken but unused ones. */
void access_bucket_give(struct access_bucket *bucket, uint64_t n);
/* Returns how many can be taken now without debt. */
uint64_t access_bucket_room(const struct access_bucket *bucket, int64_t now_ns);
/* Returns when the bucket is full, and so equal to a new one. */
int64_t access_bucket_full_ns(const struct access_bucket *bucket);

static inline uint64_t access_bucket_rate(const struct access_bucket *bucket) {
    /* relaxed: a single value, orders nothing */
    return atomic_load_explicit(&bucket->rate, memory_order_relaxed);
}

#endif
