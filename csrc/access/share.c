/* share.c -- levels: how many ids a second each may have of what there is; see share.h.  Pure.  Every word is relaxed:
 * sums and measures, of which one that is seen late is made good a turn later. */
#include "access/share.h"

#include <stddef.h>

#define SECOND_US 1000000
#define REMEMBERED (VS_TURNS - 1)       /* turns in which who waited still counts as waiting */
#define STALE_US (10 * VS_TURN_US)      /* nobody came by for so long: what was measured means nothing */
#define SMOOTH_US 150000                /* a measure falls this slowly; it rises at once */
#define NEW_US 2000                     /* what a new purse has saved up */
#define FEW 16
#define WAIT_US_MIN 1000
#define WAIT_US_MAX 20000
#define KEPT_PART 16 /* what is held back of a rate for those who come anew; and what is shared even if nothing is left */

/* ------------------------------------------------------------------ words */

static uint64_t get(const _Atomic uint64_t *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(_Atomic uint64_t *word, uint64_t to) {
    atomic_store_explicit(word, to, memory_order_relaxed);
}

static void add(_Atomic uint64_t *word, uint64_t n) {
    atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ------------------------------------------------------------------ levels */

/* How long ago the last reckoning was, for the one caller that is to make the next; else 0. */
static int64_t begin_turn(struct vs_level *level, int64_t now_us) {
    int64_t then = atomic_load_explicit(&level->reckoned_us, memory_order_relaxed);
    if (now_us - then < VS_TURN_US) return 0;
    return atomic_compare_exchange_strong_explicit(&level->reckoned_us, &then, now_us, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? now_us - then
               : 0;
}

static void restart(struct vs_level *level, uint64_t each, int64_t now_us) {
    atomic_store_explicit(&level->reckoned_us, now_us, memory_order_relaxed);
    set(&level->each, most(each, 1));
    set(&level->free, 0);
    set(&level->free_rate, 0);
    for (int i = 0; i < VS_TURNS; i++)
        set(&level->waited[i], 0);
}

/* A measure of so many in that time, a second; it rises at once and falls slowly. */
static uint64_t measure(_Atomic uint64_t *count, _Atomic uint64_t *rate, int64_t took_us) {
    uint64_t seen = atomic_exchange_explicit(count, 0, memory_order_relaxed) * SECOND_US / (uint64_t)took_us;
    uint64_t was = get(rate);
    uint64_t now = seen > was ? was + (seen - was + 1) / 2 : was - (was - seen) * least((uint64_t)took_us, SMOOTH_US) / SMOOTH_US;
    set(rate, now);
    return now;
}

static uint64_t waiting_of(const struct vs_level *level, uint64_t turn) {
    uint64_t weights = 0;
    for (uint64_t i = 0; i < REMEMBERED; i++)
        weights = most(weights, get(&level->waited[(turn - i) % VS_TURNS]));
    return weights;
}

/* Those who do not wait take what they take; the others share the rest.  Where nobody waits, and yet too much is taken,
 * those who take most are to wait. */
static uint64_t next_each(uint64_t was, uint64_t rate, uint64_t free, uint64_t weights) {
    uint64_t taken = free + free / 8;
    if (weights > 0) return most(rate > taken ? (rate - taken) / weights : rate / KEPT_PART / weights, was / 2);
    return free > rate ? was - was / 4 : least(2 * was, rate);
}

static void reckon(struct vs_level *level, uint64_t rate, int64_t took_us, int64_t now_us) {
    uint64_t turn = get(&level->turn);
    if (took_us > STALE_US) {
        restart(level, rate, now_us);
    } else {
        uint64_t free = measure(&level->free, &level->free_rate, took_us);
        set(&level->each, most(next_each(get(&level->each), rate, free, waiting_of(level, turn)), 1));
    }
    set(&level->waited[(turn + 2) % VS_TURNS], 0); /* not the next, where some may be noting themselves by now */
    set(&level->turn, turn + 1);
}

/* In this turn, or one before that still counts. */
static bool is_waiting(const struct vs_level *level, uint64_t waited_turn) {
    return waited_turn != 0 && get(&level->turn) + 1 - waited_turn < REMEMBERED;
}

/* ------------------------------------------------------------------ pots */

bool vs_supply_is_low(const struct vs_supply *supply, uint64_t n) {
    uint64_t left = supply->room > n ? supply->room - n : 0;
    return supply->filled_us >= VS_SHORT_US && left < 2 * supply->kept;
}

void vs_pot_share(struct vs_pot *pot, const struct vs_supply *supply, int64_t now_us) {
    atomic_store_explicit(&pot->wanted_us, now_us, memory_order_relaxed);
    if (vs_pot_is_shared(pot)) return;
    atomic_store_explicit(&pot->filled_us, supply->filled_us, memory_order_relaxed);
    restart(&pot->level, supply->rate, now_us - VS_TURN_US); /* who comes next reckons what is left */
    atomic_store_explicit(&pot->is_shared, true, memory_order_relaxed);
}

/* What a second may take: of a pot that is filled every now and then, what it has until then; of one that is filled all
 * the time, what it is filled with, less what those need at any moment who do not wait. */
static uint64_t rate_of(const struct vs_supply *s, uint64_t light) {
    if (s->filled_us < VS_SHORT_US)
        return light ? most(s->rate / 2, s->rate - least(s->rate, s->rate / KEPT_PART + light / 8))
                     : s->rate + s->rate / KEPT_PART;
    uint64_t until_us = (uint64_t)(s->next_us > VS_SHORT_US ? s->next_us : VS_SHORT_US);
    uint64_t refill_us = until_us - (uint64_t)(s->next_us > 0 ? s->next_us : 0);
    uint64_t left = s->room > s->kept ? s->room - s->kept : 0;
    double rate = ((double)left + (double)s->rate * (double)refill_us / SECOND_US) * SECOND_US / (double)until_us;
    return rate < 4 * (double)s->rate ? most((uint64_t)rate, s->rate / KEPT_PART) : 4 * s->rate;
}

int64_t vs_pot_due(struct vs_pot *pot, int64_t now_us) {
    return begin_turn(&pot->level, now_us);
}

void vs_pot_reckon(struct vs_pot *pot, const struct vs_supply *supply, int64_t took_us, int64_t now_us) {
    uint64_t light = measure(&pot->light, &pot->light_rate, took_us);
    reckon(&pot->level, most(rate_of(supply, light), 1), took_us, now_us);
    bool is_rested = now_us - atomic_load_explicit(&pot->wanted_us, memory_order_relaxed) > VS_POT_REST_US;
    if (is_rested && !vs_supply_is_low(supply, 0)) atomic_store_explicit(&pot->is_shared, false, memory_order_relaxed);
}

uint64_t vs_pot_part(const struct vs_pot *pot, uint32_t weight) {
    return get(&pot->level.each) * weight;
}

/* ------------------------------------------------------------------ purses */

static uint32_t weight_of(const struct vs_stake *stake) {
    return atomic_load_explicit(&stake->weight, memory_order_relaxed);
}

/* How much a purse may save up: where a pot is filled all the time, what a filling brings it, so that all of them together
 * take no more than that at once; but for a few ids, which are not worth a look each. */
static double purse_max(const struct vs_pot *pot, double each) {
    double filled_s = (double)atomic_load_explicit(&pot->filled_us, memory_order_relaxed) / SECOND_US;
    if (filled_s * SECOND_US >= VS_SHORT_US) return each * VS_PURSE_US / SECOND_US + 1;
    double filling = each * filled_s, few = FEW * filling < FEW ? FEW * filling : FEW;
    return 1 + (filling > few ? filling : few);
}

static void fill(struct vs_purse *purse, double each, double max, int64_t now_us) {
    int64_t since_us = purse->at_us == 0 ? NEW_US : now_us - purse->at_us;
    if (since_us > 0) purse->ids += each * (double)since_us / SECOND_US;
    if (since_us > 0 || purse->at_us == 0) purse->at_us = now_us != 0 ? now_us : 1;
    if (purse->ids > max) purse->ids = max;
}

static void note_waiting(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, int64_t now_us) {
    uint64_t turn = get(&stake->level.turn), pots = get(&pot->level.turn);
    atomic_store_explicit(&pot->wanted_us, now_us, memory_order_relaxed);
    if (purse->waited_turn != turn + 1) add(&stake->level.waited[turn % VS_TURNS], 1);
    purse->waited_turn = turn + 1;
    if (atomic_exchange_explicit(&stake->waited_turn, pots + 1, memory_order_relaxed) != pots + 1)
        add(&pot->level.waited[pots % VS_TURNS], weight_of(stake));
}

uint64_t vs_purse_may(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, uint64_t want, int64_t now_us) {
    int64_t took_us = begin_turn(&stake->level, now_us);
    if (took_us) reckon(&stake->level, vs_pot_part(pot, weight_of(stake)), took_us, now_us);
    double each = (double)get(&stake->level.each), max = purse_max(pot, each);
    fill(purse, each, max, now_us);
    double piece = max / 4 < 1 ? 1 : max / 4;
    if (piece > (double)want) piece = (double)want;
    if (purse->ids >= piece) return least(want, (uint64_t)purse->ids);
    note_waiting(purse, stake, pot, now_us);
    double us = (piece - purse->ids) * SECOND_US / each;
    purse->wait_us = us < WAIT_US_MIN ? WAIT_US_MIN : us > WAIT_US_MAX ? WAIT_US_MAX : (int64_t)us;
    return 0;
}

/* Where a pot is filled all the time that is a matter of a moment, and tells nothing about who wants much. */
void vs_purse_waits(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, int64_t now_us) {
    if (atomic_load_explicit(&pot->filled_us, memory_order_relaxed) >= VS_SHORT_US)
        note_waiting(purse, stake, pot, now_us);
}

void vs_purse_took(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, uint64_t n) {
    purse->ids -= (double)n;
    if (is_waiting(&stake->level, purse->waited_turn)) return;
    add(&pot->light, n);
    add(&stake->level.free, n);
    if (!is_waiting(&pot->level, atomic_load_explicit(&stake->waited_turn, memory_order_relaxed)))
        add(&pot->level.free, n);
}
