/* tags.h -- the tags of counters that are served.  They come and go while the loops run, so the loops see them as a set
 * that never changes: whoever adds or takes away a tag makes another set and puts it in this one's place.
 *
 * A loop looks at the set while it handles a request; transactions and requests that wait hold it from their first tag to
 * their end.  So a set is free when each loop has passed from one request to another since it was replaced
 * (vs_serve_passed) and nothing holds it.  A tag that is in no set any more is then free, too. */
#ifndef VS_SERVER_TAGS_H
#define VS_SERVER_TAGS_H

#include "base/table.h"
#include "number/form.h"
#include "server/counts.h"
#include "server/desk.h"

/* What one loop counts of one tag. */
struct vs_tag_counts {
    _Alignas(64) vs_count given[VS_ID_PROTOCOLS]; /* numbers, those of failing batches and of blocks too */
    vs_count pauses;                              /* requests that met one */
};

struct vs_served_tag {
    char name[VESTA_TAG_MAX];
    size_t name_length;
    int place;         /* its own among VS_SERVED_TAGS_MAX while it is there: that of those who wait for it */
    int row;           /* of the config's segments */
    const char *table; /* the config's, as `stores`: the names that its databases have there */
    const char *const *stores;
    int64_t wait_us_max;            /* how long a request may wait for a number */
    struct vesta_segment *seg;      /* NULL: its numbers have no gap */
    struct vesta_segment *memory;   /* of a tag without a gap: what this host was granted; else NULL */
    const struct vs_form *form;     /* how its numbers are written; NULL: in digits */
    _Atomic uint64_t used_up;       /* the last number that the form had no room for, */
    _Atomic int64_t rests_until_us; /* and until when nobody asks for another, in boot time; 0: there was none */
    struct vs_desk *desk;           /* where they are asked for, or those that are in strict order; else NULL */
    _Atomic uint64_t refused;       /* requests that were told that there is no number */
    struct vs_tag_counts *counts;   /* of each loop */
};

struct vs_tag_set {
    atomic_int holders; /* transactions, and requests that wait */
    size_t count;
    struct vs_served_tag **at; /* by name, ascending */
    struct vs_table names;     /* from a name to its index in `at` */
};

/* Makes a tag without a segment.  NULL: no memory. */
struct vs_served_tag *vs_tag_new(const char *name, int loop_count);
void vs_tag_free(struct vs_served_tag *tag);

/* Makes a set of these tags, which it does not own.  NULL: no memory. */
struct vs_tag_set *vs_tag_set_new(struct vs_served_tag *const *tags, size_t count);
void vs_tag_set_free(struct vs_tag_set *set);

/* The tag of that name, or NULL. */
struct vs_served_tag *vs_tag_named(const struct vs_tag_set *set, const char *name, size_t length);
/* The index of the first tag whose name is above that one. */
size_t vs_tag_after(const struct vs_tag_set *set, const char *name, size_t length);

/* Writes a number as the tag's form says.  Where the form has no room for it the next ones will not fit either, until
 * the counter starts anew: for a moment nobody is to ask for one.  Shape: buf of VS_FORM_TEXT_MAX.  Threads: any.
 * Errors: as vs_form_write. */
int vs_tag_write(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock, char *buf,
                 struct vesta_error *err);
/* Whether it is that moment; *err says what vs_tag_write said. */
bool vs_tag_is_used_up(const struct vs_served_tag *tag, const struct vesta_clock *clock, struct vesta_error *err);

/* The set that is served, for the request under way; NULL: no tag was ever served. */
struct vs_tag_set *vs_tags_now(struct vs_tags *tags);
/* Puts a set in place of the one that is served, and returns that.  Threads: one at a time. */
struct vs_tag_set *vs_tags_replace(struct vs_tags *tags, struct vs_tag_set *set);
/* For who looks at a set for longer than a request. */
void vs_tags_hold(struct vs_tag_set *set);
void vs_tags_let(struct vs_tag_set *set);
bool vs_tags_are_held(struct vs_tag_set *set);

/* A tag's counts of all loops. */
struct vs_tag_total {
    uint64_t given[VS_ID_PROTOCOLS], pauses;
};
struct vs_tag_total vs_tag_total(const struct vs_monitor *monitor, const struct vs_served_tag *tag);

#endif
