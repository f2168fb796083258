/* choose.c -- the default choice of a worker number over what a store lists.  Pure: the claim decides, not this. */
#include "core/lease.h"

#include <string.h>

/* The k-th number in [0, max] that is not listed. */
static bool unused(const struct vs_listed *listed, size_t count, uint64_t max, uint64_t random, uint64_t *worker) {
    if (max < count) /* max + 1 numbers, all listed */
        return false;
    uint64_t k = random % (max - count + 1);
    for (size_t i = 0; i < count && listed[i].worker <= k; i++)
        k++;
    *worker = k;
    return true;
}

static bool is_free(const struct vs_record *r, int64_t store_ms) {
    return !r->held || store_ms - r->written_ms > r->lease_ms;
}

/* Whether one's own number can be had at once.  Held and ahead of the clock, it may be renewed by those who still have
 * open a file of this path that was removed; and a clock that leapt may have left it ending hours ahead. */
static bool is_ready(const struct vs_lease *lease, const struct vs_record *r, int64_t store_ms) {
    int64_t ahead_ms = vs_tick_unix_us(&lease->shape, r->until) / 1000 - store_ms;
    return ahead_ms <= (r->held ? 0 : lease->timing.skew_ms);
}

bool vs_choose_any(const struct vs_lease *lease, const struct vs_listed *listed, size_t count, uint64_t worker_max,
                   int64_t store_ms, uint64_t random, uint64_t *worker) {
    const struct vs_listed *own = NULL, *own_later = NULL, *freed = NULL;
    while (count > 0 && listed[count - 1].worker > worker_max)
        count--; /* not a number of this layout */
    for (size_t i = 0; i < count; i++) {
        const struct vs_listed *at = &listed[i];
        bool is_own = strcmp(at->record.identity, lease->identity) == 0, ready = is_ready(lease, &at->record, store_ms);
        if (is_own && ready && (!own || at->record.written_ms > own->record.written_ms))
            own = at;
        else if (is_own && !ready)
            own_later = at;
        else if (is_free(&at->record, store_ms) && (!freed || at->record.until < freed->record.until))
            freed = at;
    }
    if (own) {
        *worker = own->worker;
        return true;
    }
    if (unused(listed, count, worker_max, random, worker)) return true;
    freed = freed ? freed : own_later;
    if (freed) *worker = freed->worker;
    return freed != NULL;
}
