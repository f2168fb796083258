/* multi.h -- a transaction of the Redis protocol: the queued commands, the ids that they need, and the ids that EXEC
 * has taken.  Contains no handler code. */
#ifndef VS_SERVER_MULTI_H
#define VS_SERVER_MULTI_H

#include "server/request.h"

/* A growing buffer.  Its memory is charged to the session. */
struct vs_heap {
    char *at;
    size_t used, size;
};

enum vs_multi_mode {
    VS_MULTI_QUEUEING,
    VS_MULTI_COUNTING, /* the handler of a command that is being queued declares the ids that it needs */
    VS_MULTI_TAKING,
    VS_MULTI_ANSWERING
};

struct vs_multi {
    enum vs_multi_mode mode;
    bool cannot;             /* COUNTING: the command is invalid, so its error is the reply */
    bool failed;             /* a command was rejected, so EXEC will fail */
    struct vs_heap queue;    /* the queued commands: struct queued and bytes of each */
    size_t count, bytes;     /* number of commands, sum of their bytes */
    size_t wanted;           /* number of ids that all queued commands need */
    struct vs_heap demands;  /* the source of each wanted id (struct demand) */
    struct vs_heap asked;    /* array of struct vs_asked_of, only for namespaces with a request rate */
    struct vs_tag_set *tags; /* the set of tags at MULTI, which EXEC also uses */
    size_t at, taken;        /* ANSWERING: bytes of `queue`, and ids, used so far */
};

/* Consecutive requests of a transaction for one namespace, in the order of the queue. */
struct vs_asked_of {
    uint32_t ns, requests;
};

/* Returns whether handlers must use the transaction's ids, because EXEC runs or a command that is being queued declares
 * its ids. */
static inline bool vs_multi_hands_out(const struct vs_session *s) {
    return s->multi && s->multi->mode != VS_MULTI_QUEUEING;
}
static inline bool vs_multi_is_counting(const struct vs_session *s) {
    return s->multi && s->multi->mode == VS_MULTI_COUNTING;
}

/* Begins a transaction.  Returns false if there is no memory. */
bool vs_multi_begin(struct vs_session *session);
void vs_multi_end(struct vs_session *session);
/* Makes EXEC fail, because a command was rejected.  Has no effect outside of a transaction. */
void vs_multi_fail(struct vs_session *session);
/* Queues a command.  Returns false if there is no memory.  vs_multi_next returns the queued commands one by one. */
bool vs_multi_add(struct vs_session *session, const struct vs_call *call, struct vs_slice bytes);
const struct vs_call *vs_multi_next(struct vs_session *session, struct vs_slice *bytes);

/* Declares that the command being queued needs an id of the request's namespace or tag.  `run` > 1: the last of that
 * many consecutive numbers.  Returns false if there is no memory, or if there are too many ids. */
bool vs_multi_want(struct vs_request *request, uint64_t run);
/* Returns whether all declared ids were recorded. */
bool vs_multi_is_noted(const struct vs_session *session);
/* Sets the request's namespace or tag to the source of the i-th id.  Returns how many ids, from the i-th on, have that
 * source.  Sets *run to the number of consecutive numbers of which the id is the last. */
size_t vs_multi_turn(struct vs_request *request, size_t i, uint64_t *run);
/* Returns the next n ids of those that EXEC has taken. */
const uint64_t *vs_multi_hand_out(struct vs_session *session, size_t n);

/* Declares that the command being queued must be charged to its namespace.  If there is no memory, returns false, and
 * the reply is an error. */
bool vs_multi_ask(struct vs_request *request);
/* Reads the i-th element of `asked`.  Returns false if there is none. */
bool vs_multi_asks(const struct vs_session *session, size_t i, struct vs_asked_of *of);

#endif
