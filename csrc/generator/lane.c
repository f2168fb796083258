/* lane.c -- gives a thread ids out of a run that it took in one step.
 *
 * Why no tick is given twice: a run is granted as a batch is, by one CAS of the cursor, so nobody else has it, whatever
 * becomes of the slot.  That leaves who takes from it: one thread of one process, which `owner` tells; and what is
 * given back: only by a CAS that finds the cursor at the run's end, when all at or above that word is nobody's, as it
 * is again afterwards.  Who had read the cursor in between takes by a CAS of its own, or by an add that reads it anew.
 */
#include "generator/lane.h"
#include "generator/point.h"
#include "vesta_lane.h"

#include <assert.h>

#define COLD __attribute__((cold, noinline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Where a thread's own storage is: one that ended may have had it before, and nobody is beside this one then. */
#ifdef VS_SIM
#define own_thread vs_sim_thread
#elif __GNUC__ >= 11 && !defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
static inline uint64_t own_thread(void) {
    return (uintptr_t)__builtin_thread_pointer();
}
#else
static inline uint64_t own_thread(void) {
    static _Thread_local char here;
    return (uintptr_t)&here;
}
#endif

uint64_t vs_lane_max(const struct vs_shape *shape) {
    assert(shape->seq_bits < 64);
    uint64_t unit = (uint64_t)1 << shape->seq_bits;
    return unit < VESTA_LANE_MAX ? unit : VESTA_LANE_MAX;
}

void vs_lane_init(struct vesta_lane *lane, struct vesta_gen *gen, uint64_t n, const _Atomic uint64_t *process,
                  uint64_t (*token)(void)) {
    assert(gen->pacing == VESTA_PACING_HISTORY); /* a run under clock pacing would be late */
    assert(n >= 1 && n <= vs_lane_max(&gen->shape));
    *lane = (struct vesta_lane){.process = process, .step = gen->shape.seq_unit, .n = n, .gen = gen, .token = token};
}

/* relaxed: a run whose lease ends while an id of it is on its way is what vesta_next's would be */
static inline bool is_ended(const struct vs_slot *slot) {
    return atomic_load_explicit(&slot->ended, memory_order_relaxed) != 0;
}

static inline uint64_t own_word(const struct vesta_lane *lane) {
    return own_thread() ^ atomic_load_explicit(lane->process, memory_order_relaxed);
}

/* Whether the calling thread may take from the lane: its own, or it is the first of this process that asks.  A run that
 * a child finds in the lane is its parent's. */
static bool lane_own(struct vesta_lane *lane) {
    uint64_t token = lane->token(), was = atomic_load_explicit(&lane->process_of, memory_order_relaxed);
    assert(token); /* 0 is whose a lane is that nobody has asked yet */
    /* relaxed: it decides between threads, and hands nothing from one to the other */
    if (was != token && atomic_compare_exchange_strong_explicit(&lane->process_of, &was, token, memory_order_relaxed,
                                                                memory_order_relaxed)) {
        lane->stop = lane->id;
        lane->next = lane->end;
        lane->slot = NULL;
        atomic_store_explicit(&lane->owner, own_word(lane), memory_order_relaxed);
    }
    return atomic_load_explicit(&lane->owner, memory_order_relaxed) == own_word(lane);
}

/* Whoever closes the active slot was killed, or stands, on the way. */
static bool lane_is_ending(const struct vesta_gen *gen) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    int active = vs_map_active(map);
    return active >= 0 && is_ended(&map->slot[active]);
}

/* Where a run would be dropped at once, and in lanes of one.  By vs_gen_take as well: it asks the newest slot alone. */
static int lane_take_one(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause) {
    struct vesta_block block;
    struct vs_slot *slot;
    int rc = vs_gen_take(lane->gen, 1, &slot, &block, pause);
    if (rc != VESTA_OK) return rc;
    VS_POINT(composes);
    *id = block.base + vs_place_tick(&lane->gen->shape, block.first);
    return VESTA_OK;
}

static int begin_run(struct vesta_lane *lane, struct vesta_pause *pause) {
    struct vesta_block block;
    int rc = vs_gen_take(lane->gen, lane->n, &lane->slot, &block, pause);
    if (rc != VESTA_OK) return rc;
    assert(block.count >= 1 && block.count <= lane->n);
    lane->base = block.base;
    lane->next = block.first;
    lane->end = block.first + block.count;
    return VESTA_OK;
}

/* The ids up to the layout's next gap lie a step apart. */
static void begin_piece(struct vesta_lane *lane) {
    const struct vs_shape *shape = &lane->gen->shape;
    uint64_t unit = (uint64_t)1 << shape->gap_bits, count = unit - (lane->next & (unit - 1));
    assert(lane->id == lane->stop);
    assert(lane->next < lane->end);
    count = count < lane->end - lane->next ? count : lane->end - lane->next;
    if (count * lane->step == 0) count--; /* a sequence in the highest bits: all of it would end where it begins */
    lane->id = lane->base + vs_place_tick(shape, lane->next);
    lane->stop = lane->id + count * lane->step;
    lane->next += count;
}

static COLD int lane_any(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause) {
    if (!lane_own(lane)) return VESTA_EOPTION;
    if (lane->slot && is_ended(lane->slot)) { /* what is left is lost */
        lane->stop = lane->id;
        lane->next = lane->end;
    }
    if (lane->next == lane->end) {
        if (lane->n == 1 || lane_is_ending(lane->gen)) return lane_take_one(lane, id, pause);
        int rc = begin_run(lane, pause);
        if (rc != VESTA_OK) return rc;
    }
    begin_piece(lane);
    return vesta_lane_next(lane, id, pause); /* which looks at the slot again: it may have ended meanwhile */
}

int vesta_lane_next(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause) {
    /* relaxed: what is read next is this thread's own, or is not read */
    bool is_own = atomic_load_explicit(&lane->owner, memory_order_relaxed) == own_word(lane);
    if (UNLIKELY(!is_own || lane->id == lane->stop || is_ended(lane->slot))) return lane_any(lane, id, pause);
    uint64_t given = lane->id;
    VS_POINT(composes);
    lane->id = given + lane->step;
    *id = given;
    return VESTA_OK;
}

bool vs_lane_end(struct vesta_lane *lane) {
    uint64_t end = lane->end, from = lane->next - (lane->stop - lane->id) / lane->step;
    bool is_here = atomic_load_explicit(&lane->process_of, memory_order_relaxed) ==
                   atomic_load_explicit(lane->process, memory_order_relaxed);
    if (!is_here || from == end) return false; /* a parent's run is not this child's to give */
    assert(from < end);
    lane->stop = lane->id;
    lane->next = end;
    VS_POINT(gives_back);
    /* acq_rel: pairs with vs_slot_close, to which the cursor is exact before and after; of a closed slot it fails */
    return atomic_compare_exchange_strong_explicit(&lane->slot->tick, &end, from, memory_order_acq_rel,
                                                   memory_order_relaxed);
}
