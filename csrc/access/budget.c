/* budget.c -- places and memory of clients, counted for all loops.  Knows no socket; asked when a connection comes or
 * goes and when a request needs memory of its own, never for a plain one. */
#include "access/budget.h"
#include "os/random.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    struct vs_peer key = vs_peer_key(peer);
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
    struct vs_peer key = vs_peer_key(peer);
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
    struct vs_peer key = vs_peer_key(peer);
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
