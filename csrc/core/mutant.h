/* mutant.h -- seams for the simulator: planted bugs, and points where it may switch threads.  Built without VS_SIM,
 * which is how users get it, all of it is nothing. */
#ifndef VS_MUTANT_H
#define VS_MUTANT_H

#ifdef VS_SIM

/* Each is a way to a duplicate that was seen in a trial, in a model or in another generator. */
#define VS_MUTANTS(X)                                                                                                  \
    X(CLOSE_BY_LIMIT)             /* a slot is closed by its limit, not by exchanging the cursor */                    \
    X(SLOT_REUSE)                 /* the slot of an ended lease is filled again */                                     \
    X(STALE_KEEPER_REOPENS)       /* a keeper that slept publishes over what its successor did */                      \
    X(CONFLICT_IS_FENCED)         /* a conflict with one's own earlier write is taken for another owner */             \
    X(COPIED_FILE_SAME_BOOT)      /* a copied file is trusted because the boot is the same */                          \
    X(RESET_BEFORE_ROLLBACK_TEST) /* the sequence starts anew before the clock is compared (Twitter, 2010) */          \
    X(EXHAUSTION_REPEATS)         /* the id behind a used-up time unit is given twice (Vesta) */                       \
    X(MARK_BEHIND)                /* the store is told the present, not a bound ahead of use (Leaf) */                 \
    X(UNFENCED_HEARTBEAT)         /* a renewal writes over whoever holds the number now (Butterfly) */                 \
    X(ADOPTS_UNKNOWN)             /* a renewal of which nothing was heard counts as acknowledged */                    \
    X(STALE_WINDOW)               /* a number that is had again goes on where it was lost (PD) */                      \
    X(FAILED_HEARTBEAT_COUNTS)    /* a renewal that failed extends the lease all the same (Butterfly) */               \
    X(DELETES_ON_SHUTDOWN)        /* giving a number back forgets how far it was used (Butterfly) */                   \
    X(RELATIVE_SKIP)              /* after a fail-over leases start some windows above what is left */                 \
    X(CLAIM_BY_OWNER)             /* a claim minds the owner it saw, not the bound */                                  \
    X(RESUMES_UNASKED)            /* a lease found in a file is gone on with, whoever holds the number (Leaf) */       \
    X(LEAVES_OPEN)                /* a number is given back for another while ids are still made with it */

enum vs_mutant {
    VS_MUTANT_NONE,
#define VS_MUTANT_ENUM(name) VS_MUTANT_##name,
    VS_MUTANTS(VS_MUTANT_ENUM) VS_MUTANT_COUNT
#undef VS_MUTANT_ENUM
};

extern enum vs_mutant vs_mutant;
void vs_sim_point(void);

#define VS_IS_MUTANT(name) (vs_mutant == VS_MUTANT_##name)
#define VS_POINT() vs_sim_point()

#else

#define VS_IS_MUTANT(name) 0
#define VS_POINT() ((void)0)

#endif
#endif
