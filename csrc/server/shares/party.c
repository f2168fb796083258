/* party.c -- parties, by name and by address, and their seats.  Knows no request's contents.  What is found is kept by
 * its connection, so the lock here is taken when that begins, changes its name or its namespace, or was passed by. */
#include "server/shares/party.h"
#include "os/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX (2 * VS_ACCOUNTS_MAX) /* names that were heard of; those that are gone give way */
#define SETS 1024
#define WAYS 8
#define SEATS_WAYS 8
#define ADDRESS_DIVISOR 2     /* of memory, an address has less than a client that is known by its name */
#define SEAT_RESTS_US 2000000 /* who came by since keeps its seat */

struct vs_shares {
    pthread_mutex_t lock;
    uint64_t seed; /* who chooses addresses must not choose their set */
    uint64_t address_ids, address_requests;
    uint32_t numbers;
    int client_count;
    struct vs_party client[CLIENTS_MAX], address[SETS][WAYS];
    struct vs_seat seat[SETS][SEATS_WAYS];
};

struct vs_shares *vs_shares_new(uint64_t address_ids, uint64_t address_requests) {
    struct vs_shares *shares = calloc(1, sizeof *shares);
    if (!shares || vs_random(&shares->seed, sizeof shares->seed) != 0) return free(shares), NULL;
    pthread_mutex_init(&shares->lock, NULL);
    shares->address_ids = address_ids;
    shares->address_requests = address_requests;
    return shares;
}

void vs_shares_free(struct vs_shares *shares) {
    if (!shares) return;
    pthread_mutex_destroy(&shares->lock);
    free(shares);
}

const char *vs_party_text(const struct vs_party *party, char buf[VS_PARTY_TEXT_MAX]) {
    char peer[VS_PEER_TEXT_MAX];
    if (*party->name) {
        snprintf(buf, VS_PARTY_TEXT_MAX, "client '%s'", party->name);
    } else if (party->peer.at[15] == 1 && party->peer.family == 1) {
        snprintf(buf, VS_PARTY_TEXT_MAX, "who connects by a unix socket");
    } else {
        vs_peer_text(&party->peer, peer);
        *strrchr(peer, ':') = '\0';
        snprintf(buf, VS_PARTY_TEXT_MAX, "address %s%s", peer, party->peer.family == 6 ? "/64" : "");
    }
    return buf;
}

/* ------------------------------------------------------------------ clients */

static struct vs_party *client_named(struct vs_shares *shares, const char *name) {
    for (int i = 0; i < shares->client_count; i++)
        if (strcmp(shares->client[i].name, name) == 0) return &shares->client[i];
    return NULL;
}

static bool is_among(const struct vs_accounts *accounts, const char *name) {
    return vs_account_named(accounts, (struct vs_slice){name, strlen(name)}) != NULL;
}

/* A place for one more; of a client that is gone where there is no other.  Its connections are somebody else's by their
 * next request. */
static struct vs_party *new_client(struct vs_shares *shares, const struct vs_accounts *accounts) {
    if (shares->client_count < CLIENTS_MAX) return &shares->client[shares->client_count++];
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (!is_among(accounts, shares->client[i].name) && shares->client[i].memory.bytes == 0) return &shares->client[i];
    return NULL; /* there are more names than a file may have */
}

void vs_shares_set(struct vs_shares *shares, const struct vs_accounts *accounts, int64_t now_ns) {
    if (!shares) return;
    pthread_mutex_lock(&shares->lock);
    for (int i = 0; i < accounts->count; i++) {
        const struct vs_account *a = &accounts->at[i];
        struct vs_party *party = client_named(shares, a->name);
        if (!party && (party = new_client(shares, accounts))) {
            memset(party, 0, sizeof *party);
            snprintf(party->name, sizeof party->name, "%s", a->name);
            party->number = ++shares->numbers;
            party->memory.divisor = 1;
        }
        if (!party) continue;
        atomic_store_explicit(&party->weight, a->weight, memory_order_relaxed);
        vs_bucket_set(&party->ids, a->rate, now_ns);
        vs_bucket_set(&party->requests, a->requests, now_ns);
    }
    pthread_mutex_unlock(&shares->lock);
}

bool vs_shares_seen(struct vs_shares *shares, const char *name, struct vs_share_seen *out) {
    if (!shares) return false;
    pthread_mutex_lock(&shares->lock);
    struct vs_party *party = client_named(shares, name);
    if (party) /* relaxed: numbers, each alone */
        *out = (struct vs_share_seen){vs_bucket_rate(&party->ids), vs_bucket_rate(&party->requests),
                                      atomic_load_explicit(&party->weight, memory_order_relaxed),
                                      atomic_load_explicit(&party->held, memory_order_relaxed),
                                      atomic_load_explicit(&party->refused, memory_order_relaxed)};
    pthread_mutex_unlock(&shares->lock);
    return party != NULL;
}

/* ------------------------------------------------------------------ addresses */

static struct vs_peer key_of(const struct vs_peer *peer) {
    struct vs_peer key = {.family = peer && peer->family ? peer->family : 1};
    if (key.family != 1) memcpy(key.at, peer->at, key.family == 6 ? 8 : 4);
    if (key.family == 1) key.at[15] = 1;
    return key;
}

static size_t set_of(const struct vs_shares *shares, const void *bytes, size_t length) {
    uint64_t hash = shares->seed;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash * UINT64_C(0x9e3779b97f4a7c15) >> 54;
}
_Static_assert(SETS == 1024, "ten bits of a hash");

/* Who owes most stays longest: to come anew is no way to be forgiven. */
static bool gives_way(const struct vs_party *a, const struct vs_party *b) {
    int64_t owed = atomic_load_explicit(&a->ids.paid_ns, memory_order_relaxed);
    return a->holders == 0 && (!b || owed < atomic_load_explicit(&b->ids.paid_ns, memory_order_relaxed));
}

/* Where all of a set have connections, the address has the share of another one there, and not none. */
static struct vs_party *address_at(struct vs_shares *shares, const struct vs_peer *key) {
    struct vs_party *set = shares->address[set_of(shares, key->at, sizeof key->at)], *way = NULL;
    for (int i = 0; i < WAYS; i++)
        if (memcmp(&set[i].peer, key, sizeof *key) == 0) return &set[i];
    for (int i = 0; i < WAYS; i++)
        if (gives_way(&set[i], way)) way = &set[i];
    if (!way) return &set[0];
    *way = (struct vs_party){.peer = *key, .number = ++shares->numbers, .weight = 1, .memory = {.divisor = ADDRESS_DIVISOR}};
    vs_bucket_set(&way->ids, shares->address_ids, 0);
    vs_bucket_set(&way->requests, shares->address_requests, 0);
    return way;
}

struct vs_party *vs_address_of(struct vs_session *s) {
    struct vs_shares *shares = s->app->shares;
    if (s->share.address || !shares) return s->share.address;
    struct vs_peer key = key_of(s->peer);
    pthread_mutex_lock(&shares->lock);
    s->share.address = address_at(shares, &key);
    s->share.address->holders++;
    pthread_mutex_unlock(&shares->lock);
    return s->share.address;
}

/* Who says no name, and shows none, is known by its address. */
struct vs_party *vs_party_of(struct vs_session *s) {
    return s->share.client && (s->grant.secret || s->certified) ? s->share.client : vs_address_of(s);
}

struct vs_memory_part *vs_shares_memory(struct vs_session *s) {
    struct vs_party *party = vs_party_of(s);
    return party ? &party->memory : NULL;
}

void vs_shares_look(struct vs_session *s) {
    struct vs_shares *shares = s->app->shares;
    const struct vs_account *account = s->grant.account;
    s->share.client = NULL;
    s->share.key = 0;
    if (!shares || s->protocol == VS_ADMIN) return;
    if (account && s->grant.accounts) {
        pthread_mutex_lock(&shares->lock);
        s->share.client = client_named(shares, account->name);
        pthread_mutex_unlock(&shares->lock);
    }
    const struct vs_party *client = s->share.client;
    s->share.is_metered = shares->address_ids || shares->address_requests || s->app->has_rates ||
                          (client && (vs_bucket_rate(&client->ids) || vs_bucket_rate(&client->requests)));
    if (s->part) vs_session_reckon(s);
}

void vs_shares_end(struct vs_session *s) {
    if (!s->share.address) return;
    pthread_mutex_lock(&s->app->shares->lock);
    s->share.address->holders--;
    pthread_mutex_unlock(&s->app->shares->lock);
    s->share.address = NULL;
}

/* ------------------------------------------------------------------ seats */

static bool is_resting(const struct vs_seat *seat, int64_t now_us) {
    int64_t seen_us = atomic_load_explicit(&seat->stake.level.reckoned_us, memory_order_relaxed);
    return atomic_load_explicit(&seat->key, memory_order_relaxed) == 0 || now_us - seen_us > SEAT_RESTS_US;
}

/* Where all of a set are taken, two parties have one stake together. */
static struct vs_seat *seat_for(struct vs_shares *shares, uint64_t key, uint32_t weight, int64_t now_us) {
    struct vs_seat *set = shares->seat[set_of(shares, &key, sizeof key)], *seat = NULL;
    for (int i = 0; i < SEATS_WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key) seat = &set[i];
    for (int i = 0; i < SEATS_WAYS && !seat; i++) {
        if (!is_resting(&set[i], now_us)) continue;
        seat = &set[i];
        atomic_store_explicit(&seat->key, key, memory_order_relaxed);
        atomic_store_explicit(&seat->stake.level.reckoned_us, 0, memory_order_relaxed); /* it begins anew */
    }
    if (!seat) seat = &set[0];
    atomic_store_explicit(&seat->stake.weight, weight, memory_order_relaxed);
    return seat;
}

static bool has_seat(const struct vs_sharing *share, uint64_t asked) {
    return share->seat && share->key == asked &&
           atomic_load_explicit(&share->seat->key, memory_order_relaxed) == share->key;
}

struct vs_stake *vs_stake_of(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_shares *shares = s->app->shares;
    struct vs_party *party = vs_party_of(s);
    uint64_t key = (uint64_t)party->number << 32 | (uint64_t)(r->ns - s->app->ns + 1);
    if (has_seat(&s->share, key)) return &s->share.seat->stake;
    /* relaxed: a number */
    uint32_t weight = atomic_load_explicit(&party->weight, memory_order_relaxed);
    if (!*party->name && s->share.client) weight = atomic_load_explicit(&s->share.client->weight, memory_order_relaxed);
    pthread_mutex_lock(&shares->lock);
    s->share.seat = seat_for(shares, key, weight, s->scratch->now_us);
    pthread_mutex_unlock(&shares->lock);
    s->share.key = key;
    s->share.purse = (struct vs_purse){0};
    return &s->share.seat->stake;
}
