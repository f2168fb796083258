/* mark.h -- the rules of watermarks.  A watermark is a tick below which no call that begins later gets an id, from any
 * holder of the namespace.  It follows from the records in the store:
 *
 *     The mark in the namespace's record is above every watermark.  No lease starts below it.  A claim is written only
 *     if the namespace's record has not changed since the claimant read it.  So a list of the records that is read
 *     after the mark has every lease that started below the mark.
 *
 *     No clock of a reader raises the mark.  It follows the positions that holders have written, and a holder writes
 *     none while its own clock is unconfirmed.  So one wrong clock delays no id.
 *
 *     Each holder writes its cursor as `low` into its record.  Its keeper moves the cursor of an idle generator up to a
 *     few seconds before the clock, so that `low` rises.  The cursor never goes back, whatever the clock does.
 *
 *     A holder that does not renew stops at its deadline, by CLOCK_BOOTTIME.  When that has passed, the reader of the
 *     watermark ends the lease by a compare-and-set.  From then on the holder cannot renew, so it issues no more ids.
 *
 * Pure: no clock, no store. */
#ifndef VS_MARK_H
#define VS_MARK_H

#include "lease/lease.h"

/* The mark and the cursor of an idle generator are this far behind the clock, so that a clock that is late by less
 * delays no lease and no id. */
#define VS_MARK_LAG_MS (VS_CLOCK_LEAP_US / 1000)
/* The mark is raised in steps, because each holder reads the namespace's record again after it has changed. */
#define VS_MARK_STEP_MS 10000

/* The time by the store's clock and by this host's CLOCK_BOOTTIME. */
struct vs_mark_now {
    int64_t store_ms; /* 0: unknown, so that no lease is over, no pin has ended and no mark is due */
    int64_t boot_ms;
    bool by_boot; /* the store is used from this host only, so records may have instants of CLOCK_BOOTTIME */
};

/* Returns whether an earlier holder of the worker id may still issue ids. */
bool vs_mark_is_pinned(const struct vs_record *record, const struct vs_mark_now *now);
/* Returns whether the record is held and its holder has passed its deadline.  A lease without `low` is never over. */
bool vs_mark_is_over(const struct vs_record *record, const struct vs_shape *shape, const struct vs_mark_now *now);
/* Changes a record that vs_mark_is_over accepts to the record that ends its lease. */
void vs_mark_end(struct vs_record *record);

/* Sets `low`, `pin_ms` and `stop_ms` of the record that a holder writes over the record `was`.  cursor: the holder
 * issues no tick below it, unless it has history pacing. */
struct vs_mark_write {
    bool claims, releases, is_history;
    int64_t stop_ms; /* the holder's deadline, by CLOCK_BOOTTIME */
    uint64_t cursor;
};
void vs_mark_put(struct vs_record *record, const struct vs_record *was, const struct vs_shape *shape,
                 const struct vs_mark_write *write, const struct vs_mark_now *now);

/* What keeps a watermark from being higher. */
enum vs_mark_by {
    VS_MARK_BY_CLOCK,   /* only the mark, which follows the holders */
    VS_MARK_BY_NONE,    /* only the mark, and no worker id is held, so there is no holder to follow */
    VS_MARK_BY_HOLDER,  /* a holder's cursor at its last renewal */
    VS_MARK_BY_EARLIER, /* an earlier holder of a worker id, which may not have stopped yet */
    VS_MARK_BY_SILENT,  /* a holder that has not written `low` yet, so there is no watermark */
    VS_MARK_BY_HISTORY  /* a holder with history pacing, so there is no watermark */
};
struct vs_lease_mark {
    uint64_t tick; /* no tick below it is issued any more.  0: unknown */
    enum vs_mark_by by;
    const struct vs_listed *holder; /* NULL for VS_MARK_BY_CLOCK and VS_MARK_BY_NONE */
};
/* Computes the watermark from records that were listed after the mark was read or written.  Records whose lease the
 * reader has ended since must be changed by vs_mark_end first. */
struct vs_lease_mark vs_mark_of(struct vs_listing listing, const struct vs_shape *shape, uint64_t fingerprint,
                                int64_t mark_ms, const struct vs_mark_now *now);

/* Returns the mark that the reader must write, or 0 if it must not change.  After the write, the reader lists the
 * records again.  The mark is never above the store's clock.  While a worker id is held or pinned, the mark rises in
 * steps, up to the lowest position in the records.  A watermark is not higher either, and one holder with a wrong clock
 * does not raise the mark for the others. */
int64_t vs_mark_due_ms(struct vs_listing listing, const struct vs_shape *shape, uint64_t fingerprint, int64_t mark_ms,
                       const struct vs_mark_now *now);
/* Returns the lowest mark.  It starts the watermarks of a namespace, and delays no lease. */
int64_t vs_mark_first_ms(const struct vs_shape *shape);

#endif
