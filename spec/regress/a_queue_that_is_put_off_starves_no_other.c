/* a_queue_that_is_put_off_starves_no_other.c -- a round has a limited time for the queues of connections that wait for an
 * id.  A queue for which the time was too short came first again in the next round, and used up that one, too.  So the
 * other queues were never looked at, and deadlines in them passed unnoticed. */
#include "check.h"
#include "server/net/net.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, CONNS = 3 };

static struct loop *loop;
static struct conn conns[QUEUES][CONNS];
static int asked[QUEUES];

/* ------------------------------------------------------------------ in place of the loop's other parts */

void __wrap_vs_poll_timer(struct loop *of, enum vs_timer which, uint64_t in_ms, void (*then)(struct loop *loop));
void __wrap_vs_conn_resume(struct conn *c);
void __wrap_vs_conn_serve_waiter(struct conn *c);

void __wrap_vs_poll_timer(struct loop *of, enum vs_timer which, uint64_t in_ms, void (*then)(struct loop *loop)) {
    (void)of, (void)which, (void)in_ms, (void)then;
}

/* Its requests take as long as the whole round; then it asks for another id. */
static void ask(struct conn *c) {
    asked[c->session.waiting.queue - VS_QUEUE_OF_IDS]++;
    loop->scratch.quantum.now_us += VS_ROUND_US;
    c->session.waiting.deadline_us++;
    vs_conn_wait(c);
}

void __wrap_vs_conn_resume(struct conn *c) {
    ask(c);
}

void __wrap_vs_conn_serve_waiter(struct conn *c) {
    ask(c);
}

static void begin_round(void) {
    loop->now_ms += 2;
    loop->scratch.now_us = (int64_t)loop->now_ms * 1000;
    loop->scratch.quantum =
        (struct vs_quantum){.now_us = loop->scratch.now_us, .until_us = loop->scratch.now_us + VS_ROUND_US};
}

/* ------------------------------------------------------------------ claims */

static void open_loop(int64_t wait_us) {
    size_t count = VS_QUEUE_OF_IDS + QUEUES;
    loop = calloc(1, sizeof *loop);
    loop->queue = calloc(count, sizeof *loop->queue);
    loop->scratch.queue = calloc(count, sizeof *loop->scratch.queue);
    loop->scratch.counts = calloc(1, sizeof *loop->scratch.counts);
    TAILQ_INIT(&loop->waited_for);
    for (size_t i = 0; i < count; i++)
        TAILQ_INIT(&loop->queue[i].conns);
    memset(conns, 0, sizeof conns);
    memset(asked, 0, sizeof asked);
    begin_round();
    for (int i = 0; i < QUEUES; i++) {
        for (int j = 0; j < CONNS; j++) {
            conns[i][j].loop = loop;
            conns[i][j].session.waiting.queue = VS_QUEUE_OF_IDS + i;
            conns[i][j].session.waiting.wait_us = wait_us;
            vs_conn_wait(&conns[i][j]);
        }
    }
}

static void close_loop(void) {
    free(loop->scratch.counts);
    free(loop->scratch.queue);
    free(loop->queue);
    free(loop);
}

static void check_fair(int each_at_least) {
    for (int i = 0; i < QUEUES; i++)
        CHECK(asked[i] >= each_at_least && asked[i] <= each_at_least + 1);
}

static void each_has_its_turn(void) {
    open_loop(1000);
    loop->has_put_off = true;
    for (int i = 0; i < 10 * QUEUES; i++) {
        begin_round();
        vs_conn_retry_on(loop);
        CHECK(loop->has_put_off);
    }
    check_fair(10);
    close_loop();
}

static void a_wake_reaches_each(void) {
    open_loop(3600 * 1000000LL); /* none is due but for the wake */
    begin_round();
    vs_conn_retry(loop);
    for (int i = 1; i < QUEUES; i++) {
        begin_round();
        vs_conn_retry_on(loop);
    }
    check_fair(1);
    close_loop();
}

static void one_is_asked_in_a_late_round(void) {
    open_loop(1000);
    for (int i = 0; i < QUEUES; i++) {
        begin_round();
        loop->scratch.quantum.now_us += 2 * VS_ROUND_US; /* used up by signals and timers */
        vs_conn_retry(loop);
    }
    check_fair(1);
    close_loop();
}

static const struct check_case cases[] = {
    {"each queue has its turn though one connection uses up a round", each_has_its_turn},
    {"queues that a wake makes due are looked at in the next rounds", a_wake_reaches_each},
    {"a connection is asked even where no time is left in the round", one_is_asked_in_a_late_round},
};

CHECK_MAIN(cases)
