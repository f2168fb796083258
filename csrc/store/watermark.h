/* watermark.h -- reads the watermark of a namespace, by the rules of lease/mark.h.  Reading also writes: it raises the
 * namespace's mark, and ends leases that have expired. */
#ifndef VS_WATERMARK_H
#define VS_WATERMARK_H

#include "lease/mark.h"
#include "store/store.h"

struct vs_watermark {
    int64_t time_us;  /* Unix time.  No call that begins later gets an id with an earlier time */
    int64_t store_ms; /* the store's clock */
    int64_t off_ms;   /* how far this host's clock is ahead of it, if more than VS_MARK_LAG_MS.  Otherwise 0 */
    bool sorts;       /* the ids sort by time, so that `id` exists */
    uint64_t id;      /* no call that begins later gets this id or a lower one */
    char why[160];    /* if not `sorts`: the reason, as the end of a sentence */
    enum vs_mark_by by;
    struct vs_listed holder; /* what holds the watermark back.  Its ver is 0 if no holder does */
    int64_t passes_ms;       /* when the holder expires unless it renews, by the store's clock */
};

/* Sets *out.  `name` is the store's namespace, for messages.  If `starts`, the namespace gets watermarks if it has none
 * yet.  Errors: VESTA_EIO if the store did not answer.  VESTA_ENOGEN if the namespace does not exist.  VESTA_EOPTION if
 * it has no watermarks yet.  VESTA_ENOTNOW if a holder has not reported yet, or VESTA_EMISMATCH if a holder makes a
 * watermark impossible.  In these two cases by, holder and passes_ms are set.  An error never sets a watermark. */
int vs_watermark_read(struct vs_store *store, const char *name, bool starts, struct vs_watermark *out,
                      struct vesta_error *err);

/* Writes what holds the watermark back, since when and what to do, or "" if it follows the holders.  Returns buf. */
#define VS_WATERMARK_TEXT_MAX 640
const char *vs_watermark_text(const struct vs_watermark *mark, char *buf);

#endif
