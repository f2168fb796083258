/* poll.c -- what a loop waits for, and one round of it.  Knows epoll and libuv; knows no connection's ways.
 *
 * Sockets stand in an epoll of the loop's own: each is entered once and told of at its edges, so a request costs a read
 * and a write, and its part of one wait.  libuv keeps what is not hot: timers, signals, what other threads wake a loop
 * with.  Its own epoll is one descriptor among those of ours; it runs when that is readable or a timer is due. */
#include "server/net/net.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEVER UINT64_MAX

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

/* libuv counts from when it ran last, which may be half a second ago. */
void vs_poll_timer(struct loop *loop, uv_timer_t *timer, uv_timer_cb then, uint64_t in_ms) {
    uv_update_time(&loop->uv);
    uv_timer_start(timer, then, in_ms, 0);
    loop->due_ms = 0;
}

static void on_libuv(struct watched *of, uint32_t events) {
    struct loop *loop = (struct loop *)((char *)of - offsetof(struct loop, libuv));
    (void)events;
    loop->libuv_ready = true;
}

static void look_at_clock(struct loop *loop) {
    loop->now_ns = uv_hrtime();
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
    loop->libuv.ready = on_libuv;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0) return uv_translate_sys_error(errno);
    if (vs_poll_watch(loop, uv_backend_fd(&loop->uv), &loop->libuv, EPOLLIN) == 0) return 0;
    int rc = uv_translate_sys_error(errno);
    close(loop->epoll);
    return rc;
}

static int wait_ms(const struct loop *loop) {
    if (loop->libuv_ready || loop->has_put_off || loop->due_ms <= loop->now_ms) return 0;
    for (int i = 0; i < VS_LINES; i++)
        if (loop->line_length[i] > 0) return 0;
    uint64_t left_ms = loop->due_ms - loop->now_ms;
    return left_ms < INT_MAX ? (int)left_ms : -1;
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

/* It is asked for its first timer when it has run: that is when it has the time, and what it waits for in its epoll. */
static bool run_libuv(struct loop *loop) {
    loop->libuv_ready = false;
    bool alive = uv_run(&loop->uv, UV_RUN_NOWAIT) != 0;
    int left_ms = uv_backend_timeout(&loop->uv);
    loop->due_ms = left_ms < 0 ? NEVER : loop->now_ms + (uint64_t)left_ms;
    return alive;
}

void vs_poll_run(struct loop *loop) {
    struct epoll_event events[VS_ROUND_MAX];
    bool alive = true;
    while (alive) {
        /* by number: the C library's own has two locked instructions for a thread that could be cancelled */
        long count = syscall(SYS_epoll_pwait, loop->epoll, events, VS_ROUND_MAX, wait_ms(loop), NULL, 0);
        assert(count >= 0 || errno == EINTR);
        look_at_clock(loop);
        for (long i = 0; i < count; i++) {
            struct watched *of = events[i].data.ptr;
            of->ready(of, events[i].events);
        }
        /* first: signals and timers are heard whatever clients send */
        if (loop->libuv_ready || loop->due_ms <= loop->now_ms) alive = run_libuv(loop);
        vs_conn_retry_on(loop);
        vs_conn_serve(loop);
        count_durations(loop);
        vs_conn_bury(loop);
    }
    close(loop->epoll);
}
