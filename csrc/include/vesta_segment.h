/* vesta_segment.h -- counters: the part of vesta.h about numbers that are small, count upwards, and come from a
 * database.
 *
 * A *segment* is a counter, a row of a database: the row holds the next number, and a host that needs numbers raises it
 * by a *step* and owns what lies between, a *range*.  The tables are those of Leaf (leaf_alloc) and tinyid, and may be
 * shared with them.  Two ranges are kept, the current one and the next, fetched ahead by a thread of the library: who
 * asks for a number talks to no database.
 *
 *     struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
 *     opts.stores[0] = "mysql://app@db.example/ids";
 *     opts.tag = "orders";
 *     if (vesta_segment_open(&opts, &seg, &err) == VESTA_OK &&
 *         vesta_segment_next_wait(seg, &number, 1000 * 1000, &pause) == VESTA_OK) ...
 *
 * All processes of a host and user that open the same counter share one cursor, in memory that does not outlive the
 * boot: forks, nginx workers, reloads and kill -9 need no care.  Numbers never repeat, as long as the counter only
 * rises; one that was lowered, by hand or by a restored backup, is noticed, raised to what this host was granted, and
 * gives nothing until a person has acted.
 * Numbers may be missing: what a killed host had left, and a range of which nobody knows whether it was granted. */
#ifndef VESTA_SEGMENT_H
#define VESTA_SEGMENT_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_DATABASES_MAX 8   /* stores of one segment */
#define VESTA_NUMBERS_MAX 65536 /* numbers in one call */
#define VESTA_STEP_MAX 1000000  /* what a step grows to, if nobody says otherwise */
#define VESTA_TAG_MAX VESTA_NAMESPACE_MAX

struct vesta_segment;

/* What the numbers of a segment promise besides that none comes twice. */
enum vesta_order {
    VESTA_TREND,  /* they grow in the long run; each host has ranges of its own */
    VESTA_STRICT, /* a call that begins after another has returned has the larger number, on whichever host, as far as
                     one database has all numbers.  It costs a transaction for each call, or for all of a process that
                     are there at once, and each waits for it: a process gives no more than its threads times the
                     database's transactions a second, and none while the database is away */
};

/* What vesta_segment_open is told; all but size, stores[0] and tag may be 0. */
struct vesta_segment_opts {
    size_t size;                     /* of the struct that the caller knows: VESTA_SEGMENT_OPTS_INIT sets it */
    const struct vesta_clock *clock; /* outlives the handle; NULL: the machine's */
    /* URIs.  Several: each database has a counter of its own, of which only the numbers congruent to its place here,
     * 0, 1 and so on, modulo how many there are, are used.  Whoever uses the counter must name all of them, in this
     * order. */
    const char *stores[VESTA_DATABASES_MAX];
    const char *secrets[VESTA_DATABASES_MAX]; /* what authenticates us, kept in memory only; NULL: what the URI says */
    const char *table;                        /* of counters; NULL: leaf_alloc */
    const char *tag;                          /* the counter: [A-Za-z0-9_.:-]{1,64} */
    const char *group;                        /* whose members may share the cursor; NULL: the user's own processes */
    uint64_t step;                            /* numbers in a range where the row does not say; 0: 1000 */
    uint64_t step_max; /* the step doubles where a range lasts for less than 15 minutes, up to this, and halves where it
                          lasts for 30; 0: VESTA_STEP_MAX */
    enum vesta_order order;
    unsigned flags; /* VESTA_NO_KEEPER, VESTA_FILE_KEEPER: this process starts no thread, another one fetches ranges */
    /* Of VESTA_STRICT: the least number that may be given at an instant of the database's clock, which is one for all
     * hosts; the counter is raised to it where it stands below.  A thread of the library calls it with each step, with
     * floor_self; it must not block nor call the segment.  0: no number may be given then.  It only rises: it is also
     * asked for the year 2000, and a counter that has given numbers below that is another's, and refused.  NULL: any
     * may. */
    uint64_t (*floor)(void *self, int64_t unix_ms);
    void *floor_self;
    /* Whether a number that is no lower than the floor may be given at all, with floor_self: a counter may stand in the
     * middle of a period.  0: it is refused.  NULL: each may. */
    int (*fits)(void *self, uint64_t number);
    /* The form in which callers write the numbers, any text.  The database and this host's map remember it with the
     * first number.  A caller with another form gets VESTA_RANGE for each call, because texts of two forms may be equal.
     * It must live as long as the segment.  NULL: in digits. */
    const char *form;
};

/* struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT; then set what is not the default. */
#define VESTA_SEGMENT_OPTS_INIT                                                                                        \
    { .size = sizeof(struct vesta_segment_opts) }

/* Opens a counter.  Asks no database: the first call for a number wakes the thread that does, one for each database and
 * process, with all signals but SIGBUS blocked; it ends with the last segment.  Who opens the same counter twice in a
 * process has one segment, which is closed as often as it was opened; the steps and secrets given last count, and the
 * floor must be the same.
 * Threads: any; after fork() in parent and child.  Own: close with vesta_segment_close.
 * Errors: VESTA_EOPTION: which option, and why; VESTA_EIO: its map cannot be used; VESTA_ENOMEM. */
VESTA_API int vesta_segment_open(const struct vesta_segment_opts *opts, struct vesta_segment **seg,
                                 struct vesta_error *err);

/* Ends this use of it.  What is left of its ranges stays in the map, for other processes and for the next start; where
 * the map is this process's alone, it is given back.  seg may be NULL.
 * Threads: no other call on this handle may run or follow; may block for a call of the store that is under way. */
VESTA_API void vesta_segment_close(struct vesta_segment *seg);

/* Gives the next number.  Never blocks and never talks to a database; the first call of a process, and the first of a
 * forked child, may start a thread.  Unit: the counter's.  Threads: any; after fork() in parent and child.
 * Errors: VESTA_EPAUSE, *number untouched: VESTA_RANGE: there is no range just now; VESTA_FAILSTOP: the counter went
 * back.  Of VESTA_STRICT always VESTA_RANGE: use vesta_segment_next_wait. */
VESTA_API int vesta_segment_next(struct vesta_segment *seg, uint64_t *number, struct vesta_pause *pause);

/* Numbers that belong to the caller alone: first, first + stride, ..., `count` of them. */
struct vesta_numbers {
    uint64_t first, count, stride;
};

/* Takes up to n numbers of one range in one step, as vesta_segment_next does.  Shape: out->count is 1 to n; n >= 1,
 * more than VESTA_NUMBERS_MAX is cut to that.  Threads: any.  Errors: as vesta_segment_next. */
VESTA_API int vesta_segment_next_n(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out,
                                   struct vesta_pause *pause);

/* As vesta_segment_next, but sleeps until a range comes, for up to wait_us_max in all.  Nobody spins, and nobody who
 * waits costs a database anything.  Threads: any; blocks.  Errors: VESTA_EPAUSE with the last pause. */
VESTA_API int vesta_segment_next_wait(struct vesta_segment *seg, uint64_t *number, int64_t wait_us_max,
                                      struct vesta_pause *pause);

/* Exactly n numbers of one range, out->stride apart: what is left of a range that is too short is dropped.  Shape: n is
 * 1 to VESTA_NUMBERS_MAX, out->count is n.  Threads: any; blocks.  Errors: VESTA_EPAUSE with the last pause; VESTA_EFULL:
 * the segment's ranges hold fewer than n, and nothing was dropped for it: raise its step. */
VESTA_API int vesta_segment_batch_wait(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out,
                                       int64_t wait_us_max, struct vesta_pause *pause);

/* VESTA_STRICT for event loops: asks for n numbers, and returns at once; `ready` tells when there may be an answer.
 * Shape: n is 1 to VESTA_NUMBERS_MAX; a ticket whose answer nobody takes costs n numbers.  Threads: any.
 * Errors: VESTA_EFULL: n; VESTA_EOPTION: the order is not strict. */
VESTA_API int vesta_segment_ask(struct vesta_segment *seg, uint64_t n, uint64_t *ticket);

/* What became of it; an answer is there for the next 64 transactions at the least.  Shape: n as it was asked for;
 * out->count is n.  Threads: any.  Errors: VESTA_EPAUSE: not yet; VESTA_ENOTNOW: nothing was granted, *pause says why:
 * ask again; VESTA_EOPTION: the order is not strict. */
VESTA_API int vesta_segment_answer(struct vesta_segment *seg, uint64_t ticket, uint64_t n, struct vesta_numbers *out,
                                   struct vesta_pause *pause);

/* Sleeps until a ticket has its answer, for up to wait_us_max; it may be waited for again.  Threads: any; blocks.
 * Errors: VESTA_EPAUSE: not yet, or the counter went back; VESTA_EOPTION: the order is not strict. */
VESTA_API int vesta_segment_await(struct vesta_segment *seg, uint64_t ticket, int64_t wait_us_max);

/* For event loops: `ready` is called, with `self`, by a thread of the library whenever numbers may be had again, or a
 * pause has another cause now; it must not block, and must not call the segment: it wakes the loop, which asks again.
 * While a caller was told to pause, ranges that other processes of the host have fetched are told of, too, within
 * 10 ms.  One a segment; NULL ends it, and waits for a call that is under way.  Threads: any; not from `ready`. */
VESTA_API void vesta_segment_on_ready(struct vesta_segment *seg, void (*ready)(void *self), void *self);

/* One sentence about a pause, with what the database was last heard to say.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_segment_pause_text(struct vesta_segment *seg, const struct vesta_pause *pause, char *buf,
                                        size_t size);

/* Gives what is left of the segment's ranges back to the databases, if no other process of the host has it open, and
 * no other host has raised the counter since.  The map stays, and remembers what this host was granted.  Numbers may be
 * asked for afterwards: they are fetched anew.  Threads: any; blocks for the stores.
 * Errors: VESTA_EIO: it was not given back, and why.  The numbers are kept for the next start on this machine, unless
 * nobody knows whether the store took them back; VESTA_EOPTION: this handle starts no thread; VESTA_ENOTNOW: other
 * processes use it, or its counter went back. */
VESTA_API int vesta_segment_release(struct vesta_segment *seg, struct vesta_error *err);

/* A person has put a counter right that went back (VESTA_FAILSTOP): it is asked again.  It must stand above all that
 * any host was granted.  even_lower: what this host was granted before is forgotten, and smaller numbers are taken:
 * they may have been given before.  Call it, with the processes that take numbers stopped, before the counter is
 * lowered: a process that runs raises the counter every 2 seconds while it is stopped.  Threads: any.  Errors: VESTA_ENOTNOW: it has not gone back. */
VESTA_API int vesta_segment_resume(struct vesta_segment *seg, int even_lower, struct vesta_error *err);

/* What a segment is at the moment; all of it may be old by the time it is read. */
struct vesta_segment_info {
    char tag[VESTA_TAG_MAX];
    enum vesta_order order;
    int stores;            /* how many of database[] mean something */
    uint64_t position;     /* the next number, where there is one */
    uint64_t count, left;  /* numbers that the current range held, and what is left of them */
    uint64_t next_left;    /* numbers of the next range; 0: it has not come yet */
    uint64_t until_refill; /* so many more numbers, and the next range is asked for */
    uint64_t stride;       /* distance of two numbers: how many databases there are, or the delta of its only row */
    double per_s;          /* numbers a second, as measured over the last range; 0: not measured yet */
    struct {
        const char *store;                         /* a password in it is ***.  Lives as long as the handle */
        uint64_t step;                             /* numbers asked for last, or to be asked for first */
        uint64_t ranges;                           /* that this process has got */
        uint64_t refused, down, unknown, conflict; /* what else was answered */
        int64_t fetch_us;                          /* how long the last one took; -1: there was none */
        uint64_t granted;                          /* the highest end of a range that this host was granted */
        int is_refused; /* 1: the last answer was that the counter cannot be raised: a person has to act */
        int is_stopped; /* 1: its counter went back, to `lowered` */
        uint64_t lowered;
        char said[192]; /* why it brings no range, or what was not given back; "": all is well */
    } database[VESTA_DATABASES_MAX];
    char warning[256]; /* e.g. that the map is this process's alone; "" if nothing */
};
VESTA_API void vesta_segment_get_info(struct vesta_segment *seg, struct vesta_segment_info *out);

#ifdef __cplusplus
}
#endif
#endif
