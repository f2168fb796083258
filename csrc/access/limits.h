/* limits.h -- how many connections and how much memory clients may use, by protocol, by address and together.
 *
 * Stores, keepers, tags and the log also need file descriptors, so the connections of clients are limited to fewer than
 * the process may open. */
#ifndef ACCESS_LIMITS_H
#define ACCESS_LIMITS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

enum vs_protocol { VS_RESP, VS_HTTP, VS_ADMIN /* HTTP with other routes */, VS_PROTOCOLS };
#define VS_ID_PROTOCOLS VS_ADMIN                         /* protocols below it issue ids */
extern const char *const vs_protocol_name[VS_PROTOCOLS]; /* "resp", "http", "admin" */

/* in addition to the other protocols' connections, so that an operator can always connect */
#define VS_ADMIN_CONNECTIONS_DEFAULT 64

/* Why a connection is rejected. */
enum vs_turned { VS_LET_IN, VS_TURNED_TOTAL, VS_TURNED_PROTO, VS_TURNED_ADDRESS, VS_TURNED_REASONS };
extern const char *const vs_turned_name[VS_TURNED_REASONS];

/* Each tag has a map, whose descriptor stays open for its locks. */
struct vs_tags_plan {
    int listed;      /* tags that the config names */
    int found_max;   /* tags that tables may contain (fewer if descriptors are scarce) */
    int connections; /* most connections to their databases */
};

struct vs_limits {
    int connections_max;         /* of HTTP and the Redis protocol together */
    int proto_max[VS_PROTOCOLS]; /* 0: an equal share of the connections left over */
    int address_max;             /* of one address per protocol (0: half of the protocol's) */
    int64_t memory_max;          /* bytes for unread replies, incomplete requests and transactions of all clients */
    uint64_t address_rate[2];    /* ids and requests a second of one address (0: no limit) */
    struct vs_tags_plan tags;
    int descriptors, reserved;    /* of the process, and how many of them are reserved (both set by vs_limits_settle) */
    int of_address[VS_PROTOCOLS]; /* connections of one address (set by vs_limits_settle) */
    int tcp_max[VS_PROTOCOLS];    /* the part of proto_max for clients over TCP (set by vs_limits_fit) */
    int namespaces;               /* each needs a descriptor (set by vs_limits_fit) */
    /* the configured number of connections if it had to be reduced, else 0 (set by vs_limits_settle) */
    int cut_from;
};

/* Users of descriptors other than connections. */
struct vs_limits_plan {
    int open; /* descriptors that are open when the loops begin, including the listeners */
    int threads, namespaces, listeners[VS_PROTOCOLS];
    int unix_listeners[VS_PROTOCOLS]; /* of `listeners` */
    int keepers;                      /* threads that open namespaces or renew leases: each calls a store */
};

#define VS_RAISE_DESCRIPTORS "raise the limit (LimitNOFILE= of the unit, ulimit -n, --ulimit nofile= of a container)"

/* Computes the limits of this process, after raising its limit of descriptors as far as needed and permitted.  Errors:
 * as vs_limits_settle. */
int vs_limits_fit(struct vs_limits *limits, const struct vs_limits_plan *plan, struct vesta_error *err);

/* Sets the limits that were not configured, and reduces them to the descriptors available.  `listens`: which protocols
 * have a listener.  `reserved`: descriptors for other purposes, except for tags.  Errors: VESTA_EIO: there are too
 * few descriptors to serve at all. */
int vs_limits_settle(struct vs_limits *limits, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err);

#endif
