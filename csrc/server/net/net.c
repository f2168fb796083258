/* net.c -- connections: bytes in, replies out, waiting for an id.  Knows libuv; knows no protocol.
 *
 * A connection's bytes are parsed where they were read, in the loop's buffer; what a request still lacks is kept in a
 * buffer of its own, so an idle connection costs no buffer.  All replies to one read go out in one write. */
#include "server/net/net.h"
#include "server/monitor/feed.h"
#include "server/problem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_MAX (1 << 20) /* bytes of replies to one connection before the others have their turn */

static const struct protocol {
    int (*step)(struct vs_session *, const char *, size_t, struct vs_out *);
    int (*again)(struct vs_session *, struct vs_out *);
} protocols[VS_PROTOCOLS] = {[VS_RESP] = {vs_resp_step, vs_resp_again},
                             [VS_HTTP] = {vs_http_step, vs_http_again},
                             [VS_ADMIN] = {vs_http_step, vs_http_again}};

static void work(struct conn *c, const char *data, size_t length);

/* ------------------------------------------------------------------ ending a connection */

static void drop_buf(struct conn *c) {
    free(c->buf);
    vs_session_give(&c->session, c->size);
    c->buf = NULL, c->have = c->size = 0;
}

static void on_closed(uv_handle_t *handle) {
    struct conn *c = handle->data;
    drop_buf(c);
    assert(c->session.memory == 0);
    vs_add(&c->loop->scratch.counts.closed[c->session.protocol], 1);
    vs_budget_leave(c->session.app->budget, c->session.protocol, &c->peer);
    atomic_fetch_sub_explicit(&c->loop->load, 1, memory_order_relaxed);
    free(c);
}

static void leave_queue(struct conn *c) {
    struct loop *loop = c->loop;
    TAILQ_REMOVE(&loop->queue[c->session.waiting.queue].conns, c, queued);
    loop->scratch.queue[c->session.waiting.queue].waiting--;
    vs_add(&loop->scratch.counts.waiting, (uint64_t)-1);
    c->waits = false;
}

void vs_conn_end(struct conn *c) {
    if (uv_is_closing(&c->io.handle)) return;
    if (c->waits) leave_queue(c);
    TAILQ_REMOVE(&c->loop->conns, c, all);
    vs_session_end(&c->session);
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
        vs_conn_end(c);
}

void vs_conn_finish(struct conn *c) {
    uv_os_fd_t fd;
    if (c->ended || uv_fileno(&c->io.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0) {
        vs_conn_end(c);
        return;
    }
    drop_buf(c);
    c->lingering = true;
    c->active_ms = uv_now(&c->loop->uv);
    set_reading(c, true);
}

void vs_conn_shed(struct conn *c) {
    static const char resp[] = "-OOM clients hold all the memory they are allowed\r\n",
                      http[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
                               "Retry-After: 1\r\nConnection: close\r\n\r\n";
    bool is_resp = c->session.protocol == VS_RESP, silent = c->writing || c->waits || c->lingering;
    if (uv_is_closing(&c->io.handle)) return;
    vs_add(&c->loop->scratch.counts.shed[c->session.protocol], 1);
    if (silent) { /* it is in the middle of something else */
        vs_conn_end(c);
        return;
    }
    vs_add(&c->loop->scratch.counts.requests[c->session.protocol][vs_code_named("overloaded")], 1);
    send(c->fd, is_resp ? resp : http, is_resp ? sizeof resp - 1 : sizeof http - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    vs_conn_finish(c);
}

/* ------------------------------------------------------------------ writing */

struct writing {
    uv_write_t request;
    struct conn *conn;
    size_t length;
    char bytes[];
};

/* Goes on with a connection that nothing holds up any more. */
static void resume(struct conn *c) {
    if (c->writing || c->waits || c->lingering || uv_is_closing(&c->io.handle)) return;
    if (c->last) {
        vs_conn_finish(c);
        return;
    }
    if (c->have > 0 || c->session.waiting.request) work(c, c->buf, c->have);
    if (uv_is_closing(&c->io.handle) || c->lingering || c->writing || c->waits) return;
    if (c->ended)
        vs_conn_end(c);
    else
        set_reading(c, true);
}

static void on_written(uv_write_t *request, int status) {
    struct writing *writing = (struct writing *)request;
    struct conn *c = writing->conn;
    vs_session_give(&c->session, sizeof *writing + writing->length);
    free(writing);
    c->writing = false;
    c->active_ms = uv_now(&c->loop->uv);
    if (status < 0)
        vs_conn_end(c);
    else
        resume(c);
}

/* What the socket did not take at once is written when it can; until then nothing is read: a client that does not read
 * its replies cannot make more of them. */
static bool write_later(struct conn *c, const char *bytes, size_t length) {
    if (!vs_session_take(&c->session, sizeof(struct writing) + length)) return false;
    struct writing *writing = malloc(sizeof *writing + length);
    if (!writing) return vs_session_give(&c->session, sizeof *writing + length), false;
    writing->conn = c;
    writing->length = length;
    memcpy(writing->bytes, bytes, length);
    uv_buf_t buf = uv_buf_init(writing->bytes, (unsigned)length);
    if (uv_write(&writing->request, &c->io.stream, &buf, 1, on_written) != 0) {
        free(writing);
        return vs_session_give(&c->session, sizeof *writing + length), false;
    }
    c->writing = true;
    c->unsent = length;
    set_reading(c, false);
    return true;
}

/* Writes the loop's replies to c, now or when the other connections had their turn.  true: all of them are gone.
 * Nothing of c is queued in libuv here, since `writing` holds up whoever would come this far; so the socket is written
 * to directly: send is cheaper than write, which takes the way of files. */
static bool flush(struct conn *c, bool now) {
    struct vs_out *out = &c->loop->out;
    size_t length = out->used;
    out->used = 0;
    if (length == 0) return true;
    ssize_t sent = now ? send(c->fd, out->at, length, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    if (sent == (ssize_t)length) return true;
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) sent = 0;
    if (sent < 0) {
        vs_conn_end(c);
    } else if (!write_later(c, out->at + sent, length - (size_t)sent)) {
        vs_add(&c->loop->scratch.counts.shed[c->session.protocol], 1);
        vs_conn_end(c); /* a half of a reply can be followed by nothing else */
    }
    return false;
}

/* One that has not read the last event yet is not sent another: it misses some, and holds no more than one. */
void vs_conn_show(struct conn *c) {
    struct vs_session *session = &c->session;
    if (!session->viewer || c->writing || c->last || c->lingering) return;
    c->loop->out.used = 0;
    vs_feed_put(session->app->feed, session->app, session->viewer, &c->loop->out);
    if (flush(c, true)) c->active_ms = uv_now(&c->loop->uv);
}

/* ------------------------------------------------------------------ waiting for an id */

static void on_retry(uv_timer_t *timer);

static void retry_at(struct loop *loop, uint64_t at_ms) {
    uint64_t now_ms = uv_now(&loop->uv);
    if (loop->retry_at_ms != 0 && loop->retry_at_ms <= at_ms) return;
    loop->retry_at_ms = at_ms;
    uv_timer_start(&loop->retry, on_retry, at_ms > now_ms ? at_ms - now_ms : 1, 0);
}

static void wait_in_queue(struct conn *c) {
    struct loop *loop = c->loop;
    struct queue *queue = &loop->queue[c->session.waiting.queue];
    uint64_t wait_ms = (uint64_t)(c->session.waiting.wait_us + 999) / 1000,
             at = uv_now(&loop->uv) + (wait_ms ? wait_ms : 1);
    c->waits = true;
    set_reading(c, false);
    TAILQ_INSERT_TAIL(&queue->conns, c, queued);
    loop->scratch.queue[c->session.waiting.queue].waiting++;
    vs_add(&loop->scratch.counts.waiting, 1);
    if (loop->queues_used <= c->session.waiting.queue) loop->queues_used = c->session.waiting.queue + 1;
    if (queue->retry_at_ms == 0 || at < queue->retry_at_ms) queue->retry_at_ms = at;
    retry_at(loop, at);
}

/* Others than `first`, which must wait on, may have waited for long enough, or for a word that has been said. */
static void tell_others(struct queue *queue, const struct conn *first) {
    const struct vesta_clock *clock = first->session.app->clock;
    int64_t now_us = clock->boot_us(clock->self);
    int left = first->loop->scratch.queue[first->session.waiting.queue].waiting;
    for (struct conn *c = TAILQ_FIRST(&queue->conns), *next; c && left > 0; c = next, left--) {
        next = TAILQ_NEXT(c, queued);
        if (c == first || !vs_session_is_due(&c->session, now_us)) continue;
        leave_queue(c);
        resume(c);
    }
}

/* First come, first served, until one must wait on; the others are not asked then: they would wait for the same id.
 * Who got nothing keeps its place; who got a part of what it wants lets the others go first, so that no large batch
 * takes all there is for as long as it may wait. */
static void serve_queue(struct queue *queue) {
    struct conn *c;
    queue->retry_at_ms = 0;
    while ((c = TAILQ_FIRST(&queue->conns))) {
        int64_t deadline_us = c->session.waiting.deadline_us;
        size_t kept = c->session.waiting.ids_count;
        leave_queue(c);
        resume(c);
        if (!c->waits || c->session.waiting.deadline_us != deadline_us ||
            &c->loop->queue[c->session.waiting.queue] != queue)
            continue; /* served, or it waits for another namespace now; what it asks next is at the tail */
        if (c->session.waiting.ids_count == kept) {
            TAILQ_REMOVE(&queue->conns, c, queued);
            TAILQ_INSERT_HEAD(&queue->conns, c, queued);
        }
        tell_others(queue, c);
        return;
    }
}

/* Who waits for a table to be read may wait for another one than who is before it; those who must wait on are at the
 * tail again. */
static void serve_queue_of_tables(struct loop *loop) {
    struct queue *queue = &loop->queue[VS_QUEUE_OF_TABLES];
    struct conn *c;
    queue->retry_at_ms = 0;
    for (int left = loop->scratch.queue[VS_QUEUE_OF_TABLES].waiting; left > 0 && (c = TAILQ_FIRST(&queue->conns)); left--) {
        leave_queue(c);
        resume(c);
    }
}

static void retry_queue(struct loop *loop, int i) {
    if (i == VS_QUEUE_OF_TABLES)
        serve_queue_of_tables(loop);
    else
        serve_queue(&loop->queue[i]);
}

/* Each namespace and tag has a queue of its own: where one pauses the others go on. */
static void retry_queues(struct loop *loop, uint64_t due_ms) {
    int count = loop->queues_used;
    loop->retry_at_ms = 0;
    for (int i = 0; i < count; i++)
        if (loop->queue[i].retry_at_ms != 0 && loop->queue[i].retry_at_ms <= due_ms) retry_queue(loop, i);
    for (int i = 0; i < count; i++)
        if (loop->queue[i].retry_at_ms != 0) retry_at(loop, loop->queue[i].retry_at_ms);
}

static void on_retry(uv_timer_t *timer) {
    struct loop *loop = timer->data;
    retry_queues(loop, uv_now(&loop->uv));
}

void vs_conn_retry(struct loop *loop) {
    retry_queues(loop, UINT64_MAX);
}

/* ------------------------------------------------------------------ reading */

/* Keeps what was not used; data is the loop's buffer or the connection's own. */
static bool keep(struct conn *c, const char *data, size_t length) {
    if (length == 0) {
        if (c->buf) drop_buf(c);
        return true;
    }
    if (data >= c->buf && data < c->buf + c->size) {
        memmove(c->buf, data, length);
    } else {
        if (!vs_session_take(&c->session, length)) return false;
        c->buf = malloc(length);
        if (!c->buf) return vs_session_give(&c->session, length), false;
        memcpy(c->buf, data, length);
        c->size = length;
    }
    c->have = length;
    return true;
}

/* The clock is read twice for all requests of a read: that is when all of them came and all of them were answered.
 * Those that waited for an id came with the read before they did. */
static void count_durations(struct conn *c, uint64_t since_ns) {
    struct vs_scratch *scratch = &c->loop->scratch;
    if (scratch->answered == 0) return;
    vs_count_durations(&scratch->counts, c->session.protocol, (uv_hrtime() - since_ns) / 1000, scratch->answered);
    scratch->answered = 0;
}

/* One request: that which waits, else the next of data, from *at on. */
static int step(struct conn *c, const char *data, size_t length, size_t *at, struct vs_out *out) {
    const struct protocol *protocol = &protocols[c->session.protocol];
    if (c->session.waiting.request) return protocol->again(&c->session, out);
    int used = protocol->step(&c->session, data + *at, length - *at, out);
    if (used > 0)
        *at += (size_t)used;
    else if (used == VS_STEP_WAITS)
        *at += c->session.waiting.bytes;
    return used;
}

/* Answers the request that waits, and those in data, which is all that c has. */
static void work(struct conn *c, const char *data, size_t length) {
    struct loop *loop = c->loop;
    struct vs_out *out = &loop->out;
    size_t at = 0, written = 0;
    uint64_t since_ns = c->came_ns ? c->came_ns : uv_hrtime();
    int used = 1;
    bool blocked = false;
    c->came_ns = 0;
    out->used = 0;
    while (!blocked && !c->session.viewer && (at < length || c->session.waiting.request)) {
        used = step(c, data, length, &at, out);
        if (used <= 0 && used != VS_STEP_AGAIN) break;
        if (out->size - out->used >= VS_REPLY_MAX) continue;
        written += out->used;
        blocked = !flush(c, written < TURN_MAX);
    }
    if (!blocked) flush(c, true);
    count_durations(c, since_ns);
    if (uv_is_closing(&c->io.handle)) return;
    if (c->session.viewer) at = length;
    if (at > 0 || c->have == 0) c->partial_ms = uv_now(&loop->uv);
    if (used == VS_STEP_CLOSE) {
        c->last = true;
        if (!c->writing) vs_conn_finish(c);
    } else if (!keep(c, at < length ? data + at : NULL, length - at)) {
        vs_conn_shed(c);
    } else if (used == VS_STEP_WAITS) {
        c->came_ns = since_ns;
        wait_in_queue(c);
    }
}

/* An own buffer grows by doubling, so that a large request is copied twice at most. */
static bool make_room(struct conn *c) {
    if (c->size - c->have >= VS_READ_MAX / 16) return true;
    size_t size = 2 * c->size + VS_READ_MAX / 16;
    if (!vs_session_take(&c->session, size - c->size)) return false;
    char *buf = realloc(c->buf, size);
    if (!buf) return vs_session_give(&c->session, size - c->size), false;
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
    } else if (got == UV_ENOBUFS) {
        vs_conn_shed(c);
    } else if (got < 0) {
        vs_conn_end(c);
    }
    if (got <= 0 || c->lingering) return;
    if (c->session.viewer) return; /* it may say what it likes */
    c->active_ms = uv_now(&c->loop->uv);
    if (c->have == 0) {
        work(c, buf->base, (size_t)got);
        return;
    }
    c->have += (size_t)got;
    work(c, c->buf, c->have);
}

/* ------------------------------------------------------------------ beginning a connection */

static int open_stream(struct conn *c) {
    int rc = c->peer.family == 0 ? uv_pipe_open(&c->io.pipe, c->fd) : uv_tcp_open(&c->io.tcp, c->fd);
    if (rc != 0) close(c->fd);
    return rc;
}

void vs_conn_begin(struct conn *c, struct loop *loop) {
    struct vs_app *app = loop->server->opts->app;
    enum vs_protocol protocol = c->session.protocol;
    bool is_local = c->peer.family == 0;
    c->loop = loop;
    c->session = (struct vs_session){
        .app = app, .scratch = &loop->scratch, .protocol = protocol, .local = is_local, .peer = &c->peer};
    c->session.draining = loop->drain_ms != 0;
    c->session.began_us = app->clock->boot_us(app->clock->self);
    c->session.id =
        atomic_fetch_add_explicit(&app->clients, 1, memory_order_relaxed) + 1; /* a number, orders nothing */
    c->active_ms = c->stranger_ms = uv_now(&loop->uv);
    vs_add(&loop->scratch.counts.accepted[protocol], 1);
    if (is_local)
        uv_pipe_init(&loop->uv, &c->io.pipe, 0);
    else
        uv_tcp_init(&loop->uv, &c->io.tcp); /* neither opens anything yet, nor can fail */
    c->io.handle.data = c;
    TAILQ_INSERT_TAIL(&loop->conns, c, all);
    if (open_stream(c) != 0)
        vs_conn_end(c);
    else
        set_reading(c, true);
}
