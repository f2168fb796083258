/* crew.c -- threads that do one thing for each namespace, and waiting for them, but not for ever.  Knows not what. */
#include "serve/crew.h"
#include "os/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct member {
    struct vs_crew *crew;
    int ns;
    pthread_t thread;
    bool done; /* under the crew's lock */
};

struct vs_crew {
    void (*body)(void *self, int ns);
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int wanted, begun;
    struct member member[VS_NAMESPACES_MAX];
};

static void *work(void *arg) {
    struct member *member = arg;
    struct vs_crew *crew = member->crew;
    crew->body(crew->self, member->ns);
    pthread_mutex_lock(&crew->lock);
    member->done = true;
    pthread_cond_broadcast(&crew->finished);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static struct vs_crew *make_crew(void) {
    struct vs_crew *crew = calloc(1, sizeof *crew);
    pthread_condattr_t monotonic;
    if (!crew) return NULL;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return crew;
}

struct vs_crew *vs_crew_start(int count, void (*body)(void *self, int ns), void *self) {
    struct vs_crew *crew = make_crew();
    sigset_t all, were;
    if (!crew) return NULL;
    crew->body = body;
    crew->self = self;
    crew->wanted = count;
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &were); /* the threads inherit this: signals are for the first loop */
    for (; crew->begun < count; crew->begun++) {
        struct member *member = &crew->member[crew->begun];
        *member = (struct member){.crew = crew, .ns = crew->begun};
        if (pthread_create(&member->thread, NULL, work, member) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &were, NULL);
    return crew;
}

bool vs_crew_began(const struct vs_crew *crew, int ns) {
    return ns < crew->begun;
}

/* With the lock held. */
static int count_done(const struct vs_crew *crew) {
    int done = 0;
    for (int i = 0; i < crew->begun; i++)
        done += crew->member[i].done;
    return done;
}

/* With the lock held: until one more is done.  False: that instant has come. */
static bool wait_for_one(struct vs_crew *crew, int64_t until_us) {
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    return pthread_cond_timedwait(&crew->finished, &crew->lock, &until) == 0;
}

struct vs_crew *vs_crew_end(struct vs_crew *crew, int64_t until_us) {
    pthread_mutex_lock(&crew->lock);
    while (count_done(crew) < crew->begun && wait_for_one(crew, until_us))
        ;
    bool done = count_done(crew) == crew->wanted;
    pthread_mutex_unlock(&crew->lock);
    if (!done) return crew;
    for (int i = 0; i < crew->begun; i++)
        pthread_join(crew->member[i].thread, NULL);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->finished);
    free(crew);
    return NULL;
}

bool vs_crew_did(struct vs_crew *crew, int ns, int64_t until_us) {
    if (ns >= crew->begun) return false;
    pthread_mutex_lock(&crew->lock);
    while (!crew->member[ns].done && wait_for_one(crew, until_us))
        ;
    bool did = crew->member[ns].done;
    pthread_mutex_unlock(&crew->lock);
    return did;
}
