/* desk.h -- what is asked of a tag whose every request is a step of the database, because its numbers are in strict
 * order or have no gap: a thread of the desk takes it there, and the request waits for it as for an id.  Knows no
 * database. */
#ifndef VS_SERVER_DESK_H
#define VS_SERVER_DESK_H

#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#define VS_DESK_WAITING_MAX 1024 /* jobs that no thread has taken yet, of one desk */

struct vs_tag_set;

enum vs_desk_ask { VS_DESK_NUMBERS, VS_DESK_RESERVE, VS_DESK_COMMIT, VS_DESK_CANCEL };
enum vs_desk_answer {
    VS_DESK_DONE,
    VS_DESK_SETTLED, /* not done: the number's row says otherwise, for good; `text` says why, as for the next three */
    VS_DESK_BACK,    /* not done: the database went back, and a person must act */
    VS_DESK_DOWN,    /* not done: the database could not be reached, or refuses it just now */
    VS_DESK_UNKNOWN  /* perhaps done */
};

/* The request has it, and the desk: whoever lets it last frees it, so neither waits for the other. */
struct vs_desk_job {
    STAILQ_ENTRY(vs_desk_job) queued;
    atomic_int holders;
    atomic_bool is_done; /* what follows `token` may be read */
    enum vs_desk_ask ask;
    char tag[VESTA_TAG_MAX];
    atomic_bool is_half_closed; /* its client sends no more: it is gone, or only ended its sending side */
    int64_t asked_us;           /* when it was put in line, in boot time */
    int64_t until_us, hold_ms; /* until_us: nobody waits for it past that instant, in boot time */
    uint64_t number, token[2]; /* of a reservation; RESERVE: the token is the asker's to draw, the number the answer */
    struct vesta_segment *seg; /* NUMBERS: so many of it, consecutive */
    uint64_t count;
    struct vesta_segment *memory; /* of the tag of a reservation */
    struct vs_tag_set *tags; /* in which that is, held until it is done; NULL: none */
    struct vesta_numbers numbers;
    struct vesta_pause pause; /* ... or why not */
    enum vs_desk_answer answer;
    int64_t held_until_ms; /* RESERVE: by the database's clock */
    char text[400];
};

/* A copy, with two holders.  NULL: no memory. */
struct vs_desk_job *vs_desk_job_new(const struct vs_desk_job *what);
void vs_desk_job_let(struct vs_desk_job *job); /* may be NULL */
/* Whether its request has ended: the client is gone, or was answered.  For the desk. */
bool vs_desk_job_is_left(struct vs_desk_job *job);

/* Who has jobs done.  `take` is false where too many wait; it wakes the loops when one is done (vs_serve_wake). */
struct vs_desk {
    bool (*take)(struct vs_desk *desk, struct vs_desk_job *job);
};

#endif
