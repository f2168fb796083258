/* count.h -- a counter that one thread changes and any thread reads. */
#ifndef VS_COUNT_H
#define VS_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t vs_count;

static inline void vs_add(vs_count *count, uint64_t n) {
    /* No read-modify-write is needed, because only one thread writes.  Relaxed: a counter orders no other memory. */
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void vs_set(vs_count *count, uint64_t n) {
    atomic_store_explicit(count, n, memory_order_relaxed);
}

static inline uint64_t vs_get(const vs_count *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

#endif
