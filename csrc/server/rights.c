/* rights.c -- the rights of a connection, and the replies to requests without them (see rights.h).  Contains no socket
 * code. */
#include "server/rights.h"
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/shares.h"

/* ------------------------------------------------------------------ the client of a connection */

static bool rights_is_local(const struct vs_session *s) {
    return !s->proxied && (!s->peer || vs_peer_is_local(s->peer));
}

static struct access_origin rights_origin(const struct vs_session *s) {
    return (struct access_origin){s->certified, rights_is_local(s)};
}

/* Updates the ledger and the roster after the connection's client changed. */
static void rights_changed(struct vs_session *s) {
    vs_shares_look(s);
    vs_roster_know(s, access_grant_name(&s->grant), s->grant.count);
}

static void rights_set(struct vs_session *s, const struct vs_account *account, const struct vs_secret *secret) {
    access_grant_set(&s->grant, s->server->gate, account, secret);
    rights_changed(s);
}

void vs_rights_forget(struct vs_session *s) {
    struct access_origin origin = rights_origin(s);
    if (!s->grant.accounts) return;
    access_grant_reset(&s->grant, s->server->gate, &origin);
    rights_changed(s);
}

void vs_rights_renew(struct vs_session *s) {
    struct access_origin origin = rights_origin(s);
    bool is_as_before = access_grant_renew(&s->grant, s->server->gate, &origin);
    rights_changed(s);
    if (!is_as_before) vs_multi_fail(s); /* the queued commands were checked with the old rights */
}

void vs_rights_begin(struct vs_session *s) {
    vs_rights_look(s);
    if (!s->grant.accounts) rights_changed(s);
}

const char *vs_rights_whose(const struct vs_session *s) {
    bool has_name = s->grant.accounts && (s->protocol != VS_ADMIN || s->grant.secret);
    return has_name ? access_grant_name(&s->grant) : NULL;
}

/* ------------------------------------------------------------------ proving */

/* Compares the name with all client names, so that the duration does not reveal whether the name exists. */
static const char *rights_name_in_log(const struct vs_session *s, struct vs_slice name) {
    /* an unknown name is not logged, because it may be a secret in the wrong field */
    const char *known = "(none of that name)";
    for (int i = 0; s->grant.accounts && i < s->grant.accounts->count; i++)
        if (vs_slice_is(name, s->grant.accounts->at[i].name)) known = s->grant.accounts->at[i].name;
    return known;
}

static void rights_log_wrong(struct vs_request *r, enum vs_proof proof, struct vs_slice name) {
    const struct vs_session *s = r->session;
    char address[VS_PEER_TEXT_MAX];
    vs_log(VS_LOG_WARN,
           proof == VS_PROOF_WRONG ? "a client sent a wrong secret"
                                   : "a secret was not checked, because wrong ones came from that address",
           "address", vs_peer_host(s->peer, address), "client", name.at ? rights_name_in_log(s, name) : NULL, "proto",
           vs_protocol_name[s->protocol], NULL);
}

static enum vs_proof rights_refuse(struct vs_request *r, enum vs_proof proof, int64_t wait_us) {
    if (proof == VS_PROOF_PUT_OFF) {
        r->retry_after_s = (int)((wait_us + 999999) / 1000000);
        vs_refuse(r, "put_off", "wrong secrets came from this address, so yours was not checked: try again in %d s",
                  r->retry_after_s);
    } else if (r->protocol == VS_HTTP) {
        vs_refuse(r, "bad_password",
                  "the token is wrong or was replaced: send the client's current token as Authorization: Bearer TOKEN");
    } else {
        vs_refuse(r, "bad_password", "invalid username-password pair or user is disabled.");
    }
    return proof;
}

static enum vs_proof rights_fail(struct vs_request *r, enum vs_proof proof, int64_t wait_us, struct vs_slice name) {
    r->session->wrong++;
    rights_log_wrong(r, proof, name);
    return rights_refuse(r, proof, wait_us);
}

enum vs_proof vs_rights_prove_plain(struct vs_request *r, struct vs_slice secret, const char *plain) {
    struct vs_session *s = r->session;
    int64_t wait_us = 0;
    if (!s->server->gate) {
        bool is_right = secret.at && vs_slice_is_secret(secret, plain);
        return is_right ? VS_PROOF_RIGHT : rights_refuse(r, VS_PROOF_WRONG, 0);
    }
    enum vs_proof proof =
        vs_gate_prove_plain(s->server->gate, s->server->ledger, &s->entry, secret, plain, s->scratch->now_us, &wait_us);
    return proof == VS_PROOF_RIGHT ? proof : rights_fail(r, proof, wait_us, (struct vs_slice){NULL, 0});
}

/* The session holds a reference to the accounts during the check. */
static enum vs_proof rights_prove_token(struct vs_request *r, struct vs_slice name, struct vs_slice secret) {
    struct vs_session *s = r->session;
    const struct vs_account *account;
    const struct vs_secret *which;
    enum vs_proof proof = vs_gate_prove(s->server->gate, s->grant.accounts, name, secret, &account, &which);
    if (proof != VS_PROOF_RIGHT) return rights_fail(r, proof, 0, name);
    rights_set(s, account, which);
    return proof;
}

enum vs_proof vs_rights_prove(struct vs_request *r, struct vs_slice name, struct vs_slice secret) {
    bool is_default = !name.at || vs_slice_is(name, VS_ACCOUNT_DEFAULT);
    if (is_default) name.at = NULL; /* RESP3 clients with only a secret send the name "default" */
    if (r->session->grant.accounts) return rights_prove_token(r, name, secret);
    const char *password = r->session->server->rules.resp_password;
    if (!password && is_default) return VS_PROOF_RIGHT;        /* no secret is required */
    if (!password) return rights_refuse(r, VS_PROOF_WRONG, 0); /* no secret to guess, so no delay */
    return vs_rights_prove_plain(r, is_default ? secret : (struct vs_slice){"", 0}, password);
}

/* ------------------------------------------------------------------ HTTP: credentials of a request */

/* Credentials that cannot be parsed count as a wrong token. */
static bool rights_enter_by(struct vs_request *r, struct vs_slice said, bool is_token) {
    struct vs_session *s = r->session;
    char buf[ACCESS_CREDENTIAL_MAX];
    struct vs_slice name = {NULL, 0}, secret = said;
    if (!is_token && !access_credential_read(said, buf, &name, &secret))
        secret = (struct vs_slice){"", 0}, name.at = NULL;
    enum vs_proof proof = vs_rights_prove(r, name, secret);
    explicit_bzero(buf, sizeof buf);
    if (proof == VS_PROOF_RIGHT) return access_grant_keep(&s->grant, said, is_token), true;
    rights_set(s, NULL, NULL); /* the client of the previous request must not be used either */
    if (!(r->call->flags & VS_CALL_OPEN)) return false;
    vs_unrefuse(r); /* a probe with an invalid token is treated as a probe without a token */
    return true;
}

bool vs_rights_enter_known(struct vs_request *r, struct vs_slice token) {
    struct vs_session *s = r->session;
    bool is_token = token.at != NULL;
    struct vs_slice said = is_token ? token : r->http->authorization;
    bool is_for_all = r->call->flags & VS_CALL_OPEN && !(r->call->flags & VS_CALL_STATE);
    if (s->protocol != VS_HTTP || is_for_all) return true;
    if (!said.at) {
        if (s->grant.secret || s->grant.is_lost || !s->grant.account) vs_rights_forget(s);
        return vs_rights_may_call(r);
    }
    if (access_grant_is_kept(&s->grant, said, is_token)) return vs_rights_may_call(r);
    return rights_enter_by(r, said, is_token) && vs_rights_may_call(r);
}

static bool rights_may_operate(struct vs_request *r) {
    if (access_grant_may(&r->session->grant, VS_OPERATE)) return true;
    vs_refuse(r, "not_allowed", "client '%s' may not operate this server: add operate to its calls",
              access_grant_name(&r->session->grant));
    return false;
}

/* Uses the client of the connection's certificate for a request without credentials, not the client of an earlier
 * request. */
static bool rights_operates_by_certificate(struct vs_request *r) {
    struct vs_session *s = r->session;
    if (!s->certified) return false;
    vs_rights_forget(s);
    return s->grant.account && rights_may_operate(r);
}

bool vs_rights_operate(struct vs_request *r) {
    struct vs_session *s = r->session;
    const char *token = s->server->rules.admin_token;
    struct vs_slice name, secret, said = r->http->authorization;
    char buf[ACCESS_CREDENTIAL_MAX];
    if (!said.at) return rights_operates_by_certificate(r);
    if (access_grant_is_kept(&s->grant, said, false)) return rights_may_operate(r);
    rights_set(s, NULL, NULL);
    s->by_config_token = false;
    if (!access_credential_read(said, buf, &name, &secret)) return false;
    bool is_token = token && (!s->grant.accounts || vs_slice_is_secret(secret, token));
    enum vs_proof proof = is_token            ? vs_rights_prove_plain(r, secret, token)
                          : s->grant.accounts ? vs_rights_prove(r, name, secret)
                                              : VS_PROOF_WRONG;
    explicit_bzero(buf, sizeof buf);
    if (proof != VS_PROOF_RIGHT) return false;
    s->by_config_token = is_token;
    if (is_token) return true;
    access_grant_keep(&s->grant, said, false);
    return rights_may_operate(r);
}

/* Viewers that use the config's token or a unix socket may always continue. */
bool vs_rights_watches(struct vs_session *s) {
    vs_rights_look(s);
    bool is_as_client = s->grant.is_lost || s->grant.secret || (s->certified && !s->by_config_token);
    return !is_as_client || access_grant_may(&s->grant, VS_OPERATE);
}

/* ------------------------------------------------------------------ rights */

static void rights_refuse_stranger(struct vs_request *r) {
    if (r->protocol == VS_RESP)
        vs_refuse(r, "no_password", "Authentication required.");
    else
        vs_refuse(r, "no_password", "this server requires credentials: send the header Authorization: Bearer TOKEN");
}

/* Over RESP, sends the message of Redis. */
static void rights_refuse_call(struct vs_request *r) {
    char calls[VS_ACCOUNT_NAME_MAX], name[VS_CALL_NAME_MAX];
    const struct vs_account *a = r->session->grant.account;
    if (r->protocol != VS_RESP) {
        vs_refuse(r, "not_allowed", "client '%s' may not call %s: it may call %s of %s", a->name, r->call->route,
                  vs_classes_write(a->calls, calls), a->names);
        return;
    }
    vs_call_lower(r->call->name, name);
    vs_refuse(r, "not_allowed", "this user has no permissions to run the '%s' command", name);
}

bool vs_rights_may_call(struct vs_request *r) {
    const struct access_grant *g = &r->session->grant;
    unsigned flags = r->call->flags;
    if (!g->accounts || r->session->protocol == VS_ADMIN || flags & VS_CALL_OPEN) return true;
    if (!g->account) return rights_refuse_stranger(r), false;
    bool may = access_grant_may(g, flags >> VS_CALL_NEEDS & VS_ALL_CLASSES);
    if (may && (!(flags & VS_CALL_SHOWS_ALL) || vs_rights_sees_all(r->session))) return true;
    return rights_refuse_call(r), false;
}

bool vs_rights_unmasks(const struct vs_session *s) {
    if (s->protocol == VS_ADMIN && s->local) return true; /* the file's mode decides which users connect */
    if (s->grant.accounts) return access_grant_may(&s->grant, VS_UNMASK);
    return rights_is_local(s) || (s->server->rules.resp_password && s->known);
}

bool vs_rights_may_unmask(struct vs_request *r) {
    const struct vs_session *s = r->session;
    if (vs_rights_unmasks(s)) return true;
    vs_refuse(r, "not_allowed", "client '%s' may not read masked numbers: add unmask to its calls",
              s->grant.accounts ? access_grant_name(&s->grant) : VS_ACCOUNT_DEFAULT);
    return false;
}

bool vs_rights_may_block(struct vs_request *r) {
    if (!r->session->server->rules.no_blocks[r->session->protocol]) return true;
    vs_refuse(r, "not_allowed", "this server issues no blocks over %s",
              r->protocol == VS_RESP ? "the Redis protocol" : "HTTP");
    return false;
}

static bool rights_refuse_name(struct vs_request *r, struct vs_slice name) {
    const struct vs_account *a = r->session->grant.account;
    /* prevents the command from being queued */
    if (vs_multi_is_counting(r->session)) r->session->multi->cannot = true;
    if (!a)
        rights_refuse_stranger(r);
    else if (r->protocol == VS_RESP)
        vs_refuse(r, "not_allowed", "this user has no permissions to access one of the keys used as arguments");
    else
        vs_refuse(r, "not_allowed", "client '%s' may not use '%s': it may use %s", a->name,
                  VS_QUOTE(name.at, name.at ? name.length : 0), a->names);
    return false;
}

/* The names in a transaction are checked when its commands are queued, not when EXEC runs them. */
bool vs_rights_may_name_known(struct vs_request *r, struct vs_slice name) {
    struct vs_session *s = r->session;
    struct access_grant *g = &s->grant;
    if (s->protocol == VS_ADMIN) return true;
    if (s->multi && vs_multi_hands_out(s) && !vs_multi_is_counting(s)) return true;
    const struct vs_namespace *ns = vs_namespace_named(&s->server->names, name.at, name.length);
    if (ns && access_grant_has(g, (size_t)(ns - s->server->names.at), (struct vs_slice){ns->name, ns->name_length}))
        return true;
    if (!ns && name.at && g->account && vs_account_has(g->account, name)) return true;
    return rights_refuse_name(r, name);
}

bool vs_rights_operates(const struct vs_session *s) {
    if (s->grant.accounts) return access_grant_may(&s->grant, VS_OPERATE);
    return s->local || (s->server->rules.resp_password && s->known);
}

bool vs_rights_sees_reasons(const struct vs_session *s) {
    const struct access_grant *g = &s->grant;
    if (s->protocol == VS_ADMIN) return true;
    if (!g->accounts) return rights_is_local(s) || (s->server->rules.resp_password && s->known);
    return access_grant_may(g, VS_OPERATE) || (access_grant_may(g, VS_READ) && access_grant_has_all(g));
}

bool vs_rights_sees_reasons_of(const struct vs_session *s, const struct vs_served_tag *tag) {
    return vs_rights_sees_reasons(s) && (!tag->mask || vs_rights_unmasks(s));
}

bool vs_rights_sees(const struct vs_session *s, const char *name) {
    return !s->grant.accounts || s->protocol == VS_ADMIN ||
           (s->grant.account && vs_account_has(s->grant.account, (struct vs_slice){name, strlen(name)}));
}

bool vs_rights_sees_all(const struct vs_session *s) {
    return !s->grant.accounts || s->protocol == VS_ADMIN || access_grant_has_all(&s->grant);
}

enum vs_reply_state vs_refuse_why(struct vs_request *r, const char *code, const char *what, const char *why) {
    return vs_refuse(r, code, "%s: %s", what,
                     vs_rights_sees_reasons(r->session) ? why : "the server's log has the reason");
}
