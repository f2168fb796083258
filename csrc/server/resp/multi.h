/* multi.h -- transactions of the Redis protocol: requests that are kept until EXEC. */
#ifndef VS_SERVER_MULTI_H
#define VS_SERVER_MULTI_H

#include "server/request.h"

/* Keeps a request until EXEC.  Always VS_ANSWERED. */
enum vs_reply_state vs_multi_queue(struct vs_request *request, const char *bytes, size_t length);
/* A command was refused: EXEC will be.  Nothing where there is no transaction. */
void vs_multi_fail(struct vs_session *session);
void vs_multi_end(struct vs_session *session);
/* True: EXEC is at work (or a command that is being queued is asked what it wants), so ids come from vs_multi_take. */
bool vs_multi_hands_out(const struct vs_session *session);
enum vs_reply_state vs_multi_take(struct vs_request *request);
/* The last of n consecutive numbers of a tag. */
enum vs_reply_state vs_multi_take_run(struct vs_request *request);
/* Whether a command is being asked what it wants. */
bool vs_multi_is_counting(const struct vs_session *session);
/* What it wants cannot be had: its refusal stands. */
void vs_multi_cannot(struct vs_session *session);
/* What a transaction asks of namespaces, in the order in which it was queued; so many requests in a row of one. */
struct vs_asked_of {
    uint32_t ns, requests;
};
/* The i-th of them.  false: there is none. */
bool vs_multi_asks(const struct vs_session *session, size_t i, struct vs_asked_of *of);
/* Notes that a command that is being queued asks its namespace.  false: no memory, and the reply says so. */
bool vs_multi_ask(struct vs_request *request);
/* The tags that there were when it began. */
struct vs_tag_set *vs_multi_tags(const struct vs_session *session);

#endif
