/* lease.h -- the lease engine: claims a worker id, renews its lease in advance, releases it.  Pure: its inputs are
 * replies and times, its outputs are actions.  The keeper applies them to a real store, the simulator to a virtual one.
 *
 * Its safety has one basis: a store's record changes only by compare-and-set on its version, and no tick at or after
 * the record's `until` was ever granted.  A new holder starts at `until`, and a holder issues only below the `until`
 * that the store has acknowledged.  So expiry and clocks decide when a worker id may be used again, never whether ids
 * are unique. */
#ifndef VS_LEASE_H
#define VS_LEASE_H

#include "generator/generator.h"
#include "lease/record.h"

struct vs_lease_timing {
    const char *name;
    int64_t window_ms;   /* W: how far ahead of the next tick `until` is set */
    int64_t renew_ms;    /* R: the shortest interval between renewals, unless issuers wait */
    int64_t idle_ms;     /* the longest interval while no id is issued. 0: renew only when a third of the window has
                            passed */
    int64_t lease_ms;    /* L: other processes must not claim the worker id for this long after the last write */
    int64_t deadline_ms; /* issuing stops this long after the last acknowledged write was sent. 0: never */
    int64_t skew_ms;     /* S: the allowed difference between a clock and the store's. No bound exceeds store + S + W */
    int64_t call_ms;     /* how long a call waits for the store. A slow network or disk must not count as a failure */
    int64_t floor_ms;    /* a new record starts this far ahead of the store's clock */
    bool is_shared;      /* many hosts use the store over a network, so retries back off and spread */
};

/* On one host no other machine waits for a heartbeat.  So an idle holder writes only to extend its window, once a
 * minute.  The window is minutes long, because a process that is stopped or waits for a disk may have the store locked.
 */
extern const struct vs_lease_timing vs_lease_timing_file;

/* "local", "strict", "balanced", "autonomous". NULL for other names. */
const struct vs_lease_timing *vs_lease_preset(const char *name);

/* The timing of a preset for one lease.  A worker id set by hand has a small window.  So if its generator is killed and
 * restarted, it need not wait for a long window to end.  With history pacing the window counts ids, not time. */
struct vs_lease_timing vs_lease_timing_for(const struct vs_lease_timing *preset, bool has_worker);

/* The state of a lease, for people and metrics.  Issuing depends only on limit and deadline. */
enum vs_lease_state {
    VS_LEASE_CLAIMING, /* no lease is held */
    VS_LEASE_ACTIVE,
    VS_LEASE_RENEWING, /* a renewal is in progress */
    VS_LEASE_SUSPECT,  /* no renewal was acknowledged for twice the period; ids continue within the window */
    VS_LEASE_DRAINED,  /* window or deadline have ended: no ids until the store answers. The lease may still be ours */
    VS_LEASE_FENCED,   /* another process holds the worker id */
    VS_LEASE_FAILSTOP  /* the store went back */
};
const char *vs_lease_state_name(enum vs_lease_state state);

/* Sets a floor in the namespace's record, after a store lost acknowledged writes and a person has repaired it.  No tick
 * at or after the floor was granted with this timing (see bound_permitted), so leases that start there repeat no id.
 */
void vs_ns_put_right(struct vs_ns_record *ns, const struct vs_lease_timing *timing, int64_t store_ms,
                     uint64_t incarnation);

enum vs_outcome {
    VS_STORE_OK,       /* done; `record` is the stored one (ver 0: none) */
    VS_STORE_CONFLICT, /* not done: the version differs; `record` is the stored one */
    VS_STORE_MOVED,    /* not done: the namespace's record has changed since it was last read */
    VS_STORE_REFUSED,  /* not done, and retrying will not help: a person must act (rights, damage) */
    VS_STORE_DOWN,     /* not done: the store is unreachable */
    VS_STORE_UNKNOWN   /* may be done, now or later */
};
_Static_assert(VS_STORE_UNKNOWN + 1 == VS_RENEWALS, "every answer to a renewal is counted");

enum vs_event_kind {
    VS_EV_WAKE,   /* a sleep has ended, or an issuer needs more */
    VS_EV_REPLY,  /* answers NS_READ, NS_SWAP, READ, SWAP */
    VS_EV_CHOSEN, /* answers CHOOSE: `worker`, unless !found */
    VS_EV_SLOT,   /* answers TAKE: `slot` (or VS_SLOT_NONE) and the new token in `owner` */
    VS_EV_CLOSED, /* answers CLOSE: `cursor` is exact if `found`, else another process had closed the slot */
    VS_EV_DONE    /* answers PUBLISH, RAISE, STAY, FAILSTOP, RECOVER */
};

struct vs_event {
    enum vs_event_kind kind;
    int64_t boot_us, unix_us; /* the present time */
    int64_t doubt_us;         /* vs_clock_doubt_us: do not use the clock for this long. 0: it can be used */
    bool wanted;              /* an issuer waits for a lease */
    bool stop;                /* release the lease and end */
    bool leave;               /* a policy wants to replace the held worker id */
    bool stirred;             /* the store may have changed since its last answer, so renew now */
    uint64_t cursor;          /* min(tick, limit) of the held slot */
    bool lost;                /* the held slot was closed, and not by this engine */
    enum vs_outcome outcome;
    int64_t store_ms; /* the store's clock at the reply */
    struct vs_record record;
    struct vs_ns_record ns;
    char text[VS_SAID_MAX]; /* the store's message, if it rejected the call */
    bool found;
    bool is_fixed; /* answers CHOOSE: the worker id is derived from the generator's configuration, and counts as set
                      by hand */
    uint64_t worker, owner[2];
    int slot;                 /* or one of these */
#define VS_SLOT_NONE (-1)     /* the map has no slot left */
#define VS_SLOT_NO_TOKEN (-2) /* no random bytes: no slot was taken */
};
#define VS_NO_RANDOM "the kernel gives no random bytes, without which two claims could have the same token"

enum vs_do {
    VS_DO_SLEEP, /* until `until_boot_us`, or, if `on_want`, until an issuer needs a lease */
    VS_DO_NS_READ,
    VS_DO_NS_SWAP,  /* write `ns` if the stored version is `old_ver` */
    VS_DO_CHOOSE,   /* choose a worker id from the store's list */
    VS_DO_READ,     /* the record of `worker` */
    VS_DO_TAKE,     /* take a new slot for `worker` from tick `from`, with a new token */
    VS_DO_SWAP,     /* write `record` of `worker` if the stored version is `old_ver` */
    VS_DO_PUBLISH,  /* open `slot` up to `limit` */
    VS_DO_RAISE,    /* raise `slot` to `limit` */
    VS_DO_CLOSE,    /* close `slot` */
    VS_DO_STAY,     /* the worker id is kept; end the request to replace it */
    VS_DO_FAILSTOP, /* stop issuing, because the store went back */
    VS_DO_RECOVER,  /* end the failstop, because a person has repaired the store */
    VS_DO_END       /* stopped */
};

struct vs_action {
    enum vs_do kind;
    int64_t until_boot_us;
    bool on_want;
    uint64_t old_ver, worker, from, limit;
    int64_t deadline_boot_us;
    int slot;
    struct vs_record record;
    struct vs_ns_record ns;
};

/* Layout and identity must live as long as the lease.  The holder's text is copied. */
struct vs_lease_opts {
    const struct vesta_layout *layout;
    const char *identity, *holder;
    bool has_worker;
    uint64_t worker;
    bool is_history; /* history pacing: ids follow the cursor, not the clock */
    struct vs_lease_timing timing;
    uint64_t entropy;     /* random, for the incarnation of a namespace that this engine creates */
    uint64_t incarnation; /* from an earlier keeper of the same file. 0: unknown */
    uint64_t granted;     /* no tick of this file at or after it was ever granted */
    uint64_t failed_in;   /* the incarnation for which an earlier keeper called a failstop */
    bool is_judged;       /* a policy takes part in every claim, even of a worker id set by hand */
    /* a lease in the map, either open, or claimed and not published. slot -1: none */
    int slot;
    bool published;
    uint64_t slot_worker, slot_owner[2], slot_from, slot_limit;
};

enum vs_phase {
    VS_PH_NS_READ,
    VS_PH_NS_SWAP,
    VS_PH_RESUME,
    VS_PH_CHOOSE,
    VS_PH_READ,
    VS_PH_TAKE,
    VS_PH_CLAIM,
    VS_PH_PUBLISH,
    VS_PH_HELD,
    VS_PH_RENEW,
    VS_PH_LOOK,
    VS_PH_RAISE,
    VS_PH_FENCED,
    VS_PH_MOVING, /* closing a lease of a store that was replaced and repaired */
    VS_PH_SWITCH, /* choosing a worker id to replace the held one */
    VS_PH_SWITCH_READ,
    VS_PH_STAY,
    VS_PH_CLOSING,
    VS_PH_RELEASE,
    VS_PH_RELEASE_LOOK,
    VS_PH_FAILSTOP,
    VS_PH_RECOVER,
    VS_PH_SLEEP,
    VS_PH_ENDED
};

struct vs_lease {
    struct vs_shape shape;
    struct vs_lease_timing timing;
    uint64_t fingerprint, entropy, incarnation;
    uint64_t failed_in; /* the incarnation that went back or denied its leases. 0: none */
    bool has_worker, is_history, is_judged;
    bool is_fixed; /* the chosen worker id is derived from the generator's configuration */
    uint64_t wanted_worker;
    const struct vesta_layout *layout;
    const char *identity;
    char holder[VS_HOLDER_MAX];

    enum vs_phase phase, after; /* the phase after a sleep */
    struct vs_record record;    /* as last read or written */
    struct vs_ns_record ns;
    uint64_t worker, owner[2], from;
    uint64_t until;          /* last acknowledged */
    uint64_t granted;        /* the highest `until` that this file ever had */
    uint64_t asked;          /* `until` of the write in progress */
    uint64_t asked_cursor;   /* the cursor when that write was sent */
    uint64_t renewed_cursor; /* the cursor at the last renewal, to detect issuing since then */
    int64_t sent_boot_us, renewed_boot_us;
    int64_t sent_before_us;          /* the write before the last one. 0: none */
    int64_t deadline_us;             /* of the acknowledged lease. 0: none */
    int64_t store_ms, store_boot_us; /* the store's clock at its last answer, and the time of that answer. 0: no
                                        answer yet */
    unsigned troubles;               /* failed calls in a row, not counting conflicts */
    unsigned unsettled;              /* writes with unknown outcome since the last acknowledged one */
    uint64_t dice;                   /* random, spreads retries */
    int slot;                        /* -1: none */
    bool published;
    unsigned attempt;
    bool was_lost; /* another process took over `lost_worker`, and no worker id was claimed since */
    uint64_t lost_worker;
    bool leaves; /* the held worker id is being released to take `next_worker` */
    uint64_t next_worker;
    bool not_given_back;    /* the end of the lease was sent to the store, which has not confirmed it */
    char said[VS_SAID_MAX]; /* the last message for people, "" if there is no fault */
};

void vs_lease_init(struct vs_lease *lease, const struct vs_lease_opts *opts);

/* Handles an event and sets the next action.  Threads: one at a time. */
void vs_lease_step(struct vs_lease *lease, const struct vs_event *event, struct vs_action *action);

/* The state of the lease at an event's time and cursor. */
enum vs_lease_state vs_lease_state_of(const struct vs_lease *lease, const struct vs_event *event);

/* The default choice (policy `any`): the generator's own worker id if it can be claimed at once, else one that was
 * never used, else a free or expired one.  A worker id whose record ends ahead of the clock is chosen only if there is
 * no other.
 * Shape: listed[0..count), ascending by worker.  False: every worker id is held. */
struct vs_listed {
    uint64_t worker;
    struct vs_record record;
};
struct vs_listing {
    const struct vs_listed *listed;
    size_t count;
    int64_t store_ms; /* the store's clock when the list was read */
};
/* The listing without worker ids that exceed the layout. */
struct vs_listing vs_listing_up_to(struct vs_listing listing, uint64_t worker_max);
bool vs_choose_any(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                   uint64_t *worker);

/* The same, to replace the held worker id: one that was never used, else the one that was free for longest. */
bool vs_choose_other(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                     uint64_t *worker);

#endif
