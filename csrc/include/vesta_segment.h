/* vesta_segment.h -- counters: the part of vesta.h for consecutive numbers that a database grants.
 *
 * A *segment* is a counter in a row of a database.  The row has the next number.  A host that needs numbers raises this
 * number by a *step*, and then owns the numbers in between, which are called a *range*.  The tables have the format of
 * Leaf (leaf_alloc) or tinyid, and these programs may use them at the same time.  A segment holds two ranges, the
 * current one and the next.  A library thread fetches the next range in advance, so a call for a number does not use
 * the database.
 *
 *     struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
 *     opts.stores[0] = "mysql://app@db.example/ids";
 *     opts.tag = "orders";
 *     if (vesta_segment_open(&opts, &seg, &err) == VESTA_OK &&
 *         vesta_segment_next_wait(seg, &number, 1000 * 1000, &pause) == VESTA_OK) ...
 *
 * All processes of a host and user that open the same counter share one cursor, in memory that is lost at a reboot.  So
 * forks, nginx workers, reloads and kill -9 need no special handling.  Numbers never repeat, provided that the counter
 * only rises.  If the counter was lowered, by hand or by a restored backup, vesta detects that, raises it to the end of
 * this host's last range, and issues no number until a person has acted.  Numbers may be missing: those that remain in
 * the ranges of a host that crashes, and all numbers of a range if its grant was not confirmed. */
#ifndef VESTA_SEGMENT_H
#define VESTA_SEGMENT_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_DATABASES_MAX 8   /* stores of one segment */
#define VESTA_NUMBERS_MAX 65536 /* numbers in one call */
#define VESTA_STEP_MAX 1000000  /* the default of step_max */
#define VESTA_TAG_MAX VESTA_NAMESPACE_MAX

struct vesta_segment;

/* The order in which a segment issues numbers.  In either order no number is issued twice. */
enum vesta_order {
    VESTA_TREND, /* numbers rise in the long run, and each host has its own ranges */
    /* A call that begins after another call has returned gets a larger number, on any host.  Requires a single
     * database.  Each call waits for a transaction, which all waiting calls of a process share.  So the rate of a
     * process is at most the number of its threads times the database's transactions per second, and no number is
     * issued while the database is unreachable. */
    VESTA_STRICT,
};

/* Options of vesta_segment_open.  Every member except size, stores[0] and tag may be 0. */
struct vesta_segment_opts {
    size_t size;                     /* sizeof the caller's struct, set by VESTA_SEGMENT_OPTS_INIT */
    const struct vesta_clock *clock; /* must outlive the handle; NULL for the machine's clock */
    /* URIs.  With n databases, each has its own counter, and the database at index i provides only the numbers
     * congruent to i modulo n.  All users of the counter must list all databases in the same order. */
    const char *stores[VESTA_DATABASES_MAX];
    const char *secrets[VESTA_DATABASES_MAX]; /* credentials, kept in memory only. NULL: those in the URI */
    const char *table;                        /* the table of counters. NULL: leaf_alloc */
    const char *tag;                          /* the counter: [A-Za-z0-9_.:-]{1,64} */
    const char *group;                        /* the group whose members may share the cursor. NULL: this user only */
    uint64_t step;                            /* numbers in a range if the row has no step. 0: 1000 */
    /* The step doubles, up to step_max, if a range lasts less than 15 minutes, and halves if a range lasts more than 30
     * minutes.  0: VESTA_STEP_MAX. */
    uint64_t step_max;
    enum vesta_order order;
    unsigned flags; /* VESTA_NO_KEEPER, VESTA_FILE_KEEPER: start no thread, because another process fetches ranges */
    /* For VESTA_STRICT: returns the smallest number that may be issued at an instant of the database's clock, which is
     * the same for all hosts.  A counter below this number is raised to it.  A library thread calls this for each step,
     * passing floor_self.  It must not block or call the segment.  It returns 0 if no number may be issued at that
     * instant, and must never fall with time.  It is also called for the year 2000: a counter that has issued numbers
     * below that result belongs to another user, and is rejected.  NULL: no limit. */
    uint64_t (*floor)(void *self, int64_t unix_ms);
    void *floor_self;
    /* Returns whether a number at or above the floor may be issued (0: reject it), because an existing counter may be
     * in the middle of a period.  Called with floor_self.  NULL: every number may be issued. */
    int (*fits)(void *self, uint64_t number);
    /* Any string that identifies the form in which callers write the numbers.  The string is stored with the first
     * number, in the database and in this host's map.  A caller with a different form gets VESTA_RANGE from each call,
     * because two forms could write two numbers as the same text.  The string must live as long as the segment.  NULL:
     * decimal digits. */
    const char *form;
};

/* First write struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT, then set the options that differ. */
#define VESTA_SEGMENT_OPTS_INIT                                                                                        \
    { .size = sizeof(struct vesta_segment_opts) }

/* Opens a counter without using the database.  The first call for a number wakes the thread that fetches ranges.  There
 * is one such thread per database and process, with all signals but SIGBUS blocked.  The thread ends when the last
 * segment is closed.  If a process opens the same counter several times, it gets the same segment each time, and must
 * close it as many times.  The steps and secrets of the last call apply, and all calls must have the same floor.
 * Threads: any, also after fork() in parent and child.  Own: close with vesta_segment_close.
 * Errors: VESTA_EOPTION with the option and the reason, VESTA_EIO if the counter's map cannot be used, VESTA_ENOMEM. */
VESTA_API int vesta_segment_open(const struct vesta_segment_opts *opts, struct vesta_segment **seg,
                                 struct vesta_error *err);

/* Closes the handle.  The unused numbers of its ranges stay in the map, for other processes and the next start.  If the
 * map is private to this process, these numbers are released to the database.  seg may be NULL.
 * Threads: no other call on this handle may run at the same time or follow.  May block until a call to the store has
 * returned. */
VESTA_API void vesta_segment_close(struct vesta_segment *seg);

/* Issues the next number.  It never blocks and never uses a database.  The first call of a process, or of a forked
 * child, may start a thread.  Unit: the counter's.  Threads: any, also after fork() in parent and child.
 * Errors: VESTA_EPAUSE, *number untouched, with VESTA_RANGE if there is no range at present, or VESTA_FAILSTOP if the
 * counter was lowered.  With VESTA_STRICT it always pauses with VESTA_RANGE: use vesta_segment_next_wait. */
VESTA_API int vesta_segment_next(struct vesta_segment *seg, uint64_t *number, struct vesta_pause *pause);

/* `count` numbers that belong to the caller: first, first + stride, first + 2 * stride, ... */
struct vesta_numbers {
    uint64_t first, count, stride;
};

/* Takes up to n numbers of one range in one step, like vesta_segment_next.
 * Shape: n must be at least 1 and is capped at VESTA_NUMBERS_MAX.  out->count is between 1 and n.  Threads: any.
 * Errors: as vesta_segment_next. */
VESTA_API int vesta_segment_next_n(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out,
                                   struct vesta_pause *pause);

/* Like vesta_segment_next, but sleeps until a range is granted, for up to wait_us_max in total.  Waiting callers
 * neither spin nor cause requests to the database.  Threads: any.  May block.
 * Errors: VESTA_EPAUSE with the last pause. */
VESTA_API int vesta_segment_next_wait(struct vesta_segment *seg, uint64_t *number, int64_t wait_us_max,
                                      struct vesta_pause *pause);

/* Takes exactly n numbers of one range, out->stride apart.  If the current range has fewer than n numbers left, those
 * numbers are lost.
 * Shape: n must be between 1 and VESTA_NUMBERS_MAX.  out->count is n.  Threads: any.  May block.
 * Errors: VESTA_EPAUSE with the last pause.  VESTA_EFULL if a range of the segment has fewer than n numbers: raise its
 * step.  In this case no number is lost. */
VESTA_API int vesta_segment_batch_wait(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out,
                                       int64_t wait_us_max, struct vesta_pause *pause);

/* For event loops with VESTA_STRICT: requests n numbers and returns at once.  The function of vesta_segment_on_ready is
 * called when there may be an answer.  If no caller takes the answer, its n numbers are lost.
 * Shape: n must be between 1 and VESTA_NUMBERS_MAX.  Threads: any.  Errors: VESTA_EFULL if n is out of range,
 * VESTA_EOPTION if the order is not strict. */
VESTA_API int vesta_segment_ask(struct vesta_segment *seg, uint64_t n, uint64_t *ticket);

/* Returns the answer to a ticket.  An answer is stored for at least the next 64 transactions.
 * Shape: n as requested, out->count is n.  Threads: any.
 * Errors: VESTA_EPAUSE if there is no answer yet.  VESTA_ENOTNOW if nothing was granted: *pause has the reason, and the
 * caller may ask again.  VESTA_EOPTION if the order is not strict. */
VESTA_API int vesta_segment_answer(struct vesta_segment *seg, uint64_t ticket, uint64_t n, struct vesta_numbers *out,
                                   struct vesta_pause *pause);

/* Sleeps until the answer to a ticket is available, for up to wait_us_max.  It may be called again for the same ticket.
 * Threads: any.  May block.
 * Errors: VESTA_EPAUSE if there is no answer yet, or the counter was lowered.  VESTA_EOPTION if the order is not
 * strict. */
VESTA_API int vesta_segment_await(struct vesta_segment *seg, uint64_t ticket, int64_t wait_us_max);

/* For event loops: sets a function that a library thread calls, with `self`, when numbers may be available again or the
 * reason for a pause has changed.  `ready` must not block or call the segment.  It should wake the loop, which then
 * calls the segment again.  While callers of this process wait, `ready` is also called within 10 ms after another
 * process of the host has fetched a range.  A segment has one such function.  NULL removes it, and waits until a call
 * in progress has returned.  Threads: any, but not from `ready`. */
VESTA_API void vesta_segment_on_ready(struct vesta_segment *seg, void (*ready)(void *self), void *self);

/* Describes a pause in one sentence, with the database's last message.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_segment_pause_text(struct vesta_segment *seg, const struct vesta_pause *pause, char *buf,
                                        size_t size);

/* Releases the unused numbers of the segment's ranges to the databases, unless another process of the host has the
 * segment open or another host has raised the counter in the meantime.  The map remains, with a record of this host's
 * ranges.  Later calls for numbers fetch new ranges.  Threads: any.  May block on the stores.
 * Errors: VESTA_EIO with the reason if the ranges were not released.  In this case their numbers are kept for the next
 * start on this machine, unless the store may have taken them back without confirming it.  VESTA_EOPTION if this handle
 * does not start a thread.  VESTA_ENOTNOW if other processes use the segment, or its counter was lowered. */
VESTA_API int vesta_segment_release(struct vesta_segment *seg, struct vesta_error *err);

/* Resumes after VESTA_FAILSTOP, when a person has corrected the counter in the database.  The counter must be above all
 * numbers granted to any host.  even_lower: forget the ranges of this host and accept smaller numbers, which may then
 * be issued a second time.  To lower a counter, first stop the processes that take numbers, then call this, and then
 * lower it.  Until this call, a running process raises the counter again every 2 seconds.  Threads: any.
 * Errors: VESTA_ENOTNOW if the counter was not lowered. */
VESTA_API int vesta_segment_resume(struct vesta_segment *seg, int even_lower, struct vesta_error *err);

/* The current state of a segment.  It may be outdated when the caller reads it. */
struct vesta_segment_info {
    char tag[VESTA_TAG_MAX];
    enum vesta_order order;
    int stores;            /* valid entries of database[] */
    uint64_t position;     /* the next number, if there is one */
    uint64_t count, left;  /* size of the current range, and the numbers left in it */
    uint64_t next_left;    /* numbers in the next range. 0: not fetched yet */
    uint64_t until_refill; /* numbers left before the next range is requested */
    uint64_t stride;       /* distance between two numbers: the count of databases, or a single row's delta */
    double per_s;          /* numbers issued per second during the last range. 0: not measured yet */
    struct {
        const char *store;                         /* the URI, with the password as ***. Valid as long as the handle */
        uint64_t step;                             /* numbers in the last (or first) request */
        uint64_t ranges;                           /* ranges granted to this process */
        uint64_t refused, down, unknown, conflict; /* counts of requests that were not granted */
        int64_t fetch_us;                          /* duration of the last request. -1: none yet */
        uint64_t granted;                          /* the highest end of a range granted to this host */
        int is_refused; /* 1: the store rejected the last raise of the counter, so a person must act */
        int is_stopped; /* 1: the counter was lowered, to `lowered` */
        uint64_t lowered;
        char said[192]; /* why no range was granted, or could not be released. "" if there is no fault */
    } database[VESTA_DATABASES_MAX];
    char warning[256]; /* for example that the map is private to this process. "" if there is none */
};
VESTA_API void vesta_segment_get_info(struct vesta_segment *seg, struct vesta_segment_info *out);

#ifdef __cplusplus
}
#endif
#endif
