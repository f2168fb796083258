/* record.h -- a store's records of worker ids, namespaces and counters, and their text form. */
#ifndef VS_RECORD_H
#define VS_RECORD_H

#include "generator/generator.h"

#define VS_HOLDER_MAX 128
#define VS_RECORD_TEXT_MAX 2048
#define VS_RECORD_FORMAT 1
/* A record with a higher version is rejected as damaged.  Each write adds 1, so a version cannot become this high.  If
 * a version were higher, further writes could overflow it to 0, which means that there is no record. */
#define VS_VER_MAX (UINT64_MAX / 2)

/* The record of a worker id in a namespace.  ver 0: there is no record yet. */
struct vs_record {
    uint64_t ver;         /* incremented by each write */
    uint64_t epoch;       /* incremented by each claim */
    uint64_t owner[2];    /* the token, random and new for each attempt to claim */
    uint64_t until;       /* a tick, exclusive: no tick at or after it was ever granted */
    uint64_t fingerprint; /* of the layout */
    int64_t written_ms;   /* the time of the write, set by the store */
    int64_t lease_ms;     /* other processes may claim the worker id when store_now - written_ms > lease_ms */
    int64_t seen_ms;      /* the holder's clock at the time of the write */
    bool held;
    /* For watermarks.  No tick below `low` is issued any more with this worker id, except that until the instant pin_ms
     * of the store's clock, and while the record is held, ticks from `low` on may be issued. */
    bool has_low; /* false: the holder has not read the namespace's record since its first watermark */
    uint64_t low; /* VS_LOW_NONE: the generator may issue any tick of its lease at any time */
#define VS_LOW_NONE 0
    int64_t pin_ms; /* until then an earlier holder may issue ticks from `low` on.  0: there is no such holder */
#define VS_PIN_EVER INT64_MAX
    /* When the holder stops issuing, unless it renews, by CLOCK_BOOTTIME.  In this case pin_ms is of that clock, too.
     * 0: the store's clock decides, because other hosts use the store */
    int64_t stop_ms;
    char identity[VS_IDENTITY_MAX];
    char holder[VS_HOLDER_MAX]; /* the host and process, for people to read */
};

_Static_assert(VS_IDENTITY_MAX + VS_HOLDER_MAX + 512 < VS_RECORD_TEXT_MAX, "there is room for its texts and numbers");

/* The record of a namespace. */
struct vs_ns_record {
    uint64_t ver;
    uint64_t fingerprint;
    uint64_t incarnation; /* random, identifies the store's contents. If it changes, the store was replaced */
    int64_t floor_ms;     /* no lease starts before this instant. 0: no floor */
    int64_t mark_ms;      /* no watermark is above this instant, and no lease starts before it. 0: no watermarks */
    uint64_t static_first, static_count; /* the range of worker ids that are assigned by hand, and never chosen */
    char layout[VESTA_LAYOUT_TEXT_MAX];
};

static inline bool vs_is_static(const struct vs_ns_record *ns, uint64_t worker) {
    return worker >= ns->static_first && worker - ns->static_first < ns->static_count;
}

/* The record of a tag, in a store without tables. */
struct vs_counter_record {
    uint64_t ver;
    uint64_t max, step; /* up to 2^63 - 1 */
    int64_t updated_ms;
    char tag[VESTA_NAMESPACE_MAX];
};

/* Write a record's text form, and return its length.  Shape: buf has VS_RECORD_TEXT_MAX bytes. */
size_t vs_record_write(const struct vs_record *record, char *buf);
size_t vs_ns_record_write(const struct vs_ns_record *record, char *buf);
size_t vs_counter_record_write(const struct vs_counter_record *record, char *buf);

/* Read a record from its exact text form.  Return NULL, or the reason why the text is not a record, as the end of a
 * sentence. */
const char *vs_record_read(const char *text, size_t length, struct vs_record *out);
const char *vs_ns_record_read(const char *text, size_t length, struct vs_ns_record *out);
const char *vs_counter_record_read(const char *text, size_t length, struct vs_counter_record *out);

/* The state of a worker id at a time of the store's clock. */
enum vs_standing { VS_STANDS_HELD, VS_STANDS_EXPIRED, VS_STANDS_FREE, VS_STANDINGS };
const char *vs_standing_name(enum vs_standing standing);
/* Returns how long after its last write a record expires: the length of the lease, or of the window if that is longer.
 * With `local` timing an idle holder renews rarely, and may issue ids until its window ends.  `shape` belongs to the
 * layout.  It is NULL if the layout is unknown. */
#define VS_STANDING_WINDOW_MS_MAX 180000 /* a cap: the window of `local`. Records of `autonomous` may end far ahead */
int64_t vs_standing_length_ms(const struct vs_record *record, const struct vs_shape *shape);
enum vs_standing vs_standing_of(const struct vs_record *record, const struct vs_shape *shape, int64_t store_ms);

#endif
