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

#define VS_TOLD_MAX 32 /* maximum number of unserved tags that the log names (the others are only counted) */

/* A row of the config's segments. */
struct vs_tag_row {
    const struct vs_conf_segment *conf;
    const char *stores[VS_CONF_SEGMENT_STORES_MAX]; /* the stores' names in the config */
    struct vs_desk *desk;                           /* for the orders strict and dense, otherwise NULL */
    struct vs_form *form;                           /* text form of the row's numbers (NULL: digits) */
    struct vs_conf_mask *mask;                      /* options of the tags' masks (NULL: none) */
    struct vs_zone_file *zone;                      /* time zone of the form's days (NULL: no form) */
    bool is_read;                                   /* the row's tags were read at least once */
    bool is_told;                                   /* the error of the row's last reading was logged */
    uint64_t passed;                                /* number of the row's tags that are not served */
    char told[VS_TOLD_MAX][VESTA_TAG_MAX];          /* unserved tags that were logged */
    int told_count;
    char why[VS_NAMESPACE_WHY_MAX]; /* error of the last reading ("": it succeeded) */
    bool is_writable;                  /* a database accepted a write or issued numbers */
    /* Why every database of the row rejects writes ("": a database accepts writes, or none has replied). */
    char refused[VS_NAMESPACE_WHY_MAX];
    uint64_t unusable;              /* as in struct vs_tags_status, for the row's tables */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX];
};

/* A replaced set.  It is freed when no event loop uses it any more. */
struct vs_tag_retired {
    struct vs_tag_retired *next;
    struct vs_tag_set *set;
    int64_t since_us;
    size_t count;
    struct vs_served_tag *tag[]; /* tags that no later set contains */
};

/* The last logged state of a database, which is identified by its store's name. */
#define VS_DATABASES_SEEN_MAX (VS_SEGMENT_ROWS_MAX * VS_CONF_SEGMENT_STORES_MAX)
struct vs_database_seen {
    const char *name;
    bool is_away;
    bool is_warned; /* the log already states that the database cannot record some facts */
    size_t back; /* number of tags whose counter in the database went back */
    int64_t told_us;
};

/* How often a database failed and replied for a tag, counted at the last check. */
struct vs_met_database {
    uint64_t failures, answers;
};

struct vs_segments {
    struct vs_serving *serving;
    struct vs_tag_row row[VS_SEGMENT_ROWS_MAX];
    int row_count;
    _Atomic int64_t cut_us; /* store calls must end at this instant, in boot time (0: no limit) */
    /* The following members are used only by the thread. */
    struct vs_served_tag *tag[VS_SERVED_TAGS_MAX]; /* the served tags, in no order */
    size_t tag_count, found_count; /* found_count: tags that were found in a table and are not listed in the config */
    bool is_taken[VS_SERVED_TAGS_MAX];             /* whether the slot is in use */
    size_t leaving;    /* removed tags (their slots and maps stay in use while an event loop uses the tags) */
    bool lacks_places; /* a tag is not served only for lack of a slot or map */
    uint64_t told[VS_SERVED_TAGS_MAX];             /* by slot: number of rejected requests that were logged */
    struct vs_met_database met[VS_SERVED_TAGS_MAX][VS_CONF_SEGMENT_STORES_MAX];
    struct vs_database_seen database[VS_DATABASES_SEEN_MAX];
    size_t database_count;
    struct vs_tag_retired *retired, **retired_end;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t woken;
    bool ending, ended;
    bool asked; /* the tables must be read now */
    struct vs_tags_status status;
};

/* Starts the threads of a row with the order strict or dense.  Returns NULL if there is no memory. */
struct vs_desk *vs_desk_open(struct vs_segments *segments, const struct vs_conf_segment *conf);
/* Call it after the event loops have ended.  Waits for the threads until until_us (vs_monotonic_us).  Returns false if
 * a thread hangs and still uses the desk. */
bool vs_desk_end(struct vs_desk *desk, int64_t until_us);

/* Logs changes of the databases' state.  Called once a second. */
void vs_databases_look(struct vs_segments *segments);

/* Reads a row's tables or list, serves new tags, and logs errors. */
void vs_tag_row_read(struct vs_segments *segments, struct vs_tag_row *row);
/* Tests whether a database of the row accepts writes, and records the reason if not.  Changes no counter. */
void vs_tag_row_try(struct vs_segments *segments, struct vs_tag_row *row);
/* Frees replaced sets that no event loop uses any more. */
void vs_tags_sweep(struct vs_segments *segments);

#endif
