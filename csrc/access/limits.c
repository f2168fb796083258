/* limits.c -- computes the limits of clients from the limits of the process (see limits.h). */
#include "access/limits.h"
#include "base/error.h"

#include <stdio.h>
#include <sys/resource.h>

#define RESERVE_SPARE 16    /* for the log, config and policy files, name resolution and /proc */
#define RESERVE_THREAD 8    /* for each loop */
#define RESERVE_NAMESPACE 1 /* for each namespace: its map */
#define RESERVE_KEEPER 11   /* per keeper: a store's folder, lock, record, connection, database and journal */
#define RESERVE_DATABASE 4 /* per database connection: its socket and eventfd, or its files */
#define NAMESPACES_FEW 64  /* if there are more namespaces, an error about descriptors contains their number */
#define SERVE_MIN 16       /* minimum number of connections */
#define ADMIN_MIN 4
#define KEPT_PART 8 /* this fraction of a protocol's connections is reserved for its unix sockets */

const char *const vs_turned_name[VS_TURNED_REASONS] = {
    [VS_LET_IN] = "none", [VS_TURNED_TOTAL] = "total", [VS_TURNED_PROTO] = "proto", [VS_TURNED_ADDRESS] = "address"};

const char *const vs_protocol_name[VS_PROTOCOLS] = {[VS_RESP] = "resp", [VS_HTTP] = "http", [VS_ADMIN] = "admin"};

static void access_share_limits(struct vs_limits *l, const bool listens[VS_PROTOCOLS]) {
    int left = l->connections_max, sharers = 0;
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++) {
        if (!listens[protocol]) continue;
        left -= l->proto_max[protocol];
        sharers += l->proto_max[protocol] == 0;
    }
    if (left < SERVE_MIN) left = SERVE_MIN; /* ledger_enter also checks the total */
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        if (listens[protocol] && l->proto_max[protocol] == 0) l->proto_max[protocol] = left / sharers;
    if (l->proto_max[VS_ADMIN] == 0) l->proto_max[VS_ADMIN] = VS_ADMIN_CONNECTIONS_DEFAULT;
    if (!listens[VS_ADMIN]) l->proto_max[VS_ADMIN] = 0;
}

/* Reduces all limits in proportion. */
static void access_cut_limits(struct vs_limits *l, int room) {
    int admin = l->proto_max[VS_ADMIN], admin_max = room / 8 > ADMIN_MIN ? room / 8 : ADMIN_MIN;
    if (admin > admin_max) l->proto_max[VS_ADMIN] = admin = admin_max;
    l->cut_from = l->connections_max;
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        if (l->proto_max[protocol] > 0)
            l->proto_max[protocol] =
                1 + (int)((int64_t)(l->proto_max[protocol] - 1) * (room - admin) / l->connections_max);
    l->connections_max = room - admin;
}

#define FOR_NAMES_MAX 96
static const char *access_reserved_text(const struct vs_limits *l, char buf[FOR_NAMES_MAX]) {
    int tags = l->tags.listed + l->tags.found_max, used = 0;
    if (tags > 0) used = snprintf(buf, FOR_NAMES_MAX, ", %d of them for tags", tags);
    if (l->namespaces > NAMESPACES_FEW)
        snprintf(buf + used, FOR_NAMES_MAX - (size_t)used, ", %d of them for namespaces", l->namespaces);
    return buf;
}

/* Returns how many tags of tables fit: the descriptors that connections do not need, but at least a quarter of all. */
static int access_room_for_tags(const struct vs_limits *l, int room) {
    int left = room - l->connections_max - l->proto_max[VS_ADMIN];
    if (left < room / 4) left = room / 4;
    if (left > room - SERVE_MIN - ADMIN_MIN) left = room - SERVE_MIN - ADMIN_MIN;
    if (left < 0) left = 0;
    return l->tags.found_max < left ? l->tags.found_max : left;
}

int vs_limits_settle(struct vs_limits *l, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err) {
    reserved += l->tags.listed;
    access_share_limits(l, listens);
    l->tags.found_max = access_room_for_tags(l, descriptors - reserved);
    reserved += l->tags.found_max;
    int room = descriptors - reserved;
    l->descriptors = descriptors, l->reserved = reserved, l->cut_from = 0;
    if (room < SERVE_MIN + l->proto_max[VS_ADMIN] && room < SERVE_MIN + ADMIN_MIN)
        return vs_fail(
            err, VESTA_EIO,
            "%d file descriptors are too few: %d are reserved for stores, keepers and the log%s, and clients "
            "need at least %d: " VS_RAISE_DESCRIPTORS,
            descriptors, reserved, access_reserved_text(l, (char[FOR_NAMES_MAX]){0}), SERVE_MIN + ADMIN_MIN);
    if (l->connections_max + l->proto_max[VS_ADMIN] > room) access_cut_limits(l, room);
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        int half = (l->proto_max[protocol] + 1) / 2;
        l->tcp_max[protocol] = l->proto_max[protocol];
        l->of_address[protocol] = l->address_max && l->address_max < l->proto_max[protocol] ? l->address_max
                                  : l->address_max                                          ? l->proto_max[protocol]
                                                                                            : half;
    }
    return VESTA_OK;
}

/* Raises the soft limit of descriptors, which is usually 1024, and returns the result. */
static int access_raise_descriptors(int want) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return want;
    if (limit.rlim_cur < (rlim_t)want) {
        limit.rlim_cur = limit.rlim_max < (rlim_t)want ? limit.rlim_max : (rlim_t)want;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX ? INT32_MAX : (int)limit.rlim_cur;
}

/* Reserves connections for unix sockets if a protocol also listens on TCP, so that clients over TCP cannot exclude
 * clients on this machine. */
static void access_keep_for_unix(struct vs_limits *l, const struct vs_limits_plan *plan) {
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        int local = plan->unix_listeners[protocol], max = l->proto_max[protocol];
        if (local == 0 || local == plan->listeners[protocol]) continue;
        int kept = protocol == VS_ADMIN ? max / 2 : max / KEPT_PART;
        l->tcp_max[protocol] = max - (kept > 0 ? kept : 1);
        if (l->tcp_max[protocol] < 1) l->tcp_max[protocol] = 1;
        if (l->of_address[protocol] > l->tcp_max[protocol]) l->of_address[protocol] = l->tcp_max[protocol];
    }
}

int vs_limits_fit(struct vs_limits *l, const struct vs_limits_plan *plan, struct vesta_error *err) {
    bool listens[VS_PROTOCOLS];
    int listeners = 0, admin_max = l->proto_max[VS_ADMIN] ? l->proto_max[VS_ADMIN] : VS_ADMIN_CONNECTIONS_DEFAULT;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        listens[protocol] = plan->listeners[protocol] > 0;
        listeners += plan->listeners[protocol];
    }
    l->namespaces = plan->namespaces;
    int reserved = plan->open + RESERVE_SPARE + plan->threads * (RESERVE_THREAD + listeners) +
                   plan->namespaces * RESERVE_NAMESPACE + plan->keepers * RESERVE_KEEPER +
                   l->tags.connections * RESERVE_DATABASE;
    int descriptors =
        access_raise_descriptors(l->connections_max + admin_max + reserved + l->tags.listed + l->tags.found_max);
    int rc = vs_limits_settle(l, descriptors, reserved, listens, err);
    if (rc == VESTA_OK) access_keep_for_unix(l, plan);
    return rc;
}
