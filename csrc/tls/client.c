/* client.c -- the certificates and names that a client trusts. */
#include "tls/inside.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

struct vs_tls_client {
    SSL_CTX *ctx;
    bool is_pinned;
};

/* Trusts only the file's first certificate, not its chain. */
static bool tls_client_pin(SSL_CTX *ctx, const char *path) {
    BIO *file = BIO_new_file(path, "r");
    X509 *own = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    bool is_read = own && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), own) == 1;
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
    X509_free(own);
    BIO_free(file);
    return is_read;
}

static bool tls_client_trust(SSL_CTX *ctx, const struct vs_tls_client_opts *opts) {
    const char *ca = opts->ca;
    if (opts->is_pinned) return tls_client_pin(ctx, ca);
    return ca ? SSL_CTX_load_verify_file(ctx, ca) == 1 : SSL_CTX_set_default_verify_paths(ctx) == 1;
}

static int tls_client_fill(SSL_CTX *ctx, const struct vs_tls_client_opts *opts, struct vesta_error *err) {
    SSL_CTX_set_verify(ctx, opts->is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (!tls_client_trust(ctx, opts))
        return vs_tls_fail_file(err, opts->ca ? opts->ca : "this system's certificates", "no certificates can be read");
    return opts->certificate ? vs_tls_use(ctx, opts->certificate, opts->key, err) : VESTA_OK;
}

int vs_tls_client_open(const struct vs_tls_client_opts *opts, struct vs_tls_client **client, struct vesta_error *err) {
    struct vs_tls_client *self = malloc(sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    self->is_pinned = opts->is_pinned;
    self->ctx = vs_tls_context(TLS_client_method());
    int rc = self->ctx ? tls_client_fill(self->ctx, opts, err) : vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    if (rc != VESTA_OK) {
        vs_tls_client_close(self);
        return rc;
    }
    *client = self;
    return VESTA_OK;
}

void vs_tls_client_close(struct vs_tls_client *client) {
    if (!client) return;
    SSL_CTX_free(client->ctx);
    free(client);
}

static bool is_address(const char *name) {
    unsigned char any[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, any) == 1 || inet_pton(AF_INET6, name, any) == 1;
}

/* Sets the name that the certificate must have.  SNI supports only host names, so an address is not sent. */
static bool tls_client_expect(SSL *ssl, const char *name) {
    if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct vs_tls_conn *vs_tls_connect(struct vs_tls_client *client, int fd, const char *name) {
    struct vs_tls_conn *conn = vs_tls_conn_new(client->ctx, fd);
    if (!conn) return NULL;
    SSL_set_connect_state(vs_tls_ssl(conn));
    if (client->is_pinned || tls_client_expect(vs_tls_ssl(conn), name)) return conn;
    ERR_clear_error();
    vs_tls_free(conn);
    return NULL;
}
