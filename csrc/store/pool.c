/* pool.c -- see pool.h. */
#include "store/pool.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 100000

struct idle {
    void *link;
    int64_t since_us;
};

struct vs_pool {
    struct vs_pool *next; /* next pool, guarded by the process lock, like all members below */
    const struct vs_pool_kind *kind;
    uint64_t runs_in; /* vs_process_token of the process that opened the connections */
    unsigned users, losses, count;
    int64_t looked_us;
    struct idle idle[VS_POOL_MAX]; /* the connection that was put back last is at the end */
    size_t bytes;
    unsigned char key[];
};

static struct vs_pool *pools;

static void pool_lock(struct vs_pool *pool) {
    vs_process_lock();
    assert(pool->users > 0);
    if (pool->runs_in == vs_process_token()) return;
    pool->runs_in = vs_process_token();
    /* the connections belong to the parent, so closing one would send bytes on the parent's connection */
    pool->count = 0;
}

static struct vs_pool *pool_find(const struct vs_pool_kind *kind, const void *key, size_t bytes) {
    struct vs_pool *pool = pools;
    while (pool && !(pool->kind == kind && pool->bytes == bytes && memcmp(pool->key, key, bytes) == 0))
        pool = pool->next;
    return pool;
}

struct vs_pool *vs_pool_enter(const struct vs_pool_kind *kind, const void *key, size_t bytes) {
    vs_process_lock();
    struct vs_pool *pool = pool_find(kind, key, bytes);
    if (!pool && (pool = calloc(1, sizeof *pool + bytes))) {
        pool->kind = kind;
        pool->runs_in = vs_process_token();
        pool->bytes = bytes;
        memcpy(pool->key, key, bytes);
        pool->next = pools;
        pools = pool;
    }
    if (pool) pool->users++;
    vs_process_unlock();
    return pool;
}

unsigned vs_pool_leave(struct vs_pool *pool, void *links[VS_POOL_MAX]) {
    struct vs_pool **at = &pools;
    pool_lock(pool);
    bool is_last = --pool->users == 0;
    unsigned count = is_last ? pool->count : 0;
    for (unsigned i = 0; i < count; i++)
        links[i] = pool->idle[i].link;
    while (is_last && *at != pool)
        at = &(*at)->next;
    if (is_last) *at = pool->next;
    vs_process_unlock();
    if (!is_last) return 0;
    explicit_bzero(pool->key, pool->bytes);
    free(pool);
    return count;
}

/* Connections that are removed from the pool while the lock is held, and closed after it is released. */
struct weeds {
    void *link[VS_POOL_MAX];
    unsigned count;
};

static void pool_weed(struct vs_pool *pool, int64_t boot_us, struct weeds *out) {
    const struct vs_pool_kind *kind = pool->kind;
    unsigned left = 0;
    for (unsigned i = 0; i < pool->count; i++) {
        bool is_lost = kind->is_lost(pool->idle[i].link);
        pool->losses += is_lost;
        if (is_lost || boot_us - pool->idle[i].since_us > kind->idle_us)
            out->link[out->count++] = pool->idle[i].link;
        else
            pool->idle[left++] = pool->idle[i];
    }
    pool->count = left;
    pool->looked_us = boot_us;
}

static void end_weeds(const struct vs_pool_kind *kind, const struct weeds *out) {
    for (unsigned i = 0; i < out->count; i++)
        kind->end(out->link[i]);
}

void *vs_pool_take(struct vs_pool *pool, int64_t boot_us, unsigned *losses) {
    struct weeds out = {.count = 0};
    pool_lock(pool);
    pool_weed(pool, boot_us, &out);
    void *link = pool->count ? pool->idle[--pool->count].link : NULL;
    *losses = pool->losses;
    vs_process_unlock();
    end_weeds(pool->kind, &out);
    return link;
}

void vs_pool_put(struct vs_pool *pool, void *link, int64_t boot_us) {
    assert(link); /* vs_pool_take has returned NULL if there is no connection to put back */
    pool_lock(pool);
    bool is_room = pool->count < VS_POOL_MAX;
    if (is_room) pool->idle[pool->count++] = (struct idle){link, boot_us};
    vs_process_unlock();
    if (!is_room) pool->kind->end(link);
}

unsigned vs_pool_lose(struct vs_pool *pool) {
    pool_lock(pool);
    unsigned losses = ++pool->losses;
    vs_process_unlock();
    return losses;
}

unsigned vs_pool_losses(struct vs_pool *pool, int64_t boot_us) {
    struct weeds out = {.count = 0};
    pool_lock(pool);
    int64_t age_us = boot_us - pool->looked_us;
    if (age_us < 0 || age_us >= LOOK_US) pool_weed(pool, boot_us, &out);
    unsigned losses = pool->losses;
    vs_process_unlock();
    end_weeds(pool->kind, &out);
    return losses;
}

bool vs_pool_is_one_stores(struct vs_pool *pool) {
    pool_lock(pool);
    bool is_one = pool->users == 1;
    vs_process_unlock();
    return is_one;
}
