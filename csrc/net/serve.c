/* serve.c -- runs one loop per thread.  The loops only share the listening sockets.  Closes slow and idle connections,
 * and drains on TERM. */
#include "base/error.h"
#include "log/log.h"
#include "net/inside.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PARTIAL_MS 10000 /* time limit for a request, from its first byte */
#define SWEEP_MS 500
#define SHED_MS 1000
#define LINGER_MS 1000 /* delay of the close after the last reply, because a reset could discard that reply */
#define DRAIN_SWEEP_MS 10
#define FORCED_MS 500      /* time limit for writing the log after a second signal */
#define DRAIN_QUIET_MS 50  /* a connection silent for this long has nothing in flight */
#define DRAIN_BUSY_MS 2000 /* after this time, clients that never pause are disconnected between two requests */
/* after this time, all connections are ended.  The server has 5 s in total, and must still release worker ids */
#define DRAIN_MS 3000

_Static_assert(DRAIN_QUIET_MS < DRAIN_BUSY_MS && DRAIN_BUSY_MS < DRAIN_MS, "the steps of a drain are in order");

/* Held while a loop is woken or closed, so that a closed loop is never woken. */
static pthread_mutex_t net_waking = PTHREAD_MUTEX_INITIALIZER;

static bool net_is_first(const struct net_loop *loop) {
    return loop == loop->server->loops[0];
}

/* ------------------------------------------------------------------ sweeping and draining */

static void net_too_slow(struct net_conn *c) {
    net_refuse(c, NET_SLOW, 0);
    net_finish(c);
}

/* Returns whether a waiting connection is broken.  A waiting connection is not read, so only this check notices its
 * end.  A connection that the client closed in an orderly way is not broken. */
static bool net_is_torn(const struct net_conn *c) {
    struct pollfd at = {.fd = c->fd};
    return c->waits && poll(&at, 1, 0) == 1 && (at.revents & (POLLERR | POLLHUP));
}

/* Returns whether a connection must be closed because memory is short, its client or address holds a large part of it,
 * and the connection makes no progress.  A request that arrives byte by byte makes no progress until it is complete. */
static bool net_sits_on_memory(struct net_conn *c, uint64_t now) {
    size_t unsent = net_unsent(c);
    if (unsent < c->unsent) vs_set(&c->active_ms, now); /* the client reads, though slowly */
    c->unsent = unsent;
    uint64_t since_ms = c->have > 0 && !c->writing ? c->partial_ms : net_active_ms(c);
    return now - since_ms >= SHED_MS && c->loop->calls->is_short(c->of);
}

/* Returns whether the server must act next, because a request waits for an id or for a slice. */
static bool net_is_servers_turn(const struct net_conn *c) {
    return c->waits || (c->is_cut && !c->writing);
}

static void net_sweep_one(struct net_conn *c, uint64_t now) {
    net_look(c);
    if (!c->gone) net_header_look(c, now);
    if (c->gone) return;
    uint64_t idle_ms = c->loop->opts->idle_ms[c->kind];
    bool rests = !net_is_servers_turn(c), shed = net_sits_on_memory(c, now) && rests;
    bool idle = rests && now - net_active_ms(c) >= (c->lingering ? LINGER_MS : idle_ms);
    if (idle || net_is_torn(c) || net_secure_is_late(c, now))
        net_end(c);
    else if (shed)
        net_shed(c);
    else if (c->have > 0 && !c->is_cut && !c->lingering && !c->waits && !c->writing &&
             now - c->partial_ms >= PARTIAL_MS)
        net_too_slow(c);
}

/* Returns whether the socket has unread input, such as a request that arrived while this thread did not run. */
static bool net_has_unread(const struct net_conn *c) {
    int bytes = 0;
    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

static void net_drain_one(struct net_conn *c, uint64_t now) {
    uint64_t drain_ms = now - c->loop->drain_ms, quiet_ms = now - net_active_ms(c);
    if (drain_ms >= DRAIN_MS || (c->lingering && quiet_ms >= DRAIN_QUIET_MS))
        net_end(c);
    else if (c->lingering || c->waits || c->writing || c->is_partway)
        return;
    else if (drain_ms >= DRAIN_BUSY_MS ||
             (c->have == 0 && !c->is_cut && quiet_ms >= DRAIN_QUIET_MS && !net_has_unread(c)))
        net_finish(c);
}

static void net_close_loop(struct net_loop *loop) {
    pthread_mutex_lock(&net_waking);
    loop->closed = true;
    pthread_mutex_unlock(&net_waking);
    if (net_is_first(loop)) net_signals_end();
}

static void net_on_sweep(struct net_loop *loop) {
    uint64_t now = loop->now_ms;
    net_poll_timer(loop, NET_TIMER_SWEEP, loop->drain_ms ? DRAIN_SWEEP_MS : SWEEP_MS, net_on_sweep);
    /* release: pairs with net_passed */
    atomic_store_explicit(&loop->beat_ms, now, memory_order_release);
    loop->calls->sweep(loop->upper.loop, now);
    for (int i = 0; i < NET_LISTENERS_MAX; i++)
        (loop->drain_ms ? net_door_close : net_door_look)(&loop->door[i]);
    for (struct net_conn *c = TAILQ_FIRST(&loop->conns), *next; c; c = next) {
        next = TAILQ_NEXT(c, all);
        (loop->drain_ms ? net_drain_one : net_sweep_one)(c, now);
    }
    if (net_is_first(loop)) net_secure_tell(loop->server, now);
    if (loop->drain_ms && TAILQ_EMPTY(&loop->conns) && net_handover_end(loop)) net_close_loop(loop);
}

/* Keeps the listeners open until the first sweep, so that clients that connected before the signal are still
 * accepted. */
static void net_on_stop(struct net_loop *loop) {
    if (loop->drain_ms) return;
    loop->drain_ms = loop->now_ms;
    loop->calls->drain(loop->upper.loop);
    net_poll_timer(loop, NET_TIMER_SWEEP, DRAIN_SWEEP_MS, net_on_sweep);
}

static void net_on_wake(struct net_loop *loop) {
    loop->calls->woken(loop->upper.loop);
}

/* ------------------------------------------------------------------ calls from other threads */

static void net_call_all(struct net_server **at, enum net_call what) {
    pthread_mutex_lock(&net_waking);
    for (int i = 0; *at && i < (*at)->count; i++)
        if (!(*at)->loops[i]->closed) net_poll_call((*at)->loops[i], what);
    pthread_mutex_unlock(&net_waking);
}

void net_stop(struct net_server **server) {
    net_call_all(server, NET_CALL_STOP);
}

void net_wake(struct net_server **server) {
    net_call_all(server, NET_CALL_WAKE);
}

static void net_set_server(struct net_server **at, struct net_server *server) {
    pthread_mutex_lock(&net_waking);
    *at = server;
    pthread_mutex_unlock(&net_waking);
}

bool net_alive(struct net_server **server, int64_t within_ms) {
    bool alive = true;
    pthread_mutex_lock(&net_waking);
    uint64_t now = (uint64_t)vs_monotonic_us() / 1000;
    for (int i = 0; *server && i < (*server)->count; i++) {
        const struct net_loop *loop = (*server)->loops[i];
        uint64_t beat = atomic_load_explicit(&loop->beat_ms, memory_order_relaxed);
        if (!loop->closed && beat + (uint64_t)within_ms < now) alive = false;
    }
    pthread_mutex_unlock(&net_waking);
    return alive;
}

/* A loop sweeps between two steps, so a sweep after since_us proves that the step at since_us has ended. */
bool net_passed(struct net_server **server, int64_t since_us) {
    bool passed = true;
    pthread_mutex_lock(&net_waking);
    for (int i = 0; *server && i < (*server)->count; i++) {
        const struct net_loop *loop = (*server)->loops[i];
        /* acquire: pairs with net_on_sweep, so all work of the loop before that sweep is visible */
        uint64_t beat = atomic_load_explicit(&loop->beat_ms, memory_order_acquire);
        if (!loop->closed && (int64_t)beat <= since_us / 1000) passed = false;
    }
    pthread_mutex_unlock(&net_waking);
    return passed;
}

static void net_signal(struct net_server *server, int number, bool ends) {
    const struct net_opts *opts = server->opts;
    if (!ends) {
        if (opts->on_signal) opts->on_signal(opts->of_signals, number);
        return;
    }
    if (server->stopping) {
        vs_log_end(FORCED_MS);
        _exit(128 + number);
    }
    server->stopping = true;
    if (opts->stopping) opts->stopping(opts->of_signals);
    net_stop(&server);
}

/* ------------------------------------------------------------------ starting */

static void net_free_loop(struct net_loop *loop) {
    net_poll_end(loop);
    free(loop->spare);
    free(loop);
}

/* Adds a loop to the server.  Returns 0, or errno.  After a failure, net_on_stop closes the listeners. */
static int net_make_loop(struct net_server *server) {
    const struct net_opts *opts = server->opts;
    struct net_loop *loop = calloc(1, sizeof *loop + opts->out_max);
    int rc = ENOMEM;
    if (!loop || !opts->calls->loop(opts->self, server->count, loop, &loop->upper)) return free(loop), rc;
    loop->server = server;
    loop->opts = opts;
    loop->calls = opts->calls;
    loop->serve = net_serve_one;
    loop->settle = net_settle;
    if ((rc = net_poll_init(loop)) != 0) return free(loop), rc;
    TAILQ_INIT(&loop->conns);
    TAILQ_INIT(&loop->gone);
    TAILQ_INIT(&loop->shaking);
    for (int i = 0; i < NET_LINES; i++)
        TAILQ_INIT(&loop->line[i]);
    loop->out = (struct vs_out){.at = loop->replies, .size = opts->out_max};
    atomic_store_explicit(&loop->beat_ms, loop->now_ms, memory_order_relaxed);
    server->loops[server->count++] = loop;
    loop->on_call[NET_CALL_STOP] = net_on_stop;
    loop->on_call[NET_CALL_WAKE] = net_on_wake;
    net_handover_init(loop);
    net_poll_timer(loop, NET_TIMER_SWEEP, SWEEP_MS, net_on_sweep);
    for (int i = 0; i < opts->listener_count && rc == 0; i++)
        rc = net_door_open(loop, &loop->door[i], &opts->listener[i]);
    return rc;
}

static void *net_run_loop(void *arg) {
    net_poll_run(arg);
    return NULL;
}

/* Runs until all loops have ended.  Returns 0, or errno. */
static int net_run(struct net_server *server) {
    int rc = 0, running = 1;
    while (running < server->count && rc == 0 &&
           (rc = pthread_create(&server->loops[running]->thread, NULL, net_run_loop, server->loops[running])) == 0)
        running++;
    if (rc != 0) net_stop(&server);
    net_run_loop(server->loops[0]);
    for (int i = 1; i < server->count; i++) {
        if (i < running)
            pthread_join(server->loops[i]->thread, NULL);
        else
            net_run_loop(server->loops[i]); /* the thread was not started, so this thread closes its listeners */
    }
    return rc;
}

int net_serve(const struct net_opts *opts, struct net_server **published, struct vesta_error *err) {
    struct net_server server = {.opts = opts}, *self = &server;
    int rc = 0;
    assert(opts->threads >= 1 && opts->threads <= NET_THREADS_MAX);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < opts->threads && rc == 0; i++)
        rc = net_make_loop(&server);
    if (server.count == 0) return vs_fail(err, VESTA_ENOMEM, "cannot start a loop: %s", strerror(rc));
    if (rc == 0) rc = net_signals_watch(&server, net_signal);
    net_set_server(published, &server);
    if (rc == 0)
        opts->ready(opts->of_signals);
    else
        net_stop(&self);
    int started = net_run(&server);
    net_set_server(published, NULL);
    for (int i = 0; i < server.count; i++)
        net_free_loop(server.loops[i]);
    if (rc == 0) rc = started;
    return rc == 0 ? VESTA_OK : vs_fail(err, VESTA_EIO, "cannot start %d threads: %s", opts->threads, strerror(rc));
}
