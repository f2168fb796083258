/* term.h -- a keeper's term: steps the lease engine and does to the map what it decides.  Knows no store
 * and no thread: what needs the world comes in through one table, real in the keeper, virtual in the simulator. */
#ifndef VS_TERM_H
#define VS_TERM_H

#include "lease/lease.h"

enum vs_stop { VS_KEEP_ON = 0, VS_HAND_OVER, VS_GIVE_BACK };

struct vs_term;

struct vs_term_ops {
    /* NS_READ, NS_SWAP, READ, SWAP: fills the event's outcome, store_ms, record, ns and text.
     * CHOOSE: lists the records and calls vs_term_choose; leaves `found` false, with a text, where it cannot.
     * False: somebody else is being asked, and the same is to be asked again later. */
    bool (*ask)(struct vs_term *term, const struct vs_action *action, struct vs_event *ev);
    /* True at that instant, when shared.want is not term->want_seen (if on_want), or when told to stop.  Who has other
     * files to keep does not wait for that, and says false. */
    bool (*sleep)(struct vs_term *term, int64_t until_boot_us, bool on_want);
    /* What this keeper was told; VS_GIVE_BACK only while nobody else has the file open. */
    enum vs_stop (*stop)(struct vs_term *term);
    bool (*random)(struct vs_term *term, void *out, size_t size);
    /* Whether no other keeper of this file is in its term, nor can begin one before this one has ended.  NULL: none is.
     */
    bool (*alone)(struct vs_term *term);
};

struct vs_term {
    struct vs_map *map;
    const struct vesta_clock *clock;
    const struct vesta_layout *layout;
    const struct vs_term_ops *ops;
    uint32_t pid;
    bool is_judged;     /* a policy of this process has a say in every claim */
    uint64_t token;     /* this keeper's, while nobody has taken its place; 0: nobody can (the simulator) */
    uint32_t want_seen; /* the last value of shared.want that was answered */
    bool is_stirred;    /* the last sleep ended because the store may be another now */
    bool was_named;     /* the last choice was a policy's, not the default one */
    bool has_rested;    /* what a rest asks for is done, whether or not it is over */
    int64_t boot_us;    /* of the step under way: read once for all that the step does */
    /* what outlasts a wait: of the action that the world has not answered yet, and of the last event */
    bool is_under_way, on_want;
    enum vs_do doing; /* a sleep, or a choice */
    int64_t until_boot_us;
    uint64_t cursor;
    struct vs_lease lease;
};

enum vs_term_end {
    VS_TERM_LEFT,
    VS_TERM_GAVE_BACK,
    VS_TERM_USED_UP, /* the file has no slot left */
    VS_TERM_WAITS    /* it is no end: the term is to be served again when what it waits for has come */
};

/* A keeper that has shown nothing for so long is replaced by another process of its file. */
#define VS_PULSE_US 2000000

/* One that seems silent has just begun its term, or woken with the machine: it is looked at again for so long. */
#define VS_SILENCE_US 400000
_Static_assert(VS_SILENCE_US < VS_PULSE_US, "who is looked at again is not replaced meanwhile");

/* The keeper in its term, when it was looked at last. */
struct vs_watched {
    uint64_t token;
    int64_t pulse_us, silent_us;
};

/* Whether the keeper in its term has been silent for too long, and was so when it was looked at before. */
bool vs_term_is_silent(const struct vs_map *map, struct vs_watched *was, int64_t boot_us);

/* Begins a term under `token`, in the place of the keeper that `was` there: false where another was faster.  Its
 * predecessor may be alive, and go on until it sees that: two keepers at once are wasteful, not wrong. */
bool vs_term_take(struct vs_map *map, uint64_t was, uint64_t token, uint32_t pid, int64_t boot_us);
/* Shows that this keeper is well in the step under way, and that it need not be heard of again for `for_us`: as long as
 * a call may take that it is about to make. */
void vs_term_beat(struct vs_term *term, int64_t for_us);
/* Whether another has taken this keeper's place. */
bool vs_term_is_replaced(const struct vs_term *term);

/* Begins a term: map, clock, layout, ops and pid are filled in; what the map says of a lease is taken up. */
void vs_term_begin(struct vs_term *term, const char *holder, const struct vs_lease_timing *timing);

/* Where that was asked for: ends what keepers of this file had begun, and rests until somebody wants a lease or this
 * keeper shall stop.  Before it begins its term.  False: it rests still, and is to be called again. */
bool vs_term_rest(struct vs_term *term);

/* Steps the engine until it ends or waits, or until this keeper shall stop and others are there to go on. */
enum vs_term_end vs_term_serve(struct vs_term *term);

/* The answer to CHOOSE over a store's list (ascending numbers). */
void vs_term_choose(struct vs_term *term, struct vs_listing listing, struct vs_event *ev);

/* Asks the keeper for another number than the one of this slot, at most once a minute.  False: that was asked less than
 * a minute ago, and is decided. */
bool vs_map_leave(struct vs_map *map, uint32_t slot, int64_t boot_us);

/* Closes the active slot, wherever its cursor stands: what it was granted is lost.  False: none was open. */
bool vs_map_drop(struct vs_map *map);

/* Ends a map for ever: another one is in its place, or can be made there.  Another keeper of it may have a slot open.
 */
void vs_map_retire(struct vs_map *map);

/* What a keeper last met, for people: readers may see two sentences mixed, never one without an end. */
void vs_map_say(struct vs_map *map, const char *text);

#endif
