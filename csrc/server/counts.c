/* counts.c -- counting, where it is more than an addition; adding up the loops.  Knows no metric's name. */
#include "server/counts.h"

const uint64_t vs_duration_us[VS_DURATIONS_MAX - 1] = {50,    100,   250,    500,    1000,   2500,    5000,   10000,
                                                       25000, 50000, 100000, 250000, 500000, 1000000, 5000000};

void vs_count_durations(struct vs_counts *counts, enum vs_protocol protocol, uint64_t us, uint64_t n) {
    int i = 0;
    while (i < VS_DURATIONS_MAX - 1 && us > vs_duration_us[i])
        i++;
    vs_add(&counts->durations[protocol][i], n);
    vs_add(&counts->duration_us[protocol], us * n);
}

uint64_t vs_total(const struct vs_app *app, const vs_count *of) {
    size_t at = (size_t)((const char *)of - (const char *)app->counts[0]);
    uint64_t sum = 0;
    for (int i = 0; i < app->loop_count; i++)
        sum += atomic_load_explicit((const vs_count *)((const char *)app->counts[i] + at), memory_order_relaxed);
    return sum;
}
