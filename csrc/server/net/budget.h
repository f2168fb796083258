/* budget.h -- what clients may have of the server: places, by listener's protocol, by address and in all; memory.
 * Knows no socket.
 *
 * Descriptors that stores, keepers, tags and the log need are no client's: the places of all clients are fewer than the
 * process may have descriptors, by a reserve. */
#ifndef VS_BUDGET_H
#define VS_BUDGET_H

#include "policy/policies.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum vs_protocol { VS_RESP, VS_HTTP, VS_ADMIN /* HTTP with other routes */, VS_PROTOCOLS };
#define VS_ID_PROTOCOLS VS_ADMIN                         /* protocols below it give ids */
extern const char *const vs_protocol_name[VS_PROTOCOLS]; /* "resp", "http", "admin" */

#define VS_ADMIN_CONNECTIONS_DEFAULT 64 /* beside them: who looks why there are too many must not be one too many */

/* Who is at the other end. */
struct vs_peer {
    uint8_t family; /* 4, 6, or 0: over a unix socket, where addresses are not told apart */
    uint16_t port;
    unsigned char at[16];
};

/* The peer of an address of 4 or 6, whose bytes are `at`: where IPv4's is written as IPv6's it is IPv4's. */
struct vs_peer vs_peer_at(int family, const void *at, uint16_t port);
#define VS_PEER_TEXT_MAX 56
const char *vs_peer_text(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]); /* "127.0.0.1:80", "[::1]:80" */
const char *vs_peer_host(const struct vs_peer *peer,
                         char buf[VS_PEER_TEXT_MAX]); /* "127.0.0.1", "::1"; NULL: as over a unix socket */
struct sockaddr_storage;
struct vs_peer vs_peer_of(const struct sockaddr_storage *address); /* as the kernel told it */

/* Why a connection is turned away. */
enum vs_turned { VS_LET_IN, VS_TURNED_TOTAL, VS_TURNED_PROTO, VS_TURNED_ADDRESS, VS_TURNED_REASONS };
extern const char *const vs_turned_name[VS_TURNED_REASONS];

/* Tags have a map each, of which the descriptor stays open for its locks. */
struct vs_tags_plan {
    int listed, found_max; /* those that the config names; those that tables may turn out to have, which are fewer where
                              descriptors are scarce */
    int connections;       /* to their databases, at most */
};

struct vs_limits {
    int connections_max;         /* of the protocols that give ids, together */
    int proto_max[VS_PROTOCOLS]; /* 0: an equal share of what the others leave */
    int address_max;             /* of one address at one protocol; 0: half of the protocol's */
    int64_t memory_max;          /* bytes: unread replies, incomplete requests, transactions of all clients */
    struct vs_tags_plan tags;
    int descriptors, reserved;    /* of the process; those that no client can take.  Set by vs_limits_settle */
    int of_address[VS_PROTOCOLS]; /* the same */
    int tcp_max[VS_PROTOCOLS];    /* those of proto_max that clients over TCP can take.  Set by vs_limits_fit */
    int namespaces;               /* that have a descriptor each.  Set by vs_limits_fit */
    int cut_from;                 /* set by vs_limits_settle: connections that were asked for where there are fewer, else 0 */
};

/* What needs descriptors and is no connection. */
struct vs_plan {
    int open; /* when the loops begin, the listeners among them */
    int threads, namespaces, listeners[VS_PROTOCOLS];
    int unix_listeners[VS_PROTOCOLS]; /* of `listeners` */
    int keepers; /* threads that open namespaces or keep their leases: each calls a store */
};

#define VS_RAISE_DESCRIPTORS "raise the limit (LimitNOFILE= of the unit, ulimit -n, --ulimit nofile= of a container)"

/* What clients of such a server may have in this process, whose limit of descriptors is raised as far as that takes and
 * it may.  Errors: vs_limits_settle's. */
int vs_limits_fit(struct vs_limits *limits, const struct vs_plan *plan, struct vesta_error *err);

/* Makes whole what was asked for: shares, and what fits the descriptors.  `listens`: at a protocol.  `reserved`: those
 * of tags' maps come to them here.
 * Errors: VESTA_EIO: there are too few descriptors to serve at all. */
int vs_limits_settle(struct vs_limits *limits, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err);

/* Places and memory, counted.  Own: free with vs_budget_free.  NULL: no memory. */
struct vs_budget;
struct vs_budget *vs_budget_new(const struct vs_limits *limits);
void vs_budget_free(struct vs_budget *budget); /* may be NULL */
const struct vs_limits *vs_budget_limits(const struct vs_budget *budget);

/* A connection comes, and goes if it was let in.  `peer` NULL: a balancer's, which counts for no address until the
 * client behind it is named; false: that one has too many, and it still counts for none.  Threads: any. */
enum vs_turned vs_budget_enter(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
bool vs_budget_name(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
void vs_budget_leave(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
/* Counts the unfinished TLS handshakes of an address that has connections.  `change` is 1, -1 or 0.  Returns their new
 * number, which is 0 for unix sockets. */
int vs_budget_shake(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer, int change);
int vs_budget_open(struct vs_budget *budget, enum vs_protocol protocol); /* VS_PROTOCOLS: all of them */

/* What one client, or one address, holds of the memory for all.  It may hold as much as it leaves free, divided by
 * `divisor`: one alone has a half, or a third with a divisor of 2, and however many take all they can, a part as large
 * is left for the next to come.  Zero but for the divisor at first. */
struct vs_memory_part {
    _Atomic int64_t bytes;
    int divisor;
};

/* Takes memory for a connection that holds `own` bytes already.  Half of the memory, divided by the number of
 * connections, is each connection's own: up to that, no part is asked.  `part` NULL: it is no client's.
 * false: clients would have more than they may, or this one more than its part.  Threads: any, as the next. */
bool vs_budget_take(struct vs_budget *budget, struct vs_memory_part *part, size_t own, size_t bytes);
void vs_budget_give(struct vs_budget *budget, struct vs_memory_part *part, size_t bytes);
int64_t vs_budget_memory(struct vs_budget *budget);
/* This part has three quarters of what it may: its connections that hold memory and do nothing must go. */
bool vs_budget_is_short(struct vs_budget *budget, struct vs_memory_part *part);

#endif
