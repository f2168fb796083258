/* server.c -- a server's certificate and key, which can be replaced while connections continue, and client
 * certificates. */
#include "tls/inside.h"
#include "base/error.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct vs_tls_server {
    struct vs_tls_server_opts opts; /* the strings are copies */
    struct vs_tickets *tickets;
    pthread_mutex_t lock; /* guards the members below */
    SSL_CTX *ctx;         /* for new connections */
    struct vs_tls_facts facts;
};

/* ------------------------------------------------------------------ files */

/* Loads a key.  OpenSSL stores one key per key type, so loading a key of the wrong type succeeds.  Only the check below
 * compares the key with the certificate. */
static int use_key(SSL_CTX *ctx, const char *certificate, const char *key, struct vesta_error *err) {
    bool is_read = SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) == 1;
    unsigned long code = ERR_peek_error();
    if (is_read && SSL_CTX_check_private_key(ctx) == 1) return VESTA_OK;
    if (!is_read && ERR_GET_LIB(code) != ERR_LIB_X509)
        return vs_tls_fail_file(err, key, "no private key can be read from it");
    ERR_clear_error();
    return vs_fail(err, VESTA_EOPTION, "%.200s: this private key is not that of the certificate in %.200s", key,
                   certificate);
}

int vs_tls_use(SSL_CTX *ctx, const char *certificate, const char *key, struct vesta_error *err) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1)
        return vs_tls_fail_file(err, certificate, "no certificate can be read from it");
    return use_key(ctx, certificate, key, err);
}

static int tls_server_ask_clients(SSL_CTX *ctx, const struct vs_tls_server_opts *opts, struct vesta_error *err) {
    if (opts->client_certificates == VS_TLS_OFF) return VESTA_OK;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(opts->client_ca);
    if (!names || SSL_CTX_load_verify_file(ctx, opts->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return vs_tls_fail_file(err, opts->client_ca, "no certificates can be read from it");
    }
    SSL_CTX_set_client_CA_list(ctx, names); /* ctx now owns `names` */
    SSL_CTX_set_verify(
        ctx, SSL_VERIFY_PEER | (opts->client_certificates == VS_TLS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ sessions
 *
 * A ticket is only valid with the server certificate and the client CAs under which it was made.  Their digest is the
 * session id context. */

static bool tls_server_add(EVP_MD_CTX *sum, const X509 *certificate) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    return X509_digest(certificate, EVP_sha256(), digest, &length) == 1 && EVP_DigestUpdate(sum, digest, length) == 1;
}

static bool sum_up(EVP_MD_CTX *sum, SSL_CTX *ctx, unsigned char digest[EVP_MAX_MD_SIZE], unsigned *length) {
    STACK_OF(X509) *signers = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(ctx));
    int mode = SSL_CTX_get_verify_mode(ctx);
    bool is_good = signers && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 &&
                   EVP_DigestUpdate(sum, &mode, sizeof mode) == 1 && tls_server_add(sum, SSL_CTX_get0_certificate(ctx));
    for (int i = 0; is_good && i < sk_X509_num(signers); i++)
        is_good = tls_server_add(sum, sk_X509_value(signers, i));
    sk_X509_pop_free(signers, X509_free);
    return is_good && EVP_DigestFinal_ex(sum, digest, length) == 1;
}

static bool name_sessions(SSL_CTX *ctx) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_MD_CTX *sum = EVP_MD_CTX_new();
    bool is_good = sum && sum_up(sum, ctx, digest, &length) && SSL_CTX_set_session_id_context(ctx, digest, length) == 1;
    EVP_MD_CTX_free(sum);
    return is_good;
}

/* ------------------------------------------------------------------ ALPN */

static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered,
                        unsigned offered_length, void *self) {
    const char *own = vs_tls_protocol(SSL_get_app_data(ssl));
    (void)self;
    if (!own) return SSL_TLSEXT_ERR_NOACK;
    for (unsigned at = 0; at < offered_length; at += 1u + offered[at]) {
        if (offered[at] != strlen(own) || memcmp(offered + at + 1, own, offered[at]) != 0) continue;
        *out = offered + at + 1;
        *length = offered[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* ------------------------------------------------------------------ a context */

static void tls_server_look_at(SSL_CTX *ctx, struct vs_tls_facts *facts) {
    const X509 *own = SSL_CTX_get0_certificate(ctx);
    STACK_OF(X509) *chain = NULL;
    *facts = (struct vs_tls_facts){.expires_unix_s = vs_tls_unix_s(X509_get0_notAfter(own))};
    SSL_CTX_get0_chain_certs(ctx, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t unix_s = vs_tls_unix_s(X509_get0_notAfter(sk_X509_value(chain, i)));
        if (unix_s < facts->expires_unix_s) facts->expires_unix_s = unix_s;
    }
    if (!vs_tls_name_of(own, facts->name)) facts->name[0] = '\0';
}

static int tls_server_fill(struct vs_tls_server *self, SSL_CTX *ctx, struct vesta_error *err) {
    int rc = vs_tls_use(ctx, self->opts.certificate, self->opts.key, err);
    if (rc == VESTA_OK) rc = tls_server_ask_clients(ctx, &self->opts, err);
    if (rc != VESTA_OK) return rc;
    SSL_CTX_set_alpn_select_cb(ctx, on_protocols, NULL);
    if (self->opts.is_1_3_only) SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
    if (vs_tickets_use(self->tickets, ctx) && name_sessions(ctx)) return VESTA_OK;
    ERR_clear_error();
    return vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
}

int vs_tls_server_renew(struct vs_tls_server *self, struct vesta_error *err) {
    SSL_CTX *ctx = vs_tls_context(TLS_server_method());
    struct vs_tls_facts facts;
    int rc = ctx ? tls_server_fill(self, ctx, err) : vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    if (rc != VESTA_OK) {
        SSL_CTX_free(ctx);
        return rc;
    }
    tls_server_look_at(ctx, &facts);
    pthread_mutex_lock(&self->lock);
    SSL_CTX *before = self->ctx;
    self->ctx = ctx;
    self->facts = facts;
    pthread_mutex_unlock(&self->lock);
    SSL_CTX_free(before); /* existing connections retain a reference */
    return VESTA_OK;
}

/* ------------------------------------------------------------------ begin and end */

static char *tls_server_copy(const char *text) {
    return text ? strdup(text) : NULL;
}

int vs_tls_server_open(const struct vs_tls_server_opts *opts, struct vs_tls_server **server, struct vesta_error *err) {
    struct vs_tls_server *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    pthread_mutex_init(&self->lock, NULL);
    self->opts = *opts;
    self->opts.certificate = tls_server_copy(opts->certificate);
    self->opts.key = tls_server_copy(opts->key);
    self->opts.client_ca = tls_server_copy(opts->client_ca);
    self->tickets = vs_tickets_new();
    bool has_all =
        self->opts.certificate && self->opts.key && !self->opts.client_ca == !opts->client_ca && self->tickets;
    int rc = has_all ? vs_tls_server_renew(self, err) : vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    if (rc == VESTA_OK)
        *server = self;
    else
        vs_tls_server_close(self);
    return rc;
}

void vs_tls_server_close(struct vs_tls_server *self) {
    if (!self) return;
    SSL_CTX_free(self->ctx);
    vs_tickets_free(self->tickets);
    free((char *)self->opts.certificate);
    free((char *)self->opts.key);
    free((char *)self->opts.client_ca);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

void vs_tls_server_facts(struct vs_tls_server *self, struct vs_tls_facts *facts) {
    pthread_mutex_lock(&self->lock);
    *facts = self->facts;
    pthread_mutex_unlock(&self->lock);
}

struct vs_tls_conn *vs_tls_accept(struct vs_tls_server *self, int fd, const char *protocol) {
    pthread_mutex_lock(&self->lock);
    struct vs_tls_conn *conn = vs_tls_conn_new(self->ctx, fd);
    pthread_mutex_unlock(&self->lock);
    if (!conn) return NULL;
    SSL_set_accept_state(vs_tls_ssl(conn));
    vs_tls_set_protocol(conn, protocol);
    return conn;
}
