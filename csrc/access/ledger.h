/* ledger.h -- how much of the server each client uses and may use: connections, memory, ids and requests a second, fair
 * shares, failed logins.
 *
 *    party   a client by its name, or the address of clients without a name.  An IPv6 address counts by its first 64
 *            bits, and all unix sockets are one address
 *    entry   a connection, and the parties that it counts against
 *
 * One lock guards the table of parties.  A connection takes it when it begins, ends or changes its name.  A request
 * takes it only when the connection uses a different namespace than before.  Memory and rates are atomic words.  All
 * instants are times of one monotonic clock.  Contains no socket, request or generator code.  */
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

/* Applies the rate limits and weights of these accounts.  The usage of each client name is preserved.  Threads: any. */
void ledger_set(struct ledger *ledger, const struct vs_accounts *accounts, int64_t now_us);

/* A connection.  All zero: it has no party, and only its memory is limited. */
struct ledger_entry {
    struct ledger_party *address, *client; /* client: NULL if there is no listed client */
    bool is_proven;                        /* the client's secret or certificate was verified */
    bool is_counted, is_tcp;               /* counts for its address, counts as a TCP connection */
    uint8_t protocol;
    size_t bytes;             /* of memory */
    struct ledger_seat *seat; /* its party's share in the last namespace (valid while the seat's key matches) */
    struct access_claim claim;
};

/* ------------------------------------------------------------------ connections */

/* Admits or rejects a connection.  A balancer's connection counts against no address before ledger_name.  If the result
 * is VS_LET_IN, call ledger_leave when the connection ends.  Otherwise the entry is unchanged.  Threads: any, as for
 * all functions below, but only one thread at a time may use an entry. */
enum vs_turned ledger_enter(struct ledger *ledger, struct ledger_entry *entry, enum vs_protocol protocol,
                            const struct vs_peer *peer, bool is_balancer);
/* Sets the client's address after a balancer named it.  Returns false if that address has too many connections. */
bool ledger_name(struct ledger *ledger, struct ledger_entry *entry, const struct vs_peer *peer, int64_t now_us);
/* Sets the client: an authenticated client, the default client (is_proven is false), or none (NULL). */
void ledger_know(struct ledger *ledger, struct ledger_entry *entry, const char *client, bool is_proven, int64_t now_us);
void ledger_leave(struct ledger *ledger, struct ledger_entry *entry, int64_t now_us);
int ledger_open(struct ledger *ledger, enum vs_protocol protocol); /* VS_PROTOCOLS: of all protocols */

/* Changes the number of unfinished TLS handshakes of the entry's address and protocol by `change` (1, -1 or 0).
 * Returns the new number, or 0 for unix sockets. */
int ledger_shake(const struct ledger_entry *entry, int change);

/* ------------------------------------------------------------------ memory */

/* The memory of one holder.  A holder's limit is the memory that is free, divided by `divisor`.  So a single holder may
 * use half of all memory, or a third if `divisor` is 2, and the same amount is always left for the next holder. */
struct ledger_memory {
    _Atomic int64_t bytes;
    int divisor;
};

/* Adds or removes memory of an entry.  Each connection has a guaranteed share: half of all memory, divided by the
 * maximum number of connections.  Up to that share, the party's limit is not checked.  Returns false if the party, or
 * all clients together, would exceed their limit. */
bool ledger_hold(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
void ledger_release(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
/* As ledger_hold and ledger_release, for a holder that is not a party.  If `holder` is NULL, only the limit of all
 * clients applies. */
bool ledger_hold_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
void ledger_release_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
int64_t ledger_bytes_held(struct ledger *ledger);
/* Returns whether the entry's party holds more than three quarters of its limit.  If so, connections of the party that
 * make no progress must be closed. */
bool ledger_is_short(struct ledger *ledger, const struct ledger_entry *entry);

/* ------------------------------------------------------------------ rates */

enum ledger_kind { LEDGER_IDS, LEDGER_REQUESTS, LEDGER_KINDS };
enum ledger_owner { LEDGER_CLIENT, LEDGER_ADDRESS, LEDGER_NAMESPACE, LEDGER_OWNERS };

/* The rate limits of an owner, by kind. */
struct ledger_rates {
    struct access_bucket of[LEDGER_KINDS];
};

/* Returns whether the entry's address or client has a rate limit. */
bool ledger_is_metered(const struct ledger *ledger, const struct ledger_entry *entry);
#define LEDGER_PATIENCE_US_MAX (INT64_MAX / 4000) /* the wait has no limit */
/* Charges n to each owner that has a rate limit: the entry's client and address, and the namespace.  `entry` and
 * `of_namespace` may be NULL.  Returns 0 if n may be used now.  Returns > 0 if n is charged and may be used after that
 * many us.  Returns minus the wait if nothing is charged, because the wait would exceed patience_us.  Unless the result
 * is 0, *who is the owner that caused the wait. */
int64_t ledger_charge(struct ledger_entry *entry, struct ledger_rates *of_namespace, enum ledger_kind kind, uint64_t n,
                      int64_t now_us, int64_t patience_us, enum ledger_owner *who);
/* Returns a number that identifies the entry's client and is never reused, or 0 if there is no client. */
uint64_t ledger_client_of(const struct ledger_entry *entry);
/* Refunds an unused charge.  `client` is ledger_client_of at the time of the charge.  If the entry has a different
 * client now, no client gets a refund. */
void ledger_return(struct ledger_entry *entry, uint64_t client, struct ledger_rates *of_namespace,
                   enum ledger_kind kind, uint64_t n);
/* Returns how many of `want` can be charged now without debt, but at least 1. */
uint64_t ledger_room(const struct ledger_entry *entry, const struct ledger_rates *of_namespace, enum ledger_kind kind,
                     uint64_t want, int64_t now_us);

/* ------------------------------------------------------------------ fair shares */

/* Returns how many of `want` ids the entry may take from a shared pool.  If it returns 0, try again after
 * entry->claim.wait_us.  `number` identifies the pool. */
uint64_t ledger_part(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                     uint64_t want, int64_t now_us);
/* Record that the entry took n ids (ledger_took), or that it found the pool empty (ledger_empty). */
void ledger_took(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                 uint64_t n, int64_t now_us);
void ledger_empty(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                  int64_t now_us);

/* ------------------------------------------------------------------ failed logins */

#define LEDGER_LOGINS_FREE 4 /* number of wrong secrets of an address that cause no delay, because people mistype */
#define LEDGER_LOGIN_STEP_US 250000 /* initial delay after each further wrong secret */
#define LEDGER_LOGIN_STEP_US_MAX 4000000
#define LEDGER_LOGIN_GROWS_EVERY 8        /* the delay doubles after this many wrong secrets */
#define LEDGER_LOGIN_FORGETS_US 300000000 /* wrong secrets are forgotten this long after the last */

/* Records that the entry's address sent a secret.  Returns 0 if the result may be reported to the client.  In this case
 * a wrong secret is counted.  Otherwise the secret does not count, and the return value is the time until the address
 * may try again.  Only for secrets that are short enough to be guessed. */
int64_t ledger_login(struct ledger *ledger, struct ledger_entry *entry, bool is_right, int64_t now_us);

/* ------------------------------------------------------------------ reports */

/* Returns the entry's party: the client if it is authenticated, else the address. */
struct ledger_party *ledger_party_of(const struct ledger_entry *entry);
/* Writes a party's name for messages: "client 'orders'", "address 192.0.2.7". */
#define LEDGER_TEXT_MAX 96
const char *ledger_text(const struct ledger_party *party, char buf[LEDGER_TEXT_MAX]);
uint64_t ledger_rate(const struct ledger_party *party, enum ledger_kind kind);
uint32_t ledger_weight(const struct ledger_party *party);

struct ledger_counts {
    uint64_t held, refused; /* requests that waited for a rate or share, rejected requests */
};
/* Counts a request that waited or was rejected.  Returns true if the party was not logged in the last minute.  In this
 * case the caller must log *counts. */
bool ledger_note(struct ledger_party *party, bool is_refused, int64_t now_us, struct ledger_counts *counts);

/* Reads a client's rate limits (0: none), weight and counts.  Returns false if the client was never in the accounts. */
struct ledger_client {
    uint64_t ids, requests;
    uint32_t weight;
    struct ledger_counts counts;
};
bool ledger_seen(struct ledger *ledger, const char *client, struct ledger_client *out);

#endif
