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

/* A clock that leapt may have left one's own number ending hours ahead: then another will give ids sooner. */
static bool ends_soon(const struct vs_lease *lease, const struct vs_record *r, int64_t store_ms) {
    return vs_tick_unix_us(&lease->shape, r->until) / 1000 - store_ms <= lease->timing.skew_ms;
}

bool vs_choose_any(const struct vs_lease *lease, const struct vs_listed *listed, size_t count, uint64_t worker_max,
                   int64_t store_ms, uint64_t random, uint64_t *worker) {
    const struct vs_listed *own = NULL, *freed = NULL;
    while (count > 0 && listed[count - 1].worker > worker_max)
        count--; /* not a number of this layout */
    for (size_t i = 0; i < count; i++) {
        const struct vs_listed *at = &listed[i];
        bool is_own = strcmp(at->record.identity, lease->identity) == 0 && ends_soon(lease, &at->record, store_ms);
        if (is_own && (!own || at->record.written_ms > own->record.written_ms))
            own = at;
        else if (is_free(&at->record, store_ms) && (!freed || at->record.until < freed->record.until))
            freed = at;
    }
    if (own) {
        *worker = own->worker;
        return true;
    }
    if (unused(listed, count, worker_max, random, worker))
        return true;
    if (freed)
        *worker = freed->worker;
    return freed != NULL;
}
