/* mutant.h -- seams for the simulator: planted bugs, and points where it may switch threads.  Built without VS_SIM,
 * which is how users get it, all of it is nothing. */
#ifndef VS_MUTANT_H
#define VS_MUTANT_H

#ifdef VS_SIM

/* Each is a way to a duplicate, or to a standstill, that was seen in a trial, in a model, in a review or in another
 * generator. */
#define VS_MUTANTS(X)                                                                                                  \
    X(CLOSE_BY_LIMIT)          /* a slot is closed by its limit, not by exchanging the cursor */                       \
    X(CURSOR_BEFORE_CLOSE)     /* the cursor that is given back is read just before the close */                       \
    X(LIMIT_BEFORE_CLOSE)      /* the limit is read before the cursor is exchanged */                                  \
    X(KEEPS_REFUSED_TICK)      /* a tick that was refused is given after all once the bound rose */                    \
    X(SLOT_REUSE)              /* the slot of an ended lease is filled again */                                        \
    X(SLOT_BY_STORE)           /* the number of a slot is given out by a load and a store */                           \
    X(FRESH_REVIVES)           /* a slot that was closed before it was filled is made fresh */                         \
    X(STALE_KEEPER_REOPENS)    /* a keeper that slept publishes over what its successor did */                         \
    X(RETIRES_OPEN)            /* a used-up map's slots stay open, where a rest of its successor does not see them */  \
    X(RETIRES_TAKEABLE)        /* a used-up map's slots are closed while a claim can still take another */             \
    X(RESTS_BESIDE)            /* a file rests while a keeper that was stopped is still in its term */                 \
    X(REST_LEAVES_FRESH)       /* resting leaves claims that are under way */                                          \
    X(STORE_BY_WORD)           /* which store a map knows is a word of its own, which a keeper that slept sets back */ \
    X(CLAIMS_COUNT)            /* what was granted to a claim that nobody opened counts as issued */                   \
    X(LATE_STOP_STANDS)        /* a stop that is written down after the store was put right stays */                   \
    X(STOPS_UNASKED)           /* a keeper stops the file for a store that another saw put right */                    \
    X(NEVER_MOOT)              /* what the store says of a slot that another keeper closed is minded */                \
    X(LOWERS_BOUND)            /* a renewal asks for less than the record says */                                      \
    X(FOLLOWS_BY_VERSION)      /* a store's write minds the version, not whose claim it goes on with */                \
    X(CONFLICT_IS_FENCED)      /* a conflict with one's own earlier write is taken for another owner */                \
    X(COPIED_FILE_SAME_BOOT)   /* a copied file is trusted because the boot is the same */                             \
    X(UNFENCED_HEARTBEAT)      /* a renewal writes over whoever holds the number now (Butterfly) */                    \
    X(ADOPTS_UNKNOWN)          /* a renewal of which nothing was heard counts as acknowledged */                       \
    X(STALE_WINDOW)            /* a number that is had again goes on where it was lost (PD) */                         \
    X(FAILED_HEARTBEAT_COUNTS) /* a renewal that failed extends the lease all the same (Butterfly) */                  \
    X(RELATIVE_SKIP)           /* after a fail-over leases start some windows above what is left */                    \
    X(CLAIM_BY_OWNER)          /* a claim minds the owner it saw, not the bound */                                     \
    X(LEAVES_OPEN)             /* a number is given back for another while ids are still made with it */

enum vs_mutant {
    VS_MUTANT_NONE,
#define VS_MUTANT_ENUM(name) VS_MUTANT_##name,
    VS_MUTANTS(VS_MUTANT_ENUM) VS_MUTANT_COUNT
#undef VS_MUTANT_ENUM
};

extern enum vs_mutant vs_mutant;
void vs_sim_point(const char *name);

#define VS_IS_MUTANT(name) (vs_mutant == VS_MUTANT_##name)
#define VS_POINT(name) vs_sim_point(#name)

#else

#define VS_IS_MUTANT(name) 0
#define VS_POINT(name) ((void)0)

#endif
#endif
