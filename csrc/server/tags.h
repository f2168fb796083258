/* tags.h -- the served tags.  Tags may be added and removed while the loops run.  The loops use an immutable set: each
 * change creates a new set, which replaces the old set.
 *
 * A loop may use the set during a request.  Transactions and waiting requests hold a reference from their first lookup
 * to their end.  So a set may be freed when it has no references and vs_serve_passed returns true for the time of its
 * replacement.  Then a tag that is in no set may also be freed. */
#ifndef VS_SERVER_TAGS_H
#define VS_SERVER_TAGS_H

#include "base/table.h"
#include "mask/mask.h"
#include "number/form.h"
#include "server/counts.h"
#include "server/desk.h"

/* The counts of one loop for one tag. */
struct vs_tag_counts {
    _Alignas(64) vs_count given[VS_ID_PROTOCOLS]; /* numbers issued, including failed batches and blocks */
    vs_count pauses;                              /* requests that found no number */
};

struct vs_served_tag {
    char name[VESTA_TAG_MAX];
    size_t name_length;
    int place;         /* unique index below VS_SERVED_TAGS_MAX, constant while served (selects the queue) */
    int row;           /* index in `segments` of the config */
    const char *table; /* name of the table in the config */
    const char *const *stores; /* names of its stores in the config */
    int64_t wait_us_max;            /* how long a request may wait for a number */
    struct vesta_segment *seg;      /* NULL: a gapless tag */
    struct vesta_segment *memory;   /* of a gapless tag: the numbers granted to this host (NULL: not gapless) */
    const struct vs_form *form;     /* text form of its numbers (NULL: digits) */
    struct vs_mask *mask;           /* masks its numbers (NULL: none) */
    _Atomic uint64_t used_up;       /* last number that did not fit the form or mask (0: none) */
    _Atomic int64_t rests_until_us; /* boot time before which no number is taken, because one did not fit */
    struct vs_desk *desk;           /* issues the numbers of a strict or gapless tag (NULL: a trend tag) */
    _Atomic uint64_t refused;       /* requests rejected for lack of a number */
    struct vs_tag_counts *counts;   /* one per loop */
};

struct vs_tag_set {
    atomic_int holders; /* references of transactions and waiting requests */
    size_t count;
    struct vs_served_tag **at; /* in ascending order of names */
    struct vs_table names;     /* maps a name to its index in `at` */
};

/* Creates a tag without a segment.  Returns NULL if there is no memory. */
struct vs_served_tag *vs_tag_new(const char *name, int loop_count);
void vs_tag_free(struct vs_served_tag *tag);

/* Creates a set of tags, which it does not own.  Returns NULL if there is no memory. */
struct vs_tag_set *vs_tag_set_new(struct vs_served_tag *const *tags, size_t count);
void vs_tag_set_free(struct vs_tag_set *set);

struct vs_served_tag *vs_tag_named(const struct vs_tag_set *set, const char *name, size_t length);
/* Returns the index of the first tag with a name that sorts after `name`. */
size_t vs_tag_after(const struct vs_tag_set *set, const char *name, size_t length);

/* Writes a number in the tag's form to buf, which has VS_FORM_TEXT_MAX bytes.  If the number does not fit the form,
 * larger numbers will not fit either until the counter is reset, so vs_tag_is_used_up returns true for a moment.
 * Threads: any.  Errors: as vs_form_write. */
int vs_tag_write(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock, char *buf,
                 struct vesta_error *err);
/* Records that a number did not fit the tag's form or mask. */
void vs_tag_rest(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock);
/* Returns whether requests must be rejected without taking a number, because a recent number did not fit.
 * *err is then the error of the last try. */
bool vs_tag_is_used_up(const struct vs_served_tag *tag, const struct vesta_clock *clock, struct vesta_error *err);

/* Returns the served set, for use in the current request.  NULL: no tag was ever served. */
struct vs_tag_set *vs_tags_now(struct vs_tags *tags);
/* Replaces the served set and returns the old one.  Threads: one at a time. */
struct vs_tag_set *vs_tags_replace(struct vs_tags *tags, struct vs_tag_set *set);
/* Add and remove a reference, for users that keep a set longer than a request. */
void vs_tags_hold(struct vs_tag_set *set);
void vs_tags_let(struct vs_tag_set *set);
bool vs_tags_are_held(struct vs_tag_set *set);

/* Returns a tag's counts, summed over all loops. */
struct vs_tag_total {
    uint64_t given[VS_ID_PROTOCOLS], pauses;
};
struct vs_tag_total vs_tag_total(const struct vs_monitor *monitor, const struct vs_served_tag *tag);

#endif
