/* rates.h -- what the program above says of shares: the rates of addresses and of clients. */
#ifndef VS_SERVER_RATES_H
#define VS_SERVER_RATES_H

#include "access/accounts.h"

struct vs_shares;
/* `address_ids`, `address_requests`: a second, for each address; 0: as many as it likes.  NULL: no memory. */
struct vs_shares *vs_shares_new(uint64_t address_ids, uint64_t address_requests);
void vs_shares_free(struct vs_shares *shares); /* may be NULL */

/* The rates and weights of these hold from now on; what a client has used stays with its name.  Threads: any, one at a
 * time. */
void vs_shares_set(struct vs_shares *shares, const struct vs_accounts *accounts, int64_t now_ns);

/* What a client has; rates: a second, 0: as many as it likes.  Whoever asks without a name is not one. */
struct vs_share_seen {
    uint64_t ids, requests;
    uint32_t weight;
    uint64_t held, refused; /* requests that waited for its share, or were refused */
};

/* false: nothing is shared out, or no client was ever called so.  Threads: any. */
bool vs_shares_seen(struct vs_shares *shares, const char *name, struct vs_share_seen *out);

#endif
