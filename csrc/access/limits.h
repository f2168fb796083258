/* limits.h -- how many connections and how much memory clients may have, by protocol, by address and together.
 *
 * Stores, keepers, tags and the log need descriptors, too.  So all clients together may have fewer connections than the
 * process may have descriptors, by a reserve. */
#ifndef ACCESS_LIMITS_H
#define ACCESS_LIMITS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

enum vs_protocol { VS_RESP, VS_HTTP, VS_ADMIN /* HTTP with other routes */, VS_PROTOCOLS };
#define VS_ID_PROTOCOLS VS_ADMIN                         /* protocols below it issue ids */
extern const char *const vs_protocol_name[VS_PROTOCOLS]; /* "resp", "http", "admin" */

#define VS_ADMIN_CONNECTIONS_DEFAULT 64 /* beside them: an operator gets in even if all other places are taken */

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
    uint64_t address_rate[2];    /* ids, requests a second of one address; 0: no limit */
    struct vs_tags_plan tags;
    int descriptors, reserved;    /* of the process; those that no client can take.  Set by vs_limits_settle */
    int of_address[VS_PROTOCOLS]; /* the same */
    int tcp_max[VS_PROTOCOLS];    /* those of proto_max that clients over TCP can take.  Set by vs_limits_fit */
    int namespaces;               /* that have a descriptor each.  Set by vs_limits_fit */
    int cut_from;                 /* set by vs_limits_settle: connections that were asked for where there are fewer, else 0 */
};

/* What needs descriptors and is no connection. */
struct vs_limits_plan {
    int open; /* when the loops begin, the listeners among them */
    int threads, namespaces, listeners[VS_PROTOCOLS];
    int unix_listeners[VS_PROTOCOLS]; /* of `listeners` */
    int keepers; /* threads that open namespaces or keep their leases: each calls a store */
};

#define VS_RAISE_DESCRIPTORS "raise the limit (LimitNOFILE= of the unit, ulimit -n, --ulimit nofile= of a container)"

/* What clients of such a server may have in this process, whose limit of descriptors is raised as far as that takes and
 * it may.  Errors: vs_limits_settle's. */
int vs_limits_fit(struct vs_limits *limits, const struct vs_limits_plan *plan, struct vesta_error *err);

/* Makes whole what was asked for: shares, and what fits the descriptors.  `listens`: at a protocol.  `reserved`: those
 * of tags' maps come to them here.
 * Errors: VESTA_EIO: there are too few descriptors to serve at all. */
int vs_limits_settle(struct vs_limits *limits, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err);

#endif
