/* threads.c -- threads that do one thing for each namespace, and waiting for them, but not for ever.  Knows not what.
 */
#include "serve/threads.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct member {
    struct vs_threads *threads;
    int ns;
    pthread_t thread;
    bool done; /* under their lock */
};

struct vs_threads {
    void (*body)(void *self, int ns);
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int wanted, begun;
    struct member member[];
};

static void *work(void *arg) {
    struct member *member = arg;
    struct vs_threads *threads = member->threads;
    threads->body(threads->self, member->ns);
    pthread_mutex_lock(&threads->lock);
    member->done = true;
    pthread_cond_broadcast(&threads->finished);
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

static struct vs_threads *make_threads(int count) {
    struct vs_threads *threads = calloc(1, sizeof *threads + (size_t)count * sizeof threads->member[0]);
    pthread_condattr_t monotonic;
    if (!threads) return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&threads->finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return threads;
}

struct vs_threads *vs_threads_start(int count, void (*body)(void *self, int ns), void *self) {
    struct vs_threads *threads = make_threads(count);
    if (!threads) return NULL;
    threads->body = body;
    threads->self = self;
    threads->wanted = count;
    for (; threads->begun < count; threads->begun++) {
        struct member *member = &threads->member[threads->begun];
        *member = (struct member){.threads = threads, .ns = threads->begun};
        if (vs_thread_start(&member->thread, work, member) != 0) break;
    }
    return threads;
}

bool vs_threads_began(const struct vs_threads *threads, int ns) {
    return ns < threads->begun;
}

/* With the lock held. */
static int count_done(const struct vs_threads *threads) {
    int done = 0;
    for (int i = 0; i < threads->begun; i++)
        done += threads->member[i].done;
    return done;
}

/* With the lock held: until one more is done.  False: that instant has come. */
static bool wait_for_one(struct vs_threads *threads, int64_t until_us) {
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    return pthread_cond_timedwait(&threads->finished, &threads->lock, &until) == 0;
}

struct vs_threads *vs_threads_end(struct vs_threads *threads, int64_t until_us) {
    pthread_mutex_lock(&threads->lock);
    while (count_done(threads) < threads->begun && wait_for_one(threads, until_us))
        ;
    bool done = count_done(threads) == threads->wanted;
    pthread_mutex_unlock(&threads->lock);
    if (!done) return threads;
    for (int i = 0; i < threads->begun; i++)
        pthread_join(threads->member[i].thread, NULL);
    pthread_mutex_destroy(&threads->lock);
    pthread_cond_destroy(&threads->finished);
    free(threads);
    return NULL;
}

bool vs_threads_did(struct vs_threads *threads, int ns, int64_t until_us) {
    if (ns >= threads->begun) return false;
    pthread_mutex_lock(&threads->lock);
    while (!threads->member[ns].done && wait_for_one(threads, until_us))
        ;
    bool did = threads->member[ns].done;
    pthread_mutex_unlock(&threads->lock);
    return did;
}
