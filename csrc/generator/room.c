/* room.c -- computes how many ids a generator can issue now, for a server that divides them among its clients. */
#include "generator/generator.h"

/* Returns the tick of the latest known time.  The clock alone would yield too many ids if it went back. */
static uint64_t room_latest(const struct vesta_gen *gen, const struct vs_map *map, int64_t now_us) {
    int64_t seen_us = atomic_load_explicit(&map->shared.seen_us, memory_order_relaxed);
    return vs_tick_at(&gen->shape, now_us > seen_us ? now_us : seen_us);
}

bool vs_gen_room(struct vesta_gen *gen, struct vs_room *out) {
    const struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    const struct vs_shape *shape = &gen->shape;
    int active = vs_map_active(map);
    uint64_t tick = 0, unit = (uint64_t)1 << shape->seq_bits;
    if (active < 0 || !vs_slot_cursor(&map->slot[active], &tick)) return false;
    int64_t now_us = gen->clock->unix_us(gen->clock->self);
    uint64_t open = vs_tick_at(shape, now_us), known = room_latest(gen, map, now_us);
    uint64_t bound = open + unit + gen->ahead_ticks_max;
    uint64_t allowed = vs_slot_allowed(&map->slot[active], gen->clock);
    if (bound < allowed) bound = allowed;
    if (gen->pacing != VESTA_PACING_HISTORY && tick < open) tick = vs_gen_start(gen, &map->slot[active], tick, open);
    int64_t next_us = vs_tick_unix_us(shape, open + unit);
    *out = (struct vs_room){.unit = unit,
                            .unit_us = shape->unit_us,
                            .ids = bound > tick ? bound - tick : 0,
                            .span = bound > known ? bound - known : unit,
                            .next_us = next_us > now_us ? next_us - now_us : 0};
    return true;
}
