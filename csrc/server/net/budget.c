/* budget.c -- places and memory of clients, counted for all loops.  Knows no socket; asked when a connection comes or
 * goes and when a request needs memory of its own, never for a plain one. */
#include "server/net/budget.h"
#include "base/error.h"
#include "os/random.h"

#include <arpa/inet.h>
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define RESERVE_SPARE 16    /* the log, a config or policy that is read, a name that is looked up, /proc */
#define RESERVE_THREAD 8    /* a loop's own */
#define RESERVE_NAMESPACE 1 /* its map */
#define RESERVE_KEEPER 11  /* its store: folder, lock, record, connection, database and journal; a file that is opened \
                            */
#define RESERVE_DATABASE 4 /* of a connection: socket and what wakes it, or database, journal and lock */
#define NAMESPACES_FEW 64  /* whose descriptors are not what there are too few for */
#define SERVE_MIN 16       /* connections: with fewer there is no point in serving */
#define ADMIN_MIN 4
#define KEPT_PART 8 /* of a protocol's places that only clients over its unix sockets can take */

const char *const vs_turned_name[VS_TURNED_REASONS] = {
    [VS_LET_IN] = "none", [VS_TURNED_TOTAL] = "total", [VS_TURNED_PROTO] = "proto", [VS_TURNED_ADDRESS] = "address"};

const char *const vs_protocol_name[VS_PROTOCOLS] = {[VS_RESP] = "resp", [VS_HTTP] = "http", [VS_ADMIN] = "admin"};

struct vs_peer vs_peer_at(int family, const void *at, uint16_t port) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_mapped = family == 6 && memcmp(at, mapped, sizeof mapped) == 0;
    struct vs_peer peer = {.family = is_mapped ? 4 : (uint8_t)family, .port = port};
    memcpy(peer.at, (const unsigned char *)at + (is_mapped ? sizeof mapped : 0), peer.family == 6 ? 16 : 4);
    return peer;
}

struct vs_peer vs_peer_of(const struct sockaddr_storage *address) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    switch (address->ss_family) {
    case AF_INET: return vs_peer_at(4, &v4->sin_addr, ntohs(v4->sin_port));
    case AF_INET6: return vs_peer_at(6, &v6->sin6_addr, ntohs(v6->sin6_port));
    default: return (struct vs_peer){.family = 0};
    }
}

/* By hand: the access log has one a line. */
static size_t put_v4(const struct vs_peer *peer, char *buf) {
    size_t n = vesta_format(VESTA_DECIMAL, peer->at[0], buf);
    for (int i = 1; i < 4; i++) {
        buf[n++] = '.';
        n += vesta_format(VESTA_DECIMAL, peer->at[i], buf + n);
    }
    return n;
}

const char *vs_peer_host(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]) {
    if (!peer || peer->family == 0) return strcpy(buf, "unix");
    if (peer->family == 6) return inet_ntop(AF_INET6, peer->at, buf, VS_PEER_TEXT_MAX);
    buf[put_v4(peer, buf)] = '\0';
    return buf;
}

const char *vs_peer_text(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]) {
    char host[VS_PEER_TEXT_MAX];
    if (peer->family == 0) return strcpy(buf, "unix");
    if (peer->family == 6) {
        snprintf(buf, VS_PEER_TEXT_MAX, "[%.45s]:%u", vs_peer_host(peer, host), peer->port);
        return buf;
    }
    size_t n = put_v4(peer, buf);
    buf[n++] = ':';
    n += vesta_format(VESTA_DECIMAL, peer->port, buf + n);
    buf[n] = '\0';
    return buf;
}

/* ------------------------------------------------------------------ limits */

static void share(struct vs_limits *l, const bool listens[VS_PROTOCOLS]) {
    int left = l->connections_max, sharers = 0;
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++) {
        if (!listens[protocol]) continue;
        left -= l->proto_max[protocol];
        sharers += l->proto_max[protocol] == 0;
    }
    if (left < SERVE_MIN) left = SERVE_MIN; /* the total is looked at, too */
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        if (listens[protocol] && l->proto_max[protocol] == 0) l->proto_max[protocol] = left / sharers;
    if (l->proto_max[VS_ADMIN] == 0) l->proto_max[VS_ADMIN] = VS_ADMIN_CONNECTIONS_DEFAULT;
    if (!listens[VS_ADMIN]) l->proto_max[VS_ADMIN] = 0;
}

/* Everybody has less, in proportion. */
static void cut(struct vs_limits *l, int room) {
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
static const char *for_names(const struct vs_limits *l, char buf[FOR_NAMES_MAX]) {
    int tags = l->tags.listed + l->tags.found_max, used = 0;
    if (tags > 0) used = snprintf(buf, FOR_NAMES_MAX, ", %d of them for tags", tags);
    if (l->namespaces > NAMESPACES_FEW)
        snprintf(buf + used, FOR_NAMES_MAX - (size_t)used, ", %d of them for namespaces", l->namespaces);
    return buf;
}

/* Tags that tables turn out to have take what connections leave, or a quarter of all. */
static int room_for_tags(const struct vs_limits *l, int room) {
    int left = room - l->connections_max - l->proto_max[VS_ADMIN];
    if (left < room / 4) left = room / 4;
    if (left > room - SERVE_MIN - ADMIN_MIN) left = room - SERVE_MIN - ADMIN_MIN;
    if (left < 0) left = 0;
    return l->tags.found_max < left ? l->tags.found_max : left;
}

int vs_limits_settle(struct vs_limits *l, int descriptors, int reserved, const bool listens[VS_PROTOCOLS],
                     struct vesta_error *err) {
    reserved += l->tags.listed;
    share(l, listens);
    l->tags.found_max = room_for_tags(l, descriptors - reserved);
    reserved += l->tags.found_max;
    int room = descriptors - reserved;
    l->descriptors = descriptors, l->reserved = reserved, l->cut_from = 0;
    if (room < SERVE_MIN + l->proto_max[VS_ADMIN] && room < SERVE_MIN + ADMIN_MIN)
        return vs_fail(
            err, VESTA_EIO,
            "%d file descriptors are too few: %d are reserved for stores, keepers and the log%s, and clients "
            "need at least %d; " VS_RAISE_DESCRIPTORS,
            descriptors, reserved, for_names(l, (char[FOR_NAMES_MAX]){0}), SERVE_MIN + ADMIN_MIN);
    if (l->connections_max + l->proto_max[VS_ADMIN] > room) cut(l, room);
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        int half = (l->proto_max[protocol] + 1) / 2;
        l->tcp_max[protocol] = l->proto_max[protocol];
        l->of_address[protocol] = l->address_max && l->address_max < l->proto_max[protocol] ? l->address_max
                                  : l->address_max                                          ? l->proto_max[protocol]
                                                                                            : half;
    }
    return VESTA_OK;
}

/* How many descriptors the process has, after asking for so many: the usual soft limit of 1024 would be met first. */
static int raise_descriptors(int want) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return want;
    if (limit.rlim_cur < (rlim_t)want) {
        limit.rlim_cur = limit.rlim_max < (rlim_t)want ? limit.rlim_max : (rlim_t)want;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur;
}

/* Where a protocol listens on unix sockets, too, clients over TCP cannot take all of its places: clients of this machine
 * find one whatever others do. */
static void keep_for_unix(struct vs_limits *l, const struct vs_plan *plan) {
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        int local = plan->unix_listeners[protocol], max = l->proto_max[protocol];
        if (local == 0 || local == plan->listeners[protocol]) continue;
        int kept = protocol == VS_ADMIN ? max / 2 : max / KEPT_PART;
        l->tcp_max[protocol] = max - (kept > 0 ? kept : 1);
        if (l->tcp_max[protocol] < 1) l->tcp_max[protocol] = 1;
        if (l->of_address[protocol] > l->tcp_max[protocol]) l->of_address[protocol] = l->tcp_max[protocol];
    }
}

int vs_limits_fit(struct vs_limits *l, const struct vs_plan *plan, struct vesta_error *err) {
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
    int descriptors = raise_descriptors(l->connections_max + admin_max + reserved + l->tags.listed + l->tags.found_max);
    int rc = vs_limits_settle(l, descriptors, reserved, listens, err);
    if (rc == VESTA_OK) keep_for_unix(l, plan);
    return rc;
}

/* ------------------------------------------------------------------ places
 *
 * Addresses are counted in a table with chains: as many entries as there are places, so there is always a free one. */

struct entry {
    struct vs_peer key; /* port is 0, and so is the part of an IPv6 address that a single host chooses */
    uint8_t protocol;
    int count, shaking; /* connections; those of them that have not finished their TLS handshake */
    int next;           /* in its chain or among the free ones; -1: none */
};

struct vs_budget {
    struct vs_limits limits;
    pthread_mutex_t mutex; /* over places; held for a moment, around nothing else */
    int open[VS_PROTOCOLS], over_tcp[VS_PROTOCOLS];
    uint64_t seed; /* who chooses addresses must not choose one chain */
    int bucket_count, free;
    int *bucket;
    struct entry *entry;
    _Atomic int64_t memory;
};

struct vs_budget *vs_budget_new(const struct vs_limits *limits) {
    struct vs_budget *b = calloc(1, sizeof *b);
    int places = limits->connections_max + limits->proto_max[VS_ADMIN];
    if (!b || vs_random(&b->seed, sizeof b->seed) != 0) return free(b), NULL;
    b->limits = *limits;
    for (b->bucket_count = 64; b->bucket_count < places;)
        b->bucket_count *= 2;
    b->bucket = malloc((size_t)b->bucket_count * sizeof *b->bucket);
    b->entry = calloc((size_t)places, sizeof *b->entry);
    pthread_mutex_init(&b->mutex, NULL);
    if (!b->bucket || !b->entry) return vs_budget_free(b), NULL;
    memset(b->bucket, 0xff, (size_t)b->bucket_count * sizeof *b->bucket);
    for (int i = 0; i < places; i++)
        b->entry[i].next = i + 1 < places ? i + 1 : -1;
    return b;
}

void vs_budget_free(struct vs_budget *b) {
    if (!b) return;
    pthread_mutex_destroy(&b->mutex);
    free(b->bucket);
    free(b->entry);
    free(b);
}

const struct vs_limits *vs_budget_limits(const struct vs_budget *b) {
    return &b->limits;
}

/* Of IPv6 the first 64 bits count: a host has all the others to itself. */
static struct vs_peer key_of(const struct vs_peer *peer) {
    struct vs_peer key = {.family = peer->family};
    memcpy(key.at, peer->at, peer->family == 6 ? 8 : 4);
    return key;
}

static int bucket_of(const struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *key) {
    uint64_t word, hash = b->seed ^ (uint64_t)protocol;
    memcpy(&word, key->at, sizeof word);
    for (int i = 0; i < 2; i++, word = hash) {
        hash ^= word;
        hash *= UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (int)(hash & (uint64_t)(b->bucket_count - 1));
}

/* Where the entry's index stands, or the end of its chain. */
static int *find(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *key) {
    int *at = &b->bucket[bucket_of(b, protocol, key)];
    while (*at >= 0) {
        const struct entry *e = &b->entry[*at];
        if (e->protocol == protocol && memcmp(&e->key, key, sizeof *key) == 0) break;
        at = &b->entry[*at].next;
    }
    return at;
}

static bool enter_address(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    struct vs_peer key = key_of(peer);
    int *at = find(b, protocol, &key);
    if (*at < 0) {
        struct entry *e = &b->entry[ *at = b->free];
        assert(b->free >= 0);
        b->free = e->next;
        *e = (struct entry){.key = key, .protocol = (uint8_t)protocol, .next = -1};
    }
    if (b->entry[*at].count >= b->limits.of_address[protocol]) return false;
    b->entry[*at].count++;
    return true;
}

static void leave_address(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    struct vs_peer key = key_of(peer);
    int *at = find(b, protocol, &key), i = *at;
    assert(i >= 0 && b->entry[i].count > 0);
    if (--b->entry[i].count > 0) return;
    *at = b->entry[i].next;
    b->entry[i].next = b->free;
    b->free = i;
}

/* A balancer's connections, whose peer is not known yet, come over TCP, too. */
static bool is_tcp(const struct vs_peer *peer) {
    return !peer || peer->family != 0;
}

static enum vs_turned enter(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    if (b->open[protocol] >= b->limits.proto_max[protocol]) return VS_TURNED_PROTO;
    if (is_tcp(peer) && b->over_tcp[protocol] >= b->limits.tcp_max[protocol]) return VS_TURNED_PROTO;
    if (protocol != VS_ADMIN && b->open[VS_RESP] + b->open[VS_HTTP] >= b->limits.connections_max)
        return VS_TURNED_TOTAL;
    if (peer && peer->family != 0 && !enter_address(b, protocol, peer)) return VS_TURNED_ADDRESS;
    b->open[protocol]++;
    b->over_tcp[protocol] += is_tcp(peer);
    return VS_LET_IN;
}

enum vs_turned vs_budget_enter(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    pthread_mutex_lock(&b->mutex);
    enum vs_turned turned = enter(b, protocol, peer);
    pthread_mutex_unlock(&b->mutex);
    return turned;
}

bool vs_budget_name(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    pthread_mutex_lock(&b->mutex);
    bool entered = enter_address(b, protocol, peer);
    pthread_mutex_unlock(&b->mutex);
    return entered;
}

void vs_budget_leave(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer) {
    pthread_mutex_lock(&b->mutex);
    b->open[protocol]--;
    b->over_tcp[protocol] -= is_tcp(peer);
    if (peer && peer->family != 0) leave_address(b, protocol, peer);
    pthread_mutex_unlock(&b->mutex);
}

int vs_budget_shake(struct vs_budget *b, enum vs_protocol protocol, const struct vs_peer *peer, int change) {
    struct vs_peer key = key_of(peer);
    if (peer->family == 0) return 0;
    pthread_mutex_lock(&b->mutex);
    int at = *find(b, protocol, &key);
    assert(at >= 0);
    int shaking = b->entry[at].shaking += change;
    assert(shaking >= 0 && shaking <= b->entry[at].count);
    pthread_mutex_unlock(&b->mutex);
    return shaking;
}

int vs_budget_open(struct vs_budget *b, enum vs_protocol protocol) {
    int sum = 0;
    pthread_mutex_lock(&b->mutex);
    for (int i = 0; i < VS_PROTOCOLS; i++)
        if (protocol == VS_PROTOCOLS || protocol == (enum vs_protocol)i) sum += b->open[i];
    pthread_mutex_unlock(&b->mutex);
    return sum;
}

/* ------------------------------------------------------------------ memory: sums, which order nothing */

static int64_t free_of(struct vs_budget *b) {
    int64_t left = b->limits.memory_max - vs_budget_memory(b);
    return left > 0 ? left : 0;
}

static bool fits(struct vs_budget *b, struct vs_memory_part *part, size_t own, size_t bytes) {
    if (vs_budget_memory(b) > b->limits.memory_max) return false;
    if (!part || own + bytes <= (size_t)b->limits.memory_max / 2 / (size_t)b->limits.connections_max) return true;
    return atomic_load_explicit(&part->bytes, memory_order_relaxed) * part->divisor <= free_of(b);
}

/* Taken first and looked at then, so that two threads cannot both take the last. */
bool vs_budget_take(struct vs_budget *b, struct vs_memory_part *part, size_t own, size_t bytes) {
    atomic_fetch_add_explicit(&b->memory, (int64_t)bytes, memory_order_relaxed);
    if (part) atomic_fetch_add_explicit(&part->bytes, (int64_t)bytes, memory_order_relaxed);
    if (fits(b, part, own, bytes)) return true;
    vs_budget_give(b, part, bytes);
    return false;
}

void vs_budget_give(struct vs_budget *b, struct vs_memory_part *part, size_t bytes) {
    if (part) atomic_fetch_sub_explicit(&part->bytes, (int64_t)bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&b->memory, (int64_t)bytes, memory_order_relaxed);
}

int64_t vs_budget_memory(struct vs_budget *b) {
    return atomic_load_explicit(&b->memory, memory_order_relaxed);
}

bool vs_budget_is_short(struct vs_budget *b, struct vs_memory_part *part) {
    if (!part) return vs_budget_memory(b) > b->limits.memory_max / 4 * 3;
    return atomic_load_explicit(&part->bytes, memory_order_relaxed) * part->divisor > free_of(b) / 4 * 3;
}
