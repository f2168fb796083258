/* ledger.h -- how much of the server each client uses, and how much it may use: places of connections, memory, ids and
 * requests a second, fair shares, failed logins.
 *
 *     party   a client by its name, or the address of clients without one.  Of IPv6 the first 64 bits count, and all
 * unix sockets are one address. entry   a connection: the parties that it is counted to
 *
 * The ledger has one table of parties under one lock.  A connection takes the lock when it begins, ends or changes its
 * name.  A request takes it only when its share in another namespace is looked up; memory and rates are atomic words.
 * All instants are of one monotonic clock.  Knows no socket, no request and no generator. */
#ifndef ACCESS_LEDGER_H
#define ACCESS_LEDGER_H

#include "access/accounts.h"
#include "access/bucket.h"
#include "access/fair.h"
#include "access/limits.h"
#include "os/peer.h"

#include <stddef.h>

struct ledger;
struct ledger_party;

/* Own: free with ledger_free.  NULL: no memory. */
struct ledger *ledger_new(const struct vs_limits *limits);
void ledger_free(struct ledger *ledger); /* may be NULL */
const struct vs_limits *ledger_limits(const struct ledger *ledger);

/* From now on these accounts' rates and weights hold.  What a client has used stays with its name.  Threads: any. */
void ledger_set(struct ledger *ledger, const struct vs_accounts *accounts, int64_t now_us);

/* A connection.  All zero: it has no party, and nothing of it is limited but its memory. */
struct ledger_entry {
    struct ledger_party *address, *client; /* client: NULL: no client with a rate or weight */
    bool is_proven;                        /* ... whose secret or certificate was right */
    bool is_counted, is_tcp;               /* among the connections of its address; among those over TCP */
    uint8_t protocol;
    size_t bytes;             /* of memory */
    struct ledger_seat *seat; /* its party's share in the namespace that it last asked, if the seat still has its key */
    struct access_claim claim;
};

/* ------------------------------------------------------------------ places */

/* A connection arrives.  A balancer's connection has a place, but it counts for no address until ledger_name.
 * VS_LET_IN: call ledger_leave when it ends.  Otherwise the entry is unchanged.  Threads: any, as all that follows; an
 * entry is used by one thread at a time. */
enum vs_turned ledger_enter(struct ledger *ledger, struct ledger_entry *entry, enum vs_protocol protocol,
                            const struct vs_peer *peer, bool is_balancer);
/* A balancer names the client behind a connection.  false: that address has too many connections. */
bool ledger_name(struct ledger *ledger, struct ledger_entry *entry, const struct vs_peer *peer, int64_t now_us);
/* The connection proved to be this client's, or has this name by default (is_proven false); NULL: no client. */
void ledger_know(struct ledger *ledger, struct ledger_entry *entry, const char *client, bool is_proven, int64_t now_us);
void ledger_leave(struct ledger *ledger, struct ledger_entry *entry, int64_t now_us);
int ledger_open(struct ledger *ledger, enum vs_protocol protocol); /* connections; VS_PROTOCOLS: all of them */

/* Counts the unfinished TLS handshakes of the entry's address and protocol.  `change` is 1, -1 or 0.  Returns their new
 * number, which is 0 for unix sockets. */
int ledger_shake(const struct ledger_entry *entry, int change);

/* ------------------------------------------------------------------ memory */

/* The memory of one holder.  It may hold as much as it leaves free, divided by `divisor`.  One holder alone gets a
 * half, or a third with a divisor of 2, and whatever several take, an equal part is left for the next. */
struct ledger_memory {
    _Atomic int64_t bytes;
    int divisor;
};

/* Takes memory for an entry, or gives it back.  Half of all memory, divided by the number of connections, is each
 * connection's own: up to that, its party's part is not checked.  false: the party or all clients would hold too much.
 */
bool ledger_hold(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
void ledger_release(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
/* The same for a holder that is no party.  NULL: only the limit for all counts. */
bool ledger_hold_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
void ledger_release_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
int64_t ledger_bytes_held(struct ledger *ledger);
/* The entry's party holds three quarters of what it may: its idle connections must give their memory back. */
bool ledger_is_short(struct ledger *ledger, const struct ledger_entry *entry);

/* ------------------------------------------------------------------ rates */

enum ledger_kind { LEDGER_IDS, LEDGER_REQUESTS, LEDGER_KINDS };
enum ledger_owner { LEDGER_CLIENT, LEDGER_ADDRESS, LEDGER_NAMESPACE, LEDGER_OWNERS };

/* What an owner may take a second, of each kind. */
struct ledger_rates {
    struct access_bucket of[LEDGER_KINDS];
};

/* Whether the entry's address or client has a rate. */
bool ledger_is_metered(const struct ledger *ledger, const struct ledger_entry *entry);
#define LEDGER_PATIENCE_US_MAX (INT64_MAX / 4000) /* whenever the turn comes */
/* Charges n to all owners that have a rate: the entry's client and address (NULL: neither) and the namespace (NULL:
 * none). 0: go on.  > 0: n are charged, and may be used after so many us.  < 0: nothing is charged, since the turn is
 * later than patience_us, and the value is minus the wait.  If it must wait, *who is the owner whose rate makes it wait
 * longest. */
int64_t ledger_charge(struct ledger_entry *entry, struct ledger_rates *of_namespace, enum ledger_kind kind, uint64_t n,
                      int64_t now_us, int64_t patience_us, enum ledger_owner *who);
/* The number of the entry's client, which no other client ever gets.  0: the entry has no client. */
uint64_t ledger_client_of(const struct ledger_entry *entry);
/* Gives back what was charged and is not used.  `client`: ledger_client_of when the entry was charged.  If the entry
 * belongs to another client by now, the first one gets nothing back. */
void ledger_return(struct ledger_entry *entry, uint64_t client, struct ledger_rates *of_namespace,
                   enum ledger_kind kind, uint64_t n);
/* How many of `want` can be taken now without a debt, at least one. */
uint64_t ledger_room(const struct ledger_entry *entry, const struct ledger_rates *of_namespace, enum ledger_kind kind,
                     uint64_t want, int64_t now_us);

/* ------------------------------------------------------------------ fair shares */

/* How many of `want` ids the entry may take of a shared pool; 0: wait for entry->claim.wait_us.  `number` is the
 * pool's. */
uint64_t ledger_part(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                     uint64_t want, int64_t now_us);
/* It took so many; the pool was empty. */
void ledger_took(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                 uint64_t n, int64_t now_us);
void ledger_empty(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                  int64_t now_us);

/* ------------------------------------------------------------------ failed logins */

#define LEDGER_LOGINS_FREE 4        /* wrong secrets of an address that delay nothing, since people mistype */
#define LEDGER_LOGIN_STEP_US 250000 /* from a further wrong secret to the next try, at first */
#define LEDGER_LOGIN_STEP_US_MAX 4000000
#define LEDGER_LOGIN_GROWS_EVERY 8        /* wrong secrets, after which the step doubles */
#define LEDGER_LOGIN_FORGETS_US 300000000 /* after the last wrong one */

/* A secret of the entry's address was compared.  0: the reply may say whether it is right, and a wrong one is counted.
 * Otherwise the time until the address may try again.  Only for secrets that are short enough to be guessed. */
int64_t ledger_login(struct ledger *ledger, struct ledger_entry *entry, bool is_right, int64_t now_us);

/* ------------------------------------------------------------------ what is reported */

/* The entry's party: its client if that is proven, else its address. */
struct ledger_party *ledger_party_of(const struct ledger_entry *entry);
/* "client 'orders'", "address 192.0.2.7". */
#define LEDGER_TEXT_MAX 96
const char *ledger_text(const struct ledger_party *party, char buf[LEDGER_TEXT_MAX]);
uint64_t ledger_rate(const struct ledger_party *party, enum ledger_kind kind);
uint32_t ledger_weight(const struct ledger_party *party);

struct ledger_counts {
    uint64_t held, refused; /* requests that waited for a share of the party, that were rejected */
};
/* Counts a request that waited or was rejected.  true: no thread logged this party in the last minute, and *counts is
 * what to log. */
bool ledger_note(struct ledger_party *party, bool is_refused, int64_t now_us, struct ledger_counts *counts);

/* A client's rates (0: none), weight and counts.  false: no accounts file ever had that name. */
struct ledger_client {
    uint64_t ids, requests;
    uint32_t weight;
    struct ledger_counts counts;
};
bool ledger_seen(struct ledger *ledger, const char *client, struct ledger_client *out);

#endif
