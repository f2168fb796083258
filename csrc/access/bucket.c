/* bucket.c -- a token bucket that is stored as one instant (see bucket.h).  Pure.  All atomics are relaxed, because no
 * other memory depends on them. */
#include "access/bucket.h"

#define SECOND_NS 1000000000

/* Returns how long the bucket needs to refill n tokens.  A huge n is reduced, so that adding the result to an instant
 * cannot overflow. */
static int64_t access_cost_ns(uint64_t n, uint64_t rate) {
    uint64_t most = INT64_MAX / 4 / SECOND_NS;
    return (int64_t)((n < most ? n : most) * SECOND_NS / rate);
}

/* Returns how much time a bucket can save up: one second minus the cost of one token, because a request is served if
 * any part of it can be paid. */
static int64_t access_saved_ns(uint64_t rate) {
    return SECOND_NS - access_cost_ns(1, rate);
}

/* Converts a debt (a time) from the rate `was` to a new rate. */
static int64_t access_convert_debt(int64_t owed_ns, uint64_t was, uint64_t rate) {
    double then = (double)owed_ns * (double)was / (double)rate;
    return then < (double)(INT64_MAX / 4) ? (int64_t)then : INT64_MAX / 4;
}

void access_bucket_set(struct access_bucket *bucket, uint64_t rate, int64_t now_ns) {
    uint64_t was = atomic_exchange_explicit(&bucket->rate, rate, memory_order_relaxed);
    int64_t paid = atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), then;
    do {
        if (was == 0 || rate == 0 || paid <= now_ns) return;
        then = now_ns + access_convert_debt(paid - now_ns, was, rate);
    } while (!atomic_compare_exchange_weak_explicit(&bucket->paid_ns, &paid, then, memory_order_relaxed,
                                                    memory_order_relaxed));
}

static int64_t access_turn_ns(int64_t paid_ns, uint64_t rate, int64_t now_ns) {
    int64_t saved = now_ns - access_saved_ns(rate);
    return paid_ns > saved ? paid_ns : saved;
}

int64_t access_bucket_take(struct access_bucket *bucket, uint64_t n, int64_t now_ns, int64_t patience_ns) {
    uint64_t rate = access_bucket_rate(bucket);
    if (rate == 0) return 0;
    int64_t paid = atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), turn, cost = access_cost_ns(n, rate);
    do {
        turn = access_turn_ns(paid, rate, now_ns);
        if (turn > now_ns && turn - now_ns > patience_ns) return now_ns - turn;
    } while (!atomic_compare_exchange_weak_explicit(&bucket->paid_ns, &paid, turn + cost, memory_order_relaxed,
                                                    memory_order_relaxed));
    return turn > now_ns ? turn - now_ns : 0;
}

void access_bucket_give(struct access_bucket *bucket, uint64_t n) {
    uint64_t rate = access_bucket_rate(bucket);
    if (rate) atomic_fetch_sub_explicit(&bucket->paid_ns, access_cost_ns(n, rate), memory_order_relaxed);
}

uint64_t access_bucket_room(const struct access_bucket *bucket, int64_t now_ns) {
    uint64_t rate = access_bucket_rate(bucket);
    if (rate == 0) return UINT64_MAX;
    int64_t turn = access_turn_ns(atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed), rate, now_ns);
    return turn > now_ns ? 0 : 1 + (uint64_t)(now_ns - turn) / (uint64_t)access_cost_ns(1, rate);
}

int64_t access_bucket_full_ns(const struct access_bucket *bucket) {
    return atomic_load_explicit(&bucket->paid_ns, memory_order_relaxed) + SECOND_NS;
}
