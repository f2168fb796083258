/* bucket.h -- a token bucket of all loops: so many a second, and what a second has saved up at once.  Knows no clock.
 *
 * It is one instant: when all that was taken is paid for.  Who finds that in the past is served at once, whatever it
 * asks for, and pays for it behind; who does not is told when its turn is, and has that turn from then on: first come,
 * first served, and nobody is asked twice.  So a rate holds in the long run, and a request larger than what is saved up
 * is possible.  `now_ns` is of a clock that nobody sets. */
#ifndef VS_BUCKET_H
#define VS_BUCKET_H

#include <stdatomic.h>
#include <stdint.h>

#define VS_RATE_MAX 1000000000 /* a second: a nanosecond each */

/* All zero: no limit. */
struct vs_bucket {
    _Atomic int64_t paid_ns;
    _Atomic uint64_t rate; /* a second; 0: no limit */
};

/* From now on so many a second (at most VS_RATE_MAX); what is owed is owed at the new rate. */
void vs_bucket_set(struct vs_bucket *bucket, uint64_t rate, int64_t now_ns);

/* Takes n of it.  0: at once; > 0: they may be used after so many ns, and are taken; < 0: their turn would be later
 * than patience_ns, by all but the sign, and nothing was taken.  Who has no patience left (< 0) still has what is there at
 * once. */
int64_t vs_bucket_take(struct vs_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns);
/* Gives back what was taken and is not used. */
void vs_bucket_give(struct vs_bucket *bucket, uint64_t n);
/* How many could be taken without owing any. */
uint64_t vs_bucket_room(const struct vs_bucket *bucket, int64_t now_ns);

static inline uint64_t vs_bucket_rate(const struct vs_bucket *bucket) {
    /* relaxed: a number, orders nothing */
    return atomic_load_explicit(&bucket->rate, memory_order_relaxed);
}

#endif
