/* grant.c -- accounts of connections, and parsing of credentials (see grant.h). */
#include "access/grant.h"

#include <string.h>
#include <strings.h>

static struct vs_slice access_slice(const char *text) {
    return (struct vs_slice){text, strlen(text)};
}

_Static_assert(VS_COUNTED_MAX <= UINT8_MAX && ACCESS_SAID_MAX <= UINT8_MAX, "both fit a byte");

/* ------------------------------------------------------------------ accounts */

static const struct vs_account *access_default(const struct vs_accounts *accounts, const struct access_origin *origin) {
    if (origin->certified) return vs_account_named(accounts, access_slice(origin->certified));
    const struct vs_account *a = vs_account_named(accounts, access_slice(VS_ACCOUNT_DEFAULT));
    if (!a) return origin->is_local ? &vs_account_local : NULL;
    return a->secret_count > 0 ? NULL : a;
}

void access_grant_set(struct access_grant *g, struct vs_gate *gate, const struct vs_account *account,
                      const struct vs_secret *secret) {
    g->account = account;
    g->secret = secret;
    g->is_lost = false;
    memset(g->known, 0, sizeof g->known);
    g->count = account && gate ? (uint8_t)vs_gate_count_of(gate, account->name) : 0;
    g->said_length = 0;
}

void access_grant_reset(struct access_grant *g, struct vs_gate *gate, const struct access_origin *origin) {
    access_grant_set(g, gate, g->accounts ? access_default(g->accounts, origin) : NULL, NULL);
}

/* Finds the account with the same name and the same secret, or NULL. */
static const struct vs_account *access_find_again(const struct access_grant *was, const struct vs_accounts *now,
                                                  const struct vs_secret **secret) {
    const struct vs_account *a = vs_account_named(now, access_slice(was->account->name));
    for (int i = 0; a && i < a->secret_count; i++)
        if (vs_secret_is(&a->secret[i], was->secret)) return *secret = &a->secret[i], a;
    return NULL;
}

bool access_grant_renew(struct access_grant *g, struct vs_gate *gate, const struct access_origin *origin) {
    struct access_grant was = *g;
    const struct vs_secret *secret = NULL;
    g->accounts = vs_gate_hold(gate);
    const struct vs_account *a = was.secret && g->accounts ? access_find_again(&was, g->accounts, &secret) : NULL;
    if (a || was.secret || was.is_lost)
        access_grant_set(g, gate, a, secret);
    else
        access_grant_reset(g, gate, origin);
    g->is_lost = !a && (was.secret || was.is_lost);
    if (a) g->said_length = was.said_length;
    bool is_as_before = !was.accounts || vs_account_is_as(was.account, g->account);
    vs_accounts_let(was.accounts);
    return is_as_before;
}

void access_grant_end(struct access_grant *g) {
    vs_accounts_let(g->accounts);
    explicit_bzero(g, sizeof *g);
}

/* Caches the namespaces that the connection used last, so that patterns are not matched for each request.  The cache
 * has a fixed size, whatever the number of namespaces. */
bool access_grant_has(struct access_grant *g, size_t index, struct vs_slice name) {
    uint16_t *known = &g->known[index % ACCESS_KNOWN];
    if (!g->account) return false;
    if (*known == index + 1) return true;
    if (!vs_account_has(g->account, name)) return false;
    *known = (uint16_t)(index + 1);
    return true;
}

bool access_grant_has_all(const struct access_grant *g) {
    return g->account && vs_account_has_all(g->account);
}

bool access_grant_may(const struct access_grant *g, unsigned calls) {
    return g->account && !(calls & ~g->account->calls);
}

/* ------------------------------------------------------------------ credentials */

/* Stores a token from a parameter with '=' before it, because no accepted header begins with '='.  Credentials that do
 * not fit are not stored.  They are hashed for each request. */
void access_grant_keep(struct access_grant *g, struct vs_slice said, bool is_token) {
    if (said.length + is_token > sizeof g->said) return;
    g->said[0] = '=';
    memcpy(g->said + is_token, said.at, said.length);
    g->said_length = (uint8_t)(said.length + is_token);
}

bool access_grant_is_kept(const struct access_grant *g, struct vs_slice said, bool is_token) {
    return g->secret && g->said_length > 0 && g->said_length == said.length + is_token &&
           (*g->said == '=') == is_token && memcmp(g->said + is_token, said.at, said.length) == 0;
}

static int access_base64_value(char c) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Returns the decoded length, or -1 if the text is not base64. */
static int access_base64_decode(struct vs_slice text, char out[ACCESS_CREDENTIAL_MAX]) {
    unsigned bits = 0;
    int length = 0, have = 0;
    while (text.length > 0 && text.at[text.length - 1] == '=')
        text.length--;
    for (size_t i = 0; i < text.length; i++) {
        int value = access_base64_value(text.at[i]);
        if (value < 0) return -1;
        bits = bits << 6 | (unsigned)value;
        have += 6;
        if (have >= 8) out[length++] = (char)(bits >> (have -= 8));
    }
    return length;
}

static bool access_has_scheme(struct vs_slice text, const char *scheme, struct vs_slice *rest) {
    size_t length = strlen(scheme);
    if (text.length <= length || strncasecmp(text.at, scheme, length) != 0) return false;
    *rest = (struct vs_slice){text.at + length, text.length - length};
    return true;
}

bool access_credential_read(struct vs_slice header, char buf[ACCESS_CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret) {
    struct vs_slice rest;
    *name = (struct vs_slice){NULL, 0};
    if (header.length == 0 || header.length > ACCESS_CREDENTIAL_MAX) return false;
    if (access_has_scheme(header, "Bearer ", secret)) return true;
    if (!access_has_scheme(header, "Basic ", &rest)) return false;
    int length = access_base64_decode(rest, buf);
    if (length < 0 || !vs_slice_split((struct vs_slice){buf, (size_t)length}, ':', name, secret)) return false;
    if (name->length == 0) name->at = NULL;
    return true;
}
