/* secure.c -- TLS of a connection: its handshake, which is a stage before its protocol, and its bytes behind that.
 * Knows no protocol, and no OpenSSL. */
#include "log/log.h"
#include "server/net/net.h"
#include "server/rights/rights.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SHAKE_MS 5000     /* to shake hands; nobody has said a secret by then */
#define SHAKE_BYTES 196608 /* that a handshake holds at most: 44 KiB, a message of 128 KiB and a record of 16; later 15 KiB */
#define CROWD 32          /* unfinished handshakes: an address with more of them waits for other addresses */
#define HANDSHAKE 0x16    /* how TLS begins, with version 3 */
#define HEAD_BYTES 5      /* ... and the length of what follows at the end of them */
#define HELLO_MAX 4096    /* that is waited for to be whole */

static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER; /* over server->failed */

static const struct vs_serve_opts *opts_of(const struct conn *c) {
    return c->loop->server->opts;
}

/* ------------------------------------------------------------------ counting, and telling */

static void count(struct conn *c, enum vs_shake what, const char *why) {
    struct vs_shake_failed *last = &c->loop->server->failed[what];
    vs_add(&c->loop->scratch.counts->shakes[c->session.protocol][what], 1);
    if (what == VS_SHAKE_OK) return;
    pthread_mutex_lock(&failing);
    vs_peer_text(&c->peer, last->address);
    snprintf(last->why, sizeof last->why, "%s", why);
    pthread_mutex_unlock(&failing);
}

void vs_secure_tell(struct server *server, uint64_t now_ms) {
    static const char *const sentences[VS_SHAKES] = {
        [VS_SHAKE_FAILED] = "TLS handshakes failed",
        [VS_SHAKE_LATE] = "TLS handshakes were not finished in time",
        [VS_SHAKE_PLAIN] = "clients spoke no TLS where it is spoken: have them use https://, or redis-cli --tls",
        [VS_SHAKE_MISLED] =
            "clients spoke TLS where it is not spoken: write tls: before that address, or have them use http://"};
    for (int what = VS_SHAKE_FAILED; what < VS_SHAKES; what++) {
        uint64_t sum = 0;
        for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
            sum += vs_total(server->opts->app, &server->opts->app->counts[0]->shakes[protocol][what]);
        uint64_t more = vs_untold(&server->told_shakes[what], sum, now_ms);
        if (more == 0) continue;
        pthread_mutex_lock(&failing);
        struct vs_shake_failed last = server->failed[what];
        pthread_mutex_unlock(&failing);
        vs_log(VS_LOG_WARN, sentences[what], "count", VS_DIGITS((int64_t)more), "last_address", last.address,
               "last_error", *last.why ? last.why : NULL, NULL);
    }
}

/* ------------------------------------------------------------------ who is at the wrong door */

/* In words that a client of the other kind shows. */
static void turn_back(struct conn *c, enum vs_shake what) {
    static const struct vs_refusal spoken = {"ERR this address speaks TLS: redis-cli needs --tls", "400 Bad Request",
                                             "this address speaks TLS: ask by https://", false},
                                   unspoken = {"ERR Protocol error: this address speaks no TLS", "400 Bad Request",
                                               NULL, false};
    count(c, what, "");
    vs_refusal_send(what == VS_SHAKE_MISLED ? &unspoken : &spoken, c->session.protocol, c->fd);
    vs_conn_finish(c);
}

bool vs_secure_is_misled(struct conn *c, const char *bytes, size_t length) {
    if (c->is_secure || bytes[0] != HANDSHAKE || (length > 1 && bytes[1] != 3)) return false;
    turn_back(c, VS_SHAKE_MISLED);
    return true;
}

/* ------------------------------------------------------------------ the handshake */

static int count_unfinished(const struct conn *c, int change) {
    return ledger_shake(&c->session.entry, change);
}

void vs_secure_enter(struct conn *c) {
    if (!c->is_secure || !c->session.entry.is_counted) return;
    c->is_unfinished = true;
    count_unfinished(c, 1);
}

/* Open connections do not count: a client may add one to a large pool while another address floods.  A handshake that has
 * begun holds memory until it ends, and its last step is cheap. */
bool vs_secure_is_urgent(const struct conn *c) {
    return c->tls || (c->is_unfinished && count_unfinished(c, 0) <= CROWD);
}

bool vs_secure_is_late(struct conn *c, uint64_t now_ms) {
    if (!c->is_secure || c->is_shaken || c->lingering || now_ms - c->active_ms < SHAKE_MS) return false;
    count(c, VS_SHAKE_LATE, "");
    return true;
}

/* The eldest handshake of the address that has most unfinished ones.  So a flood ends its own handshakes, and those of slow
 * clients stay while faster ones come and go.  NULL: this loop has none. */
static struct conn *who_gives_way(struct loop *loop) {
    struct conn *way = NULL, *at;
    int most = -1;
    TAILQ_FOREACH(at, &loop->shaking, shaken) {
        int unfinished = at->is_unfinished ? count_unfinished(at, 0) : 0;
        if (unfinished > most) way = at, most = unfinished;
    }
    return way;
}

/* The handshakes of each loop are one part of the memory: a loop can end no handshake of another loop, so it needs room of
 * its own.  It may always hold one handshake, which belongs to no part. */
static bool take_memory(struct conn *c) {
    c->shaking_holder = TAILQ_EMPTY(&c->loop->shaking) ? NULL : &c->loop->shaking_holder;
    return ledger_hold_apart(c->session.app->ledger, c->shaking_holder, SHAKE_BYTES);
}

/* The memory of a handshake is counted as its most, from the first whole message to its end.  A real client finishes within
 * a few round trips, so elder handshakes give way to new ones. */
static bool hold(struct conn *c) {
    struct loop *loop = c->loop;
    while (!take_memory(c)) {
        struct conn *elder = who_gives_way(loop);
        if (!elder) return false;
        vs_add(&loop->scratch.counts->shed[elder->session.protocol], 1);
        vs_conn_end(elder);
        vs_secure_free(elder); /* now, and not with the round: there may be many of them in one */
    }
    c->is_shaking = true;
    TAILQ_INSERT_TAIL(&loop->shaking, c, shaken);
    return true;
}

void vs_secure_leave(struct conn *c) {
    if (c->is_unfinished) count_unfinished(c, -1);
    c->is_unfinished = false;
    if (!c->is_shaking) return;
    c->is_shaking = false;
    TAILQ_REMOVE(&c->loop->shaking, c, shaken);
    ledger_release_apart(c->session.app->ledger, c->shaking_holder, SHAKE_BYTES);
}

/* Nothing is made for a connection that has not sent a whole hello, or sent what is no TLS.  true: it has come. */
static bool has_come(struct conn *c) {
    const unsigned char *at = (const unsigned char *)c->loop->in;
    ssize_t got = recv(c->fd, c->loop->in, HELLO_MAX, MSG_PEEK | MSG_DONTWAIT);
    bool is_open = got > 0 || (got < 0 && errno == EAGAIN);
    if (got > 0 && at[0] != HANDSHAKE) return turn_back(c, VS_SHAKE_PLAIN), false;
    if (got == HELLO_MAX || (got > HEAD_BYTES && got >= HEAD_BYTES + (at[3] << 8 | at[4]))) return true;
    c->readable = false; /* what comes has an edge of its own */
    if (!is_open || c->unsure) vs_conn_end(c);
    return false;
}

/* false: the connection does not go on. */
static bool begin(struct conn *c) {
    const char *protocol = c->session.protocol == VS_RESP ? NULL : "http/1.1";
    if (hold(c)) c->tls = opts_of(c)->tls->accept(opts_of(c)->tls_server, c->fd, protocol);
    if (c->tls) return true;
    vs_add(&c->loop->scratch.counts->shed[c->session.protocol], 1);
    return vs_conn_end(c), false;
}

/* false: no memory, and who cannot be known by its name must not be taken for one who shows none. */
static bool take_name(struct conn *c) {
    char name[VS_TLS_NAME_MAX], address[VS_PEER_TEXT_MAX];
    if (!opts_of(c)->tls->peer(c->tls, name)) return true;
    if (!(c->session.certified = strdup(name))) return false;
    vs_rights_forget(&c->session); /* to who it is now, without a secret */
    if (c->session.grant.accounts && !c->session.grant.account)
        vs_log(VS_LOG_WARN, "a certificate names no client: it may do nothing without a secret", "name", name,
               "address", vs_peer_text(&c->peer, address), NULL);
    return true;
}

/* What came behind the handshake may be in TLS's memory, where no edge tells of it. */
static void finish(struct conn *c) {
    c->is_shaken = true;
    vs_secure_leave(c); /* what is left is a part of what a connection is, as its descriptor */
    count(c, VS_SHAKE_OK, "");
    if (!take_name(c)) {
        vs_conn_end(c);
        return;
    }
    c->active_ms = c->stranger_ms = c->loop->now_ms;
    c->readable = true;
    vs_conn_line_up(c);
}

/* Waits for room in the socket, or no more; who cannot be waited for rests until it has rested for too long. */
static void reverse(struct conn *c, bool is_reversed) {
    if (c->is_reversed == is_reversed) return;
    c->is_reversed = is_reversed;
    vs_poll_change(c->loop, c->fd, &c->watched, VS_READS | (is_reversed ? (uint32_t)EPOLLOUT : 0));
}

void vs_secure_shake(struct conn *c) {
    const struct vs_tls *tls = opts_of(c)->tls;
    bool more = c->unsure;
    if (!c->tls && (!has_come(c) || !begin(c))) return;
    enum vs_tls_step step = tls->shake(c->tls, &more);
    c->readable = more;
    reverse(c, step == VS_TLS_WANTS_WRITE);
    if (step == VS_TLS_DONE) {
        finish(c);
    } else if (step == VS_TLS_FAILED) {
        count(c, VS_SHAKE_FAILED, tls->why(c->tls));
        vs_conn_finish(c); /* the alert that tells why is on its way */
    } else if (more) {
        vs_conn_line_up(c);
    }
}

/* ------------------------------------------------------------------ bytes */

/* A part of a record is in a buffer of TLS's until the rest comes.  false: there is no memory for it. */
static bool hold_record(struct conn *c) {
    bool keeps = opts_of(c)->tls->keeps_bytes(c->tls);
    if (keeps == c->keeps_record) return true;
    if (!keeps)
        vs_session_give(&c->session, VS_TLS_RECORD_BYTES);
    else if (!vs_session_take(&c->session, VS_TLS_RECORD_BYTES))
        return false;
    c->keeps_record = keeps;
    return true;
}

ssize_t vs_secure_get(struct conn *c, char *to, size_t room, bool *more) {
    const struct vs_tls *tls = opts_of(c)->tls;
    if (!c->is_shaken) { /* hands will not be: only its end is waited for */
        ssize_t left = recv(c->fd, to, room, MSG_DONTWAIT);
        *more = left == (ssize_t)room;
        return left;
    }
    *more = c->unsure;
    ssize_t got = tls->read(c->tls, to, room, more);
    int error = errno;
    reverse(c, got < 0 && error == EAGAIN && tls->is_reversed(c->tls));
    if (!hold_record(c)) {
        vs_add(&c->loop->scratch.counts->shed[c->session.protocol], 1);
        got = -1, error = ENOBUFS;
    }
    errno = error;
    return got;
}

ssize_t vs_secure_put(struct conn *c, const char *bytes, size_t length) {
    return c->is_shaken ? opts_of(c)->tls->write(c->tls, bytes, length) : (errno = EPROTO, -1);
}

void vs_secure_end(struct conn *c) {
    if (c->tls && !c->lingering) opts_of(c)->tls->end(c->tls);
}

void vs_secure_free(struct conn *c) {
    if (c->tls) opts_of(c)->tls->free(c->tls);
    c->tls = NULL;
    if (c->keeps_record) vs_session_give(&c->session, VS_TLS_RECORD_BYTES);
    c->keeps_record = false;
    free((char *)c->session.certified);
    c->session.certified = NULL;
}
