/* term.h -- a keeper's term: steps the lease engine and applies its actions to the map.  It uses no store and no thread
 * itself, but a table of operations, which are real in the keeper and virtual in the simulator. */
#ifndef VS_TERM_H
#define VS_TERM_H

#include "lease/lease.h"

enum vs_stop {
    VS_KEEP_ON = 0,
    VS_HAND_OVER, /* end the term, and leave the lease to another keeper */
    VS_GIVE_BACK  /* release the lease, and end the term */
};

struct vs_term;

struct vs_term_ops {
    /* Performs an action that needs the store.  For NS_READ, NS_SWAP, READ and SWAP, sets outcome, store_ms, record, ns
     * and text of the event.  For CHOOSE, lists the records and calls vs_term_choose, or, if that fails, leaves `found`
     * false and sets a text.  Returns false if there is no answer yet.  In this case the call is repeated later. */
    bool (*ask)(struct vs_term *term, const struct vs_action *action, struct vs_event *ev);
    /* Waits until the time `until_boot_us`, until shared.want differs from term->want_seen (if on_want), or until this
     * keeper must stop.  Then returns true.  A keeper of several files does not wait: the function returns false, and
     * is called again later. */
    bool (*sleep)(struct vs_term *term, int64_t until_boot_us, bool on_want);
    /* Returns whether this keeper must stop, and how.  Returns VS_GIVE_BACK only while no other process has the file
     * open. */
    enum vs_stop (*stop)(struct vs_term *term);
    /* Fills `out` with random bytes. */
    bool (*random)(struct vs_term *term, void *out, size_t size);
    /* Returns whether no other keeper of this file is in a term, or can begin one before this term ends.  NULL: this is
     * always true. */
    bool (*alone)(struct vs_term *term);
};

struct vs_term {
    struct vs_map *map;
    const struct vesta_clock *clock;
    const struct vesta_layout *layout;
    const struct vs_term_ops *ops;
    uint32_t pid;
    bool is_judged;     /* a policy of this process takes part in every claim */
    bool is_local;      /* only this host uses the store */
    uint64_t token;     /* identifies this keeper's term. 0: it cannot be replaced (in the simulator) */
    uint32_t want_seen; /* the last value of shared.want that was handled */
    bool is_stirred;    /* the last sleep ended because the store may have changed */
    bool was_named;     /* a policy made the last choice */
    bool has_rested;    /* the leases are closed for the requested rest, which may continue */
    int64_t boot_us;    /* the time of the current step, read once */
    /* Stored while vs_term_serve waits: the action that is not finished, and parts of the last event. */
    bool is_under_way, on_want;
    enum vs_do doing; /* VS_DO_SLEEP or VS_DO_CHOOSE */
    int64_t until_boot_us;
    uint64_t cursor;
    struct vs_lease lease;
};

enum vs_term_end {
    VS_TERM_LEFT,      /* another keeper continues, or a new term must begin */
    VS_TERM_GAVE_BACK, /* the lease is released */
    VS_TERM_USED_UP,   /* the map has no slot left */
    VS_TERM_WAITS      /* the term has not ended: call vs_term_serve again when the awaited event has occurred */
};

/* If a keeper is unresponsive for this long, another process that uses the file replaces it. */
#define VS_PULSE_US 2000000

/* An unresponsive keeper is checked again after this time, because it may have just begun its term, or the machine may
 * have just woken up. */
#define VS_SILENCE_US 400000
_Static_assert(VS_SILENCE_US < VS_PULSE_US, "a keeper that is checked again is not replaced in the meantime");

/* The state of another process's keeper when it was last checked. */
struct vs_watched {
    uint64_t token;
    int64_t pulse_us, silent_us;
};

/* Returns whether the keeper has been unresponsive for too long, both now and at an earlier check. */
bool vs_term_is_silent(const struct vs_map *map, struct vs_watched *was, int64_t boot_us);

/* Begins a term under `token`, replacing the keeper with the token `was`.  Returns false if another keeper was faster.
 * The replaced keeper may still run, and continues until it notices the replacement.  Two keepers at once waste work
 * but are safe. */
bool vs_term_take(struct vs_map *map, uint64_t was, uint64_t token, uint32_t pid, int64_t boot_us);
/* Reports that the keeper is alive, for the next `for_us`: the longest time that the keeper's next call may take. */
void vs_term_beat(struct vs_term *term, int64_t for_us);
/* Returns whether another keeper has replaced this one. */
bool vs_term_is_replaced(const struct vs_term *term);

/* Begins a term.  The caller has set map, clock, layout, ops and pid.  If the map has a lease, the term resumes it. */
void vs_term_begin(struct vs_term *term, const char *holder, const struct vs_lease_timing *timing);

/* If a rest was requested, ends the leases and claims of all keepers of this file, and waits until an id is requested
 * or this keeper must stop.  Call it before vs_term_begin.  Returns false if the rest is not over.  Call it again in
 * this case. */
bool vs_term_rest(struct vs_term *term);

/* Steps the engine until it ends or waits, or until this keeper must stop because another keeper can continue. */
enum vs_term_end vs_term_serve(struct vs_term *term);

/* Answers CHOOSE from a store's records. */
void vs_term_choose(struct vs_term *term, struct vs_listing listing, struct vs_event *ev);

/* Asks the keeper to replace the worker id of this slot, at most once a minute.  Returns false if the last request was
 * less than a minute ago and the keeper has decided it. */
bool vs_map_leave(struct vs_map *map, uint32_t slot, int64_t boot_us);

/* Closes the active slot at its cursor, which loses the remaining ticks of its lease.  Returns false if no slot was
 * open. */
bool vs_map_drop(struct vs_map *map);

/* Ends a map permanently, because another map has replaced it or can be created.  It closes all slots, because a second
 * keeper may have opened another slot. */
void vs_map_retire(struct vs_map *map);

/* Sets the keeper's last message, for people to read.  Readers may see parts of two messages, but always a NUL. */
void vs_map_say(struct vs_map *map, const char *text);

#endif
