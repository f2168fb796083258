/* loop.c -- an event loop: its events (sockets, timers, calls of other threads), and the order in which it serves
 * connections and for how long.  Reads and writes no bytes.
 *
 * Each socket is added to epoll once, edge-triggered.  So a request costs a read, a write and its share of one wait.
 * Other threads wake a loop with an eventfd.
 *
 * A round of the loop ends after NET_ROUND_US, so that signals, timers and new connections never wait long.  It serves
 * the urgent kind of connection first, then prompt connections, then urgent TLS handshakes, then busy connections, each
 * for NET_SLICE_US.  A busy connection waits for other busy connections, but prompt connections do not.  Each round
 * serves at least one connection of each line. */
#include "net/inside.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Cost of serving a connection in addition to its requests: system calls, or a handshake step. */
#define SERVE_COST 4
#define SHAKE_COST NET_QUANTUM_LOOK
#define CROWD 32 /* if an address has more unfinished handshakes than this, its new handshakes are not urgent */

int net_poll_watch(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

int net_poll_change(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

/* Also needed before close, because a child process that is being started may still hold a copy of the socket. */
void net_poll_forget(struct net_loop *loop, int fd) {
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, &(struct epoll_event){0});
}

/* ------------------------------------------------------------------ timers and calls from other threads */

void net_poll_timer(struct net_loop *loop, enum net_timer which, uint64_t in_ms, void (*then)(struct net_loop *loop)) {
    loop->timer[which] = (struct net_due){loop->now_ms + in_ms, then};
}

/* Only the first call since the loop's last check writes to the eventfd.  That write cannot fail, because the counter
 * is reset before it can overflow. */
void net_poll_call(struct net_loop *loop, enum net_call what) {
    if (atomic_fetch_or(&loop->called, 1u << what) != 0) return;
    ssize_t written = write(loop->wakes, &(uint64_t){1}, sizeof(uint64_t));
    (void)written;
}

static void net_on_wakes(struct net_watched *of, uint32_t events) {
    struct net_loop *loop = (struct net_loop *)((char *)of - offsetof(struct net_loop, awake));
    uint64_t count;
    ssize_t got = read(loop->wakes, &count, sizeof count);
    (void)events, (void)got;
    loop->is_called = true;
}

/* Must run after the eventfd was read, so that a later call wakes the loop again. */
static void net_answer_calls(struct net_loop *loop) {
    if (!loop->is_called) return;
    loop->is_called = false;
    unsigned calls = atomic_exchange(&loop->called, 0);
    for (int i = 0; i < NET_CALLS; i++)
        if (calls & 1u << i) loop->on_call[i](loop);
}

static void net_run_timers(struct net_loop *loop) {
    for (int i = 0; i < NET_TIMERS; i++) {
        struct net_due due = loop->timer[i];
        if (!due.then || due.at_ms > loop->now_ms) continue;
        loop->timer[i].then = NULL; /* `then` may start the timer again */
        due.then(loop);
    }
}

static void net_on_retry(struct net_loop *loop) {
    loop->retries = true;
}

void net_retry_at(struct net_loop *loop, uint64_t at_ms) {
    struct net_due *due = &loop->timer[NET_TIMER_RETRY];
    if (due->then && due->at_ms <= at_ms) return;
    net_poll_timer(loop, NET_TIMER_RETRY, at_ms > loop->now_ms ? at_ms - loop->now_ms : 1, net_on_retry);
}

void net_retry_next_round(struct net_loop *loop) {
    loop->retries = true;
}

static void net_retry(struct net_loop *loop) {
    if (!loop->retries) return;
    loop->retries = false;
    loop->calls->retry(loop->upper.loop);
}

void net_quantum_look(struct net_quantum *quantum) {
    quantum->now_us = vs_monotonic_us();
    quantum->cost = 0;
}

/* ------------------------------------------------------------------ lines */

/* Returns whether the connection's next step is a TLS handshake, which costs more than many requests.  Reading a PROXY
 * header is cheap, so the result is false while the header is expected. */
static bool net_is_to_shake(const struct net_conn *c) {
    return c->is_secure && !c->is_shaken && !c->has_header;
}

/* A handshake that has begun is urgent, because it holds memory until it ends and its last step is cheap.  A handshake
 * that has not begun is urgent if its address has few unfinished handshakes.  Open connections do not count, so a
 * client with a large pool can still add a connection while another address floods the server. */
static bool net_is_urgent_shake(const struct net_conn *c) {
    return c->tls || (c->is_unfinished && c->loop->calls->unfinished((void *)c->of, 0) <= CROWD);
}

static enum net_line net_line_for(const struct net_conn *c) {
    if (net_is_to_shake(c)) return net_is_urgent_shake(c) ? NET_LINE_SHAKE : NET_LINE_BUSY;
    if (c->is_busy) return NET_LINE_BUSY;
    return c->kind == c->loop->opts->urgent_kind ? NET_LINE_URGENT : NET_LINE_PROMPT;
}

void net_line_up(struct net_conn *c) {
    assert(!c->gone); /* its memory is freed at the end of the round */
    if (c->lined_up) return;
    c->lined_up = true;
    c->line_of = net_line_for(c);
    c->loop->line_length[c->line_of]++;
    TAILQ_INSERT_TAIL(&c->loop->line[c->line_of], c, line);
}

void net_leave_line(struct net_conn *c) {
    c->lined_up = false;
    c->loop->line_length[c->line_of]--;
    TAILQ_REMOVE(&c->loop->line[c->line_of], c, line);
}

/* ------------------------------------------------------------------ serving the lines */

/* Moves a connection whose next step belongs to a different line. */
static void net_change_line(struct net_conn *c) {
    if (!c->lined_up || c->line_of == net_line_for(c)) return;
    net_leave_line(c);
    net_line_up(c);
}

/* The time of a handshake does not make a connection busy, because the connection's first request would then wait for
 * other handshakes. */
static void net_serve_slice(struct net_conn *c) {
    struct net_quantum *quantum = c->loop->upper.quantum;
    bool shakes = net_is_to_shake(c);
    quantum->cost += shakes ? SHAKE_COST : SERVE_COST;
    quantum->until_us = quantum->now_us + NET_SLICE_US;
    c->loop->serve(c);
    c->is_busy = net_quantum_is_over(quantum) && !shakes;
    net_change_line(c);
}

/* The slice may end early because NET_WAITERS_US is used up.  That does not make the connection busy. */
void net_serve_late(struct net_conn *c, void (*serve)(struct net_conn *conn)) {
    struct net_quantum *quantum = c->loop->upper.quantum;
    int64_t all_until_us = (int64_t)(c->loop->now_ns / 1000) + NET_WAITERS_US,
            until_us = quantum->now_us + NET_SLICE_US;
    quantum->cost += SERVE_COST;
    quantum->until_us = until_us < all_until_us ? until_us : all_until_us;
    serve(c);
    quantum->until_us = all_until_us;
    c->is_busy = quantum->now_us >= until_us;
    net_change_line(c);
}

/* Serves each connection of a line once.  Stops at until_us, but serves at least the first connection.  Connections
 * that line up meanwhile are served in the next round.  Returns whether all connections were served. */
static bool net_serve_line(struct net_loop *loop, enum net_line which, int64_t until_us) {
    struct net_conn *c;
    for (int left = loop->line_length[which]; left > 0 && (c = TAILQ_FIRST(&loop->line[which])); left--) {
        net_leave_line(c);
        net_serve_slice(c);
        if (left > 1 && loop->upper.quantum->now_us >= until_us) return false;
    }
    return true;
}

/* Serves each connection of the lines once, until the round's time is over.  The remaining connections stay in their
 * lines.  Replies to prompt clients are sent before busy clients are served. */
static void net_serve_lines(struct net_loop *loop) {
    int64_t began_us = (int64_t)(loop->now_ns / 1000);
    loop->serving = true;
    bool all = net_serve_line(loop, NET_LINE_URGENT, began_us + NET_ROUND_US / 4);
    all &= net_serve_line(loop, NET_LINE_PROMPT, began_us + NET_ROUND_US * 3 / 4);
    if (loop->line_length[NET_LINE_SHAKE] > 0 || loop->line_length[NET_LINE_BUSY] > 0) {
        loop->settle(loop);
        all &= net_serve_line(loop, NET_LINE_SHAKE, began_us + NET_ROUND_US);
        all &= net_serve_line(loop, NET_LINE_BUSY, began_us + NET_ROUND_US);
    }
    loop->serving = false;
    loop->is_late = !all;
    if (loop->out.used > 0 || !TAILQ_EMPTY(&loop->gone)) loop->settle(loop);
}

/* ------------------------------------------------------------------ rounds */

static void net_look_at_clock(struct net_loop *loop) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    loop->now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    loop->now_ms = loop->now_ns / 1000000;
    int64_t now_us = (int64_t)(loop->now_ns / 1000);
    *loop->upper.quantum = (struct net_quantum){.now_us = now_us, .until_us = now_us + NET_ROUND_US};
    *loop->upper.now_us = now_us;
}

int net_poll_init(struct net_loop *loop) {
    net_look_at_clock(loop);
    loop->awake.ready = net_on_wakes;
    loop->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->wakes >= 0 && loop->epoll >= 0 && net_poll_watch(loop, loop->wakes, &loop->awake, EPOLLIN) == 0) return 0;
    int error = errno;
    net_poll_end(loop);
    return error;
}

void net_poll_end(struct net_loop *loop) {
    if (loop->wakes >= 0) close(loop->wakes);
    if (loop->epoll >= 0) close(loop->epoll);
}

static int net_wait_ms(const struct net_loop *loop) {
    uint64_t due_ms = UINT64_MAX;
    if (loop->retries) return 0;
    for (int i = 0; i < NET_LINES; i++)
        if (loop->line_length[i] > 0) return 0;
    for (int i = 0; i < NET_TIMERS; i++)
        if (loop->timer[i].then && loop->timer[i].at_ms < due_ms) due_ms = loop->timer[i].at_ms;
    if (due_ms <= loop->now_ms) return 0;
    return due_ms - loop->now_ms < INT_MAX ? (int)(due_ms - loop->now_ms) : -1;
}

/* Reads the clock twice per round: after the wait for events, and after all requests were processed.  The duration of
 * the round counts as the duration of each of its requests, because each request waits for the previous ones, and
 * replies are sent at the end. */
void net_poll_run(struct net_loop *loop) {
    struct epoll_event events[NET_ROUND_MAX];
    while (!loop->closed) {
        /* calls the kernel directly, because epoll_wait is a cancellation point with two locked instructions */
        long count = syscall(SYS_epoll_pwait, loop->epoll, events, NET_ROUND_MAX, net_wait_ms(loop), NULL, 0);
        assert(count >= 0 || errno == EINTR);
        net_look_at_clock(loop);
        uint64_t began_ns = loop->now_ns;
        for (long i = 0; i < count; i++) {
            struct net_watched *of = events[i].data.ptr;
            of->ready(of, events[i].events);
        }
        /* before clients, so that they cannot delay signals and timers */
        net_answer_calls(loop);
        net_run_timers(loop);
        net_retry(loop);
        net_serve_lines(loop);
        net_look_at_clock(loop);
        if (loop->has_stepped) loop->calls->replied(loop->upper.loop, (loop->now_ns - began_ns) / 1000);
        loop->has_stepped = false;
    }
}
