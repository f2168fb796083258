/* header.c -- reads the PROXY header at the start of a balancer's connection.  From then on, the peer is the client
 * that the header names.  Bytes after the header are not read here. */
#include "log/log.h"
#include "net/inside.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER_MS 3000 /* balancers send the header at once */

static void net_count_header(struct net_conn *c, enum net_proxy_result what) {
    vs_add(&c->loop->upper.counts->headers[c->kind][what], 1);
}

/* ------------------------------------------------------------------ rejecting */

/* Each fault has its own sentence, because the log suppresses a sentence that repeats within a second. */
static const struct net_header_fault {
    const char *sentence, *next;
} net_header_faults[NET_PROXY_RESULTS] = {
    [NET_PROXY_MISSING] =
        {"a connection from a listed balancer does not begin with a PROXY header",
         "set send-proxy-v2 in the balancer, or remove the address from proxies and let a balancer on this "
         "machine use a unix socket"},
    [NET_PROXY_V1] = {"a balancer sent a PROXY header of version 1", "use send-proxy-v2 instead of send-proxy"},
    [NET_PROXY_BROKEN] = {"a balancer sent a malformed PROXY header", NULL},
    [NET_PROXY_LATE] = {"a balancer's PROXY header was not complete in time", NULL},
    [NET_PROXY_UNLISTED] = {"a PROXY header came from an address that is not listed in proxies",
                            "if it is a balancer, list it in proxies, and otherwise find out which host sends "
                            "the header"}};

static void net_refuse_header(struct net_conn *c, enum net_proxy_result what) {
    const struct net_header_fault *fault = &net_header_faults[what];
    char address[VS_PEER_TEXT_MAX];
    net_count_header(c, what);
    vs_log(VS_LOG_WARN, fault->sentence, "address", vs_peer_text(&c->peer, address), "proto",
           c->loop->opts->kind_name[c->kind], fault->next ? "do" : NULL, fault->next, NULL);
    net_refuse(c, NET_HEADER, (int)what);
    net_finish(c);
}

bool net_header_is_unlisted(struct net_conn *c, const char *bytes, size_t length) {
    if (!net_proxy_is_header(bytes, length)) return false;
    net_refuse_header(c, NET_PROXY_UNLISTED);
    return true;
}

void net_header_look(struct net_conn *c, uint64_t now_ms) {
    if (c->has_header && now_ms - net_active_ms(c) >= HEADER_MS) net_refuse_header(c, NET_PROXY_LATE);
}

/* ------------------------------------------------------------------ parsing */

/* Sets the peer to the client that the header names.  From then on, the connection counts against that client's
 * address. */
static void net_settle_header(struct net_conn *c) {
    const struct net_calls *calls = c->loop->calls;
    struct vs_peer peer;
    enum net_proxy_result what = net_proxy_peer(c->header.at, &peer);
    c->has_header = false;
    net_count_header(c, what);
    if (what == NET_PROXY_OWN) return;
    if (!calls->rename(c->of, &peer)) {
        net_refuse(c, NET_FULL, 0);
        net_finish(c);
        return;
    }
    c->peer = peer;
    c->is_unnamed = false;
    if (c->is_secure) net_secure_enter(c);
    calls->named(c->of);
}

/* Returns the buffer for the next part of the header and sets *room to its size.  Bytes after the addresses are read
 * into a scratch buffer and ignored. */
static void *net_header_room(struct net_conn *c, size_t *room) {
    struct net_header *h = &c->header;
    size_t read = !h->size ? NET_PROXY_FIXED : h->size < NET_PROXY_READ ? h->size : NET_PROXY_READ;
    bool is_read = h->have >= read;
    *room = (is_read ? h->size : read) - h->have;
    if (*room > sizeof c->loop->in) *room = sizeof c->loop->in;
    return is_read ? (void *)c->loop->in : h->at + h->have;
}

void net_header_read(struct net_conn *c) {
    struct net_header *h = &c->header;
    enum net_proxy_result what;
    size_t room;
    void *to = net_header_room(c, &room);
    ssize_t got = recv(c->fd, to, room, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
        c->readable = false;
        return;
    }
    if (got <= 0) { /* EOF before a header: a balancer's health check */
        if (h->have > 0) net_count_header(c, NET_PROXY_BROKEN);
        net_end(c);
        return;
    }
    h->have += (size_t)got;
    int size = h->size ? (int)h->size : net_proxy_size(h->at, h->have, &what);
    if (size < 0) {
        net_refuse_header(c, what);
        return;
    }
    h->size = (size_t)size;
    if (h->have == h->size) net_settle_header(c);
}
