/* exec.c -- MULTI, EXEC, DISCARD: commands are stored as bytes and answered together.  Contains no handler code.
 *
 * When a command is queued, its handler declares which ids it needs.  EXEC first takes the ids of all commands.  If
 * there are too few ids, EXEC keeps the ids that it has and waits.  When EXEC has all ids, it parses the commands again
 * and writes their replies, in as many steps as needed.  From then on no command can wait or fail, so a client receives
 * either the ids of the whole transaction or an error. */
#include "server/resp/exec.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/take.h"

#include <assert.h>

#define QUEUE_BYTES_MAX VS_RESP_REQUEST_MAX
#define QUEUE_COUNT_MAX VESTA_BATCH_MAX

/* ------------------------------------------------------------------ queueing */

/* Runs the handler to count the ids that the command needs, and discards its reply.  If the namespace is not open yet,
 * the reply is an error, because at EXEC the namespace may be open and the command would need ids that were not
 * counted.  Returns false if the command is rejected. */
static bool count_wanted(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    m->mode = VS_MULTI_COUNTING;
    m->cannot = false;
    r->call->handler(r);
    m->mode = VS_MULTI_QUEUEING;
    if (m->cannot || (r->waits_for == VS_FOR_OPENING && r->call->flags & VS_CALL_GIVES)) return false;
    r->out->used = r->start;
    r->code = 0;
    if (m->wanted > VESTA_BATCH_MAX)
        vs_refuse(r, "bad_count", "a transaction can take at most %d ids: split it", VESTA_BATCH_MAX);
    else if (!vs_multi_is_noted(r->session))
        vs_refuse_memory(r);
    return r->code == 0;
}

/* Returns whether count_wanted must run.  It also runs for commands that issue no ids, because it checks the client's
 * right to their names and charges their namespaces. */
static bool is_counted(const struct vs_request *r) {
    return (r->call->flags >> VS_CALL_NEEDS & VS_ALL_CLASSES) != 0;
}

static void queue(struct vs_request *r, struct vs_slice bytes) {
    struct vs_multi *m = r->session->multi;
    if (r->call->flags & VS_CALL_ALONE)
        vs_refuse(r, "bad_command", "%s is not allowed in a transaction", r->call->name);
    else if (m->failed)
        return; /* EXEC will fail and not run the command */
    else if (m->count == QUEUE_COUNT_MAX || m->bytes + bytes.length > QUEUE_BYTES_MAX)
        vs_refuse(r, "too_large", "a transaction can have at most %d commands of %d bytes in all: split it",
                  QUEUE_COUNT_MAX, QUEUE_BYTES_MAX);
    else if (is_counted(r) && !count_wanted(r))
        return;
    else if (!vs_multi_add(r->session, r->call, bytes))
        vs_refuse_memory(r);
}

enum vs_reply_state vs_exec_queue(struct vs_request *r) {
    queue(r, r->bytes);
    if (r->code != 0)
        vs_multi_fail(r->session);
    else
        vs_resp_simple(r->out, "QUEUED");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_multi(struct vs_request *r) {
    if (r->session->multi) return vs_refuse(r, "bad_command", "MULTI calls can not be nested");
    if (!vs_multi_begin(r->session)) return vs_refuse_memory(r);
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
    vs_resp_simple(r->out, "OK"); /* there is no data that other clients could change */
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ EXEC */

/* Answers one command.  Returns whether the connection's time slice is over. */
static bool answer_next(struct vs_request *r) {
    struct net_quantum *quantum = &r->session->scratch->quantum;
    struct vs_args *args = &r->session->scratch->args;
    struct vs_slice bytes;
    struct vs_request next = {.session = r->session,
                              .call = vs_multi_next(r->session, &bytes),
                              .out = r->out,
                              .start = r->out->used,
                              .protocol = VS_RESP,
                              .ns = r->session->server->names.at,
                              .ids = r->ids};
    int length = vs_resp_parse(bytes.at, bytes.length, &vs_resp_limits, args);
    assert(length > 0); /* the command was parsed when it was queued */
    (void)length;
    vs_resp_bind(&next, args);
    next.call->handler(&next);
    quantum->cost += 1 + (bytes.length + r->out->used - next.start) / NET_QUANTUM_BYTES + vs_call_cost(next.call);
    return net_quantum_is_over(quantum);
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
    uint64_t run;
    while (s->waiting.ids_count < m->wanted) {
        size_t have = s->waiting.ids_count, same = vs_multi_turn(r, have, &run);
        /* checked again, because the tag may have had no range when the command was queued */
        if (run > 1 && !vs_take_check_run(r, run)) return VS_ANSWERED;
        bool has_all = run > 1 ? vs_take_run_now(r, run, &s->waiting.ids[have])
                               : vs_take_up_to(r, s->waiting.ids, &s->waiting.ids_count, have + same);
        if (!has_all) return vs_take_wait(r, take_all);
        if (run > 1) s->waiting.ids_count++;
    }
    m->mode = VS_MULTI_ANSWERING;
    vs_resp_array(r->out, m->count);
    return answer_all(r);
}

enum vs_reply_state vs_on_exec(struct vs_request *r) {
    struct vs_session *s = r->session;
    if (!s->multi) return vs_refuse(r, "bad_command", "EXEC without MULTI");
    if (s->multi->failed) return vs_refuse(r, "aborted", "Transaction discarded because of previous errors.");
    if (!vs_session_keep(s, s->multi->wanted)) return vs_refuse_memory(r);
    s->multi->mode = VS_MULTI_TAKING;
    return take_all(r);
}
