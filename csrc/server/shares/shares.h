/* shares.h -- how much who may have: rates of clients, addresses and namespaces, and what a namespace has, shared between
 * those who want it at once.  Knows no socket and no protocol.
 *
 * A party is who has a share: a client by its name, wherever it connects from; of those without a name an address (of
 * IPv6 its first 64 bits), or all unix sockets together.  What a party has is shared evenly between its connections.
 * Where no rate is configured and there is enough for all, a request looks at two flags. */
#ifndef VS_SERVER_SHARES_H
#define VS_SERVER_SHARES_H

#include "server/request.h"
#include "server/shares/rates.h"

/* Whose share is over; their names are in vs_share_name. */
enum vs_share_kind {
    VS_SHARE_NONE,
    VS_SHARE_UNIT, /* what a namespace has is shared */
    VS_SHARE_CLIENT_IDS,
    VS_SHARE_CLIENT_REQUESTS,
    VS_SHARE_ADDRESS_IDS,
    VS_SHARE_ADDRESS_REQUESTS,
    VS_SHARE_NAMESPACE_IDS,
    VS_SHARE_NAMESPACE_REQUESTS,
    VS_SHARES
};
_Static_assert((int)VS_SHARES == VS_SHARE_KINDS, "each can be counted");
extern const char *const vs_share_name[VS_SHARES];

#define VS_SHARES_FROM 64 /* ids of one request: it is looked at what they would leave */

/* Who the connection is has changed, or it ends. */
void vs_shares_look(struct vs_session *session);
void vs_shares_end(struct vs_session *session);
/* What the connection's party holds of the memory; NULL: there are no parties. */
struct vs_memory_part *vs_shares_memory(struct vs_session *session);

/* A request is charged once.  Its turn may come later, and then it only has to wait for it.  false, here and below: it is
 * to wait for as long as r->pause says, and is rejected if that is too long; r->held is why. */

/* Charges the request to its client and its address; EXEC also for the requests that were queued. */
bool vs_shares_admit(struct vs_request *request);
/* Charges the request to the namespace that it has turned to, once for each that it names; the turn may come later.  A
 * transaction's are charged by its EXEC.  false: also if there is no memory, and the reply says so. */
bool vs_shares_enter(struct vs_request *request);
/* Whether the turn of a request that was charged comes later. */
bool vs_shares_is_early(struct vs_request *request);
/* How many of `want` ids the request may take now, if `exact` all of them one day, else as many as is convenient. */
bool vs_shares_ask(struct vs_request *request, uint64_t want, bool exact, uint64_t *may);
/* It took so many. */
void vs_shares_took(struct vs_request *request, uint64_t n);
/* It found the generator's unit used up. */
void vs_shares_full(struct vs_request *request);
/* Requests that were answered with it. */
void vs_shares_also(struct vs_request *request, uint64_t n);
/* What it was charged and did not use is given back. */
void vs_shares_settle(struct vs_session *session);

/* Refuses what would have to wait for longer than it may.  Always VS_ANSWERED. */
enum vs_reply_state vs_shares_refuse(struct vs_request *request);
/* It waits; for the counts and, now and then, the log. */
void vs_shares_note(struct vs_request *request, bool is_refused);

#endif
