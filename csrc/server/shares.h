/* shares.h -- the charge of a request, and how many ids it may take now: rates of clients, addresses and namespaces,
 * and fair shares while clients want more ids than there are.  The ledger counts, and shares.c applies the counts to a
 * request.
 *
 * If no rate is configured and there are enough ids for all, a request only reads two flags. */
#ifndef VS_SERVER_SHARES_H
#define VS_SERVER_SHARES_H

#include "server/request.h"

/* The exhausted share.  vs_share_name returns the names. */
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

#define VS_SHARES_FROM 64 /* a request for at least so many ids is checked for whether it leaves enough for others */

/* Updates the session after its client or the client's name changed. */
void vs_shares_look(struct vs_session *session);

/* A request is charged once.  If its turn comes later, it then only waits for it.  The functions that return false
 * mean: the request waits for as long as r->pause allows, and is rejected if that is too long.  r->held is the
 * share. */

/* Charges the request to its client and its address.  EXEC is charged for all queued requests, also to their
 * namespaces. */
bool vs_shares_admit(struct vs_request *request);
/* Charges the request to its namespace, once for each name it has.  The turn may come later.  EXEC charges the commands
 * of a transaction.  false: also if there is no memory, and the reply is then an error. */
bool vs_shares_enter(struct vs_request *request);
/* Returns whether the turn of a charged request comes later. */
bool vs_shares_is_early(struct vs_request *request);
/* Sets *may to how many of `want` ids the request may take now.  With `exact` the request will need all of them in the
 * end; otherwise it accepts fewer. */
bool vs_shares_ask(struct vs_request *request, uint64_t want, bool exact, uint64_t *may);
/* Records that the request took n ids. */
void vs_shares_took(struct vs_request *request, uint64_t n);
/* Records that the generator's time unit has no ids left. */
void vs_shares_full(struct vs_request *request);
/* Charges n more requests that were answered together with this one. */
void vs_shares_also(struct vs_request *request, uint64_t n);
/* Returns the unused part of a charge. */
void vs_shares_settle(struct vs_session *session);

/* Rejects a request that would have to wait longer than it may.  Always VS_ANSWERED. */
enum vs_reply_state vs_shares_refuse(struct vs_request *request);
/* Counts a request that waits or is rejected, and logs it from time to time. */
void vs_shares_note(struct vs_request *request, bool is_refused);

#endif
