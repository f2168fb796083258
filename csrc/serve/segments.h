/* segments.h -- the tags that a server serves: what the files that open them share.
 *
 *   segments.c  a thread that has them opened, their tables read every minute, and what was taken away freed
 *   databases.c what the log says of their databases
 *   desk.c      threads that ask the database for numbers without a gap
 *   tables.c    which tags a table has; which of them are served, and since when not */
#ifndef VS_SERVE_SEGMENTS_H
#define VS_SERVE_SEGMENTS_H

#include "serve/serving.h"
#include "server/tags.h"

#include <pthread.h>

#define VS_SEGMENT_ROWS_MAX VS_CONF_SEGMENTS_MAX

#define VS_DESK_THREADS 4

#define VS_TOLD_MAX 32 /* tags of a row that the log names because they are not served; the others are counted only */

/* A row of the config's segments. */
struct vs_tag_row {
    const struct vs_conf_segment *conf;
    const char *stores[VS_CONF_SEGMENT_STORES_MAX]; /* their names there */
    struct vs_desk *desk;                           /* of order strict or dense; else NULL */
    struct vs_form *form;                           /* how its numbers are written; NULL: in digits */
    struct vs_zone_file *zone;                      /* whose days it counts; NULL as well */
    bool is_read;                                   /* its tags are known, if not as of now */
    bool is_told;                                   /* the log knows that it cannot be read */
    uint64_t passed;                                /* tags of it that are not served */
    char told[VS_TOLD_MAX][VESTA_TAG_MAX];          /* those of which the log knows */
    int told_count;
    char why[VS_NAMESPACE_WHY_MAX]; /* why it could not be read the last time; "": it was */
    bool is_writable;                  /* a database took a write, or has granted numbers */
    char refused[VS_NAMESPACE_WHY_MAX]; /* why all its databases reject writes; "": one takes them, or none has answered */
    uint64_t unusable;              /* as in the status, of its tables, with the first of them */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX];
};

/* What was replaced, and is freed once nobody looks at it. */
struct vs_tag_retired {
    struct vs_tag_retired *next;
    struct vs_tag_set *set;
    int64_t since_us;
    size_t count;
    struct vs_served_tag *tag[]; /* that were in no later set */
};

/* What the log knows of a database, by its store's name. */
#define VS_DATABASES_SEEN_MAX (VS_SEGMENT_ROWS_MAX * VS_CONF_SEGMENT_STORES_MAX)
struct vs_database_seen {
    const char *name;
    bool is_away;
    bool is_warned; /* of what cannot be remembered there */
    size_t back; /* tags whose counters there went back */
    int64_t told_us;
};

/* What a tag had met in one of its databases at the last look. */
struct vs_met_database {
    uint64_t failures, answers;
};

struct vs_segments {
    struct vs_serving *serving;
    struct vs_tag_row row[VS_SEGMENT_ROWS_MAX];
    int row_count;
    _Atomic int64_t cut_us; /* no call of a store waits past that instant, in boot time; 0: none is set */
    /* the thread's own */
    struct vs_served_tag *tag[VS_SERVED_TAGS_MAX]; /* served, in no order */
    size_t tag_count, found_count;                 /* found: of those that have a map, and that no config lists */
    bool is_taken[VS_SERVED_TAGS_MAX];             /* places */
    size_t leaving;    /* tags that are gone, and keep their places and maps until no loop looks at them */
    bool lacks_places; /* a tag is not served only because of those */
    uint64_t told[VS_SERVED_TAGS_MAX];             /* refusals of the tag at a place that the log knows of */
    struct vs_met_database met[VS_SERVED_TAGS_MAX][VS_CONF_SEGMENT_STORES_MAX];
    struct vs_database_seen database[VS_DATABASES_SEEN_MAX];
    size_t database_count;
    struct vs_tag_retired *retired, **retired_end;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t woken;
    bool ending, ended;
    bool asked; /* to read the tables now */
    struct vs_tags_status status;
};

/* Starts the threads of a row of order strict or dense.  NULL: no memory. */
struct vs_desk *vs_desk_open(struct vs_segments *segments, const struct vs_conf_segment *conf);
/* Behind the loops: waits for its threads until that instant (vs_monotonic_us).  false: one hangs, and uses it. */
bool vs_desk_end(struct vs_desk *desk, int64_t until_us);

/* Once a second: says what became of the databases since the last time. */
void vs_databases_look(struct vs_segments *segments);

/* Reads a row's tables, or its list, and serves what is new there; says what is wrong. */
void vs_tag_row_read(struct vs_segments *segments, struct vs_tag_row *row);
/* Tries whether a row's databases take writes, until one does; says why not.  Changes no counter. */
void vs_tag_row_try(struct vs_segments *segments, struct vs_tag_row *row);
/* Frees what was taken away and nobody looks at any more. */
void vs_tags_sweep(struct vs_segments *segments);

#endif
