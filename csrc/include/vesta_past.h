/* vesta_past.h -- ids of past times: the part of vesta.h for imports.
 *
 * An importer leases a *past range*: all ticks from one date to another of one worker id.  Its ids sort into these
 * dates, and never equal a live id or an id of another importer.
 *
 *     struct vesta_opts opts = VESTA_OPTS_INIT;
 *     struct vesta_past_span span = {.from_ms = 1546300800000, .until_ms = 1577836800000};  // the year 2019
 *     opts.namespace_ = "orders";
 *     if (vesta_past_open(&opts, &span, &past, &err) != VESTA_OK) return puts(err.text), 1;
 *     for (each row, sorted by time)
 *         if (vesta_past_next(past, row.unix_ms, &row.id, &err) != VESTA_OK) return puts(err.text), 1;
 *     vesta_past_release(past, &err);
 *     vesta_past_close(past);
 *
 * A lease is one write to the store.  It never expires, and a process that is killed loses the rest of its range: lease
 * a new range to continue, and it gets another worker id.  So a layout with 1,024 worker ids permits 1,024 leases for
 * the same dates, minus the worker ids that were used live at or after these dates.  struct vesta_past_info has the
 * number of leases that remain.
 *
 * The ids are unique among all ids that the store has granted.  The store does not know ids that another program made
 * with the same layout.  If there are such ids in these dates, set a worker id that they do not have. */
#ifndef VESTA_PAST_H
#define VESTA_PAST_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_PAST_TEXT_MAX 120 /* bytes of a range's text, with the NUL */

struct vesta_past;

/* The dates of a range. */
struct vesta_past_span {
    int64_t from_ms, until_ms; /* Unix milliseconds, until_ms is exclusive. Both are rounded down to a time unit */
    uint64_t count;            /* fail if the range has fewer ids. 0: any number */
};

/* Leases a past range.  From `opts`, these members are used: namespace_, path, store, secret and layout (default: those
 * of the generator that vesta_open would open, and the layout of its namespace), has_worker and worker (default: the
 * library chooses), fields, method, clock.  Set no flags.
 * The chosen worker id is that of an earlier import which ended before from_ms, or a worker id that was never used, or
 * else one that a generator used before from_ms and has released.
 * Threads: any.  May block on the store.  Own: close with vesta_past_close.
 *
 * Errors: those of vesta_open for these options, and
 *
 *     VESTA_EOPTION    the range ends before it starts or after the present, or starts before the time at which the
 *                      store lost data
 *     VESTA_EEPOCH     the range starts before the layout's epoch, or after its end
 *     VESTA_EFULL      no worker id is free for these dates, or the range has fewer than `count` ids
 *     VESTA_EMISMATCH  the namespace has another layout
 *     VESTA_ENOGEN     the store is shared and does not have the namespace
 *     VESTA_EIO        the store did not answer, or did not confirm the lease */
VESTA_API int vesta_past_open(const struct vesta_opts *opts, const struct vesta_past_span *span,
                              struct vesta_past **past, struct vesta_error *err);

/* Issues an id for a row of this time: the next id of the range that is not earlier than the row.  If the rows of a
 * time unit exceed its ids, the next units' ids follow.  Sort the rows by time.
 * Unit: Unix milliseconds.  Threads: one at a time per handle.  Not in a forked child.
 * Errors: VESTA_EOPTION, *id unchanged, if the time is outside the range, or in an earlier time unit than the last
 * row's.  VESTA_EFULL if the range has no id left at or after that time.  VESTA_ECLOSED in a forked child, and after
 * vesta_past_release. */
VESTA_API int vesta_past_next(struct vesta_past *past, int64_t unix_ms, uint64_t *id, struct vesta_error *err);

/* The state of a range. */
struct vesta_past_info {
    struct vesta_layout layout;
    uint64_t worker;
    int64_t from_ms, until_ms;      /* the dates of the range, in whole time units */
    struct vesta_block block;       /* all ids of the range, for vesta_block_id */
    uint64_t left;                  /* ids that remain, if the next row is not later than the last one */
    uint64_t others;                /* how many further ranges of these dates could be leased */
    char text[VESTA_PAST_TEXT_MAX]; /* identifies the lease for `vesta range release` */
};
VESTA_API void vesta_past_get_info(const struct vesta_past *past, struct vesta_past_info *out);

/* Returns the ids after the last one to the store, for later imports.  The handle then issues no ids.  May block on the
 * store.  Threads: one at a time per handle.
 * Errors: VESTA_EIO if the store did not confirm it: call again, or close.  VESTA_ENOTNOW if the worker id was leased
 * again in the meantime, which is normal: the remaining ids of the range are lost.  VESTA_EMISMATCH if the store has
 * lost this lease: the text states what to do.  VESTA_ECLOSED in a forked child. */
VESTA_API int vesta_past_release(struct vesta_past *past, struct vesta_error *err);

/* Closes the handle.  Without vesta_past_release, the rest of the range stays leased.  past may be NULL.
 * Threads: no other call on this handle may run at the same time or follow. */
VESTA_API void vesta_past_close(struct vesta_past *past);

#ifdef __cplusplus
}
#endif
#endif
