/* rights.h -- the account of a connection, its rights, and replies to requests that lack a right.  Contains no socket
 * code.
 *
 * A connection's account results from its last credentials and the current accounts (access/grant.h). */
#ifndef VS_SERVER_RIGHTS_H
#define VS_SERVER_RIGHTS_H

#include "server/request.h"

#define VS_WRONG_MAX 5 /* wrong secrets after which a connection is closed */

/* vs_rights_renew looks up a connection's account again.  vs_rights_look does so only if the accounts were replaced. */
void vs_rights_renew(struct vs_session *session);
static inline void vs_rights_look(struct vs_session *session) {
    struct vs_gate *gate = session->server->gate;
    if (gate && vs_gate_now(gate) != session->grant.accounts) vs_rights_renew(session);
}
/* Sets the account of a new connection. */
void vs_rights_begin(struct vs_session *session);
/* Resets the connection to a client without credentials. */
void vs_rights_forget(struct vs_session *session);

/* Checks a secret.  If it is right, sets the connection's client.  If the result is WRONG or PUT_OFF, the reply is an
 * error. */
enum vs_proof vs_rights_prove(struct vs_request *request, struct vs_slice name, struct vs_slice secret);
/* As vs_rights_prove, for a plain secret of the config, which belongs to no client. */
enum vs_proof vs_rights_prove_plain(struct vs_request *request, struct vs_slice secret, const char *plain);
/* Returns whether the connection must be closed because of too many wrong secrets. */
static inline bool vs_rights_is_over(const struct vs_session *session) {
    return session->wrong >= VS_WRONG_MAX;
}

/* HTTP: sets the client according to the request's credentials.  `token` is the token parameter, which has priority.
 * If it returns false, the reply is an error. */
bool vs_rights_enter_known(struct vs_request *request, struct vs_slice token);
static inline bool vs_rights_enter(struct vs_request *request, struct vs_slice token) {
    return !request->session->grant.accounts || vs_rights_enter_known(request, token);
}

/* Admin listeners: returns whether the request may operate the server, because of the config's token or the client's
 * rights.  If it returns false and the reply is not 403 or 429, the caller must reply that a token is required. */
bool vs_rights_operate(struct vs_request *request);
/* Returns whether a viewer may still receive events.  It may not if its client was removed or lost the right to
 * operate. */
bool vs_rights_watches(struct vs_session *session);

/* Return whether the client may call the request's command, and whether it may use a name.  If not, the reply is an
 * error. */
bool vs_rights_may_call(struct vs_request *request);
bool vs_rights_may_name_known(struct vs_request *request, struct vs_slice name);
static inline bool vs_rights_may_name(struct vs_request *request, struct vs_slice name) {
    return !request->session->grant.accounts || vs_rights_may_name_known(request, name);
}
/* Return whether the client may see a name, and whether it may see all names. */
bool vs_rights_sees(const struct vs_session *session, const char *name);
bool vs_rights_sees_all(const struct vs_session *session);
/* Returns whether the client may see why there are no ids.  Such reasons contain names of databases, files and
 * namespaces.  They are shown on admin listeners, to operators, and to clients that may read all names.  If there are
 * no accounts, they are shown to connections from this machine and to clients that sent the password. */
bool vs_rights_sees_reasons(const struct vs_session *session);
/* The same for a tag.  Reasons of a masked tag can contain its numbers. */
bool vs_rights_sees_reasons_of(const struct vs_session *session, const struct vs_served_tag *tag);
/* Replies with an error: `what` failed, followed by `why` if the client may see reasons.  Always returns
 * VS_ANSWERED. */
enum vs_reply_state vs_refuse_why(struct vs_request *request, const char *code, const char *what, const char *why);
/* RESP: returns whether the client may list and end connections of other clients.  If there are no accounts, clients
 * over a unix socket and clients that sent the password may do so. */
bool vs_rights_operates(const struct vs_session *session);
/* Returns the smallest of `max`, the protocol's limit and the account's limit. */
static inline uint64_t vs_rights_least(const struct vs_request *r, uint64_t of_face, uint64_t max) {
    const struct vs_account *account = r->session->grant.account;
    if (account && account->n_max < max) max = account->n_max;
    return of_face && of_face < max ? of_face : max;
}
/* Returns the maximum number of ids per request. */
static inline uint64_t vs_rights_n(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.n_max[r->session->protocol], max);
}
/* Returns the maximum number of ids in a block. */
static inline uint64_t vs_rights_block(struct vs_request *r, uint64_t max) {
    return vs_rights_least(r, r->session->server->rules.blocks_max[r->session->protocol], max);
}
/* Return whether the client may read masked numbers: it has the right, or connects to the admin listener's unix socket,
 * or there are no accounts and it connects from this machine or sent the password.  If vs_rights_may_unmask returns
 * false, the reply is an error. */
bool vs_rights_unmasks(const struct vs_session *session);
bool vs_rights_may_unmask(struct vs_request *request);
/* Returns whether the config allows blocks over this protocol.  If not, the reply is an error. */
bool vs_rights_may_block(struct vs_request *request);
/* Returns the client's name for the log, or NULL if there are no accounts or the client used the admin token. */
const char *vs_rights_whose(const struct vs_session *session);
/* Keys and values of a log line that identify the client.  The port is omitted, so that the log can merge repeated
 * lines. */
#define VS_WHO(session)                                                                                                \
    "address", vs_peer_host((session)->peer, (char[VS_PEER_TEXT_MAX]){0}), "client", vs_rights_whose(session),         \
        "proto", vs_protocol_name[(session)->protocol]

#endif
