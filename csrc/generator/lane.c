/* lane.c -- issues ids to a thread from a run of ticks that was taken in one step.
 *
 * Why no tick is issued twice: a run is taken by one CAS of the cursor, like a batch, so no other caller has these
 * ticks.  Only one thread of one process takes ids from the run, as recorded in `owner`.  Ticks return to the slot only
 * by a CAS that finds the cursor at the end of the run.  At that moment no caller has a tick at or above the cursor, so
 * moving the cursor back is safe.  A concurrent caller that has read the old cursor fails its CAS, or adds to the new
 * cursor. */
#include "generator/lane.h"
#include "generator/point.h"
#include "vesta_lane.h"

#include <assert.h>

#define COLD __attribute__((cold, noinline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Identifies the calling thread by the address of its thread-local storage.  A later thread may get the same address,
 * but only after the earlier thread has ended. */
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
    assert(gen->pacing == VESTA_PACING_HISTORY); /* with clock pacing, ids of a run would have old times */
    assert(n >= 1 && n <= vs_lane_max(&gen->shape));
    *lane = (struct vesta_lane){.process = process, .step = gen->shape.seq_unit, .n = n, .gen = gen, .token = token};
}

/* Returns whether the slot is closed or about to be closed.  Relaxed: as in vesta_next, a call in progress may still
 * return an id although the lease ends. */
static inline bool is_ended(const struct vs_slot *slot) {
    return atomic_load_explicit(&slot->ended, memory_order_relaxed) != 0;
}

static inline uint64_t own_word(const struct vesta_lane *lane) {
    return own_thread() ^ atomic_load_explicit(lane->process, memory_order_relaxed);
}

/* Returns whether the calling thread owns the lane.  The first thread of this process that calls becomes the owner.  In
 * a forked child, that thread also drops the run, which belongs to the parent. */
static bool lane_own(struct vesta_lane *lane) {
    uint64_t token = lane->token(), was = atomic_load_explicit(&lane->process_of, memory_order_relaxed);
    assert(token); /* 0 means that a lane has no owner */
    /* Relaxed: this CAS only decides which thread is the owner, and passes no data between threads. */
    if (was != token && atomic_compare_exchange_strong_explicit(&lane->process_of, &was, token, memory_order_relaxed,
                                                                memory_order_relaxed)) {
        lane->stop = lane->id;
        lane->next = lane->end;
        lane->slot = NULL;
        atomic_store_explicit(&lane->owner, own_word(lane), memory_order_relaxed);
    }
    return atomic_load_explicit(&lane->owner, memory_order_relaxed) == own_word(lane);
}

/* Returns whether the closing of the active slot has begun.  The process that closes it may have been killed or
 * suspended before it finished. */
static bool lane_is_ending(const struct vesta_gen *gen) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    int active = vs_map_active(map);
    return active >= 0 && is_ended(&map->slot[active]);
}

/* Takes a single tick, for lanes with n = 1 and for a slot that is being closed, in which a run would be dropped at
 * once.  Uses vs_gen_take, like begin_run, because both must take from the newest slot. */
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

/* Prepares the next ids of the run, up to the layout's next gap, because the distance between ids is constant only up
 * to there. */
static void begin_piece(struct vesta_lane *lane) {
    const struct vs_shape *shape = &lane->gen->shape;
    uint64_t unit = (uint64_t)1 << shape->gap_bits, count = unit - (lane->next & (unit - 1));
    assert(lane->id == lane->stop);
    assert(lane->next < lane->end);
    count = count < lane->end - lane->next ? count : lane->end - lane->next;
    if (count * lane->step == 0)
        count--; /* if the sequence is highest, the sum would wrap and `stop` would equal `id` */
    lane->id = lane->base + vs_place_tick(shape, lane->next);
    lane->stop = lane->id + count * lane->step;
    lane->next += count;
}

static COLD int lane_any(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause) {
    if (!lane_own(lane)) return VESTA_EOPTION;
    if (lane->slot && is_ended(lane->slot)) { /* drop the remaining ticks of the run */
        lane->stop = lane->id;
        lane->next = lane->end;
    }
    if (lane->next == lane->end) {
        if (lane->n == 1 || lane_is_ending(lane->gen)) return lane_take_one(lane, id, pause);
        int rc = begin_run(lane, pause);
        if (rc != VESTA_OK) return rc;
    }
    begin_piece(lane);
    return vesta_lane_next(lane, id, pause); /* this checks the slot again, because it may have ended in the meantime */
}

int vesta_lane_next(struct vesta_lane *lane, uint64_t *id, struct vesta_pause *pause) {
    /* Relaxed: the members read below were written by this thread if it is the owner, and are not read otherwise. */
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
    if (!is_here || from == end) return false; /* a child must not return the run of its parent */
    assert(from < end);
    lane->stop = lane->id;
    lane->next = end;
    VS_POINT(gives_back);
    /* Acq_rel: pairs with vs_slot_close.  The CAS fails if the slot is closed. */
    return atomic_compare_exchange_strong_explicit(&lane->slot->tick, &end, from, memory_order_acq_rel,
                                                   memory_order_relaxed);
}
