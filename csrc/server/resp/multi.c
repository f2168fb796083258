/* multi.c -- MULTI, EXEC, DISCARD: requests kept as bytes, and answered together.  Knows no handler's insides.
 *
 * EXEC first takes all ids that the queued commands want, and pauses where there are too few just now, keeping what it
 * has; only then it answers, in as many steps as the replies need, and nothing can pause or fail any more.  So a client
 * has the ids of a whole transaction or an error. */
#include "server/resp/multi.h"
#include "server/commands.h"
#include "server/take.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_BYTES_MAX VS_RESP_REQUEST_MAX
#define QUEUE_COUNT_MAX VESTA_BATCH_MAX

struct vs_multi {
    enum {
        QUEUEING,
        COUNTING, /* a command that is being queued says how many ids it will want */
        TAKING,
        ANSWERING
    } mode;
    bool failed; /* a command was refused: EXEC will be */
    char *bytes; /* the queued requests, as they came */
    size_t used, size, count;
    size_t wanted; /* ids, by all that is queued */
    size_t at;     /* EXEC: bytes that are done with, in this mode */
    size_t taken;  /* EXEC: ids that belong to those */
    bool short_of; /* TAKING: the command that was run last did not get all its ids */
};

static void forget_queue(struct vs_session *s) {
    struct vs_multi *m = s->multi;
    free(m->bytes);
    vs_session_give(s, m->size);
    m->bytes = NULL;
    m->used = m->size = 0;
}

void vs_multi_end(struct vs_session *s) {
    if (!s->multi) return;
    forget_queue(s);
    free(s->multi);
    s->multi = NULL;
}

int vs_multi_count(const struct vs_session *s) {
    return s->multi ? (int)s->multi->count : -1;
}

void vs_multi_fail(struct vs_session *s) {
    if (!s->multi) return;
    s->multi->failed = true;
    forget_queue(s); /* nobody will read it */
}

/* ------------------------------------------------------------------ queueing */

static bool append(struct vs_session *s, const char *bytes, size_t length) {
    struct vs_multi *m = s->multi;
    if (m->size - m->used < length) {
        size_t size = 2 * (m->used + length);
        if (!vs_session_take(s, size - m->size)) return false;
        char *more = realloc(m->bytes, size);
        if (!more) return vs_session_give(s, size - m->size), false;
        m->bytes = more;
        m->size = size;
    }
    memcpy(m->bytes + m->used, bytes, length);
    m->used += length;
    m->count++;
    return true;
}

/* What a command wants is known by letting it ask; what it would answer is said when it runs. */
static void count_wanted(struct vs_request *r) {
    r->session->multi->mode = COUNTING;
    r->call->handler(r);
    r->session->multi->mode = QUEUEING;
    r->out->used = r->start;
    r->code = 0;
}

enum vs_reply_state vs_multi_queue(struct vs_request *r, const char *bytes, size_t length) {
    struct vs_multi *m = r->session->multi;
    if (!m->failed && r->call->flags & VS_CALL_GIVES) count_wanted(r);
    if (r->call->flags & VS_CALL_ALONE)
        vs_refuse(r, "bad_command", "%s is not allowed in a transaction", r->call->name);
    else if (m->wanted > VESTA_BATCH_MAX)
        vs_refuse(r, "bad_count", "a transaction has at most %d ids: send several", VESTA_BATCH_MAX);
    else if (m->count == QUEUE_COUNT_MAX || m->used + length > QUEUE_BYTES_MAX)
        vs_refuse(r, "too_large", "a transaction has at most %d commands of %d bytes in all: send several",
                  QUEUE_COUNT_MAX, QUEUE_BYTES_MAX);
    else if (!m->failed && !append(r->session, bytes, length))
        vs_refuse_memory(r);
    else
        vs_resp_simple(r->out, "QUEUED");
    if (r->code != 0) vs_multi_fail(r->session);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_multi(struct vs_request *r) {
    if (r->session->multi) return vs_refuse(r, "bad_command", "MULTI calls can not be nested");
    r->session->multi = calloc(1, sizeof *r->session->multi);
    if (!r->session->multi) return vs_refuse_memory(r);
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_discard(struct vs_request *r) {
    if (!r->session->multi) return vs_refuse(r, "bad_command", "DISCARD without MULTI");
    vs_multi_end(r->session);
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_watch(struct vs_request *r) {
    if (r->session->multi) return vs_refuse(r, "bad_command", "WATCH inside MULTI is not allowed");
    vs_resp_simple(r->out, "OK"); /* there is nothing that others could change */
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ what the queued commands get */

bool vs_multi_hands_out(const struct vs_session *s) {
    return s->multi && s->multi->mode != QUEUEING;
}

enum vs_reply_state vs_multi_take(struct vs_request *r, size_t n, const struct vs_slice *names) {
    struct vs_session *s = r->session;
    struct vs_multi *m = s->multi;
    if (m->mode == COUNTING) {
        m->wanted += n;
        return VS_WAITS;
    }
    if (m->mode == TAKING) {
        size_t have = s->waiting.ids_count - m->taken;
        m->short_of = !vs_take_up_to(r, s->waiting.ids + m->taken, &have, n, names);
        s->waiting.ids_count = m->taken + have;
        if (!m->short_of) m->taken += n;
        return VS_WAITS;
    }
    assert(m->taken + n <= s->waiting.ids_count);
    memcpy(r->ids, s->waiting.ids + m->taken, n * sizeof *r->ids);
    m->taken += n;
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ EXEC */

/* Reads the next queued request; returns its length. */
static size_t read_next(struct vs_request *r, struct vs_request *next) {
    struct vs_multi *m = r->session->multi;
    struct vs_args *args = &r->session->scratch->args;
    int length = vs_resp_parse(m->bytes + m->at, m->used - m->at, &vs_resp_limits, args);
    assert(length > 0); /* it was read once before */
    *next = *r;
    next->call = vs_resp_call(args);
    next->start = r->out->used;
    return (size_t)length;
}

static bool begin(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_multi *m = s->multi;
    if (!vs_session_keep(s, m->wanted)) return false;
    m->mode = TAKING;
    return true;
}

static bool take_all(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    while (m->at < m->used) {
        struct vs_request next;
        size_t length = read_next(r, &next);
        m->short_of = false;
        if (next.call->flags & VS_CALL_GIVES) next.call->handler(&next);
        next.out->used = next.start;
        if (m->short_of) {
            r->pause = next.pause, r->ns = next.ns, r->gen = next.gen;
            return false;
        }
        m->at += length;
    }
    m->mode = ANSWERING;
    m->at = m->taken = 0;
    vs_resp_array(r->out, m->count);
    return true;
}

enum vs_reply_state vs_on_exec(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    if (!m) return vs_refuse(r, "bad_command", "EXEC without MULTI");
    if (m->failed) return vs_refuse(r, "aborted", "Transaction discarded because of previous errors.");
    if (m->mode == QUEUEING && !begin(r)) return vs_refuse_memory(r);
    if (m->mode == TAKING && !take_all(r)) return VS_WAITS;
    while (m->at < m->used) {
        struct vs_request next;
        if (r->out->size - r->out->used < VS_REPLY_MAX) return VS_AGAIN;
        m->at += read_next(r, &next);
        next.call->handler(&next);
    }
    return VS_ANSWERED;
}
