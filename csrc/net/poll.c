/* poll.c -- what a loop waits for: sockets, timers, calls of other threads.  Knows epoll; knows no connection.
 *
 * Each socket is entered once and told of at its edges, so a request costs a read and a write, and its part of one wait.
 * Other threads wake a loop by an eventfd. */
#include "net/inside.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int net_poll_watch(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

int net_poll_change(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

/* Also of a descriptor that is closed next: a child that is being started may hold its socket for a moment longer. */
void net_poll_forget(struct net_loop *loop, int fd) {
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, &(struct epoll_event){0});
}

/* ------------------------------------------------------------------ timers and calls from other threads */

void net_poll_timer(struct net_loop *loop, enum net_timer which, uint64_t in_ms, void (*then)(struct net_loop *loop)) {
    loop->timer[which] = (struct net_due){loop->now_ms + in_ms, then};
}

/* The first call since the loop looked wakes it.  The write cannot fail: the counter has room for 2^64 calls. */
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

/* Behind the reading of the descriptor, so a later call wakes the loop anew. */
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
        loop->timer[i].then = NULL; /* `then` may start it again */
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

/* The clock is read twice in a round: when all of its requests had come, and when all were answered.  Each has taken as
 * long as the round, since it waited for those before it, and its reply is sent behind what all of them asked. */
void net_poll_run(struct net_loop *loop, void (*serve)(struct net_loop *loop)) {
    struct epoll_event events[NET_ROUND_MAX];
    while (!loop->closed) {
        /* by number: the C library's own has two locked instructions for a thread that could be cancelled */
        long count = syscall(SYS_epoll_pwait, loop->epoll, events, NET_ROUND_MAX, net_wait_ms(loop), NULL, 0);
        assert(count >= 0 || errno == EINTR);
        net_look_at_clock(loop);
        uint64_t began_ns = loop->now_ns;
        for (long i = 0; i < count; i++) {
            struct net_watched *of = events[i].data.ptr;
            of->ready(of, events[i].events);
        }
        /* first: signals and timers are heard whatever clients send */
        net_answer_calls(loop);
        net_run_timers(loop);
        net_retry(loop);
        serve(loop);
        net_look_at_clock(loop);
        if (loop->has_stepped) loop->calls->replied(loop->upper.loop, (loop->now_ns - began_ns) / 1000);
        loop->has_stepped = false;
    }
}
