/* segments.h -- the served tags of a server: state shared by the files that open them.
 *
 *   segments.c  the thread that opens tags, reads their tables every minute, and frees removed tags
 *   databases.c logs the state of their databases
 *   desk.c      threads that request numbers without a gap from the database
 *   tables.c    the tags in a table, and which of them are served */
#ifndef VS_SERVE_SEGMENTS_H
#define VS_SERVE_SEGMENTS_H

#include "serve/serving.h"
#include "server/tags.h"

#include <pthread.h>

#define VS_SEGMENT_ROWS_MAX VS_CONF_SEGMENTS_MAX

#define VS_DESK_THREADS 4

#define VS_TOLD_MAX 32 /* tags that the log names because they are not served; the others are only counted */

/* A row of the config's segments. */
struct vs_tag_row {
    const struct vs_conf_segment *conf;
    const char *stores[VS_CONF_SEGMENT_STORES_MAX]; /* their names in the config */
    struct vs_desk *desk;                           /* for order strict or dense, else NULL */
    struct vs_form *form;                           /* text form of its numbers (NULL: digits) */
    struct vs_zone_file *zone;                      /* the time zone of its days; NULL if `form` is */
    bool is_read;                                   /* its tags were read at least once */
    bool is_told;                                   /* its read error was logged */
    uint64_t passed;                                /* its tags that are not served */
    char told[VS_TOLD_MAX][VESTA_TAG_MAX];          /* those that were logged */
    int told_count;
    char why[VS_NAMESPACE_WHY_MAX]; /* the error of the last reading ("": it was read) */
    bool is_writable;                  /* a database accepted a write or issued numbers */
    /* why all its databases reject writes ("": one accepts them, or none has answered) */
    char refused[VS_NAMESPACE_WHY_MAX];
    uint64_t unusable;              /* as in struct vs_tags_status, for its tables */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX];
};

/* A replaced set, which is freed when no loop uses it any more. */
struct vs_tag_retired {
    struct vs_tag_retired *next;
    struct vs_tag_set *set;
    int64_t since_us;
    size_t count;
    struct vs_served_tag *tag[]; /* tags that are in no later set */
};

/* The state of a database as last logged, by its store's name. */
#define VS_DATABASES_SEEN_MAX (VS_SEGMENT_ROWS_MAX * VS_CONF_SEGMENT_STORES_MAX)
struct vs_database_seen {
    const char *name;
    bool is_away;
    bool is_warned; /* a warning was logged that some facts cannot be recorded there */
    size_t back; /* tags with a counter that went back there */
    int64_t told_us;
};

/* Failures and answers of a tag in one database at the last check. */
struct vs_met_database {
    uint64_t failures, answers;
};

struct vs_segments {
    struct vs_serving *serving;
    struct vs_tag_row row[VS_SEGMENT_ROWS_MAX];
    int row_count;
    _Atomic int64_t cut_us; /* store calls must end at that instant, in boot time (0: not set) */
    /* only used by the thread */
    struct vs_served_tag *tag[VS_SERVED_TAGS_MAX]; /* the served tags, in no order */
    size_t tag_count, found_count;                 /* found: tags with a map that no config lists */
    bool is_taken[VS_SERVED_TAGS_MAX];             /* places in use */
    size_t leaving;    /* removed tags, which keep their places and maps until no loop uses them */
    bool lacks_places; /* a tag is not served only because of them */
    uint64_t told[VS_SERVED_TAGS_MAX];             /* by place: rejected requests that were logged */
    struct vs_met_database met[VS_SERVED_TAGS_MAX][VS_CONF_SEGMENT_STORES_MAX];
    struct vs_database_seen database[VS_DATABASES_SEEN_MAX];
    size_t database_count;
    struct vs_tag_retired *retired, **retired_end;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t woken;
    bool ending, ended;
    bool asked; /* the tables are to be read now */
    struct vs_tags_status status;
};

/* Starts the threads of a row with order strict or dense.  NULL: no memory. */
struct vs_desk *vs_desk_open(struct vs_segments *segments, const struct vs_conf_segment *conf);
/* After the loops have ended: waits for its threads until that instant (vs_monotonic_us).  false: a thread hangs and
 * still uses the desk. */
bool vs_desk_end(struct vs_desk *desk, int64_t until_us);

/* Logs changes of the databases' state.  Called once a second. */
void vs_databases_look(struct vs_segments *segments);

/* Reads a row's tables or list, serves new tags, and logs errors. */
void vs_tag_row_read(struct vs_segments *segments, struct vs_tag_row *row);
/* Tests whether a database of the row accepts writes, and records why not.  Changes no counter. */
void vs_tag_row_try(struct vs_segments *segments, struct vs_tag_row *row);
/* Frees replaced sets that no loop uses any more. */
void vs_tags_sweep(struct vs_segments *segments);

#endif
