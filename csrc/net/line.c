/* line.c -- which connection is served next, and for how long.  Knows no bytes.
 *
 * A round of the loop ends after NET_ROUND_US, so that signals, timers and new connections never wait for long.  In it the
 * urgent kind of connection comes first, then those that take little time, then urgent TLS handshakes, then the busy ones,
 * each for NET_SLICE_US.  A busy connection waits for other busy ones, and a prompt one waits for none of them.  Each
 * round serves at least one connection of each line. */
#include "net/inside.h"
#include "os/thread.h"

#include <assert.h>

/* What a connection costs beside its requests: its system calls, its handshake. */
#define SERVE_COST 4
#define SHAKE_COST NET_QUANTUM_LOOK
#define CROWD 32 /* unfinished handshakes: an address with more of them waits for other addresses */

void net_quantum_look(struct net_quantum *quantum) {
    quantum->now_us = vs_monotonic_us();
    quantum->cost = 0;
}

/* ------------------------------------------------------------------ lining up */

/* A handshake costs more than many requests, and its client has none yet.  Reading a header costs little. */
bool net_is_to_shake(const struct net_conn *c) {
    return c->is_secure && !c->is_shaken && !c->has_header;
}

/* Open connections do not count: a client may add one to a large pool while another address floods.  A handshake that has
 * begun holds memory until it ends, and its last step is cheap. */
static bool net_is_urgent_shake(const struct net_conn *c) {
    return c->tls || (c->is_unfinished && c->loop->calls->unfinished((void *)c->of, 0) <= CROWD);
}

static enum net_line net_line_for(const struct net_conn *c) {
    if (net_is_to_shake(c)) return net_is_urgent_shake(c) ? NET_LINE_SHAKE : NET_LINE_BUSY;
    if (c->is_busy) return NET_LINE_BUSY;
    return c->kind == c->loop->opts->urgent_kind ? NET_LINE_URGENT : NET_LINE_PROMPT;
}

void net_line_up(struct net_conn *c) {
    assert(!c->gone); /* its memory goes with the round */
    if (c->lined_up) return;
    c->lined_up = true;
    c->line_of = net_line_for(c);
    c->loop->line_length[c->line_of]++;
    TAILQ_INSERT_TAIL(&c->loop->line[c->line_of], c, line);
}

void net_leave_line(struct net_conn *c) {
    c->lined_up = false;
    c->loop->line_length[c->line_of]--;
    TAILQ_REMOVE(&c->loop->line[c->line_of], c, line);
}

/* ------------------------------------------------------------------ a round */

/* What a connection does next may belong to another line than what it was lined up for. */
static void net_change_line(struct net_conn *c) {
    if (!c->lined_up || c->line_of == net_line_for(c)) return;
    net_leave_line(c);
    net_line_up(c);
}

/* The time of a handshake does not make a connection busy: its first request would wait behind other handshakes. */
static void net_serve_slice(struct net_conn *c) {
    struct net_quantum *quantum = c->loop->upper.quantum;
    bool shakes = net_is_to_shake(c);
    quantum->cost += shakes ? SHAKE_COST : SERVE_COST;
    quantum->until_us = quantum->now_us + NET_SLICE_US;
    c->loop->serve(c);
    c->is_busy = net_quantum_is_over(quantum) && !shakes;
    net_change_line(c);
}

/* The slice may end early because the time for requests that wait is over. That does not make the connection busy. */
void net_serve_late(struct net_conn *c, void (*serve)(struct net_conn *conn)) {
    struct net_quantum *quantum = c->loop->upper.quantum;
    int64_t all_until_us = (int64_t)(c->loop->now_ns / 1000) + NET_WAITERS_US, until_us = quantum->now_us + NET_SLICE_US;
    quantum->cost += SERVE_COST;
    quantum->until_us = until_us < all_until_us ? until_us : all_until_us;
    serve(c);
    quantum->until_us = all_until_us;
    c->is_busy = quantum->now_us >= until_us;
    net_change_line(c);
}

/* Serves each of a line once, the first in any case.  Connections that line up meanwhile are served in the next round.
 * false: time was up before all were served. */
static bool net_serve_line(struct net_loop *loop, enum net_line which, int64_t until_us) {
    struct net_conn *c;
    for (int left = loop->line_length[which]; left > 0 && (c = TAILQ_FIRST(&loop->line[which])); left--) {
        net_leave_line(c);
        net_serve_slice(c);
        if (left > 1 && loop->upper.quantum->now_us >= until_us) return false;
    }
    return true;
}

/* Replies to prompt clients are sent before busy clients are served. */
void net_serve_lines(struct net_loop *loop) {
    int64_t began_us = (int64_t)(loop->now_ns / 1000);
    loop->serving = true;
    bool all = net_serve_line(loop, NET_LINE_URGENT, began_us + NET_ROUND_US / 4);
    all &= net_serve_line(loop, NET_LINE_PROMPT, began_us + NET_ROUND_US * 3 / 4);
    if (loop->line_length[NET_LINE_SHAKE] > 0 || loop->line_length[NET_LINE_BUSY] > 0) {
        loop->settle(loop);
        all &= net_serve_line(loop, NET_LINE_SHAKE, began_us + NET_ROUND_US);
        all &= net_serve_line(loop, NET_LINE_BUSY, began_us + NET_ROUND_US);
    }
    loop->serving = false;
    loop->is_late = !all;
    loop->settle(loop);
}
