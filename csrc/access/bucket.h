/* bucket.h -- a token bucket for all threads.  It saves up tokens for at most one second.  Never reads a clock.
 *
 * Its state is one instant, at which all tokens taken so far are paid for.  If that instant is past, a request of any
 * size is served at once, and the instant advances by the request's cost.  Otherwise the request is charged now and
 * told how long to wait.  It need not try again, and requests are served in order of arrival.  A single request may
 * exceed the saved tokens, but the rate is kept in the long run.  `now_ns` is the time of a monotonic clock. */
#ifndef ACCESS_BUCKET_H
#define ACCESS_BUCKET_H

#include <stdatomic.h>
#include <stdint.h>

#define ACCESS_RATE_MAX 1000000000 /* tokens a second: one per nanosecond */

/* An all-zero bucket has no limit. */
struct access_bucket {
    _Atomic int64_t paid_ns;
    _Atomic uint64_t rate; /* tokens a second (0: no limit) */
};

/* Sets the rate (at most ACCESS_RATE_MAX).  A debt is converted to the new rate. */
void access_bucket_set(struct access_bucket *bucket, uint64_t rate, int64_t now_ns);

/* Takes n tokens.  Returns 0 if they may be used now.  Returns > 0 if they are taken and may be used after that many
 * ns.  Returns minus the wait if nothing was taken, because the wait would exceed patience_ns.  A request that need not
 * wait is also served with patience_ns < 0. */
int64_t access_bucket_take(struct access_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns);
/* Puts n taken but unused tokens back. */
void access_bucket_give(struct access_bucket *bucket, uint64_t n);
/* Returns how many tokens can be taken now without debt. */
uint64_t access_bucket_room(const struct access_bucket *bucket, int64_t now_ns);
/* Returns the instant from which the bucket is full, as a new bucket is. */
int64_t access_bucket_full_ns(const struct access_bucket *bucket);

static inline uint64_t access_bucket_rate(const struct access_bucket *bucket) {
    /* relaxed: no other memory depends on the rate */
    return atomic_load_explicit(&bucket->rate, memory_order_relaxed);
}

#endif
