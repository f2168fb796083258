/* multi.h -- a transaction of the Redis protocol: the queued commands, the ids they will want, and the ids that EXEC
 * has taken.  Knows no handler. */
#ifndef VS_SERVER_MULTI_H
#define VS_SERVER_MULTI_H

#include "server/request.h"

/* A buffer that grows and is counted for the session. */
struct vs_heap {
    char *at;
    size_t used, size;
};

enum vs_multi_mode {
    VS_MULTI_QUEUEING,
    VS_MULTI_COUNTING, /* a command is being queued and declares the ids it will want */
    VS_MULTI_TAKING,
    VS_MULTI_ANSWERING
};

struct vs_multi {
    enum vs_multi_mode mode;
    bool cannot;             /* COUNTING: the command can never be served, so its error is the reply */
    bool failed;             /* a command was rejected, so EXEC will fail */
    struct vs_heap queue;    /* for each queued command its row of the table and its bytes */
    size_t count, bytes;     /* commands, and their bytes */
    size_t wanted;           /* ids wanted by all queued commands */
    struct vs_heap demands;  /* multi.c's: the source of each wanted id */
    struct vs_heap asked;    /* struct vs_asked_of, only for namespaces with a rate of requests */
    struct vs_tag_set *tags; /* the tags at MULTI, so that ids are taken from the tags that were counted */
    size_t at, taken;        /* ANSWERING: bytes of `queue` and ids that were consumed */
};

/* Consecutive requests of a transaction for one namespace, in the order of the queue. */
struct vs_asked_of {
    uint32_t ns, requests;
};

/* Whether ids come from the transaction: EXEC is running, or a command that is being queued is counted. */
static inline bool vs_multi_hands_out(const struct vs_session *s) {
    return s->multi && s->multi->mode != VS_MULTI_QUEUEING;
}
static inline bool vs_multi_is_counting(const struct vs_session *s) {
    return s->multi && s->multi->mode == VS_MULTI_COUNTING;
}

/* Begins a transaction.  false: no memory. */
bool vs_multi_begin(struct vs_session *session);
void vs_multi_end(struct vs_session *session);
/* Makes EXEC fail, because a command was rejected.  Has no effect outside a transaction. */
void vs_multi_fail(struct vs_session *session);
/* Queues a command.  vs_multi_next returns its row and bytes again.  false: no memory. */
bool vs_multi_add(struct vs_session *session, const struct vs_call *call, struct vs_slice bytes);
const struct vs_call *vs_multi_next(struct vs_session *session, struct vs_slice *bytes);

/* Declares that the command being queued wants an id of the request's namespace or tag, which is the last of `run`
 * consecutive ones.  false: no memory, or too many ids. */
bool vs_multi_want(struct vs_request *request, uint64_t run);
/* Whether all wanted ids were recorded. */
bool vs_multi_is_noted(const struct vs_session *session);
/* Makes the source of the i-th id the request's.  Returns how many ids from there on have this source, or sets *run > 1
 * if the id is the last of so many consecutive ones. */
size_t vs_multi_turn(struct vs_request *request, size_t i, uint64_t *run);
/* Returns the next n of the ids that EXEC has taken. */
const uint64_t *vs_multi_hand_out(struct vs_session *session, size_t n);

/* Declares that the command being queued is a request to its namespace.  false: no memory, and the reply is an
 * error. */
bool vs_multi_ask(struct vs_request *request);
/* Reads the i-th element of `asked`.  false: there is none. */
bool vs_multi_asks(const struct vs_session *session, size_t i, struct vs_asked_of *of);

#endif
