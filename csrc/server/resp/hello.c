/* hello.c -- handlers of commands with which Redis clients authenticate, choose the protocol and check the connection.
 * Does not issue ids. */
#include "base/error.h"
#include "server/clients/client.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/rights.h"

#include <string.h>

/* The handler, not the table, checks the number of arguments, so that in a transaction even a wrong PING is queued, as
 * in Redis. */
enum vs_reply_state vs_on_ping(struct vs_request *r) {
    if (r->arg_count > 1) return vs_refuse(r, "bad_command", "wrong number of arguments for 'PING': PING [text]");
    if (r->arg_count)
        vs_resp_bulk(r->out, r->arg[0].at, r->arg[0].length);
    else
        vs_resp_simple(r->out, "PONG");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_echo(struct vs_request *r) {
    vs_resp_bulk(r->out, r->arg[0].at, r->arg[0].length);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_quit(struct vs_request *r) {
    vs_resp_simple(r->out, "OK");
    return VS_QUIT;
}

enum vs_reply_state vs_on_ok(struct vs_request *r) {
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

/* Reads a number without leading zeros, as Redis does. */
static bool read_plain(struct vs_slice text, uint64_t *n) {
    return vesta_parse(VESTA_DECIMAL, text.at, text.length, n) == VESTA_OK && (text.length == 1 || text.at[0] != '0');
}

enum vs_reply_state vs_on_wait(struct vs_request *r) {
    uint64_t n;
    for (int i = 0; i < 2; i++)
        if (!read_plain(r->arg[i], &n))
            return vs_refuse(r, "bad_field", "value is not an integer or out of range");
    vs_resp_int(r->out, 0);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_select(struct vs_request *r) {
    uint64_t index;
    if (!read_plain(r->arg[0], &index) || index > 15) return vs_refuse(r, "bad_field", "DB index is out of range");
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ authentication and the protocol version */

/* Ends the connection after too many wrong secrets.  The error reply is already written. */
static enum vs_reply_state not_proved(const struct vs_request *r) {
    return vs_rights_is_over(r->session) ? VS_QUIT : VS_ANSWERED;
}

enum vs_reply_state vs_on_auth(struct vs_request *r) {
    struct vs_session *s = r->session;
    bool names_user = r->arg_count == 2;
    struct vs_slice user = names_user ? r->arg[0] : (struct vs_slice){NULL, 0};
    if (!names_user && !s->grant.accounts &&
        !s->server->rules.resp_password) /* clients recognize this message and continue without a password */
        return vs_refuse(r, "bad_command",
                         "AUTH <password> called without any password configured for the default user: this server "
                         "requires none (--resp-password-file sets one)");
    enum vs_proof proof = vs_rights_prove(r, user, r->arg[r->arg_count - 1]);
    if (proof != VS_PROOF_RIGHT) return not_proved(r);
    s->known = true;
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_acl(struct vs_request *r) {
    struct vs_slice what = r->arg[0];
    if (!vs_slice_is_case(what, "WHOAMI") || r->arg_count > 1)
        return vs_refuse(r, "bad_command",
                         "unknown subcommand '%s', because only ACL WHOAMI is supported.  To change rights, use `vesta "
                         "client`",
                         VS_QUOTE(what.at, what.length));
    vs_resp_word(r->out, access_grant_name(&r->session->grant));
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_reset(struct vs_request *r) {
    struct vs_session *s = r->session;
    vs_multi_end(s);
    vs_rights_forget(s);
    s->known = false;
    s->member.resp3 = false;
    vs_roster_name(s, (struct vs_slice){"", 0});
    vs_resp_simple(r->out, "RESET");
    return VS_ANSWERED;
}

/* The options of HELLO. */
struct greeting {
    bool has_user;
    struct vs_slice user, password, name;
};

static bool read_greeting(struct vs_request *r, struct greeting *g) {
    for (int i = 1; i < r->arg_count;) {
        int left = r->arg_count - i;
        const struct vs_slice *word = &r->arg[i];
        if (left >= 3 && vs_slice_is_case(*word, "AUTH")) {
            g->has_user = true;
            g->user = word[1], g->password = word[2];
            i += 3;
        } else if (left >= 2 && vs_slice_is_case(*word, "SETNAME")) {
            g->name = word[1];
            i += 2;
        } else {
            return vs_refuse(r, "bad_command", "Syntax error in HELLO option '%s': %s",
                             VS_QUOTE(word->at, word->length), r->call->help),
                   false;
        }
    }
    return true;
}

static void put_greeting(struct vs_out *out, const struct vs_session *s) {
    vs_resp_map(out, 7);
    vs_resp_word(out, "server"), vs_resp_word(out, "redis"); /* clients check this value */
    vs_resp_word(out, "version"), vs_resp_word(out, VS_REDIS_VERSION);
    vs_resp_word(out, "proto"), vs_resp_int(out, s->member.resp3 ? 3 : 2);
    vs_resp_word(out, "id"), vs_resp_int(out, (int64_t)s->id);
    vs_resp_word(out, "mode"), vs_resp_word(out, "standalone");
    vs_resp_word(out, "role"), vs_resp_word(out, "master");
    vs_resp_word(out, "modules"), vs_resp_array(out, 0);
}

enum vs_reply_state vs_on_hello(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_slice version = vs_arg(r, 0);
    struct greeting g = {.has_user = false};
    bool resp3 = version.at ? vs_slice_is(version, "3") : s->member.resp3;
    if (version.at && !resp3 && !vs_slice_is(version, "2"))
        return vs_refuse(r, "bad_protocol", "unsupported protocol version");
    if (!read_greeting(r, &g)) return VS_ANSWERED;
    enum vs_proof proof = g.has_user ? vs_rights_prove(r, g.user, g.password) : VS_PROOF_RIGHT;
    if (proof != VS_PROOF_RIGHT) return not_proved(r);
    if (vs_session_is_stranger(s) && !g.has_user)
        return vs_refuse(r, "no_password",
                         "HELLO must be called with the client already authenticated, or as HELLO <proto> AUTH <user> "
                         "<pass>");
    if (g.name.at && !vs_client_name(r, g.name)) return VS_ANSWERED;
    s->known |= g.has_user;
    s->member.resp3 = r->out->resp3 = resp3;
    put_greeting(r->out, s);
    return VS_ANSWERED;
}
