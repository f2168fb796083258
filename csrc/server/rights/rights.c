/* rights.c -- who a connection is and what that may; see rights.h.  Knows no socket and hashes nothing. */
#include "server/rights/rights.h"
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/shares/shares.h"

#include <stdlib.h>

#define CREDENTIAL_MAX 1024 /* of a header that is looked at */

/* ------------------------------------------------------------------ whose connection it is */

static struct vs_slice text_of(const char *text) {
    return (struct vs_slice){text, strlen(text)};
}

static bool is_local(const struct vs_session *s) {
    static const unsigned char loopback[16] = {[15] = 1};
    const struct vs_peer *peer = s->peer;
    if (s->proxied) return false;
    if (!peer || peer->family == 0) return true;
    return peer->family == 4 ? peer->at[0] == 127 : memcmp(peer->at, loopback, sizeof loopback) == 0;
}

static const struct vs_account *default_of(const struct vs_session *s) {
    if (s->certified) return vs_account_named(s->grant.accounts, text_of(s->certified));
    const struct vs_account *a = vs_account_named(s->grant.accounts, text_of(VS_ACCOUNT_DEFAULT));
    if (!a) return is_local(s) ? &vs_account_local : NULL;
    return a->secret_count > 0 ? NULL : a;
}

static void grant(struct vs_session *s, const struct vs_account *account, const struct vs_secret *secret) {
    const struct vs_app *app = s->app;
    struct vs_grant *g = &s->grant;
    g->account = account;
    g->secret = secret;
    g->is_lost = false;
    memset(g->may, 0, sizeof g->may);
    g->count = account && app->gate ? vs_gate_count_of(app->gate, account->name) : 0;
    vs_shares_look(s);
    vs_roster_know(s, vs_rights_name(s), g->count);
}

/* Patterns are looked at once for each namespace that it asks of in turn: what a connection holds does not grow with
 * the server. */
static bool may_ask(struct vs_grant *g, const struct vs_app *app, const struct vs_namespace *ns) {
    size_t i = (size_t)(ns - app->ns);
    uint16_t *known = &g->may[i % VS_MAY];
    if (!g->account) return false;
    if (*known == i + 1) return true;
    if (!vs_account_has(g->account, (struct vs_slice){ns->name, ns->name_length})) return false;
    *known = (uint16_t)(i + 1);
    return true;
}
_Static_assert(VS_NAMESPACES_MAX < UINT16_MAX, "an index has room");

static void drop_said(struct vs_session *s) {
    vs_session_give(s, s->said_size);
    free(s->said);
    s->said = NULL;
    s->said_length = s->said_size = 0;
}

void vs_rights_forget(struct vs_session *s) {
    drop_said(s);
    if (s->grant.accounts) grant(s, default_of(s), NULL);
}

/* The same secret of the same name; NULL: one of them is gone. */
static const struct vs_account *find_again(const struct vs_grant *was, const struct vs_accounts *now,
                                           const struct vs_secret **secret) {
    const struct vs_account *a = vs_account_named(now, text_of(was->account->name));
    for (int i = 0; a && i < a->secret_count; i++)
        if (vs_secret_is(&a->secret[i], was->secret)) return *secret = &a->secret[i], a;
    return NULL;
}

/* Whose secret is gone is nobody: not even who says nothing. */
void vs_rights_renew(struct vs_session *s) {
    struct vs_grant was = s->grant;
    const struct vs_secret *secret = NULL;
    s->grant = (struct vs_grant){.accounts = vs_gate_hold(s->app->gate)};
    const struct vs_account *a = was.secret && s->grant.accounts ? find_again(&was, s->grant.accounts, &secret) : NULL;
    if (a)
        grant(s, a, secret);
    else if (was.secret || was.is_lost)
        s->grant.is_lost = true, vs_shares_look(s), vs_roster_know(s, vs_rights_name(s), 0);
    else if (s->grant.accounts)
        grant(s, default_of(s), NULL);
    bool is_as_before = vs_account_is_as(was.account, s->grant.account);
    vs_accounts_let(was.accounts);
    if (was.accounts && !is_as_before) vs_multi_fail(s); /* what was queued was queued by other rights */
}

void vs_rights_begin(struct vs_session *s) {
    vs_shares_look(s);
    vs_rights_look(s);
    if (!s->grant.accounts) vs_roster_know(s, vs_rights_name(s), 0);
}

void vs_rights_end(struct vs_session *s) {
    vs_accounts_let(s->grant.accounts);
    drop_said(s);
    s->grant = (struct vs_grant){0};
}

const char *vs_rights_name(const struct vs_session *s) {
    return s->grant.account ? s->grant.account->name : VS_ACCOUNT_DEFAULT;
}

const char *vs_rights_whose(const struct vs_session *s) {
    bool has_name = s->grant.accounts && (s->protocol != VS_ADMIN || s->grant.secret);
    return has_name ? vs_rights_name(s) : NULL;
}

/* ------------------------------------------------------------------ proving */

/* All clients are looked at, so that the time does not tell whether one has that name. */
static const char *name_in_log(const struct vs_session *s, struct vs_slice name) {
    const char *known = "(none of that name)"; /* it may be a secret in the wrong place, so it is not logged */
    for (int i = 0; s->grant.accounts && i < s->grant.accounts->count; i++)
        if (vs_slice_is(name, s->grant.accounts->at[i].name)) known = s->grant.accounts->at[i].name;
    return known;
}

static void tell(struct vs_request *r, enum vs_proof proof, struct vs_slice name) {
    const struct vs_session *s = r->session;
    char address[VS_PEER_TEXT_MAX];
    vs_log(VS_LOG_WARN,
           proof == VS_PROOF_WRONG ? "a wrong secret"
                                   : "a secret was not compared, after wrong ones from that address",
           "address", vs_peer_host(s->peer, address), "client", name.at ? name_in_log(s, name) : NULL, "proto",
           vs_protocol_name[s->protocol], NULL);
}

static enum vs_proof refuse(struct vs_request *r, enum vs_proof proof, int64_t wait_us) {
    if (proof == VS_PROOF_PUT_OFF) {
        r->retry_after_s = (int)((wait_us + 999999) / 1000000);
        vs_refuse(r, "put_off", "wrong secrets came from this address: yours was not compared, try again in %d s",
                  r->retry_after_s);
    } else {
        vs_refuse(r, "bad_password", "invalid username-password pair or user is disabled.");
    }
    return proof;
}

static enum vs_proof fail(struct vs_request *r, enum vs_proof proof, int64_t wait_us, struct vs_slice name) {
    r->session->wrong++;
    tell(r, proof, name);
    return refuse(r, proof, wait_us);
}

enum vs_proof vs_rights_prove_plain(struct vs_request *r, struct vs_slice secret, const char *plain) {
    struct vs_session *s = r->session;
    int64_t wait_us = 0;
    if (!s->app->gate) {
        bool is_right = secret.at && vs_slice_is_secret(secret, plain);
        return is_right ? VS_PROOF_RIGHT : refuse(r, VS_PROOF_WRONG, 0);
    }
    enum vs_proof proof =
        vs_gate_prove_plain(s->app->gate, s->app->ledger, &s->entry, secret, plain, s->scratch->now_us, &wait_us);
    return proof == VS_PROOF_RIGHT ? proof : fail(r, proof, wait_us, (struct vs_slice){NULL, 0});
}

/* The accounts are those of the session, which holds them. */
static enum vs_proof prove_token(struct vs_request *r, struct vs_slice name, struct vs_slice secret) {
    struct vs_session *s = r->session;
    const struct vs_account *account;
    const struct vs_secret *which;
    enum vs_proof proof = vs_gate_prove(s->app->gate, s->grant.accounts, name, secret, &account, &which);
    if (proof != VS_PROOF_RIGHT) return fail(r, proof, 0, name);
    grant(s, account, which);
    return proof;
}

enum vs_proof vs_rights_prove(struct vs_request *r, struct vs_slice name, struct vs_slice secret) {
    bool is_default = !name.at || vs_slice_is(name, VS_ACCOUNT_DEFAULT);
    if (is_default) name.at = NULL; /* RESP3 clients send this name if they were given a secret alone */
    if (r->session->grant.accounts) return prove_token(r, name, secret);
    const char *password = r->session->app->resp_password;
    if (!password && is_default) return VS_PROOF_RIGHT;       /* none is needed */
    if (!password) return refuse(r, VS_PROOF_WRONG, 0); /* there is none that could be guessed */
    return vs_rights_prove_plain(r, is_default ? secret : (struct vs_slice){"", 0}, password);
}

/* ------------------------------------------------------------------ HTTP: what a request says */

static int value_of(char c) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Base64 into `out`, of CREDENTIAL_MAX; -1: it is none. */
static int decode(struct vs_slice text, char *out) {
    unsigned bits = 0;
    int length = 0, have = 0;
    while (text.length > 0 && text.at[text.length - 1] == '=')
        text.length--;
    for (size_t i = 0; i < text.length; i++) {
        int value = value_of(text.at[i]);
        if (value < 0) return -1;
        bits = bits << 6 | (unsigned)value;
        have += 6;
        if (have >= 8) out[length++] = (char)(bits >> (have -= 8));
    }
    return length;
}

static bool has_scheme(struct vs_slice text, const char *scheme, struct vs_slice *rest) {
    size_t length = strlen(scheme);
    if (text.length <= length || strncasecmp(text.at, scheme, length) != 0) return false;
    *rest = (struct vs_slice){text.at + length, text.length - length};
    return true;
}

/* "Bearer TOKEN", or "Basic " and base64 of name:secret.  false: it is neither. */
static bool read_credential(struct vs_slice said, char buf[CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret) {
    struct vs_slice rest, both;
    *name = (struct vs_slice){NULL, 0};
    if (said.length == 0 || said.length > CREDENTIAL_MAX) return false;
    if (has_scheme(said, "Bearer ", secret)) return true;
    if (!has_scheme(said, "Basic ", &rest)) return false;
    int length = decode(rest, buf);
    if (length < 0) return false;
    both = (struct vs_slice){buf, (size_t)length};
    if (!vs_slice_split(both, ':', name, secret)) return false;
    if (name->length == 0) name->at = NULL;
    return true;
}

/* Keeps right credentials, so that the next request with them needs no hash.  Without memory for it, the next one is
 * hashed again.  A token of a parameter has a '=' in front, which no header has that was right. */
static void keep(struct vs_session *s, struct vs_slice said, bool is_token) {
    size_t size = said.length + is_token;
    drop_said(s);
    if (size > CREDENTIAL_MAX || !vs_session_take(s, size)) return;
    s->said = malloc(size + 1);
    if (!s->said) {
        vs_session_give(s, size);
        return;
    }
    if (is_token) s->said[0] = '=';
    memcpy(s->said + is_token, said.at, said.length);
    s->said_length = s->said_size = size;
}

static bool is_kept(const struct vs_session *s, struct vs_slice said, bool is_token) {
    return s->grant.secret && s->said && s->said_length == said.length + is_token && (*s->said == '=') == is_token &&
           memcmp(s->said + is_token, said.at, said.length) == 0;
}

/* What cannot be read is as wrong as a wrong token. */
static bool enter_by(struct vs_request *r, struct vs_slice said, bool is_token) {
    struct vs_session *s = r->session;
    char buf[CREDENTIAL_MAX];
    struct vs_slice name = {NULL, 0}, secret = said;
    if (!is_token && !read_credential(said, buf, &name, &secret)) secret = (struct vs_slice){"", 0}, name.at = NULL;
    enum vs_proof proof = vs_rights_prove(r, name, secret);
    explicit_bzero(buf, sizeof buf);
    if (proof == VS_PROOF_RIGHT) return keep(s, said, is_token), true;
    if (!(r->call->flags & VS_CALL_OPEN)) return false;
    vs_unrefuse(r); /* a probe with an old token is answered as one without a token */
    return true;
}

bool vs_rights_enter(struct vs_request *r, struct vs_slice token) {
    struct vs_session *s = r->session;
    bool is_token = token.at != NULL;
    struct vs_slice said = is_token ? token : r->http->authorization;
    bool is_for_all = r->call->flags & VS_CALL_OPEN && !(r->call->flags & VS_CALL_STATE);
    if (!s->grant.accounts || s->protocol != VS_HTTP || is_for_all) return true;
    if (!said.at) {
        if (s->grant.secret || s->grant.is_lost || !s->grant.account) grant(s, default_of(s), NULL);
        return vs_rights_may_call(r);
    }
    if (is_kept(s, said, is_token)) return vs_rights_may_call(r);
    drop_said(s);
    grant(s, NULL, NULL);
    return enter_by(r, said, is_token) && vs_rights_may_call(r);
}

static bool may_operate(struct vs_request *r) {
    const struct vs_account *a = r->session->grant.account;
    if (a && a->calls & VS_OPERATE) return true;
    vs_refuse(r, "not_allowed", "client '%s' may not operate this server: calls=operate would let it",
              vs_rights_name(r->session));
    return false;
}

/* Who says nothing is whom its certificate names, and not who a request before it was. */
static bool operates_by_certificate(struct vs_request *r) {
    struct vs_session *s = r->session;
    if (!s->certified) return false;
    vs_rights_forget(s);
    return s->grant.account && may_operate(r);
}

bool vs_rights_operate(struct vs_request *r) {
    struct vs_session *s = r->session;
    const char *token = s->app->admin_token;
    struct vs_slice name, secret, said = r->http->authorization;
    char buf[CREDENTIAL_MAX];
    if (!said.at) return operates_by_certificate(r);
    if (is_kept(s, said, false)) return may_operate(r);
    drop_said(s);
    grant(s, NULL, NULL);
    s->by_config_token = false;
    if (!read_credential(said, buf, &name, &secret)) return false;
    bool is_token = token && (!s->grant.accounts || vs_slice_is_secret(secret, token));
    enum vs_proof proof = is_token            ? vs_rights_prove_plain(r, secret, token)
                          : s->grant.accounts ? vs_rights_prove(r, name, secret)
                                              : VS_PROOF_WRONG;
    explicit_bzero(buf, sizeof buf);
    if (proof != VS_PROOF_RIGHT) return false;
    s->by_config_token = is_token;
    if (is_token) return true;
    keep(s, said, false);
    return may_operate(r);
}

/* The config's token stays what it was, and so does a socket of this machine. */
bool vs_rights_watches(struct vs_session *s) {
    vs_rights_look(s);
    bool is_as_client = s->grant.is_lost || s->grant.secret || (s->certified && !s->by_config_token);
    return !is_as_client || (s->grant.account && s->grant.account->calls & VS_OPERATE);
}

/* ------------------------------------------------------------------ what it may */

static void refuse_stranger(struct vs_request *r) {
    if (r->protocol == VS_RESP)
        vs_refuse(r, "no_password", "Authentication required.");
    else
        vs_refuse(r, "no_password",
                  "this server requires credentials: send the header Authorization: Bearer TOKEN");
}

/* Redis' words, as far as they go. */
static void refuse_call(struct vs_request *r) {
    char calls[VS_ACCOUNT_NAME_MAX], name[VS_CALL_NAME_MAX];
    const struct vs_account *a = r->session->grant.account;
    if (r->protocol != VS_RESP) {
        vs_refuse(r, "not_allowed", "client '%s' may not ask %s: it has %s of %s", a->name, r->call->route,
                  vs_classes_write(a->calls, calls), a->names);
        return;
    }
    vs_call_lower(r->call->name, name);
    vs_refuse(r, "not_allowed", "this user has no permissions to run the '%s' command", name);
}

bool vs_rights_may_call(struct vs_request *r) {
    const struct vs_grant *g = &r->session->grant;
    unsigned flags = r->call->flags;
    if (!g->accounts || r->session->protocol == VS_ADMIN || flags & VS_CALL_OPEN) return true;
    if (!g->account) return refuse_stranger(r), false;
    bool may = !(flags >> VS_CALL_NEEDS & VS_ALL_CLASSES & ~g->account->calls);
    if (may && (!(flags & VS_CALL_SHOWS_ALL) || vs_rights_sees_all(r->session))) return true;
    return refuse_call(r), false;
}

bool vs_rights_may_block(struct vs_request *r) {
    if (!r->session->app->no_blocks[r->session->protocol]) return true;
    vs_refuse(r, "not_allowed", "this server gives no blocks over %s", r->protocol == VS_RESP ? "the Redis protocol" : "HTTP");
    return false;
}

static bool refuse_name(struct vs_request *r, struct vs_slice name) {
    const struct vs_account *a = r->session->grant.account;
    if (vs_multi_is_counting(r->session)) r->session->multi->cannot = true; /* else it would be queued */
    if (!a)
        refuse_stranger(r);
    else if (r->protocol == VS_RESP)
        vs_refuse(r, "not_allowed", "this user has no permissions to access one of the keys used as arguments");
    else
        vs_refuse(r, "not_allowed", "client '%s' may not ask of '%s': it has %s", a->name,
                  VS_QUOTE(name.at, name.at ? name.length : 0), a->names);
    return false;
}

/* What a transaction wants was looked at when it was queued. */
bool vs_rights_may_name(struct vs_request *r, struct vs_slice name) {
    struct vs_session *s = r->session;
    struct vs_grant *g = &s->grant;
    if (!g->accounts || s->protocol == VS_ADMIN) return true;
    if (s->multi && vs_multi_hands_out(s) && !vs_multi_is_counting(s)) return true;
    const struct vs_namespace *ns = vs_namespace_named(s->app, name.at, name.length);
    if (ns && may_ask(g, s->app, ns)) return true;
    if (!ns && name.at && g->account && vs_account_has(g->account, name)) return true;
    return refuse_name(r, name);
}

bool vs_rights_operates(const struct vs_session *s) {
    if (s->grant.accounts) return s->grant.account && s->grant.account->calls & VS_OPERATE;
    return s->local || (s->app->resp_password && s->known);
}

bool vs_rights_sees_reasons(const struct vs_session *s) {
    const struct vs_account *a = s->grant.account;
    if (s->protocol == VS_ADMIN) return true;
    if (!s->grant.accounts) return is_local(s) || (s->app->resp_password && s->known);
    return a && (a->calls & VS_OPERATE || (a->calls & VS_READ && vs_account_has_all(a)));
}

bool vs_rights_sees(const struct vs_session *s, const char *name) {
    return !s->grant.accounts || s->protocol == VS_ADMIN ||
           (s->grant.account && vs_account_has(s->grant.account, text_of(name)));
}

bool vs_rights_sees_all(const struct vs_session *s) {
    return !s->grant.accounts || s->protocol == VS_ADMIN || (s->grant.account && vs_account_has_all(s->grant.account));
}

enum vs_reply_state vs_refuse_why(struct vs_request *r, const char *code, const char *what, const char *why) {
    return vs_refuse(r, code, "%s: %s", what, vs_rights_sees_reasons(r->session) ? why : "the server's log has the reason");
}
