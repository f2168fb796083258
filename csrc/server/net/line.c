/* line.c -- which connection is served next, and for how long.  Knows no bytes and no protocol.
 *
 * A round of the loop ends after VS_ROUND_US, so that signals, timers and new connections never wait for long.  In it the
 * admin's connections come first, then those that take little time, then urgent TLS handshakes, then the busy ones, each
 * for VS_SLICE_US.  A busy connection waits for other busy ones, and a prompt one waits for none of them.  Each round
 * serves at least one connection of each line. */
#include "server/net/net.h"

#include <assert.h>

/* What a connection costs beside its requests: its system calls, its handshake. */
#define SERVE_COST 4
#define SHAKE_COST VS_QUANTUM_LOOK

/* ------------------------------------------------------------------ lining up */

/* A handshake costs more than many requests, and its client has none yet.  Reading a header costs little. */
static bool is_to_shake(const struct conn *c) {
    return c->is_secure && !c->is_shaken && !c->header;
}

static enum vs_line line_for(const struct conn *c) {
    if (is_to_shake(c)) return vs_secure_is_urgent(c) ? VS_LINE_SHAKE : VS_LINE_BUSY;
    if (c->is_busy) return VS_LINE_BUSY;
    return c->session.protocol == VS_ADMIN ? VS_LINE_ADMIN : VS_LINE_PROMPT;
}

void vs_conn_line_up(struct conn *c) {
    assert(!c->gone); /* its memory goes with the round */
    if (c->lined_up) return;
    c->lined_up = true;
    c->line_of = line_for(c);
    c->loop->line_length[c->line_of]++;
    TAILQ_INSERT_TAIL(&c->loop->line[c->line_of], c, line);
}

void vs_conn_leave_line(struct conn *c) {
    c->lined_up = false;
    c->loop->line_length[c->line_of]--;
    TAILQ_REMOVE(&c->loop->line[c->line_of], c, line);
}

/* ------------------------------------------------------------------ a round */

/* What a connection does next may belong to another line than what it was lined up for. */
static void change_line(struct conn *c) {
    if (!c->lined_up || c->line_of == line_for(c)) return;
    vs_conn_leave_line(c);
    vs_conn_line_up(c);
}

/* The time of a handshake does not make a connection busy: its first request would wait behind other handshakes. */
static void serve_slice(struct conn *c) {
    struct vs_quantum *quantum = &c->loop->scratch.quantum;
    bool shakes = is_to_shake(c);
    quantum->cost += shakes ? SHAKE_COST : SERVE_COST;
    quantum->until_us = quantum->now_us + VS_SLICE_US;
    vs_conn_serve_one(c);
    c->is_busy = vs_quantum_is_over(quantum) && !shakes;
    change_line(c);
}

/* The slice may end early because the time for the queues is over. That does not make the connection busy. */
void vs_conn_serve_waiter(struct conn *c) {
    struct vs_quantum *quantum = &c->loop->scratch.quantum;
    int64_t all_until_us = c->loop->scratch.now_us + VS_QUEUES_US, until_us = quantum->now_us + VS_SLICE_US;
    quantum->cost += SERVE_COST;
    quantum->until_us = until_us < all_until_us ? until_us : all_until_us;
    vs_conn_resume(c);
    quantum->until_us = all_until_us;
    c->is_busy = quantum->now_us >= until_us;
    change_line(c);
}

/* Serves each of a line once, the first in any case.  Those who line up meanwhile are served in the next round.
 * false: time was up before all were served. */
static bool serve_line(struct loop *loop, enum vs_line which, int64_t until_us) {
    struct conn *c;
    for (int left = loop->line_length[which]; left > 0 && (c = TAILQ_FIRST(&loop->line[which])); left--) {
        vs_conn_leave_line(c);
        serve_slice(c);
        if (left > 1 && loop->scratch.quantum.now_us >= until_us) return false;
    }
    return true;
}

/* Replies to prompt clients are sent before busy clients are served. */
void vs_conn_serve(struct loop *loop) {
    int64_t began_us = loop->scratch.now_us;
    loop->serving = true;
    bool all = serve_line(loop, VS_LINE_ADMIN, began_us + VS_ROUND_US / 4);
    all &= serve_line(loop, VS_LINE_PROMPT, began_us + VS_ROUND_US * 3 / 4);
    if (loop->line_length[VS_LINE_SHAKE] > 0 || loop->line_length[VS_LINE_BUSY] > 0) {
        vs_conn_send_round(loop);
        all &= serve_line(loop, VS_LINE_SHAKE, began_us + VS_ROUND_US);
        all &= serve_line(loop, VS_LINE_BUSY, began_us + VS_ROUND_US);
    }
    loop->serving = false;
    loop->is_late = !all;
    vs_conn_send_round(loop);
}
