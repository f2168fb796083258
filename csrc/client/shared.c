/* shared.c -- a client's two blocks, under one lock.  Callers take runs of ids, so the cost of the lock per id is low.
 */
#include "client/shared.h"
#include "client/fetch.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/process.h"
#include "segment/range.h"

#include <assert.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY_US INT64_C(1000000) /* if a block lasts less than this, the next one is twice as large */
#define IDLE_US INT64_C(4000000) /* if a block lasts longer than this, the next one is half as large */

int64_t vs_client_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

/* ------------------------------------------------------------------ memory and the lock */

struct vs_client_shared *vs_shared_map(struct vesta_client *client) {
    static const pthread_mutex_t zero = PTHREAD_MUTEX_INITIALIZER;
    size_t size = sizeof(struct vs_client_shared);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    client->shared = memory;
    /* all zero is an unlocked mutex in every libc on Linux */
    assert(memcmp(&client->shared->lock, &zero, sizeof zero) == 0);
    client->is_cleared = madvise(memory, size, MADV_WIPEONFORK) == 0;
    return memory;
}

void vs_shared_unmap(struct vesta_client *client) {
    munmap(client->shared, sizeof *client->shared);
}

/* Before Linux 4.14, the kernel does not clear the state in a child.  The child then clears it in its first call. */
static void shared_own(struct vs_client_shared *shared) {
    uint64_t me = (vs_process_token() ^ (uint64_t)getpid() << 40) << 1 | 4, clearing = me | 1, was;
    size_t kept = offsetof(struct vs_client_shared, arrived);
    while ((was = atomic_load(&shared->owner)) != me) {
        if (was == clearing || !atomic_compare_exchange_strong(&shared->owner, &was, clearing)) {
            sched_yield();
            continue;
        }
        memset((char *)shared + kept, 0, sizeof *shared - kept);
        atomic_store(&shared->owner, me);
    }
}

void vs_client_lock(struct vesta_client *client) {
    if (!client->is_cleared) shared_own(client->shared);
    pthread_mutex_lock(&client->shared->lock);
}

void vs_client_unlock(struct vesta_client *client) {
    pthread_mutex_unlock(&client->shared->lock);
}

/* ------------------------------------------------------------------ under the lock */

/* Invalidates the ids that threads have taken in advance.  If the kernel cannot clear the state in a child, the stamp
 * stays 0, so threads never take ids in advance. */
static void renew_stamp(struct vesta_client *client) {
    static _Atomic uint64_t stamps;
    /* relaxed for both: a stamp orders no other data, because ids are taken from blocks under the lock */
    uint64_t fresh = atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&client->shared->stamp, client->is_cleared ? fresh : 0, memory_order_relaxed);
}

static void shared_drop_stale(struct vesta_client *client, struct vs_held *held, int64_t now_us) {
    struct vs_client_shared *shared = client->shared;
    if (held->granted == 0 || now_us - held->sent_us < client->setup.ttl_us) return;
    if (held->block.count > 0) shared->info.drops++; /* otherwise threads have taken all ids of the block */
    shared->info.dropped += held->block.count;
    *held = (struct vs_held){.granted = 0};
    renew_stamp(client);
}

static void look_at_age(struct vesta_client *client, int64_t now_us) {
    struct vs_client_shared *shared = client->shared;
    shared_drop_stale(client, &shared->current, now_us);
    shared_drop_stale(client, &shared->next, now_us);
    if (shared->renew_us == 0 || now_us < shared->renew_us) return;
    shared->renew_us = 0;
    renew_stamp(client);
}

/* Makes the next block the current one. */
static void switch_over(struct vesta_client *client, int64_t now_us) {
    struct vs_client_shared *shared = client->shared;
    uint64_t used = shared->current.granted;
    int64_t used_us = shared->switched_us ? now_us - shared->switched_us : 0;
    if (used && !shared->renew_us) shared->renew_us = shared->current.sent_us + client->setup.ttl_us;
    assert(shared->next.block.count > 0);
    shared->current = shared->next;
    shared->next = (struct vs_held){.granted = 0};
    shared->switched_us = now_us;
    shared->current.mark = vs_range_mark(shared->current.granted, used, used_us, shared->took_us);
    if (atomic_load_explicit(&shared->stamp, memory_order_relaxed) == 0) renew_stamp(client);
}

/* Returns the size of the next block.  A block should last about a second, so the size doubles if the last block was
 * used up sooner, and halves if it lasted longer. */
static uint64_t next_size(const struct vesta_client *client, int64_t since_us) {
    const struct vs_setup *setup = &client->setup;
    uint64_t size = client->shared->info.block_ids;
    if (since_us < BUSY_US && since_us < setup->ttl_us / 8) size *= 2;
    if (since_us > IDLE_US || since_us > setup->ttl_us / 2) size /= 2;
    return size < setup->block_min ? setup->block_min : size > setup->block_max ? setup->block_max : size;
}

/* ------------------------------------------------------------------ taking */

bool vs_shared_take(struct vesta_client *client, uint64_t n, struct vs_run *run, uint64_t *stamp,
                    struct vs_uuid *uuid) {
    struct vs_client_shared *shared = client->shared;
    struct vs_held *current = &shared->current;
    bool is_told = false;
    int64_t now_us = vs_client_now_us();
    vs_client_lock(client);
    look_at_age(client, now_us);
    if (current->block.count == 0 && shared->next.block.count > 0) switch_over(client, now_us);
    bool is_here = current->block.count > 0;
    if (!is_here) shared->missed_us = now_us;
    if (is_here) {
        vs_block_take(&current->block, n, run);
        shared->info.ids += run->count;
        if (uuid) *uuid = current->uuid;
    }
    if (shared->next.block.count == 0 && (!is_here || current->granted - current->block.count >= current->mark)) {
        is_told = !shared->wanted || !is_here;
        shared->wanted = true;
    }
    /* relaxed: the stamp is only written under the lock */
    *stamp = atomic_load_explicit(&shared->stamp, memory_order_relaxed);
    struct vs_fetcher *fetcher = is_told || shared->wanted ? vs_fetch_started(client, now_us) : NULL;
    vs_client_unlock(client);
    if (is_told && fetcher) vs_fetch_wake(fetcher);
    return is_here;
}

/* ------------------------------------------------------------------ for the thread */

void vs_shared_plan(struct vesta_client *client, struct vs_client_plan *out) {
    struct vs_client_shared *shared = client->shared;
    int64_t now_us = vs_client_now_us();
    vs_client_lock(client);
    look_at_age(client, now_us);
    *out = (struct vs_client_plan){.is_due = shared->wanted && shared->next.block.count == 0, .expiry_us = INT64_MAX};
    out->is_missed = out->is_due && shared->missed_us && now_us - shared->missed_us < 2 * VS_LOOK_US;
    out->is_active = out->is_due || shared->current.block.count > 0;
    if (!shared->info.block_ids) shared->info.block_ids = client->setup.block_min;
    out->asks = shared->info.block_ids;
    const int64_t at[] = {shared->current.granted ? shared->current.sent_us + client->setup.ttl_us : 0,
                          shared->next.granted ? shared->next.sent_us + client->setup.ttl_us : 0, shared->renew_us};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] && at[i] < out->expiry_us) out->expiry_us = at[i];
    vs_client_unlock(client);
}

void vs_shared_set_refused(struct vesta_client *client, bool is_refused) {
    if (atomic_exchange(&client->shared->is_refused, is_refused) || !is_refused) return;
    atomic_fetch_add(&client->shared->arrived, 1); /* so that waiting callers return the error at once */
    vs_futex_wake(&client->shared->arrived);
}

void vs_shared_publish(struct vesta_client *client, int source, const struct vs_held *held) {
    int64_t sent_us = held->sent_us;
    struct vs_client_shared *shared = client->shared;
    int64_t now_us = vs_client_now_us();
    vs_client_lock(client);
    assert(shared->next.block.count == 0); /* only this thread publishes */
    shared->next = *held;
    shared->next.granted = held->block.count;
    shared->wanted = false;
    atomic_store(&shared->is_refused, false);
    if (shared->asked_us) shared->info.block_ids = next_size(client, sent_us - shared->asked_us);
    shared->asked_us = sent_us;
    shared->took_us = now_us - sent_us;
    shared->info.blocks++;
    shared->source[VS_FALLBACK].is_up = source == VS_FALLBACK;
    shared->source[source].blocks++;
    shared->source[source].ids += held->block.count;
    shared->source[source].error[0] = '\0';
    vs_client_unlock(client);
    atomic_fetch_add(&shared->arrived, 1);
    vs_futex_wake(&shared->arrived);
}
