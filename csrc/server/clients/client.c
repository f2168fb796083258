/* client.c -- the command CLIENT, as in Redis 7.0: lists, names and ends connections.  Contains no socket code.
 *
 * The lines of CLIENT LIST contain only the fields of Redis, because some clients reject unknown fields.  The admin
 * routes show more. */
#include "server/clients/client.h"
#include "base/array.h"
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/rights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 768
_Static_assert(2 * VS_PEER_TEXT_MAX + VS_CLIENT_NAME_MAX + VS_ACCOUNT_NAME_MAX + VS_CALL_NAME_MAX + 480 <= LINE_MAX,
               "a line with numbers of 20 digits fits");

/* ------------------------------------------------------------------ names */

bool vs_client_name(struct vs_request *r, struct vs_slice name) {
    if (name.length >= VS_CLIENT_NAME_MAX)
        return vs_refuse(r, "bad_field", "a client name has at most %d bytes", VS_CLIENT_NAME_MAX - 1), false;
    for (size_t i = 0; i < name.length; i++)
        if (name.at[i] <= ' ' || name.at[i] > '~')
            return vs_refuse(r, "bad_field", "Client names cannot contain spaces, newlines or special characters."),
                   false;
    vs_roster_name(r->session, name);
    return true;
}

static enum vs_reply_state ok(struct vs_request *r) {
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

static enum vs_reply_state on_setname(struct vs_request *r) {
    return vs_client_name(r, r->arg[1]) ? ok(r) : VS_ANSWERED;
}

static enum vs_reply_state on_getname(struct vs_request *r) {
    if (*r->session->member.name)
        vs_resp_word(r->out, r->session->member.name);
    else
        vs_resp_null(r->out);
    return VS_ANSWERED;
}

static enum vs_reply_state on_id(struct vs_request *r) {
    vs_resp_int(r->out, (int64_t)r->session->id);
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ lines */

/* Writes the last command of a connection.  Appends the subcommand, as in "client|list", only for the requesting
 * connection, because the subcommands of other connections are not known. */
static void client_put_command(const struct vs_request *r, const struct roster_seen *seen, char text[LINE_MAX]) {
    char name[VS_CALL_NAME_MAX] = "NULL", sub[VS_CALL_NAME_MAX] = "";
    bool asks = seen->id == r->session->id;
    if (!seen->call && !asks)
        strcpy(text, name);
    else if (asks && r->arg[0].length < sizeof sub) {
        memcpy(sub, r->arg[0].at, r->arg[0].length);
        vs_call_lower(sub, name);
        snprintf(text, LINE_MAX, "client|%s", name);
    } else if (!seen->call->name || seen->protocol != VS_RESP)
        snprintf(text, LINE_MAX, "%s", seen->call->route);
    else
        vs_call_lower(seen->call->name, text);
}

/* Writes the fields of Redis 7.0, in its order. */
static size_t client_put_line(const struct vs_request *r, const struct roster_seen *seen, char line[LINE_MAX]) {
    char peer[VS_PEER_TEXT_MAX], own[VS_PEER_TEXT_MAX], command[LINE_MAX];
    const char *flags = seen->multi >= 0 ? "x" : seen->waits ? "b" : seen->peer.family == 0 ? "U" : "N";
    client_put_command(r, seen, command);
    return (size_t)snprintf(
        line, LINE_MAX,
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 "
        "omem=0 tot-mem=%" PRIu64 " events=r cmd=%.*s user=%s redir=-1 resp=%d\n",
        seen->id, vs_peer_text(&seen->peer, peer), vs_peer_text(&seen->own, own), seen->fd, seen->name,
        seen->age_us / 1000000, seen->idle_ms / 1000, flags, seen->multi, seen->memory, VS_CALL_NAME_MAX + 8, command,
        seen->client, seen->resp3 ? 3 : 2);
}

/* ------------------------------------------------------------------ lists, which may be sent in several parts */

struct client_listing {
    size_t length, at, size; /* size: bytes charged to the client */
    char text[];
};

void vs_listing_end(struct vs_session *s) {
    if (!s->listing) return;
    vs_session_give(s, s->listing->size);
    free(s->listing);
    s->listing = NULL;
}

/* Restricts a filter to the client's own connection, unless it has the right `operate`. */
static struct vs_wanted visible(const struct vs_session *s, struct vs_wanted wanted) {
    if (!vs_rights_operates(s)) wanted.me = s;
    return wanted;
}

/* Creates the list.  Returns false if there is no memory.  The reply is then an error. */
static bool make_list(struct vs_request *r, const struct vs_wanted *wanted) {
    struct vs_session *s = r->session;
    size_t count, length = 0;
    struct vs_wanted mine = visible(s, *wanted);
    struct roster_seen *seen = vs_roster_look(s->server, &mine, 0, &count);
    size_t size = sizeof *s->listing + count * LINE_MAX;
    if (seen && vs_session_take(s, size)) s->listing = malloc(size);
    if (seen && s->listing) {
        for (size_t i = 0; i < count; i++)
            length += client_put_line(r, &seen[i], s->listing->text + length);
        s->listing->length = length, s->listing->at = 0, s->listing->size = size;
    } else {
        vs_refuse_memory(r);
    }
    free(seen);
    return s->listing != NULL;
}

static enum vs_reply_state client_put_list(struct vs_request *r) {
    struct client_listing *list = r->session->listing;
    size_t room = r->out->size - r->out->used - 64, left = list->length - list->at, n = left < room ? left : room;
    bool is_last = n == left;
    if (list->at == 0) {
        char head[24];
        vs_put(r->out, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", list->length));
    }
    vs_put(r->out, list->text + list->at, n);
    list->at += n;
    r->stage = client_put_list;
    if (!is_last) return VS_AGAIN;
    vs_put_text(r->out, "\r\n");
    vs_listing_end(r->session);
    return VS_ANSWERED;
}

static enum vs_reply_state list(struct vs_request *r, const struct vs_wanted *wanted) {
    bool is_in_transaction = vs_multi_hands_out(r->session);
    vs_listing_end(r->session); /* discards an earlier, unfinished list */
    if (!make_list(r, wanted)) return VS_ANSWERED;
    if (is_in_transaction && r->session->listing->length > VS_REPLY_MAX / 2) {
        vs_listing_end(r->session);
        return vs_refuse(r, "too_large", "the list is too long for a transaction: send CLIENT LIST outside of MULTI");
    }
    return client_put_list(r);
}

static enum vs_reply_state on_info(struct vs_request *r) {
    return list(r, &(struct vs_wanted){.me = r->session});
}

static enum vs_reply_state syntax_error(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "syntax error");
}

/* Reads a client type of Redis.  Only `normal` matches connections, because there are no replicas and no subscribers.
 * If the type is unknown, returns false, and the reply is an error. */
static bool read_type(struct vs_request *r, struct vs_slice type, bool *is_any) {
    static const char *const others[] = {"replica", "slave", "master", "pubsub"};
    *is_any = vs_slice_is_case(type, "normal");
    for (size_t i = 0; i < VS_COUNT(others); i++)
        if (vs_slice_is_case(type, others[i])) return true;
    if (!*is_any) vs_refuse(r, "bad_field", "Unknown client type '%s'", VS_QUOTE(type.at, type.length));
    return *is_any;
}

static bool read_id(struct vs_slice text, uint64_t *id) {
    return vesta_parse(VESTA_DECIMAL, text.at, text.length, id) == VESTA_OK && *id <= INT64_MAX;
}

/* The loop's memory for ids has room for one id per argument. */
_Static_assert(VS_RESP_ARGS_MAX <= VESTA_BATCH_MAX, "one id per argument");

static enum vs_reply_state on_list(struct vs_request *r) {
    const struct vs_slice *word = r->arg;
    int count = r->arg_count;
    struct vs_wanted wanted = {.ids = NULL};
    bool is_any;
    if (count == 1) return list(r, &wanted);
    if (count == 3 && vs_slice_is_case(word[1], "TYPE")) {
        if (!read_type(r, word[2], &is_any)) return VS_ANSWERED;
        if (!is_any) wanted.ids = r->ids; /* an empty list of ids, which matches no connection */
        return list(r, &wanted);
    }
    if (count < 3 || !vs_slice_is_case(word[1], "ID")) return syntax_error(r);
    wanted.ids = r->ids;
    for (int i = 2; i < count; i++)
        if (!read_id(word[i], &r->ids[wanted.id_count++])) return vs_refuse(r, "bad_field", "Invalid client ID");
    return list(r, &wanted);
}

/* ------------------------------------------------------------------ ending */

/* The connections that CLIENT KILL must end. */
struct victims {
    struct vs_wanted wanted;
    bool is_nobody; /* the type matches no connection */
    bool spares_me;
};

static bool read_yes(struct vs_slice word, bool *is_yes) {
    *is_yes = vs_slice_is_case(word, "YES");
    return *is_yes || vs_slice_is_case(word, "NO");
}

static bool is_user(const struct vs_session *s, struct vs_slice name) {
    const struct vs_accounts *accounts = s->grant.accounts;
    return vs_slice_is(name, VS_ACCOUNT_DEFAULT) || (accounts && vs_account_named(accounts, name));
}

/* Reads one option and its value.  If it returns false, the reply is an error. */
static bool read_victim(struct vs_request *r, struct vs_slice word, struct vs_slice value, struct victims *v) {
    bool is_any = true;
    if (vs_slice_is_case(word, "ID")) {
        if (!read_id(value, r->ids) || r->ids[0] == 0)
            return vs_refuse(r, "bad_field", "client-id should be greater than 0"), false;
        v->wanted.ids = r->ids, v->wanted.id_count = 1;
    } else if (vs_slice_is_case(word, "TYPE")) {
        if (!read_type(r, value, &is_any)) return false;
        v->is_nobody |= !is_any;
    } else if (vs_slice_is_case(word, "ADDR")) {
        v->wanted.peer = value;
    } else if (vs_slice_is_case(word, "LADDR")) {
        v->wanted.own = value;
    } else if (vs_slice_is_case(word, "USER")) {
        if (!is_user(r->session, value))
            return vs_refuse(r, "bad_field", "No such user '%s'", VS_QUOTE(value.at, value.length)), false;
        v->wanted.client = value;
    } else if (!vs_slice_is_case(word, "SKIPME") || !read_yes(value, &v->spares_me)) {
        return syntax_error(r), false;
    }
    return true;
}

/* Returns whether the requesting connection matches the filter, and excludes that connection from the filter, because
 * its reply must be written before the connection ends. */
static bool take_me(struct vs_session *s, struct vs_wanted *wanted) {
    struct vs_wanted me = *wanted;
    size_t count;
    me.me = s;
    struct roster_seen *seen = wanted->but == s->id ? NULL : vs_roster_look(s->server, &me, 1, &count);
    bool is_meant = seen && count > 0;
    free(seen);
    wanted->but = s->id;
    return is_meant;
}

/* Ends the matching connections.  Sets *me if the requesting connection is among them.  If the client lacks the right,
 * returns false, and the reply is an error. */
static bool client_end(struct vs_request *r, struct vs_wanted wanted, bool *me, size_t *count) {
    struct vs_session *s = r->session;
    *me = take_me(s, &wanted);
    *count = *me;
    if (*me && vs_multi_hands_out(s)) /* marks the connection, because VS_QUIT has no effect in a transaction */
        (void)vs_roster_end(s->server, &(struct vs_wanted){.me = s});
    if (!vs_rights_operates(s)) {
        if (*me) return true;
        return vs_refuse(r, "not_allowed", "this user has no permissions to run the 'client|kill' command"), false;
    }
    *count += vs_roster_end(s->server, &wanted);
    if (*count)
        vs_log(VS_LOG_INFO, "CLIENT KILL ended connections", "ended", VS_DIGITS((int64_t)*count), VS_WHO(s), NULL);
    return true;
}

static enum vs_reply_state on_kill_address(struct vs_request *r) {
    size_t count;
    bool me;
    if (!client_end(r, (struct vs_wanted){.peer = r->arg[1]}, &me, &count)) return VS_ANSWERED;
    if (count == 0) return vs_refuse(r, "bad_field", "No such client");
    ok(r);
    return me ? VS_QUIT : VS_ANSWERED;
}

static enum vs_reply_state on_kill(struct vs_request *r) {
    struct victims v = {.spares_me = true};
    size_t count = 0;
    bool me = false;
    if (r->arg_count == 2) return on_kill_address(r);
    if (r->arg_count % 2 == 0) return syntax_error(r);
    for (int i = 1; i < r->arg_count; i += 2)
        if (!read_victim(r, r->arg[i], r->arg[i + 1], &v)) return VS_ANSWERED;
    if (v.spares_me) v.wanted.but = r->session->id;
    if (!v.is_nobody && !client_end(r, v.wanted, &me, &count)) return VS_ANSWERED;
    vs_resp_int(r->out, (int64_t)count);
    return me ? VS_QUIT : VS_ANSWERED;
}

/* ------------------------------------------------------------------ subcommands without effect */

static enum vs_reply_state on_flag(struct vs_request *r) {
    struct vs_slice word = r->arg[1];
    return vs_slice_is_case(word, "ON") || vs_slice_is_case(word, "OFF") ? ok(r) : syntax_error(r);
}

static enum vs_reply_state client_unknown(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "unknown subcommand '%s' or wrong number of arguments: use %s",
                     VS_QUOTE(r->arg[0].at, r->arg[0].length), r->call->help);
}

static enum vs_reply_state on_tracking(struct vs_request *r) {
    if (vs_slice_is_case(r->arg[1], "OFF") && r->arg_count == 2) return ok(r);
    if (!vs_slice_is_case(r->arg[1], "ON")) return client_unknown(r);
    return vs_refuse(
        r, "bad_command",
        "CLIENT TRACKING is rejected, because a cache in the client would return the same id again.  Turn "
        "client-side caching off");
}

static enum vs_reply_state on_reply(struct vs_request *r) {
    if (vs_slice_is_case(r->arg[1], "ON")) return ok(r);
    return vs_refuse(r, "bad_command", "CLIENT REPLY is rejected, because an id without a reply would be lost");
}

static enum vs_reply_state on_getredir(struct vs_request *r) {
    vs_resp_int(r->out, -1); /* nothing is tracked */
    return VS_ANSWERED;
}

static enum vs_reply_state on_pause(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "CLIENT PAUSE is rejected.  To stop a server, drain it");
}

static enum vs_reply_state on_unblock(struct vs_request *r) {
    return vs_refuse(
        r, "bad_command",
        "CLIENT UNBLOCK is rejected, because requests wait only briefly.  To end a connection, use CLIENT KILL");
}

static const struct {
    const char *name;
    int args_min, args_max; /* including the name of the subcommand */
    vs_handler *handler;
} subs[] = {{"SETNAME", 2, 2, on_setname},
            {"GETNAME", 1, 1, on_getname},
            {"ID", 1, 1, on_id},
            {"INFO", 1, 1, on_info},
            {"LIST", 1, VS_RESP_ARGS_MAX, on_list},
            {"KILL", 2, VS_RESP_ARGS_MAX, on_kill},
            {"SETINFO", 3, 3, ok},
            {"NO-EVICT", 2, 2, on_flag},
            {"NO-TOUCH", 2, 2, on_flag},
            {"TRACKING", 2, VS_RESP_ARGS_MAX, on_tracking},
            {"GETREDIR", 1, 1, on_getredir},
            {"REPLY", 2, 2, on_reply},
            {"PAUSE", 2, 3, on_pause},
            {"UNPAUSE", 1, 1, on_pause},
            {"UNBLOCK", 2, 3, on_unblock}};

enum vs_reply_state vs_on_client(struct vs_request *r) {
    struct vs_slice what = r->arg[0];
    for (size_t i = 0; i < VS_COUNT(subs); i++) {
        bool fits = r->arg_count >= subs[i].args_min && r->arg_count <= subs[i].args_max;
        if (fits && vs_slice_is_case(what, subs[i].name)) return subs[i].handler(r);
    }
    return client_unknown(r);
}
