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

static void end_proving(struct vs_session *s) {
    vs_proving_end(&s->proving);
    s->is_proving = false;
}

void vs_rights_forget(struct vs_session *s) {
    drop_said(s);
    end_proving(s);
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
    vs_proving_end(&s->proving);
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

static struct vs_guard_peer peer_of(const struct vs_session *s) {
    struct vs_guard_peer peer = {.family = s->peer ? s->peer->family : 0};
    if (peer.family) memcpy(&peer.prefix, s->peer->at, peer.family == 6 ? 8 : 4);
    return peer;
}

/* A name that no client has may be a secret in the wrong place. */
static void tell(struct vs_request *r, enum vs_proof proof, struct vs_slice name) {
    const struct vs_session *s = r->session;
    const struct vs_account *a = name.at && s->grant.accounts ? vs_account_named(s->grant.accounts, name) : NULL;
    char address[VS_PEER_TEXT_MAX];
    vs_log(VS_LOG_WARN,
           proof == VS_PROOF_WRONG ? "a wrong secret"
                                   : "a secret is not looked at, after too many wrong ones from there",
           "address", vs_peer_host(s->peer, address), "client",
           a         ? a->name
           : name.at ? "(none of that name)"
                     : NULL,
           "proto", vs_protocol_name[s->protocol], NULL);
}

static void refuse(struct vs_request *r, enum vs_proof proof) {
    if (proof == VS_PROOF_PUT_OFF) {
        r->retry_after_s = VS_GUARD_PATIENCE_US / 1000000;
        vs_refuse(r, "put_off", "too many wrong secrets came from this address: try again in %d s", r->retry_after_s);
    } else {
        vs_refuse(r, "bad_password", "invalid username-password pair or user is disabled.");
    }
}

/* What is proved is asked of the gate in the words of now; the accounts are those of the session, which holds them. */
static enum vs_proof prove(struct vs_request *r, struct vs_asked *asked) {
    struct vs_session *s = r->session;
    if (!s->waiting.request) end_proving(s); /* what a request asked that did not wait for it is not this one's */
    const struct vesta_clock *clock = s->app->clock;
    const struct vs_account *account = NULL;
    const struct vs_secret *secret = NULL;
    asked->accounts = s->grant.accounts;
    asked->peer = peer_of(s);
    asked->now_us = clock->boot_us(clock->self);
    enum vs_proof proof = vs_gate_prove(s->app->gate, asked, &s->proving, &account, &secret);
    if (proof == VS_PROOF_LATER) {
        s->is_proving = r->checking = true;
        r->pause = (struct vesta_pause){.why = VESTA_LEASE, .wait_us = s->proving.wait_us};
        return proof;
    }
    end_proving(s);
    if (proof == VS_PROOF_RIGHT) {
        if (account) grant(s, account, secret);
        return proof;
    }
    s->wrong++;
    tell(r, proof, asked->name);
    refuse(r, proof);
    return proof;
}

enum vs_proof vs_rights_prove_plain(struct vs_request *r, struct vs_slice secret, const char *plain) {
    if (r->session->app->gate) return prove(r, &(struct vs_asked){.secret = secret, .plain = plain});
    if (secret.at && vs_slice_is_secret(secret, plain)) return VS_PROOF_RIGHT;
    return refuse(r, VS_PROOF_WRONG), VS_PROOF_WRONG;
}

enum vs_proof vs_rights_prove(struct vs_request *r, struct vs_slice name, struct vs_slice secret) {
    struct vs_asked asked = {.name = name, .secret = secret};
    bool is_default = !name.at || vs_slice_is(name, VS_ACCOUNT_DEFAULT);
    if (is_default) asked.name.at = NULL; /* so say those of RESP3 that were given a secret alone */
    if (r->session->grant.accounts) return prove(r, &asked);
    const char *password = r->session->app->resp_password;
    if (!password && is_default) return VS_PROOF_RIGHT;              /* none is needed */
    if (!password) return refuse(r, VS_PROOF_WRONG), VS_PROOF_WRONG; /* nor is there one that could be guessed */
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

/* "Bearer TOKEN", "Basic " and base64 of name:secret; what a parameter said has neither.  false: it is nothing. */
static bool read_credential(struct vs_slice said, char buf[CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret) {
    struct vs_slice rest, both;
    *name = (struct vs_slice){NULL, 0};
    if (said.length == 0 || said.length > CREDENTIAL_MAX) return false;
    if (*said.at == '=') return *secret = (struct vs_slice){said.at + 1, said.length - 1}, true;
    if (has_scheme(said, "Bearer ", secret)) return true;
    if (!has_scheme(said, "Basic ", &rest)) return false;
    int length = decode(rest, buf);
    if (length < 0) return false;
    both = (struct vs_slice){buf, (size_t)length};
    if (!vs_slice_split(both, ':', name, secret)) return false;
    if (name->length == 0) name->at = NULL;
    return true;
}

/* Keeps what is said, to know it again without reading it.  A token of a parameter has a '=' in front, as no header
 * may. */
static bool keep(struct vs_session *s, struct vs_slice said, bool is_token) {
    size_t size = said.length + is_token;
    drop_said(s);
    bool is_marked = !is_token && said.length > 0 && *said.at == '=';
    if (is_marked || size > CREDENTIAL_MAX || !vs_session_take(s, size)) return false;
    s->said = malloc(size + 1);
    if (!s->said) return vs_session_give(s, size), false;
    if (is_token) s->said[0] = '=';
    memcpy(s->said + is_token, said.at, said.length);
    s->said_length = s->said_size = size;
    return true;
}

static bool is_kept(const struct vs_session *s, struct vs_slice said, bool is_token) {
    return s->grant.secret && s->said_length == said.length + is_token && (*s->said == '=') == is_token &&
           memcmp(s->said + is_token, said.at, said.length) == 0;
}

bool vs_rights_entered(struct vs_request *r) {
    struct vs_session *s = r->session;
    char buf[CREDENTIAL_MAX];
    struct vs_slice name, secret = {"", 0}, said = {s->said, s->said_length};
    if (!read_credential(said, buf, &name, &secret)) secret = (struct vs_slice){"", 0}, name.at = NULL;
    enum vs_proof proof = vs_rights_prove(r, name, secret);
    explicit_bzero(buf, sizeof buf);
    if (proof == VS_PROOF_RIGHT) return vs_rights_may_call(r);
    if (proof == VS_PROOF_LATER) return false;
    s->said_length = 0;
    grant(s, NULL, NULL);
    if (!(r->call->flags & VS_CALL_OPEN)) return false;
    vs_unrefuse(r); /* a probe with an old secret is answered as one without a secret */
    return true;
}

bool vs_rights_enter(struct vs_request *r, struct vs_slice token) {
    struct vs_session *s = r->session;
    bool is_token = token.at != NULL;
    struct vs_slice said = is_token ? token : r->http->authorization;
    if (s->is_proving) end_proving(s); /* the request before was answered without waiting for it */
    bool is_for_all = r->call->flags & VS_CALL_OPEN && !(r->call->flags & VS_CALL_STATE);
    if (!s->grant.accounts || s->protocol != VS_HTTP || is_for_all) return true;
    if (!said.at) {
        if (s->grant.secret || s->grant.is_lost || !s->grant.account) grant(s, default_of(s), NULL);
        return vs_rights_may_call(r);
    }
    if (is_kept(s, said, is_token)) return vs_rights_may_call(r);
    grant(s, NULL, NULL);
    (void)keep(s, said, is_token); /* where it cannot be kept it is nothing */
    return vs_rights_entered(r);
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
    if (!s->waiting.request) end_proving(s); /* the request before was answered without waiting for it */
    if (!s->is_proving) {
        if (!said.at) return operates_by_certificate(r);
        if (is_kept(s, said, false)) return may_operate(r);
        grant(s, NULL, NULL);
        if (!keep(s, said, false)) return false;
    }
    if (!read_credential((struct vs_slice){s->said, s->said_length}, buf, &name, &secret)) return false;
    bool is_token = token && (!s->grant.accounts || vs_slice_is_secret(secret, token));
    enum vs_proof proof = is_token            ? vs_rights_prove_plain(r, secret, token)
                          : s->grant.accounts ? vs_rights_prove(r, name, secret)
                                              : VS_PROOF_WRONG;
    explicit_bzero(buf, sizeof buf);
    if (proof == VS_PROOF_RIGHT) return is_token || may_operate(r);
    if (proof != VS_PROOF_LATER) s->said_length = 0;
    return false;
}

/* The config's token stays what it was, and so does a socket of this machine. */
bool vs_rights_watches(struct vs_session *s) {
    vs_rights_look(s);
    bool is_as_client = s->grant.is_lost || s->grant.secret || (s->certified && !s->said);
    return !is_as_client || (s->grant.account && s->grant.account->calls & VS_OPERATE);
}

/* ------------------------------------------------------------------ what it may */

static void refuse_stranger(struct vs_request *r) {
    if (r->protocol == VS_RESP)
        vs_refuse(r, "no_password", "Authentication required.");
    else
        vs_refuse(r, "no_password",
                  "this server gives nothing to who says no secret: send Authorization: Bearer SECRET");
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
    if (vs_multi_is_counting(r->session)) vs_multi_cannot(r->session); /* else it would be queued */
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
