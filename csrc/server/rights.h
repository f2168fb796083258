/* rights.h -- who a connection is and what that may; what a request is told that may not.  Knows no socket.
 *
 * A connection has its account from what it said last, as the accounts are that hold now: where they are others, it is
 * looked for again before the next request.  Of the namespaces that it asks of in turn it is remembered that it may. */
#ifndef VS_SERVER_RIGHTS_H
#define VS_SERVER_RIGHTS_H

#include "server/request.h"

#define VS_WRONG_MAX 5 /* secrets of a connection; then it is closed */

/* Looks for a connection's account again: it begins, or the accounts are others. */
void vs_rights_renew(struct vs_session *session);
static inline void vs_rights_look(struct vs_session *session) {
    struct vs_gate *gate = session->server->gate;
    if (gate && vs_gate_now(gate) != session->grant.accounts) vs_rights_renew(session);
}
/* A connection begins. */
void vs_rights_begin(struct vs_session *session);
/* Back to who says nothing. */
void vs_rights_forget(struct vs_session *session);

/* Proves a secret, and makes the connection that client's if it is right.  WRONG, PUT_OFF: the reply says so. */
enum vs_proof vs_rights_prove(struct vs_request *request, struct vs_slice name, struct vs_slice secret);
/* The same for a secret that the config contains as it is; it makes the connection no client's. */
enum vs_proof vs_rights_prove_plain(struct vs_request *request, struct vs_slice secret, const char *plain);
/* It has said so many wrong ones that it is closed. */
static inline bool vs_rights_is_over(const struct vs_session *session) {
    return session->wrong >= VS_WRONG_MAX;
}

/* HTTP: finds the client by the request's credentials (`token`: in a parameter, which goes first).  false: the reply
 * says why not. */
bool vs_rights_enter_known(struct vs_request *request, struct vs_slice token);
static inline bool vs_rights_enter(struct vs_request *request, struct vs_slice token) {
    return !request->session->grant.accounts || vs_rights_enter_known(request, token);
}

/* The admin's listener: whether the request may operate, by the config's token or as a client.  false: the reply is 403
 * or 429, or the caller must say that a token is needed. */
bool vs_rights_operate(struct vs_request *request);
/* ... whether who was let in to watch may go on: a client that is gone since, or may operate no more, may not. */
bool vs_rights_watches(struct vs_session *session);

/* Whether this client may call what is called, and ask what is asked for by that name.  false: the reply says so. */
bool vs_rights_may_call(struct vs_request *request);
bool vs_rights_may_name_known(struct vs_request *request, struct vs_slice name);
static inline bool vs_rights_may_name(struct vs_request *request, struct vs_slice name) {
    return !request->session->grant.accounts || vs_rights_may_name_known(request, name);
}
/* ... whether it may hear of a name, and of all. */
bool vs_rights_sees(const struct vs_session *session, const char *name);
bool vs_rights_sees_all(const struct vs_session *session);
/* Whether it is shown why there are no ids: such reasons name databases, paths and namespaces.  The admin's listeners and
 * clients that may read all names are; without clients with names, connections from this machine. */
bool vs_rights_sees_reasons(const struct vs_session *session);
/* Answers with a failure of the server's own: what failed, and `why` if the client is shown reasons.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_why(struct vs_request *request, const char *code, const char *what, const char *why);
/* RESP: whether it may ask about others' connections and end them; without clients with names that is who comes over a
 * unix socket, or has said the password. */
bool vs_rights_operates(const struct vs_session *session);
/* The smallest of `max` and of what the request may have by its face and its account. */
static inline uint64_t vs_rights_least(const struct vs_request *r, uint64_t of_face, uint64_t max) {
    const struct vs_account *account = r->session->grant.account;
    if (account && account->n_max < max) max = account->n_max;
    return of_face && of_face < max ? of_face : max;
}
/* How many ids one request may have. */
static inline uint64_t vs_rights_n(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.n_max[r->session->protocol], max);
}
/* How many ids one block may have. */
static inline uint64_t vs_rights_block(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.blocks_max[r->session->protocol], max);
}
/* Whether this face gives blocks.  false: the reply says so. */
bool vs_rights_may_block(struct vs_request *request);
/* The client's name, for the log; NULL: there are no clients with names, or it was the admin's token. */
const char *vs_rights_whose(const struct vs_session *session);
/* Who it was, as names and values of a line of the log; its address without the port, which tells no two events apart.
 */
#define VS_WHO(session)                                                                                                \
    "address", vs_peer_host((session)->peer, (char[VS_PEER_TEXT_MAX]){0}), "client", vs_rights_whose(session),         \
        "proto", vs_protocol_name[(session)->protocol]

#endif
