/* Regression: a thread spends a limited time per round on the queues of connections that wait for an id. A queue
 * that exceeded the time was first again in the next round and used up that one as well. Other queues were never
 * served, and their deadlines passed unnoticed. */
#include "check.h"
#include "server/session.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, CONNS = 3, ROUND_US = 1000 };

static struct vs_scratch *scratch;
static struct vs_session sessions[QUEUES][CONNS];
static int asked[QUEUES];

/* ------------------------------------------------------------------ replacements for the network */

void __wrap_net_retry_at(struct net_loop *loop, uint64_t at_ms);
void __wrap_net_retry_next_round(struct net_loop *loop);
void __wrap_net_serve_waiter(struct net_conn *conn);

void __wrap_net_retry_at(struct net_loop *loop, uint64_t at_ms) {
    (void)loop, (void)at_ms;
}

void __wrap_net_retry_next_round(struct net_loop *loop) {
    (void)loop;
}

/* Uses up the whole round with its requests, then requests another id. */
void __wrap_net_serve_waiter(struct net_conn *conn) {
    struct vs_session *s = (struct vs_session *)conn;
    asked[s->waiting.queue - VS_QUEUE_OF_IDS]++;
    scratch->quantum.now_us += ROUND_US;
    s->waiting.deadline_us++;
    vs_waiters_enter(s);
}

static void begin_round(void) {
    scratch->now_us += 2000;
    scratch->quantum = (struct net_quantum){.now_us = scratch->now_us, .until_us = scratch->now_us + ROUND_US};
}

/* ------------------------------------------------------------------ claims */

static void open_loop(int64_t wait_us) {
    size_t count = VS_QUEUE_OF_IDS + QUEUES;
    scratch = calloc(1, sizeof *scratch);
    scratch->queue = calloc(count, sizeof *scratch->queue);
    scratch->counts = calloc(1, sizeof *scratch->counts);
    TAILQ_INIT(&scratch->waited_for);
    for (size_t i = 0; i < count; i++)
        TAILQ_INIT(&scratch->queue[i].waiters);
    memset(sessions, 0, sizeof sessions);
    memset(asked, 0, sizeof asked);
    begin_round();
    for (int i = 0; i < QUEUES; i++) {
        for (int j = 0; j < CONNS; j++) {
            struct vs_session *s = &sessions[i][j];
            s->conn = (struct net_conn *)s;
            s->scratch = scratch;
            s->waiting.queue = VS_QUEUE_OF_IDS + i;
            s->waiting.wait_us = wait_us;
            vs_waiters_enter(s);
        }
    }
}

static void close_loop(void) {
    free(scratch->counts);
    free(scratch->queue);
    free(scratch);
}

static void check_fair(int each_at_least) {
    for (int i = 0; i < QUEUES; i++)
        CHECK(asked[i] >= each_at_least && asked[i] <= each_at_least + 1);
}

static void each_has_its_turn(void) {
    open_loop(1000);
    scratch->has_put_off = true;
    for (int i = 0; i < 10 * QUEUES; i++) {
        begin_round();
        vs_waiters_retry(scratch);
        CHECK(scratch->has_put_off);
    }
    check_fair(10);
    close_loop();
}

static void a_wake_reaches_each(void) {
    open_loop(3600 * 1000000LL); /* Only a wake makes a queue due. */
    begin_round();
    vs_waiters_retry_all(scratch);
    for (int i = 1; i < QUEUES; i++) {
        begin_round();
        vs_waiters_retry(scratch);
    }
    check_fair(1);
    close_loop();
}

static void one_is_asked_in_a_late_round(void) {
    open_loop(1000);
    for (int i = 0; i < QUEUES; i++) {
        begin_round();
        scratch->quantum.now_us += 2 * ROUND_US; /* as if signals and timers had used up the round */
        vs_waiters_retry_all(scratch);
    }
    check_fair(1);
    close_loop();
}

static const struct check_case cases[] = {
    {"each queue is served even if one connection uses up a round", each_has_its_turn},
    {"queues that a wake makes due are served in the next rounds", a_wake_reaches_each},
    {"a connection is served even if the round has no time left", one_is_asked_in_a_late_round},
};

CHECK_MAIN(cases)
