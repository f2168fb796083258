/* plan.h -- what `vesta plan` reckons: needs come in, and what layouts, leases and stores make of them.
 *
 *   plan.c       the command: needs from options, tables, JSON
 *   reckon.c     the formulas, each stated beside its figure
 *   simulate.c   a day of a fleet in virtual time, and the generator itself in its busiest seconds */
#ifndef VS_PLAN_H
#define VS_PLAN_H

#include "command/command.h"
#include "lease/lease.h"

#define VS_PLAN_ISSUERS_MAX 100000

struct vs_need {
    double rate, peak; /* ids a second of all issuers together: of a day, and of its busiest second */
    double busiest;    /* the largest issuer's, then */
    double years;
    uint64_t issuers;  /* that hold a number at a time */
    uint64_t restarts; /* of each issuer in a day, after which it is another one to the store */
    uint64_t surge;    /* percent of issuers that are there twice while they are replaced */
    uint64_t clock_ms; /* how far a clock may be set back */
    bool is_given;     /* their numbers are given by hand, and need no lease to run out */
    int64_t now_ms, epoch_ms;
};

/* ---- reckon.c */

struct vs_fit { /* a layout for a need */
    const char *name, *text;
    struct vesta_layout layout;
    double unit_s, capacity; /* a time unit; ids a second of one issuer */
    double used;             /* of the capacity, in the busiest second of the busiest issuer */
    double late;             /* of its requests then, those that find their time unit used up */
    uint64_t numbers;        /* that the layout has */
    double years;            /* from now to its end */
    char verdict[80];        /* "fits", or what is too small */
    bool fits;
};

/* VESTA_OK, or the layout cannot be read. */
int vs_plan_fit(const struct vs_need *need, uint64_t numbers, struct vs_fit *fit);

struct vs_load { /* a lease for a need */
    const struct vs_lease_timing *timing;
    double fenced;       /* numbers that nobody has, because their lease runs on: the mean */
    uint64_t numbers;    /* needed in all */
    double giving, idle; /* writes a second, when all issuers give ids, and when none does */
    double restarts;     /* requests a second by issuers that start */
    double together;     /* requests a second when all issuers come back at once */
    int64_t outage_ms;   /* how long ids go on without the store */
};
void vs_plan_load(const struct vs_need *need, const struct vs_lease_timing *timing, struct vs_load *load);

/* The formulas, as text, ending with NULL. */
extern const char *const vs_plan_formulas[];

/* ---- simulate.c */

struct vs_simulated {
    uint64_t seed;
    double ids, late, refused; /* in the seconds that were looked at: given, those that waited, those beyond a second */
    double writes, writes_max; /* requests a second to the store: the mean, the busiest */
    uint64_t numbers_max;      /* held and fenced at once, at most */
    uint64_t waiting_max;      /* issuers without a number at once, at most */
    uint64_t restarts;
    uint64_t asked, waited; /* of the generator itself, in the busiest issuer's busiest seconds */
    int64_t wait_us_99, wait_us_max;
    double hour_ids[24], hour_writes[24]; /* a second, by hour */
};
/* VS_DONE, or VS_FAILED after a message. */
int vs_plan_simulate(const struct vs_need *need, const struct vs_fit *fit, const struct vs_load *load,
                     struct vs_simulated *out);

#endif
