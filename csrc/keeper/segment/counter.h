/* counter.h -- a segment as this process has it open: its map, its part in each of its databases, and the thread that a
 * database has in this process, which fetches ranges for all segments that have a part in it.
 *
 * A part belongs to its database's thread from the moment at which it is handed over (vs_database_hand_over), when
 * somebody needs a range, until that lets it go; in a process without that thread, so in a forked child at first, it is
 * nobody's. */
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
    _Atomic uint64_t form; /* fingerprint of the form that callers write its numbers in; 0: no caller with a form opened it,
                              or a version that did not remember forms made it */
    struct vs_segment words;
};
extern const struct vs_map_kind vs_segment_map;

/* A map that numbers are, or were, taken from. */
struct vs_live {
    struct vs_live *before; /* stays mapped until the segment is closed: other threads may be inside it */
    struct vs_mapping mapping;
    struct vs_segment *words;
    struct vs_unclaimed rest[VS_RESTS_MAX]; /* taken out in this process: for the parts to claim.  Filled with the process
                                          lock held */
};

/* ------------------------------------------------------------------ a database's thread */

struct vs_database {
    struct vs_database *next; /* of this process; process lock */
    unsigned users;           /* segments that have a part in it; process lock */
    char uri[VS_URI_MAX], secret[VS_SECRET_MAX];
    int group;
    const struct vesta_clock *clock;
    pthread_t thread;
    _Atomic uint64_t runs_in; /* vs_process_token: of the process that `thread` runs in; 0: none.  Set with the process
                                 lock held */
    _Atomic uint32_t work;    /* futex: raised when there is something to do */
    _Atomic uint32_t stop;
    _Atomic int64_t cut_us;              /* no call waits past that instant; 0: none is cut */
    struct vs_segment_part *_Atomic handed_over; /* not yet among `parts` */
    struct vs_segment_part *parts;               /* the thread's own */
};

enum vs_leave { VS_LEAVE_NOT, VS_LEAVE_QUIETLY, VS_LEAVE_AND_GIVE_BACK };

/* What a database says of the share that the order of the databases gives to it. */
enum vs_share_state { VS_SHARE_UNASKED, VS_SHARE_FOUND, VS_SHARE_AWAY, VS_SHARE_REFUSED };

/* A segment in one of its databases. */
struct vs_segment_part {
    struct vs_segment_part *next; /* of the database's */
    struct vesta_segment *segment;
    struct vs_database *database;
    uint32_t index;
    _Atomic uint32_t wanted; /* 1: somebody needs a range, or it was never looked at */
    _Atomic bool watches;    /* its thread looks by itself in a moment, whoever wants a range: nobody wakes it */
    _Atomic uint32_t leave;  /* enum vs_leave */
    _Atomic bool is_handed;  /* its thread has it */
    _Atomic uint32_t left;   /* futex: how often its thread has let it go */
    /* the thread's own */
    struct vs_refill refill;
    uint64_t token;       /* by which the segment's words know this part */
    int64_t due_us;       /* boot time at which it is to be run next */
    bool on_want;         /* or as soon as a range is wanted */
    int64_t used_us;      /* how long the last range lasted; 0: unknown */
    uint64_t step_max;    /* as it was given, or what holds else */
    uint64_t turn;        /* the generation that it waits for its turn in, */
    int64_t turn_from_us; /* since when */
    _Atomic int64_t share_until_us; /* of a database that is named alone: when it is asked again for its share */
    /* for people, and for the other parts */
    _Atomic bool is_troubled;
    _Atomic uint32_t share;                              /* enum vs_share_state */
    _Atomic bool is_refused;                             /* by the last answer */
    _Atomic bool forgets_form;                           /* its user may not write down the form of the numbers */
    _Atomic uint64_t step, ranges, answers[VS_RENEWALS]; /* by enum vs_outcome */
    _Atomic int64_t fetch_us;                            /* how long the last one took; -1: there was none */
    _Atomic uint64_t per_1000_s;    /* numbers in 1000 s, while the last range lasted; 0: unknown */
    _Atomic char said[VS_SAID_MAX]; /* may be read torn, never unterminated */
    char shown[VS_URI_MAX];         /* the store as it may be shown */
};

/* ------------------------------------------------------------------ order `strict` */

#define VS_GROUPS 64 /* who sleeps while so many are served asks again */

/* Tickets [first, first + count) are worth the numbers from `from` on; 0: nothing. */
struct vs_group {
    _Atomic uint64_t turn; /* odd: it is being written */
    _Atomic uint64_t first, count, from;
};
struct vs_group_read {
    uint64_t first, count, from;
};

/* Of one process: its children begin where it stood, with numbers of their own. */
struct vs_strict {
    _Atomic uint64_t drawn;  /* tickets given out, one for each number that was asked for */
    _Atomic uint64_t served; /* tickets that were answered; written by the database's thread, as what follows */
    _Atomic uint32_t told;   /* futex: raised with each group */
    unsigned groups, troubles;
    int64_t raise_at_us; /* boot time at which a counter that went back is raised again; 0: it did not */
    struct vs_group group[VS_GROUPS];
};

/* ------------------------------------------------------------------ a segment */

struct vesta_segment {
    /* read with every number */
    struct vs_segment *_Atomic words; /* of `live` */
    struct vs_live *_Atomic live;     /* changed with the process lock held */
    _Atomic uint64_t awaits;          /* not 0: somebody was told to pause; `told` was then its lower half */
    struct vesta_segment *next;       /* of this process; process lock */
    unsigned users;                   /* process lock */
    uint64_t closing_in; /* vs_process_token: of the process in which a thread closes it just now; 0: none */
    const struct vesta_clock *clock;
    struct vs_anchor anchor;
    char tag[VESTA_TAG_MAX], table[64]; /* table "": the store's own */
    uint64_t step;                      /* as it was given; 0: not */
    bool keeps;                         /* it may start threads */
    enum vesta_order order;
    struct vs_floor floor; /* of order strict */
    struct vs_segment *nothing; /* not NULL: the map's numbers are written in another form, so these words, which get no
                                   range, stand in for the map's */
    char why_alone[VS_WHY_MAX];
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
/* Whether this process has a segment's map of that name open, in whichever folder. */
bool vs_segments_have(const char *name);

/* map.c: the map of a segment. */

/* Opens the map that the segment's key leads to, as seg->first.  Errors: as vs_mapping_open. */
int vs_segment_map_first(struct vesta_segment *seg, struct vesta_error *err);
/* Closes the map and those before it. */
void vs_segment_unmap(struct vesta_segment *seg);
/* Replaces a map that is closed by a new one.  Call with the process lock held.  Errors: as vs_mapping_open. */
int vs_segment_follow(struct vesta_segment *seg, struct vesta_error *err);
/* Notes that the map is in use, so that no process removes it for a week; see sweep.c.  Called when the segment is
 * opened and closed, whenever its database's thread runs it, and with each number without a gap. */
void vs_segment_see(struct vesta_segment *seg);
/* Whether the words give nothing any more, for good. */
bool vs_words_are_closed(const struct vs_segment *words);
/* Whether the counter of this database went back. */
bool vs_words_are_stopped(const struct vs_segment *words, uint32_t database);
/* The counter of this database alone went back: others go on. */
void vs_words_stop(struct vs_segment *words, uint32_t database, uint64_t lowered);
/* Who waits on these words is to look again. */
void vs_words_tell(struct vs_segment *words);
/* The word that is raised when a call that paused is to look again. */
_Atomic uint32_t *vs_segment_told(struct vesta_segment *seg);

/* What is left of a map's ranges is from here on for the parts to claim.  `ends`: the words give nothing any more, for
 * good.  With the process lock held. */
void vs_live_take_rest(struct vs_live *live, bool ends);

/* part.c: what its thread does for a part. */

/* Its refiller begins anew. */
void vs_part_reset(struct vs_segment_part *part);
/* Runs it until it is at rest.  `store`: NULL: it is not to be asked now, because of `why`, which may be "".  False:
 * its refiller has ended. */
bool vs_part_run(struct vs_segment_part *part, struct vs_store *store, const char *why);
/* One call of the store, counted. */
void vs_part_take(struct vs_segment_part *part, struct vs_store *store, uint64_t step, struct vs_reply *reply);
/* Raises its counter, which went back, to `floor`. */
void vs_part_raise(struct vs_segment_part *part, struct vs_store *store, uint64_t floor, struct vs_reply *reply);
/* Its counter, as a store is told. */
struct vs_counter vs_part_counter(const struct vs_segment_part *part);
/* Tells people what its refiller says. */
void vs_part_report(struct vs_segment_part *part);
void vs_part_said(const struct vs_segment_part *part, char out[VS_SAID_MAX]);

/* share.c: whether the only database that is named here grants all numbers of the counter; asked before the first range,
 * and again after a while.  False: `reply` says why nothing may be taken. */
bool vs_share_is_alone(struct vs_segment_part *part, struct vs_store *store, struct vs_reply *reply);
/* share.c: whether ranges may be taken, as far as other hosts' order of the databases goes; else when to look again is
 * set.  `store`, `why`: as vs_part_run's. */
bool vs_share_is_found(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* database.c */

/* The database of a URI, entered once for each part.  With the process lock held.  NULL: no memory. */
struct vs_database *vs_database_enter(const char *uri, const char *secret, int group, const struct vesta_clock *clock);
/* Ends a part's use of it; the last one ends its thread.  Call without the process lock. */
void vs_database_leave(struct vs_database *database);
/* Starts its thread in this process, if there is none.  With the process lock held.  0, or an errno. */
int vs_database_start(struct vs_database *database);
/* A thread was told to let a part go. */
struct vs_leaving {
    bool is_awaited; /* false: it had not got it */
    uint32_t left;   /* the part's, before */
};

/* Gives its thread a part; `how`: to give back what is the part's, and let it go.  With the process lock held. */
struct vs_leaving vs_database_hand_over(struct vs_segment_part *part, enum vs_leave how);
/* Its thread is to look. */
void vs_database_poke(struct vs_database *database);
/* Tells the part's thread, if that has it, to let it go.  With the process lock held. */
struct vs_leaving vs_part_leave(struct vs_segment_part *part, enum vs_leave how);
/* Waits until it has.  Call without the process lock. */
void vs_part_await(struct vs_segment_part *part, const struct vs_leaving *leaving);

/* ending.c: takes all parts away from their threads, and waits. */
void vs_segment_leave(struct vesta_segment *seg);
/* Then takes what is left of the ranges out of a map, and has each part give back its own; what a store does not take
 * back goes into the map again, and `said` says why.  Call both without the process lock.  0, or an errno: a thread
 * could not be started for it. */
int vs_segment_give_back(struct vesta_segment *seg, struct vs_live *live, char said[VS_SAID_MAX]);

/* strict.c */

/* Returns a ticket for n consecutive numbers, larger than all that any process got before this call.  The caller wakes
 * the database's thread (vs_segment_kick). */
uint64_t vs_strict_ask(struct vesta_segment *seg, uint64_t n);
enum vs_segment_answer { VS_NOT_YET, VS_ANSWERED, VS_FAILED };
/* What became of a ticket: the first of its numbers.  VS_FAILED: it must be asked again. */
enum vs_segment_answer vs_strict_answer(const struct vesta_segment *seg, uint64_t ticket, uint64_t *number);
/* What the database's thread does for the part of such a segment. */
void vs_strict_run(struct vs_segment_part *part, struct vs_store *store, const char *why);

/* take.c: the segment's databases are to be asked: starts or wakes their threads.  Does nothing where the process lock
 * is taken: whoever needs a range comes again. */
void vs_segment_kick(struct vesta_segment *seg);

#endif
