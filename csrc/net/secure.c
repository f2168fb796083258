/* secure.c -- TLS: the handshake at the beginning of a connection, and encrypted reads and writes.  Contains no
 * protocol or OpenSSL code. */
#include "log/log.h"
#include "net/inside.h"
#include "tls/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SHAKE_MS 5000 /* time limit for a handshake */
/* Maximum memory of a handshake: 44 KiB, a message of 128 KiB and a record of 16 KiB.  After the handshake, TLS uses 15
 * KiB. */
#define SHAKE_BYTES 196608
#define HANDSHAKE 0x16 /* first byte of a TLS handshake (the second byte is 3) */
#define HEAD_BYTES 5   /* record header, which ends with the length of the record */
#define HELLO_MAX 4096 /* a handshake begins when this many bytes of a longer ClientHello have arrived */

static pthread_mutex_t net_failing = PTHREAD_MUTEX_INITIALIZER; /* guards server->failed */

static const struct vs_tls *net_tls(const struct net_conn *c) {
    return c->loop->opts->tls;
}

/* ------------------------------------------------------------------ counts and the log */

static void net_count_shake(struct net_conn *c, enum net_shake what, const char *why) {
    struct net_shake_failed *last = &c->loop->server->failed[what];
    vs_add(&c->loop->upper.counts->shakes[c->kind][what], 1);
    if (what == NET_SHAKE_OK) return;
    pthread_mutex_lock(&net_failing);
    vs_peer_text(&c->peer, last->address);
    snprintf(last->why, sizeof last->why, "%s", why);
    pthread_mutex_unlock(&net_failing);
}

static uint64_t net_total_shakes(const struct net_server *server, enum net_shake what) {
    uint64_t sum = 0;
    for (int i = 0; i < server->count; i++)
        for (int kind = 0; kind < NET_KINDS; kind++)
            sum += vs_get(&server->loops[i]->upper.counts->shakes[kind][what]);
    return sum;
}

void net_secure_tell(struct net_server *server, uint64_t now_ms) {
    static const char *const sentences[NET_SHAKES] = {
        [NET_SHAKE_FAILED] = "TLS handshakes failed",
        [NET_SHAKE_LATE] = "TLS handshakes were not finished in time",
        [NET_SHAKE_PLAIN] = "clients connected to a TLS listener without TLS: use https:// or redis-cli --tls",
        [NET_SHAKE_MISLED] =
            "clients connected to a plain listener with TLS: write tls: before its address, or use http://"};
    for (int what = NET_SHAKE_FAILED; what < NET_SHAKES; what++) {
        uint64_t more = net_untold(&server->told_shakes[what], net_total_shakes(server, (enum net_shake)what), now_ms);
        if (more == 0) continue;
        pthread_mutex_lock(&net_failing);
        struct net_shake_failed last = server->failed[what];
        pthread_mutex_unlock(&net_failing);
        vs_log(VS_LOG_WARN, sentences[what], "count", VS_DIGITS((int64_t)more), "last_address", last.address,
               "last_error", *last.why ? last.why : NULL, NULL);
    }
}

/* ------------------------------------------------------------------ clients of the wrong listener */

static void net_turn_back(struct net_conn *c, enum net_shake what) {
    net_count_shake(c, what, "");
    net_refuse_plain(c->loop, c->fd, c->kind, what == NET_SHAKE_MISLED ? NET_UNSPOKEN : NET_SPOKEN);
    net_finish(c);
}

bool net_secure_is_misled(struct net_conn *c, const char *bytes, size_t length) {
    if (c->is_secure || bytes[0] != HANDSHAKE || (length > 1 && bytes[1] != 3)) return false;
    net_turn_back(c, NET_SHAKE_MISLED);
    return true;
}

/* ------------------------------------------------------------------ the handshake */

static int net_count_unfinished(struct net_conn *c, int change) {
    return c->loop->calls->unfinished(c->of, change);
}

void net_secure_enter(struct net_conn *c) {
    if (c->is_unnamed) return;
    c->is_unfinished = true;
    net_count_unfinished(c, 1);
}

bool net_secure_is_late(struct net_conn *c, uint64_t now_ms) {
    if (!c->is_secure || c->is_shaken || c->lingering || now_ms - net_active_ms(c) < SHAKE_MS) return false;
    net_count_shake(c, NET_SHAKE_LATE, "");
    return true;
}

/* Returns the oldest handshake of the address with the most unfinished handshakes, or NULL.  So an address that floods
 * the loop loses its own handshakes, not those of slow clients at other addresses. */
static struct net_conn *net_shake_to_end(struct net_loop *loop) {
    struct net_conn *found = NULL, *at;
    int most = -1;
    TAILQ_FOREACH(at, &loop->shaking, shaken) {
        int unfinished = at->is_unfinished ? net_count_unfinished(at, 0) : 0;
        if (unfinished > most) found = at, most = unfinished;
    }
    return found;
}

/* Each loop has a separate share of the memory for handshakes, because a loop cannot end handshakes of another loop.
 * The loop's first handshake is not charged to the share and is always granted. */
static bool net_take_shake(struct net_conn *c) {
    c->is_first_shake = TAILQ_EMPTY(&c->loop->shaking);
    return c->loop->calls->take_shake(c->loop->upper.loop, c->is_first_shake, SHAKE_BYTES);
}

/* Charges the maximum memory of a handshake, from its first complete message to its end.  If the share is used up,
 * older handshakes are ended, because a real client finishes within a few round trips. */
static bool net_hold_shake(struct net_conn *c) {
    struct net_loop *loop = c->loop;
    while (!net_take_shake(c)) {
        struct net_conn *elder = net_shake_to_end(loop);
        if (!elder) return false;
        loop->calls->shed(loop->upper.loop, elder->kind, NULL);
        net_end(elder);
        net_secure_free(elder); /* freed now, not at the end of the round, because a round may end many */
    }
    c->is_shaking = true;
    TAILQ_INSERT_TAIL(&loop->shaking, c, shaken);
    return true;
}

void net_secure_leave(struct net_conn *c) {
    if (c->is_unfinished) net_count_unfinished(c, -1);
    c->is_unfinished = false;
    if (!c->is_shaking) return;
    c->is_shaking = false;
    TAILQ_REMOVE(&c->loop->shaking, c, shaken);
    c->loop->calls->give_shake(c->loop->upper.loop, c->is_first_shake, SHAKE_BYTES);
}

/* Returns whether a complete ClientHello has arrived.  Nothing is allocated before that.  Ends the connection if the
 * client has closed it or the bytes are not TLS. */
static bool net_has_hello(struct net_conn *c) {
    const unsigned char *at = (const unsigned char *)c->loop->in;
    ssize_t got = recv(c->fd, c->loop->in, HELLO_MAX, MSG_PEEK | MSG_DONTWAIT);
    bool is_open = got > 0 || (got < 0 && errno == EAGAIN);
    if (got > 0 && at[0] != HANDSHAKE) return net_turn_back(c, NET_SHAKE_PLAIN), false;
    if (got == HELLO_MAX || (got > HEAD_BYTES && got >= HEAD_BYTES + (at[3] << 8 | at[4]))) return true;
    c->readable = false; /* later bytes cause a new edge */
    if (!is_open || c->unsure) net_end(c);
    return false;
}

/* Begins the handshake.  Ends the connection and returns false if there is no memory. */
static bool net_begin_shake(struct net_conn *c) {
    const struct net_opts *opts = c->loop->opts;
    if (net_hold_shake(c)) c->tls = opts->tls->accept(opts->tls_server, c->fd, opts->alpn[c->kind]);
    if (c->tls) return true;
    c->loop->calls->shed(c->loop->upper.loop, c->kind, NULL);
    return net_end(c), false;
}

/* Lines the connection up, because TLS may already have read bytes that follow the handshake, and epoll reports no edge
 * for such bytes. */
static void net_end_shake(struct net_conn *c) {
    char name[VS_TLS_NAME_MAX];
    c->is_shaken = true;
    net_secure_leave(c); /* the memory after the handshake is part of the connection's memory */
    net_count_shake(c, NET_SHAKE_OK, "");
    if (!c->loop->calls->shaken(c->of, net_tls(c)->peer(c->tls, name) ? name : NULL)) {
        net_end(c);
        return;
    }
    net_be_active(c);
    c->readable = true;
    net_line_up(c);
}

/* Begins or stops waiting until TLS can write.  If epoll_ctl fails for lack of memory, the connection is closed later,
 * as an idle connection. */
static void net_reverse(struct net_conn *c, bool is_reversed) {
    if (c->is_reversed == is_reversed) return;
    c->is_reversed = is_reversed;
    net_poll_change(c->loop, c->fd, &c->watched, NET_READS | (is_reversed ? (uint32_t)EPOLLOUT : 0));
}

void net_secure_shake(struct net_conn *c) {
    const struct vs_tls *tls = net_tls(c);
    bool more = c->unsure;
    if (!c->tls && (!net_has_hello(c) || !net_begin_shake(c))) return;
    enum vs_tls_step step = tls->shake(c->tls, &more);
    c->readable = more;
    net_reverse(c, step == VS_TLS_WANTS_WRITE);
    if (step == VS_TLS_DONE) {
        net_end_shake(c);
    } else if (step == VS_TLS_FAILED) {
        net_count_shake(c, NET_SHAKE_FAILED, tls->why(c->tls));
        net_finish(c); /* TLS has already sent an alert with the reason */
    } else if (more) {
        net_line_up(c);
    }
}

/* ------------------------------------------------------------------ bytes */

/* Counts the memory of a partial record, which TLS buffers until the rest arrives.  Returns false if no memory is
 * left. */
static bool net_hold_record(struct net_conn *c) {
    bool keeps = net_tls(c)->keeps_bytes(c->tls);
    if (keeps == c->keeps_record) return true;
    if (!keeps)
        net_give(c, VS_TLS_RECORD_BYTES);
    else if (!net_take(c, VS_TLS_RECORD_BYTES))
        return false;
    c->keeps_record = keeps;
    return true;
}

ssize_t net_secure_get(struct net_conn *c, char *to, size_t room, bool *more) {
    const struct vs_tls *tls = net_tls(c);
    if (!c->is_shaken) { /* the handshake failed, and the client's close is awaited */
        ssize_t left = recv(c->fd, to, room, MSG_DONTWAIT);
        *more = left == (ssize_t)room;
        return left;
    }
    *more = c->unsure;
    ssize_t got = tls->read(c->tls, to, room, more);
    int error = errno;
    net_reverse(c, got < 0 && error == EAGAIN && tls->is_reversed(c->tls));
    if (!net_hold_record(c)) {
        c->loop->calls->shed(c->loop->upper.loop, c->kind, NULL);
        got = -1, error = ENOBUFS;
    }
    errno = error;
    return got;
}

ssize_t net_secure_put(struct net_conn *c, const char *bytes, size_t length) {
    return c->is_shaken ? net_tls(c)->write(c->tls, bytes, length) : (errno = EPROTO, -1);
}

void net_secure_end(struct net_conn *c) {
    if (c->tls && !c->lingering) net_tls(c)->end(c->tls);
}

void net_secure_free(struct net_conn *c) {
    if (c->tls) net_tls(c)->free(c->tls);
    c->tls = NULL;
    if (c->keeps_record) net_give(c, VS_TLS_RECORD_BYTES);
    c->keeps_record = false;
}
