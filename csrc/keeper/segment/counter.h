/* counter.h -- a segment that this process has open: its map, and its part in each of its databases.  Each database has
 * one thread in the process, which fetches ranges for all segments with a part in it.
 *
 * When a caller first needs a range, the part is handed over to its database's thread (vs_database_hand_over).  The
 * thread owns the part until it leaves it.  In a process without that thread, for example a forked child at first, no
 * thread owns the part. */
#ifndef VS_SEGMENT_COUNTER_H
#define VS_SEGMENT_COUNTER_H

#include "keeper/options.h"
#include "mapping/mapping.h"
#include "segment/refill.h"
#include "store/store.h"

#include <pthread.h>

/* ------------------------------------------------------------------ the map */

struct vs_segment_map {
    union {
        struct vs_header header;
        char page[4096];
    };
    _Alignas(VS_LINE) _Atomic int64_t seen_us; /* Unix: when a process last used it; see vs_segment_see */
    _Atomic uint64_t form; /* fingerprint of the form that callers write its numbers in; 0: no caller with a form has
                              opened it, or an older version of vesta made it */
    struct vs_segment words;
};
extern const struct vs_map_kind vs_segment_map;

/* A map that numbers are, or were, taken from. */
struct vs_live {
    struct vs_live *before; /* older maps stay mapped until the segment is closed, because other threads may use them */
    struct vs_mapping mapping;
    struct vs_segment *words;
    struct vs_unclaimed rest[VS_RESTS_MAX]; /* rests that this process took out, for its parts to claim.  Filled with
                                               the process lock held */
};

/* ------------------------------------------------------------------ a database's thread */

struct vs_database {
    struct vs_database *next; /* list of this process; process lock */
    unsigned users;           /* segments that have a part in it; process lock */
    char uri[VS_URI_MAX], secret[VS_SECRET_MAX];
    int group;
    const struct vesta_clock *clock;
    pthread_t thread;
    _Atomic uint64_t runs_in; /* vs_process_token of the process that `thread` runs in; 0: none.  Set with the process
                                 lock held */
    _Atomic uint32_t work;    /* futex: raised when there is something to do */
    _Atomic uint32_t stop;
    _Atomic int64_t cut_us;                      /* store calls wait at most until then; 0: no limit */
    struct vs_segment_part *_Atomic handed_over; /* not yet in `parts` */
    struct vs_segment_part *parts;               /* used by the thread only */
};

enum vs_leave { VS_LEAVE_NOT, VS_LEAVE_QUIETLY, VS_LEAVE_AND_GIVE_BACK };

/* A database's answer to the share of the numbers that this host's order of the databases assigns to it. */
enum vs_share_state { VS_SHARE_UNASKED, VS_SHARE_FOUND, VS_SHARE_AWAY, VS_SHARE_REFUSED };

/* A segment in one of its databases. */
struct vs_segment_part {
    struct vs_segment_part *next; /* list of the database */
    struct vesta_segment *segment;
    struct vs_database *database;
    uint32_t index;
    _Atomic uint32_t wanted; /* 1: a caller needs a range, or the part has not run yet */
    _Atomic bool watches;    /* the thread will check again in a moment, so callers need not wake it */
    _Atomic uint32_t leave;  /* enum vs_leave */
    _Atomic bool is_handed;  /* the thread owns the part */
    _Atomic uint32_t left;   /* futex: how often the thread has left the part */
    /* used by the thread only */
    struct vs_refill refill;
    uint64_t token;       /* identifies this part in the segment's `refiller` */
    int64_t due_us;       /* boot time of the next run */
    bool on_want;         /* or run as soon as a range is wanted */
    int64_t used_us;      /* how long the last range lasted; 0: unknown */
    uint64_t step_max;    /* from the options, or the default */
    uint64_t turn;        /* the generation for which it waits for its turn */
    int64_t turn_from_us; /* since when it waits */
    _Atomic int64_t share_until_us; /* if it is the only database: when to ask again whether it issues all numbers */
    /* for status reports, and for the other parts */
    _Atomic bool is_troubled;
    _Atomic uint32_t share;                              /* enum vs_share_state */
    _Atomic bool is_refused;                             /* the last call was rejected */
    _Atomic bool forgets_form;                           /* the database user may not store the form of the numbers */
    _Atomic uint64_t step, ranges, answers[VS_RENEWALS]; /* answers: by enum vs_outcome */
    _Atomic int64_t fetch_us;                            /* duration of the last fetch; -1: none yet */
    _Atomic uint64_t per_1000_s;    /* numbers used in 1000 s, while the last range lasted; 0: unknown */
    _Atomic char said[VS_SAID_MAX]; /* a reader may see a mix of two texts, but always a terminated one */
    char shown[VS_URI_MAX];         /* the store's URI without password, for display */
};

/* ------------------------------------------------------------------ order `strict` */

#define VS_GROUPS 64 /* a caller that sleeps while this many groups are served must ask again */

/* Tickets [first, first + count) get the numbers from `from` on.  from 0: they failed. */
struct vs_group {
    _Atomic uint64_t turn; /* odd: being written */
    _Atomic uint64_t first, count, from;
};
struct vs_group_read {
    uint64_t first, count, from;
};

/* Belongs to one process.  A forked child starts with a copy, and takes its own numbers from then on. */
struct vs_strict {
    _Atomic uint64_t drawn; /* tickets drawn, one for each number requested */
    /* written by the database's thread */
    _Atomic uint64_t served; /* tickets answered */
    _Atomic uint32_t told;   /* futex: raised with each group */
    unsigned groups, troubles;
    int64_t raise_at_us; /* boot time at which to raise a counter that went back; 0: it did not go back */
    struct vs_group group[VS_GROUPS];
};

/* ------------------------------------------------------------------ a segment */

struct vesta_segment {
    /* read for every number */
    struct vs_segment *_Atomic words; /* of `live` */
    struct vs_live *_Atomic live;     /* changed with the process lock held */
    _Atomic uint64_t awaits;          /* not 0: a caller got a pause, when `told` was the lower half of this */
    struct vesta_segment *next;       /* list of this process; process lock */
    unsigned users;                   /* process lock */
    uint64_t closing_in;              /* vs_process_token of the process in which a thread is closing it; 0: none */
    const struct vesta_clock *clock;
    struct vs_anchor anchor;
    char tag[VESTA_TAG_MAX], table[64]; /* table "": the store's default */
    uint64_t step;                      /* from the options; 0: not set */
    bool keeps;                         /* it may start threads */
    enum vesta_order order;
    struct vs_floor floor; /* of order strict */
    struct vs_segment *nothing; /* not NULL: the map's numbers have another form, so these words, which never get a
                                   range, are used instead of the map's */
    char why_alone[VS_WHY_MAX]; /* why only this process uses the map; "": others can, too */
    void (*ready)(void *self); /* process lock */
    void *ready_self;
    struct vs_strict *strict; /* NULL: order is trend */
    uint32_t parts_count;
    struct vs_live first;
    struct vs_segment_part part[];
};

/* map.c: the segments of this process.  Call all four with the process lock held. */
struct vesta_segment *vs_segments_first(void);
void vs_segments_add(struct vesta_segment *seg);
void vs_segments_remove(struct vesta_segment *seg);
/* True if this process has a segment's map of that name open, in any folder. */
bool vs_segments_have(const char *name);

/* map.c: the map of a segment. */

/* Opens the map of the segment's key as seg->first.  Errors: as vs_mapping_open. */
int vs_segment_map_first(struct vesta_segment *seg, struct vesta_error *err);
/* Closes the map and those before it. */
void vs_segment_unmap(struct vesta_segment *seg);
/* Replaces a closed map by a new one.  Call with the process lock held.  Errors: as vs_mapping_open. */
int vs_segment_follow(struct vesta_segment *seg, struct vesta_error *err);
/* Records that the map is in use, so that no process removes it for a week; see sweep.c.  Called when the segment is
 * opened and closed, when its database's thread runs it, and with each number of order dense. */
void vs_segment_see(struct vesta_segment *seg);
/* True if no more numbers are taken from the words. */
bool vs_words_are_closed(const struct vs_segment *words);
/* True if the counter of this database went back. */
bool vs_words_are_stopped(const struct vs_segment *words, uint32_t database);
/* Stops this database, because its counter went back.  The other databases continue. */
void vs_words_stop(struct vs_segment *words, uint32_t database, uint64_t lowered);
/* Wakes the callers that wait on these words. */
void vs_words_tell(struct vs_segment *words);
/* Returns the futex that is raised when a caller that got a pause should try again. */
_Atomic uint32_t *vs_segment_told(struct vesta_segment *seg);

/* Takes the rests of a map's ranges out of it, for the parts to claim.  `ends`: also closes the words.  Call with the
 * process lock held. */
void vs_live_take_rest(struct vs_live *live, bool ends);

/* part.c: called by the database's thread for a part. */

/* Resets the part's refiller. */
void vs_part_reset(struct vs_segment_part *part);
/* Runs the refiller until it sleeps.  store NULL: the store must not be called now, because of `why`, which may be "".
 * False: the refiller has ended. */
bool vs_part_run(struct vs_segment_part *part, struct vs_store *store, const char *why);
/* Raises the counter by one store call, and counts the outcome. */
void vs_part_take(struct vs_segment_part *part, struct vs_store *store, uint64_t step, struct vs_reply *reply);
/* Raises a counter that went back to `floor`. */
void vs_part_raise(struct vs_segment_part *part, struct vs_store *store, uint64_t floor, struct vs_reply *reply);
/* Returns the name of the part's counter for store calls. */
struct vs_counter vs_part_counter(const struct vs_segment_part *part);
/* Copies the refiller's state and text to where other threads can read them. */
void vs_part_report(struct vs_segment_part *part);
void vs_part_said(const struct vs_segment_part *part, char out[VS_SAID_MAX]);

/* share.c: true if the segment's only database issues all numbers of the counter.  Asked before the first range, and
 * again after a while.  False: `reply` has the reason, and no number may be taken. */
bool vs_share_is_alone(struct vs_segment_part *part, struct vs_store *store, struct vs_reply *reply);
/* share.c: true if ranges may be taken: each database of the segment has confirmed its share, so all hosts list the
 * databases in the same order.  Asks the part's own database if it has not confirmed yet.  False: a share is missing or
 * rejected, and the part's next run is scheduled.  `store`, `why`: as in vs_part_run. */
bool vs_share_is_found(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* database.c */

/* Returns the database of a URI, and counts a user.  Call once per part, with the process lock held.  NULL: no memory.
 */
struct vs_database *vs_database_enter(const char *uri, const char *secret, int group, const struct vesta_clock *clock);
/* Ends a part's use of the database.  The last call ends its thread.  Call without the process lock. */
void vs_database_leave(struct vs_database *database);
/* Starts the database's thread in this process, if there is none.  Call with the process lock held.  0, or an errno. */
int vs_database_start(struct vs_database *database);
/* A thread was told to leave a part. */
struct vs_leaving {
    bool is_awaited; /* false: the thread did not own the part */
    uint32_t left;   /* the part's `left` before */
};

/* Hands a part over to its database's thread.  VS_LEAVE_AND_GIVE_BACK: the thread gives back the part's rests, and
 * leaves it.  Call with the process lock held. */
struct vs_leaving vs_database_hand_over(struct vs_segment_part *part, enum vs_leave how);
/* Wakes the database's thread. */
void vs_database_poke(struct vs_database *database);
/* Tells the part's thread, if it owns the part, to leave it.  Call with the process lock held. */
struct vs_leaving vs_part_leave(struct vs_segment_part *part, enum vs_leave how);
/* Waits until the thread has left the part.  Call without the process lock. */
void vs_part_await(struct vs_segment_part *part, const struct vs_leaving *leaving);

/* ending.c: makes the threads leave all parts, and waits for it.  Call without the process lock. */
void vs_segment_leave(struct vesta_segment *seg);
/* Does the same, then takes the rests out of a map, and lets each part give back its own.  A rest that a store does not
 * take back goes into the map again, and `said` has the reason.  Call without the process lock.  0, or an errno: a
 * thread could not be started. */
int vs_segment_give_back(struct vesta_segment *seg, struct vs_live *live, char said[VS_SAID_MAX]);

/* strict.c */

/* Returns a ticket for n consecutive numbers, which will be above all numbers that any process got before this call.
 * The caller wakes the database's thread (vs_segment_kick). */
uint64_t vs_strict_ask(struct vesta_segment *seg, uint64_t n);
enum vs_segment_answer { VS_NOT_YET, VS_ANSWERED, VS_FAILED };
/* Looks up a ticket.  VS_ANSWERED: *number is its first number.  VS_FAILED: draw another ticket. */
enum vs_segment_answer vs_strict_answer(const struct vesta_segment *seg, uint64_t ticket, uint64_t *number);
/* As vs_part_run, for a segment of order strict. */
void vs_strict_run(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* take.c: starts or wakes the threads of the segment's databases.  If the process lock is taken, it may start none, and
 * the caller tries again later. */
void vs_segment_kick(struct vesta_segment *seg);

#endif
