/* tags.h -- the served tags of counters.  Tags come and go while the loops run.  The loops see them as an immutable
 * set: a change makes a new set, which replaces the old one.
 *
 * A loop uses the set while it handles a request.  Transactions and waiting requests hold it from their first tag to
 * their end.  So a set may be freed when nothing holds it and each loop has passed from one request to another since it
 * was replaced (vs_serve_passed).  Then a tag that is in no set may also be freed. */
#ifndef VS_SERVER_TAGS_H
#define VS_SERVER_TAGS_H

#include "base/table.h"
#include "number/form.h"
#include "server/counts.h"
#include "server/desk.h"

/* The counts of one loop for one tag. */
struct vs_tag_counts {
    _Alignas(64) vs_count given[VS_ID_PROTOCOLS]; /* numbers issued, including those of failed batches and of blocks */
    vs_count pauses;                              /* requests that found no number */
};

struct vs_served_tag {
    char name[VESTA_TAG_MAX];
    size_t name_length;
    int place;         /* index below VS_SERVED_TAGS_MAX, unique while the tag is served: selects its queue */
    int row;           /* index in the config's segments */
    const char *table; /* table name and store names of the config */
    const char *const *stores;
    int64_t wait_us_max;            /* how long a request may wait for a number */
    struct vesta_segment *seg;      /* NULL: its numbers have no gap */
    struct vesta_segment *memory;   /* of a tag without a gap: the numbers granted to this host, else NULL */
    const struct vs_form *form;     /* text form of its numbers (NULL: digits) */
    _Atomic uint64_t used_up;       /* the last number that did not fit the form (0: none) */
    _Atomic int64_t rests_until_us; /* ... and until when no number is requested after that, in boot time */
    struct vs_desk *desk;           /* of a tag in strict order or without a gap: issues its numbers, else NULL */
    _Atomic uint64_t refused;       /* requests rejected for lack of a number */
    struct vs_tag_counts *counts;   /* one per loop */
};

struct vs_tag_set {
    atomic_int holders; /* transactions and waiting requests */
    size_t count;
    struct vs_served_tag **at; /* by name, ascending */
    struct vs_table names;     /* from a name to its index in `at` */
};

/* Makes a tag without a segment.  NULL: no memory. */
struct vs_served_tag *vs_tag_new(const char *name, int loop_count);
void vs_tag_free(struct vs_served_tag *tag);

/* Makes a set of these tags, which the set does not own.  NULL: no memory. */
struct vs_tag_set *vs_tag_set_new(struct vs_served_tag *const *tags, size_t count);
void vs_tag_set_free(struct vs_tag_set *set);

/* Returns the tag of that name, or NULL. */
struct vs_served_tag *vs_tag_named(const struct vs_tag_set *set, const char *name, size_t length);
/* Returns the index of the first tag whose name sorts after that one. */
size_t vs_tag_after(const struct vs_tag_set *set, const char *name, size_t length);

/* Writes a number in the tag's form.  If the form has no room for it, larger numbers will not fit either until the
 * counter is reset.  So requests are rejected for a moment without taking a number.  Shape: buf of VS_FORM_TEXT_MAX.
 * Threads: any.  Errors: as vs_form_write. */
int vs_tag_write(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock, char *buf,
                 struct vesta_error *err);
/* Returns whether that moment lasts.  *err is then the error of vs_tag_write. */
bool vs_tag_is_used_up(const struct vs_served_tag *tag, const struct vesta_clock *clock, struct vesta_error *err);

/* Returns the served set for the current request (NULL: no tag was ever served). */
struct vs_tag_set *vs_tags_now(struct vs_tags *tags);
/* Replaces the served set and returns the old one.  Threads: one at a time. */
struct vs_tag_set *vs_tags_replace(struct vs_tags *tags, struct vs_tag_set *set);
/* For users of a set that outlive a request. */
void vs_tags_hold(struct vs_tag_set *set);
void vs_tags_let(struct vs_tag_set *set);
bool vs_tags_are_held(struct vs_tag_set *set);

/* A tag's counts of all loops. */
struct vs_tag_total {
    uint64_t given[VS_ID_PROTOCOLS], pauses;
};
struct vs_tag_total vs_tag_total(const struct vs_monitor *monitor, const struct vs_served_tag *tag);

#endif
