/* prover.c -- questions and the thread that answers them.  Knows no account. */
#include "access/prover.h"
#include "os/thread.h"

#include <stdlib.h>

struct vs_prover {
    void (*woken)(void *self);
    void *self;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t asked;
    pthread_t thread;
    bool is_running, ending;
    int waiting;
    struct vs_question *first, *at_work;
};

struct vs_prover *vs_prover_new(void (*woken)(void *self), void *self) {
    struct vs_prover *prover = calloc(1, sizeof *prover);
    if (!prover) return NULL;
    prover->woken = woken;
    prover->self = self;
    pthread_mutex_init(&prover->lock, NULL);
    pthread_cond_init(&prover->asked, NULL);
    return prover;
}

void vs_question_let(struct vs_question *q) {
    if (!q || atomic_fetch_sub(&q->holders, 1) != 1) return;
    explicit_bzero(q, sizeof *q);
    free(q);
}

/* The one of fewest wrong secrets, the first of those. */
static struct vs_question *take(struct vs_prover *p) {
    struct vs_question **best = &p->first;
    for (struct vs_question **at = &p->first; *at; at = &(*at)->next)
        if ((*at)->wrong < (*best)->wrong) best = at;
    struct vs_question *q = *best;
    if (q) *best = q->next, p->waiting--;
    p->at_work = q;
    return q;
}

static void answer(struct vs_question *q) {
    q->fits = -1;
    if (atomic_load(&q->holders) == 1) return; /* nobody waits for it any more */
    for (int i = 0; i < q->hash_count && q->fits < 0; i++)
        if (vs_secret_fits(q->text, q->hash[i])) q->fits = i;
    atomic_store(&q->is_done, true);
}

static void *work(void *self) {
    struct vs_prover *p = self;
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        struct vs_question *q = take(p);
        if (!q) {
            pthread_cond_wait(&p->asked, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        answer(q);
        p->woken(p->self);
        pthread_mutex_lock(&p->lock);
        p->at_work = NULL;
        vs_question_let(q);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static bool begin(struct vs_prover *p) {
    if (!p->is_running) p->is_running = vs_thread_start(&p->thread, work, p) == 0;
    return p->is_running;
}

static bool is_of(const struct vs_question *q, const struct vs_guard_peer *peer) {
    return q->peer.family == peer->family && q->peer.prefix == peer->prefix && q->peer.name == peer->name;
}

static bool has(const struct vs_prover *p, const struct vs_guard_peer *peer) {
    if (p->at_work && is_of(p->at_work, peer)) return true;
    for (const struct vs_question *q = p->first; q; q = q->next)
        if (is_of(q, peer)) return true;
    return false;
}

bool vs_prover_has(struct vs_prover *p, const struct vs_guard_peer *peer) {
    pthread_mutex_lock(&p->lock);
    bool is_there = has(p, peer);
    pthread_mutex_unlock(&p->lock);
    return is_there;
}

static void append(struct vs_prover *p, struct vs_question *q) {
    struct vs_question **end = &p->first;
    while (*end)
        end = &(*end)->next;
    *end = q;
    p->waiting++;
}

struct vs_question *vs_prover_ask(struct vs_prover *p, const struct vs_question *what) {
    struct vs_question *q = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->waiting < VS_PROVER_WAITING_MAX && !has(p, &what->peer) && begin(p) && (q = malloc(sizeof *q))) {
        *q = *what;
        q->next = NULL;
        atomic_init(&q->holders, 2);
        atomic_init(&q->is_done, false);
        append(p, q);
        pthread_cond_signal(&p->asked);
    }
    pthread_mutex_unlock(&p->lock);
    return q;
}

void vs_prover_free(struct vs_prover *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_signal(&p->asked);
    pthread_mutex_unlock(&p->lock);
    if (p->is_running) pthread_join(p->thread, NULL);
    for (struct vs_question *q; (q = p->first);) {
        p->first = q->next;
        vs_question_let(q);
    }
    pthread_cond_destroy(&p->asked);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
