/* shares.h -- what a request is charged, and how many ids it may take now: rates of clients, addresses and namespaces,
 * and fair shares while clients want more ids than there are.  The ledger counts; this reads it for a request.
 *
 * If no rate is configured and there are enough ids for all, a request reads two flags. */
#ifndef VS_SERVER_SHARES_H
#define VS_SERVER_SHARES_H

#include "server/request.h"

/* The share that is used up; names are in vs_share_name. */
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
_Static_assert((int)VS_SHARES - (int)VS_SHARE_CLIENT_IDS == (int)LEDGER_OWNERS * (int)LEDGER_KINDS,
               "in the ledger's order");
extern const char *const vs_share_name[VS_SHARES];

#define VS_SHARES_FROM 64 /* ids of one request, from which on it is checked what they leave */

/* The connection has another client, or another name. */
void vs_shares_look(struct vs_session *session);

/* A request is charged once.  Its turn may come later, and then it only has to wait for it.  false, here and below: it
 * is to wait for as long as r->pause says, and is rejected if that is too long; r->held is why. */

/* Charges the request to its client and its address.  EXEC is charged with the requests that were queued, also to their
 * namespaces. */
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
