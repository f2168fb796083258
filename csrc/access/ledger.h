/* ledger.h -- how much of the server each client uses and may use: connections, memory, ids and requests a second, fair
 * shares, failed logins.
 *
 *     party   a client by its name, or the address of clients without a name; of IPv6 only the first 64 bits count,
 *             and all unix sockets are one address
 *     entry   a connection: the parties that it counts against
 *
 * One lock guards the table of parties.  A connection takes it when it begins, ends or changes its name.  A request
 * takes it only to look up its share in another namespace; memory and rates are atomic words.  All instants are of one
 * monotonic clock.  Knows no socket, no request and no generator. */
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

/* Applies the rates and weights of these accounts.  Usage is kept by client name.  Threads: any. */
void ledger_set(struct ledger *ledger, const struct vs_accounts *accounts, int64_t now_us);

/* A connection.  All zero: it has no party, and only its memory is limited. */
struct ledger_entry {
    struct ledger_party *address, *client; /* client: NULL if no client with a rate or weight */
    bool is_proven;                        /* the client's secret or certificate was verified */
    bool is_counted, is_tcp;               /* counted against its address, and counted as a TCP connection */
    uint8_t protocol;
    size_t bytes;             /* of memory */
    struct ledger_seat *seat; /* its party's share in the last namespace, if the seat still has that key */
    struct access_claim claim;
};

/* ------------------------------------------------------------------ connections */

/* Admits a connection.  A balancer's connection counts against no address before ledger_name.  VS_LET_IN: call
 * ledger_leave when it ends.  Otherwise the entry is unchanged.  Threads: any, as for all functions below; one thread
 * at a time uses an entry. */
enum vs_turned ledger_enter(struct ledger *ledger, struct ledger_entry *entry, enum vs_protocol protocol,
                            const struct vs_peer *peer, bool is_balancer);
/* Sets the client's address after a balancer named it.  false: that address has too many connections. */
bool ledger_name(struct ledger *ledger, struct ledger_entry *entry, const struct vs_peer *peer, int64_t now_us);
/* Sets the client, which was verified or is the default (is_proven false), or to none (NULL). */
void ledger_know(struct ledger *ledger, struct ledger_entry *entry, const char *client, bool is_proven, int64_t now_us);
void ledger_leave(struct ledger *ledger, struct ledger_entry *entry, int64_t now_us);
int ledger_open(struct ledger *ledger, enum vs_protocol protocol); /* connections (VS_PROTOCOLS: of all protocols) */

/* Changes the number of unfinished TLS handshakes of the entry's address and protocol by `change` (1, -1 or 0).
 * Returns the new number, or 0 for unix sockets. */
int ledger_shake(const struct ledger_entry *entry, int change);

/* ------------------------------------------------------------------ memory */

/* The memory of one holder.  It may hold as much as it leaves free, divided by `divisor`.  So a single holder may use a
 * half of all, or a third with a divisor of 2, and the next holder always finds an equal part. */
struct ledger_memory {
    _Atomic int64_t bytes;
    int divisor;
};

/* Adds or removes memory of an entry.  Half of all memory, divided by the number of connections, is each connection's
 * own: up to that, the party's limit is not checked.  false: the party or all clients together would exceed their
 * limit. */
bool ledger_hold(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
void ledger_release(struct ledger *ledger, struct ledger_entry *entry, size_t bytes);
/* The same for a holder that is not a party.  NULL: only the limit of all clients applies. */
bool ledger_hold_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
void ledger_release_apart(struct ledger *ledger, struct ledger_memory *holder, size_t bytes);
int64_t ledger_bytes_held(struct ledger *ledger);
/* Whether the entry's party holds three quarters of its limit.  If so, its idle connections must free memory. */
bool ledger_is_short(struct ledger *ledger, const struct ledger_entry *entry);

/* ------------------------------------------------------------------ rates */

enum ledger_kind { LEDGER_IDS, LEDGER_REQUESTS, LEDGER_KINDS };
enum ledger_owner { LEDGER_CLIENT, LEDGER_ADDRESS, LEDGER_NAMESPACE, LEDGER_OWNERS };

/* The rates of an owner, of each kind. */
struct ledger_rates {
    struct access_bucket of[LEDGER_KINDS];
};

/* Whether the entry's address or client has a rate. */
bool ledger_is_metered(const struct ledger *ledger, const struct ledger_entry *entry);
#define LEDGER_PATIENCE_US_MAX (INT64_MAX / 4000) /* waits however late the turn comes */
/* Charges n to each owner with a rate: the entry's client and address (NULL: neither) and the namespace (NULL: none).
 * Returns 0: go on.  > 0: n are charged, and may be used after so many us.  < 0: nothing is charged, because the turn
 * comes after patience_us; the value is minus the wait.  If it must wait, *who is the owner with the longest wait. */
int64_t ledger_charge(struct ledger_entry *entry, struct ledger_rates *of_namespace, enum ledger_kind kind, uint64_t n,
                      int64_t now_us, int64_t patience_us, enum ledger_owner *who);
/* Returns a number that identifies the entry's client and is never reused.  0: no client. */
uint64_t ledger_client_of(const struct ledger_entry *entry);
/* Returns an unused charge.  `client` is ledger_client_of at the time of the charge.  If the entry has another client
 * now, the charge of the first one is not returned. */
void ledger_return(struct ledger_entry *entry, uint64_t client, struct ledger_rates *of_namespace,
                   enum ledger_kind kind, uint64_t n);
/* Returns how many of `want` can be taken now without debt, at least one. */
uint64_t ledger_room(const struct ledger_entry *entry, const struct ledger_rates *of_namespace, enum ledger_kind kind,
                     uint64_t want, int64_t now_us);

/* ------------------------------------------------------------------ fair shares */

/* Returns how many of `want` ids the entry may take from a shared pool; 0: it must wait for entry->claim.wait_us.
 * `number` identifies the pool. */
uint64_t ledger_part(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                     uint64_t want, int64_t now_us);
/* ledger_took: it took n ids.  ledger_empty: it found the pool empty. */
void ledger_took(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                 uint64_t n, int64_t now_us);
void ledger_empty(struct ledger *ledger, struct ledger_entry *entry, struct access_pool *pool, uint32_t number,
                  int64_t now_us);

/* ------------------------------------------------------------------ failed logins */

#define LEDGER_LOGINS_FREE 4        /* wrong secrets of an address that cause no delay, because people mistype */
#define LEDGER_LOGIN_STEP_US 250000 /* first delay after a further wrong secret */
#define LEDGER_LOGIN_STEP_US_MAX 4000000
#define LEDGER_LOGIN_GROWS_EVERY 8        /* the delay doubles after so many wrong secrets */
#define LEDGER_LOGIN_FORGETS_US 300000000 /* since the last wrong one */

/* Records a secret from the entry's address.  Returns 0: the result may be reported to the client, and a wrong secret
 * was counted.  Otherwise returns the time until the address may try again.  Only for secrets that are short enough to
 * be guessed. */
int64_t ledger_login(struct ledger *ledger, struct ledger_entry *entry, bool is_right, int64_t now_us);

/* ------------------------------------------------------------------ reports */

/* Returns the entry's party: its client if verified, else its address. */
struct ledger_party *ledger_party_of(const struct ledger_entry *entry);
/* "client 'orders'", "address 192.0.2.7". */
#define LEDGER_TEXT_MAX 96
const char *ledger_text(const struct ledger_party *party, char buf[LEDGER_TEXT_MAX]);
uint64_t ledger_rate(const struct ledger_party *party, enum ledger_kind kind);
uint32_t ledger_weight(const struct ledger_party *party);

struct ledger_counts {
    uint64_t held, refused; /* requests that waited for the party's share, and rejected requests */
};
/* Counts a request that waited or was rejected.  true: this party was not logged in the last minute, and the caller
 * must log *counts. */
bool ledger_note(struct ledger_party *party, bool is_refused, int64_t now_us, struct ledger_counts *counts);

/* Returns a client's rates (0: none), weight and counts.  false: no file of clients ever had that name. */
struct ledger_client {
    uint64_t ids, requests;
    uint32_t weight;
    struct ledger_counts counts;
};
bool ledger_seen(struct ledger *ledger, const char *client, struct ledger_client *out);

#endif
