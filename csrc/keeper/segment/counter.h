/* counter.h -- a segment that this process has open.  It consists of a map, and one part for each of the segment's
 * databases.  Each database has one thread in the process, which fetches ranges for all segments that have a part in
 * the database.
 *
 * When a caller first needs a range, the part is handed over to its database's thread (vs_database_hand_over).  The
 * thread owns the part until it releases the part.  A forked child has no such thread at first, so no thread owns the
 * part. */
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
    _Alignas(VS_LINE) _Atomic int64_t seen_us; /* Unix time of the last use by any process (vs_segment_see) */
    /* Fingerprint of the form in which callers write the numbers.  0 if no caller with a form has opened the map, or if
     * an older version of vesta created it. */
    _Atomic uint64_t form;
    struct vs_segment words;
};
extern const struct vs_map_kind vs_segment_map;

/* A map from which numbers are taken, or were taken before it was closed. */
struct vs_live {
    /* previous map.  Older maps stay mapped until the segment is closed, because other threads may use them */
    struct vs_live *before;
    struct vs_mapping mapping;
    struct vs_segment *words;
    /* unused ranges that this process took out of the map, for its parts to claim.  Filled with the process lock held
     */
    struct vs_unclaimed rest[VS_RESTS_MAX];
};

/* ------------------------------------------------------------------ a database's thread */

struct vs_database {
    struct vs_database *next; /* next database of this process, guarded by the process lock */
    unsigned users;           /* number of segments that have a part in this database, guarded by the process lock */
    char uri[VS_URI_MAX], secret[VS_SECRET_MAX];
    int group;
    const struct vesta_clock *clock;
    pthread_t thread;
    /* vs_process_token of the process that runs `thread`.  0: none.  Written with the process lock held */
    _Atomic uint64_t runs_in;
    _Atomic uint32_t work; /* futex, incremented when there is work for the thread */
    _Atomic uint32_t stop;
    _Atomic int64_t cut_us;                      /* boot time until which store calls may wait.  0: no limit */
    struct vs_segment_part *_Atomic handed_over; /* list of parts that the thread has not yet moved to `parts` */
    struct vs_segment_part *parts;               /* used by the thread only */
};

enum vs_leave { VS_LEAVE_NOT, VS_LEAVE_QUIETLY, VS_LEAVE_AND_GIVE_BACK };

/* A database's reply when asked about its share.  The share is the set of numbers that the order of the databases on
 * this host assigns to the database. */
enum vs_share_state { VS_SHARE_UNASKED, VS_SHARE_FOUND, VS_SHARE_AWAY, VS_SHARE_REFUSED };

/* A segment's part in one database. */
struct vs_segment_part {
    struct vs_segment_part *next; /* next part of the same database */
    struct vesta_segment *segment;
    struct vs_database *database;
    uint32_t index;
    _Atomic uint32_t wanted; /* 1: a caller needs a range, or the part has not run yet */
    _Atomic bool watches;    /* the thread polls and will check again soon, so callers need not wake it */
    _Atomic uint32_t leave;  /* enum vs_leave */
    _Atomic bool is_handed;  /* true while the thread owns the part */
    _Atomic uint32_t left;   /* futex, counts how often the thread has released the part */
    /* used by the thread only */
    struct vs_refill refill;
    uint64_t token;       /* identifies this part as the refiller, in the segment's `refiller` */
    int64_t due_us;       /* boot time of the next run */
    bool on_want;         /* also run as soon as a range is wanted */
    int64_t used_us;      /* how long the last range lasted.  0: unknown */
    uint64_t step_max;    /* maximum step, from the options, or else the default */
    uint64_t turn;        /* generation for which the part waits for its turn */
    int64_t turn_from_us; /* boot time at which that wait began */
    /* boot time at which a single database is asked again whether it issues all numbers */
    _Atomic int64_t share_until_us;
    /* written for status reports, and for the other parts */
    _Atomic bool is_troubled;
    _Atomic uint32_t share;  /* enum vs_share_state */
    _Atomic bool is_refused; /* the database rejected the last call */
    /* the database user has no permission to store the form of the numbers */
    _Atomic bool forgets_form;
    _Atomic uint64_t step, ranges, answers[VS_RENEWALS]; /* `answers` is indexed by enum vs_outcome */
    _Atomic int64_t fetch_us;                            /* duration of the last fetch.  -1: none yet */
    _Atomic uint64_t per_1000_s;    /* numbers used in 1000 s, at the rate of the last range.  0: unknown */
    _Atomic char said[VS_SAID_MAX]; /* a reader may see a mix of two texts, but always a NUL-terminated one */
    char shown[VS_URI_MAX];         /* the store's URI without password, for display */
};

/* ------------------------------------------------------------------ order `strict` */

/* a caller that sleeps while this many groups are served finds its ticket overwritten, and draws another ticket */
#define VS_GROUPS 64

/* Tickets [first, first + count) get the numbers from `from` on.  If `from` is 0, the tickets have failed. */
struct vs_group {
    _Atomic uint64_t turn; /* odd while the group is being written */
    _Atomic uint64_t first, count, from;
};
struct vs_group_read {
    uint64_t first, count, from;
};

/* The tickets of one process.  A forked child starts with a copy, and draws its own tickets from then on. */
struct vs_strict {
    _Atomic uint64_t drawn; /* number of tickets drawn, one for each number requested */
    /* written only by the database's thread */
    _Atomic uint64_t served; /* number of tickets answered */
    _Atomic uint32_t told;   /* futex, incremented with each group */
    unsigned groups, troubles;
    int64_t raise_at_us; /* boot time at which to raise a counter that was rolled back.  0: it was not rolled back */
    struct vs_group group[VS_GROUPS];
};

/* ------------------------------------------------------------------ a segment */

struct vesta_segment {
    /* read each time a number is taken */
    struct vs_segment *_Atomic words; /* the words of `live` */
    struct vs_live *_Atomic live;     /* written with the process lock held */
    /* not 0: a caller got a pause, and the lower half is the value of `told` at that time */
    _Atomic uint64_t awaits;
    struct vesta_segment *next; /* next segment of this process, guarded by the process lock */
    unsigned users;             /* number of open handles, guarded by the process lock */
    /* vs_process_token of the process in which a thread is closing the segment.  0: none */
    uint64_t closing_in;
    const struct vesta_clock *clock;
    struct vs_anchor anchor;
    char tag[VESTA_TAG_MAX], table[64]; /* table "" selects the store's default */
    uint64_t step;                      /* from the options.  0: not set */
    bool keeps;                         /* the segment may start threads */
    enum vesta_order order;
    struct vs_floor floor; /* used by order strict only */
    /* Words that never get a range.  Used in place of the map's words if the map's numbers have a different form.
     * Otherwise NULL. */
    struct vs_segment *nothing;
    char why_alone[VS_WHY_MAX]; /* why only this process uses the map.  "": other processes can use it, too */
    void (*ready)(void *self);  /* called with the process lock held */
    void *ready_self;
    struct vs_strict *strict; /* NULL if the order is trend */
    uint32_t parts_count;
    struct vs_live first;
    struct vs_segment_part part[];
};

/* map.c: the list of this process's segments.  Call these four functions with the process lock held. */
struct vesta_segment *vs_segments_first(void);
void vs_segments_add(struct vesta_segment *seg);
void vs_segments_remove(struct vesta_segment *seg);
/* Returns true if this process has a segment's map of that name open, in any folder. */
bool vs_segments_have(const char *name);

/* map.c: the map of a segment. */

/* Opens the map for the segment's key as seg->first.  Errors: the same as vs_mapping_open. */
int vs_segment_map_first(struct vesta_segment *seg, struct vesta_error *err);
/* Closes the map and all older maps. */
void vs_segment_unmap(struct vesta_segment *seg);
/* Replaces a closed map by a new one.  Call with the process lock held.  Errors: the same as vs_mapping_open. */
int vs_segment_follow(struct vesta_segment *seg, struct vesta_error *err);
/* Records that the map is in use, so that no process removes it for a week (sweep.c).  Called when the segment is
 * opened or closed, when its database's thread runs it, and with each number of order dense. */
void vs_segment_see(struct vesta_segment *seg);
/* Returns true if the words are closed, so that no more numbers are taken from them. */
bool vs_words_are_closed(const struct vs_segment *words);
/* Returns true if this database's counter was rolled back. */
bool vs_words_are_stopped(const struct vs_segment *words, uint32_t database);
/* Stops this database because its counter was rolled back.  The other databases continue. */
void vs_words_stop(struct vs_segment *words, uint32_t database, uint64_t lowered);
/* Wakes the callers that wait on these words. */
void vs_words_tell(struct vs_segment *words);
/* Returns the futex that is incremented when a caller that got a pause should try again. */
_Atomic uint32_t *vs_segment_told(struct vesta_segment *seg);

/* Takes the unused ranges out of a map, for the parts to claim.  If `ends` is true, also closes the words.  Call with
 * the process lock held. */
void vs_live_take_rest(struct vs_live *live, bool ends);

/* part.c: called by the database's thread for a part. */

/* Resets the part's refiller. */
void vs_part_reset(struct vs_segment_part *part);
/* Runs the refiller until it sleeps.  If `store` is NULL, the store must not be called now, because of `why`, which may
 * be "".  Returns false if the refiller has ended. */
bool vs_part_run(struct vs_segment_part *part, struct vs_store *store, const char *why);
/* Raises the counter with one store call, and counts the outcome. */
void vs_part_take(struct vs_segment_part *part, struct vs_store *store, uint64_t step, struct vs_reply *reply);
/* Raises a rolled-back counter to at least `floor`. */
void vs_part_raise(struct vs_segment_part *part, struct vs_store *store, uint64_t floor, struct vs_reply *reply);
/* Returns the name of the part's counter for store calls. */
struct vs_counter vs_part_counter(const struct vs_segment_part *part);
/* Copies the refiller's state and text to where other threads can read them. */
void vs_part_report(struct vs_segment_part *part);
void vs_part_said(const struct vs_segment_part *part, char out[VS_SAID_MAX]);

/* share.c: returns true if the segment's only database issues all numbers of the counter.  Asks the database before the
 * first range, and again after a while.  If the result is false, `reply` has the reason, and no number may be taken. */
bool vs_share_is_alone(struct vs_segment_part *part, struct vs_store *store, struct vs_reply *reply);
/* share.c: returns true if ranges may be taken, which requires that each database of the segment has confirmed its
 * share. All hosts then list the databases in the same order.  Asks the part's own database if it has not confirmed
 * yet.  If the result is false, a share is missing or rejected, and the part's next run is scheduled.  `store` and
 * `why` are as in vs_part_run. */
bool vs_share_is_found(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* database.c */

/* Returns the database for a URI, and counts one more user.  Call once per part, with the process lock held.  Returns
 * NULL if there is no memory. */
struct vs_database *vs_database_enter(const char *uri, const char *secret, int group, const struct vesta_clock *clock);
/* Ends a part's use of its database.  The call for the last part ends the database's thread.  Call without the process
 * lock. */
void vs_database_leave(struct vs_database *database);
/* Starts the database's thread in this process if there is none.  Call with the process lock held.  Returns 0 or an
 * errno. */
int vs_database_start(struct vs_database *database);
/* A request to the thread to release a part. */
struct vs_leaving {
    bool is_awaited; /* false if the thread did not own the part */
    uint32_t left;   /* value of the part's `left` before the request */
};

/* Hands a part over to its database's thread.  With VS_LEAVE_AND_GIVE_BACK, the thread returns the part's unused ranges
 * to the store and then releases the part.  Call with the process lock held. */
struct vs_leaving vs_database_hand_over(struct vs_segment_part *part, enum vs_leave how);
/* Wakes the database's thread. */
void vs_database_poke(struct vs_database *database);
/* Asks the thread to release the part, if the thread owns it.  Call with the process lock held. */
struct vs_leaving vs_part_leave(struct vs_segment_part *part, enum vs_leave how);
/* Waits until the thread has released the part.  Call without the process lock. */
void vs_part_await(struct vs_segment_part *part, const struct vs_leaving *leaving);

/* ending.c: makes the threads release all parts, and waits until they have released them.  Call without the process
 * lock. */
void vs_segment_leave(struct vesta_segment *seg);
/* Makes the threads release all parts.  Then takes the unused ranges out of a map, and lets each part return its ranges
 * to the store.  A range that the store does not take back is put into the map again, and `said` has the reason.  Call
 * without the process lock.  Returns 0, or an errno if a thread could not be started. */
int vs_segment_give_back(struct vesta_segment *seg, struct vs_live *live, char said[VS_SAID_MAX]);

/* strict.c */

/* Draws a ticket for n consecutive numbers, which will be above all numbers that any process got before this call.
 * After this, the caller wakes the database's thread with vs_segment_kick. */
uint64_t vs_strict_ask(struct vesta_segment *seg, uint64_t n);
enum vs_segment_answer { VS_NOT_YET, VS_ANSWERED, VS_FAILED };
/* Looks up a ticket.  VS_ANSWERED sets *number to the ticket's first number.  After VS_FAILED, draw another ticket. */
enum vs_segment_answer vs_strict_answer(const struct vesta_segment *seg, uint64_t ticket, uint64_t *number);
/* Runs a part as vs_part_run does, for a segment of order strict. */
void vs_strict_run(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* take.c: starts or wakes the threads of the segment's databases.  If another thread has the process lock, this may
 * return without starting a thread, and the caller tries again later. */
void vs_segment_kick(struct vesta_segment *seg);

#endif
