/* fair.h -- fair shares of a namespace's ids while clients want more ids than are available: ids are divided by weight
 * among parties, and evenly among the connections of each party.  Never reads a clock.
 *
 *     pool    the ids of a namespace
 *     stake   the share of a party in a pool
 *     claim   the share of a connection in a stake, used by one thread
 *
 * A pool has a level: the ids a second that a weight of one may take.  A stake has a level for its claims.  A
 * connection that wants less than its level never waits.  The other connections wait, and divide the rest (weighted
 * max-min).  The first request of each turn of 10 ms computes the level from two sums: the ids that connections took
 * without waiting, and the weights of the connections that waited.  So no thread reads another thread's state or walks
 * a list.  */
#ifndef ACCESS_FAIR_H
#define ACCESS_FAIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ACCESS_TURN_US 10000        /* time between two computations of a level */
#define ACCESS_TURNS 8              /* waiting weights are stored for this number of turns */
#define ACCESS_WEIGHT_MAX 1000      /* maximum weight of a party (a connection has weight one) */
#define ACCESS_SAVED_US 100000      /* a claim saves up at most its ids for this duration */
/* A pool that is refilled at least this often counts as refilled constantly.  It reserves nothing for new clients,
 * because they can wait for the next refill. */
#define ACCESS_SHORT_US 100000
#define ACCESS_POOL_REST_US 1000000 /* a pool stops being shared after this time without waiting requests */
#define ACCESS_POOL_RATE_MAX 1000000000000 /* ids a second */

struct access_level {
    _Atomic int64_t computed_us;
    _Atomic uint64_t turn;                 /* number of computations; its remainder is an index into `waited` */
    _Atomic uint64_t each;                 /* ids a second for a weight of one */
    _Atomic uint64_t free;                 /* ids taken in this turn without waiting */
    _Atomic uint64_t free_rate;            /* `free` per second, smoothed */
    _Atomic uint64_t waited[ACCESS_TURNS]; /* sum of the weights that waited, by turn */
};

/* The ids of a pool at one instant. */
struct access_supply {
    uint64_t rate;       /* ids a second, in the long run */
    int64_t filled_us;   /* time between two refills */
    uint64_t room, kept; /* ids available now, and how many of these are reserved for new clients */
    int64_t next_us;     /* time until the next refill */
};

struct access_pool {
    _Atomic bool is_shared;      /* ids are divided, because a request found the pool nearly empty */
    _Atomic int64_t wanted_us;   /* time at which a request last waited */
    _Atomic uint64_t light;      /* ids that claims took in this turn without waiting */
    _Atomic uint64_t light_rate; /* `light` per second, smoothed */
    _Atomic int64_t filled_us;   /* filled_us of the supply when sharing began */
    struct access_level level;
};

struct access_stake {
    _Atomic uint64_t waited_turn; /* the pool's turn in which a claim last waited, plus one */
    _Atomic uint32_t weight;
    struct access_level level;
};

struct access_claim {
    double ids;           /* ids that the claim may take */
    int64_t at_us;        /* the time of `ids` (0: a new claim) */
    uint32_t waited_turn; /* the stake's turn in which the claim last waited, plus one */
    int32_t wait_us;      /* time until the claim may try again */
};

/* Begins to share the pool, if it is not shared already. */
void access_pool_share(struct access_pool *pool, const struct access_supply *supply, int64_t now_us);
static inline bool access_pool_is_shared(const struct access_pool *pool) {
    /* relaxed: a thread that reads an outdated value serves one more request without a share */
    return atomic_load_explicit(&pool->is_shared, memory_order_relaxed);
}
/* Returns whether the pool must be shared, because only a few ids will be left after a request takes n. */
bool access_supply_is_low(const struct access_supply *supply, uint64_t n);
/* Returns the time since the last computation if the caller must now compute the level with access_pool_update,
 * otherwise 0.  In each turn, only one caller gets a time. */
int64_t access_pool_due(struct access_pool *pool, int64_t now_us);
void access_pool_update(struct access_pool *pool, const struct access_supply *supply, int64_t took_us, int64_t now_us);

/* Returns how many of `want` ids a claim may take now.  If it returns 0, the share is still too small: try again after
 * claim->wait_us. */
uint64_t access_claim_may(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool,
                          uint64_t want, int64_t now_us);
/* Records that a claim was allowed to take ids, but the pool was empty. */
void access_claim_waits(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool,
                        int64_t now_us);
/* Records that a claim took n ids. */
void access_claim_took(struct access_claim *claim, struct access_stake *stake, struct access_pool *pool, uint64_t n);

/* Returns the minimum ids a second that a party of this weight may take, whatever other parties want. */
uint64_t access_pool_part(const struct access_pool *pool, uint32_t weight);

#endif
