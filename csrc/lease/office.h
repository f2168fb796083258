/* office.h -- a keeper's term of office: steps the lease engine and does to the map what it decides.  Knows no store
 * and no thread: what needs the world comes in through one table, real in the keeper, virtual in the simulator. */
#ifndef VS_OFFICE_H
#define VS_OFFICE_H

#include "lease/lease.h"

enum vs_stop { VS_KEEP_ON = 0, VS_HAND_OVER, VS_GIVE_BACK };

struct vs_office;

struct vs_office_ops {
    /* NS_READ, NS_SWAP, READ, SWAP: fills the event's outcome, store_ms, record, ns and text.
     * CHOOSE: lists the records and calls vs_office_choose; leaves `found` false, with a text, where it cannot. */
    void (*ask)(struct vs_office *office, const struct vs_action *action, struct vs_event *ev);
    /* Returns at that instant, when shared.want is not office->want_seen (if on_want), or when told to stop. */
    void (*sleep)(struct vs_office *office, int64_t until_boot_us, bool on_want);
    /* What this keeper was told; VS_GIVE_BACK only while nobody else has the file open. */
    enum vs_stop (*stop)(struct vs_office *office);
    bool (*random)(struct vs_office *office, void *out, size_t size);
    /* Whether no other keeper of this file is in office, nor can take it before this one has left it.  NULL: none is.
     */
    bool (*alone)(struct vs_office *office);
};

struct vs_office {
    struct vs_map *map;
    const struct vesta_clock *clock;
    const struct vesta_layout *layout;
    const struct vs_office_ops *ops;
    uint32_t pid;
    bool is_judged;     /* a policy of this process has a say in every claim */
    uint64_t token;     /* this keeper's, while nobody has taken its place; 0: nobody can (the simulator) */
    uint32_t want_seen; /* the last value of shared.want that was answered */
    bool is_stirred;    /* the last sleep ended because the store may be another now */
    bool was_named;     /* the last choice was a policy's, not the default one */
    struct vs_lease lease;
};

enum vs_term { VS_TERM_LEFT, VS_TERM_GAVE_BACK, VS_TERM_USED_UP /* the file has no slot left */ };

/* A keeper that has shown nothing for so long is replaced by another process of its file. */
#define VS_PULSE_US 2000000

/* One that seems silent has just taken office, or woken with the machine: it is looked at again for so long. */
#define VS_SILENCE_US 400000

/* The keeper in office, when it was looked at last. */
struct vs_watched {
    uint64_t token;
    int64_t pulse_us, silent_us;
};

/* Whether the keeper in office has been silent for too long, and was so when it was looked at before. */
bool vs_office_is_silent(const struct vs_map *map, struct vs_watched *was, int64_t boot_us);

/* Puts `token` in office, in the place of the keeper that `was` there: false where another was faster.  Its predecessor
 * may be alive, and go on until it sees that: two keepers at once are wasteful, not wrong. */
bool vs_office_seat(struct vs_map *map, uint64_t was, uint64_t token, uint32_t pid, int64_t boot_us);
/* Shows that this keeper is well, and that it need not be heard of again for `for_us`: as long as a call may take that
 * it is about to make. */
void vs_office_beat(struct vs_office *office, int64_t for_us);
/* Whether another has taken this keeper's place. */
bool vs_office_is_replaced(const struct vs_office *office);

/* Takes office: map, clock, layout, ops and pid are filled in; what the map says of a lease is taken up. */
void vs_office_enter(struct vs_office *office, const char *holder, const struct vs_lease_timing *timing);

/* Where that was asked for: ends what keepers of this file had begun, and rests until somebody wants a lease or this
 * keeper shall stop.  Before taking office. */
void vs_office_rest(struct vs_office *office);

/* Steps the engine until it ends, or until this keeper shall stop and others are there to go on. */
enum vs_term vs_office_serve(struct vs_office *office);

/* The answer to CHOOSE over a store's list (ascending numbers, read at store_ms). */
void vs_office_choose(struct vs_office *office, const struct vs_listed *listed, size_t count, int64_t store_ms,
                      struct vs_event *ev);

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
