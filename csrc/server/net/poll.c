/* poll.c -- what a loop waits for, and one round of it.  Knows epoll; knows no connection's ways.
 *
 * Sockets stand in the loop's epoll: each is entered once and told of at its edges, so a request costs a read and a
 * write, and its part of one wait.  Other threads and signals wake a loop by an eventfd. */
#include "server/net/net.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int vs_poll_watch(struct loop *loop, int fd, struct watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

int vs_poll_change(struct loop *loop, int fd, struct watched *of, uint32_t events) {
    return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &(struct epoll_event){.events = events, .data.ptr = of});
}

/* Also of a descriptor that is closed next: a child that is being started may hold its socket for a moment longer. */
void vs_poll_forget(struct loop *loop, int fd) {
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, &(struct epoll_event){0});
}

/* ------------------------------------------------------------------ timers and calls from other threads */

void vs_poll_timer(struct loop *loop, enum vs_timer which, uint64_t in_ms, void (*then)(struct loop *loop)) {
    loop->timer[which] = (struct timer){loop->now_ms + in_ms, then};
}

/* The first call since the loop looked wakes it.  The write cannot fail: the counter has room for 2^64 calls. */
void vs_poll_call(struct loop *loop, enum vs_call_of_loop what) {
    if (atomic_fetch_or(&loop->calls, 1u << what) != 0) return;
    ssize_t written = write(loop->wakes, &(uint64_t){1}, sizeof(uint64_t));
    (void)written;
}

static void on_wakes(struct watched *of, uint32_t events) {
    struct loop *loop = (struct loop *)((char *)of - offsetof(struct loop, awake));
    uint64_t count;
    ssize_t got = read(loop->wakes, &count, sizeof count);
    (void)events, (void)got;
    loop->has_calls = true;
}

/* Behind the descriptor's reading, so a later call wakes the loop anew. */
static void answer_calls(struct loop *loop) {
    if (!loop->has_calls) return;
    loop->has_calls = false;
    unsigned calls = atomic_exchange(&loop->calls, 0);
    for (int i = 0; i < VS_CALLS_OF_LOOP; i++)
        if (calls & 1u << i) loop->on_call[i](loop);
}

static void run_timers(struct loop *loop) {
    for (int i = 0; i < VS_TIMERS; i++) {
        struct timer due = loop->timer[i];
        if (!due.then || due.at_ms > loop->now_ms) continue;
        loop->timer[i].then = NULL; /* it may be started again by what it does */
        due.then(loop);
    }
}

/* ------------------------------------------------------------------ rounds */

static void look_at_clock(struct loop *loop) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    loop->now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    loop->now_ms = loop->now_ns / 1000000;
    loop->scratch.now_us = (int64_t)(loop->now_ns / 1000);
    loop->scratch.quantum = (struct vs_quantum){.now_us = loop->scratch.now_us,
                                                .until_us = loop->scratch.now_us + VS_ROUND_US};
}

int vs_poll_init(struct loop *loop) {
    for (int i = 0; i < VS_LINES; i++)
        TAILQ_INIT(&loop->line[i]);
    TAILQ_INIT(&loop->gone);
    look_at_clock(loop);
    loop->awake.ready = on_wakes;
    loop->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->wakes >= 0 && loop->epoll >= 0 && vs_poll_watch(loop, loop->wakes, &loop->awake, EPOLLIN) == 0) return 0;
    int error = errno;
    vs_poll_end(loop);
    return error;
}

void vs_poll_end(struct loop *loop) {
    if (loop->wakes >= 0) close(loop->wakes);
    if (loop->epoll >= 0) close(loop->epoll);
}

static int wait_ms(const struct loop *loop) {
    uint64_t due_ms = UINT64_MAX;
    if (loop->has_put_off) return 0;
    for (int i = 0; i < VS_LINES; i++)
        if (loop->line_length[i] > 0) return 0;
    for (int i = 0; i < VS_TIMERS; i++)
        if (loop->timer[i].then && loop->timer[i].at_ms < due_ms) due_ms = loop->timer[i].at_ms;
    if (due_ms <= loop->now_ms) return 0;
    return due_ms - loop->now_ms < INT_MAX ? (int)(due_ms - loop->now_ms) : -1;
}

/* The clock is read twice in a round: when all of its requests had come, and when all were answered.  Each has taken as
 * long as the round, since it waited for those before it, and its reply is sent behind what all of them asked. */
static void count_durations(struct loop *loop) {
    uint64_t began_ns = loop->now_ns;
    look_at_clock(loop);
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        if (loop->answered[protocol] == 0) continue;
        vs_count_durations(loop->scratch.counts, (enum vs_protocol)protocol, (loop->now_ns - began_ns) / 1000,
                           loop->answered[protocol]);
        loop->answered[protocol] = 0;
    }
}

void vs_poll_run(struct loop *loop) {
    struct epoll_event events[VS_ROUND_MAX];
    while (!loop->closed) {
        /* by number: the C library's own has two locked instructions for a thread that could be cancelled */
        long count = syscall(SYS_epoll_pwait, loop->epoll, events, VS_ROUND_MAX, wait_ms(loop), NULL, 0);
        assert(count >= 0 || errno == EINTR);
        look_at_clock(loop);
        for (long i = 0; i < count; i++) {
            struct watched *of = events[i].data.ptr;
            of->ready(of, events[i].events);
        }
        /* first: signals and timers are heard whatever clients send */
        answer_calls(loop);
        run_timers(loop);
        vs_conn_retry_on(loop);
        vs_conn_serve(loop);
        count_durations(loop);
        vs_conn_bury(loop);
    }
}
