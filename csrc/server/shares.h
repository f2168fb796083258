/* shares.h -- charges requests to the rate limits of clients, addresses and namespaces, and divides ids fairly while
 * clients want more ids than are available.  The ledger stores the usage.
 *
 * If no rate limit is configured and there are enough ids for all clients, a request only reads two flags. */
#ifndef VS_SERVER_SHARES_H
#define VS_SERVER_SHARES_H

#include "server/request.h"

/* The kind of an exhausted share.  vs_share_name contains the names. */
enum vs_share_kind {
    VS_SHARE_NONE,
    VS_SHARE_UNIT, /* the fair share of a namespace's ids */
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

#define VS_SHARES_FROM 64 /* requests for this many ids or more always check how many are left for other clients */

/* Updates the session after its client changed. */
void vs_shares_look(struct vs_session *session);

/* A request is charged only once.  If a rate limit delays the request, later tries charge nothing.  If one of the
 * following functions returns false, the request must wait for r->pause.wait_us, or is rejected if it may not wait that
 * long.  r->held is the exhausted share. */

/* Charges the request to its client and address.  EXEC is charged for all queued requests, and also to their
 * namespaces. */
bool vs_shares_admit(struct vs_request *request);
/* Charges the request to its namespace.  Does not wait: see vs_shares_is_early.  In a transaction, only records the
 * charge for EXEC.  If there is no memory for that, returns false, and the reply is an error. */
bool vs_shares_enter(struct vs_request *request);
/* Returns whether a charged request must still wait.  If so, sets r->pause and r->held. */
bool vs_shares_is_early(struct vs_request *request);
/* Sets *may to how many of `want` ids the request may take now.  `exact`: the request needs all of them eventually.
 * Otherwise it accepts fewer. */
bool vs_shares_ask(struct vs_request *request, uint64_t want, bool exact, uint64_t *may);
/* Records that the request took n ids. */
void vs_shares_took(struct vs_request *request, uint64_t n);
/* Records that the generator's time unit has no ids left. */
void vs_shares_full(struct vs_request *request);
/* Charges n more requests that were answered together with this one. */
void vs_shares_also(struct vs_request *request, uint64_t n);
/* Refunds the unused part of a charge. */
void vs_shares_settle(struct vs_session *session);

/* Rejects a request that would have to wait longer than it may.  Always returns VS_ANSWERED. */
enum vs_reply_state vs_shares_refuse(struct vs_request *request);
/* Counts a request that waits or is rejected, and logs at most one line per minute for each client or address. */
void vs_shares_note(struct vs_request *request, bool is_refused);

#endif
