/* counts.c -- allocates the counters of loops and adds them up.  Contains no metric names. */
#include "server/counts.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64 /* size of a cache line */

const uint64_t vs_duration_us[VS_DURATIONS_MAX - 1] = {50,    100,   250,    500,    1000,   2500,    5000,   10000,
                                                       25000, 50000, 100000, 250000, 500000, 1000000, 5000000};

size_t vs_counts_size(int namespaces) {
    const struct vs_counts *one = NULL;
    size_t size = sizeof *one + (size_t)namespaces * sizeof one->ns[0];
    return (size + LINE - 1) / LINE * LINE;
}

struct vs_counts *vs_counts_new(int namespaces) {
    size_t size = vs_counts_size(namespaces);
    struct vs_counts *counts = aligned_alloc(LINE, size);
    return counts ? memset(counts, 0, size) : NULL;
}

/* Returns the value of a loop's counter.  `of` is the address of that counter in the first loop's counts. */
static uint64_t value(const struct vs_monitor *monitor, int loop, const vs_count *of) {
    size_t at = (size_t)((const char *)of - (const char *)monitor->counts[0]);
    return atomic_load_explicit((const vs_count *)((const char *)monitor->counts[loop] + at), memory_order_relaxed);
}

uint64_t vs_total(const struct vs_monitor *monitor, const vs_count *of) {
    uint64_t sum = 0;
    for (int i = 0; i < monitor->loop_count; i++)
        sum += value(monitor, i, of);
    return sum;
}

uint64_t vs_total_refused(const struct vs_monitor *monitor, int client) {
    uint64_t sum = 0;
    for (int why = VS_CLIENT_REFUSED_REQUEST; why <= VS_CLIENT_REFUSED_PAUSE; why++)
        sum += vs_total(monitor, &monitor->counts[0]->of_client[client][why]);
    return sum;
}

uint64_t vs_served_by(const struct vs_monitor *monitor, int loop) {
    uint64_t sum = 0;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        /* `closed` is read before `accepted`, so that the difference is never negative */
        uint64_t closed = value(monitor, loop, &monitor->counts[0]->closed[protocol]);
        sum += value(monitor, loop, &monitor->counts[0]->accepted[protocol]) - closed;
    }
    return sum;
}
