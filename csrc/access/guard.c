/* guard.c -- addresses that said wrong secrets, and when each may say the next.  Knows no secret. */
#include "access/guard.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 1024
#define WAYS 8 /* the eldest of a set gives way */

struct address {
    struct vs_guard_peer peer;
    int64_t seen_us, wrong_us, next_us; /* seen_us 0: free; the last wrong one; the next turn */
    unsigned wrong, owed;               /* owed: first ones that took a part of a second, and may turn out right */
    bool was_right;                     /* it has said a right one */
};

struct vs_guard {
    pthread_mutex_t lock; /* over what follows */
    int64_t next_us;      /* of all addresses with wrong ones */
    int64_t firsts_us;    /* so far the first ones of addresses reach, each with its part of a second */
    struct address at[SETS][WAYS];
};

struct vs_guard *vs_guard_new(void) {
    struct vs_guard *guard = calloc(1, sizeof *guard);
    if (guard) pthread_mutex_init(&guard->lock, NULL);
    return guard;
}

void vs_guard_free(struct vs_guard *guard) {
    if (!guard) return;
    pthread_mutex_destroy(&guard->lock);
    free(guard);
}

static bool is_peer(const struct address *a, const struct vs_guard_peer *peer) {
    return a->seen_us && a->peer.family == peer->family && a->peer.prefix == peer->prefix && a->peer.name == peer->name;
}

static struct address *set_of(struct vs_guard *g, const struct vs_guard_peer *peer) {
    return g->at[(peer->prefix + peer->family + peer->name) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static struct address *find(struct vs_guard *g, const struct vs_guard_peer *peer) {
    struct address *set = set_of(g, peer);
    for (int i = 0; i < WAYS; i++)
        if (is_peer(&set[i], peer)) return &set[i];
    return NULL;
}

static bool is_forgotten(const struct address *a, int64_t now_us) {
    return now_us - a->wrong_us > (a->peer.name ? VS_GUARD_NAME_FORGETS_US : VS_GUARD_FORGETS_US);
}

static struct address *find_or_make(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    struct address *a = find(g, peer), *set = set_of(g, peer);
    for (int i = 0; !a && i < WAYS; i++)
        if (!set[i].seen_us) a = &set[i];
    if (!a) {
        a = &set[0];
        for (int i = 1; i < WAYS; i++)
            if (set[i].seen_us < a->seen_us) a = &set[i];
    }
    if (!is_peer(a, peer)) *a = (struct address){.peer = *peer};
    a->seen_us = now_us > 0 ? now_us : 1;
    if (is_forgotten(a, now_us)) a->wrong = 0;
    return a;
}

static int64_t step_of(const struct address *a) {
    int64_t step = VS_GUARD_STEP_US;
    for (unsigned i = a->wrong; i > VS_GUARD_GROWS_EVERY && step < VS_GUARD_STEP_US_MAX; i -= VS_GUARD_GROWS_EVERY)
        step *= 2;
    return step;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Its own next turn and that of all: what is not waited for is not taken. */
static int64_t take_turn(struct vs_guard *g, struct address *a, int64_t now_us) {
    int64_t all = later(later(now_us, g->firsts_us), g->next_us), own = later(all, a->next_us);
    if (own - now_us > VS_GUARD_PATIENCE_US) return -1;
    g->next_us = all + VS_GUARD_ALL_US;
    a->next_us = own + step_of(a);
    return own;
}

/* Where many addresses say their first one just now, the next stranger is in their row: until it is right, it is taken
 * for wrong. */
static int64_t take_first(struct vs_guard *g, struct address *a, int64_t now_us) {
    int64_t turn = later(now_us, g->firsts_us - VS_GUARD_STORM_US);
    if (a->was_right) return now_us;
    if (turn - now_us > VS_GUARD_PATIENCE_US) return -1;
    g->firsts_us = later(now_us, g->firsts_us) + VS_GUARD_ALL_US;
    a->owed++;
    return turn;
}

int64_t vs_guard_turn(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    pthread_mutex_lock(&g->lock);
    struct address *a = find_or_make(g, peer, now_us);
    int64_t turn = a->wrong ? take_turn(g, a, now_us) : take_first(g, a, now_us);
    pthread_mutex_unlock(&g->lock);
    return turn;
}

unsigned vs_guard_wrong(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    pthread_mutex_lock(&g->lock);
    struct address *a = find_or_make(g, peer, now_us);
    if (a->wrong++ == 0) a->next_us = later(a->next_us, now_us + step_of(a)); /* the first was not put off */
    a->wrong_us = now_us;
    a->owed = 0;
    unsigned wrong = a->wrong;
    pthread_mutex_unlock(&g->lock);
    return wrong;
}

void vs_guard_right(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    pthread_mutex_lock(&g->lock);
    struct address *a = find_or_make(g, peer, now_us);
    a->was_right = true;
    g->firsts_us -= a->owed * VS_GUARD_ALL_US;
    a->owed = 0;
    pthread_mutex_unlock(&g->lock);
}

bool vs_guard_is_good(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    pthread_mutex_lock(&g->lock);
    const struct address *a = find(g, peer);
    bool is_good = a && a->was_right && (!a->wrong || is_forgotten(a, now_us));
    pthread_mutex_unlock(&g->lock);
    return is_good;
}

unsigned vs_guard_count(struct vs_guard *g, const struct vs_guard_peer *peer) {
    pthread_mutex_lock(&g->lock);
    const struct address *a = find(g, peer);
    unsigned wrong = a ? a->wrong : 0;
    pthread_mutex_unlock(&g->lock);
    return wrong;
}
