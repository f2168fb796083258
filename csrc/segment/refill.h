/* refill.h -- the refiller of one counter in one database: asks for the next range ahead of need, judges what comes,
 * and gives back what is left at the end.  Pure, as the lease engine: an event comes in, an action goes out; whoever
 * runs it has the store, the clock and the segment's words.
 *
 * What it rests on: a counter only rises, but for ranges that their owner gives back, each at most once and only where
 * the counter still stands at the range's end.  A rest that the store did not take back goes into the words again; one
 * of which nobody knows that stays unused. */
#ifndef VS_REFILL_H
#define VS_REFILL_H

#include "lease/lease.h"
#include "segment/segment.h"

#define VS_REFILL_LOOK_US ((int64_t)1000000) /* who was to tell that a range is wanted may have been killed */
#define VS_REFILL_RAISE_US ((int64_t)2000000) /* a stopped counter may be lowered again: it is raised this often */

enum vs_refill_event_kind {
    VS_REFILL_WAKE,      /* a sleep is over, or a range is wanted */
    VS_REFILL_REPLY,     /* to TAKE, UNTAKE and RAISE */
    VS_REFILL_PUBLISHED, /* to PUBLISH */
    VS_REFILL_CLAIMED,   /* to CLOSE and CLAIM */
    VS_REFILL_KEPT       /* to PUT_BACK */
};

struct vs_refill_event {
    enum vs_refill_event_kind kind;
    int64_t boot_us;  /* now */
    bool stop;        /* give back and end */
    bool due;         /* vs_segment_is_due, now */
    bool stopped;     /* the database's bit of the segment's word */
    bool closed;      /* the segment is, now: what it gave back takes the counter back */
    uint32_t forgone; /* the segment's word, read before the next one */
    uint64_t granted; /* the database's in the segment's words, now: the counter's answers to what is asked from now on
                         are no lower, as long as `forgone` stays */
    uint64_t answered; /* likewise: the highest end of a range that was granted, used or not */
    enum vs_outcome outcome;
    uint64_t from, until;   /* to TAKE, where it is OK: what was granted */
    uint64_t step;          /* the step that the counter's row has now; 0: it has none */
    char text[VS_SAID_MAX]; /* what the store said of a refusal */
    enum vs_published published;
    struct vs_unused unused[VS_RESTS_MAX]; /* to CLOSE and CLAIM: rests of this database that are now the refiller's own */
    int unused_count;
    bool is_kept; /* to PUT_BACK */
};

enum vs_refill_do {
    VS_REFILL_SLEEP,   /* until `until_boot_us`, or until a range is wanted where `on_want`, or until the stop */
    VS_REFILL_TAKE,    /* raise the counter by `step`; what it passes over is the range */
    VS_REFILL_PUBLISH, /* make `range` the next one */
    VS_REFILL_UNTAKE,  /* set the counter to `unused.from` where it stands at `unused.until`; once, whatever is said */
    VS_REFILL_HALT,    /* set the database's bit of `stopped`: its counter went back, to `from` */
    VS_REFILL_RAISE,   /* raise the counter to `floor` where it stands below, so that no host is granted less */
    VS_REFILL_CLOSE,   /* vs_segment_close, and vs_rest_claim */
    VS_REFILL_CLAIM,   /* vs_segment_take_rest, unless that was done for it, and vs_rest_claim */
    VS_REFILL_PUT_BACK, /* vs_segment_put_back */
    VS_REFILL_END
};

struct vs_refill_action {
    enum vs_refill_do kind;
    int64_t until_boot_us;
    bool on_want;
    uint64_t step;
    uint64_t floor;
    struct vs_range range;
    struct vs_unused unused;
};

struct vs_refill_opts {
    uint64_t step, step_max;   /* 1 to VS_RANGE_MAX; the counter's row may have its own */
    uint64_t delta, remainder; /* 1 and 0 where one database has all numbers */
    uint32_t database;         /* which of the segment's it asks */
    uint64_t entropy;          /* spreads retries */
};

enum vs_refill_phase {
    VS_RF_REST,
    VS_RF_TAKE,
    VS_RF_PUBLISH,
    VS_RF_HALT,
    VS_RF_RAISE,
    VS_RF_RETURN,
    VS_RF_CLAIM,
    VS_RF_UNTAKE,
    VS_RF_PUT_BACK,
    VS_RF_ENDED
};

struct vs_refill {
    struct vs_refill_opts opts;
    enum vs_refill_phase phase;
    uint64_t step;         /* asked for last; 0: never */
    uint64_t settled;      /* of the range that was published last: it grows and shrinks once a range, not a question */
    uint64_t granted;      /* what was granted before the question under way was sent, */
    uint32_t forgone;      /* and how often that had been lowered */
    struct vs_range range; /* granted, not published yet */
    uint64_t from;         /* where that began */
    uint64_t count;        /* numbers in the range that was published last */
    int64_t sent_us;       /* the question under way, or the last one */
    int64_t refilled_us;   /* when the last published range was asked for, from the second on; -1: not yet */
    unsigned refills;
    unsigned troubles; /* answers since the last range that brought none */
    uint64_t dice;
    bool ends; /* after what is under way */
    struct vs_unused unused[VS_RESTS_MAX]; /* its own; one that is sent is no longer among them */
    int unused_at, unused_count;
    struct vs_unused sent; /* to the store, once */
    char said[VS_SAID_MAX]; /* why it has no range, or what was left; "": all is well */
};

void vs_refill_init(struct vs_refill *refill, const struct vs_refill_opts *opts);
/* Shape: an event is the answer to the action before it; the first one is a WAKE.  After END there is none. */
void vs_refill_step(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out);

#endif
