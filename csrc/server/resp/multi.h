/* multi.h -- a transaction of the Redis protocol: what was queued, what it will want, and what EXEC has taken for it.
 * Knows no handler. */
#ifndef VS_SERVER_MULTI_H
#define VS_SERVER_MULTI_H

#include "server/request.h"

/* Memory that grows, and is counted for the session. */
struct vs_heap {
    char *at;
    size_t used, size;
};

enum vs_multi_mode {
    VS_MULTI_QUEUEING,
    VS_MULTI_COUNTING, /* a command that is being queued says how many ids it will want */
    VS_MULTI_TAKING,
    VS_MULTI_ANSWERING
};

struct vs_multi {
    enum vs_multi_mode mode;
    bool cannot;             /* COUNTING: nobody could give what it wants, and its refusal stands */
    bool failed;             /* a command was refused: EXEC will be */
    struct vs_heap queue;    /* of each queued request its row of the table, then its bytes */
    size_t count, bytes;     /* of them */
    size_t wanted;           /* ids, by all that is queued */
    struct vs_heap demands;  /* multi.c's: what each id is of */
    struct vs_heap asked;    /* struct vs_asked_of; only of namespaces that have a rate of requests */
    struct vs_tag_set *tags; /* those that there were when it began: what was counted is what is taken */
    size_t at, taken;        /* ANSWERING: bytes of the queue that are done with, and ids that went to those */
};

/* What a transaction asks of namespaces, in the order in which it was queued; so many requests in a row of one. */
struct vs_asked_of {
    uint32_t ns, requests;
};

/* EXEC is at work, or a command that is being queued is asked what it wants: ids come from here. */
static inline bool vs_multi_hands_out(const struct vs_session *s) {
    return s->multi && s->multi->mode != VS_MULTI_QUEUEING;
}
static inline bool vs_multi_is_counting(const struct vs_session *s) {
    return s->multi && s->multi->mode == VS_MULTI_COUNTING;
}

/* false: no memory. */
bool vs_multi_begin(struct vs_session *session);
void vs_multi_end(struct vs_session *session);
/* A command was refused: EXEC will be.  Nothing where there is no transaction. */
void vs_multi_fail(struct vs_session *session);
/* Queues a request, whose row and bytes vs_multi_next returns again.  false: no memory. */
bool vs_multi_add(struct vs_session *session, const struct vs_call *call, struct vs_slice bytes);
const struct vs_call *vs_multi_next(struct vs_session *session, struct vs_slice *bytes);

/* Notes that a command that is being queued wants an id of what the request is turned to, the last of `run` in a row.
 * false: no memory, or there are too many. */
bool vs_multi_want(struct vs_request *request, uint64_t run);
/* Whether each that is wanted was noted. */
bool vs_multi_is_noted(const struct vs_session *session);
/* Turns the request to what the i-th id is of; how many ids from there on are of the same, or (*run > 1) that it is the
 * last of so many in a row. */
size_t vs_multi_turn(struct vs_request *request, size_t i, uint64_t *run);
/* The next n of the ids that EXEC has taken. */
const uint64_t *vs_multi_hand_out(struct vs_session *session, size_t n);

/* Notes that a command that is being queued asks its namespace.  false: no memory, and the reply says so. */
bool vs_multi_ask(struct vs_request *request);
/* The i-th of what is asked of namespaces.  false: there is none. */
bool vs_multi_asks(const struct vs_session *session, size_t i, struct vs_asked_of *of);

#endif
