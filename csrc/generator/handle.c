/* handle.c -- initializes a handle on a map, chooses its clocks, and moves it to the next map. */
#include "generator/generator.h"
#include "generator/point.h"
#include "id/id.h"

#include <assert.h>
#include <string.h>

/* Checks that the parts of an id do not overlap, and that ticks are below the flags of vs_slot.tick. */
static void assert_composes(const struct vesta_gen *gen) {
    const struct vs_shape *shape = &gen->shape;
    uint64_t end = vs_tick_end(shape), tick_bits = vs_place_tick(shape, end - 1);
    uint64_t worker_bits = vs_worker_max(&gen->layout) * shape->worker_unit;
    assert(end <= (uint64_t)1 << 62);
    assert(gen->ahead_ticks_max <= end); /* so sums of ticks and bounds fit into 64 bits */
    assert(!(tick_bits & worker_bits));
    assert(!(gen->base & tick_bits));
    assert(!(gen->base & worker_bits));
    assert(shape->spread <= (uint64_t)1 << shape->seq_bits); /* a sequence starts within its unit */
    assert(shape->gap_bits <= shape->seq_bits);
    assert(!shape->far_skip || shape->gap_bits < shape->seq_bits); /* otherwise the same gap would count twice */
    assert(shape->unit_us >= 1 && shape->unit_us <= 1000000);
}

/* Returns how far UUIDs may run ahead: VESTA_UUID_LEAD_MS further than ids, and a unit, because the cursor is in the
 * next unit if the sequence was exhausted when the clock went back.  Limited so that sums of ticks and bounds fit into
 * 64 bits. */
static uint64_t handle_lead(const struct vesta_gen *gen) {
    uint64_t units = VESTA_UUID_LEAD_MS * 1000 / (uint64_t)gen->shape.unit_us + 1, end = vs_tick_end(&gen->shape);
    uint64_t lead = units > end >> gen->shape.seq_bits ? end : units << gen->shape.seq_bits;
    return lead > end - gen->ahead_ticks_max ? end : gen->ahead_ticks_max + lead;
}

unsigned vs_span_bits(const struct vs_shape *shape) {
    unsigned bits = shape->seq_bits;
    for (int64_t us = shape->unit_us; us < 1000; us *= 2)
        bits++;
    return bits;
}

void vs_gen_init(struct vesta_gen *gen, struct vs_map *map, const struct vesta_layout *layout, uint64_t base,
                 const struct vesta_clock *clock) {
    memset(gen, 0, sizeof *gen);
    gen->layout = *layout;
    vs_shape_of(layout, &gen->shape);
    gen->base = base;
    gen->clock = clock;
    gen->pacing = (enum vesta_pacing)map->header.pacing;
    gen->ahead_ticks_max = map->header.ahead_ticks_max;
    gen->lead_ticks_max = handle_lead(gen);
    vs_uuid_of(layout, &gen->uuid);
    gen->span_units = (uint8_t)(vs_span_bits(&gen->shape) - gen->shape.seq_bits);
    assert(clock);
    assert_composes(gen);
    vs_gen_move(gen, map);
}

void vs_gen_read_late(struct vesta_gen *gen, int64_t (*late_s)(void *self), int64_t (*late_us)(void *self)) {
    const struct vs_shape *shape = &gen->shape;
    uint64_t unit_ticks = (uint64_t)1 << shape->seq_bits;
    assert(gen->clock); /* vs_gen_init was called */
    assert(late_s);
    assert(late_us);
    if (gen->pacing == VESTA_PACING_HISTORY) return;
    if (shape->unit_us == 1000000 && shape->epoch_us % 1000000 == 0 && shape->seq_bits <= VS_LATE_SEQ_BITS_MAX) {
        gen->epoch_s = shape->epoch_us / 1000000;
        gen->unit_rest = unit_ticks - 1;
        gen->late_s = late_s;
    } else if (shape->spread + VS_LATE_FROM < unit_ticks) {
        gen->late_from = shape->spread + VS_LATE_FROM;
        gen->late_us = late_us;
    }
}

void vs_gen_move(struct vesta_gen *gen, struct vs_map *map) {
    assert(map);
    /* Release: pairs with the acquire in next_within, so that the complete map is visible. */
    atomic_store_explicit(&gen->map, map, memory_order_release);
    VS_POINT(moved_map);
    /* A thread that is using the old map may issue a few more ids from it, which are unique, too. */
    atomic_store_explicit(&gen->slot, NULL, memory_order_release);
}
