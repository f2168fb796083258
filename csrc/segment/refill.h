/* refill.h -- the refiller of one counter in one database.  It requests the next range before it is needed, checks the
 * reply, and gives back the rest at the end.  Pure, like the lease engine: an event comes in, an action goes out.  The
 * caller has the store, the clock and the segment's words.
 *
 * It relies on this: a counter only rises, except when an owner gives back a range.  Each range is given back at most
 * once, and only while the counter is at the range's end.  If the store does not take a rest back, the rest goes into
 * the words again.  If the outcome is unknown, the rest stays unused. */
#ifndef VS_REFILL_H
#define VS_REFILL_H

#include "lease/lease.h"
#include "segment/segment.h"

#define VS_REFILL_LOOK_US ((int64_t)1000000)  /* poll interval: the taker that should notify may have been killed */
#define VS_REFILL_RAISE_US ((int64_t)2000000) /* interval to raise a stopped counter, which may be lowered again */

enum vs_refill_event_kind {
    VS_REFILL_WAKE,      /* a sleep is over, or a range is wanted */
    VS_REFILL_REPLY,     /* to TAKE, UNTAKE and RAISE */
    VS_REFILL_PUBLISHED, /* to PUBLISH */
    VS_REFILL_CLAIMED,   /* to CLOSE and CLAIM */
    VS_REFILL_KEPT       /* to PUT_BACK */
};

struct vs_refill_event {
    enum vs_refill_event_kind kind;
    int64_t boot_us;   /* now */
    bool stop;         /* give back the rests and end */
    bool due;          /* vs_segment_is_due, now */
    bool stopped;      /* this database's bit of the segment's `stopped` */
    bool closed;       /* the segment is closed now, and gives back rests, which lowers the counter */
    uint32_t forgone;  /* the segment's word; the caller reads it before `granted` */
    uint64_t granted;  /* the segment's word for this database, now.  Ranges requested from now on are no lower, as long
                          as `forgone` is unchanged */
    uint64_t answered; /* likewise: the highest end of a range that was granted, used or not */
    enum vs_outcome outcome;
    uint64_t from, until;   /* reply to TAKE, if OK: the granted range */
    uint64_t step;          /* the step in the counter's row; 0: the row has none */
    char text[VS_SAID_MAX]; /* the store's reason, if it rejected the call */
    enum vs_published published;
    struct vs_unused unused[VS_RESTS_MAX]; /* to CLOSE and CLAIM: rests of this database, which the refiller now owns */
    int unused_count;
    bool is_kept; /* to PUT_BACK */
};

enum vs_refill_do {
    VS_REFILL_SLEEP,    /* until `until_boot_us`, until a range is wanted (if `on_want`), or until the stop */
    VS_REFILL_TAKE,     /* raise the counter by `step`; the numbers that it passes are the range */
    VS_REFILL_PUBLISH,  /* make `range` the next one */
    VS_REFILL_UNTAKE,   /* set the counter to `unused.from` if it is at `unused.until`; never retried */
    VS_REFILL_HALT,     /* set the database's bit of `stopped`: its counter went back, to `from` */
    VS_REFILL_RAISE,    /* raise the counter to `floor` if it is lower, so that no host is granted lower numbers */
    VS_REFILL_CLOSE,    /* vs_segment_close, and vs_rest_claim */
    VS_REFILL_CLAIM,    /* vs_segment_take_rest, unless another thread has done it, and vs_rest_claim */
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
    uint64_t step, step_max;   /* 1 to VS_RANGE_MAX; a step in the counter's row has priority */
    uint64_t delta, remainder; /* 1 and 0 if one database issues all numbers */
    uint32_t database;         /* index of this refiller's database in the segment */
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
    uint64_t step;         /* the last step requested; 0: none yet */
    uint64_t settled;      /* step of the last published range; steps adapt once per range, not once per request */
    uint64_t granted;      /* the segment's `granted` before the current request was sent */
    uint32_t forgone;      /* the segment's `forgone` at that time */
    struct vs_range range; /* granted, not published yet */
    uint64_t from;         /* the counter's value at the start of `range` */
    uint64_t count;        /* numbers in the range that was published last */
    int64_t sent_us;       /* when the current or the last request was sent */
    int64_t refilled_us;   /* when the last published range was requested, from the second range on; -1: not yet */
    unsigned refills;
    unsigned troubles; /* failed requests since the last range */
    uint64_t dice;
    bool ends;                             /* end after the current request */
    struct vs_unused unused[VS_RESTS_MAX]; /* rests that the refiller owns, without `sent` */
    int unused_at, unused_count;
    struct vs_unused sent;  /* the rest being given back or put back */
    char said[VS_SAID_MAX]; /* why there is no range, or which rest could not be given back; "": no problem */
};

void vs_refill_init(struct vs_refill *refill, const struct vs_refill_opts *opts);
/* Shape: each event answers the previous action.  The first event is WAKE.  No event may follow END. */
void vs_refill_step(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out);

#endif
