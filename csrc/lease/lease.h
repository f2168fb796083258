/* lease.h -- the lease engine: claims a worker number, renews ahead of need, gives it back.  Pure: its inputs are
 * replies and times, its outputs are actions.  The keeper carries them out against a real store, the simulator
 * against a virtual one.
 *
 * What it rests on: a store's record is changed only by compare-and-set on its version, and no tick at or past the
 * record's `until` was ever granted.  A new holder starts at `until`; a holder issues only below what the store has
 * acknowledged.  Leases and clocks decide when a number may be used again, never whether ids repeat. */
#ifndef VS_LEASE_H
#define VS_LEASE_H

#include "generator/generator.h"
#include "lease/record.h"

struct vs_lease_timing {
    const char *name;
    int64_t window_ms;   /* W: how far ahead of need `until` is set */
    int64_t renew_ms;    /* R: not more often than this unless issuers wait */
    int64_t idle_ms;     /* at least this often while no id is given; 0: only when a third of the window is over */
    int64_t lease_ms;    /* L: how long others must leave the number alone after the last write */
    int64_t deadline_ms; /* issuing stops this long after an acknowledged write was sent; 0: never */
    int64_t skew_ms;     /* S: how far clocks may be apart from the store's; nothing is granted past store + S + W */
    int64_t call_ms; /* how long one call waits for the store: a far one, or one whose disk is slow, is no silent one */
    int64_t floor_ms; /* a record that did not exist starts this far ahead of the store's clock */
    bool is_shared;   /* many ask the store over a network: retries back off and spread */
};

/* On one host there is no one to miss a heartbeat, so an idle holder writes only to keep its window from running out: a
 * write a minute.  The window is minutes long, because whoever is stopped or hangs on a disk may have the store locked.
 */
extern const struct vs_lease_timing vs_lease_timing_file;

/* "local", "strict", "balanced", "autonomous"; NULL for other names. */
const struct vs_lease_timing *vs_lease_preset(const char *name);

/* The timing of a preset for a lease.  A number given by hand has a small window, so that its own generator, killed
 * and started again, need not wait for the old window to pass; history pacing's window is counted in ids, not in time.
 */
struct vs_lease_timing vs_lease_timing_for(const struct vs_lease_timing *preset, bool has_worker);

/* How a holder stands with its store, for people and metrics; issuing asks only limit and deadline. */
enum vs_lease_state {
    VS_LEASE_CLAIMING, /* none is held */
    VS_LEASE_ACTIVE,
    VS_LEASE_RENEWING, /* a renewal is under way */
    VS_LEASE_SUSPECT,  /* the store has not acknowledged a renewal for twice its period: ids go on inside the window */
    VS_LEASE_DRAINED,  /* window or deadline are over: no ids until the store answers; the lease may still be ours */
    VS_LEASE_FENCED,   /* another holds the number */
    VS_LEASE_FAILSTOP  /* the store went back */
};
const char *vs_lease_state_name(enum vs_lease_state state);

/* The namespace's record once a person has put a store right that lost what it had acknowledged: nothing that was ever
 * granted with this timing reaches its floor (the second line above), so leases that start there repeat nothing. */
void vs_ns_put_right(struct vs_ns_record *ns, const struct vs_lease_timing *timing, int64_t store_ms,
                     uint64_t incarnation);

enum vs_outcome {
    VS_STORE_OK,       /* done; `record` is what is stored now (ver 0: there is none) */
    VS_STORE_CONFLICT, /* not done: the version is another; `record` is what is stored */
    VS_STORE_MOVED,    /* not done: the namespace's record is another than when it was read last */
    VS_STORE_REFUSED,  /* not done, and asking again will not help: a person must act (rights, damage) */
    VS_STORE_DOWN,     /* not done: the store could not be reached */
    VS_STORE_UNKNOWN   /* perhaps done, now or later */
};
_Static_assert(VS_STORE_UNKNOWN + 1 == VS_RENEWALS, "every answer to a renewal is counted");

enum vs_event_kind {
    VS_EV_WAKE,   /* a sleep is over, or somebody wants more */
    VS_EV_REPLY,  /* to NS_READ, NS_SWAP, READ, SWAP */
    VS_EV_CHOSEN, /* to CHOOSE: `worker`, or none where !found */
    VS_EV_SLOT,   /* to TAKE: `slot` (-1: the file has none left) and the fresh token in `owner` */
    VS_EV_CLOSED, /* to CLOSE: `cursor` is exact where `found`, else another had closed the slot */
    VS_EV_DONE    /* to PUBLISH, RAISE, STAY, FAILSTOP, RECOVER */
};

struct vs_event {
    enum vs_event_kind kind;
    int64_t boot_us, unix_us; /* now */
    int64_t doubt_us;         /* vs_clock_doubt_us: the clock must not be used for this long; 0: it may */
    bool wanted;              /* an issuer waits for a lease */
    bool stop;                /* give back and end */
    bool leave;               /* a policy wants another number than the held one */
    bool stirred;             /* the store may be another than at its last answer: worth a renewal now */
    uint64_t cursor;          /* min(tick, limit) of the held slot */
    bool lost;                /* the held slot was closed, and not by this engine */
    enum vs_outcome outcome;
    int64_t store_ms; /* the store's clock at the reply */
    struct vs_record record;
    struct vs_ns_record ns;
    char text[VS_SAID_MAX]; /* what the store said of a refusal */
    bool found;
    bool is_fixed; /* to CHOOSE: the number follows from what the generator is, as one given by hand */
    uint64_t worker, owner[2];
    int slot;                 /* or one of these */
#define VS_SLOT_NONE (-1)     /* the map is used up */
#define VS_SLOT_NO_TOKEN (-2) /* no random bytes: nothing was taken */
};
#define VS_NO_RANDOM "the kernel gives no random bytes, without which a claim could be taken for another's"

enum vs_do {
    VS_DO_SLEEP, /* until `until_boot_us`, or until somebody wants a lease where `on_want` */
    VS_DO_NS_READ,
    VS_DO_NS_SWAP,  /* write `ns` if the stored version is `old_ver` */
    VS_DO_CHOOSE,   /* pick a worker over the store's list */
    VS_DO_READ,     /* the record of `worker` */
    VS_DO_TAKE,     /* a slot of its own for `worker` from tick `from`, with a fresh token */
    VS_DO_SWAP,     /* write `record` of `worker` if the stored version is `old_ver` */
    VS_DO_PUBLISH,  /* open `slot` up to `limit` */
    VS_DO_RAISE,    /* raise `slot` to `limit` */
    VS_DO_CLOSE,    /* close `slot` */
    VS_DO_STAY,     /* the number is not left: whoever wanted that wants it no more */
    VS_DO_FAILSTOP, /* stop issuing: the store went back */
    VS_DO_RECOVER,  /* lift that: a person has put the store right */
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

/* What a lease is for.  Layout and identity live on as long as the lease does; the holder's text is copied. */
struct vs_lease_opts {
    const struct vesta_layout *layout;
    const char *identity, *holder;
    bool has_worker;
    uint64_t worker;
    bool is_history; /* pacing: ids follow the cursor, not the clock */
    struct vs_lease_timing timing;
    uint64_t entropy;     /* for the incarnation of a namespace made by this call */
    uint64_t incarnation; /* known from an earlier keeper of the same file; 0: none */
    uint64_t granted;     /* no tick of this file at or past it was ever granted */
    uint64_t failed_in;   /* an earlier keeper stopped everything for what this incarnation of the store lost */
    bool is_judged;       /* a policy has a say in every claim, also of a number given by hand */
    /* a lease that the map already has, open or claimed and not published; slot -1: none */
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
    VS_PH_MOVING, /* closing a lease of a store that was replaced and put right */
    VS_PH_SWITCH, /* another number for the held one: choosing it, ... */
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
    uint64_t failed_in; /* the incarnation that went back or denies what it granted; 0: none has */
    bool has_worker, is_history, is_judged;
    bool is_fixed; /* the number that was chosen follows from what the generator is */
    uint64_t wanted_worker;
    const struct vesta_layout *layout;
    const char *identity;
    char holder[VS_HOLDER_MAX];

    enum vs_phase phase, after; /* after: where a sleep goes on */
    struct vs_record record;    /* as last read or written */
    struct vs_ns_record ns;
    uint64_t worker, owner[2], from;
    uint64_t until;          /* last acknowledged */
    uint64_t granted;        /* the highest `until` that this file ever had */
    uint64_t asked;          /* `until` of the swap under way */
    uint64_t asked_cursor;   /* the cursor when that was sent */
    uint64_t renewed_cursor; /* the cursor at the last renewal: has anything been issued since? */
    int64_t sent_boot_us, renewed_boot_us;
    int64_t sent_before_us;          /* the write before the last one sent; 0: none */
    int64_t deadline_us;             /* of what was acknowledged; 0: none */
    int64_t store_ms, store_boot_us; /* the store's clock at its last answer, and when that was; 0: not heard yet */
    unsigned troubles;               /* answers in a row that were neither yes nor a conflict */
    unsigned unsettled;              /* writes since one was acknowledged of which it is not known what they did */
    uint64_t dice;                   /* spreads retries */
    int slot;                        /* -1: none taken */
    bool published;
    unsigned attempt;
    bool was_lost; /* `lost_worker` was held, and somebody took it over; nothing was claimed since */
    uint64_t lost_worker;
    bool leaves; /* the held number is being given back for `next_worker` */
    uint64_t next_worker;
    bool not_given_back;    /* the end of a lease was sent to the store, which did not say that it took it */
    char said[VS_SAID_MAX]; /* the last thing worth telling, "" if all is well */
};

void vs_lease_init(struct vs_lease *lease, const struct vs_lease_opts *opts);

/* Takes an event, gives the next action.  Threads: one at a time. */
void vs_lease_step(struct vs_lease *lease, const struct vs_event *event, struct vs_action *action);

/* How the lease stands at an event's time and cursor. */
enum vs_lease_state vs_lease_state_of(const struct vs_lease *lease, const struct vs_event *event);

/* The default choice over a list (policy `any`): one's own number if it can be had at once, then a number never used,
 * then a free or expired one; never one whose record ends ahead of the clock while another exists.  Pure. Shape:
 * listed[0..count) with ascending numbers.  False: every number is held. */
struct vs_listed {
    uint64_t worker;
    struct vs_record record;
};
struct vs_listing {
    const struct vs_listed *listed;
    size_t count;
    int64_t store_ms; /* when it was read, by the store's clock */
};
/* Without what is no number of a layout. */
struct vs_listing vs_listing_up_to(struct vs_listing listing, uint64_t worker_max);
bool vs_choose_any(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                   uint64_t *worker);

/* The same in place of the number that is held: one never used, else the one that was free for longest. */
bool vs_choose_other(const struct vs_lease *lease, struct vs_listing listing, uint64_t worker_max, uint64_t random,
                     uint64_t *worker);

#endif
