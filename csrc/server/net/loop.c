/* loop.c -- loops: one a thread, sharing the listening sockets and the generator, nothing else; sweeping out slow and
 * idle connections; draining on TERM.  Knows no protocol. */
#include "base/error.h"
#include "log/log.h"
#include "os/process.h"
#include "os/thread.h"
#include "server/monitor/feed.h"
#include "server/monitor/history.h"
#include "server/net/net.h"
#include "server/problem.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PARTIAL_MS 10000 /* a request must be complete this long after its first byte */
#define SWEEP_MS 500
#define SHED_MS 1000
#define LINGER_MS 1000 /* after the last reply: let the client read it before a reset could tear it up */
#define DRAIN_SWEEP_MS 10
#define FORCED_MS 500      /* who is told twice to end waits no longer for the log */
#define DRAIN_QUIET_MS 50  /* a connection that was silent for so long has nothing in flight */
#define DRAIN_BUSY_MS 2000 /* then clients that never pause are ended between two requests */
#define DRAIN_MS 3000      /* then everybody: who ends has 5 s, and numbers to give back */

_Static_assert(DRAIN_QUIET_MS < DRAIN_BUSY_MS && DRAIN_BUSY_MS < DRAIN_MS, "a drain goes from polite to strict");

/* Whoever wakes a loop must find it open: taken for that, and to say that it is open no more. */
static pthread_mutex_t waking = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ sweeping and draining */

static void too_slow(struct conn *c) {
    static const struct vs_refusal refusal = {.status = "408 Request Timeout"};
    vs_add(&c->loop->scratch.counts->requests[c->session.protocol][vs_code_named("too_slow")], 1);
    vs_conn_refuse(c, &refusal);
    vs_conn_finish(c);
}

/* Nothing is read from who waits for an id, so it is not known whether it still does; but a torn connection is. */
static bool is_torn(const struct conn *c) {
    struct pollfd at = {.fd = c->fd};
    return c->waits && poll(&at, 1, 0) == 1 && (at.revents & (POLLERR | POLLHUP));
}

/* Who must say a password has less time for it than who has said it may rest. */
static bool says_no_password(struct conn *c, uint64_t now) {
    bool stranger = vs_session_is_stranger(&c->session);
    if (!stranger || c->stranger_ms == 0) c->stranger_ms = stranger ? now : 0;
    return stranger && now - c->stranger_ms >= c->loop->server->opts->auth_ms;
}

/* If memory is short, a connection of a large holder must use what it holds: it is closed rather than those that come.
 * A request that comes byte by byte makes no progress until it is whole. */
static bool sits_on_memory(struct conn *c, uint64_t now) {
    size_t unsent = vs_conn_unsent(c);
    if (unsent < c->unsent) c->active_ms = now; /* the client reads, if slowly */
    c->unsent = unsent;
    uint64_t since_ms = c->have > 0 && !c->writing ? c->partial_ms : c->active_ms;
    return c->session.entry.bytes > 0 && now - since_ms >= SHED_MS &&
           ledger_is_short(c->session.app->ledger, &c->session.entry);
}

/* Whether the server, and not the client, is to do the next step: an id is waited for, or requests wait for a slice. */
static bool is_servers_turn(const struct conn *c) {
    return c->waits || (c->is_cut && !c->writing);
}

static void look_at(struct conn *c, uint64_t now) {
    vs_conn_show(c);
    if (!c->gone) vs_header_look(c, now);
    if (c->gone) return;
    uint64_t idle_ms = c->loop->server->opts->idle_ms[c->session.protocol];
    bool rests = !is_servers_turn(c), shed = sits_on_memory(c, now) && rests;
    bool idle = rests && now - c->active_ms >= (c->lingering ? LINGER_MS : idle_ms);
    if (idle || is_torn(c) || says_no_password(c, now) || vs_secure_is_late(c, now))
        vs_conn_end(c);
    else if (shed)
        vs_conn_shed(c);
    else if (c->have > 0 && !c->is_cut && !c->lingering && !c->waits && !c->writing &&
             now - c->partial_ms >= PARTIAL_MS)
        too_slow(c);
}

/* Whether bytes of the client wait to be read: its request, that came while this thread did not run. */
static bool has_unread(const struct conn *c) {
    int bytes = 0;
    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

static void drain_one(struct conn *c, uint64_t now) {
    uint64_t drain_ms = now - c->loop->drain_ms, quiet_ms = now - c->active_ms;
    if (drain_ms >= DRAIN_MS || (c->lingering && quiet_ms >= DRAIN_QUIET_MS))
        vs_conn_end(c);
    else if (c->lingering || c->waits || c->writing || c->session.parts > 0)
        return;
    else if (drain_ms >= DRAIN_BUSY_MS || (c->have == 0 && !c->is_cut && quiet_ms >= DRAIN_QUIET_MS && !has_unread(c)))
        vs_conn_finish(c);
}

static void close_loop(struct loop *loop) {
    pthread_mutex_lock(&waking);
    loop->closed = true;
    pthread_mutex_unlock(&waking);
    if (loop == loop->server->loops[0]) vs_signals_end(); /* a reload must not end what is being given back */
}

/* For Date: the clock is asked twice a second, and not by requests. */
static void tell_time(struct loop *loop) {
    const struct vesta_clock *clock = loop->server->opts->app->clock;
    vs_http_tick(&loop->scratch.http, clock->unix_us(clock->self) / 1000000);
}

static void on_sweep(struct loop *loop) {
    struct vs_app *app = loop->server->opts->app;
    uint64_t now = loop->now_ms;
    vs_poll_timer(loop, VS_TIMER_SWEEP, loop->drain_ms ? DRAIN_SWEEP_MS : SWEEP_MS, on_sweep);
    /* release: pairs with vs_serve_passed */
    atomic_store_explicit(&loop->beat_ms, now, memory_order_release);
    tell_time(loop);
    if (loop == loop->server->loops[0]) vs_history_look(app->history, app);
    for (int i = 0; i < VS_LISTENERS_MAX; i++)
        (loop->drain_ms ? vs_listener_close : vs_listener_look)(&loop->listener[i]);
    for (struct conn *c = TAILQ_FIRST(&loop->conns), *next; c; c = next) {
        next = TAILQ_NEXT(c, all);
        (loop->drain_ms ? drain_one : look_at)(c, now);
    }
    if (loop == loop->server->loops[0]) vs_listeners_tell(loop->server, now), vs_secure_tell(loop->server, now);
    if (loop->drain_ms && TAILQ_EMPTY(&loop->conns) && vs_handover_end(loop)) close_loop(loop);
}

/* The listeners live until the first sweep: who was connected when the signal came is still accepted. */
static void on_stop(struct loop *loop) {
    struct conn *c;
    if (loop->drain_ms) return;
    loop->drain_ms = loop->now_ms;
    for (c = TAILQ_FIRST(&loop->conns); c; c = TAILQ_NEXT(c, all))
        c->session.draining = true;
    vs_poll_timer(loop, VS_TIMER_SWEEP, DRAIN_SWEEP_MS, on_sweep);
}

static void call_all(struct server *server, enum vs_call_of_loop what) {
    pthread_mutex_lock(&waking);
    for (int i = 0; server && i < server->count; i++)
        if (!server->loops[i]->closed) vs_poll_call(server->loops[i], what);
    pthread_mutex_unlock(&waking);
}

static void call_served(struct vs_app *app, enum vs_call_of_loop what) {
    pthread_mutex_lock(&waking);
    for (int i = 0; app->server && i < app->server->count; i++)
        if (!app->server->loops[i]->closed) vs_poll_call(app->server->loops[i], what);
    pthread_mutex_unlock(&waking);
}

void vs_serve_stop(struct vs_app *app) {
    call_served(app, VS_CALL_STOP);
}

void vs_serve_wake(struct vs_app *app) {
    call_served(app, VS_CALL_WAKE);
}

void vs_signal_came(struct server *server, int number, bool ends) {
    const struct vs_serve_opts *opts = server->opts;
    if (!ends) {
        if (opts->on_signal) opts->on_signal(opts->self, number);
        return;
    }
    if (server->stopping) {
        vs_log_end(FORCED_MS);
        _exit(128 + number);
    }
    server->stopping = true;
    if (opts->stopping) opts->stopping(opts->self);
    call_all(server, VS_CALL_STOP);
}

static void on_wake(struct loop *loop) {
    vs_conn_end_asked(loop);
    vs_conn_retry(loop);
}

bool vs_serve_alive(struct vs_app *app, int64_t within_ms) {
    bool alive = true;
    pthread_mutex_lock(&waking);
    uint64_t now = (uint64_t)vs_monotonic_us() / 1000;
    for (int i = 0; app->server && i < app->server->count; i++) {
        const struct loop *loop = app->server->loops[i];
        uint64_t beat = atomic_load_explicit(&loop->beat_ms, memory_order_relaxed);
        if (!loop->closed && beat + (uint64_t)within_ms < now) alive = false;
    }
    pthread_mutex_unlock(&waking);
    return alive;
}

/* A sweep is between two requests. */
bool vs_serve_passed(struct vs_app *app, int64_t since_us) {
    bool passed = true;
    pthread_mutex_lock(&waking);
    for (int i = 0; app->server && i < app->server->count; i++) {
        const struct loop *loop = app->server->loops[i];
        /* acquire: pairs with on_sweep; what the loop did before is done */
        uint64_t beat = atomic_load_explicit(&loop->beat_ms, memory_order_acquire);
        if (!loop->closed && (int64_t)beat <= since_us / 1000) passed = false;
    }
    pthread_mutex_unlock(&waking);
    return passed;
}

static void set_server(struct vs_app *app, struct server *server) {
    pthread_mutex_lock(&waking);
    app->server = server;
    pthread_mutex_unlock(&waking);
}

/* ------------------------------------------------------------------ starting */

/* Starts what a loop has; what a failure leaves half made is closed by on_stop. */
static int fill_loop(struct loop *loop, const struct vs_serve_opts *opts) {
    int rc = 0;
    loop->on_call[VS_CALL_STOP] = on_stop;
    loop->on_call[VS_CALL_WAKE] = on_wake;
    vs_handover_init(loop);
    vs_poll_timer(loop, VS_TIMER_SWEEP, SWEEP_MS, on_sweep);
    for (int i = 0; i < opts->listener_count && rc == 0; i++)
        rc = vs_listener_open(loop, &loop->listener[i], &opts->listener[i]);
    return rc;
}

static void free_loop(struct loop *loop) {
    if (!loop) return;
    vs_scratch_free(&loop->scratch);
    free(loop->queue);
    free(loop->spare);
    free(loop);
}

static struct loop *new_loop(const struct vs_app *app) {
    struct loop *loop = calloc(1, sizeof *loop);
    int queues = vs_queues_of(app);
    if (!loop || !vs_scratch_make(&loop->scratch, app) ||
        !(loop->queue = calloc((size_t)queues, sizeof *loop->queue)))
        return free_loop(loop), NULL;
    TAILQ_INIT(&loop->conns);
    TAILQ_INIT(&loop->waited_for);
    TAILQ_INIT(&loop->shaking);
    for (int i = 0; i < queues; i++)
        TAILQ_INIT(&loop->queue[i].conns);
    return loop;
}

static int make_loop(struct server *server) {
    struct loop *loop = new_loop(server->opts->app);
    int rc = loop ? vs_poll_init(loop) : ENOMEM;
    if (rc != 0) return free_loop(loop), rc;
    loop->server = server;
    loop->shaking_holder.divisor = server->opts->threads; /* so that all of them together may hold as much as they leave free */
    loop->out = (struct vs_out){.at = loop->replies, .size = sizeof loop->replies};
    atomic_store_explicit(&loop->beat_ms, loop->now_ms, memory_order_relaxed);
    tell_time(loop);
    loop->scratch.loop = server->count;
    server->opts->app->counts[server->count] = loop->scratch.counts;
    server->loops[server->count++] = loop;
    server->opts->app->loop_count = server->count;
    return fill_loop(loop, server->opts);
}

static void *run_loop(void *arg) {
    vs_poll_run(arg);
    return NULL;
}

static void tell_limits(const struct vs_limits *l) {
    static const char few[] =
        "the limit of file descriptors leaves room for fewer connections than are configured: " VS_RAISE_DESCRIPTORS
        " or lower connections_max";
    vs_log(VS_LOG_INFO, "client limits", "connections", VS_DIGITS(l->connections_max), "http",
           VS_DIGITS(l->proto_max[VS_HTTP]), "resp", VS_DIGITS(l->proto_max[VS_RESP]), "admin",
           VS_DIGITS(l->proto_max[VS_ADMIN]), "http_of_one_address", VS_DIGITS(l->of_address[VS_HTTP]),
           "resp_of_one_address", VS_DIGITS(l->of_address[VS_RESP]), "memory_mib", VS_DIGITS(l->memory_max >> 20),
           "descriptors", VS_DIGITS(l->descriptors), "reserved", VS_DIGITS(l->reserved), "tags",
           VS_DIGITS(l->tags.listed + l->tags.found_max), NULL);
    if (l->cut_from)
        vs_log(VS_LOG_WARN, few, "configured", VS_DIGITS(l->cut_from), "connections", VS_DIGITS(l->connections_max),
               NULL);
}

static bool is_unix(int fd) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_UNIX;
}

/* What clients may have, measured by what the process has. */
static int make_ledger(const struct vs_serve_opts *opts, struct vesta_error *err) {
    struct vs_limits limits = opts->limits;
    struct vs_process_usage usage = {.open_fds = 32};
    vs_process_measure(&usage);
    struct vs_plan plan = {.open = (int)usage.open_fds,
                           .threads = opts->threads,
                           .namespaces = opts->app->ns_count,
                           .keepers = opts->keepers};
    for (int i = 0; i < opts->listener_count; i++) {
        plan.listeners[opts->listener[i].protocol]++;
        plan.unix_listeners[opts->listener[i].protocol] += is_unix(opts->listener[i].fd);
    }
    int rc = vs_limits_fit(&limits, &plan, err);
    if (rc != VESTA_OK) return rc;
    struct vs_accounts *accounts = opts->app->gate ? vs_gate_hold(opts->app->gate) : NULL;
    opts->app->ledger = ledger_new(&limits);
    if (opts->app->ledger && accounts) ledger_set(opts->app->ledger, accounts, vs_monotonic_us());
    vs_accounts_let(accounts);
    if (!opts->app->ledger) return vs_fail(err, VESTA_ENOMEM, "no memory for %d connections", limits.connections_max);
    tell_limits(&limits);
    return VESTA_OK;
}

static void free_monitor(struct vs_app *app) {
    vs_feed_free(app->feed);
    vs_history_free(app->history);
    vs_roster_free(app->roster);
    app->feed = NULL;
    app->history = NULL;
    app->roster = NULL;
}

static int make_monitor(struct vs_app *app, int loops, struct vesta_error *err) {
    app->feed = vs_feed_new();
    app->history = vs_history_new(app->ns_count);
    app->roster = vs_roster_new(loops);
    return app->feed && app->history && app->roster ? VESTA_OK
                                                    : vs_fail(err, VESTA_ENOMEM, "no memory for the admin's view");
}

int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err) {
    struct server server = {.opts = opts};
    int rc = 0, running = 1;
    assert(opts->threads >= 1 && opts->threads <= VS_THREADS_MAX);
    if ((rc = make_ledger(opts, err)) != VESTA_OK || (rc = make_monitor(opts->app, opts->threads, err)) != VESTA_OK)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < opts->threads && rc == 0; i++)
        rc = make_loop(&server);
    if (server.count == 0) {
        free_monitor(opts->app);
        return vs_fail(err, VESTA_ENOMEM, "cannot start a loop: %s", strerror(rc));
    }
    if (rc == 0) rc = vs_signals_watch(&server);
    set_server(opts->app, &server);
    if (rc == 0) opts->ready(opts->self);
    while (running < server.count && rc == 0 &&
           (rc = pthread_create(&server.loops[running]->thread, NULL, run_loop, server.loops[running])) == 0)
        running++;
    if (rc != 0) call_all(&server, VS_CALL_STOP);
    run_loop(server.loops[0]);
    for (int i = 1; i < server.count; i++) {
        if (i < running)
            pthread_join(server.loops[i]->thread, NULL);
        else
            run_loop(server.loops[i]); /* was never started: only closes what it has */
    }
    set_server(opts->app, NULL);
    opts->app->loop_count = 0;
    free_monitor(opts->app);
    for (int i = 0; i < server.count; i++) {
        vs_poll_end(server.loops[i]);
        free_loop(server.loops[i]);
    }
    return rc == 0 ? VESTA_OK : vs_fail(err, VESTA_EIO, "cannot start %d threads: %s", opts->threads, strerror(rc));
}
