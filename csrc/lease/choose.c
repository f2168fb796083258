/* choose.c -- the default choice of a worker id from a store's records.  The choice is only a hint, because the claim
 * may fail. */
#include "lease/lease.h"

#include <assert.h>
#include <string.h>

/* Returns how many worker ids in [0, max] are reserved for assignment by hand. */
static uint64_t count_static(const struct vs_ns_record *ns, uint64_t max) {
    if (ns->static_count == 0 || ns->static_first > max) return 0;
    uint64_t room = max - ns->static_first + 1;
    return ns->static_count < room ? ns->static_count : room;
}

bool vs_choose_unused(const struct vs_ns_record *ns, struct vs_listing listing, uint64_t max, uint64_t random,
                      uint64_t *worker) {
    const struct vs_listed *listed = listing.listed;
    uint64_t by_hand = count_static(ns, max), taken = by_hand;
    for (size_t i = 0; i < listing.count; i++)
        taken += !vs_is_static(ns, listed[i].worker);
    if (max < taken) /* all max + 1 worker ids are taken */
        return false;
    uint64_t k = random % (max - taken + 1);
    for (size_t i = 0; i < listing.count; i++) {
        if (vs_is_static(ns, listed[i].worker)) continue;
        if (by_hand && ns->static_first < listed[i].worker && ns->static_first <= k) {
            k += by_hand;
            by_hand = 0;
        }
        if (listed[i].worker > k) break;
        k++;
    }
    if (by_hand && ns->static_first <= k) k += by_hand;
    assert(k <= max); /* a larger worker id would overwrite other fields of the ids */
    *worker = k;
    return true;
}

bool vs_record_is_free(const struct vs_record *r, int64_t store_ms) {
    return !r->held || store_ms - r->written_ms > r->lease_ms;
}

/* Returns whether this generator's own worker id can be claimed at once.  If the record is held and ends ahead of the
 * clock, the lease may still be renewed by processes that opened an earlier file at this path, which was then removed.
 * If the record is free but ends far ahead of the clock, a wrong clock wrote it. */
static bool is_ready(const struct vs_lease *lease, const struct vs_record *r, int64_t store_ms) {
    int64_t ahead_ms = vs_tick_unix_us(&lease->shape, r->until) / 1000 - store_ms;
    if (lease->waits_for_expiry) return vs_record_is_free(r, store_ms) && ahead_ms <= lease->timing.skew_ms;
    return ahead_ms <= (r->held ? 0 : lease->timing.skew_ms);
}

struct vs_listing vs_listing_up_to(struct vs_listing listing, uint64_t worker_max) {
    while (listing.count > 0 && listing.listed[listing.count - 1].worker > worker_max)
        listing.count--;
    return listing;
}

bool vs_choose_any(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                   uint64_t *worker) {
    const struct vs_listed *own = NULL, *own_later = NULL, *freed = NULL;
    listing = vs_listing_up_to(listing, worker_max);
    for (size_t i = 0; i < listing.count; i++) {
        const struct vs_listed *at = &listing.listed[i];
        if (vs_is_static(&lease->ns, at->worker)) continue;
        bool is_own = strcmp(at->record.identity, lease->identity) == 0,
             ready = is_ready(lease, &at->record, listing.store_ms);
        if (is_own && ready && (!own || at->record.written_ms > own->record.written_ms))
            own = at;
        else if (is_own && !ready)
            own_later = at;
        else if (vs_record_is_free(&at->record, listing.store_ms) && (!freed || at->record.until < freed->record.until))
            freed = at;
    }
    if (own) {
        *worker = own->worker;
        return true;
    }
    if (vs_choose_unused(&lease->ns, listing, worker_max, random, worker)) return true;
    freed = freed ? freed : own_later;
    if (freed) *worker = freed->worker;
    return freed != NULL;
}

bool vs_choose_other(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                     uint64_t *worker) {
    const struct vs_listed *freed = NULL;
    listing = vs_listing_up_to(listing, worker_max);
    if (vs_choose_unused(&lease->ns, listing, worker_max, random, worker)) return true;
    for (size_t i = 0; i < listing.count; i++) {
        const struct vs_listed *at = &listing.listed[i];
        if (at->worker == lease->worker || vs_is_static(&lease->ns, at->worker)) continue;
        if (vs_record_is_free(&at->record, listing.store_ms) && (!freed || at->record.until < freed->record.until)) freed = at;
    }
    if (freed) *worker = freed->worker;
    return freed != NULL;
}
