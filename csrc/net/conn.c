/* conn.c -- a connection: bytes in, replies out.  Contains no protocol code.
 *
 * Bytes are parsed where they were read, in the loop's buffer.  An incomplete request moves to a buffer of the
 * connection, so an idle connection has no buffer.  All replies to the requests of one read are sent in one write. */
#include "net/inside.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_MAX (1 << 20)    /* bytes of replies to a connection before other connections are served */
#define ROUND_BYTES_MAX 65536 /* bytes of replies that are held back until all connections of the round were read */
#define REFUSAL_MAX 512

static void net_work(struct net_conn *c, const char *data, size_t length);

/* ------------------------------------------------------------------ memory */

bool net_take(struct net_conn *c, size_t bytes) {
    return c->loop->calls->take(c->of, bytes);
}

void net_give(struct net_conn *c, size_t bytes) {
    c->loop->calls->give(c->of, bytes);
}

static void net_drop_buf(struct net_conn *c) {
    if (!c->buf) return;
    free(c->buf);
    net_give(c, c->size);
    c->buf = NULL, c->have = c->size = 0;
}

struct net_writing {
    size_t length, sent;
    char bytes[];
};

size_t net_unsent(const struct net_conn *c) {
    return c->writing ? c->writing->length - c->writing->sent : 0;
}

static void net_drop_writing(struct net_conn *c) {
    if (!c->writing) return;
    net_give(c, sizeof *c->writing + c->writing->length);
    free(c->writing);
    c->writing = NULL;
}

/* ------------------------------------------------------------------ ending a connection */

/* Frees connections that ended in this round. */
static void net_bury(struct net_loop *loop) {
    struct net_conn *c;
    while ((c = TAILQ_FIRST(&loop->gone))) {
        TAILQ_REMOVE(&loop->gone, c, all);
        net_drop_buf(c);
        net_drop_writing(c);
        net_secure_free(c);
        loop->calls->leave(c->of);
        atomic_fetch_sub_explicit(&loop->load, 1, memory_order_relaxed);
        free(c);
    }
}

uint64_t net_active_ms(const struct net_conn *c) {
    return vs_get(&c->active_ms);
}

void net_be_active(struct net_conn *c) {
    vs_set(&c->active_ms, c->loop->now_ms);
}

void net_each(struct net_loop *loop, void (*with)(void *of, struct net_conn *conn)) {
    for (struct net_conn *c = TAILQ_FIRST(&loop->conns), *next; c; c = next) {
        next = TAILQ_NEXT(c, all);
        with(c->of, c);
    }
}

void net_end(struct net_conn *c) {
    const struct net_calls *calls = c->loop->calls;
    if (c->gone) return;
    if (c->waits) calls->unwait(c->of);
    c->waits = false;
    if (c->lined_up) net_leave_line(c);
    TAILQ_REMOVE(&c->loop->conns, c, all);
    calls->end(c->of);
    net_secure_end(c);
    net_secure_leave(c);
    net_poll_forget(c->loop, c->fd);
    close(c->fd);
    c->gone = true;
    TAILQ_INSERT_TAIL(&c->loop->gone, c, all);
}

void net_finish(struct net_conn *c) {
    if (c->gone) return;
    net_secure_end(c);
    if (c->ended || shutdown(c->fd, SHUT_WR) != 0) {
        net_end(c);
        return;
    }
    net_drop_buf(c);
    c->has_header = c->is_cut = false;
    c->lingering = true;
    net_be_active(c);
    if (c->readable) net_line_up(c);
}

static void net_count_shed(struct net_conn *c) {
    c->loop->calls->shed(c->loop->upper.loop, c->kind, &c->peer);
}

void net_shed(struct net_conn *c) {
    bool silent = c->writing || c->waits || c->lingering || c->is_partway;
    if (c->gone) return;
    net_count_shed(c);
    if (silent) { /* an error reply must not follow a partial or pending reply */
        net_end(c);
        return;
    }
    net_refuse(c, NET_SHED, 0);
    net_finish(c);
}

/* ------------------------------------------------------------------ writing */

/* Uses the system call directly: the C library's functions are cancellation points, which cost two locked instructions
 * each. */
static ssize_t net_put(struct net_conn *c, const char *bytes, size_t length) {
    if (c->is_secure) return net_secure_put(c, bytes, length);
    return syscall(SYS_sendto, c->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
}

/* Reads once.  If a read of a plain socket returns fewer bytes than requested, no more input is available. */
static ssize_t net_get(struct net_conn *c, char *to, size_t room, bool *more) {
    if (c->is_secure) return net_secure_get(c, to, room, more);
    ssize_t got = syscall(SYS_recvfrom, c->fd, to, room, MSG_DONTWAIT, NULL, NULL);
    *more = got == (ssize_t)room;
    return got;
}

void net_refuse(struct net_conn *c, enum net_refusal why, int detail) {
    char text[REFUSAL_MAX];
    struct vs_out out = {.at = text, .size = sizeof text};
    c->loop->calls->refuse(c->of, c->kind, why, detail, &out);
    if (out.used > 0) (void)net_put(c, text, out.used);
}

void net_refuse_plain(struct net_loop *loop, int fd, int kind, enum net_refusal why) {
    char text[REFUSAL_MAX];
    struct vs_out out = {.at = text, .size = sizeof text};
    loop->calls->refuse(NULL, kind, why, 0, &out);
    if (out.used > 0) send(fd, text, out.used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Serves a connection again after it waited. */
static void net_resume(struct net_conn *c) {
    if (c->writing || c->waits || c->lingering || c->gone) return;
    if (c->last) {
        net_finish(c);
        return;
    }
    if (c->have > 0 || c->is_pending) net_work(c, c->buf, c->have);
    if (c->gone || c->lingering || c->writing || c->waits || c->is_cut) return;
    if (c->ended)
        net_end(c);
    else if (c->readable)
        net_line_up(c);
}

void net_serve_waiter(struct net_conn *c) {
    c->waits = false;
    net_serve_late(c, net_resume);
}

/* Writes until the socket is full, then waits until epoll reports that the socket is writable. */
static void net_write_on(struct net_conn *c) {
    struct net_writing *w = c->writing;
    ssize_t sent = net_put(c, w->bytes + w->sent, w->length - w->sent);
    if (sent < 0 && errno != EAGAIN) {
        net_end(c);
        return;
    }
    c->writable = false;
    if (sent > 0) w->sent += (size_t)sent;
    if (w->sent < w->length) return;
    net_drop_writing(c);
    net_poll_change(c->loop, c->fd, &c->watched, NET_READS);
    net_be_active(c);
    net_resume(c);
}

/* Buffers the bytes that the socket did not accept.  The connection is not read until these bytes are written, so a
 * client that does not read its replies cannot cause further replies.  EPOLLOUT is only watched from now on, because on
 * a unix socket it would cause an event for each reply that the client reads. */
static bool net_write_later(struct net_conn *c, const char *bytes, size_t length) {
    size_t size = sizeof *c->writing + length;
    if (!net_take(c, size)) return false;
    struct net_writing *writing = malloc(size);
    if (!writing || net_poll_change(c->loop, c->fd, &c->watched, NET_READS | EPOLLOUT) != 0) {
        free(writing);
        return net_give(c, size), false;
    }
    *writing = (struct net_writing){.length = length};
    memcpy(writing->bytes, bytes, length);
    c->writing = writing;
    c->unsent = length;
    return true;
}

/* Sends replies: immediately if `now` is set, otherwise after other connections were served.  Returns whether all bytes
 * were sent. */
static bool net_reply(struct net_conn *c, const char *bytes, size_t length, bool now) {
    ssize_t sent = now ? net_put(c, bytes, length) : 0;
    if (sent == (ssize_t)length) return true;
    if (sent < 0 && errno == EAGAIN) sent = 0;
    if (sent < 0) {
        net_end(c);
    } else if (!net_write_later(c, bytes + sent, length - (size_t)sent)) {
        net_count_shed(c);
        net_end(c); /* a partial reply cannot be followed by anything else */
    }
    return false;
}

/* Sends the replies of c, which are in `out` after the replies that the round holds back. */
static bool net_flush(struct net_conn *c, bool now) {
    struct net_loop *loop = c->loop;
    size_t length = loop->out.used - loop->round_used;
    loop->out.used = loop->round_used;
    return length == 0 || net_reply(c, loop->out.at + loop->out.used, length, now);
}

/* Sends the replies that the round held back.  They are sent after all reads of the round, because each write would
 * evict the code that reads, parses and replies from the processor's caches. */
static void net_send_round(struct net_loop *loop) {
    for (int i = 0; i < loop->round_length; i++) {
        struct net_reply *of = &loop->round[i];
        assert(!of->conn->gone);
        net_reply(of->conn, loop->out.at + of->from, of->length, true);
    }
    loop->round_length = 0;
    loop->out.used = loop->round_used = 0;
}

static void net_put_off(struct net_conn *c) {
    struct net_loop *loop = c->loop;
    size_t length = loop->out.used - loop->round_used;
    if (length == 0) return;
    loop->round[loop->round_length++] = (struct net_reply){c, loop->round_used, length};
    loop->round_used = loop->out.used;
    if (loop->round_length == NET_ROUND_MAX || loop->round_used > ROUND_BYTES_MAX) net_send_round(loop);
}

/* Does not send an event to a client that has not yet read the previous event. */
void net_look(struct net_conn *c) {
    bool may_send = c->streams && !c->writing && !c->last && !c->lingering;
    struct net_loop *loop = c->loop;
    size_t before = loop->out.used;
    if (!loop->calls->look(c->of, loop->now_ms, may_send ? &loop->out : NULL)) {
        loop->out.used = before;
        net_end(c);
    } else if (may_send && net_flush(c, true)) {
        net_be_active(c);
    }
}

/* ------------------------------------------------------------------ reading */

/* Stores the bytes that no step consumed.  `data` points into the loop's buffer or the connection's buffer. */
static bool net_keep(struct net_conn *c, const char *data, size_t length) {
    if (length == 0) {
        if (c->buf) net_drop_buf(c);
        return true;
    }
    if (data >= c->buf && data < c->buf + c->size) {
        memmove(c->buf, data, length);
    } else {
        if (!net_take(c, length)) return false;
        c->buf = malloc(length);
        if (!c->buf) return net_give(c, length), false;
        memcpy(c->buf, data, length);
        c->size = length;
    }
    c->have = length;
    return true;
}

/* Runs the pending request, or if there is none, the next request at data + *at. */
static int net_step(struct net_conn *c, const char *data, size_t length, size_t *at, uint64_t came_ns) {
    struct net_input in = {
        .bytes = data + *at, .length = length - *at, .is_pending = c->is_pending, .came_ns = came_ns};
    c->loop->has_stepped = true;
    int used = c->loop->calls->step(c->of, &in, &c->loop->out);
    if (!c->is_pending) *at += used > 0 ? (size_t)used : used == NET_WAITS || used == NET_PART ? in.used : 0;
    if (used != NET_MORE) c->is_pending = used == NET_WAITS || used == NET_PART;
    if (used == NET_PART || !c->is_pending) c->is_partway = used == NET_PART;
    c->streams |= in.streams;
    return used;
}

/* Polls the socket to notice that the client has closed it, because a waiting connection is not read.  So no job is
 * begun for a client that is gone. */
static void net_look_at_end(struct net_conn *c) {
    struct pollfd at = {.fd = c->fd, .events = POLLRDHUP};
    if (!(c->unsure || c->ended) || poll(&at, 1, 0) < 1) return;
    if (at.revents & (POLLHUP | POLLERR))
        net_end(c);
    else if (at.revents & POLLRDHUP)
        c->loop->calls->half_closed(c->of);
}

/* Adds the cost of a step that read and wrote `bytes`.  Returns whether the connection's slice is over. */
static bool net_is_time_up(struct net_conn *c, size_t bytes) {
    struct net_quantum *quantum = c->loop->upper.quantum;
    quantum->cost += 1 + bytes / NET_QUANTUM_BYTES;
    return net_quantum_is_over(quantum);
}

/* Leaves the remaining requests to the next slice.  The connection may already have ended, because its replies could
 * not be sent. */
static void net_cut(struct net_conn *c, uint64_t came_ns) {
    if (c->gone) return;
    c->is_cut = true;
    c->came_ns = came_ns ? came_ns : c->loop->now_ns;
    if (!c->writing) net_line_up(c);
}

/* Processes the pending request and the requests in data, until the slice is over.  `data` is all input of c. */
static void net_work(struct net_conn *c, const char *data, size_t length) {
    struct net_loop *loop = c->loop;
    struct vs_out *out = &loop->out;
    size_t at = 0, written = 0, room = loop->opts->reply_max;
    uint64_t came_ns = c->came_ns;
    int used = 1;
    bool blocked = false, is_over = false;
    c->came_ns = 0;
    c->is_cut = false;
    while (!blocked && !is_over && !c->streams && (at < length || c->is_pending)) {
        size_t before = out->used, from = at;
        used = net_step(c, data, length, &at, came_ns);
        size_t read = used == NET_MORE ? length - from : at - from;
        is_over = net_is_time_up(c, read + out->used - before);
        if (used <= 0 && used != NET_PART) break;
        if (out->size - out->used >= room) continue;
        written += out->used - loop->round_used;
        blocked = !net_flush(c, written < TURN_MAX);
    }
    bool may_stand = loop->serving && !c->ended && (used > 0 || used == NET_MORE);
    if (!blocked && !may_stand) net_flush(c, true);
    if (c->gone) return;
    if (c->streams) at = length;
    if (at > 0 || c->have == 0) c->partial_ms = loop->now_ms;
    if (used == NET_CLOSE) {
        c->last = true;
        if (!c->writing) net_finish(c);
    } else if (!net_keep(c, at < length ? data + at : NULL, length - at)) {
        net_flush(c, true);
        net_shed(c);
    } else if (used == NET_WAITS) {
        c->came_ns = came_ns ? came_ns : loop->now_ns;
        c->waits = true;
        loop->calls->wait(c->of);
        net_look_at_end(c);
    } else {
        net_put_off(c);
        bool may_go_on = used > 0 || used == NET_PART;
        if (may_go_on && (length > at || c->is_pending)) net_cut(c, came_ns);
    }
}

/* Enlarges the buffer by doubling it, so that a large request is copied at most twice. */
static bool net_make_room(struct net_conn *c) {
    if (c->size - c->have >= NET_READ_MAX / 16) return true;
    size_t size = 2 * c->size + NET_READ_MAX / 16;
    if (!net_take(c, size - c->size)) return false;
    char *buf = realloc(c->buf, size);
    if (!buf) return net_give(c, size - c->size), false;
    c->buf = buf;
    c->size = size;
    return true;
}

/* Returns the buffer for the next read and sets *room to its size.  Returns NULL if there is no memory. */
static char *net_room_for(struct net_conn *c, size_t *room) {
    if (c->have == 0 || c->lingering) {
        *room = c->loop->is_late ? NET_READ_LATE : sizeof c->loop->in;
        return c->loop->in;
    }
    if (!net_make_room(c)) return NULL;
    *room = c->size - c->have;
    return c->buf + c->have;
}

/* Ends the connection and returns true if the bytes begin a PROXY header or TLS handshake that is not allowed here. */
static bool net_is_lost(struct net_conn *c, const char *bytes, size_t length) {
    if (c->partial_ms != 0) return false;
    switch (*bytes) {
    case 0x16: return net_secure_is_misled(c, bytes, length);
    case '\r':
    case 'P': return net_header_is_unlisted(c, bytes, length);
    default: return false;
    }
}

static void net_take_in(struct net_conn *c, char *bytes, size_t length) {
    if (c->lingering || c->streams) return; /* further input is ignored */
    if (net_is_lost(c, bytes, length)) return;
    net_be_active(c);
    if (c->have > 0) bytes = c->buf, length = c->have += length;
    net_work(c, bytes, length);
}

/* Reads once.  Other connections are served before this connection is read again.  After a short read the socket is
 * empty, and later bytes cause a new edge.  The exception is a read that an end of file, an error or urgent data cut
 * short (`unsure`). */
static void net_read_on(struct net_conn *c) {
    size_t room;
    bool more;
    char *to = net_room_for(c, &room);
    if (!to) {
        net_shed(c);
        return;
    }
    ssize_t got = net_get(c, to, room, &more);
    if (got < 0 && errno == EAGAIN) {
        c->readable = more;
        if (more) net_line_up(c);
        return;
    }
    c->readable = more || c->unsure;
    if (c->readable && got > 0) net_line_up(c);
    if (got > 0) {
        net_take_in(c, to, (size_t)got);
    } else if (got == 0 && !c->lingering) {
        c->ended = true;
        net_resume(c);
    } else {
        net_end(c);
    }
}

/* A connection has up to three stages: PROXY header, TLS handshake, protocol. */
static void net_read_stage(struct net_conn *c) {
    if (c->has_header) {
        net_header_read(c);
        if (c->readable && !c->gone) net_line_up(c);
    } else if (c->is_secure && !c->is_shaken && !c->lingering) {
        net_secure_shake(c);
    } else {
        net_read_on(c);
    }
}

/* A connection is not read while it writes a reply, waits, or has unanswered requests.  `readable` stores that epoll
 * has reported input. */
void net_serve_one(struct net_conn *c) {
    if (c->writing && c->writable)
        net_write_on(c);
    else if (c->is_cut)
        net_be_active(c), net_resume(c); /* each slice answers a request, so the connection is active */
    else if (c->readable && !c->writing && !c->waits && !c->ended)
        net_read_stage(c);
}

void net_settle(struct net_loop *loop) {
    net_send_round(loop);
    net_bury(loop);
}

static void net_on_edge(struct net_watched *of, uint32_t events) {
    struct net_conn *c = (struct net_conn *)of;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) c->writable = true, c->readable |= c->is_reversed;
    if (events & ~(uint32_t)EPOLLOUT) c->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) c->unsure = true;
    if (c->waits) net_look_at_end(c);
    if (!c->gone) net_line_up(c);
}

/* ------------------------------------------------------------------ beginning a connection */

void net_begin(struct net_conn *c, struct net_loop *loop) {
    c->watched.ready = net_on_edge;
    c->loop = loop;
    net_be_active(c);
    loop->calls->begin(c->of, loop->upper.loop,
                       &(struct net_arrival){c, c->fd, c->kind, c->is_secure, c->is_proxied, &c->peer});
    TAILQ_INSERT_TAIL(&loop->conns, c, all);
    if (c->is_secure) net_secure_enter(c);
    if (net_poll_watch(loop, c->fd, &c->watched, NET_READS) != 0) net_end(c);
}
