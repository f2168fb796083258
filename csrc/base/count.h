/* count.h -- a figure that one thread changes and any thread reads. */
#ifndef VS_COUNT_H
#define VS_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t vs_count;

static inline void vs_add(vs_count *count, uint64_t n) {
    /* one writer; readers want the number, not an order */
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void vs_set(vs_count *count, uint64_t n) {
    atomic_store_explicit(count, n, memory_order_relaxed); /* as vs_add */
}

static inline uint64_t vs_get(const vs_count *count) {
    return atomic_load_explicit(count, memory_order_relaxed); /* a figure, orders nothing */
}

#endif
