/* net.c -- loops, connections, buffers, waiting and drain.  The only file that knows libuv; knows no protocol.
 *
 * One loop a thread.  The loops share a listening socket and the generator, nothing else.  A connection's bytes are
 * parsed where they were read, in the loop's buffer; what a request still lacks is kept in a buffer of its own, so an
 * idle connection costs no buffer.  All replies to one read go out in one write. */
#include "server/request.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define SWEEP_MS 500
#define LINGER_MS 1000 /* after the last reply: let the client read it before a reset could tear it up */
#define DRAIN_SWEEP_MS 10
#define DRAIN_QUIET_MS 50  /* a connection that was silent for so long has nothing in flight */
#define DRAIN_BUSY_MS 2000 /* then clients that never pause are ended between two requests */
#define DRAIN_MS 5000      /* then everybody */
#define KEEPALIVE_S 60

_Static_assert(DRAIN_QUIET_MS < DRAIN_BUSY_MS && DRAIN_BUSY_MS < DRAIN_MS, "a drain goes from polite to strict");

union stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct conn {
    union stream io;
    struct loop *loop;
    TAILQ_ENTRY(conn) all, parking;
    struct vs_session session;
    char *buf; /* bytes of a request that is not complete, or could not be answered yet */
    size_t have, size;
    uint64_t active_ms, partial_ms; /* last progress; when the incomplete request began */
    bool reading, writing, parked;
    bool last;      /* the last reply is being written */
    bool lingering; /* it was written: only the client's end is waited for */
    bool ended;     /* the client will send no more */
};
TAILQ_HEAD(conns, conn);

struct loop {
    uv_loop_t uv;
    struct server *server;
    uv_thread_t thread;
    union stream listener[VS_FACES];
    bool listening[VS_FACES];
    uv_async_t stop;
    uv_timer_t sweep, retry;
    struct conns conns, parked;
    uint64_t retry_at_ms, drain_ms; /* 0: none, not draining */
    struct vs_out out;
    struct vs_scratch scratch;
    char in[VS_READ_MAX];
    char replies[VS_OUT_MAX];
};

struct server {
    const struct vs_serve_opts *opts;
    struct loop *loops[VS_THREADS_MAX];
    int count;
    uv_signal_t term, interrupt; /* on the first loop */
    bool stopping;
};

typedef int step(struct vs_session *, const char *, size_t, struct vs_out *);
static step *const steps[VS_FACES] = {[VS_RESP] = vs_resp_step, [VS_HTTP] = vs_http_step};
static const uint64_t idle_ms[VS_FACES] = {[VS_RESP] = VS_RESP_IDLE_MS, [VS_HTTP] = VS_HTTP_IDLE_MS};

static void work(struct conn *c, const char *data, size_t length);

/* ------------------------------------------------------------------ ending a connection */

static void on_closed(uv_handle_t *handle) {
    struct conn *c = handle->data;
    atomic_fetch_sub_explicit(&c->session.app->connections, 1, memory_order_relaxed); /* a count, orders nothing */
    free(c->buf);
    free(c);
}

static void end(struct conn *c) {
    if (uv_is_closing(&c->io.handle)) return;
    if (c->parked) TAILQ_REMOVE(&c->loop->parked, c, parking);
    TAILQ_REMOVE(&c->loop->conns, c, all);
    vs_session_settle(&c->session);
    uv_close(&c->io.handle, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf);

static void set_reading(struct conn *c, bool reading) {
    if (c->reading == reading || uv_is_closing(&c->io.handle)) return;
    c->reading = reading;
    if (!reading)
        uv_read_stop(&c->io.stream);
    else if (uv_read_start(&c->io.stream, on_alloc, on_read) != 0)
        end(c);
}

/* The last reply is written: says so, and waits a little for the client to have read it. */
static void finish(struct conn *c) {
    uv_os_fd_t fd;
    if (c->ended || uv_fileno(&c->io.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0) {
        end(c);
        return;
    }
    free(c->buf);
    c->buf = NULL, c->have = c->size = 0;
    c->lingering = true;
    c->active_ms = uv_now(&c->loop->uv);
    set_reading(c, true);
}

/* ------------------------------------------------------------------ writing */

struct writing {
    uv_write_t request;
    struct conn *conn;
    char bytes[];
};

/* Goes on with a connection that nothing holds up any more. */
static void resume(struct conn *c) {
    if (c->writing || c->parked || c->lingering || uv_is_closing(&c->io.handle)) return;
    if (c->last) {
        finish(c);
        return;
    }
    if (c->have > 0) work(c, c->buf, c->have);
    if (uv_is_closing(&c->io.handle) || c->lingering || c->writing || c->parked) return;
    if (c->ended)
        end(c);
    else
        set_reading(c, true);
}

static void on_written(uv_write_t *request, int status) {
    struct writing *writing = (struct writing *)request;
    struct conn *c = writing->conn;
    free(writing);
    c->writing = false;
    c->active_ms = uv_now(&c->loop->uv);
    if (status < 0)
        end(c);
    else
        resume(c);
}

/* What the socket did not take at once is written when it can; until then nothing is read: a client that does not read
 * its replies cannot make more of them. */
static bool write_later(struct conn *c, const char *bytes, size_t length) {
    struct writing *writing = malloc(sizeof *writing + length);
    if (!writing) return false;
    writing->conn = c;
    memcpy(writing->bytes, bytes, length);
    uv_buf_t buf = uv_buf_init(writing->bytes, (unsigned)length);
    if (uv_write(&writing->request, &c->io.stream, &buf, 1, on_written) != 0) {
        free(writing);
        return false;
    }
    c->writing = true;
    set_reading(c, false);
    return true;
}

/* Writes the loop's replies to c.  true: all of them are gone. */
static bool flush(struct conn *c) {
    struct vs_out *out = &c->loop->out;
    size_t length = out->used;
    out->used = 0;
    if (length == 0) return true;
    uv_buf_t buf = uv_buf_init(out->at, (unsigned)length);
    int sent = uv_try_write(&c->io.stream, &buf, 1);
    if (sent == (int)length) return true;
    if (sent == UV_EAGAIN) sent = 0;
    if (sent < 0 || !write_later(c, out->at + sent, length - (size_t)sent)) end(c);
    return false;
}

/* ------------------------------------------------------------------ waiting for an id */

static void on_retry(uv_timer_t *timer);

static void park(struct conn *c) {
    struct loop *loop = c->loop;
    uint64_t wait_ms = (uint64_t)(c->session.wait_us + 999) / 1000, at = uv_now(&loop->uv) + (wait_ms ? wait_ms : 1);
    c->parked = true;
    set_reading(c, false);
    TAILQ_INSERT_TAIL(&loop->parked, c, parking);
    if (loop->retry_at_ms == 0 || at < loop->retry_at_ms) {
        loop->retry_at_ms = at;
        uv_timer_start(&loop->retry, on_retry, wait_ms ? wait_ms : 1, 0);
    }
}

/* First come, first served: those who must wait again queue up behind in the same order. */
static void on_retry(uv_timer_t *timer) {
    struct loop *loop = timer->data;
    struct conns due = TAILQ_HEAD_INITIALIZER(due);
    struct conn *c;
    loop->retry_at_ms = 0;
    TAILQ_CONCAT(&due, &loop->parked, parking);
    while ((c = TAILQ_FIRST(&due))) {
        TAILQ_REMOVE(&due, c, parking);
        c->parked = false;
        resume(c);
    }
}

/* ------------------------------------------------------------------ reading */

/* Keeps what was not used; data is the loop's buffer or the connection's own. */
static bool keep(struct conn *c, const char *data, size_t length) {
    if (length == 0) {
        free(c->buf);
        c->buf = NULL, c->have = c->size = 0;
        return true;
    }
    if (data >= c->buf && data < c->buf + c->size) {
        memmove(c->buf, data, length);
    } else {
        c->buf = malloc(length);
        if (!c->buf) return false;
        memcpy(c->buf, data, length);
        c->size = length;
    }
    c->have = length;
    return true;
}

/* Answers the requests in data, which is all that c has. */
static void work(struct conn *c, const char *data, size_t length) {
    struct loop *loop = c->loop;
    struct vs_out *out = &loop->out;
    size_t at = 0;
    int used = 1;
    bool blocked = false;
    out->used = 0;
    while (at < length && !blocked) {
        used = steps[c->session.face](&c->session, data + at, length - at, out);
        if (used <= 0) break;
        at += (size_t)used;
        blocked = out->size - out->used < VS_REPLY_MAX && !flush(c);
    }
    if (!blocked) flush(c);
    if (uv_is_closing(&c->io.handle)) return;
    if (at > 0 || c->have == 0) c->partial_ms = uv_now(&loop->uv);
    if (used == VS_STEP_CLOSE) {
        c->last = true;
        set_reading(c, false);
        if (!c->writing) finish(c);
    } else if (!keep(c, data + at, length - at)) {
        end(c);
    } else if (used == VS_STEP_PAUSED) {
        park(c);
    }
}

/* An own buffer grows by doubling, so that a large request is copied twice at most. */
static bool make_room(struct conn *c) {
    if (c->size - c->have >= VS_READ_MAX / 16) return true;
    size_t size = 2 * c->size + VS_READ_MAX / 16;
    char *buf = realloc(c->buf, size);
    if (!buf) return false;
    c->buf = buf;
    c->size = size;
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct conn *c = handle->data;
    (void)suggested;
    if (c->have == 0 || c->lingering)
        *buf = uv_buf_init(c->loop->in, sizeof c->loop->in);
    else if (make_room(c))
        *buf = uv_buf_init(c->buf + c->have, (unsigned)(c->size - c->have));
    else
        *buf = uv_buf_init(NULL, 0); /* on_read is told, and ends the connection */
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
    struct conn *c = stream->data;
    if (got == UV_EOF && !c->lingering) {
        c->ended = true;
        set_reading(c, false);
        resume(c);
    } else if (got < 0) {
        end(c);
    }
    if (got <= 0 || c->lingering) return;
    c->active_ms = uv_now(&c->loop->uv);
    if (c->have == 0) {
        work(c, buf->base, (size_t)got);
        return;
    }
    c->have += (size_t)got;
    work(c, c->buf, c->have);
}

/* ------------------------------------------------------------------ accepting */

static void turn_away(struct conn *c) {
    static const char *const texts[VS_FACES] = {
        [VS_RESP] = "-ERR max number of clients reached\r\n",
        [VS_HTTP] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
                    "Retry-After: 1\r\nConnection: close\r\n\r\n"};
    const char *text = texts[c->session.face];
    uv_buf_t buf = uv_buf_init((char *)text, (unsigned)strlen(text));
    uv_try_write(&c->io.stream, &buf, 1);
    end(c);
}

static int init_stream(struct loop *loop, union stream *io, uv_handle_type type) {
    return type == UV_TCP ? uv_tcp_init(&loop->uv, &io->tcp) : uv_pipe_init(&loop->uv, &io->pipe, 0);
}

static void on_connection(uv_stream_t *listener, int status) {
    struct loop *loop = listener->data;
    struct conn *c = status == 0 ? calloc(1, sizeof *c) : NULL;
    if (!c) return; /* out of descriptors or memory: libuv tries again when there are some */
    struct vs_app *app = loop->server->opts->app;
    if (init_stream(loop, &c->io, listener->type) != 0) {
        free(c);
        return;
    }
    c->io.handle.data = c;
    c->loop = loop;
    c->session = (struct vs_session){.app = app, .scratch = &loop->scratch};
    c->session.face = listener == &loop->listener[VS_HTTP].stream ? VS_HTTP : VS_RESP;
    c->session.id =
        atomic_fetch_add_explicit(&app->clients, 1, memory_order_relaxed) + 1; /* a number, orders nothing */
    c->active_ms = uv_now(&loop->uv);
    TAILQ_INSERT_TAIL(&loop->conns, c, all);
    int before = atomic_fetch_add_explicit(&app->connections, 1, memory_order_relaxed);
    if (uv_accept(listener, &c->io.stream) != 0) {
        end(c);
        return;
    }
    if (listener->type == UV_TCP) {
        uv_tcp_nodelay(&c->io.tcp, 1);
        uv_tcp_keepalive(&c->io.tcp, 1, KEEPALIVE_S);
    }
    if (before >= VS_CONNECTIONS_MAX)
        turn_away(c);
    else
        set_reading(c, true);
}

/* ------------------------------------------------------------------ sweeping and draining */

static void too_slow(struct conn *c) {
    static const char text[] = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
                               "Connection: close\r\n\r\n";
    uv_buf_t buf = uv_buf_init((char *)text, sizeof text - 1);
    if (c->session.face == VS_HTTP) uv_try_write(&c->io.stream, &buf, 1);
    finish(c);
}

static void look_at(struct conn *c, uint64_t now) {
    if (c->lingering ? now - c->active_ms >= LINGER_MS : now - c->active_ms >= idle_ms[c->session.face])
        end(c);
    else if (c->have > 0 && !c->lingering && !c->parked && !c->writing && now - c->partial_ms >= VS_PARTIAL_MS)
        too_slow(c);
}

static void drain_one(struct conn *c, uint64_t now) {
    uint64_t drain_ms = now - c->loop->drain_ms, quiet_ms = now - c->active_ms;
    if (drain_ms >= DRAIN_MS || (c->lingering && quiet_ms >= DRAIN_QUIET_MS))
        end(c);
    else if (c->lingering || c->parked || c->writing)
        return;
    else if (drain_ms >= DRAIN_BUSY_MS || (c->have == 0 && quiet_ms >= DRAIN_QUIET_MS))
        finish(c);
}

static void close_loop(struct loop *loop) {
    uv_close((uv_handle_t *)&loop->sweep, NULL);
    uv_close((uv_handle_t *)&loop->retry, NULL);
    uv_close((uv_handle_t *)&loop->stop, NULL);
    if (loop == loop->server->loops[0]) {
        uv_close((uv_handle_t *)&loop->server->term, NULL);
        uv_close((uv_handle_t *)&loop->server->interrupt, NULL);
    }
}

static void on_sweep(uv_timer_t *timer) {
    struct loop *loop = timer->data;
    uint64_t now = uv_now(&loop->uv);
    for (struct conn *c = TAILQ_FIRST(&loop->conns), *next; c; c = next) {
        next = TAILQ_NEXT(c, all);
        (loop->drain_ms ? drain_one : look_at)(c, now);
    }
    if (loop->drain_ms && TAILQ_EMPTY(&loop->conns)) close_loop(loop);
}

static void on_stop(uv_async_t *async) {
    struct loop *loop = async->data;
    struct conn *c;
    if (loop->drain_ms) return;
    loop->drain_ms = uv_now(&loop->uv);
    for (int face = 0; face < VS_FACES; face++)
        if (loop->listening[face]) uv_close(&loop->listener[face].handle, NULL);
    TAILQ_FOREACH(c, &loop->conns, all)
    c->session.draining = true;
    uv_timer_start(&loop->sweep, on_sweep, DRAIN_SWEEP_MS, DRAIN_SWEEP_MS);
}

static void stop_all(struct server *server) {
    for (int i = 0; i < server->count; i++)
        uv_async_send(&server->loops[i]->stop);
}

static void on_signal(uv_signal_t *handle, int number) {
    struct server *server = handle->data;
    if (server->stopping) _exit(128 + number);
    server->stopping = true;
    stop_all(server);
}

/* ------------------------------------------------------------------ starting */

static int listen_on(struct loop *loop, enum vs_face face, int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    union stream *io = &loop->listener[face];
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return UV_EINVAL;
    bool local = address.ss_family == AF_UNIX;
    int own = dup(fd), rc = own < 0 ? UV_EMFILE : init_stream(loop, io, local ? UV_NAMED_PIPE : UV_TCP);
    if (rc != 0) {
        close(own);
        return rc;
    }
    io->handle.data = loop;
    loop->listening[face] = true;
    rc = local ? uv_pipe_open(&io->pipe, own) : uv_tcp_open(&io->tcp, own);
    if (rc != 0) {
        close(own);
        return rc;
    }
    return uv_listen(&io->stream, VS_BACKLOG, on_connection);
}

/* Starts what a loop has; what a failure leaves half made is closed by on_stop. */
static int fill_loop(struct loop *loop, const struct vs_serve_opts *opts) {
    int rc = 0;
    uv_async_init(&loop->uv, &loop->stop, on_stop);
    uv_timer_init(&loop->uv, &loop->sweep);
    uv_timer_init(&loop->uv, &loop->retry);
    loop->stop.data = loop->sweep.data = loop->retry.data = loop;
    uv_timer_start(&loop->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    for (int face = 0; face < VS_FACES && rc == 0; face++)
        if (opts->fd[face] >= 0) rc = listen_on(loop, face, opts->fd[face]);
    return rc;
}

static int make_loop(struct server *server) {
    struct loop *loop = calloc(1, sizeof *loop);
    int rc = loop ? uv_loop_init(&loop->uv) : UV_ENOMEM;
    if (rc != 0) {
        free(loop);
        return rc;
    }
    loop->server = server;
    loop->out = (struct vs_out){.at = loop->replies, .size = sizeof loop->replies};
    TAILQ_INIT(&loop->conns);
    TAILQ_INIT(&loop->parked);
    server->loops[server->count++] = loop;
    return fill_loop(loop, server->opts);
}

static void run_loop(void *arg) {
    struct loop *loop = arg;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&loop->uv);
    assert(rc == 0);
    (void)rc;
}

static void watch_signals(struct server *server) {
    uv_loop_t *uv = &server->loops[0]->uv;
    uv_signal_init(uv, &server->term);
    uv_signal_init(uv, &server->interrupt);
    server->term.data = server->interrupt.data = server;
    uv_signal_start(&server->term, on_signal, SIGTERM);
    uv_signal_start(&server->interrupt, on_signal, SIGINT);
}

/* Every connection is a descriptor; the usual soft limit of 1024 would be met first. */
static void raise_file_limit(void) {
    struct rlimit limit;
    rlim_t want = VS_CONNECTIONS_MAX + 256;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want) return;
    limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err) {
    struct server server = {.opts = opts};
    int rc = 0, running = 1;
    assert(opts->threads >= 1 && opts->threads <= VS_THREADS_MAX);
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < opts->threads && rc == 0; i++)
        rc = make_loop(&server);
    if (server.count == 0) return vs_fail(err, VESTA_ENOMEM, "cannot start a loop: %s", uv_strerror(rc));
    watch_signals(&server);
    while (running < server.count && rc == 0 &&
           (rc = uv_thread_create(&server.loops[running]->thread, run_loop, server.loops[running])) == 0)
        running++;
    if (rc != 0) stop_all(&server);
    run_loop(server.loops[0]);
    for (int i = 1; i < server.count; i++) {
        if (i < running)
            uv_thread_join(&server.loops[i]->thread);
        else
            run_loop(server.loops[i]); /* was never started: only closes what it has */
    }
    for (int i = 0; i < server.count; i++)
        free(server.loops[i]);
    return rc == 0 ? VESTA_OK : vs_fail(err, VESTA_EIO, "cannot start %d threads: %s", opts->threads, uv_strerror(rc));
}
