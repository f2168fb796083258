/* multi.c -- MULTI, EXEC, DISCARD: requests kept as bytes, and answered together.  Knows no handler's insides.
 *
 * A command that is queued says which ids it will want.  EXEC first takes them all, and pauses where there are too few
 * just now, keeping what it has; only then the commands are read again and answered, in as many steps as the replies
 * need, and nothing can pause or fail any more.  So a client has the ids of a whole transaction or an error. */
#include "server/resp/multi.h"
#include "server/commands.h"
#include "server/take.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_BYTES_MAX VS_RESP_REQUEST_MAX
#define QUEUE_COUNT_MAX VESTA_BATCH_MAX

/* Memory that grows, and is counted for the session. */
struct heap {
    char *at;
    size_t used, size;
};

/* What a queued command will want: an id of a namespace, or a number of a tag, the last of so many in a row. */
struct demand {
    uint16_t source; /* index of app->ns, or behind those of the transaction's set of tags */
    uint32_t run;
};
_Static_assert(VS_NAMESPACES_MAX + VS_SERVED_TAGS_MAX <= UINT16_MAX && VESTA_NUMBERS_MAX <= UINT32_MAX, "a demand has room for all of them");

struct vs_multi {
    enum {
        QUEUEING,
        COUNTING, /* a command that is being queued says how many ids it will want */
        TAKING,
        ANSWERING
    } mode;
    bool cannot;             /* COUNTING: nobody could give what it wants */
    bool failed;             /* a command was refused: EXEC will be */
    struct heap queue;       /* the queued requests, as they came */
    size_t count;            /* of them */
    size_t wanted;           /* ids, by all that is queued */
    struct heap demands;     /* struct demand, of each */
    struct heap asked;       /* struct vs_asked_of; only of namespaces that have a rate of requests */
    struct vs_tag_set *tags; /* those that there were when it began: what was counted is what is taken */
    size_t at, taken;        /* ANSWERING: bytes of the queue that are done with, and ids that went to those */
};

static void forget(struct vs_session *s, struct heap *heap) {
    free(heap->at);
    vs_session_give(s, heap->size);
    *heap = (struct heap){0};
}

static void forget_queue(struct vs_session *s) {
    forget(s, &s->multi->queue);
    forget(s, &s->multi->demands);
    forget(s, &s->multi->asked);
}

/* How many requests are queued, for others to see. */
static void show_count(struct vs_session *s) {
    vs_set(&s->member.commands, s->multi ? s->multi->count + 1 : 0);
}

void vs_multi_end(struct vs_session *s) {
    if (!s->multi) return;
    forget_queue(s);
    vs_tags_let(s->multi->tags);
    free(s->multi);
    s->multi = NULL;
    show_count(s);
}

void vs_multi_fail(struct vs_session *s) {
    if (!s->multi) return;
    s->multi->failed = true;
    forget_queue(s);
}

/* ------------------------------------------------------------------ queueing */

static bool append(struct vs_session *s, struct heap *heap, const void *bytes, size_t length) {
    if (heap->size - heap->used < length) {
        size_t size = 2 * (heap->used + length);
        if (!vs_session_take(s, size - heap->size)) return false;
        char *more = realloc(heap->at, size);
        if (!more) return vs_session_give(s, size - heap->size), false;
        heap->at = more;
        heap->size = size;
    }
    memcpy(heap->at + heap->used, bytes, length);
    heap->used += length;
    return true;
}

/* What a command wants is known by letting it ask; what it would answer is said when it runs.  But where its namespace
 * is not open yet that answer stands: were it open by then, the command would ask for ids that nobody has counted.
 * false: it is refused. */
static bool count_wanted(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    m->mode = COUNTING;
    m->cannot = false;
    r->call->handler(r);
    m->mode = QUEUEING;
    if (m->cannot || (r->waits_for == VS_FOR_OPENING && r->call->flags & VS_CALL_GIVES)) return false;
    r->out->used = r->start;
    r->code = 0;
    if (m->wanted > VESTA_BATCH_MAX)
        vs_refuse(r, "bad_count", "a transaction has at most %d ids: send several", VESTA_BATCH_MAX);
    else if (m->demands.used < m->wanted * sizeof(struct demand))
        vs_refuse_memory(r);
    return r->code == 0;
}

/* Commands that give no ids are counted, too: whether the client may ask what they name is decided when they are queued,
 * and their namespaces are charged. */
static bool is_counted(const struct vs_request *r) {
    return (r->call->flags >> VS_CALL_NEEDS & VS_ALL_CLASSES) != 0;
}

static void queue(struct vs_request *r, const char *bytes, size_t length) {
    struct vs_multi *m = r->session->multi;
    if (r->call->flags & VS_CALL_ALONE)
        vs_refuse(r, "bad_command", "%s is not allowed in a transaction", r->call->name);
    else if (m->failed)
        return; /* nobody will read it */
    else if (m->count == QUEUE_COUNT_MAX || m->queue.used + length > QUEUE_BYTES_MAX)
        vs_refuse(r, "too_large", "a transaction has at most %d commands of %d bytes in all: send several",
                  QUEUE_COUNT_MAX, QUEUE_BYTES_MAX);
    else if (is_counted(r) && !count_wanted(r))
        return;
    else if (!append(r->session, &m->queue, bytes, length))
        vs_refuse_memory(r);
    else
        m->count++;
}

enum vs_reply_state vs_multi_queue(struct vs_request *r, const char *bytes, size_t length) {
    queue(r, bytes, length);
    if (r->code != 0)
        vs_multi_fail(r->session);
    else
        vs_resp_simple(r->out, "QUEUED");
    show_count(r->session);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_multi(struct vs_request *r) {
    if (r->session->multi) return vs_refuse(r, "bad_command", "MULTI calls can not be nested");
    r->session->multi = calloc(1, sizeof *r->session->multi);
    if (!r->session->multi) return vs_refuse_memory(r);
    r->session->multi->tags = vs_tags_now(r->session->app);
    vs_tags_hold(r->session->multi->tags);
    show_count(r->session);
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

bool vs_multi_is_counting(const struct vs_session *s) {
    return s->multi && s->multi->mode == COUNTING;
}

void vs_multi_cannot(struct vs_session *s) {
    s->multi->cannot = true;
}

struct vs_tag_set *vs_multi_tags(const struct vs_session *s) {
    return s->multi->tags;
}

static uint16_t source_of(struct vs_request *r) {
    const struct vs_tag_set *tags = r->session->multi->tags;
    if (!r->tag) return (uint16_t)(r->ns - r->session->app->ns);
    return (uint16_t)(VS_NAMESPACES_MAX + vs_tag_after(tags, r->tag->name, r->tag->name_length) - 1);
}

static void turn_to_source(struct vs_request *r, uint16_t source) {
    if (source < VS_NAMESPACES_MAX)
        vs_request_turn(r, &r->session->app->ns[source]);
    else
        r->tag = r->session->multi->tags->at[source - VS_NAMESPACES_MAX];
}

/* false: there is no memory to note it. */
static bool note_demand(struct vs_request *r, uint64_t run) {
    struct demand one = {source_of(r), (uint32_t)run};
    return append(r->session, &r->session->multi->demands, &one, sizeof one);
}

bool vs_multi_asks(const struct vs_session *s, size_t i, struct vs_asked_of *of) {
    const struct heap *asked = &s->multi->asked;
    if ((i + 1) * sizeof *of > asked->used) return false;
    memcpy(of, asked->at + i * sizeof *of, sizeof *of);
    return true;
}

bool vs_multi_ask(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    struct vs_asked_of of = {.ns = UINT32_MAX}, next = {(uint32_t)(r->ns - r->session->app->ns), 1};
    size_t count = m->asked.used / sizeof of;
    if (count > 0) vs_multi_asks(r->session, count - 1, &of);
    if (of.ns == next.ns) {
        next.requests += of.requests;
        m->asked.used -= sizeof of;
    }
    if (append(r->session, &m->asked, &next, sizeof next)) return true;
    vs_refuse_memory(r);
    vs_multi_cannot(r->session);
    return false;
}

/* Notes for each id whose it shall be; too few are noted where there is no memory for it. */
static void count(struct vs_request *r, size_t n) {
    struct vs_multi *m = r->session->multi;
    m->wanted += n;
    for (size_t i = 0; i < n && m->wanted <= VESTA_BATCH_MAX; i++) {
        if (r->names > 1) vs_request_find(r, r->arg[i]);
        if (!note_demand(r, 1)) return;
    }
}

/* Hands out n of what EXEC has taken. */
static const uint64_t *hand_out(struct vs_request *r, size_t n) {
    const struct vs_session *s = r->session;
    struct vs_multi *m = s->multi;
    assert(m->mode == ANSWERING && m->taken + n <= s->waiting.ids_count);
    m->taken += n;
    return s->waiting.ids + m->taken - n;
}

enum vs_reply_state vs_multi_take(struct vs_request *r) {
    if (r->session->multi->mode == COUNTING) {
        count(r, r->n);
        return VS_WAITS;
    }
    memcpy(r->ids, hand_out(r, r->n), r->n * sizeof *r->ids);
    return r->then(r);
}

enum vs_reply_state vs_multi_take_run(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    if (m->mode == COUNTING) {
        if (!vs_take_check_run(r, r->n)) return m->cannot = true, VS_ANSWERED;
        m->wanted++;
        if (m->wanted <= VESTA_BATCH_MAX) (void)note_demand(r, r->n);
        return VS_WAITS;
    }
    r->ids[0] = *hand_out(r, 1);
    return r->then(r);
}

/* ------------------------------------------------------------------ EXEC */

/* Reads the next queued request; returns its length. */
static size_t read_next(struct vs_request *r, struct vs_request *next) {
    struct vs_multi *m = r->session->multi;
    struct vs_args *args = &r->session->scratch->args;
    int length = vs_resp_parse(m->queue.at + m->at, m->queue.used - m->at, &vs_resp_limits, args);
    assert(length > 0); /* it was read once before */
    *next = (struct vs_request){.session = r->session,
                                .out = r->out,
                                .start = r->out->used,
                                .protocol = VS_RESP,
                                .ns = r->ns,
                                .ids = r->ids};
    vs_resp_bind(next, args);
    return (size_t)length;
}

static bool begin(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_multi *m = s->multi;
    if (!vs_session_keep(s, m->wanted)) return false;
    m->mode = TAKING;
    return true;
}

static struct demand demand_at(const struct vs_multi *m, size_t i) {
    struct demand one;
    memcpy(&one, m->demands.at + i * sizeof one, sizeof one);
    return one;
}

/* How many ids in a row, from that one on, are to be of the same. */
static size_t same_from(const struct vs_multi *m, size_t at) {
    struct demand first = demand_at(m, at);
    size_t same = 1;
    for (; at + same < m->wanted; same++) {
        struct demand next = demand_at(m, at + same);
        if (next.source != first.source || next.run != 1) break;
    }
    return same;
}

/* Answers one; true: the connection's time is up. */
static bool answer_next(struct vs_request *r) {
    struct vs_quantum *quantum = &r->session->scratch->quantum;
    struct vs_request next;
    size_t length = read_next(r, &next);
    r->session->multi->at += length;
    next.call->handler(&next);
    quantum->cost += 1 + (length + r->out->used - next.start) / VS_QUANTUM_BYTES + vs_call_cost(next.call);
    return vs_quantum_is_over(quantum);
}

static enum vs_reply_state answer_all(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    r->stage = answer_all;
    while (m->at < m->queue.used) {
        if (r->out->size - r->out->used < VS_REPLY_MAX) return VS_AGAIN;
        if (answer_next(r) && m->at < m->queue.used) return VS_AGAIN;
    }
    return VS_ANSWERED;
}

static enum vs_reply_state take_all(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_multi *m = s->multi;
    while (s->waiting.ids_count < m->wanted) {
        size_t have = s->waiting.ids_count;
        struct demand next = demand_at(m, have);
        turn_to_source(r, next.source);
        /* when it was queued, no range of the tag may have been there yet */
        if (next.run > 1 && !vs_take_check_run(r, next.run)) return VS_ANSWERED;
        bool has_all = next.run > 1 ? vs_take_run_now(r, next.run, &s->waiting.ids[have])
                                    : vs_take_up_to(r, s->waiting.ids, &s->waiting.ids_count, have + same_from(m, have));
        if (!has_all) return vs_take_wait(r, take_all);
        if (next.run > 1) s->waiting.ids_count++;
    }
    m->mode = ANSWERING;
    vs_resp_array(r->out, m->count);
    return answer_all(r);
}

enum vs_reply_state vs_on_exec(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    if (!m) return vs_refuse(r, "bad_command", "EXEC without MULTI");
    if (m->failed) return vs_refuse(r, "aborted", "Transaction discarded because of previous errors.");
    if (!begin(r)) return vs_refuse_memory(r);
    return take_all(r);
}
