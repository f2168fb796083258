/* queue.c -- who waits for an id: by namespace and tag, first come, first served.  Knows no protocol. */
#include "server/net/net.h"

#define SHARE_LOOK_US 10 /* a look at one that waits for its share costs a hundredth of that */

void vs_conn_leave_queue(struct conn *c) {
    struct loop *loop = c->loop;
    TAILQ_REMOVE(&loop->queue[c->session.waiting.queue].conns, c, queued);
    loop->scratch.queue[c->session.waiting.queue].waiting--;
    vs_add(&loop->scratch.counts->waiting, (uint64_t)-1);
    c->waits = false;
    vs_set(&c->session.member.waits, 0);
}

static void on_retry(struct loop *loop);

static void retry_at(struct loop *loop, uint64_t at_ms) {
    if (loop->retry_at_ms != 0 && loop->retry_at_ms <= at_ms) return;
    loop->retry_at_ms = at_ms;
    vs_poll_timer(loop, VS_TIMER_RETRY, at_ms > loop->now_ms ? at_ms - loop->now_ms : 1, on_retry);
}

static void note_queue(struct loop *loop, struct queue *queue, uint64_t at_ms) {
    if (queue->retry_at_ms == 0) TAILQ_INSERT_TAIL(&loop->waited_for, queue, waited);
    if (queue->retry_at_ms == 0 || at_ms < queue->retry_at_ms) queue->retry_at_ms = at_ms;
}

static void wait_until(struct loop *loop, struct queue *queue, uint64_t at_ms) {
    note_queue(loop, queue, at_ms);
    retry_at(loop, at_ms);
}

void vs_conn_wait(struct conn *c) {
    struct loop *loop = c->loop;
    struct queue *queue = &loop->queue[c->session.waiting.queue];
    uint64_t wait_ms = (uint64_t)(c->session.waiting.wait_us + 999) / 1000, at = loop->now_ms + (wait_ms ? wait_ms : 1);
    c->waits = true;
    vs_set(&c->session.member.waits, 1);
    TAILQ_INSERT_TAIL(&queue->conns, c, queued);
    loop->scratch.queue[c->session.waiting.queue].waiting++;
    vs_add(&loop->scratch.counts->waiting, 1);
    wait_until(loop, queue, at);
}

/* The time for the queues is over. The connections of this queue that were not asked yet are asked in a later round, after
 * those of the other queues. At least one connection is asked in each round. */
static bool is_put_off(struct loop *loop, struct queue *queue) {
    if (!loop->has_resumed || !vs_quantum_is_over(&loop->scratch.quantum)) return false;
    if (queue->retry_at_ms != 0) TAILQ_REMOVE(&loop->waited_for, queue, waited);
    queue->retry_at_ms = 0;
    note_queue(loop, queue, loop->now_ms);
    loop->has_put_off = true;
    return true;
}

static void resume(struct conn *c) {
    c->loop->has_resumed = true;
    vs_conn_leave_queue(c);
    vs_conn_serve_waiter(c);
}

/* Others than `first`, which must wait on, may have waited for long enough, or for a word that has been said. */
static void tell_others(struct queue *queue, const struct conn *first) {
    const struct vesta_clock *clock = first->session.app->clock;
    int64_t now_us = clock->boot_us(clock->self);
    int left = first->loop->scratch.queue[first->session.waiting.queue].waiting;
    for (struct conn *c = TAILQ_FIRST(&queue->conns), *next; c && left > 0; c = next, left--) {
        next = TAILQ_NEXT(c, queued);
        if (c != first && vs_session_is_due(&c->session, now_us)) resume(c);
    }
}

/* First come, first served, until one must wait on; the others are not asked then: they would wait for the same id.
 * Who got nothing keeps its place; who got a part of what it wants lets the others go first, so that no large batch
 * takes all there is for as long as it may wait. */
static void serve_queue(struct loop *loop, struct queue *queue) {
    struct conn *c;
    while ((c = TAILQ_FIRST(&queue->conns)) && !is_put_off(loop, queue)) {
        int64_t deadline_us = c->session.waiting.deadline_us;
        size_t kept = c->session.waiting.ids_count;
        resume(c);
        if (!c->waits || c->session.waiting.deadline_us != deadline_us ||
            &loop->queue[c->session.waiting.queue] != queue)
            continue; /* served, or it waits for another namespace now; what it asks next is at the tail */
        if (c->session.waiting.ids_count == kept) {
            TAILQ_REMOVE(&queue->conns, c, queued);
            TAILQ_INSERT_HEAD(&queue->conns, c, queued);
        }
        tell_others(queue, c);
        return;
    }
}

/* Each may wait for another table than the one before it; those that must wait on are at the tail again. */
static void serve_queue_of_many(struct loop *loop, struct queue *queue) {
    struct conn *c;
    for (int left = loop->scratch.queue[queue - loop->queue].waiting; left > 0 && (c = TAILQ_FIRST(&queue->conns)); left--) {
        if (is_put_off(loop, queue)) return;
        resume(c);
    }
}

/* Each waits for its own share, until an instant of its own.  Where very many do they are looked at less often. */
static void serve_shares(struct loop *loop, struct queue *queue) {
    int left = loop->scratch.queue[VS_QUEUE_OF_SHARES].waiting;
    int64_t first_us = INT64_MAX, rest_us = loop->scratch.now_us + left * SHARE_LOOK_US;
    for (struct conn *c = TAILQ_FIRST(&queue->conns), *next; c && left > 0; c = next, left--) {
        next = TAILQ_NEXT(c, queued);
        int64_t again_us = c->session.waiting.charged.again_us;
        if (again_us > loop->scratch.now_us) {
            first_us = again_us < first_us ? again_us : first_us;
            continue;
        }
        if (is_put_off(loop, queue)) return;
        resume(c);
    }
    if (first_us != INT64_MAX)
        wait_until(loop, queue, (uint64_t)((first_us > rest_us ? first_us : rest_us) + 999) / 1000);
}

static void retry_queue(struct loop *loop, struct queue *queue) {
    queue->retry_at_ms = 0; /* who must wait on puts it among those that are waited for again */
    if (queue - loop->queue == VS_QUEUE_OF_SHARES)
        serve_shares(loop, queue);
    else if (queue - loop->queue < VS_QUEUE_OF_IDS)
        serve_queue_of_many(loop, queue);
    else
        serve_queue(loop, queue);
}

/* The round had no time for `rest`. Those of them that are due come first in the next round. */
static void put_first(struct loop *loop, struct queues *rest, uint64_t due_ms) {
    struct queue *queue;
    TAILQ_FOREACH(queue, rest, waited)
    if (queue->retry_at_ms <= due_ms && queue->retry_at_ms > loop->now_ms) queue->retry_at_ms = loop->now_ms;
    TAILQ_CONCAT(rest, &loop->waited_for, waited);
    TAILQ_CONCAT(&loop->waited_for, rest, waited);
}

/* Each namespace and tag has a queue of its own: where one pauses the others go on. */
static void retry_queues(struct loop *loop, uint64_t due_ms) {
    struct queues looked_at = TAILQ_HEAD_INITIALIZER(looked_at);
    struct queue *queue;
    loop->scratch.quantum.until_us = loop->scratch.now_us + VS_QUEUES_US;
    loop->has_put_off = loop->has_resumed = false;
    loop->retry_at_ms = 0;
    TAILQ_CONCAT(&looked_at, &loop->waited_for, waited);
    while (!loop->has_put_off && (queue = TAILQ_FIRST(&looked_at))) {
        bool is_due = queue->retry_at_ms <= due_ms;
        TAILQ_REMOVE(&looked_at, queue, waited);
        if (is_due)
            retry_queue(loop, queue);
        else
            TAILQ_INSERT_TAIL(&loop->waited_for, queue, waited);
    }
    put_first(loop, &looked_at, due_ms);
    TAILQ_FOREACH(queue, &loop->waited_for, waited)
    retry_at(loop, queue->retry_at_ms);
}

static void on_retry(struct loop *loop) {
    retry_queues(loop, loop->now_ms);
}

void vs_conn_retry_on(struct loop *loop) {
    if (loop->has_put_off) retry_queues(loop, loop->now_ms);
}

void vs_conn_retry(struct loop *loop) {
    retry_queues(loop, UINT64_MAX);
}
