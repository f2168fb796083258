/* rights.h -- the account of a connection, its rights, and the replies to requests without them.  Knows no socket.
 *
 * A connection's account follows from its last credentials and the current accounts.  When the accounts are replaced,
 * it is looked up again before the next request.  The last names that the account may use are cached. */
#ifndef VS_SERVER_RIGHTS_H
#define VS_SERVER_RIGHTS_H

#include "server/request.h"

#define VS_WRONG_MAX 5 /* wrong secrets of a connection, after which it is closed */

/* Looks up a connection's account again, because the accounts were replaced. */
void vs_rights_renew(struct vs_session *session);
static inline void vs_rights_look(struct vs_session *session) {
    struct vs_gate *gate = session->server->gate;
    if (gate && vs_gate_now(gate) != session->grant.accounts) vs_rights_renew(session);
}
/* Sets the account of a new connection. */
void vs_rights_begin(struct vs_session *session);
/* Resets the connection to a client without credentials. */
void vs_rights_forget(struct vs_session *session);

/* Checks a secret, and if it is right makes that client the connection's.  WRONG, PUT_OFF: the reply is an error. */
enum vs_proof vs_rights_prove(struct vs_request *request, struct vs_slice name, struct vs_slice secret);
/* The same for a plain secret of the config, which belongs to no client. */
enum vs_proof vs_rights_prove_plain(struct vs_request *request, struct vs_slice secret, const char *plain);
/* Whether the connection has sent so many wrong secrets that it is closed. */
static inline bool vs_rights_is_over(const struct vs_session *session) {
    return session->wrong >= VS_WRONG_MAX;
}

/* HTTP: sets the client by the request's credentials.  `token` is a parameter and has priority.  false: the reply is an
 * error. */
bool vs_rights_enter_known(struct vs_request *request, struct vs_slice token);
static inline bool vs_rights_enter(struct vs_request *request, struct vs_slice token) {
    return !request->session->grant.accounts || vs_rights_enter_known(request, token);
}

/* The admin's listener: whether the request may operate the server, by the config's token or as a client.  false: the
 * reply is 403 or 429; otherwise the caller must reply that a token is needed. */
bool vs_rights_operate(struct vs_request *request);
/* Whether a viewer may go on watching.  It may not if its client was removed or lost the right to operate. */
bool vs_rights_watches(struct vs_session *session);

/* Whether the client may call this command, and whether it may use that name.  false: the reply is an error. */
bool vs_rights_may_call(struct vs_request *request);
bool vs_rights_may_name_known(struct vs_request *request, struct vs_slice name);
static inline bool vs_rights_may_name(struct vs_request *request, struct vs_slice name) {
    return !request->session->grant.accounts || vs_rights_may_name_known(request, name);
}
/* Whether the client may see that name, and all names. */
bool vs_rights_sees(const struct vs_session *session, const char *name);
bool vs_rights_sees_all(const struct vs_session *session);
/* Whether the client may see why there are no ids: such reasons contain names of databases, files and namespaces.  The
 * admin's listeners and clients that may read all names do.  If there are no accounts, connections from this machine
 * do. */
bool vs_rights_sees_reasons(const struct vs_session *session);
/* Replies with an error of the server: `what` failed, and `why` if the client may see reasons.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_why(struct vs_request *request, const char *code, const char *what, const char *why);
/* RESP: whether the client may list and end connections of others.  Without accounts, clients over a unix socket and
 * clients that sent the password may. */
bool vs_rights_operates(const struct vs_session *session);
/* Returns the smallest of `max`, the protocol's limit and the account's limit. */
static inline uint64_t vs_rights_least(const struct vs_request *r, uint64_t of_face, uint64_t max) {
    const struct vs_account *account = r->session->grant.account;
    if (account && account->n_max < max) max = account->n_max;
    return of_face && of_face < max ? of_face : max;
}
/* Returns how many ids a request may take. */
static inline uint64_t vs_rights_n(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.n_max[r->session->protocol], max);
}
/* Returns how many ids a block may have. */
static inline uint64_t vs_rights_block(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.blocks_max[r->session->protocol], max);
}
/* Whether this protocol may request blocks.  false: the reply is an error. */
bool vs_rights_may_block(struct vs_request *request);
/* Returns the client's name for the log (NULL: there are no accounts, or it used the admin's token). */
const char *vs_rights_whose(const struct vs_session *session);
/* The client as keys and values of a log line.  The address has no port, so that the log can fold repeated lines. */
#define VS_WHO(session)                                                                                                \
    "address", vs_peer_host((session)->peer, (char[VS_PEER_TEXT_MAX]){0}), "client", vs_rights_whose(session),         \
        "proto", vs_protocol_name[(session)->protocol]

#endif
