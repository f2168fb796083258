/* desk.h -- jobs for tags with strict or gapless numbers.  Each request to such a tag needs a database transaction.  A
 * desk thread runs the transaction, and the request waits for the result as other requests wait for an id.  Contains no
 * database code. */
#ifndef VS_SERVER_DESK_H
#define VS_SERVER_DESK_H

#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#define VS_DESK_WAITING_MAX 1024 /* maximum number of jobs of one desk that no thread has taken yet */

struct vs_tag_set;

enum vs_desk_ask {
    VS_DESK_NUMBERS,
    VS_DESK_RESERVE,
    VS_DESK_COMMIT,
    VS_DESK_CANCEL,
    VS_DESK_LEASE, /* this and the next two: of a worker id, for the desk of leases */
    VS_DESK_RENEW,
    VS_DESK_RELEASE,
    VS_DESK_PAST, /* a range of past ids, for the desk of leases */
    VS_DESK_WATERMARK
};
enum vs_desk_answer {
    VS_DESK_DONE,
    /* not done, and a retry is useless, because the number's row forbids the job.  `text` is the reason for this and
     * the next three results */
    VS_DESK_SETTLED,
    VS_DESK_BACK,    /* not done: the database was restored to an older state, and an operator must act */
    VS_DESK_DOWN,    /* not done: the database is unreachable or currently cannot do the job */
    VS_DESK_UNKNOWN, /* the job may have been done */
    /* not done, for a lease only: */
    VS_DESK_BUSY,     /* no worker id is free, or the wanted one is held */
    VS_DESK_LIMIT,    /* the client holds as many worker ids as it may */
    VS_DESK_LOST,     /* the store has no such lease */
    VS_DESK_REJECTED, /* a person must act */
    VS_DESK_BAD,      /* the ttl or the worker id is out of range, or there is no such layout */
    VS_DESK_NO_NAME   /* the store has no such namespace */
};

/* A range of past ids: the request, and the result. */
struct vs_desk_past {
    struct vesta_past_span span;
    struct vesta_past_info info;
};

/* A lease of a worker id over the network: the request, and the result. */
#define VS_LEASE_TEXT_MAX 160
struct vs_desk_lease {
    int of; /* the index in server->leases.name */
    char client[64], name[64 + 1]; /* name: of the program, "" if it has none */
    char from[96];                 /* the client and its address, for people to read */
    bool has_worker;
    uint64_t held_max; /* LEASE: maximum worker ids that the client may hold (0: no limit) */
    int64_t ttl_ms, ended_ms;
    /* its key (RENEW and RELEASE: as requested) */
    uint64_t worker, owner[2], incarnation;
    uint64_t fence;
    int64_t starts_ms, expires_ms;
    struct vs_desk_past *past; /* for PAST, otherwise NULL.  Freed with the job */
};

/* A watermark of a namespace: the request, and the result. */
struct vs_desk_mark {
    int of;                              /* the index in server->names.at */
    char leased_as[VESTA_NAMESPACE_MAX]; /* which of its layouts (see store/lineage.h).  "": the request names none */
    bool sorts;
    uint64_t id; /* set if `sorts` */
    int64_t time_ms, behind_ms;
    char why[160]; /* why it does not sort */
};

/* A job.  Both the request and the desk hold a reference, and the last holder frees the job, so neither has to wait for
 * the other. */
struct vs_desk_job {
    STAILQ_ENTRY(vs_desk_job) queued;
    atomic_int holders;
    atomic_bool is_done; /* set by the desk after it has written the results */
    enum vs_desk_ask ask;
    char tag[VESTA_TAG_MAX];
    atomic_bool is_half_closed; /* the client closed its sending side, or the whole connection */
    int64_t asked_us;           /* boot time when the job was queued */
    int64_t until_us, hold_ms; /* until_us: boot time when the request stops waiting */
    uint64_t number, token[2]; /* RESERVE: the request sets the token, the desk sets the number */
    struct vesta_segment *seg; /* NUMBERS: the segment from which to take `count` consecutive numbers */
    uint64_t count;
    struct vesta_segment *memory; /* of a gapless tag: see struct vs_served_tag */
    struct vs_tag_set *tags; /* the set that contains the tag, referenced until the job is done (NULL: none) */
    struct vesta_numbers numbers;
    struct vesta_pause pause; /* the reason if no numbers were issued */
    enum vs_desk_answer answer;
    struct vs_desk_lease lease;
    struct vs_desk_mark mark; /* `text` is what holds the watermark back */
    int64_t held_until_ms; /* RESERVE: end of the reservation, by the database's clock */
    char text[400];
};

/* Returns a copy of *what with two references, or NULL if there is no memory. */
struct vs_desk_job *vs_desk_job_new(const struct vs_desk_job *what);
void vs_desk_job_let(struct vs_desk_job *job); /* removes a reference (may be NULL) */
/* Returns whether only the desk still holds the job, because the request has ended. */
bool vs_desk_job_is_left(struct vs_desk_job *job);

/* Runs jobs.  `take` queues a job, or returns false if too many jobs wait.  The desk wakes the loops when a job is done
 * (vs_serve_wake). */
struct vs_desk {
    bool (*take)(struct vs_desk *desk, struct vs_desk_job *job);
};

#endif
