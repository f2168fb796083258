/* bucket.c -- a token bucket as one instant; see bucket.h.  Pure.  All is relaxed: an instant, which orders nothing. */
#include "access/bucket.h"

#define SECOND_NS 1000000000

/* What n of them cost; a debt is never so long that it could not be added to an instant. */
static int64_t cost_ns(uint64_t n, uint64_t rate) {
    uint64_t most = INT64_MAX / 4 / SECOND_NS;
    return (int64_t)((n < most ? n : most) * SECOND_NS / rate);
}

/* What is saved up is one second's, of which the first of them is one. */
static int64_t saved_ns(uint64_t rate) {
    return SECOND_NS - cost_ns(1, rate);
}

/* What is owed, at another rate. */
static int64_t convert(int64_t owed_ns, uint64_t was, uint64_t rate) {
    double then = (double)owed_ns * (double)was / (double)rate;
    return then < (double)(INT64_MAX / 4) ? (int64_t)then : INT64_MAX / 4;
}

void vs_bucket_set(struct vs_bucket *bucket, uint64_t rate, int64_t now_ns) {
    uint64_t was = atomic_exchange_explicit(&bucket->rate, rate, memory_order_relaxed);
    int64_t paid = atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), then;
    do {
        if (was == 0 || rate == 0 || paid <= now_ns) return;
        then = now_ns + convert(paid - now_ns, was, rate);
    } while (!atomic_compare_exchange_weak_explicit(&bucket->paid_ns, &paid, then, memory_order_relaxed,
                                                    memory_order_relaxed));
}

static int64_t turn_of(int64_t paid_ns, uint64_t rate, int64_t now_ns) {
    int64_t saved = now_ns - saved_ns(rate);
    return paid_ns > saved ? paid_ns : saved;
}

int64_t vs_bucket_take(struct vs_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns) {
    uint64_t rate = vs_bucket_rate(bucket);
    if (rate == 0) return 0;
    int64_t paid = atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), turn, cost = cost_ns(n, rate);
    do {
        turn = turn_of(paid, rate, now_ns);
        if (turn > now_ns && turn - now_ns > patience_ns) return now_ns - turn;
    } while (!atomic_compare_exchange_weak_explicit(&bucket->paid_ns, &paid, turn + cost, memory_order_relaxed,
                                                    memory_order_relaxed));
    return turn > now_ns ? turn - now_ns : 0;
}

void vs_bucket_give(struct vs_bucket *bucket, uint64_t n) {
    uint64_t rate = vs_bucket_rate(bucket);
    if (rate) atomic_fetch_sub_explicit(&bucket->paid_ns, cost_ns(n, rate), memory_order_relaxed);
}

uint64_t vs_bucket_room(const struct vs_bucket *bucket, int64_t now_ns) {
    uint64_t rate = vs_bucket_rate(bucket);
    if (rate == 0) return UINT64_MAX;
    int64_t turn = turn_of(atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), rate, now_ns);
    return turn > now_ns ? 0 : 1 + (uint64_t)(now_ns - turn) / (uint64_t)cost_ns(1, rate);
}
