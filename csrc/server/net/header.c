/* header.c -- a connection from a listed balancer, before its protocol: the PROXY header is read, and from then on the
 * peer is whom it names.  Not a byte behind it is read here: those are the next stage's. */
#include "log/log.h"
#include "server/net/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER_MS 3000 /* a balancer says it at once */

struct header {
    size_t have, size; /* bytes read; in all, 0: not known yet */
    unsigned char at[VS_PROXY_READ];
};

static void count(struct loop *loop, enum vs_protocol protocol, enum vs_proxy_result what) {
    vs_add(&loop->scratch.counts->headers[protocol][what], 1);
}

bool vs_header_expect(struct conn *c) {
    c->header = calloc(1, sizeof *c->header);
    return c->header != NULL;
}

void vs_header_drop(struct conn *c) {
    free(c->header);
    c->header = NULL;
}

/* ------------------------------------------------------------------ refusing */

/* Each is told of once a second at most, as every sentence of the log. */
static const struct refusal {
    const char *sentence, *next, *answer;
} refusals[VS_PROXY_RESULTS] = {
    [VS_PROXY_MISSING] = {"a connection from a listed balancer does not begin with a PROXY header",
                          "send-proxy-v2 at the balancer, or take the address out of proxies; from this machine ask "
                          "over a unix socket",
                          "this address is a balancer's (proxies): a connection from it begins with a PROXY header"},
    [VS_PROXY_V1] = {"a balancer sent a PROXY header of version 1", "send-proxy-v2 instead of send-proxy",
                     "a PROXY header has to be of version 2: send-proxy-v2"},
    [VS_PROXY_BROKEN] = {"a balancer sent a PROXY header that is none", NULL, "a PROXY header was broken"},
    [VS_PROXY_LATE] = {"a balancer's PROXY header was not complete in time", NULL, "a PROXY header took too long"},
    [VS_PROXY_UNLISTED] = {"a PROXY header came from an address that is no listed balancer's",
                           "list it in proxies if it is a balancer, else see who claims to be one",
                           "a PROXY header is for balancers that are listed in proxies"}};

static void refuse(struct conn *c, enum vs_proxy_result what) {
    const struct refusal *refusal = &refusals[what];
    enum vs_protocol protocol = c->session.protocol;
    char address[VS_PEER_TEXT_MAX], error[VS_REFUSAL_MAX];
    count(c->loop, protocol, what);
    vs_log(VS_LOG_WARN, refusal->sentence, "address", vs_peer_text(&c->peer, address), "proto",
           vs_protocol_name[protocol], refusal->next ? "do" : NULL, refusal->next, NULL);
    snprintf(error, sizeof error, "ERR %s", refusal->answer);
    vs_conn_refuse(c, &(struct vs_refusal){error, "400 Bad Request", refusal->answer, false});
    vs_conn_finish(c);
}

bool vs_header_is_unlisted(struct conn *c, const char *bytes, size_t length) {
    if (!vs_proxy_is_header(bytes, length)) return false;
    refuse(c, VS_PROXY_UNLISTED);
    return true;
}

void vs_header_look(struct conn *c, uint64_t now_ms) {
    if (c->header && now_ms - c->active_ms >= HEADER_MS) refuse(c, VS_PROXY_LATE);
}

/* ------------------------------------------------------------------ reading */

/* From here on the peer is whom the balancer named, and has its own place among those of its address. */
static void settle(struct conn *c) {
    enum vs_protocol protocol = c->session.protocol;
    struct vs_peer peer;
    enum vs_proxy_result what = vs_proxy_peer(c->header->at, &peer);
    vs_header_drop(c);
    count(c->loop, protocol, what);
    if (what == VS_PROXY_OWN) return;
    if (ledger_name(c->session.app->ledger, &c->session.entry, &peer, c->loop->scratch.now_us)) {
        c->peer = peer;
        vs_secure_enter(c);
        vs_roster_move(&c->session);
        return;
    }
    vs_add(&c->loop->scratch.counts->turned[protocol][VS_TURNED_ADDRESS], 1);
    vs_roster_note(c->session.app, c->loop->scratch.loop, VS_LAST_TURNED + (int)protocol, &peer);
    vs_conn_refuse(c, &vs_too_many);
    vs_conn_finish(c);
}

/* How much of the header is read next, and where to: what stands behind its addresses is looked at by nobody. */
static void *room_for(struct conn *c, size_t *room) {
    struct header *h = c->header;
    size_t read = !h->size ? VS_PROXY_FIXED : h->size < VS_PROXY_READ ? h->size : VS_PROXY_READ;
    bool is_read = h->have >= read;
    *room = (is_read ? h->size : read) - h->have;
    if (*room > sizeof c->loop->in) *room = sizeof c->loop->in;
    return is_read ? (void *)c->loop->in : h->at + h->have;
}

/* It ended.  A balancer that connects and goes looks whether somebody listens. */
static void end(struct conn *c) {
    if (c->header->have > 0) count(c->loop, c->session.protocol, VS_PROXY_BROKEN);
    vs_conn_end(c);
}

void vs_header_read(struct conn *c) {
    struct header *h = c->header;
    enum vs_proxy_result what;
    size_t room;
    void *to = room_for(c, &room);
    ssize_t got = recv(c->fd, to, room, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
        c->readable = false;
        return;
    }
    if (got <= 0) {
        end(c);
        return;
    }
    h->have += (size_t)got;
    int size = h->size ? (int)h->size : vs_proxy_size(h->at, h->have, &what);
    if (size < 0) {
        refuse(c, what);
        return;
    }
    h->size = (size_t)size;
    if (h->have == h->size) settle(c);
}
