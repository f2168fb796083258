/* lease.h -- the lease engine, which claims a worker id, renews its lease in advance and releases it.  Pure: its inputs
 * are times and answers, and its outputs are actions.  The keeper applies the actions to a real store, and the
 * simulator to a virtual one.
 *
 * Ids stay unique for one reason: a store's record changes only by compare-and-set on its version, and no tick at or
 * after the record's `until` was ever granted.  A new holder starts at `until`, and a holder issues only below the
 * `until` that the store has acknowledged.  So expiry and clocks decide when a worker id can be used again, but
 * uniqueness does not depend on them. */
#ifndef VS_LEASE_H
#define VS_LEASE_H

#include "generator/generator.h"
#include "lease/record.h"

/* The durations of a lease.  The letters W, R, L and S stand for them in other comments. */
struct vs_lease_timing {
    const char *name;
    int64_t window_ms; /* W: how far `until` is set ahead of the next tick */
    int64_t renew_ms;  /* R: the shortest interval between renewals, unless issuers wait */
    /* The longest interval between renewals while no id is issued.  0: an idle holder renews only when a third of the
     * window has passed. */
    int64_t idle_ms;
    int64_t lease_ms;    /* L: other processes must not claim the worker id for this long after the last write */
    int64_t deadline_ms; /* issuing stops this long after the last acknowledged write was sent. 0: never */
    int64_t skew_ms;     /* S: the allowed clock skew between host and store. No bound exceeds store time + S + W */
    int64_t call_ms;     /* the time limit of a call to the store, long enough for a slow network or disk */
    int64_t floor_ms;    /* a new record starts this far ahead of the store's clock */
    bool is_shared;      /* many hosts use the store over a network, so the delays before retries grow and vary */
};

/* The timing for a store on this host.  No other machine waits for a heartbeat, so an idle holder writes only once a
 * minute, to extend its window.  The window is minutes long, because a process that is suspended or waits for a disk
 * may keep the store locked for that long. */
extern const struct vs_lease_timing vs_lease_timing_file;

/* Returns the preset "local", "strict", "balanced" or "autonomous", or NULL for other names. */
const struct vs_lease_timing *vs_lease_preset(const char *name);

/* Returns the timing for a lease.  A worker id set by hand gets a small window, so that its generator, if it is killed
 * and restarted, need not wait until a long window ends.  With history pacing the window is a number of ids, not a
 * length of time. */
struct vs_lease_timing vs_lease_timing_for(const struct vs_lease_timing *preset, bool has_worker);

/* The state of a lease, for messages and metrics.  Whether ids are issued depends only on limit and deadline. */
enum vs_lease_state {
    VS_LEASE_CLAIMING, /* no lease is held */
    VS_LEASE_ACTIVE,
    VS_LEASE_RENEWING, /* a renewal is in progress */
    VS_LEASE_SUSPECT,  /* no renewal was acknowledged for 2 R. Ids are still issued within the window */
    VS_LEASE_DRAINED,  /* window or deadline has ended: no ids are issued until a renewal succeeds */
    VS_LEASE_FENCED,   /* another process holds the worker id */
    VS_LEASE_FAILSTOP  /* the store lost acknowledged writes: it went back to an earlier state */
};
const char *vs_lease_state_name(enum vs_lease_state state);

/* Sets a floor in the namespace's record, when a person repairs a store that lost acknowledged writes.  No tick at or
 * after the floor was granted with this timing (see bound_permitted), so leases that start at the floor repeat no id.
 */
void vs_ns_put_right(struct vs_ns_record *ns, const struct vs_lease_timing *timing, int64_t store_ms,
                     uint64_t incarnation);

enum vs_outcome {
    VS_STORE_OK,       /* done. `record` is the stored record (ver 0: there is none) */
    VS_STORE_CONFLICT, /* not done, because the version differs. `record` is the stored record */
    VS_STORE_MOVED,    /* not done, because the namespace's record has changed since it was read */
    VS_STORE_REFUSED,  /* not done, and a person must act (permissions, damage): retrying does not help */
    VS_STORE_DOWN,     /* not done, because the store is unreachable */
    VS_STORE_UNKNOWN   /* unknown: it may be done already, or may be done later */
};
_Static_assert(VS_STORE_UNKNOWN + 1 == VS_RENEWALS, "every answer to a renewal is counted");

enum vs_event_kind {
    VS_EV_WAKE,   /* a sleep has ended, or an issuer needs a lease or more ticks */
    VS_EV_REPLY,  /* the store's answer to NS_READ, NS_SWAP, READ or SWAP */
    VS_EV_CHOSEN, /* answers CHOOSE with `worker`, or with found = false */
    VS_EV_SLOT,   /* answers TAKE with `slot` and the new token in `owner` */
    VS_EV_CLOSED, /* answers CLOSE. If `found`, `cursor` is exact. Otherwise another process closed the slot first */
    VS_EV_DONE    /* answers PUBLISH, RAISE, STAY, FAILSTOP or RECOVER */
};

struct vs_event {
    enum vs_event_kind kind;
    int64_t boot_us, unix_us; /* the time of the event */
    int64_t doubt_us;         /* from vs_clock_doubt_us: the clock cannot be trusted for this long. 0: it can */
    bool wanted;              /* an issuer waits for a lease */
    bool stop;                /* release the lease and end */
    bool leave;               /* a policy wants to replace the held worker id */
    bool stirred;             /* the store may have changed since its last answer, so renew to find out */
    uint64_t cursor;          /* the cursor of the held slot: min(tick, limit) */
    bool lost;                /* the held slot was closed, but not by this engine */
    enum vs_outcome outcome;  /* for VS_EV_REPLY, like the next four members */
    int64_t store_ms;         /* the store's clock when it answered */
    struct vs_record record;
    struct vs_ns_record ns;
    char text[VS_SAID_MAX]; /* the store's message, if it rejected the call */
    bool found;
    bool is_fixed; /* for CHOOSE: the worker id is derived from the configuration, and is treated as set by hand */
    uint64_t worker, owner[2];
    int slot;                 /* an index, or one of the values below */
#define VS_SLOT_NONE (-1)     /* the map has no slot left */
#define VS_SLOT_NO_TOKEN (-2) /* no slot was taken, because there are no random bytes for a token */
};
#define VS_NO_RANDOM "the kernel returned no random bytes, without which two claims could have the same token"

enum vs_do {
    VS_DO_SLEEP,    /* sleep until `until_boot_us`. If `on_want`, wake when an issuer needs ids */
    VS_DO_NS_READ,  /* read the namespace's record */
    VS_DO_NS_SWAP,  /* write `ns` if the stored version is `old_ver` */
    VS_DO_CHOOSE,   /* choose a worker id from the store's list */
    VS_DO_READ,     /* read the record of `worker` */
    VS_DO_TAKE,     /* take a new slot for `worker`, starting at tick `from`, with a new token */
    VS_DO_SWAP,     /* write `record` of `worker` if the stored version is `old_ver` */
    VS_DO_PUBLISH,  /* open `slot` up to `limit` */
    VS_DO_RAISE,    /* raise `slot` to `limit` */
    VS_DO_CLOSE,    /* close `slot` */
    VS_DO_STAY,     /* end the request of vesta_switch: the worker id is not replaced */
    VS_DO_FAILSTOP, /* stop issuing, because the store lost acknowledged writes */
    VS_DO_RECOVER,  /* end the failstop, because a person has repaired the store */
    VS_DO_END       /* the engine has ended */
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

/* The options of an engine.  Layout and identity must live as long as the engine.  The holder's string is copied. */
struct vs_lease_opts {
    const struct vesta_layout *layout;
    const char *identity, *holder;
    bool has_worker;
    uint64_t worker;
    bool is_history; /* history pacing: bounds follow the cursor, not the clock */
    struct vs_lease_timing timing;
    uint64_t entropy;     /* random, for the incarnation of a namespace that this engine creates */
    uint64_t incarnation; /* the namespace's incarnation that an earlier keeper of the file has seen. 0: unknown */
    uint64_t granted;     /* the highest end of a lease of this file */
    uint64_t failed_in;   /* the incarnation for which an earlier keeper caused a failstop */
    bool is_judged;       /* a policy takes part in every claim, even of a worker id set by hand */
    /* The holder's ids come from a generator without ticks.  So a held record of this identity may belong to a program
     * that still runs, and must expire before it is claimed, even if its `until` has passed. */
    bool waits_for_expiry;
    bool is_local; /* only this host uses the store */
    /* The lease that the map already has: `published`, or claimed but not published.  slot -1: none. */
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
    VS_PH_MOVING, /* closing the lease, because the store was replaced and repaired */
    VS_PH_SWITCH, /* choosing a worker id to replace the one that is held */
    VS_PH_SWITCH_READ,
    VS_PH_STAY,
    VS_PH_CLOSING,
    VS_PH_RELEASE,
    VS_PH_RELEASE_NS,
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
    uint64_t failed_in; /* the incarnation that lost acknowledged writes or denies its leases. 0: none */
    bool has_worker, is_history, is_judged, waits_for_expiry, is_local;
    bool is_fixed; /* the chosen worker id is derived from the generator's configuration */
    uint64_t wanted_worker;
    const struct vesta_layout *layout;
    const char *identity;
    char holder[VS_HOLDER_MAX];

    enum vs_phase phase, after; /* the phase after a sleep */
    struct vs_record record;    /* the worker id's record, as last read or written */
    struct vs_ns_record ns;
    uint64_t worker, owner[2], from;
    uint64_t until;          /* the bound that the store last acknowledged */
    uint64_t granted;        /* the highest end of a lease of this file */
    uint64_t asked;          /* `until` of the write in progress */
    uint64_t earliest;       /* earlier holders' ids and all watermarks end below it.  0: unknown, or there are none */
    uint64_t asked_cursor;   /* the cursor when that write was sent */
    uint64_t renewed_cursor; /* the cursor at the last renewal, to detect issuing since then */
    int64_t sent_boot_us, renewed_boot_us;
    int64_t sent_before_us; /* when the write before the last one was sent. 0: there was none */
    int64_t deadline_us;    /* the deadline of the acknowledged lease. 0: none */
    int64_t store_ms;       /* the store's clock at its last answer. 0: no answer yet */
    int64_t store_boot_us;  /* the time of that answer */
    unsigned troubles;      /* failed calls in a row, not counting conflicts */
    unsigned unsettled;     /* writes with unknown outcome since the last acknowledged one */
    uint64_t dice;          /* a random number that varies the delays before retries */
    int slot;               /* -1: none */
    bool published;
    unsigned attempt;
    bool was_lost; /* another process took over `lost_worker`, and no worker id was claimed since then */
    uint64_t lost_worker;
    bool leaves; /* the held worker id is being released to take `next_worker` */
    uint64_t next_worker;
    bool not_given_back;    /* the release was sent to the store, which has not confirmed it */
    char said[VS_SAID_MAX]; /* the last message, for people to read. "" if there is no fault */
};

void vs_lease_init(struct vs_lease *lease, const struct vs_lease_opts *opts);

/* Handles an event and sets the next action.  Threads: one at a time. */
void vs_lease_step(struct vs_lease *lease, const struct vs_event *event, struct vs_action *action);

/* Returns whether watermarks of the namespace rely on this generator. */
bool vs_lease_is_marked(const struct vs_lease *lease);

/* Returns the state of the lease at an event's time and cursor. */
enum vs_lease_state vs_lease_state_of(const struct vs_lease *lease, const struct vs_event *event);

/* A worker id that has a record. */
struct vs_listed {
    uint64_t worker;
    struct vs_record record;
};
/* The records of a store.  Shape: listed[0..count), ascending by worker. */
struct vs_listing {
    const struct vs_listed *listed;
    size_t count;
    int64_t store_ms; /* the store's clock when the records were read */
};
/* Returns whether the record's lease was released or has expired. */
bool vs_record_is_free(const struct vs_record *r, int64_t store_ms);
/* Returns the listing without worker ids above worker_max. */
struct vs_listing vs_listing_up_to(struct vs_listing listing, uint64_t worker_max);
/* Chooses a random worker id in [0, worker_max] that is neither listed nor reserved for assignment by hand.  Returns
 * false if there is none. */
bool vs_choose_unused(const struct vs_ns_record *ns, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                      uint64_t *worker);
/* Makes the default choice (policy `any`): the generator's own worker id if it can be claimed at once, else a worker id
 * that was never used, else a free or expired worker id.  A worker id with a record that ends ahead of the clock is
 * chosen only if there is no better one.  Returns false if every worker id is held. */
bool vs_choose_any(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                   uint64_t *worker);

/* Chooses a worker id to replace the held one: a worker id that was never used, else the free worker id with the record
 * that ends first. */
bool vs_choose_other(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                     uint64_t *worker);

#endif
