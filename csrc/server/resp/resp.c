/* resp.c -- processes one request of the Redis protocol: parses it, checks rights, runs or queues it.  Contains no
 * socket or generator code. */
#include "base/array.h"
#include "base/error.h"
#include "server/clients/note.h"
#include "server/commands.h"
#include "server/resp/exec.h"
#include "server/resp/multi.h"
#include "server/rights.h"

#include <string.h>
#include <strings.h>

/* Recognizes an HTTP request.  A web page can make a browser send a POST to this port, and without this check the lines
 * of its body would run as commands. */
static bool is_foreign(const struct vs_args *args) {
    return vs_slice_is_case(args->at[0], "POST") || vs_slice_is_case(args->at[0], "Host:");
}

static const char *const no_store[] = {
    "SET",    "SETNX",  "SETEX",  "PSETEX", "GETSET",   "GETDEL",  "GETEX",    "MSET",       "MSETNX",   "APPEND",
    "DEL",    "UNLINK", "EXISTS", "EXPIRE", "EXPIREAT", "PEXPIRE", "PERSIST",  "TTL",        "PTTL",     "TYPE",
    "KEYS",   "SCAN",   "RENAME", "STRLEN", "HSET",     "HGET",    "HMGET",    "HGETALL",    "HDEL",     "HINCRBY",
    "LPUSH",  "RPUSH",  "LPOP",   "RPOP",   "LLEN",     "LRANGE",  "SADD",     "SREM",       "SMEMBERS", "ZADD",
    "ZRANGE", "XADD",   "SETBIT", "EVAL",   "EVALSHA",  "FLUSHDB", "FLUSHALL", "INCRBYFLOAT"};
static const char *const no_channels[] = {"SUBSCRIBE",   "PSUBSCRIBE",   "SSUBSCRIBE",   "PUBLISH", "SPUBLISH",
                                          "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PUBSUB"};

static bool resp_is_one_of(struct vs_slice name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (vs_slice_is_case(name, names[i])) return true;
    return false;
}

static void resp_unknown(struct vs_request *r) {
    struct vs_slice name = r->arg[-1];
    bool more = r->arg_count > 0;
    if (resp_is_one_of(name, no_store, VS_COUNT(no_store)))
        vs_refuse(r, "bad_command", "vesta does not store data");
    else if (resp_is_one_of(name, no_channels, VS_COUNT(no_channels)))
        vs_refuse(r, "bad_command", "vesta has no channels");
    else if (vs_slice_is_case(name, "MONITOR"))
        vs_refuse(r, "bad_command",
                  "vesta does not report the requests of other clients.  CLIENT LIST has the last command of each");
    else
        vs_refuse(r, "bad_command", "unknown command '%s', with args beginning with: %s%s%s",
                  VS_QUOTE(name.at, name.length), more ? "'" : "",
                  more ? VS_QUOTE(r->arg[0].at, r->arg[0].length) : "", more ? "' " : "");
}

/* Returns whether the command may run.  As in Redis, the name is checked first, then the number of arguments, then
 * rights. */
static bool may_run(struct vs_request *r, const struct vs_args *args) {
    vs_resp_bind(r, args);
    r->call = vs_call_named(args->at[0]);
    if (!r->call)
        resp_unknown(r);
    else if (r->arg_count < r->call->args_min || r->arg_count > r->call->args_max)
        vs_refuse(r, "bad_command", "wrong number of arguments for '%s': %s", r->call->name, r->call->help);
    else if (vs_session_is_stranger(r->session) && !(r->call->flags & VS_CALL_STRANGER))
        vs_refuse(r, "no_password", "Authentication required.");
    else
        return r->call->flags & VS_CALL_STRANGER || vs_rights_may_call(r);
    return false;
}

static enum vs_reply_state end_transaction(struct vs_request *r, enum vs_reply_state state) {
    if (state == VS_ANSWERED && r->call->flags & VS_CALL_EXEC) vs_multi_end(r->session);
    return state;
}

static enum vs_reply_state resp_answer(struct vs_request *r, const struct vs_args *args) {
    struct vs_session *s = r->session;
    if (!may_run(r, args)) {
        vs_multi_fail(s);
        if (!r->call || !(r->call->flags & VS_CALL_EXEC) || vs_session_is_stranger(s)) return VS_ANSWERED;
        /* ends the transaction, because the client believes that it is over and later commands must not be queued */
        vs_multi_end(s);
        return vs_refuse(r, "aborted", "Transaction discarded because of: wrong number of arguments for 'EXEC'");
    }
    if (s->multi && !(r->call->flags & VS_CALL_NOW)) return vs_exec_queue(r);
    return end_transaction(r, vs_request_run(r));
}

/* Completes a step.  Returns the number of consumed bytes, or NET_WAITS, NET_PART or NET_CLOSE. */
static int resp_end(struct vs_request *r, enum vs_reply_state state, int used) {
    if (state == VS_WAITS) return NET_WAITS;
    r->session->parts += r->out->used - r->start;
    if (state == VS_AGAIN) return NET_PART;
    int result = used < 0 || state == VS_QUIT ? NET_CLOSE : used * (int)(1 + r->also);
    vs_note(r, r->session->parts);
    r->session->parts = 0;
    vs_request_end(r);
    return result;
}

int vs_resp_step(struct vs_session *s, const char *buf, size_t len, struct vs_out *out) {
    struct vs_args *args = &s->scratch->args;
    vs_rights_look(s);
    int used = vs_resp_parse(buf, len, vs_session_is_stranger(s) ? &vs_resp_stranger_limits : &vs_resp_limits, args);
    if (used == 0 || (used > 0 && args->count == 0)) return used;
    if (used > 0 && is_foreign(args)) return NET_CLOSE;
    out->resp3 = s->member.resp3;
    struct vs_request r = {.session = s,
                           .out = out,
                           .start = out->used,
                           .protocol = VS_RESP,
                           .ns = &s->server->names.at[0],
                           .ids = s->scratch->ids};
    s->waiting.bytes = used > 0 ? (size_t)used : 0;
    if (used > 0) r.bytes = (struct vs_slice){buf, (size_t)used}, r.behind = len - (size_t)used;
    return resp_end(&r, used < 0 ? vs_refuse(&r, "bad_request", "%s", args->broken) : resp_answer(&r, args), used);
}

int vs_resp_again(struct vs_session *s, struct vs_out *out) {
    struct vs_request *r = s->waiting.request;
    out->resp3 = s->member.resp3;
    return resp_end(r, end_transaction(r, vs_request_go_on(r, out)), 1);
}
