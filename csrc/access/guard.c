/* guard.c -- addresses that sent wrong secrets, and when the next one of each may be compared.  Knows no secret. */
#include "access/guard.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 1024
#define WAYS 8 /* if a set is full, a new address replaces the one with the oldest wrong secret */

struct address {
    struct vs_guard_peer peer;
    int64_t wrong_us, next_us; /* the last wrong secret, and when the next may be compared; wrong_us 0: free */
    unsigned wrong;
};

struct vs_guard {
    pthread_mutex_t lock; /* over what follows */
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

static struct address *set_of(struct vs_guard *g, const struct vs_guard_peer *peer) {
    return g->at[(peer->prefix + peer->family) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static struct address *find(struct vs_guard *g, const struct vs_guard_peer *peer) {
    struct address *set = set_of(g, peer);
    for (int i = 0; i < WAYS; i++)
        if (set[i].wrong_us && set[i].peer.family == peer->family && set[i].peer.prefix == peer->prefix) return &set[i];
    return NULL;
}

static struct address *find_or_make(struct vs_guard *g, const struct vs_guard_peer *peer) {
    struct address *a = find(g, peer), *set = set_of(g, peer);
    if (a) return a;
    a = &set[0];
    for (int i = 1; i < WAYS; i++)
        if (set[i].wrong_us < a->wrong_us) a = &set[i];
    *a = (struct address){.peer = *peer};
    return a;
}

static int64_t step_of(const struct address *a) {
    int64_t step = VS_GUARD_STEP_US;
    for (unsigned i = a->wrong; i > VS_GUARD_GROWS_EVERY && step < VS_GUARD_STEP_US_MAX; i -= VS_GUARD_GROWS_EVERY)
        step *= 2;
    return step;
}

static void note_wrong(struct vs_guard *g, const struct vs_guard_peer *peer, int64_t now_us) {
    struct address *a = find_or_make(g, peer);
    if (a->wrong_us && now_us - a->wrong_us > VS_GUARD_FORGETS_US) a->wrong = 0;
    a->wrong++;
    a->wrong_us = now_us > 0 ? now_us : 1;
    if (a->wrong > VS_GUARD_FREE) a->next_us = now_us + step_of(a);
}

/* One step under the lock: threads that judge at the same time are no way to have more tries. */
int64_t vs_guard_judge(struct vs_guard *g, const struct vs_guard_peer *peer, bool is_right, int64_t now_us) {
    pthread_mutex_lock(&g->lock);
    const struct address *a = find(g, peer);
    int64_t wait = a && a->next_us > now_us ? a->next_us - now_us : 0;
    if (wait == 0 && !is_right) note_wrong(g, peer, now_us);
    pthread_mutex_unlock(&g->lock);
    return wait;
}
