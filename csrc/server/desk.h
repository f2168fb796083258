/* desk.h -- jobs for tags whose numbers are in strict order or have no gap.  Every request of such a tag is a database
 * transaction.  A thread of the desk runs it, and the request waits for it as for an id.  Knows no database. */
#ifndef VS_SERVER_DESK_H
#define VS_SERVER_DESK_H

#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#define VS_DESK_WAITING_MAX 1024 /* jobs of one desk that no thread has taken yet */

struct vs_tag_set;

enum vs_desk_ask { VS_DESK_NUMBERS, VS_DESK_RESERVE, VS_DESK_COMMIT, VS_DESK_CANCEL };
enum vs_desk_answer {
    VS_DESK_DONE,
    /* not done: the number's row forbids it (do not retry).  `text` is the reason, also for the next three */
    VS_DESK_SETTLED,
    VS_DESK_BACK,    /* not done: the database was restored to an older state, and an operator must act */
    VS_DESK_DOWN,    /* not done: the database is unreachable or rejects it for now */
    VS_DESK_UNKNOWN  /* it may have been done */
};

/* Held by the request and the desk.  The last holder frees it, so neither waits for the other. */
struct vs_desk_job {
    STAILQ_ENTRY(vs_desk_job) queued;
    atomic_int holders;
    atomic_bool is_done; /* if true, the members after `token` may be read */
    enum vs_desk_ask ask;
    char tag[VESTA_TAG_MAX];
    atomic_bool is_half_closed; /* its client sends no more: it has gone, or only closed its sending side */
    int64_t asked_us;           /* when it was queued, in boot time */
    int64_t until_us, hold_ms; /* until_us: the request stops waiting then, in boot time */
    uint64_t number, token[2]; /* RESERVE: the request draws the token, and the desk sets the number */
    struct vesta_segment *seg; /* NUMBERS: takes `count` consecutive numbers of it */
    uint64_t count;
    struct vesta_segment *memory; /* of a tag without a gap: struct vs_served_tag */
    struct vs_tag_set *tags; /* the set that contains the tag, held until the job is done (NULL: none) */
    struct vesta_numbers numbers;
    struct vesta_pause pause; /* the reason if there are no numbers */
    enum vs_desk_answer answer;
    int64_t held_until_ms; /* RESERVE: by the database's clock */
    char text[400];
};

/* Makes a copy with two holders.  NULL: no memory. */
struct vs_desk_job *vs_desk_job_new(const struct vs_desk_job *what);
void vs_desk_job_let(struct vs_desk_job *job); /* may be NULL */
/* Returns whether the job's request has ended, because the client is gone or was answered.  For the desk. */
bool vs_desk_job_is_left(struct vs_desk_job *job);

/* Runs jobs.  `take` returns false if too many jobs wait.  It wakes the loops when a job is done (vs_serve_wake). */
struct vs_desk {
    bool (*take)(struct vs_desk *desk, struct vs_desk_job *job);
};

#endif
