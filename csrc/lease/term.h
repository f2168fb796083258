/* term.h -- a keeper's term: steps the lease engine and applies its actions to the map.  It uses no store and no
 * thread: the keeper passes real operations in a table, the simulator virtual ones. */
#ifndef VS_TERM_H
#define VS_TERM_H

#include "lease/lease.h"

enum vs_stop { VS_KEEP_ON = 0, VS_HAND_OVER, VS_GIVE_BACK };

struct vs_term;

struct vs_term_ops {
    /* NS_READ, NS_SWAP, READ, SWAP: sets outcome, store_ms, record, ns and text of the event.  CHOOSE: lists the
     * records and calls vs_term_choose.  If it cannot, it leaves `found` false and sets a text.  False: the answer is
     * not there yet, so repeat the call later. */
    bool (*ask)(struct vs_term *term, const struct vs_action *action, struct vs_event *ev);
    /* True when that time has come, when shared.want differs from term->want_seen (if on_want), or when told to stop.
     * A keeper of several files does not wait, and returns false. */
    bool (*sleep)(struct vs_term *term, int64_t until_boot_us, bool on_want);
    /* The order for this keeper.  VS_GIVE_BACK only while no other process has the file open. */
    enum vs_stop (*stop)(struct vs_term *term);
    bool (*random)(struct vs_term *term, void *out, size_t size);
    /* Whether no other keeper of this file is in its term or can begin one before this one ends.  NULL: always so. */
    bool (*alone)(struct vs_term *term);
};

struct vs_term {
    struct vs_map *map;
    const struct vesta_clock *clock;
    const struct vesta_layout *layout;
    const struct vs_term_ops *ops;
    uint32_t pid;
    bool is_judged;     /* a policy of this process takes part in every claim */
    uint64_t token;     /* of this keeper while no other keeper has replaced it. 0: it cannot be replaced (the
                           simulator) */
    uint32_t want_seen; /* the last value of shared.want that was handled */
    bool is_stirred;    /* the last sleep ended because the store may have changed */
    bool was_named;     /* a policy made the last choice */
    bool has_rested;    /* the work of a rest is done, even if the rest continues */
    int64_t boot_us;    /* the time of the present step, read once */
    /* kept during a wait: the action that is not finished, and parts of the last event */
    bool is_under_way, on_want;
    enum vs_do doing; /* a sleep or a choice */
    int64_t until_boot_us;
    uint64_t cursor;
    struct vs_lease lease;
};

enum vs_term_end {
    VS_TERM_LEFT,
    VS_TERM_GAVE_BACK,
    VS_TERM_USED_UP, /* the file has no slot left */
    VS_TERM_WAITS    /* not an end: call vs_term_serve again when the awaited event has come */
};

/* A keeper without a sign of life for this long is replaced by another process of its file. */
#define VS_PULSE_US 2000000

/* A silent keeper may have just begun its term, or woken with the machine.  So it is checked again after this time. */
#define VS_SILENCE_US 400000
_Static_assert(VS_SILENCE_US < VS_PULSE_US, "a keeper that is checked again is not replaced in the meantime");

/* The state of the keeper when it was last checked. */
struct vs_watched {
    uint64_t token;
    int64_t pulse_us, silent_us;
};

/* Whether the keeper has been silent for too long, now and at an earlier check. */
bool vs_term_is_silent(const struct vs_map *map, struct vs_watched *was, int64_t boot_us);

/* Begins a term under `token` in place of the keeper `was`.  False: another keeper was faster.  The replaced keeper may
 * be alive and continue until it notices.  Two keepers at once waste work but are correct. */
bool vs_term_take(struct vs_map *map, uint64_t was, uint64_t token, uint32_t pid, int64_t boot_us);
/* Shows a sign of life, valid for `for_us`: as long as the next call of the keeper may take. */
void vs_term_beat(struct vs_term *term, int64_t for_us);
/* Whether another keeper has replaced this one. */
bool vs_term_is_replaced(const struct vs_term *term);

/* Begins a term.  The caller has set map, clock, layout, ops and pid.  A lease in the map is resumed. */
void vs_term_begin(struct vs_term *term, const char *holder, const struct vs_lease_timing *timing);

/* If a rest was requested: ends the leases and claims of all keepers of this file, and waits until an id is requested
 * or this keeper must stop.  Call it before vs_term_begin.  False: still resting, call it again. */
bool vs_term_rest(struct vs_term *term);

/* Steps the engine until it ends or waits, or until this keeper must stop because others can continue. */
enum vs_term_end vs_term_serve(struct vs_term *term);

/* Answers CHOOSE from a store's list, ascending by worker. */
void vs_term_choose(struct vs_term *term, struct vs_listing listing, struct vs_event *ev);

/* Asks the keeper to replace the worker id of this slot, at most once a minute.  False: the last request was less than
 * a minute ago, and is decided. */
bool vs_map_leave(struct vs_map *map, uint32_t slot, int64_t boot_us);

/* Closes the active slot at its cursor.  The rest of its lease is lost.  False: no slot was open. */
bool vs_map_drop(struct vs_map *map);

/* Ends a map for ever, because there is another one in its place, or one can be made.  A second keeper of it may have a
 * slot open. */
void vs_map_retire(struct vs_map *map);

/* Writes the keeper's last message for people.  Readers may see parts of two messages, but always a terminated text. */
void vs_map_say(struct vs_map *map, const char *text);

#endif
