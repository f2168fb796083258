/* threads.c -- threads that call a function for each of their members in turn.  Callers can wait until a member is done
 * or a deadline passes. */
#include "serve/crews/threads.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define NONE (-1)

struct crew {
    struct vs_threads *threads;
    pthread_t thread;
    int first; /* index of the first member that is not done (`next` links the members) */
};

struct member {
    int next;
    int64_t due_us;
    bool done; /* guarded by the lock */
};

struct vs_threads {
    const struct vs_crews *crews;
    vs_threads_body *body;
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int begun, done; /* number of begun threads, and number of finished members */
    struct crew *crew;
    struct member member[];
};

static int crew_of(const struct vs_threads *threads, int i) {
    return threads->crews->of ? threads->crews->of[i] : i;
}

static void threads_settle(struct vs_threads *threads, int i) {
    pthread_mutex_lock(&threads->lock);
    threads->member[i].done = true;
    threads->done++;
    pthread_cond_broadcast(&threads->finished);
    pthread_mutex_unlock(&threads->lock);
}

/* Calls the function for each member that is due.  Returns when the next member is due (INT64_MAX: all are done). */
static int64_t threads_go_round(struct crew *crew) {
    struct vs_threads *threads = crew->threads;
    int64_t first_us = INT64_MAX;
    for (int *at = &crew->first; *at != NONE;) {
        int i = *at;
        struct member *member = &threads->member[i];
        if (member->due_us <= vs_monotonic_us()) {
            int64_t rest_us = threads->body(threads->self, i);
            if (rest_us == VS_THREADS_DONE) {
                *at = member->next;
                threads_settle(threads, i);
                continue;
            }
            member->due_us = vs_monotonic_us() + rest_us;
        }
        if (member->due_us < first_us) first_us = member->due_us;
        at = &member->next;
    }
    return first_us;
}

static void *threads_work(void *arg) {
    for (int64_t next_us; (next_us = threads_go_round(arg)) != INT64_MAX;) {
        struct timespec until = {.tv_sec = next_us / 1000000, .tv_nsec = next_us % 1000000 * 1000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return NULL;
}

static void free_threads(struct vs_threads *threads) {
    pthread_mutex_destroy(&threads->lock);
    pthread_cond_destroy(&threads->finished);
    free(threads->crew);
    free(threads);
}

static struct vs_threads *make_threads(const struct vs_crews *crews) {
    struct vs_threads *threads = calloc(1, sizeof *threads + (size_t)crews->count * sizeof threads->member[0]);
    if (!threads) return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    vs_cond_init(&threads->finished);
    threads->crews = crews;
    threads->crew = calloc((size_t)crews->threads + 1, sizeof *threads->crew);
    if (!threads->crew) return free_threads(threads), NULL;
    for (int k = 0; k < crews->threads; k++)
        threads->crew[k] = (struct crew){.threads = threads, .first = NONE};
    for (int i = crews->count - 1; i >= 0; i--) {
        struct crew *crew = &threads->crew[crew_of(threads, i)];
        threads->member[i].next = crew->first;
        crew->first = i;
    }
    return threads;
}

struct vs_threads *vs_threads_start(const struct vs_crews *crews, vs_threads_body *body, void *self) {
    struct vs_threads *threads = make_threads(crews);
    if (!threads) return NULL;
    threads->body = body;
    threads->self = self;
    for (; threads->begun < crews->threads; threads->begun++) {
        struct crew *crew = &threads->crew[threads->begun];
        if (vs_thread_start(&crew->thread, threads_work, crew) != 0) break;
    }
    return threads;
}

bool vs_threads_began(const struct vs_threads *threads, int i) {
    return crew_of(threads, i) < threads->begun;
}

/* Waits until another member is done.  The caller must hold the lock.  Returns false if until_us was reached. */
static bool wait_for_one(struct vs_threads *threads, int64_t until_us) {
    return vs_cond_wait(&threads->finished, &threads->lock, until_us);
}

/* Returns how many members have a thread. */
static int count_begun(const struct vs_threads *threads) {
    int count = 0;
    for (int i = 0; i < threads->crews->count; i++)
        count += vs_threads_began(threads, i);
    return count;
}

struct vs_threads *vs_threads_end(struct vs_threads *threads, int64_t until_us) {
    int begun = count_begun(threads);
    pthread_mutex_lock(&threads->lock);
    while (threads->done < begun && wait_for_one(threads, until_us))
        ;
    bool done = threads->done == threads->crews->count;
    pthread_mutex_unlock(&threads->lock);
    if (!done) return threads;
    for (int k = 0; k < threads->begun; k++)
        pthread_join(threads->crew[k].thread, NULL);
    free_threads(threads);
    return NULL;
}

bool vs_threads_did(struct vs_threads *threads, int i, int64_t until_us) {
    if (!vs_threads_began(threads, i)) return false;
    pthread_mutex_lock(&threads->lock);
    while (!threads->member[i].done && wait_for_one(threads, until_us))
        ;
    bool did = threads->member[i].done;
    pthread_mutex_unlock(&threads->lock);
    return did;
}
