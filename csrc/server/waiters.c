/* waiters.c -- queues of waiting connections.  Each namespace and tag has a queue, which is served first come, first
 * served.  Contains no protocol code. */
#include "server/session.h"

#define SHARE_LOOK_US 10 /* time between checks, per waiting connection (a check takes at most 1 % of this) */

void vs_waiters_leave(struct vs_session *s) {
    struct vs_waitlist *queue = &s->scratch->queue[s->waiting.queue];
    TAILQ_REMOVE(&queue->waiters, s, queued);
    queue->waiting--;
    vs_add(&s->scratch->counts->waiting, (uint64_t)-1);
    s->waits = false;
    vs_set(&s->member.waits, 0);
}

static void queue_note(struct vs_scratch *scratch, struct vs_waitlist *queue, uint64_t at_ms) {
    if (queue->retry_at_ms == 0) TAILQ_INSERT_TAIL(&scratch->waited_for, queue, waited);
    if (queue->retry_at_ms == 0 || at_ms < queue->retry_at_ms) queue->retry_at_ms = at_ms;
}

static void queue_until(struct vs_scratch *scratch, struct vs_waitlist *queue, uint64_t at_ms) {
    queue_note(scratch, queue, at_ms);
    net_retry_at(scratch->net, at_ms);
}

static uint64_t queue_now_ms(const struct vs_scratch *scratch) {
    return (uint64_t)scratch->now_us / 1000;
}

void vs_waiters_enter(struct vs_session *s) {
    struct vs_scratch *scratch = s->scratch;
    struct vs_waitlist *queue = &scratch->queue[s->waiting.queue];
    uint64_t wait_ms = (uint64_t)(s->waiting.wait_us + 999) / 1000,
             at = queue_now_ms(scratch) + (wait_ms ? wait_ms : 1);
    s->waits = true;
    vs_set(&s->member.waits, 1);
    TAILQ_INSERT_TAIL(&queue->waiters, s, queued);
    queue->waiting++;
    vs_add(&scratch->counts->waiting, 1);
    queue_until(scratch, queue, at);
}

/* Returns whether this round has no time left for the queues.  If so, the rest of this queue is resumed in a later
 * round, after the other queues.  Each round resumes at least one connection. */
static bool queue_is_put_off(struct vs_scratch *scratch, struct vs_waitlist *queue) {
    if (!scratch->has_resumed || !net_quantum_is_over(&scratch->quantum)) return false;
    if (queue->retry_at_ms != 0) TAILQ_REMOVE(&scratch->waited_for, queue, waited);
    queue->retry_at_ms = 0;
    queue_note(scratch, queue, queue_now_ms(scratch));
    scratch->has_put_off = true;
    return true;
}

static void queue_resume(struct vs_session *s) {
    s->scratch->has_resumed = true;
    vs_waiters_leave(s);
    net_serve_waiter(s->conn);
}

/* Resumes connections behind `first` that need not wait for ids: their time is over, or a policy's verdict or the
 * result of their job may have arrived.  `first` itself must wait again. */
static void queue_serve_due(struct vs_waitlist *queue, const struct vs_session *first) {
    const struct vesta_clock *clock = first->server->clock;
    int64_t now_us = clock->boot_us(clock->self);
    int left = queue->waiting;
    for (struct vs_session *s = TAILQ_FIRST(&queue->waiters), *next; s && left > 0; s = next, left--) {
        next = TAILQ_NEXT(s, queued);
        if (s != first && vs_session_is_due(s, now_us)) queue_resume(s);
    }
}

/* Serves a queue in order until a connection must wait again.  The connections behind it are then not tried, because
 * they wait for the same ids.  A connection that received no id stays at the head.  A connection that received part of
 * its batch moves to the tail, so that a large batch does not take all ids while it waits. */
static void queue_serve(struct vs_scratch *scratch, struct vs_waitlist *queue) {
    struct vs_session *s;
    while ((s = TAILQ_FIRST(&queue->waiters)) && !queue_is_put_off(scratch, queue)) {
        int64_t deadline_us = s->waiting.deadline_us;
        size_t kept = s->waiting.ids_count;
        queue_resume(s);
        if (!s->waits || s->waiting.deadline_us != deadline_us || &scratch->queue[s->waiting.queue] != queue)
            continue; /* the request was answered or moved, or a new request waits at the tail */
        if (s->waiting.ids_count == kept) {
            TAILQ_REMOVE(&queue->waiters, s, queued);
            TAILQ_INSERT_HEAD(&queue->waiters, s, queued);
        }
        queue_serve_due(queue, s);
        return;
    }
}

/* Tries every connection once, because each may wait for a different table.  Connections that must wait again move to
 * the tail. */
static void queue_serve_many(struct vs_scratch *scratch, struct vs_waitlist *queue) {
    struct vs_session *s;
    for (int left = queue->waiting; left > 0 && (s = TAILQ_FIRST(&queue->waiters)); left--) {
        if (queue_is_put_off(scratch, queue)) return;
        queue_resume(s);
    }
}

/* Tries each connection at its own time, because each waits for a different share.  If very many wait, they are checked
 * less often. */
static void queue_serve_shares(struct vs_scratch *scratch, struct vs_waitlist *queue) {
    int left = queue->waiting;
    int64_t first_us = INT64_MAX, rest_us = scratch->now_us + left * SHARE_LOOK_US;
    for (struct vs_session *s = TAILQ_FIRST(&queue->waiters), *next; s && left > 0; s = next, left--) {
        next = TAILQ_NEXT(s, queued);
        int64_t again_us = s->waiting.charged.again_us;
        if (again_us > scratch->now_us) {
            first_us = again_us < first_us ? again_us : first_us;
            continue;
        }
        if (queue_is_put_off(scratch, queue)) return;
        queue_resume(s);
    }
    if (first_us != INT64_MAX)
        queue_until(scratch, queue, (uint64_t)((first_us > rest_us ? first_us : rest_us) + 999) / 1000);
}

static void queue_retry(struct vs_scratch *scratch, struct vs_waitlist *queue) {
    queue->retry_at_ms = 0; /* queue_note adds the queue again if a connection must wait */
    if (queue - scratch->queue == VS_QUEUE_OF_SHARES)
        queue_serve_shares(scratch, queue);
    else if (queue - scratch->queue < VS_QUEUE_OF_IDS)
        queue_serve_many(scratch, queue);
    else
        queue_serve(scratch, queue);
}

/* Moves the queues that this round had no time for to the front of the next round. */
static void queues_put_first(struct vs_scratch *scratch, struct vs_waitlists *rest, uint64_t due_ms) {
    struct vs_waitlist *queue;
    uint64_t now_ms = queue_now_ms(scratch);
    TAILQ_FOREACH(queue, rest, waited)
    if (queue->retry_at_ms <= due_ms && queue->retry_at_ms > now_ms) queue->retry_at_ms = now_ms;
    TAILQ_CONCAT(rest, &scratch->waited_for, waited);
    TAILQ_CONCAT(&scratch->waited_for, rest, waited);
}

/* Each namespace and tag has its own queue, so a pause of one does not delay the others. */
static void queues_retry(struct vs_scratch *scratch, uint64_t due_ms) {
    struct vs_waitlists looked_at = TAILQ_HEAD_INITIALIZER(looked_at);
    struct vs_waitlist *queue;
    scratch->quantum.until_us = scratch->now_us + NET_WAITERS_US;
    scratch->has_put_off = scratch->has_resumed = false;
    TAILQ_CONCAT(&looked_at, &scratch->waited_for, waited);
    while (!scratch->has_put_off && (queue = TAILQ_FIRST(&looked_at))) {
        bool is_due = queue->retry_at_ms <= due_ms;
        TAILQ_REMOVE(&looked_at, queue, waited);
        if (is_due)
            queue_retry(scratch, queue);
        else
            TAILQ_INSERT_TAIL(&scratch->waited_for, queue, waited);
    }
    queues_put_first(scratch, &looked_at, due_ms);
    TAILQ_FOREACH(queue, &scratch->waited_for, waited)
    net_retry_at(scratch->net, queue->retry_at_ms);
    if (scratch->has_put_off) net_retry_next_round(scratch->net);
}

void vs_waiters_retry(struct vs_scratch *scratch) {
    queues_retry(scratch, queue_now_ms(scratch));
}

void vs_waiters_retry_all(struct vs_scratch *scratch) {
    queues_retry(scratch, UINT64_MAX);
}
