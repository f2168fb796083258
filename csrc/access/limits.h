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

/* Each tag has a map, whose descriptor stays open for its locks. */
struct vs_tags_plan {
    int listed;      /* those that the config names */
    int found_max;   /* those that tables may have, fewer if descriptors are scarce */
    int connections; /* to their databases, at most */
};

struct vs_limits {
    int connections_max;         /* of the protocols that issue ids, together */
    int proto_max[VS_PROTOCOLS]; /* 0: an equal share of what the others leave */
    int address_max;             /* of one address at one protocol; 0: half of the protocol's */
    int64_t memory_max;          /* bytes: unread replies, incomplete requests, transactions of all clients */
    uint64_t address_rate[2];    /* ids, requests a second of one address; 0: no limit */
    struct vs_tags_plan tags;
    int descriptors, reserved;    /* of the process; reserved ones among them.  Set by vs_limits_settle */
    int of_address[VS_PROTOCOLS]; /* connections of one address.  Set by vs_limits_settle */
    int tcp_max[VS_PROTOCOLS];    /* of proto_max, those that clients over TCP may have.  Set by vs_limits_fit */
    int namespaces;               /* each has a descriptor.  Set by vs_limits_fit */
    int cut_from;                 /* connections that were configured if fewer fit, else 0.  Set by vs_limits_settle */
};

/* What needs descriptors besides connections. */
struct vs_limits_plan {
    int open; /* when the loops begin, the listeners among them */
    int threads, namespaces, listeners[VS_PROTOCOLS];
    int unix_listeners[VS_PROTOCOLS]; /* of `listeners` */
    int keepers;                      /* threads that open namespaces or keep their leases: each calls a store */
};

#define VS_RAISE_DESCRIPTORS "raise the limit (LimitNOFILE= of the unit, ulimit -n, --ulimit nofile= of a container)"

/* Computes what clients may have in this process, after raising its limit of descriptors as far as needed and allowed.
 * Errors: those of vs_limits_settle. */
int vs_limits_fit(struct vs_limits *limits, const struct vs_limits_plan *plan, struct vesta_error *err);

/* Fills in the limits that were not configured, and lowers them to what fits the descriptors.  `listens`: at which
 * protocols.  `reserved`: descriptors for other purposes, without those of tags.
 * Errors: VESTA_EIO: there are too few descriptors to serve at all. */
int vs_limits_settle(struct vs_limits *limits, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err);

#endif
