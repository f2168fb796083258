/* range.c -- the arithmetic of ranges (range.h).  Pure. */
#include "segment/range.h"

#include <assert.h>
#include <stddef.h>

uint64_t vs_step_next(uint64_t configured, uint64_t last, int64_t since_us, uint64_t step_max) {
    assert(configured > 0);
    assert(configured <= VS_RANGE_MAX);
    assert(last <= VS_RANGE_MAX);
    uint64_t most = step_max < VS_RANGE_MAX ? step_max : VS_RANGE_MAX, step = last;
    if (last == 0 || since_us < 0) return configured;
    if (since_us < VS_STEP_BUSY_US && last <= most / 2) step = last * 2;
    if (since_us >= VS_STEP_IDLE_US) step = last / 2;
    return step > configured ? step : configured;
}

const char *vs_range_of(uint64_t from, uint64_t until, uint64_t delta, uint64_t remainder, struct vs_range *out) {
    assert(delta > 0);
    assert(remainder < delta);
    if (until > VS_NUMBER_MAX) return "it ends above 2^63 - 1, the largest number";
    if (from >= until) return "it is empty: check that its step is positive";
    if (until - from > VS_RANGE_MAX) return "it is longer than 4,294,967,296 numbers: check its step";
    uint64_t ahead = (remainder + delta - from % delta) % delta; /* distance to the first number with this remainder */
    if (ahead >= until - from) return "it contains no number of this remainder: make its step at least delta";
    uint64_t count = (until - from - ahead - 1) / delta + 1;
    *out =
        (struct vs_range){.first = from + ahead, .count = count, .stride = delta, .until = until, .mark = count / 10};
    return NULL;
}

uint64_t vs_range_mark(uint64_t count, uint64_t used, int64_t used_us, int64_t fetch_us) {
    assert(count <= VS_RANGE_MAX);
    assert(used <= VS_RANGE_MAX);
    uint64_t tenth = count / 10;
    if (used_us <= 0 || fetch_us <= 0) return tenth;
    /* twice the last fetch, because the next one may be slower */
    double need = 2.0 * (double)used * (double)fetch_us / (double)used_us;
    if (need >= (double)count) return 0;
    uint64_t left = count - (uint64_t)need;
    return left < tenth ? left : tenth;
}
