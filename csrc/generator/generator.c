/* generator.c -- takes ticks and composes ids.  No I/O, no Lua, no blocking, no callbacks, no allocation.
 *
 * Why no tick is issued twice: a caller takes a tick by a successful fetch-add or CAS on the word `tick` of a slot, and
 * uses the tick only if it is below a bound that the caller loaded before, which was at most the lease's limit.
 * Closing exchanges the same word for VS_CLOSED and reads the limit afterwards.  So the cursor that closing returns is
 * above every tick that was or will be issued. */
#include "generator/generator.h"
#include "generator/point.h"

#include <assert.h>

#define COLD __attribute__((cold, noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ------------------------------------------------------------------ ticks and ids */

/* Returns the first sequence of a time unit, by the finalizer of splitmix64.  The start depends only on time and worker
 * id, so all processes that share the slot compute the same one. */
static uint64_t spread_start(uint64_t time, uint64_t worker, uint64_t spread) {
    assert(spread > 0);
    uint64_t x = time * 0x9e3779b97f4a7c15u + worker;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % spread;
}

/* Composes an id for a slot that gen_remember has stored.  far_skip is 0 for such a slot. */
static inline uint64_t gen_compose(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t tick) {
    const struct vs_shape *s = &gen->shape;
    return gen->base + slot->worker * s->worker_unit + tick * s->seq_unit + (tick >> s->gap_bits) * s->gap_skip;
}

static uint64_t compose_any(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t tick) {
    return gen->base + slot->worker * gen->shape.worker_unit + vs_place_tick(&gen->shape, tick);
}

/* Returns the shard of a tick's id. */
static uint64_t shard_of(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t tick) {
    return (compose_any(gen, slot, tick) >> gen->shape.key_shift) % gen->shape.shards;
}

uint64_t vs_gen_start(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t cursor, uint64_t open) {
    const struct vs_shape *s = &gen->shape;
    assert(cursor < open);
    if (!s->spread) return open;
    if (s->start == VESTA_SPREAD) return open + spread_start(open >> s->seq_bits, slot->worker, s->spread);
    if (s->start == VESTA_ROTATE) return open + atomic_load_explicit(&slot->turn, memory_order_relaxed) % s->spread;
    /* The last tick was the one below the cursor.  Each step of the sequence's first part is a step of the shard. */
    uint64_t turn = cursor ? shard_of(gen, slot, cursor - 1) + 1 : 0;
    return open + ((turn + s->shards - shard_of(gen, slot, open)) % s->shards << s->low_bits);
}

/* Composes the ids of n contiguous ticks.  It splits them at the layout's gaps, so that the inner loop only adds. */
static void compose_run(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t tick, size_t n,
                        uint64_t *ids) {
    uint64_t step = gen->shape.seq_unit, unit = (uint64_t)1 << gen->shape.gap_bits;
    while (n > 0) {
        uint64_t left = unit - (tick & (unit - 1)), first = compose_any(gen, slot, tick);
        size_t run = left < n ? (size_t)left : n;
        for (size_t i = 0; i < run; i++)
            ids[i] = first + i * step;
        ids += run, tick += run, n -= run;
    }
}

static inline uint64_t seq_of(const struct vesta_gen *gen, uint64_t tick) {
    return tick & (((uint64_t)1 << gen->shape.seq_bits) - 1);
}

/* ------------------------------------------------------------------ pauses: cold code, so that it costs issued ids
 * nothing */

static COLD int pause_why(struct vesta_pause *pause, enum vesta_why why, uint32_t index, int64_t wait_us) {
    assert(wait_us > 0 || wait_us == -1); /* with 0 the caller would retry in a busy loop */
    *pause = (struct vesta_pause){.why = why, .slot = index, .wait_us = wait_us};
    return VESTA_EPAUSE;
}

/* Sets the pause for the case that no slot is open: no lease is held, its ticks are exhausted, or the map was retired.
 */
static COLD int pause_lease(struct vesta_gen *gen, struct vs_map *map, uint32_t index, struct vesta_pause *pause) {
    uint32_t stopped = atomic_load_explicit(&map->shared.stopped, memory_order_acquire);
    if (stopped) return pause_why(pause, stopped == VESTA_CLOSED ? VESTA_CLOSED : VESTA_FAILSTOP, index, -1);
    /* Acquire: pairs with enter_question.  *asks can be read relaxed, because the code that answers the question checks
     * it again under a lock. */
    const _Atomic uint32_t *asks = atomic_load_explicit(&gen->asks, memory_order_acquire);
    if (asks && atomic_load_explicit(asks, memory_order_relaxed))
        return pause_why(pause, VESTA_CHOOSE, index, VS_LEASE_POLL_US);
    int64_t retry = atomic_load_explicit(&map->shared.retry_boot_us, memory_order_relaxed);
    int64_t wait_us = retry ? retry - gen->clock->boot_us(gen->clock->self) : 0;
    return pause_why(pause, VESTA_LEASE, index, wait_us > VS_LEASE_POLL_US ? wait_us : VS_LEASE_POLL_US);
}

/* A tick that could not be taken, the clock reading at that moment, and how far the caller may run ahead of it. */
struct stand {
    uint64_t tick;
    int64_t now_us;
    uint64_t ahead;
};

/* Returns by how many ticks the cursor can be past the clock's bound if the sequence is exhausted.  With history
 * pacing, rejected takers may have moved the cursor slightly into the next unit, or past several units if units are
 * short. */
static uint64_t near_ticks(const struct vs_shape *shape) {
    return (shape->unit_us < 500 ? (uint64_t)(1000 / shape->unit_us) : 2) << shape->seq_bits;
}

/* Sets the pause for a tick that the clock or the lease does not permit. */
static COLD int pause_at(struct vesta_gen *gen, struct vs_map *map, uint32_t index, struct stand at,
                         struct vesta_pause *pause) {
    const struct vs_shape *shape = &gen->shape;
    uint64_t start = at.tick;
    int64_t now_us = at.now_us, seen_us = atomic_load_explicit(&map->shared.seen_us, memory_order_relaxed);
    /* Another thread may have read the clock later than this thread, and have set seen_us from it.  Read the clock
     * again: only a new reading below seen_us shows that the clock went back. */
    if (now_us < seen_us) now_us = gen->clock->unix_us(gen->clock->self);
    if (start >= vs_tick_end(shape)) return pause_why(pause, VESTA_END, index, -1);
    uint64_t now = vs_tick_at(shape, now_us), unit = (uint64_t)1 << shape->seq_bits;
    assert(now <= vs_tick_end(shape));
    bool permitted = start < now + unit + at.ahead || start < vs_slot_allowed(&map->slot[index], gen->clock);
    bool is_over = permitted && start >= atomic_load_explicit(&map->slot[index].limit, memory_order_acquire);
    /* If vesta_switch has asked for another worker id, the keeper is replacing the lease.  Relaxed: `leave` only
     * selects the reason of the pause. */
    if (is_over || atomic_load_explicit(&map->shared.leave, memory_order_relaxed) == index + 1)
        return pause_lease(gen, map, index, pause);
    /* the first instant at which the clock permits `start` */
    uint64_t due = start >= at.ahead ? start - at.ahead : 0;
    int64_t wait_us = vs_tick_unix_us(shape, due) - now_us;
    /* VESTA_FULL means that the next unit suffices. */
    bool is_near = start < now + near_ticks(shape) + at.ahead;
    *pause = (struct vesta_pause){
        .why = now_us < seen_us ? VESTA_CLOCK_BACK
               : is_near        ? VESTA_FULL
                                : VESTA_AHEAD,
        .slot = index,
        .ahead_ticks = start > now ? start - now : 0,
        .back_us = now_us < seen_us ? seen_us - now_us : 0,
        .wait_us = wait_us > 1 ? wait_us : 1,
    };
    return VESTA_EPAUSE;
}

/* ------------------------------------------------------------------ bounds by clock and lease */

/* Returns VESTA_OK if the clock can be trusted and the lease is not past its deadline.  Otherwise sets the pause. */
static int may_trust(struct vesta_gen *gen, struct vs_map *map, uint32_t index, int64_t now_us,
                     struct vesta_pause *pause) {
    struct vs_instant now = {now_us, gen->clock->boot_us(gen->clock->self)};
    int64_t doubt_us = vs_clock_doubt_us(map, now);
    if (doubt_us) return pause_why(pause, VESTA_CLOCK_AHEAD, index, doubt_us);
    int64_t deadline = atomic_load_explicit(&map->slot[index].deadline_boot_us, memory_order_relaxed);
    if (deadline && now.boot_us >= deadline) return pause_lease(gen, map, index, pause);
    return VESTA_OK;
}

/* Like may_trust, but also records the clock reading.  Call it before a clock reading moves the cursor to another unit
 * or raises a bound.  The fast paths stay in the cursor's unit and skip these checks. */
static int may_advance(struct vesta_gen *gen, struct vs_map *map, uint32_t index, int64_t now_us,
                       struct vesta_pause *pause) {
    int rc = may_trust(gen, map, index, now_us, pause);
    if (rc == VESTA_OK) vs_raise_i64(&map->shared.seen_us, now_us);
    return rc;
}

/* Returns whether the clock has an unconfirmed leap, or the namespace has watermarks.  Then each reading must be
 * checked, even one within the cursor's unit, because a reading with the old offset cancels the leap, and because a
 * lease may be past its deadline although the clock shows the unit in which the process was stopped. */
static inline bool leap_is_observed(const struct vs_map *map) {
    return atomic_load_explicit(&map->shared.leap, memory_order_relaxed) != 0;
}

/* Returns the tick (exclusive) up to which the clock lets the cursor run, without a verdict. */
static inline uint64_t clock_bound(const struct vesta_gen *gen, int64_t time, uint64_t ahead) {
    return ((uint64_t)(time + 1) << gen->shape.seq_bits) + ahead;
}

/* Returns the larger of the clock's bound and the verdict's bound.  It is slow, because it reads a clock: call it only
 * if a verdict is above the clock's bound. */
static COLD uint64_t verdict_bound(const struct vesta_gen *gen, const struct vs_slot *slot, uint64_t bound) {
    uint64_t allowed = vs_slot_allowed(slot, gen->clock);
    return bound > allowed ? bound : allowed;
}

/* Returns the tick (exclusive) up to which clock, verdict and lease let the cursor run. */
static inline uint64_t bound_at(const struct vesta_gen *gen, const struct vs_slot *slot, int64_t time, uint64_t ahead) {
    uint64_t bound = clock_bound(gen, time, ahead);
    /* Acquire: pairs with vs_slot_raise.  The store acknowledged the grant before the limit was raised. */
    uint64_t limit = atomic_load_explicit(&slot->limit, memory_order_acquire);
    if (UNLIKELY(atomic_load_explicit(&slot->allowed, memory_order_relaxed) > bound))
        bound = verdict_bound(gen, slot, bound);
    return bound < limit ? bound : limit;
}

/* Like bound_at, for history pacing, which issues ticks below this bound without reading a clock.  Therefore a verdict
 * raises the bound by one unit at a time, so that at most one unit remains usable after the verdict has expired. */
static uint64_t pass_at(const struct vesta_gen *gen, const struct vs_slot *slot, int64_t time, struct stand at) {
    uint64_t bound = bound_at(gen, slot, time, at.ahead), alone = clock_bound(gen, time, gen->ahead_ticks_max);
    uint64_t next = (at.tick > alone ? at.tick : alone) + ((uint64_t)1 << gen->shape.seq_bits);
    return bound < next ? bound : next;
}

/* ------------------------------------------------------------------ clock pacing */

/* Contiguous ticks.  The caller sets `count` to the number that it wants, and the callee to the number that it took.
 * `ahead` is how far they may run ahead of the clock. */
struct gen_ticks {
    uint64_t first, count, ahead;
};

/* Takes up to run->count ticks, none of them earlier than the clock, in one CAS.  A failure does not move the cursor.
 */
static inline int take_clock(struct vesta_gen *gen, struct vs_map *map, uint32_t index, struct gen_ticks *run,
                             struct vesta_pause *pause) {
    assert(gen->pacing != VESTA_PACING_HISTORY); /* each pacing mode has its own kind of bound */
    struct vs_slot *slot = &map->slot[index];
    for (;;) {
        /* Read the cursor before the clock.  Otherwise the clock reading could be older than the one by which another
         * thread moved the cursor, and the clock would seem to have gone back. */
        uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
        if (UNLIKELY(tick & VS_CLOSED)) return VESTA_ECLOSED;
        VS_POINT(took_cursor);
        int64_t now_us = gen->clock->unix_us(gen->clock->self), time = vs_time_at(&gen->shape, now_us);
        uint64_t open = time < 0 ? 0 : (uint64_t)time << gen->shape.seq_bits, start = tick;
        bool skips = open > tick; /* if equal, the unit before was exhausted: skip no tick, so that no rate is lost */
        int rc = may_advance(gen, map, index, now_us, pause);
        if (UNLIKELY(rc != VESTA_OK)) return rc;
        if (skips) start = vs_gen_start(gen, slot, tick, open);
        uint64_t bound = bound_at(gen, slot, time, run->ahead);
        if (UNLIKELY(start >= bound))
            return pause_at(gen, map, index, (struct stand){start, now_us, run->ahead}, pause);
        uint64_t take = run->count < bound - start ? run->count : bound - start, next = start + take;
        VS_POINT(takes);
        /* Acq_rel: the bound is loaded before this CAS, and vs_slot_close reads the limit after its exchange. */
        if (LIKELY(atomic_compare_exchange_strong_explicit(&slot->tick, &tick, next, memory_order_acq_rel,
                                                           memory_order_relaxed))) {
            /* If the turn has all sequences of a unit, it goes on after the last one.  A shorter turn goes on only after
             * skipped ticks, as in ShardingSphere.  Relaxed: if a thread is suspended here, a later unit begins with the
             * same start, which is harmless. */
            if ((skips || (open >= tick && gen->shape.spread >> gen->shape.seq_bits)) &&
                gen->shape.start == VESTA_ROTATE)
                atomic_store_explicit(&slot->turn, (uint32_t)seq_of(gen, start) + 1, memory_order_relaxed);
            run->first = start, run->count = take;
            return VESTA_OK;
        }
    }
}

/* Takes the tick at the cursor.  Returns false if another thread took it first. */
static inline bool gen_take_one(struct vs_slot *slot, uint64_t tick) {
    VS_POINT(takes);
    /* Acq_rel: as in take_clock. */
    return atomic_compare_exchange_strong_explicit(&slot->tick, &tick, tick + 1, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Returns the start of a tick's unit, modulo 2^64.  Callers subtract the result from a clock reading.  If the clock is
 * behind, the difference wraps to a huge value, so one comparison with the unit's length rejects a clock that is behind
 * as well as one that is ahead. */
static inline uint64_t opened_us(const struct vesta_gen *gen, uint64_t tick) {
    return (uint64_t)gen->shape.epoch_us + (tick >> gen->shape.seq_bits) * (uint64_t)gen->shape.unit_us;
}

/* Returns whether the clock is in the unit of the tick, and the tick is not the first one of its unit. */
static inline bool goes_on(const struct vesta_gen *gen, uint64_t tick, int64_t now_us) {
    return (uint64_t)now_us - opened_us(gen, tick) < (uint64_t)gen->shape.unit_us && seq_of(gen, tick) != 0;
}

/* Like goes_on, for a clock of seconds. */
static inline bool second_goes_on(const struct vesta_gen *gen, uint64_t tick, int64_t now_s) {
    uint64_t open = ((uint64_t)now_s - (uint64_t)gen->epoch_s) << gen->shape.seq_bits;
    return tick - open - 1 < gen->unit_rest;
}

/* Takes the next id of the cursor's unit if the clock is in that unit too.  This is the most common case, and needs no
 * division.  In all other cases, including a lost race, it returns false, and take_clock decides.  So it is harmless
 * here to read the clock before the cursor, which is faster: reading the clock hides the wait for the cursor's cache
 * line.  A late clock is harmless too: at worst an id has the time of the second that has just ended. */
static inline bool take_in_unit(struct vesta_gen *gen, struct vs_slot *slot, bool by_second, uint64_t *id) {
    int64_t now = by_second ? gen->late_s(gen->clock->self) : gen->clock->unix_us(gen->clock->self);
    VS_POINT(read_clock);
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    /* Acquire: as in bound_at.  VS_CLOSED is above every limit. */
    if (UNLIKELY(tick >= atomic_load_explicit(&slot->limit, memory_order_acquire))) return false;
    if (UNLIKELY(!(by_second ? second_goes_on(gen, tick, now) : goes_on(gen, tick, now)) ||
                 leap_is_observed(atomic_load_explicit(&gen->map, memory_order_acquire))))
        return false;
    /* with the exact clock, composing the id here costs nothing, because it overlaps the wait for the clock */
    uint64_t made = by_second ? 0 : gen_compose(gen, slot, tick);
    if (UNLIKELY(!gen_take_one(slot, tick))) return false;
    *id = by_second ? gen_compose(gen, slot, tick) : made;
    return true;
}

/* Returns whether the time is still in a tick's unit, according to a clock that may be late.  Requires that the exact
 * clock was in this unit before.  Returns false if the late clock is past the unit, or more than VS_LATE_US_MAX before
 * it. */
static inline bool goes_on_late(const struct vesta_gen *gen, const struct vs_map *map, uint64_t tick, int64_t late_us) {
    uint64_t open_us = opened_us(gen, tick), unit_us = (uint64_t)gen->shape.unit_us;
    uint64_t seen_us = (uint64_t)atomic_load_explicit(&map->shared.seen_us, memory_order_relaxed);
    return seen_us - open_us < unit_us && (uint64_t)late_us + VS_LATE_US_MAX - open_us < unit_us + VS_LATE_US_MAX;
}

/* Takes the next id by the late clock if the current unit has issued many ids.  Returns false for one id of each
 * VS_LATE_RUN, so that the caller reads the exact clock. */
static inline bool take_late(struct vesta_gen *gen, struct vs_slot *slot, uint64_t *id) {
    int64_t late_us = gen->late_us(gen->clock->self);
    VS_POINT(read_clock);
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    if (UNLIKELY(seq_of(gen, tick) < gen->late_from || tick % VS_LATE_RUN == 0)) return false;
    /* Acquire: as in take_in_unit. */
    if (UNLIKELY(tick >= atomic_load_explicit(&slot->limit, memory_order_acquire))) return false;
    const struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    if (UNLIKELY(!goes_on_late(gen, map, tick, late_us) || leap_is_observed(map) || !gen_take_one(slot, tick)))
        return false;
    *id = gen_compose(gen, slot, tick);
    return true;
}

/* ------------------------------------------------------------------ history pacing */

/* Reads the clock and raises `pass`.  Returns VESTA_OK if ticks may be available now.  Otherwise sets the pause. */
static COLD int raise_pass(struct vesta_gen *gen, struct vs_map *map, uint32_t index, uint64_t ahead,
                           struct vesta_pause *pause) {
    assert(gen->pacing == VESTA_PACING_HISTORY);
    struct vs_slot *slot = &map->slot[index];
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    if (tick & VS_CLOSED) return VESTA_ECLOSED;
    if (tick < atomic_load_explicit(&slot->pass, memory_order_acquire))
        return VESTA_OK; /* another thread has raised it */
    VS_POINT(raises_pass);
    int64_t now_us = gen->clock->unix_us(gen->clock->self);
    int rc = may_advance(gen, map, index, now_us, pause);
    if (rc != VESTA_OK) return rc;
    const struct stand at = {tick, now_us, ahead};
    uint64_t bound = pass_at(gen, slot, vs_time_at(&gen->shape, now_us), at);
    if (bound <= tick) return pause_at(gen, map, index, at, pause);
    VS_POINT(knows_bound);
    vs_raise_u64(&slot->pass, bound);
    return VESTA_OK;
}

/* Takes the next tick below `pass`.  Returns false if there is no such tick.  The caller then calls raise_pass. */
static inline bool take_passed(struct vs_slot *slot, uint64_t *tick) {
    /* Acquire: pairs with vs_raise_u64.  `pass` was at most the limit when it was raised. */
    uint64_t pass = atomic_load_explicit(&slot->pass, memory_order_acquire);
    if (UNLIKELY(atomic_load_explicit(&slot->full_at, memory_order_relaxed) == pass)) return false;
    VS_POINT(takes);
    /* Acq_rel: as in take_clock. */
    *tick = atomic_fetch_add_explicit(&slot->tick, 1, memory_order_acq_rel);
    if (LIKELY(*tick < pass)) return true;
    /* This tick is lost.  The thread must not hold the tick until `pass` is raised, because meanwhile the slot may be
     * closed and its lease released at a lower tick.  full_at limits the loss to one tick per thread. */
    if (!(*tick & VS_CLOSED)) atomic_store_explicit(&slot->full_at, pass, memory_order_relaxed);
    return false;
}

static int take_history(struct vesta_gen *gen, struct vs_map *map, uint32_t index, struct gen_ticks *run,
                        struct vesta_pause *pause) {
    while (!take_passed(&map->slot[index], &run->first)) {
        int rc = raise_pass(gen, map, index, run->ahead, pause);
        if (rc != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

static int take_history_n(struct vesta_gen *gen, struct vs_map *map, uint32_t index, struct gen_ticks *run,
                          struct vesta_pause *pause) {
    struct vs_slot *slot = &map->slot[index];
    for (;;) {
        uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_relaxed);
        uint64_t pass = atomic_load_explicit(&slot->pass, memory_order_acquire);
        if (tick & VS_CLOSED) return VESTA_ECLOSED;
        if (tick >= pass) {
            int rc = raise_pass(gen, map, index, run->ahead, pause);
            if (rc != VESTA_OK) return rc;
            continue;
        }
        uint64_t take = run->count < pass - tick ? run->count : pass - tick;
        VS_POINT(takes);
        if (atomic_compare_exchange_weak_explicit(&slot->tick, &tick, tick + take, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
            run->first = tick, run->count = take;
            return VESTA_OK;
        }
    }
}

/* ------------------------------------------------------------------ the calls */

/* Acquire: pairs with the release in vs_slot_publish, so that the slot's fields are visible. */
static inline uint32_t active_of(const struct vs_map *map) {
    return atomic_load_explicit(&map->shared.active, memory_order_acquire);
}

/* Returns whether the caller should try the newer slot in *active, because the slot that it tried was closed and
 * another one was published.  Otherwise sets *rc and the pause. */
static COLD bool gen_try_again(struct vesta_gen *gen, struct vs_map *map, uint32_t *active, int *rc,
                               struct vesta_pause *pause) {
    assert(*active > 0);
    assert(*rc != VESTA_OK); /* no second tick is taken after a success */
    if (*rc != VESTA_ECLOSED) return false;
    uint32_t newest = active_of(map);
    if (newest != *active) {
        *active = newest;
        return true;
    }
    *rc = pause_lease(gen, map, *active - 1, pause);
    return false;
}

/* Stores the slot for the next call, unless the handle has moved to another map, or the layout's far_skip is not 0,
 * which gen_compose does not support. */
static inline void gen_remember(struct vesta_gen *gen, const struct vs_map *map, struct vs_slot *slot) {
    if (UNLIKELY(gen->shape.far_skip)) return;
    if (atomic_load_explicit(&gen->slot, memory_order_relaxed) != slot &&
        atomic_load_explicit(&gen->map, memory_order_relaxed) == map)
        /* Release: pairs with the acquire in vesta_next, so that the slot's fields are visible there. */
        atomic_store_explicit(&gen->slot, slot, memory_order_release);
}

/* Issues an id in the cases that the fast path leaves: no slot yet, a new time unit, a bound, a lost race, a closed
 * slot. */
static __attribute__((noinline)) int next_within(struct vesta_gen *gen, uint64_t ahead, uint64_t *id,
                                                 struct vesta_pause *pause) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    uint32_t active = active_of(map);
    struct gen_ticks run = {.count = 1, .ahead = ahead};
    int rc;
    do {
        if (UNLIKELY(active - 1 >= VS_SLOTS_MAX)) return pause_lease(gen, map, 0, pause); /* none, or a damaged word */
        struct vs_slot *slot = &map->slot[active - 1];
        rc = gen->pacing == VESTA_PACING_HISTORY ? take_history(gen, map, active - 1, &run, pause)
                                                 : take_clock(gen, map, active - 1, &run, pause);
        if (LIKELY(rc == VESTA_OK)) {
            gen_remember(gen, map, slot);
            VS_POINT(composes);
            *id = compose_any(gen, slot, run.first);
            return VESTA_OK;
        }
    } while (gen_try_again(gen, map, &active, &rc, pause));
    return rc;
}

static __attribute__((noinline)) int next_any(struct vesta_gen *gen, uint64_t *id, struct vesta_pause *pause) {
    return next_within(gen, gen->ahead_ticks_max, id, pause);
}

static __attribute__((noinline)) int next_clock(struct vesta_gen *gen, struct vs_slot *slot, uint64_t *id,
                                                struct vesta_pause *pause) {
    return LIKELY(take_in_unit(gen, slot, false, id)) ? VESTA_OK : next_any(gen, id, pause);
}

static __attribute__((noinline)) int next_in_second(struct vesta_gen *gen, struct vs_slot *slot, uint64_t *id,
                                                    struct vesta_pause *pause) {
    return LIKELY(take_in_unit(gen, slot, true, id)) ? VESTA_OK : next_any(gen, id, pause);
}

static __attribute__((noinline)) int next_late(struct vesta_gen *gen, struct vs_slot *slot, uint64_t *id,
                                               struct vesta_pause *pause) {
    return LIKELY(take_late(gen, slot, id)) ? VESTA_OK : next_clock(gen, slot, id, pause);
}

/* Slow paths are noinline, so that the fastest path saves no registers. */
int vesta_next(struct vesta_gen *gen, uint64_t *id, struct vesta_pause *pause) {
    /* Acquire: pairs with the release in gen_remember, so that the slot's fields are visible. */
    struct vs_slot *slot = atomic_load_explicit(&gen->slot, memory_order_acquire);
    uint64_t tick;
    if (UNLIKELY(!slot)) return next_any(gen, id, pause);
    if (gen->pacing != VESTA_PACING_HISTORY) {
        if (gen->late_s) return next_in_second(gen, slot, id, pause);
        return gen->late_us ? next_late(gen, slot, id, pause) : next_clock(gen, slot, id, pause);
    }
    if (UNLIKELY(!take_passed(slot, &tick))) return next_any(gen, id, pause);
    VS_POINT(composes);
    *id = gen_compose(gen, slot, tick);
    return VESTA_OK;
}

/* Takes contiguous ticks of one slot in one step, and sets *slot. */
static int gen_take_run(struct vesta_gen *gen, struct vs_slot **slot, struct gen_ticks *run,
                        struct vesta_pause *pause) {
    assert(run->count > 0);
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    uint32_t active = active_of(map);
    int rc;
    *slot = NULL; /* silences a warning: the compiler cannot know that a pause is never VESTA_OK */
    do {
        if (UNLIKELY(active - 1 >= VS_SLOTS_MAX)) return pause_lease(gen, map, 0, pause); /* none, or a damaged word */
        *slot = &map->slot[active - 1];
        rc = gen->pacing == VESTA_PACING_HISTORY ? take_history_n(gen, map, active - 1, run, pause)
                                                 : take_clock(gen, map, active - 1, run, pause);
    } while (rc != VESTA_OK && gen_try_again(gen, map, &active, &rc, pause));
    return rc;
}

int vesta_next_n(struct vesta_gen *gen, uint64_t *ids, size_t n, size_t *got, struct vesta_pause *pause) {
    struct vs_slot *slot;
    struct gen_ticks run = {.count = n, .ahead = gen->ahead_ticks_max};
    int rc = gen_take_run(gen, &slot, &run, pause);
    if (rc != VESTA_OK) return rc;
    compose_run(gen, slot, run.first, (size_t)run.count, ids);
    *got = (size_t)run.count;
    return VESTA_OK;
}

static int take_within(struct vesta_gen *gen, struct vs_slot **slot, struct gen_ticks *run, struct vesta_block *out,
                       struct vesta_pause *pause) {
    int rc = gen_take_run(gen, slot, run, pause);
    if (rc != VESTA_OK) return rc;
    *out = (struct vesta_block){
        .base = gen->base + (*slot)->worker * gen->shape.worker_unit, .first = run->first, .count = run->count};
    return VESTA_OK;
}

int vs_gen_take(struct vesta_gen *gen, uint64_t n, struct vs_slot **slot, struct vesta_block *out,
                struct vesta_pause *pause) {
    return take_within(gen, slot, &(struct gen_ticks){.count = n, .ahead = gen->ahead_ticks_max}, out, pause);
}

int vesta_next_block(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause) {
    struct vs_slot *slot;
    return vs_gen_take(gen, n, &slot, out, pause);
}

/* ------------------------------------------------------------------ ticks for UUIDs */

/* Returns whether a UUID need not wait although an id must: the clock is behind the cursor.  VESTA_FULL is not among
 * the reasons, so that UUIDs that exceed the layout's rate do not run ahead of the clock. */
static bool may_lead(int rc, const struct vesta_pause *pause) {
    return rc == VESTA_EPAUSE && (pause->why == VESTA_CLOCK_BACK || pause->why == VESTA_AHEAD);
}

/* How far UUIDs may run ahead of the clock, and how long until their slow clock reaches its next unit, or the clock
 * reaches the cursor.  wait_us is 0 if VESTA_UUID_LEAD_MS is the bound. */
struct lead {
    uint64_t ahead;
    int64_t wait_us;
};

/* Returns how far UUIDs may lead now.  They follow a slow clock, which starts at the cursor and has half the speed of
 * CLOCK_BOOTTIME.  The clock overtakes the slow clock, however many UUIDs are requested.  So ids wait at most twice as
 * long as the clock went back. */
static COLD struct lead lead_of(const struct vesta_gen *gen, const struct vesta_pause *pause) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    const struct vs_shape *shape = &gen->shape;
    uint64_t cursor = 0; /* read before the clock, as in take_clock. Stays 0 if the slot is closed */
    assert(pause->slot < VS_SLOTS_MAX);
    assert(pause->wait_us > 0);
    vs_slot_cursor(&map->slot[pause->slot], &cursor);
    const struct vs_instant now = vs_instant_now(gen->clock);
    uint64_t unit = (uint64_t)1 << shape->seq_bits, half_us = (uint64_t)now.boot_us / 2;
    uint64_t open = vs_tick_at(shape, now.unix_us), end = open + unit + gen->lead_ticks_max;
    int64_t was_us = atomic_load_explicit(&map->shared.slow_us, memory_order_relaxed),
            slow_us = (int64_t)((uint64_t)was_us + half_us);
    uint64_t slow = vs_tick_at(shape, slow_us), ahead = 0;
    /* If the cursor is past the slow clock by more than an exhausted unit, the clock has gone back since then. */
    if (cursor >= slow + near_ticks(shape) && cursor < end) {
        slow_us = vs_tick_unix_us(shape, cursor);
        slow = vs_tick_at(shape, slow_us);
        VS_POINT(raises_slow);
        vs_raise_i64(&map->shared.slow_us, (int64_t)((uint64_t)slow_us - half_us));
    } else if (slow > open + gen->lead_ticks_max) { /* set when the clock was ahead by more than UUIDs may lead */
        int64_t most_us = vs_tick_unix_us(shape, open + gen->lead_ticks_max);
        atomic_compare_exchange_strong_explicit(&map->shared.slow_us, &was_us, (int64_t)((uint64_t)most_us - half_us),
                                                memory_order_relaxed, memory_order_relaxed);
    }
    if (slow > open) ahead = slow - open;
    if (ahead >= gen->lead_ticks_max || cursor >= end) return (struct lead){.ahead = gen->lead_ticks_max};
    int64_t wait_us = 2 * (vs_tick_unix_us(shape, slow + unit) - slow_us);
    return (struct lead){.ahead = ahead > gen->ahead_ticks_max ? ahead : gen->ahead_ticks_max,
                         .wait_us = wait_us < pause->wait_us ? wait_us : pause->wait_us};
}

/* Sets the pause of UUIDs that lead: the sequence is exhausted until one of the two clocks moves on. */
static int lead_end(int rc, struct lead lead, struct vesta_pause *pause) {
    if (lead.wait_us && (may_lead(rc, pause) || (rc == VESTA_EPAUSE && pause->why == VESTA_FULL))) {
        pause->why = VESTA_FULL;
        pause->wait_us = lead.wait_us;
    }
    return rc;
}

static int take_leading(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause) {
    struct vs_slot *slot;
    int rc = vs_gen_take(gen, n, &slot, out, pause);
    if (!may_lead(rc, pause)) return rc;
    struct lead lead = lead_of(gen, pause);
    return lead_end(take_within(gen, &slot, &(struct gen_ticks){.count = n, .ahead = lead.ahead}, out, pause), lead,
                    pause);
}

/* ------------------------------------------------------------------ the order of UUIDs
 *
 * Ids of another worker id may have earlier times, and two leases may be open at once if a keeper was suspended.  To
 * let UUIDs ascend even then, a tick below the latest span of UUIDs is discarded, and the cursor moves to the span.  A
 * lease of another worker id ends the span (end_span in term.c), and no tick of a closed lease begins one.  Only within
 * one span, UUIDs of two open leases may not ascend. */

/* Returns whether a policy chose the active lease's worker id, so that ids need not wait for the clock. */
static bool was_switched(const struct vs_map *map) {
    uint32_t left = atomic_load_explicit(&map->shared.leave, memory_order_relaxed);
    return left && active_of(map) == left + 1;
}

/* Returns whether the active lease is open, and issues ids of this base. */
static bool issues_from(const struct vesta_gen *gen, const struct vs_map *map, uint64_t base) {
    uint32_t index = active_of(map) - 1;
    uint64_t cursor;
    return index < VS_SLOTS_MAX && gen->base + map->slot[index].worker * gen->shape.worker_unit == base &&
           vs_slot_cursor(&map->slot[index], &cursor);
}

/* Begins the span of a tick, unless it is the latest one.  Returns false if the tick is below the latest span, or its
 * lease has ended.  `base` is the id without the tick. */
static bool begin_span(const struct vesta_gen *gen, uint64_t base, uint64_t tick) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    uint64_t was = atomic_load_explicit(&map->shared.uuid_span, memory_order_relaxed),
             span = tick >> (gen->span_units + gen->shape.seq_bits);
    VS_POINT(begins_span);
    if (span >= was)
        vs_raise_u64(&map->shared.uuid_span, span);
    else if (was_switched(map))
        atomic_compare_exchange_strong_explicit(&map->shared.uuid_span, &was, span, memory_order_relaxed,
                                                memory_order_relaxed);
    else
        return false;
    /* Afterwards, so that a lease that is published now either is found here, or ends the span that begins here. */
    return issues_from(gen, map, base);
}

/* Moves the cursor of the active slot to the latest span, or to the end of the lease, which is then renewed.  Returns
 * false and sets the pause if the clock does not permit UUIDs there.  If the cursor is already in the span, another
 * thread began it after the caller took its tick. */
static COLD bool skip_span(struct vesta_gen *gen, struct vesta_pause *pause) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    uint32_t index = active_of(map) - 1;
    int64_t now_us = gen->clock->unix_us(gen->clock->self);
    uint64_t latest = atomic_load_explicit(&map->shared.uuid_span, memory_order_relaxed),
             to = latest << (gen->span_units + gen->shape.seq_bits);
    if (index >= VS_SLOTS_MAX) return pause_lease(gen, map, 0, pause), false;
    struct vs_slot *slot = &map->slot[index];
    uint64_t bound = clock_bound(gen, vs_time_at(&gen->shape, now_us), gen->lead_ticks_max);
    if (to >= verdict_bound(gen, slot, bound))
        return pause_at(gen, map, index, (struct stand){to, now_us, gen->lead_ticks_max}, pause), false;
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    uint64_t limit = atomic_load_explicit(&slot->limit, memory_order_acquire);
    if (to > limit) to = limit;
    VS_POINT(skips_span);
    /* Acq_rel: as in take_clock.  The skipped ticks are lost. */
    while (tick < to &&
           !atomic_compare_exchange_weak_explicit(&slot->tick, &tick, to, memory_order_acq_rel, memory_order_relaxed))
        ;
    return true;
}

int vs_gen_take_lead(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause) {
    for (;;) {
        int rc = take_leading(gen, n, out, pause);
        if (rc != VESTA_OK) return rc;
        if (begin_span(gen, out->base, out->first) && begin_span(gen, out->base, out->first + out->count - 1))
            return rc;
        if (!skip_span(gen, pause)) return VESTA_EPAUSE;
    }
}

COLD int vs_gen_next_lead(struct vesta_gen *gen, int rc, uint64_t *id, struct vesta_pause *pause) {
    struct vesta_block block;
    if (rc == VESTA_OK) {
        uint64_t tick = vs_uuid_time(&gen->uuid, *id) << gen->shape.seq_bits | vs_uuid_seq(&gen->uuid, *id);
        if (begin_span(gen, *id - vs_place_tick(&gen->shape, tick), tick)) return rc;
    } else if (!may_lead(rc, pause)) {
        return rc;
    }
    rc = vs_gen_take_lead(gen, 1, &block, pause);
    if (rc == VESTA_OK) *id = block.base + vs_place_tick(&gen->shape, block.first);
    return rc;
}

/* ------------------------------------------------------------------ other calls */

uint64_t vesta_block_id(const struct vesta_layout *layout, const struct vesta_block *block, uint64_t i) {
    struct vs_shape shape;
    assert(i < block->count);
    vs_shape_of(layout, &shape);
    return block->base + vs_place_tick(&shape, block->first + i);
}

/* Sets *room to the number of ids that can be issued now, at least 1.  Otherwise sets the pause. */
static int gen_look(struct vesta_gen *gen, uint64_t *room, struct vesta_pause *pause) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    uint32_t index = active_of(map) - 1;
    if (index >= VS_SLOTS_MAX) return pause_lease(gen, map, 0, pause);
    struct vs_slot *slot = &map->slot[index];
    uint64_t tick = atomic_load_explicit(&slot->tick, memory_order_acquire);
    if (tick & VS_CLOSED) return pause_lease(gen, map, index, pause);
    bool history = gen->pacing == VESTA_PACING_HISTORY;
    uint64_t pass = history ? atomic_load_explicit(&slot->pass, memory_order_acquire) : 0;
    int64_t now_us = gen->clock->unix_us(gen->clock->self), time = vs_time_at(&gen->shape, now_us);
    int rc = may_trust(gen, map, index, now_us, pause);
    *room = pass > tick ? pass - tick : 0; /* these need no clock */
    if (rc != VESTA_OK) return *room ? VESTA_OK : rc;
    uint64_t open = history ? 0 : vs_tick_at(&gen->shape, now_us),
             bound = bound_at(gen, slot, time, gen->ahead_ticks_max);
    if (tick < open) tick = vs_gen_start(gen, slot, tick, open);
    if (bound > tick && bound - tick > *room) *room = bound - tick;
    return *room ? VESTA_OK : pause_at(gen, map, index, (struct stand){tick, now_us, gen->ahead_ticks_max}, pause);
}

int vesta_peek(struct vesta_gen *gen, struct vesta_pause *pause) {
    uint64_t room;
    return gen_look(gen, &room, pause);
}

uint64_t vesta_room(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t room;
    return gen_look(gen, &room, &pause) == VESTA_OK ? room : 0;
}

int vesta_allow_ahead(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t tick) {
    if (pause->slot >= VS_SLOTS_MAX) return VESTA_ENOTNOW;
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    if (active_of(map) != pause->slot + 1) return VESTA_OK; /* the slot has changed since the pause */
    vs_slot_allow(&map->slot[pause->slot], tick, gen->clock->boot_us(gen->clock->self));
    VS_POINT(allowed);
    return VESTA_OK;
}

int vesta_borrow(struct vesta_gen *gen, const struct vesta_pause *pause, int64_t ahead_ms) {
    const struct vs_shape *shape = &gen->shape;
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    const struct vs_instant now = vs_instant_now(gen->clock);
    int64_t from_us = atomic_load_explicit(&map->shared.seen_us, memory_order_relaxed);
    int64_t behind_us = from_us > now.unix_us ? from_us - now.unix_us : 0,
            ahead_us_max = VESTA_BORROW_MS_MAX * INT64_C(1000);
    /* an unconfirmed leap is not counted, because it may be decades */
    if (now.unix_us > from_us && vs_clock_doubt_us(map, now) == 0) from_us = now.unix_us;
    int64_t ahead_us = ahead_ms < 0                     ? behind_us + shape->unit_us
                       : ahead_ms < VESTA_BORROW_MS_MAX ? ahead_ms * 1000
                                                        : ahead_us_max;
    if (ahead_us > ahead_us_max) ahead_us = ahead_us_max;
    /* permit the whole unit of that instant, as if the clock had reached it */
    return vesta_allow_ahead(gen, pause, vs_tick_at(shape, from_us + ahead_us + shape->unit_us));
}
