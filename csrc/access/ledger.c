/* ledger.c -- the table of parties by name and address (see ledger.h). */
#include "access/ledger.h"
#include "base/table.h"
#include "os/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define RESTING_MAX 8192  /* maximum number of parties without connections that are kept because of debts */
#define LOOKS 8           /* number of resting parties that are compared when one must be dropped */
#define ADDRESS_DIVISOR 2 /* makes the memory limit of an address smaller than that of a named client */
#define LOG_US 60000000
#define SEAT_SETS 1024
#define SEAT_WAYS 8
#define SEAT_RESTS_US 2000000 /* a seat is reassigned after this time without use */

struct ledger_party {
    char name[VS_ACCOUNT_NAME_MAX]; /* client name ("": the party is an address) */
    struct vs_peer peer;            /* address, in the form of vs_peer_key */
    uint64_t hash;                  /* hash of name or address, with the ledger's seed */
    uint64_t made;                  /* serial number, never reused */
    /* used without the lock, by any thread */
    struct ledger_rates rates;
    struct ledger_memory memory;
    _Atomic uint32_t weight;
    _Atomic int shaking[VS_PROTOCOLS];
    _Atomic uint64_t held, refused;
    _Atomic int64_t logged_us;
    /* guarded by the lock */
    int holders, count[VS_PROTOCOLS]; /* number of entries, number of counted connections of the address */
    unsigned wrong;
    int64_t wrong_us, judged_us; /* last wrong secret, when the next secret may be checked */
    bool is_listed, is_resting;  /* is_listed: the client is in the accounts */
    TAILQ_ENTRY(ledger_party) next;
};
TAILQ_HEAD(ledger_parties, ledger_party);

/* The share of a party in a namespace's ids. */
struct ledger_seat {
    _Atomic uint64_t key; /* hash of party and namespace (0: free) */
    struct access_stake stake;
};

struct ledger {
    struct vs_limits limits;
    _Atomic int64_t memory;
    pthread_mutex_t lock; /* guards all following members (never held during a blocking call) */
    uint64_t seed;        /* random, so that clients cannot cause hash collisions */
    int open[VS_PROTOCOLS], over_tcp[VS_PROTOCOLS];
    struct vs_table table;
    struct ledger_party *party;          /* array with room for all parties */
    uint32_t used;                       /* elements of `party` that were ever used */
    uint64_t made;                       /* number of parties created so far */
    struct ledger_parties free, resting; /* resting: the longest resting party first */
    int resting_count;
    struct ledger_seat seat[SEAT_SETS][SEAT_WAYS];
};

/* ------------------------------------------------------------------ the table */

static const struct vs_peer ledger_no_peer; /* key of a named client */

/* Returns the maximum number of parties.  Each connection holds at most two. */
static size_t ledger_parties_max(const struct vs_limits *limits) {
    return VS_ACCOUNTS_MAX + RESTING_MAX + 2 * ((size_t)limits->connections_max + (size_t)limits->proto_max[VS_ADMIN]) +
           1;
}

struct ledger *ledger_new(const struct vs_limits *limits) {
    struct ledger *l = calloc(1, sizeof *l);
    size_t most = ledger_parties_max(limits), width = vs_table_width(most);
    if (!l || vs_random(&l->seed, sizeof l->seed) != 0) return free(l), NULL;
    pthread_mutex_init(&l->lock, NULL);
    TAILQ_INIT(&l->free);
    TAILQ_INIT(&l->resting);
    l->limits = *limits;
    l->party = calloc(most, sizeof *l->party);
    l->table = (struct vs_table){calloc(width, sizeof *l->table.slot), width - 1};
    if (l->party && l->table.slot) return l;
    ledger_free(l);
    return NULL;
}

void ledger_free(struct ledger *l) {
    if (!l) return;
    pthread_mutex_destroy(&l->lock);
    free(l->party);
    free(l->table.slot);
    free(l);
}

const struct vs_limits *ledger_limits(const struct ledger *l) {
    return &l->limits;
}

static uint64_t ledger_hash(const struct ledger *l, const char *name, const struct vs_peer *peer) {
    if (*name) return vs_table_hash(name, strlen(name), l->seed);
    return vs_table_hash(peer->at, sizeof peer->at, l->seed ^ (uint64_t)(peer->family + 1) << 56);
}

/* Returns the party, or NULL.  `peer` is a key, or ledger_no_peer. */
static struct ledger_party *ledger_find(struct ledger *l, const char *name, const struct vs_peer *peer) {
    uint64_t hash = ledger_hash(l, name, peer);
    size_t at = vs_table_begin(&l->table, hash);
    uint32_t item;
    while (vs_table_next(&l->table, hash, &at, &item)) {
        struct ledger_party *p = &l->party[item];
        if (strcmp(p->name, name) != 0) continue;
        if (*name || (p->peer.family == peer->family && memcmp(p->peer.at, peer->at, sizeof peer->at) == 0)) return p;
    }
    return NULL;
}

static void ledger_forget(struct ledger *l, struct ledger_party *p) {
    vs_table_drop(&l->table, p->hash, (uint32_t)(p - l->party));
    TAILQ_INSERT_HEAD(&l->free, p, next);
}

/* Returns until when a party without connections must be kept: until it has no debts and no recent wrong secrets, and
 * the party may be logged again. */
static int64_t ledger_matters_until_us(const struct ledger_party *p) {
    int64_t until_us = p->wrong_us ? p->wrong_us + LEDGER_LOGIN_FORGETS_US : 0;
    int64_t logged_us = atomic_load_explicit(&p->logged_us, memory_order_relaxed);
    if (logged_us && logged_us + LOG_US > until_us) until_us = logged_us + LOG_US;
    for (int kind = 0; kind < LEDGER_KINDS; kind++) {
        int64_t full_us = access_bucket_full_ns(&p->rates.of[kind]) / 1000 + 1;
        if (access_bucket_rate(&p->rates.of[kind]) && full_us > until_us) until_us = full_us;
    }
    return until_us;
}

/* Of the LOOKS parties that have rested longest, drops the party with the smallest debt and moves the others to the end
 * of the queue.  So a flood of new addresses does not drop the parties with the largest debts. */
static void ledger_make_room(struct ledger *l, int64_t now_us) {
    if (l->resting_count < RESTING_MAX) return;
    struct ledger_party *least = TAILQ_FIRST(&l->resting);
    TAILQ_REMOVE(&l->resting, least, next);
    for (int i = 1; i < LOOKS && ledger_matters_until_us(least) > now_us; i++) {
        struct ledger_party *other = TAILQ_FIRST(&l->resting), *most = least;
        TAILQ_REMOVE(&l->resting, other, next);
        if (ledger_matters_until_us(other) < ledger_matters_until_us(least))
            least = other;
        else
            most = other;
        TAILQ_INSERT_TAIL(&l->resting, most, next);
    }
    l->resting_count--;
    ledger_forget(l, least);
}

static struct ledger_party *ledger_make(struct ledger *l, const char *name, const struct vs_peer *peer) {
    struct ledger_party *p = TAILQ_FIRST(&l->free);
    if (p)
        TAILQ_REMOVE(&l->free, p, next);
    else
        p = &l->party[l->used++];
    assert(l->used <= ledger_parties_max(&l->limits));
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->peer = *peer;
    p->hash = ledger_hash(l, name, peer);
    p->made = ++l->made;
    p->weight = 1;
    p->memory.divisor = *name ? 1 : ADDRESS_DIVISOR;
    if (!*name)
        for (int kind = 0; kind < LEDGER_KINDS; kind++)
            if (l->limits.address_rate[kind] > 0)
                access_bucket_set(&p->rates.of[kind], l->limits.address_rate[kind], 0);
    vs_table_put(&l->table, p->hash, (uint32_t)(p - l->party));
    return p;
}

/* Adds a reference of an entry to the party. */
static struct ledger_party *ledger_take(struct ledger *l, struct ledger_party *p) {
    if (p->is_resting) {
        TAILQ_REMOVE(&l->resting, p, next);
        l->resting_count--;
    }
    p->is_resting = false;
    p->holders++;
    return p;
}

static struct ledger_party *ledger_address(struct ledger *l, const struct vs_peer *key) {
    struct ledger_party *p = ledger_find(l, "", key);
    return p ? p : ledger_make(l, "", key);
}

static void ledger_rest(struct ledger *l, struct ledger_party *p, int64_t now_us) {
    if (ledger_matters_until_us(p) <= now_us) {
        ledger_forget(l, p);
        return;
    }
    ledger_make_room(l, now_us);
    p->is_resting = true;
    TAILQ_INSERT_TAIL(&l->resting, p, next);
    l->resting_count++;
}

/* Removes an entry's reference to a party.  The party may be NULL. */
static void ledger_let(struct ledger *l, struct ledger_party *p, int64_t now_us) {
    if (!p) return;
    assert(p->holders > 0);
    if (--p->holders == 0 && !p->is_listed) ledger_rest(l, p, now_us);
}

void ledger_set(struct ledger *l, const struct vs_accounts *accounts, int64_t now_us) {
    pthread_mutex_lock(&l->lock);
    for (uint32_t i = 0; i < l->used; i++) {
        struct ledger_party *p = &l->party[i];
        if (!p->is_listed || vs_account_named(accounts, (struct vs_slice){p->name, strlen(p->name)})) continue;
        p->is_listed = false;
        if (p->holders == 0) ledger_rest(l, p, now_us);
    }
    for (int i = 0; i < accounts->count; i++) {
        const struct vs_account *a = &accounts->at[i];
        struct ledger_party *p = ledger_find(l, a->name, &ledger_no_peer);
        if (!p) p = ledger_make(l, a->name, &ledger_no_peer);
        ledger_take(l, p)->holders--; /* removes it from `resting`, although no entry holds it */
        p->is_listed = true;
        atomic_store_explicit(&p->weight, a->weight, memory_order_relaxed);
        access_bucket_set(&p->rates.of[LEDGER_IDS], a->rate, now_us * 1000);
        access_bucket_set(&p->rates.of[LEDGER_REQUESTS], a->requests, now_us * 1000);
    }
    pthread_mutex_unlock(&l->lock);
}

/* ------------------------------------------------------------------ connections */

/* Counts a connection for the address and protocol.  Returns false if the address has too many connections. */
static bool ledger_count(struct ledger *l, struct ledger_party *address, enum vs_protocol protocol) {
    if (address->peer.family != 0 && address->count[protocol] >= l->limits.of_address[protocol]) return false;
    address->count[protocol]++;
    return true;
}

static enum vs_turned ledger_admit(struct ledger *l, struct ledger_entry *e, const struct vs_peer *key) {
    enum vs_protocol protocol = (enum vs_protocol)e->protocol;
    if (l->open[protocol] >= l->limits.proto_max[protocol]) return VS_TURNED_PROTO;
    if (e->is_tcp && l->over_tcp[protocol] >= l->limits.tcp_max[protocol]) return VS_TURNED_PROTO;
    if (protocol != VS_ADMIN && l->open[VS_RESP] + l->open[VS_HTTP] >= l->limits.connections_max)
        return VS_TURNED_TOTAL;
    struct ledger_party *address = ledger_address(l, key);
    /* no ledger_let is needed: the address has other connections, so other entries hold it */
    if (e->is_counted && !ledger_count(l, address, protocol)) return VS_TURNED_ADDRESS;
    e->address = ledger_take(l, address);
    l->open[protocol]++;
    l->over_tcp[protocol] += e->is_tcp;
    return VS_LET_IN;
}

enum vs_turned ledger_enter(struct ledger *l, struct ledger_entry *entry, enum vs_protocol protocol,
                            const struct vs_peer *peer, bool is_balancer) {
    struct vs_peer key = vs_peer_key(peer);
    struct ledger_entry e = {
        .protocol = (uint8_t)protocol, .is_counted = !is_balancer, .is_tcp = is_balancer || peer->family != 0};
    pthread_mutex_lock(&l->lock);
    enum vs_turned turned = ledger_admit(l, &e, &key);
    pthread_mutex_unlock(&l->lock);
    if (turned == VS_LET_IN) *entry = e;
    return turned;
}

/* Adds an entry's memory to a party, or removes it if `bytes` is negative. */
static void ledger_add_bytes(struct ledger_party *p, int64_t bytes) {
    if (p && bytes)
        atomic_fetch_add_explicit(&p->memory.bytes, bytes, memory_order_relaxed); /* relaxed: only a sum */
}

bool ledger_name(struct ledger *l, struct ledger_entry *e, const struct vs_peer *peer, int64_t now_us) {
    struct vs_peer key = vs_peer_key(peer);
    pthread_mutex_lock(&l->lock);
    struct ledger_party *address = ledger_address(l, &key);
    bool may = ledger_count(l, address, (enum vs_protocol)e->protocol);
    if (may) {
        ledger_add_bytes(ledger_party_of(e), -(int64_t)e->bytes);
        ledger_take(l, address);
        ledger_let(l, e->address, now_us);
        e->address = address;
        e->is_counted = true;
        ledger_add_bytes(ledger_party_of(e), (int64_t)e->bytes);
    }
    pthread_mutex_unlock(&l->lock);
    return may;
}

void ledger_know(struct ledger *l, struct ledger_entry *e, const char *client, bool is_proven, int64_t now_us) {
    if (!e->address || (!client && !e->client)) return;
    pthread_mutex_lock(&l->lock);
    struct ledger_party *was = e->client, *is = client ? ledger_find(l, client, &ledger_no_peer) : NULL;
    ledger_add_bytes(ledger_party_of(e), -(int64_t)e->bytes);
    e->client = is ? ledger_take(l, is) : NULL;
    e->is_proven = is_proven;
    ledger_let(l, was, now_us);
    ledger_add_bytes(ledger_party_of(e), (int64_t)e->bytes);
    pthread_mutex_unlock(&l->lock);
}

void ledger_leave(struct ledger *l, struct ledger_entry *e, int64_t now_us) {
    assert(e->bytes == 0);
    pthread_mutex_lock(&l->lock);
    l->open[e->protocol]--;
    l->over_tcp[e->protocol] -= e->is_tcp;
    if (e->is_counted) e->address->count[e->protocol]--;
    ledger_let(l, e->client, now_us);
    ledger_let(l, e->address, now_us);
    pthread_mutex_unlock(&l->lock);
    *e = (struct ledger_entry){0};
}

int ledger_open(struct ledger *l, enum vs_protocol protocol) {
    int sum = 0;
    pthread_mutex_lock(&l->lock);
    for (int i = 0; i < VS_PROTOCOLS; i++)
        if (protocol == VS_PROTOCOLS || protocol == (enum vs_protocol)i) sum += l->open[i];
    pthread_mutex_unlock(&l->lock);
    return sum;
}

int ledger_shake(const struct ledger_entry *e, int change) {
    if (e->address->peer.family == 0) return 0;
    /* relaxed: only a count */
    return atomic_fetch_add_explicit(&e->address->shaking[e->protocol], change, memory_order_relaxed) + change;
}

/* ------------------------------------------------------------------ memory.  All sums are relaxed atomics */

static int64_t ledger_bytes(const struct ledger_memory *holder) {
    return atomic_load_explicit(&holder->bytes, memory_order_relaxed);
}

static int64_t ledger_memory_left(struct ledger *l) {
    int64_t left = l->limits.memory_max - ledger_bytes_held(l);
    return left > 0 ? left : 0;
}

/* Adds the bytes before it checks the limits, so that two threads cannot both take the last bytes.  `is_own`: the bytes
 * are within the connection's guaranteed share, so the holder's limit is not checked. */
static bool ledger_grab(struct ledger *l, struct ledger_memory *holder, size_t bytes, bool is_own) {
    int64_t all = atomic_fetch_add_explicit(&l->memory, (int64_t)bytes, memory_order_relaxed) + (int64_t)bytes;
    if (holder) atomic_fetch_add_explicit(&holder->bytes, (int64_t)bytes, memory_order_relaxed);
    if (all <= l->limits.memory_max &&
        (!holder || is_own || ledger_bytes(holder) * holder->divisor <= ledger_memory_left(l)))
        return true;
    ledger_release_apart(l, holder, bytes);
    return false;
}

bool ledger_hold_apart(struct ledger *l, struct ledger_memory *holder, size_t bytes) {
    return ledger_grab(l, holder, bytes, false);
}

void ledger_release_apart(struct ledger *l, struct ledger_memory *holder, size_t bytes) {
    if (holder) atomic_fetch_sub_explicit(&holder->bytes, (int64_t)bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&l->memory, (int64_t)bytes, memory_order_relaxed);
}

static struct ledger_memory *ledger_holder(const struct ledger_entry *e) {
    struct ledger_party *party = ledger_party_of(e);
    return party ? &party->memory : NULL;
}

bool ledger_hold(struct ledger *l, struct ledger_entry *e, size_t bytes) {
    size_t own = (size_t)l->limits.memory_max / 2 / (size_t)l->limits.connections_max;
    if (!ledger_grab(l, ledger_holder(e), bytes, e->bytes + bytes <= own)) return false;
    e->bytes += bytes;
    return true;
}

void ledger_release(struct ledger *l, struct ledger_entry *e, size_t bytes) {
    assert(bytes <= e->bytes);
    ledger_release_apart(l, ledger_holder(e), bytes);
    e->bytes -= bytes;
}

int64_t ledger_bytes_held(struct ledger *l) {
    return atomic_load_explicit(&l->memory, memory_order_relaxed);
}

bool ledger_is_short(struct ledger *l, const struct ledger_entry *e) {
    const struct ledger_memory *holder = ledger_holder(e);
    if (!holder) return ledger_bytes_held(l) > l->limits.memory_max / 4 * 3;
    return ledger_bytes(holder) * holder->divisor > ledger_memory_left(l) / 4 * 3;
}

/* ------------------------------------------------------------------ rates */

/* Sets bucket[i] to the bucket of owner i (enum ledger_owner), or to NULL if that owner has no rate limit. */
static void ledger_buckets(const struct ledger_entry *e, const struct ledger_rates *of_namespace, enum ledger_kind kind,
                           struct access_bucket *bucket[LEDGER_OWNERS]) {
    const struct ledger_rates *rates[LEDGER_OWNERS] = {e && e->client ? &e->client->rates : NULL,
                                                       e && e->address ? &e->address->rates : NULL, of_namespace};
    for (int i = 0; i < LEDGER_OWNERS; i++)
        bucket[i] =
            rates[i] && access_bucket_rate(&rates[i]->of[kind]) ? (struct access_bucket *)&rates[i]->of[kind] : NULL;
}

bool ledger_is_metered(const struct ledger *l, const struct ledger_entry *e) {
    if (!e->address) return false;
    for (int kind = 0; kind < LEDGER_KINDS; kind++)
        if (l->limits.address_rate[kind] || (e->client && ledger_rate(e->client, (enum ledger_kind)kind))) return true;
    return false;
}

int64_t ledger_charge(struct ledger_entry *e, struct ledger_rates *of_namespace, enum ledger_kind kind, uint64_t n,
                      int64_t now_us, int64_t patience_us, enum ledger_owner *who) {
    struct access_bucket *bucket[LEDGER_OWNERS];
    int64_t longest = 0;
    ledger_buckets(e, of_namespace, kind, bucket);
    for (int i = 0; i < LEDGER_OWNERS; i++) {
        int64_t wait = bucket[i] ? access_bucket_take(bucket[i], n, now_us * 1000, patience_us * 1000) : 0;
        if (wait > longest) longest = wait, *who = (enum ledger_owner)i;
        if (wait >= 0) continue;
        *who = (enum ledger_owner)i;
        while (--i >= 0)
            if (bucket[i]) access_bucket_give(bucket[i], n);
        return wait / 1000 - 1;
    }
    return longest ? longest / 1000 + 1 : 0;
}

uint64_t ledger_client_of(const struct ledger_entry *e) {
    return e->client ? e->client->made : 0;
}

void ledger_return(struct ledger_entry *e, uint64_t client, struct ledger_rates *of_namespace, enum ledger_kind kind,
                   uint64_t n) {
    if (client && client == ledger_client_of(e)) access_bucket_give(&e->client->rates.of[kind], n);
    if (e->address) access_bucket_give(&e->address->rates.of[kind], n);
    if (of_namespace) access_bucket_give(&of_namespace->of[kind], n);
}

uint64_t ledger_room(const struct ledger_entry *e, const struct ledger_rates *of_namespace, enum ledger_kind kind,
                     uint64_t want, int64_t now_us) {
    struct access_bucket *bucket[LEDGER_OWNERS];
    ledger_buckets(e, of_namespace, kind, bucket);
    for (int i = 0; i < LEDGER_OWNERS; i++) {
        uint64_t room = bucket[i] ? access_bucket_room(bucket[i], now_us * 1000) : want;
        if (want > room) want = room > 0 ? room : 1;
    }
    return want;
}

/* ------------------------------------------------------------------ fair shares */

static bool ledger_seat_rests(const struct ledger_seat *seat, int64_t now_us) {
    int64_t seen_us = atomic_load_explicit(&seat->stake.level.computed_us, memory_order_relaxed);
    return atomic_load_explicit(&seat->key, memory_order_relaxed) == 0 || now_us - seen_us > SEAT_RESTS_US;
}

/* If all seats of a set are in use, the party shares the first seat with another party. */
static struct ledger_seat *ledger_seat_for(struct ledger *l, uint64_t key, uint32_t weight, int64_t now_us) {
    struct ledger_seat *set = l->seat[key / 2 % SEAT_SETS], *seat = NULL;
    for (int i = 0; i < SEAT_WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key) seat = &set[i];
    for (int i = 0; i < SEAT_WAYS && !seat; i++) {
        if (!ledger_seat_rests(&set[i], now_us)) continue;
        seat = &set[i];
        atomic_store_explicit(&seat->key, key, memory_order_relaxed);
        atomic_store_explicit(&seat->stake.level.computed_us, 0, memory_order_relaxed); /* restarts the level */
    }
    if (!seat) seat = &set[0];
    atomic_store_explicit(&seat->stake.weight, weight, memory_order_relaxed);
    return seat;
}

/* Returns the entry's stake in a pool.  The entry caches its seat, so the lock is only taken when the entry uses
 * another pool or belongs to another party. */
static struct access_stake *ledger_stake(struct ledger *l, struct ledger_entry *e, uint32_t number, int64_t now_us) {
    const struct ledger_party *party = ledger_party_of(e);
    uint64_t key = vs_table_hash(&number, sizeof number, party->hash) | 1;
    if (e->seat && atomic_load_explicit(&e->seat->key, memory_order_relaxed) == key) return &e->seat->stake;
    pthread_mutex_lock(&l->lock);
    e->seat = ledger_seat_for(l, key, ledger_weight(e->client ? e->client : party), now_us);
    pthread_mutex_unlock(&l->lock);
    e->claim = (struct access_claim){0};
    return &e->seat->stake;
}

uint64_t ledger_part(struct ledger *l, struct ledger_entry *e, struct access_pool *pool, uint32_t number, uint64_t want,
                     int64_t now_us) {
    struct access_stake *stake = ledger_stake(l, e, number, now_us);
    return access_claim_may(&e->claim, stake, pool, want, now_us);
}

void ledger_took(struct ledger *l, struct ledger_entry *e, struct access_pool *pool, uint32_t number, uint64_t n,
                 int64_t now_us) {
    struct access_stake *stake = ledger_stake(l, e, number, now_us);
    access_claim_took(&e->claim, stake, pool, n);
}

void ledger_empty(struct ledger *l, struct ledger_entry *e, struct access_pool *pool, uint32_t number, int64_t now_us) {
    struct access_stake *stake = ledger_stake(l, e, number, now_us);
    access_claim_waits(&e->claim, stake, pool, now_us);
}

/* ------------------------------------------------------------------ failed logins */

static int64_t ledger_login_step_us(unsigned wrong) {
    int64_t step_us = LEDGER_LOGIN_STEP_US;
    for (unsigned i = wrong; i > LEDGER_LOGIN_GROWS_EVERY && step_us < LEDGER_LOGIN_STEP_US_MAX;
         i -= LEDGER_LOGIN_GROWS_EVERY)
        step_us *= 2;
    return step_us;
}

/* Checks and records the attempt under one lock, so that parallel attempts cannot avoid the delay. */
int64_t ledger_login(struct ledger *l, struct ledger_entry *e, bool is_right, int64_t now_us) {
    struct ledger_party *p = e->address;
    if (!p) return 0;
    pthread_mutex_lock(&l->lock);
    int64_t wait_us = p->judged_us > now_us ? p->judged_us - now_us : 0;
    if (wait_us == 0 && !is_right) {
        if (p->wrong_us && now_us - p->wrong_us > LEDGER_LOGIN_FORGETS_US) p->wrong = 0;
        p->wrong_us = now_us > 0 ? now_us : 1;
        if (++p->wrong > LEDGER_LOGINS_FREE) p->judged_us = now_us + ledger_login_step_us(p->wrong);
    }
    pthread_mutex_unlock(&l->lock);
    return wait_us;
}

/* ------------------------------------------------------------------ reports */

struct ledger_party *ledger_party_of(const struct ledger_entry *e) {
    return e->client && e->is_proven ? e->client : e->address;
}

const char *ledger_text(const struct ledger_party *party, char buf[LEDGER_TEXT_MAX]) {
    char host[VS_PEER_TEXT_MAX];
    if (*party->name)
        snprintf(buf, LEDGER_TEXT_MAX, "client '%s'", party->name);
    else if (party->peer.family == 0)
        snprintf(buf, LEDGER_TEXT_MAX, "the unix socket");
    else
        snprintf(buf, LEDGER_TEXT_MAX, "address %s%s", vs_peer_host(&party->peer, host),
                 party->peer.family == 6 ? "/64" : "");
    return buf;
}

uint64_t ledger_rate(const struct ledger_party *party, enum ledger_kind kind) {
    return access_bucket_rate(&party->rates.of[kind]);
}

uint32_t ledger_weight(const struct ledger_party *party) {
    return atomic_load_explicit(&party->weight, memory_order_relaxed); /* relaxed: a single value */
}

static struct ledger_counts ledger_read_counts(const struct ledger_party *p) { /* relaxed: the values are independent */
    return (struct ledger_counts){atomic_load_explicit(&p->held, memory_order_relaxed),
                                  atomic_load_explicit(&p->refused, memory_order_relaxed)};
}

bool ledger_note(struct ledger_party *p, bool is_refused, int64_t now_us, struct ledger_counts *counts) {
    int64_t logged_us = atomic_load_explicit(&p->logged_us, memory_order_relaxed);
    atomic_fetch_add_explicit(is_refused ? &p->refused : &p->held, 1, memory_order_relaxed); /* relaxed: a count */
    *counts = ledger_read_counts(p);
    if (logged_us != 0 && now_us - logged_us < LOG_US) return false;
    return atomic_compare_exchange_strong_explicit(&p->logged_us, &logged_us, now_us, memory_order_relaxed,
                                                   memory_order_relaxed);
}

bool ledger_seen(struct ledger *l, const char *client, struct ledger_client *out) {
    pthread_mutex_lock(&l->lock);
    const struct ledger_party *p = ledger_find(l, client, &ledger_no_peer);
    if (p)
        *out = (struct ledger_client){ledger_rate(p, LEDGER_IDS), ledger_rate(p, LEDGER_REQUESTS), ledger_weight(p),
                                    ledger_read_counts(p)};
    pthread_mutex_unlock(&l->lock);
    return p != NULL;
}
