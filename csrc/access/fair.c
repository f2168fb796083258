/* fair.c -- computes levels: how many ids a second each claim may take (see fair.h).  Pure.  All atomics are relaxed,
 * because they are sums and measurements: an outdated value is corrected one turn later. */
#include "access/fair.h"

#define SECOND_US 1000000
#define REMEMBERED (ACCESS_TURNS - 1)  /* a claim counts as waiting for this many turns after it last waited */
#define STALE_US (10 * ACCESS_TURN_US) /* after this time without requests, measurements are discarded */
#define SMOOTH_US 150000               /* time constant with which a measured rate falls */
#define NEW_US 2000                    /* a new claim starts with the ids of this duration */
#define FEW 16
#define WAIT_US_MIN 1000
#define WAIT_US_MAX 20000
/* This fraction of the rate is reserved for new clients, and waiting claims divide it even if nothing else is left. */
#define KEPT_PART 16

/* ------------------------------------------------------------------ relaxed atomics */

static uint64_t access_get(const _Atomic uint64_t *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void access_set(_Atomic uint64_t *word, uint64_t to) {
    atomic_store_explicit(word, to, memory_order_relaxed);
}

static void access_add(_Atomic uint64_t *word, uint64_t n) {
    atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

static uint64_t access_most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t access_least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ------------------------------------------------------------------ levels */

/* Returns the time since the last computation if the caller must compute the level now, otherwise 0.  In each turn,
 * only one caller gets a time. */
static int64_t access_level_begin(struct access_level *level, int64_t now_us) {
    int64_t then = atomic_load_explicit(&level->computed_us, memory_order_relaxed);
    if (now_us - then < ACCESS_TURN_US) return 0;
    return atomic_compare_exchange_strong_explicit(&level->computed_us, &then, now_us, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? now_us - then
               : 0;
}

static void access_level_restart(struct access_level *level, uint64_t each, int64_t now_us) {
    atomic_store_explicit(&level->computed_us, now_us, memory_order_relaxed);
    access_set(&level->each, access_most(each, 1));
    access_set(&level->free, 0);
    access_set(&level->free_rate, 0);
    for (int i = 0; i < ACCESS_TURNS; i++)
        access_set(&level->waited[i], 0);
}

/* Resets a count that covers took_us, and merges it into a rate per second that rises fast and falls slowly. */
static uint64_t access_measure(_Atomic uint64_t *count, _Atomic uint64_t *rate, int64_t took_us) {
    uint64_t seen = atomic_exchange_explicit(count, 0, memory_order_relaxed) * SECOND_US / (uint64_t)took_us;
    uint64_t was = access_get(rate);
    uint64_t now = seen > was ? was + (seen - was + 1) / 2
                              : was - (was - seen) * access_least((uint64_t)took_us, SMOOTH_US) / SMOOTH_US;
    access_set(rate, now);
    return now;
}

static uint64_t access_level_waiting(const struct access_level *level, uint64_t turn) {
    uint64_t weights = 0;
    for (uint64_t i = 0; i < REMEMBERED; i++)
        weights = access_most(weights, access_get(&level->waited[(turn - i) % ACCESS_TURNS]));
    return weights;
}

/* Returns the next level.  Claims that do not wait keep the rate at which they take ids.  Waiting claims divide the
 * remaining rate by weight.  If no claim waits but claims take more than the rate, the level falls until the largest
 * claims wait. */
static uint64_t access_level_next(uint64_t was, uint64_t rate, uint64_t free, uint64_t weights) {
    uint64_t taken = free + free / 8;
    if (weights > 0) return access_most(rate > taken ? (rate - taken) / weights : rate / KEPT_PART / weights, was / 2);
    return free > rate ? was - was / 4 : access_least(2 * was, rate);
}

static void access_level_update(struct access_level *level, uint64_t rate, int64_t took_us, int64_t now_us) {
    uint64_t turn = access_get(&level->turn);
    if (took_us > STALE_US) {
        access_level_restart(level, rate, now_us);
    } else {
        uint64_t free = access_measure(&level->free, &level->free_rate, took_us),
                 weights = access_level_waiting(level, turn);
        access_set(&level->each, access_most(access_level_next(access_get(&level->each), rate, free, weights), 1));
    }
    /* clears a later entry, because other threads may already write to the next turn's entry */
    access_set(&level->waited[(turn + 2) % ACCESS_TURNS], 0);
    access_set(&level->turn, turn + 1);
}

/* Returns whether a claim waited in this turn, or in an earlier turn that still counts. */
static bool access_level_is_waiting(const struct access_level *level, uint64_t waited_turn) {
    return waited_turn != 0 && (uint32_t)(access_get(&level->turn) + 1 - waited_turn) < REMEMBERED;
}

/* ------------------------------------------------------------------ pools */

bool access_supply_is_low(const struct access_supply *supply, uint64_t n) {
    uint64_t left = supply->room > n ? supply->room - n : 0;
    return supply->filled_us >= ACCESS_SHORT_US && left < 2 * supply->kept;
}

void access_pool_share(struct access_pool *pool, const struct access_supply *supply, int64_t now_us) {
    atomic_store_explicit(&pool->wanted_us, now_us, memory_order_relaxed);
    if (access_pool_is_shared(pool)) return;
    atomic_store_explicit(&pool->filled_us, supply->filled_us, memory_order_relaxed);
    access_level_restart(&pool->level, supply->rate,
                         now_us - ACCESS_TURN_US); /* the next caller computes the level at once */
    atomic_store_explicit(&pool->is_shared, true, memory_order_relaxed);
}

/* Returns the ids a second that claims may take.  For a pool that is refilled rarely, these are its ids divided by the
 * time until the next refill.  For a pool that is refilled constantly, this is the refill rate minus a reserve for
 * claims that do not wait. */
static uint64_t access_pool_rate(const struct access_supply *s, uint64_t light) {
    if (s->filled_us < ACCESS_SHORT_US)
        return light ? access_most(s->rate / 2, s->rate - access_least(s->rate, s->rate / KEPT_PART + light / 8))
                     : s->rate + s->rate / KEPT_PART;
    uint64_t until_us = (uint64_t)(s->next_us > ACCESS_SHORT_US ? s->next_us : ACCESS_SHORT_US);
    uint64_t refill_us = until_us - (uint64_t)(s->next_us > 0 ? s->next_us : 0);
    uint64_t left = s->room > s->kept ? s->room - s->kept : 0;
    double rate = ((double)left + (double)s->rate * (double)refill_us / SECOND_US) * SECOND_US / (double)until_us;
    return rate < 4 * (double)s->rate ? access_most((uint64_t)rate, s->rate / KEPT_PART) : 4 * s->rate;
}

int64_t access_pool_due(struct access_pool *pool, int64_t now_us) {
    return access_level_begin(&pool->level, now_us);
}

void access_pool_update(struct access_pool *pool, const struct access_supply *supply, int64_t took_us, int64_t now_us) {
    uint64_t light = access_measure(&pool->light, &pool->light_rate, took_us);
    access_level_update(&pool->level, access_most(access_pool_rate(supply, light), 1), took_us, now_us);
    bool is_rested = now_us - atomic_load_explicit(&pool->wanted_us, memory_order_relaxed) > ACCESS_POOL_REST_US;
    if (is_rested && !access_supply_is_low(supply, 0))
        atomic_store_explicit(&pool->is_shared, false, memory_order_relaxed);
}

uint64_t access_pool_part(const struct access_pool *pool, uint32_t weight) {
    return access_get(&pool->level.each) * weight;
}

/* ------------------------------------------------------------------ claims */

static uint32_t access_stake_weight(const struct access_stake *stake) {
    return atomic_load_explicit(&stake->weight, memory_order_relaxed);
}

/* Returns how many ids a claim may save up.  If the pool is refilled constantly, this is the claim's share of one
 * refill, so that all claims together cannot take more than one refill at once.  The result is at least a few ids,
 * because computing the share for each id would cost too much. */
static double access_claim_max(const struct access_pool *pool, double each) {
    double filled_s = (double)atomic_load_explicit(&pool->filled_us, memory_order_relaxed) / SECOND_US;
    if (filled_s * SECOND_US >= ACCESS_SHORT_US) return each * ACCESS_SAVED_US / SECOND_US + 1;
    double filling = each * filled_s, few = FEW * filling < FEW ? FEW * filling : FEW;
    return 1 + (filling > few ? filling : few);
}

static void access_claim_fill(struct access_claim *claim, double each, double max, int64_t now_us) {
    int64_t since_us = claim->at_us == 0 ? NEW_US : now_us - claim->at_us;
    if (since_us > 0) claim->ids += each * (double)since_us / SECOND_US;
    if (since_us > 0 || claim->at_us == 0) claim->at_us = now_us != 0 ? now_us : 1;
    if (claim->ids > max) claim->ids = max;
}

static void access_claim_note(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool,
                              int64_t now_us) {
    uint64_t turn = access_get(&stake->level.turn), pools = access_get(&pool->level.turn);
    atomic_store_explicit(&pool->wanted_us, now_us, memory_order_relaxed);
    if (claim->waited_turn != (uint32_t)(turn + 1)) access_add(&stake->level.waited[turn % ACCESS_TURNS], 1);
    claim->waited_turn = (uint32_t)(turn + 1);
    if (atomic_exchange_explicit(&stake->waited_turn, pools + 1, memory_order_relaxed) != pools + 1)
        access_add(&pool->level.waited[pools % ACCESS_TURNS], access_stake_weight(stake));
}

uint64_t access_claim_may(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool,
                          uint64_t want, int64_t now_us) {
    int64_t took_us = access_level_begin(&stake->level, now_us);
    if (took_us)
        access_level_update(&stake->level, access_pool_part(pool, access_stake_weight(stake)), took_us, now_us);
    double each = (double)access_get(&stake->level.each), max = access_claim_max(pool, each);
    access_claim_fill(claim, each, max, now_us);
    double piece = max / 4 < 1 ? 1 : max / 4;
    if (piece > (double)want) piece = (double)want;
    if (claim->ids >= piece) return access_least(want, (uint64_t)claim->ids);
    access_claim_note(claim, stake, pool, now_us);
    double us = (piece - claim->ids) * SECOND_US / each;
    claim->wait_us = us < WAIT_US_MIN ? WAIT_US_MIN : us > WAIT_US_MAX ? WAIT_US_MAX : (int32_t)us;
    return 0;
}

/* Does nothing if the pool is refilled constantly, because every claim of such a pool waits briefly, so waiting does
 * not show which claims want many ids. */
void access_claim_waits(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool,
                        int64_t now_us) {
    if (atomic_load_explicit(&pool->filled_us, memory_order_relaxed) >= ACCESS_SHORT_US)
        access_claim_note(claim, stake, pool, now_us);
}

void access_claim_took(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool, uint64_t n) {
    claim->ids -= (double)n;
    if (access_level_is_waiting(&stake->level, claim->waited_turn)) return;
    access_add(&pool->light, n);
    access_add(&stake->level.free, n);
    if (!access_level_is_waiting(&pool->level, atomic_load_explicit(&stake->waited_turn, memory_order_relaxed)))
        access_add(&pool->level.free, n);
}
