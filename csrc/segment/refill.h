/* refill.h -- the refiller of one counter in one database.  It requests the next range before it is needed, checks the
 * reply, and returns the unused ranges to the store at the end.  Pure, like the lease engine: it converts an event to
 * an action.  The caller owns the store, the clock and the segment's words.
 *
 * The refiller relies on these rules.  A counter only increases, except when an owner returns a range.  Each range is
 * returned at most once, and only while the counter is at the range's end.  If the store does not take a range back,
 * the range is put back into the words.  If the outcome is unknown, the range stays unused. */
#ifndef VS_REFILL_H
#define VS_REFILL_H

#include "lease/lease.h"
#include "segment/segment.h"

/* poll interval, because the taker that should notify the refiller may have been killed */
#define VS_REFILL_LOOK_US ((int64_t)1000000)
/* interval between raises of a stopped counter, which may be lowered again */
#define VS_REFILL_RAISE_US ((int64_t)2000000)

enum vs_refill_event_kind {
    VS_REFILL_WAKE,      /* a sleep has ended, or a range is wanted */
    VS_REFILL_REPLY,     /* the store's reply to TAKE, UNTAKE or RAISE */
    VS_REFILL_PUBLISHED, /* the result of PUBLISH */
    VS_REFILL_CLAIMED,   /* the result of CLOSE or CLAIM */
    VS_REFILL_KEPT       /* the result of PUT_BACK */
};

struct vs_refill_event {
    enum vs_refill_event_kind kind;
    int64_t boot_us;  /* current boot time */
    bool stop;        /* true: return the unused ranges and end */
    bool due;         /* current result of vs_segment_is_due */
    bool stopped;     /* this database's bit of the segment's `stopped` */
    bool closed;      /* the segment is closed, and returns unused ranges, which lowers the counter */
    uint32_t forgone; /* the segment's `forgone`.  The caller reads it before `granted` */
    /* the segment's current `granted` for this database.  Ranges requested from now on are not below this value, as
     * long as `forgone` does not change */
    uint64_t granted;
    uint64_t answered; /* the segment's current `answered`: the highest end of a granted range, used or not */
    enum vs_outcome outcome;
    uint64_t from, until;   /* the granted range, if the reply to TAKE is OK */
    uint64_t step;          /* step in the counter's row.  0: the row has none */
    char text[VS_SAID_MAX]; /* the store's reason, if it rejected the call */
    enum vs_published published;
    /* after CLOSE or CLAIM: unused ranges of this database, which the refiller now owns */
    struct vs_unused unused[VS_RESTS_MAX];
    int unused_count;
    bool is_kept; /* after PUT_BACK: true if the words took the range */
};

enum vs_refill_do {
    VS_REFILL_SLEEP,    /* sleep until `until_boot_us`, until the stop, or, if `on_want`, until a range is wanted */
    VS_REFILL_TAKE,     /* raise the counter by `step`.  The range consists of the numbers in between */
    VS_REFILL_PUBLISH,  /* make `range` the next range */
    VS_REFILL_UNTAKE,   /* set the counter to `unused.from` if it is at `unused.until`.  This is never retried */
    VS_REFILL_HALT,     /* set the database's bit of `stopped`, because its counter was rolled back to `from` */
    VS_REFILL_RAISE,    /* raise the counter to `floor` if it is lower, so that no host is granted lower numbers */
    VS_REFILL_CLOSE,    /* call vs_segment_close and vs_rest_claim */
    VS_REFILL_CLAIM,    /* call vs_segment_take_rest, unless another thread has done so, and vs_rest_claim */
    VS_REFILL_PUT_BACK, /* call vs_segment_put_back */
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
    uint64_t step, step_max;   /* 1 to VS_RANGE_MAX.  A step in the counter's row has priority */
    uint64_t delta, remainder; /* 1 and 0 if one database issues all numbers */
    uint32_t database;         /* index of this refiller's database in the segment */
    uint64_t entropy;          /* random value that spreads retries */
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
    uint64_t step; /* last requested step.  0: none yet */
    /* step of the last published range, because the step adapts once per range, not once per request */
    uint64_t settled;
    uint64_t granted;      /* the segment's `granted` before the current request was sent */
    uint32_t forgone;      /* the segment's `forgone` at the same time */
    struct vs_range range; /* granted range that is not published yet */
    uint64_t from;         /* the counter's value at the start of `range` */
    uint64_t count;        /* count of numbers in the last published range */
    int64_t sent_us;       /* boot time at which the last request was sent */
    int64_t refilled_us;   /* boot time at which the last published range was requested.  -1 until the second range */
    unsigned refills;
    unsigned troubles; /* number of failed requests since the last range */
    uint64_t dice;
    bool ends; /* end after the current request */
    struct vs_unused unused[VS_RESTS_MAX];
    int unused_at, unused_count; /* the refiller owns unused[unused_at] to unused[unused_count - 1] */
    struct vs_unused sent;       /* the unused range that is being returned or put back */
    char said[VS_SAID_MAX];      /* why there is no range, or which range could not be returned.  "": no problem */
};

void vs_refill_init(struct vs_refill *refill, const struct vs_refill_opts *opts);
/* Converts an event to the next action.  Each event is the result of the previous action.  The first event is WAKE.  No
 * event may follow END. */
void vs_refill_step(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out);

#endif
