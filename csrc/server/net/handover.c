/* handover.c -- which loop serves a client: that with the fewest, whichever loop let it in.  Knows no protocol.
 *
 * The loop that is woken first accepts all that came together, so without this a burst would be one loop's.  Every loop
 * accepts, and none has to wait for another that does. */
#include "server/net/net.h"

#include <assert.h>

#define SILENT_MS 3000 /* a loop that has not swept for so long gets no more clients */

/* Over which loop is chosen, what has been handed to each, and whether it takes more; held for a moment, around nothing
 * that waits. */
static pthread_mutex_t handing = PTHREAD_MUTEX_INITIALIZER;

static int load_of(const struct loop *loop) {
    return atomic_load_explicit(&loop->load, memory_order_relaxed); /* a count, orders nothing */
}

static bool is_silent(const struct loop *loop, uint64_t now_ms) {
    return atomic_load_explicit(&loop->beat_ms, memory_order_relaxed) + SILENT_MS < now_ms;
}

/* Under the lock: two loops that let clients in at once see what the other has just handed out. */
static struct loop *least_loaded(struct loop *own) {
    struct loop *best = own;
    int least = load_of(own);
    for (int i = 0; i < own->server->count; i++) {
        struct loop *loop = own->server->loops[i];
        int load = load_of(loop);
        if (load >= least || !loop->takes || is_silent(loop, own->now_ms)) continue;
        best = loop;
        least = load;
    }
    return best;
}

void vs_conn_place(struct conn *c, struct loop *own) {
    pthread_mutex_lock(&handing);
    struct loop *to = least_loaded(own);
    atomic_fetch_add_explicit(&to->load, 1, memory_order_relaxed);
    if (to != own) {
        TAILQ_INSERT_TAIL(&to->arrived, c, all);
        vs_poll_call(to, VS_CALL_ARRIVAL);
    }
    pthread_mutex_unlock(&handing);
    if (to == own) vs_conn_begin(c, own);
}

static void on_arrival(struct loop *loop) {
    struct conns arrived = TAILQ_HEAD_INITIALIZER(arrived);
    struct conn *c;
    pthread_mutex_lock(&handing);
    TAILQ_CONCAT(&arrived, &loop->arrived, all);
    pthread_mutex_unlock(&handing);
    while ((c = TAILQ_FIRST(&arrived))) {
        TAILQ_REMOVE(&arrived, c, all);
        vs_conn_begin(c, loop);
    }
}

void vs_handover_init(struct loop *loop) {
    TAILQ_INIT(&loop->arrived);
    loop->on_call[VS_CALL_ARRIVAL] = on_arrival;
    pthread_mutex_lock(&handing);
    loop->takes = true;
    pthread_mutex_unlock(&handing);
}

bool vs_handover_end(struct loop *loop) {
    pthread_mutex_lock(&handing);
    if (TAILQ_EMPTY(&loop->arrived)) loop->takes = false;
    bool ended = !loop->takes;
    pthread_mutex_unlock(&handing);
    return ended;
}
