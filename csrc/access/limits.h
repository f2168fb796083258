/* limits.h -- the maximum connections and memory of clients: by protocol, by address and in total.
 *
 * Stores, keepers, tags and the log also need file descriptors, so the connections of clients are limited to fewer than
 * the process may open. */
#ifndef ACCESS_LIMITS_H
#define ACCESS_LIMITS_H

#include "vesta.h"

#include <stdbool.h>
#include <stdint.h>

enum vs_protocol { VS_RESP, VS_HTTP, VS_ADMIN /* the admin routes, over HTTP */, VS_PROTOCOLS };
#define VS_ID_PROTOCOLS VS_ADMIN                         /* the protocols before VS_ADMIN issue ids */
extern const char *const vs_protocol_name[VS_PROTOCOLS]; /* "resp", "http", "admin" */

/* not part of connections_max, so that an operator can always connect */
#define VS_ADMIN_CONNECTIONS_DEFAULT 64

/* Why a connection is rejected. */
enum vs_turned { VS_LET_IN, VS_TURNED_TOTAL, VS_TURNED_PROTO, VS_TURNED_ADDRESS, VS_TURNED_REASONS };
extern const char *const vs_turned_name[VS_TURNED_REASONS];

/* How many tags the config can have.  Tags need descriptors: each tag has a map, and the descriptor of that map stays
 * open for its locks. */
struct vs_tags_plan {
    int listed;      /* number of tags in the config */
    int found_max;   /* maximum tags found in tables (reduced if descriptors are scarce) */
    int connections; /* maximum connections to the tags' databases */
};

struct vs_limits {
    int connections_max;         /* of HTTP and the Redis protocol together */
    int proto_max[VS_PROTOCOLS]; /* 0: an equal share of the remaining connections */
    int address_max;             /* connections of one address, per protocol (0: half of proto_max) */
    int64_t memory_max;          /* bytes for unread replies, incomplete requests and transactions of all clients */
    uint64_t address_rate[2];    /* ids a second and requests a second of one address (0: no limit) */
    struct vs_tags_plan tags;
    int descriptors, reserved;    /* available and reserved descriptors (set by vs_limits_settle) */
    int of_address[VS_PROTOCOLS]; /* maximum connections of one address (set by vs_limits_settle) */
    int tcp_max[VS_PROTOCOLS];    /* maximum connections over TCP (set by vs_limits_fit) */
    int namespaces;               /* number of namespaces (set by vs_limits_fit) */
    /* the configured number of connections if it had to be reduced, else 0 (set by vs_limits_settle) */
    int cut_from;
};

/* Everything that needs descriptors, except client connections. */
struct vs_limits_plan {
    int open; /* descriptors that are open when the loops begin, including the listeners */
    int threads, namespaces, listeners[VS_PROTOCOLS];
    int unix_listeners[VS_PROTOCOLS]; /* how many of `listeners` are unix sockets */
    int keepers;                      /* threads that call stores: they open namespaces and renew leases */
};

#define VS_RAISE_DESCRIPTORS "raise the limit (LimitNOFILE= of the unit, ulimit -n, --ulimit nofile= of a container)"

/* Raises the process's limit of descriptors as far as needed and permitted, then computes the limits.  Errors: as
 * vs_limits_settle. */
int vs_limits_fit(struct vs_limits *limits, const struct vs_limits_plan *plan, struct vesta_error *err);

/* Sets the limits that were not configured, and reduces all limits to fit `descriptors`.  `listens`: whether each
 * protocol has a listener.  `reserved`: descriptors for other purposes, without tags.  Errors: VESTA_EIO if there are
 * too few descriptors to serve at all. */
int vs_limits_settle(struct vs_limits *limits, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err);

#endif
