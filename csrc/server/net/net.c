/* net.c -- connections: bytes in, replies out, waiting for an id.  Knows no protocol.
 *
 * A connection's bytes are parsed where they were read, in the loop's buffer; what a request still lacks is kept in a
 * buffer of its own, so an idle connection costs no buffer.  All replies to one read go out in one write. */
#include "server/net/net.h"
#include "os/thread.h"
#include "server/monitor/feed.h"
#include "server/problem.h"
#include "server/rights/rights.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_MAX (1 << 20)    /* bytes of replies to one connection before the others have their turn */
#define ROUND_BYTES_MAX 65536 /* of replies that wait until the others of the round were read */

_Static_assert(ROUND_BYTES_MAX + VS_REPLY_MAX <= VS_OUT_MAX, "there is room for a reply behind those of the round");

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

struct writing {
    size_t length, sent;
    char bytes[];
};

size_t vs_conn_unsent(const struct conn *c) {
    return c->writing ? c->writing->length - c->writing->sent : 0;
}

static void drop_writing(struct conn *c) {
    if (!c->writing) return;
    vs_session_give(&c->session, sizeof *c->writing + c->writing->length);
    free(c->writing);
    c->writing = NULL;
}

static void bury(struct conn *c) {
    drop_buf(c);
    drop_writing(c);
    vs_header_drop(c);
    vs_secure_free(c);
    assert(c->session.entry.bytes == 0);
    vs_add(&c->loop->scratch.counts->closed[c->session.protocol], 1);
    ledger_leave(c->session.app->ledger, &c->session.entry, c->loop->scratch.now_us);
    atomic_fetch_sub_explicit(&c->loop->load, 1, memory_order_relaxed);
    free(c);
}

void vs_conn_bury(struct loop *loop) {
    struct conn *c;
    while ((c = TAILQ_FIRST(&loop->gone))) {
        TAILQ_REMOVE(&loop->gone, c, all);
        bury(c);
    }
}

static void be_active(struct conn *c) {
    c->active_ms = c->loop->now_ms;
    vs_set(&c->session.member.active_ms, c->active_ms);
}

void vs_conn_end_asked(struct loop *loop) {
    if (!vs_roster_is_to_end(loop->server->opts->app, loop->scratch.loop)) return;
    for (struct conn *c = TAILQ_FIRST(&loop->conns), *next; c; c = next) {
        next = TAILQ_NEXT(c, all);
        if (atomic_load(&c->session.member.is_to_end)) vs_conn_end(c);
    }
}

void vs_conn_end(struct conn *c) {
    if (c->gone) return;
    if (c->waits) vs_conn_leave_queue(c);
    if (c->lined_up) vs_conn_leave_line(c);
    TAILQ_REMOVE(&c->loop->conns, c, all);
    vs_session_end(&c->session);
    vs_secure_end(c);
    vs_secure_leave(c);
    vs_poll_forget(c->loop, c->fd);
    close(c->fd);
    c->gone = true;
    TAILQ_INSERT_TAIL(&c->loop->gone, c, all);
}

void vs_conn_finish(struct conn *c) {
    if (c->gone) return;
    vs_secure_end(c);
    if (c->ended || shutdown(c->fd, SHUT_WR) != 0) {
        vs_conn_end(c);
        return;
    }
    drop_buf(c);
    vs_header_drop(c);
    c->is_cut = false;
    c->lingering = true;
    be_active(c);
    if (c->readable) vs_conn_line_up(c);
}

static void count_shed(struct conn *c) {
    vs_add(&c->loop->scratch.counts->shed[c->session.protocol], 1);
    vs_roster_note(c->session.app, c->loop->scratch.loop, VS_LAST_SHED, &c->peer);
}

void vs_conn_shed(struct conn *c) {
    static const struct vs_refusal overloaded = {
        .resp = "OOM your part of the memory for clients is used up", .status = "503 Service Unavailable", .again = true};
    bool silent = c->writing || c->waits || c->lingering || c->session.parts > 0;
    if (c->gone) return;
    count_shed(c);
    if (silent) { /* it is in the middle of something else */
        vs_conn_end(c);
        return;
    }
    vs_add(&c->loop->scratch.counts->requests[c->session.protocol][vs_code_named("overloaded")], 1);
    vs_conn_refuse(c, &overloaded);
    vs_conn_finish(c);
}

/* ------------------------------------------------------------------ writing */

/* By their numbers: in the C library they are points where a thread may be cancelled, which costs each of them two
 * locked instructions. */
static ssize_t put(struct conn *c, const char *bytes, size_t length) {
    if (c->is_secure) return vs_secure_put(c, bytes, length);
    return syscall(SYS_sendto, c->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
}

/* Less than there was room for is all there was. */
static ssize_t get(struct conn *c, char *to, size_t room, bool *more) {
    if (c->is_secure) return vs_secure_get(c, to, room, more);
    ssize_t got = syscall(SYS_recvfrom, c->fd, to, room, MSG_DONTWAIT, NULL, NULL);
    *more = got == (ssize_t)room;
    return got;
}

void vs_conn_refuse(struct conn *c, const struct vs_refusal *refusal) {
    char text[VS_REFUSAL_MAX];
    size_t length = vs_refusal_write(refusal, c->session.protocol, text);
    if (length > 0) (void)put(c, text, length);
}

/* Goes on with a connection that nothing holds up any more. */
void vs_conn_resume(struct conn *c) {
    if (c->writing || c->waits || c->lingering || c->gone) return;
    if (c->last) {
        vs_conn_finish(c);
        return;
    }
    if (c->have > 0 || c->session.waiting.request) work(c, c->buf, c->have);
    if (c->gone || c->lingering || c->writing || c->waits || c->is_cut) return;
    if (c->ended)
        vs_conn_end(c);
    else if (c->readable)
        vs_conn_line_up(c);
}

/* One writes until the socket takes no more; then its edge is waited for. */
static void write_on(struct conn *c) {
    struct writing *w = c->writing;
    ssize_t sent = put(c, w->bytes + w->sent, w->length - w->sent);
    if (sent < 0 && errno != EAGAIN) {
        vs_conn_end(c);
        return;
    }
    c->writable = false;
    if (sent > 0) w->sent += (size_t)sent;
    if (w->sent < w->length) return;
    drop_writing(c);
    vs_poll_change(c->loop, c->fd, &c->watched, VS_READS);
    be_active(c);
    vs_conn_resume(c);
}

/* What the socket did not take at once is written when it can; until then nothing is read: a client that does not read
 * its replies cannot make more of them.  Only then its edges are asked for: on a unix socket each reply that is read
 * makes one. */
static bool write_later(struct conn *c, const char *bytes, size_t length) {
    size_t size = sizeof *c->writing + length;
    if (!vs_session_take(&c->session, size)) return false;
    struct writing *writing = malloc(size);
    if (!writing || vs_poll_change(c->loop, c->fd, &c->watched, VS_READS | EPOLLOUT) != 0) {
        free(writing);
        return vs_session_give(&c->session, size), false;
    }
    *writing = (struct writing){.length = length};
    memcpy(writing->bytes, bytes, length);
    c->writing = writing;
    c->unsent = length;
    return true;
}

/* Sends c what is its own, now or when the others had their turn.  true: all of it is gone. */
static bool reply(struct conn *c, const char *bytes, size_t length, bool now) {
    ssize_t sent = now ? put(c, bytes, length) : 0;
    if (sent == (ssize_t)length) return true;
    if (sent < 0 && errno == EAGAIN) sent = 0;
    if (sent < 0) {
        vs_conn_end(c);
    } else if (!write_later(c, bytes + sent, length - (size_t)sent)) {
        count_shed(c);
        vs_conn_end(c); /* a half of a reply can be followed by nothing else */
    }
    return false;
}

/* The replies to c, behind those of the round, which are others'. */
static bool flush(struct conn *c, bool now) {
    struct loop *loop = c->loop;
    size_t length = loop->out.used - loop->round_used;
    loop->out.used = loop->round_used;
    return length == 0 || reply(c, loop->out.at + loop->out.used, length, now);
}

/* Replies are sent behind the reads of their round: what reads, parses and answers is not driven out of the processor's
 * caches by each of them. */
void vs_conn_send_round(struct loop *loop) {
    for (int i = 0; i < loop->round_length; i++) {
        struct replies *of = &loop->round[i];
        assert(!of->conn->gone);
        reply(of->conn, loop->out.at + of->from, of->length, true);
    }
    loop->round_length = 0;
    loop->out.used = loop->round_used = 0;
}

static void put_off(struct conn *c) {
    struct loop *loop = c->loop;
    size_t length = loop->out.used - loop->round_used;
    if (length == 0) return;
    loop->round[loop->round_length++] = (struct replies){c, loop->round_used, length};
    loop->round_used = loop->out.used;
    if (loop->round_length == VS_ROUND_MAX || loop->round_used > ROUND_BYTES_MAX) vs_conn_send_round(loop);
}

/* One that has not read the last event yet is not sent another: it misses some, and holds no more than one. */
void vs_conn_show(struct conn *c) {
    struct vs_session *session = &c->session;
    if (!session->viewer || c->last || c->lingering) return;
    if (!vs_rights_watches(session)) {
        vs_conn_end(c);
        return;
    }
    if (c->writing) return;
    vs_feed_put(session->app->feed, session->app, session->viewer, &c->loop->out);
    if (flush(c, true)) be_active(c);
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

/* Those of a round are counted at its end; one that waited for an id came with a round before, and is counted here. */
static void count_answered(struct conn *c, uint64_t came_ns) {
    struct vs_scratch *scratch = &c->loop->scratch;
    if (came_ns == 0)
        c->loop->answered[c->session.protocol] += scratch->answered;
    else if (scratch->answered > 0)
        vs_count_durations(scratch->counts, c->session.protocol, (uint64_t)vs_monotonic_us() - came_ns / 1000, scratch->answered);
    scratch->answered = 0;
}

/* One request: that which waits, else the next of data, from *at on. */
static int step(struct conn *c, const char *data, size_t length, size_t *at, struct vs_out *out) {
    const struct protocol *protocol = &protocols[c->session.protocol];
    if (c->session.waiting.request) return protocol->again(&c->session, out);
    int used = protocol->step(&c->session, data + *at, length - *at, out);
    if (used > 0)
        *at += (size_t)used;
    else if (used == VS_STEP_WAITS || used == VS_STEP_AGAIN)
        *at += c->session.waiting.bytes;
    return used;
}

/* Nothing is read from a connection that waits, so its end is asked for: no job is begun for a client that is gone. */
static void look_at_end(struct conn *c) {
    struct vs_desk_job *job = c->session.waiting.job;
    struct pollfd at = {.fd = c->fd, .events = POLLRDHUP};
    if (!job || !(c->unsure || c->ended) || poll(&at, 1, 0) < 1) return;
    if (at.revents & (POLLHUP | POLLERR))
        vs_conn_end(c);
    else if (at.revents & POLLRDHUP)
        atomic_store(&job->is_half_closed, true);
}

/* After a step that read and wrote `bytes`: whether the time of the connection is up. */
static bool is_time_up(struct conn *c, size_t bytes) {
    struct vs_quantum *quantum = &c->loop->scratch.quantum;
    quantum->cost += 1 + bytes / VS_QUANTUM_BYTES;
    return vs_quantum_is_over(quantum);
}

/* The rest of what c sent is worked on in its next slice.  It may have ended: its replies could not be sent. */
static void cut(struct conn *c, uint64_t came_ns) {
    if (c->gone) return;
    c->is_cut = true;
    c->came_ns = came_ns ? came_ns : c->loop->now_ns;
    if (!c->writing) vs_conn_line_up(c);
}

/* Answers the request that waits, and those in data, which is all that c has, until its time is up. */
static void work(struct conn *c, const char *data, size_t length) {
    struct loop *loop = c->loop;
    struct vs_out *out = &loop->out;
    size_t at = 0, written = 0;
    uint64_t came_ns = c->came_ns;
    int used = 1;
    bool blocked = false, is_over = false;
    c->came_ns = 0;
    c->is_cut = false;
    loop->scratch.began_ns = came_ns ? came_ns : loop->now_ns;
    while (!blocked && !is_over && !c->session.viewer && (at < length || c->session.waiting.request)) {
        size_t before = out->used, from = at;
        used = step(c, data, length, &at, out);
        size_t read = used == VS_STEP_MORE ? length - from : at - from;
        is_over = is_time_up(c, read + out->used - before);
        if (used <= 0 && used != VS_STEP_AGAIN) break;
        if (out->size - out->used >= VS_REPLY_MAX) continue;
        written += out->used - loop->round_used;
        blocked = !flush(c, written < TURN_MAX);
    }
    bool may_stand = loop->serving && !c->ended && (used > 0 || used == VS_STEP_MORE);
    if (!blocked && !may_stand) flush(c, true);
    count_answered(c, came_ns);
    if (c->gone) return;
    if (c->session.viewer) at = length;
    if (at > 0 || c->have == 0) c->partial_ms = loop->now_ms;
    if (used == VS_STEP_CLOSE) {
        c->last = true;
        if (!c->writing) vs_conn_finish(c);
    } else if (!keep(c, at < length ? data + at : NULL, length - at)) {
        flush(c, true);
        vs_conn_shed(c);
    } else if (used == VS_STEP_WAITS) {
        c->came_ns = came_ns ? came_ns : loop->now_ns;
        vs_conn_wait(c);
        look_at_end(c);
    } else {
        put_off(c);
        bool may_go_on = used > 0 || used == VS_STEP_AGAIN;
        if (may_go_on && (length > at || c->session.waiting.request)) cut(c, came_ns);
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

/* Where the next bytes go; NULL: there is no memory for them. */
static char *room_for(struct conn *c, size_t *room) {
    if (c->have == 0 || c->lingering) {
        *room = c->loop->is_late ? VS_READ_LATE : sizeof c->loop->in;
        return c->loop->in;
    }
    if (!make_room(c)) return NULL;
    *room = c->size - c->have;
    return c->buf + c->have;
}

static void take_in(struct conn *c, char *bytes, size_t length) {
    if (c->lingering || c->session.viewer) return; /* it may say what it likes */
    if (c->partial_ms == 0 && (vs_header_is_unlisted(c, bytes, length) || vs_secure_is_misled(c, bytes, length))) return;
    be_active(c);
    if (c->have > 0) bytes = c->buf, length = c->have += length;
    work(c, bytes, length);
}

/* Reads once: who has more to say is read on when the others had their turn.  What comes behind all there was has an edge
 * of its own; unless an end, a failure or urgent data cut it short. */
static void read_on(struct conn *c) {
    size_t room;
    bool more;
    char *to = room_for(c, &room);
    if (!to) {
        vs_conn_shed(c);
        return;
    }
    ssize_t got = get(c, to, room, &more);
    if (got < 0 && errno == EAGAIN) {
        c->readable = more;
        if (more) vs_conn_line_up(c);
        return;
    }
    c->readable = more || c->unsure;
    if (c->readable && got > 0) vs_conn_line_up(c);
    if (got > 0) {
        take_in(c, to, (size_t)got);
    } else if (got == 0 && !c->lingering) {
        c->ended = true;
        vs_conn_resume(c);
    } else {
        vs_conn_end(c);
    }
}

/* The stages of a connection, of which those before its protocol's are rare. */
static void read_stage(struct conn *c) {
    if (c->header) {
        vs_header_read(c);
        if (c->readable && !c->gone) vs_conn_line_up(c);
    } else if (c->is_secure && !c->is_shaken && !c->lingering) {
        vs_secure_shake(c);
    } else {
        read_on(c);
    }
}

/* Nothing is read while a reply is being written, an id is waited for or requests are left: `readable` remembers it. */
void vs_conn_serve_one(struct conn *c) {
    if (c->writing && c->writable)
        write_on(c);
    else if (c->is_cut)
        be_active(c), vs_conn_resume(c); /* a request is answered in each slice */
    else if (c->readable && !c->writing && !c->waits && !c->ended)
        read_stage(c);
}

static void on_edge(struct watched *of, uint32_t events) {
    struct conn *c = (struct conn *)of;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) c->writable = true, c->readable |= c->is_reversed;
    if (events & ~(uint32_t)EPOLLOUT) c->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) c->unsure = true;
    if (c->waits) look_at_end(c);
    if (!c->gone) vs_conn_line_up(c);
}

/* ------------------------------------------------------------------ beginning a connection */

void vs_conn_begin(struct conn *c, struct loop *loop) {
    struct vs_app *app = loop->server->opts->app;
    enum vs_protocol protocol = c->session.protocol;
    c->watched.ready = on_edge;
    c->loop = loop;
    c->session = (struct vs_session){.app = app,
                                     .scratch = &loop->scratch,
                                     .protocol = protocol,
                                     .entry = c->session.entry,
                                     .proxied = c->header != NULL,
                                     .peer = &c->peer};
    c->session.local = c->peer.family == 0 && !c->session.proxied;
    c->session.secure = c->is_secure;
    c->session.draining = loop->drain_ms != 0;
    c->session.began_us = app->clock->boot_us(app->clock->self);
    c->session.id =
        atomic_fetch_add_explicit(&app->clients, 1, memory_order_relaxed) + 1; /* a number, orders nothing */
    vs_roster_enter(&c->session, c->fd);
    vs_rights_begin(&c->session);
    be_active(c);
    c->stranger_ms = loop->now_ms;
    vs_add(&loop->scratch.counts->accepted[protocol], 1);
    TAILQ_INSERT_TAIL(&loop->conns, c, all);
    vs_secure_enter(c);
    if (vs_poll_watch(loop, c->fd, &c->watched, VS_READS) != 0) vs_conn_end(c);
}
