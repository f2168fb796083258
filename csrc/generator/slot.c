/* slot.c -- takes, publishes, raises and closes slots.  Only keepers call this code.  Two keepers may run at once, if
 * one was suspended and another one has replaced it, and every step is safe in that case. */
#include "generator/map.h"
#include "generator/point.h"

#include <assert.h>
#include <string.h>

static void slot_fill(struct vs_slot *slot, const struct vs_claim *claim) {
    slot->worker = claim->worker;
    VS_POINT(fills_worker);
    slot->owner[0] = claim->owner[0];
    VS_POINT(fills_half_owner);
    slot->owner[1] = claim->owner[1];
    VS_POINT(fills_owner);
    slot->from = claim->from;
    slot->incarnation = claim->incarnation;
    slot->is_fixed = claim->is_fixed;
    VS_POINT(fills_from);
    /* Release: pairs with the acquire in find_lease, by which a successor looks for claims to adopt. */
    atomic_store_explicit(&slot->state, VS_SLOT_CLAIMING, memory_order_release);
}

int vs_slot_take(struct vs_map *map, const struct vs_claim *claim) {
    assert(!(claim->from & VS_CLOSED)); /* `from` becomes the cursor */
    uint32_t used = atomic_load_explicit(&map->shared.slots_used, memory_order_relaxed);
    if (used >= VS_SLOTS_MAX) return -1; /* check before adding: the counter must not wrap around to slot 0 */
    VS_POINT(takes_slot);
    /* Release: pairs with the acquire in close_slots and find_lease. */
    uint32_t index = atomic_fetch_add_explicit(&map->shared.slots_used, 1, memory_order_release);
    if (index >= VS_SLOTS_MAX) return -1;
    VS_POINT(counts_slot);
    uint64_t empty = 0;
    /* Only an empty slot becomes fresh.  Another keeper may already have closed this slot with all others, for a rest
     * or a failstop, and then it stays closed.  Release: pairs with the acquire in find_lease. */
    atomic_compare_exchange_strong_explicit(&map->slot[index].tick, &empty, VS_FRESH, memory_order_release,
                                            memory_order_relaxed);
    VS_POINT(makes_fresh);
    slot_fill(&map->slot[index], claim);
    return (int)index;
}

void vs_slot_raise(struct vs_slot *slot, uint64_t limit, int64_t deadline_boot_us) {
    vs_raise_i64(&slot->deadline_boot_us, deadline_boot_us);
    VS_POINT(raises_deadline);
    vs_raise_u64(&slot->limit, limit);
}

/* If two verdicts are applied at once, the higher tick counts, and any order of the stores below is correct. */
void vs_slot_allow(struct vs_slot *slot, uint64_t tick, int64_t boot_us) {
    if (boot_us < atomic_load_explicit(&slot->allowed_until_us, memory_order_relaxed))
        vs_raise_u64(&slot->allowed, tick);
    else
        atomic_store_explicit(&slot->allowed, tick, memory_order_relaxed); /* replaces the tick of an expired verdict */
    /* Release: pairs with vs_slot_allowed.  A caller that sees this time also sees its tick, or that of a later
     * verdict. */
    atomic_store_explicit(&slot->allowed_until_us, boot_us + VESTA_VERDICT_MS * INT64_C(1000), memory_order_release);
}

uint64_t vs_slot_allowed(const struct vs_slot *slot, const struct vesta_clock *clock) {
    /* Acquire: pairs with vs_slot_allow. */
    int64_t until_us = atomic_load_explicit(&slot->allowed_until_us, memory_order_acquire);
    if (!until_us || clock->boot_us(clock->self) >= until_us) return 0;
    return atomic_load_explicit(&slot->allowed, memory_order_relaxed);
}

void vs_slot_publish(struct vs_map *map, int index, uint64_t limit, int64_t deadline_boot_us) {
    assert(index >= 0);
    assert(index < VS_SLOTS_MAX);
    struct vs_slot *slot = &map->slot[index];
    vs_raise_u64(&slot->full_at, slot->from); /* the slot starts as full, so that the first caller reads the clock */
    VS_POINT(publishes_full);
    vs_raise_u64(&slot->pass, slot->from);
    VS_POINT(publishes_pass);
    vs_slot_raise(slot, limit, deadline_boot_us);
    VS_POINT(publishes_limit);
    uint64_t fresh = VS_FRESH;
    /* Sets the cursor only if it is VS_FRESH.  If this keeper was suspended here and a successor has opened the slot,
     * its cursor must not be moved back. */
    atomic_compare_exchange_strong_explicit(&slot->tick, &fresh, slot->from, memory_order_acq_rel,
                                            memory_order_relaxed);
    VS_POINT(opens_slot);
    uint32_t was = atomic_load_explicit(&map->shared.active, memory_order_relaxed), to = (uint32_t)index + 1;
    /* Release: pairs with active_of.  The word only rises, so that the newest lease remains the active one. */
    while (was < to && !atomic_compare_exchange_weak_explicit(&map->shared.active, &was, to, memory_order_acq_rel,
                                                              memory_order_relaxed))
        ;
}

/* Returns min(tick, limit).  A rejected taker may have moved the word past the limit, but no tick there was issued. */
static uint64_t slot_capped(const struct vs_slot *slot, uint64_t tick) {
    assert(!(tick & VS_CLOSED)); /* VS_CLOSED and VS_FRESH are not cursors */
    uint64_t limit = atomic_load_explicit(&slot->limit, memory_order_acquire);
    return tick < limit ? tick : limit;
}

bool vs_slot_close(struct vs_slot *slot, uint64_t *cursor) {
    /* Set `ended` before the cursor.  If this keeper is killed in between, lanes drop their runs although the slot is
     * open, which is safe.  Runs that outlive their lease would not be.  Relaxed: the exchange below releases the
     * store. */
    atomic_store_explicit(&slot->ended, 1, memory_order_relaxed);
    VS_POINT(closes_slot);
    /* Acq_rel: each caller that took a tick before this exchange had loaded its bound, so the limit that is read below
     * is at least that bound. */
    uint64_t tick = atomic_exchange_explicit(&slot->tick, VS_CLOSED, memory_order_acq_rel);
    VS_POINT(closed_slot);
    if (tick & VS_CLOSED) return false;
    *cursor = slot_capped(slot, tick);
    return true;
}

void vs_slot_skip(struct vs_slot *slot, uint64_t to) {
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_relaxed);
    uint64_t most = slot_capped(slot, to);
    VS_POINT(skips);
    /* Acq_rel: as in take_clock. */
    while (!(tick & VS_CLOSED) && tick < most &&
           !atomic_compare_exchange_weak_explicit(&slot->tick, &tick, most, memory_order_acq_rel, memory_order_relaxed))
        ;
}

bool vs_slot_cursor(const struct vs_slot *slot, uint64_t *cursor) {
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    if (tick & VS_CLOSED) return false;
    *cursor = slot_capped(slot, tick);
    return true;
}

int vs_map_active(const struct vs_map *map) {
    uint32_t active = atomic_load_explicit(&map->shared.active, memory_order_acquire);
    return active <= VS_SLOTS_MAX ? (int)active - 1 : -1; /* a damaged word must not become an index */
}

uint64_t vs_map_incarnation(const struct vs_map *map) {
    int newest = vs_map_active(map);
    return newest >= 0 ? map->slot[newest].incarnation : map->header.incarnation;
}

bool vs_map_trusted(const struct vs_header *header, const struct vs_file_identity *now) {
    /* if the original was removed, a copy may have got its inode number */
    bool reborn = header->born_ns && now->born_ns && header->born_ns != now->born_ns;
    bool same_file = header->dev == now->dev && header->ino == now->ino && !reborn;
    return same_file && strncmp(header->boot_id, now->boot_id, sizeof header->boot_id) == 0;
}

bool vs_map_is_of(const struct vs_header *map, const struct vs_header *anchor) {
    /* the second argument must be an anchor, not a map's header */
    assert(memcmp(anchor->magic, VS_ANCHOR_MAGIC, sizeof anchor->magic) == 0);
    assert(anchor->size == sizeof *anchor);
    return memcmp(map->key, anchor->key, sizeof map->key) == 0 && map->fingerprint == anchor->fingerprint &&
           map->pacing == anchor->pacing && map->ahead_ticks_max == anchor->ahead_ticks_max &&
           map->has_worker == anchor->has_worker && map->worker == anchor->worker && map->group == anchor->group &&
           strncmp(map->namespace_, anchor->namespace_, sizeof map->namespace_) == 0 &&
           strncmp(map->lease, anchor->lease, sizeof map->lease) == 0;
}

static bool slot_terminated(const char *text, size_t size) {
    return memchr(text, 0, size) != NULL;
}

const char *vs_anchor_reject(const struct vs_header *header, uint64_t bytes) {
    if (bytes == 0) return "it is empty";
    if (bytes < sizeof *header) return "it is too short to be a generator file";
    if (memcmp(header->magic, VS_ANCHOR_MAGIC, sizeof header->magic) != 0) return "it is not a generator file";
    if (header->format > VS_ANCHOR_FORMAT) return "a newer vesta made it";
    if (header->format != VS_ANCHOR_FORMAT || header->size != sizeof *header)
        return "another build of vesta made it, in another file format";
    if (!slot_terminated(header->layout, sizeof header->layout) ||
        !slot_terminated(header->namespace_, sizeof header->namespace_) ||
        !slot_terminated(header->store, sizeof header->store) ||
        !slot_terminated(header->identity, sizeof header->identity) ||
        !slot_terminated(header->path, sizeof header->path) || !slot_terminated(header->maps, sizeof header->maps) ||
        header->maps[0] != '/' || header->pacing < VESTA_PACING_CLOCK || header->pacing > VESTA_PACING_HISTORY)
        return "its header is damaged";
    return NULL;
}

void vs_map_format(struct vs_map *map, const struct vesta_clock *clock) {
    memset(&map->shared, 0, sizeof map->shared);
    int64_t unix_us = clock->unix_us(clock->self);
    atomic_store(&map->shared.offset_us, unix_us - clock->boot_us(clock->self));
    atomic_store(&map->shared.seen_us, unix_us);
}
