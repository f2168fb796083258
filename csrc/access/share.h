/* share.h -- what there is, shared between those who want it at once: by weight between parties, evenly between the
 * connections of each.  Knows no clock, no request and no generator.
 *
 *     pot     what a namespace gives
 *     stake   a party's part of a pot
 *     purse   a connection's part of a stake; of one thread
 *
 * A pot has a level: how many ids a second a weight of one may have; a stake has one for its purses.  Whoever wants less
 * than the level lets it have is never held up; the others wait, and share what those leave (weighted max-min).  The
 * level is reckoned a hundred times a second, by whoever comes by, from two sums: what those took that did not wait, and
 * the weights of those that did.  So no thread looks at what another one has, and nobody walks a list. */
#ifndef VS_SHARE_H
#define VS_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VS_TURN_US 10000          /* between two reckonings */
#define VS_TURNS 8                /* whose waiters are remembered */
#define VS_WEIGHT_MAX 1000        /* of a party; its connections weigh one each */
#define VS_PURSE_US 100000        /* how much a purse saves up, at most */
#define VS_SHORT_US 100000        /* a pot that is filled as often keeps nothing back for who comes anew: that one waits */
#define VS_POT_REST_US 1000000    /* nobody waited for so long: it is shared no more */
#define VS_SHARE_RATE_MAX 1000000000000 /* ids a second */

struct vs_level {
    _Atomic int64_t reckoned_us;
    _Atomic uint64_t turn;             /* of the reckoning: an index into `waited`, and a name for it */
    _Atomic uint64_t each;             /* ids a second, for a weight of one */
    _Atomic uint64_t free;             /* ids taken in this turn by those who do not wait */
    _Atomic uint64_t free_rate;        /* of them a second, smoothed */
    _Atomic uint64_t waited[VS_TURNS]; /* weights of those who waited in a turn */
};

/* What a pot has at an instant. */
struct vs_supply {
    uint64_t rate;            /* ids a second, in the long run */
    int64_t filled_us;        /* how often it is filled */
    uint64_t room, kept;      /* what may be taken now; what of that is for those who come anew */
    int64_t next_us;          /* until it is filled again */
};

struct vs_pot {
    _Atomic bool is_shared;        /* somebody met an empty pot, or nearly did */
    _Atomic int64_t wanted_us;     /* when somebody waited last */
    _Atomic uint64_t light;        /* ids taken by purses that do not wait, of whichever party, in this turn */
    _Atomic uint64_t light_rate;   /* of them a second, smoothed */
    _Atomic int64_t filled_us;     /* of the supply, as of when it was shared */
    struct vs_level level;
};

struct vs_stake {
    _Atomic uint64_t waited_turn; /* of the pot's level, + 1: when a purse of it waited last */
    _Atomic uint32_t weight;
    struct vs_level level;
};

struct vs_purse {
    double ids;          /* that it may take */
    int64_t at_us;       /* as of then; 0: it is new */
    uint64_t waited_turn; /* of the stake's level, + 1 */
    int64_t wait_us;      /* until it asks again */
};

/* From now on the pot is shared. */
void vs_pot_share(struct vs_pot *pot, const struct vs_supply *supply, int64_t now_us);
static inline bool vs_pot_is_shared(const struct vs_pot *pot) {
    /* relaxed: who sees it late is met by the next request */
    return atomic_load_explicit(&pot->is_shared, memory_order_relaxed);
}
/* Whether so little would be left behind n ids that the pot must be shared. */
bool vs_supply_is_low(const struct vs_supply *supply, uint64_t n);
/* How long ago it was reckoned last, for the one caller that is to say what the pot has now, by vs_pot_reckon; else 0. */
int64_t vs_pot_due(struct vs_pot *pot, int64_t now_us);
void vs_pot_reckon(struct vs_pot *pot, const struct vs_supply *supply, int64_t took_us, int64_t now_us);

/* How many of `want` ids a purse may take now: what it has, if that is a piece worth taking.  0: it waits, and asks again
 * after purse->wait_us. */
uint64_t vs_purse_may(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, uint64_t want, int64_t now_us);
/* It may, and found the pot empty. */
void vs_purse_waits(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, int64_t now_us);
/* It took so many. */
void vs_purse_took(struct vs_purse *purse, struct vs_stake *stake, struct vs_pot *pot, uint64_t n);

/* Ids a second that a party of that weight has at least, while others want them. */
uint64_t vs_pot_part(const struct vs_pot *pot, uint32_t weight);

#endif
