/* client.c -- a client's public calls.  A thread takes a run of ids from a block into its own memory, and returns them
 * one by one.  Most calls therefore need no lock, no atomic add and no clock. */
#include "client/client.h"
#include "base/error.h"
#include "client/fetch.h"
#include "client/shared.h"
#include "os/lock.h"
#include "os/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLD __attribute__((cold, noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

#define RUN_MAX 64    /* maximum number of ids that a thread takes in advance.  Unused ids are discarded */
#define SLOTS 4       /* number of clients between which a thread can alternate without discarding ids */
#define RETRY_US 1000 /* sleep during a pause: about as long as a server's reply takes */

/* Ids that the calling thread has taken in advance. */
struct ahead {
    uint64_t stamp, left, next, step;
    uint64_t taken; /* length of the last run.  The next one is twice as long */
};

static _Thread_local struct ahead slots[SLOTS];

/* ------------------------------------------------------------------ opening and closing */

/* Loads the TLS module if a server needs it.  Returns false and sets err if this build or this machine has no TLS
 * module. */
static bool find_tls(struct vesta_client *client, struct vesta_error *err) {
    bool is_wanted = false;
    for (int i = 0; i < client->setup.server_count; i++)
        is_wanted |= client->setup.server[i].is_tls;
    if (is_wanted) client->tls = vs_tls_find(err);
    return !is_wanted || client->tls;
}

int vesta_client_open(const struct vesta_client_opts *opts, struct vesta_client **client, struct vesta_error *err) {
    static atomic_uint opened;
    struct vesta_client *made = calloc(1, sizeof *made);
    if (!made) return vs_fail(err, VESTA_ENOMEM, "no memory for a client");
    int rc = vs_setup_read(opts, &made->setup, err);
    if (rc != VESTA_OK) goto free_client;
    made->wire = vs_wire_find(err);
    rc = VESTA_EOPTION;
    if (!made->wire || !find_tls(made, err)) goto free_client;
    if (vs_random(made->uuid_key, sizeof made->uuid_key) != 0) {
        rc = vs_fail(err, VESTA_EIO, "no random bytes: %s", strerror(errno));
        goto free_client;
    }
    if (!vs_shared_map(made)) {
        rc = vs_fail(err, VESTA_ENOMEM, "no memory for a client");
        goto free_client;
    }
    made->slot = atomic_fetch_add(&opened, 1) % SLOTS;
    *client = made;
    return VESTA_OK;
free_client:
    free(made);
    return rc;
}

void vesta_client_close(struct vesta_client *client) {
    if (!client) return;
    vs_client_lock(client); /* in a forked child, this clears the parent's `fetcher` if the kernel has not cleared it */
    struct vs_fetcher *fetcher = client->shared->fetcher;
    vs_client_unlock(client);
    if (fetcher) vs_fetch_stop(fetcher);
    vs_shared_unmap(client);
    explicit_bzero(&client->setup, sizeof client->setup); /* erase the secrets in it */
    free(client);
}

/* ------------------------------------------------------------------ one id */

static COLD int fill_pause(struct vesta_client *client, struct vesta_pause *pause) {
    bool is_refused = atomic_load(&client->shared->is_refused);
    *pause = (struct vesta_pause){.why = VESTA_RANGE, .wait_us = is_refused ? -1 : RETRY_US};
    return VESTA_EPAUSE;
}

/* Takes a run of ids.  The length doubles while the thread's ids stay valid, so a thread that takes a single id takes
 * no further ids in advance. */
static COLD int take_ahead(struct vesta_client *client, uint64_t *id, struct vesta_pause *pause) {
    struct ahead *ahead = &slots[client->slot];
    struct vs_run run;
    uint64_t stamp = atomic_load_explicit(&client->shared->stamp, memory_order_relaxed), n = 1;
    if (stamp && ahead->stamp == stamp) n = ahead->taken < RUN_MAX / 2 ? ahead->taken * 2 : RUN_MAX;
    if (!vs_shared_take(client, n, &run, &stamp, NULL)) return fill_pause(client, pause);
    *id = run.next;
    if (!stamp) { /* 0: ids must not be taken in advance */
        assert(n == 1);
        return VESTA_OK;
    }
    *ahead = (struct ahead){
        .stamp = stamp, .left = run.count - 1, .next = run.next + run.step, .step = run.step, .taken = n};
    return VESTA_OK;
}

int vesta_client_next(struct vesta_client *client, uint64_t *id, struct vesta_pause *pause) {
    struct ahead *ahead = &slots[client->slot];
    /* relaxed: only this thread uses these ids.  If another thread renews the stamp at this moment, the ids are
     * slightly stale, but never duplicates. */
    if (LIKELY(ahead->left > 0 && ahead->stamp == atomic_load_explicit(&client->shared->stamp, memory_order_relaxed))) {
        ahead->left--;
        *id = ahead->next;
        ahead->next += ahead->step;
        return VESTA_OK;
    }
    return take_ahead(client, id, pause);
}

/* ------------------------------------------------------------------ several, and waiting */

int vesta_client_next_n(struct vesta_client *client, uint64_t *ids, size_t n, size_t *got, struct vesta_pause *pause) {
    struct vs_run run;
    uint64_t stamp;
    size_t have = 0;
    for (; have < n && vs_shared_take(client, n - have, &run, &stamp, NULL); have += run.count)
        for (uint64_t i = 0; i < run.count; i++)
            ids[have + i] = run.next + i * run.step;
    if (have == 0) return fill_pause(client, pause);
    *got = have;
    return VESTA_OK;
}

/* Waits for the next block, for at most VS_LOOK_US.  Returns false after until_us. */
static bool wait_for_block(struct vesta_client *client, uint32_t seen, int64_t until_us) {
    int64_t left_us = until_us - vs_client_now_us();
    if (left_us <= 0) return false;
    vs_futex_wait(&client->shared->arrived, seen, left_us < VS_LOOK_US ? left_us : VS_LOOK_US);
    return true;
}

static int64_t deadline_us(int64_t wait_us_max) {
    int64_t now_us = vs_client_now_us();
    return wait_us_max > INT64_MAX - now_us ? INT64_MAX : now_us + wait_us_max;
}

int vesta_client_next_wait(struct vesta_client *client, uint64_t *id, int64_t wait_us_max, struct vesta_pause *pause) {
    if (LIKELY(vesta_client_next(client, id, pause) == VESTA_OK)) return VESTA_OK;
    int64_t until_us = deadline_us(wait_us_max);
    for (;;) {
        /* read before the attempt, so that no later block is missed */
        uint32_t seen = atomic_load(&client->shared->arrived);
        if (vesta_client_next(client, id, pause) == VESTA_OK) return VESTA_OK;
        if (pause->wait_us < 0 || !wait_for_block(client, seen, until_us)) return VESTA_EPAUSE;
    }
}

int vesta_client_batch_wait(struct vesta_client *client, uint64_t *ids, size_t n, int64_t wait_us_max,
                            struct vesta_pause *pause) {
    int64_t until_us = deadline_us(wait_us_max);
    size_t have = 0, got;
    while (have < n) {
        uint32_t seen = atomic_load(&client->shared->arrived);
        if (vesta_client_next_n(client, ids + have, n - have, &got, pause) == VESTA_OK)
            have += got;
        else if (pause->wait_us < 0 || !wait_for_block(client, seen, until_us))
            return VESTA_EPAUSE;
    }
    return VESTA_OK;
}

/* ------------------------------------------------------------------ UUIDs */

/* Takes up to n ids from a block and converts them. */
static int take_uuids(struct vesta_client *client, enum vesta_shape shape, unsigned char *out, size_t n, size_t *got,
                      struct vesta_pause *pause) {
    struct vs_run run;
    struct vs_uuid uuid;
    uint64_t stamp;
    if ((unsigned)shape - 1 >= VESTA_SHAPES) return VESTA_EOPTION;
    if (!vs_shared_take(client, n, &run, &stamp, &uuid)) return fill_pause(client, pause);
    memcpy(uuid.key, client->uuid_key, sizeof uuid.key);
    for (uint64_t i = 0; i < run.count; i++)
        if (!uuid.can[shape] || !vs_uuid_put(&uuid, shape, run.next + i * run.step, out + i * VESTA_UUID_BYTES))
            return VESTA_EOPTION;
    *got = run.count;
    return VESTA_OK;
}

int vesta_client_next_uuid(struct vesta_client *client, enum vesta_shape shape, unsigned char *out,
                           struct vesta_pause *pause) {
    size_t got;
    return take_uuids(client, shape, out, 1, &got, pause);
}

int vesta_client_batch_uuid_wait(struct vesta_client *client, enum vesta_shape shape, unsigned char *out, size_t n,
                                 int64_t wait_us_max, struct vesta_pause *pause) {
    int64_t until_us = deadline_us(wait_us_max);
    size_t have = 0, got;
    while (have < n) {
        uint32_t seen = atomic_load(&client->shared->arrived);
        int rc = take_uuids(client, shape, out + have * VESTA_UUID_BYTES, n - have, &got, pause);
        if (rc == VESTA_EOPTION) return rc;
        if (rc == VESTA_OK)
            have += got;
        else if (pause->wait_us < 0 || !wait_for_block(client, seen, until_us))
            return VESTA_EPAUSE;
    }
    return VESTA_OK;
}
