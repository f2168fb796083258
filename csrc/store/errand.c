/* errand.c -- see errand.h. */
#include "store/errand.h"
#include "os/thread.h"
#include "store/reply.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct vs_errand {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done, is_left; /* guarded by the mutex.  The thread that sets the second of the two frees the errand */
    pthread_t thread;
    void (*run)(void *work);
    void (*drop)(void *work);
    void *work;
};

static void free_errand(struct vs_errand *errand) {
    pthread_cond_destroy(&errand->changed);
    int held = pthread_mutex_destroy(&errand->mutex);
    assert(held == 0); /* otherwise the other thread still uses the errand */
    (void)held;
    free(errand);
}

/* Waits until the thread, whose work is done, has ended, and frees the errand.  Without the wait, the process could exit
 * while the thread releases the client library's data. */
static void end_errand(struct vs_errand *errand) {
    pthread_join(errand->thread, NULL);
    free_errand(errand);
}

static void *errand_go(void *arg) {
    struct vs_errand *errand = arg;
    errand->run(errand->work);
    pthread_mutex_lock(&errand->mutex);
    bool is_left = errand->is_left;
    errand->is_done = true;
    pthread_cond_broadcast(&errand->changed);
    pthread_mutex_unlock(&errand->mutex);
    if (!is_left) return NULL;
    errand->drop(errand->work);
    free_errand(errand);
    return NULL;
}

struct vs_errand *vs_errand_send(void (*run)(void *work), void (*drop)(void *work), void *work) {
    assert(drop); /* if the errand is abandoned, its thread calls drop */
    struct vs_errand *errand = calloc(1, sizeof *errand);
    if (!errand) return NULL;
    vs_cond_init(&errand->changed);
    pthread_mutex_init(&errand->mutex, NULL);
    errand->run = run;
    errand->drop = drop;
    errand->work = work;
    if (vs_thread_start(&errand->thread, errand_go, errand) == 0) return errand;
    free_errand(errand);
    return NULL;
}

/* Waits for a short slice at a time, because this condition variable is not signaled when the store's calls are cut
 * (cut_us). */
static void wait_a_slice(struct vs_errand *errand, int64_t wait_ms) {
    vs_cond_wait(&errand->changed, &errand->mutex, vs_monotonic_us() + wait_ms * 1000);
}

bool vs_errand_wait(struct vs_errand *errand, const struct vs_store *store) {
    int64_t left_ms;
    pthread_mutex_lock(&errand->mutex);
    assert(!errand->is_left); /* otherwise the errand's thread may have freed it */
    while (!errand->is_done && (left_ms = vs_call_slice_ms(store)) > 0)
        wait_a_slice(errand, left_ms);
    bool is_done = errand->is_done;
    pthread_mutex_unlock(&errand->mutex);
    return is_done;
}

bool vs_errand_is_done(struct vs_errand *errand) {
    pthread_mutex_lock(&errand->mutex);
    bool is_done = errand->is_done;
    pthread_mutex_unlock(&errand->mutex);
    return is_done;
}

void *vs_errand_take(struct vs_errand *errand) {
    void *work = errand->work;
    pthread_mutex_lock(&errand->mutex);
    assert(errand->is_done); /* otherwise the thread still uses `work` */
    assert(!errand->is_left);
    pthread_mutex_unlock(&errand->mutex);
    end_errand(errand);
    return work;
}

void vs_errand_leave(struct vs_errand *errand) {
    pthread_mutex_lock(&errand->mutex);
    assert(!errand->is_left);
    bool is_done = errand->is_done;
    errand->is_left = true;
    if (!is_done) pthread_detach(errand->thread); /* before the unlock, after which the thread may free the errand */
    pthread_mutex_unlock(&errand->mutex);
    if (!is_done) return;
    errand->drop(errand->work);
    end_errand(errand);
}
