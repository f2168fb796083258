/* conn.c -- a connection: handshake, reading, writing, closing.  Uses no files and no clock.
 *
 * By default, OpenSSL reads the first five bytes of a record, and then its remaining bytes.  Here it reads ahead, so
 * that one read of the socket gets all available bytes.  Each call may read the socket only once, so that a peer that
 * sends without end does not occupy the thread.  OpenSSL frees its buffers while they are empty. */
#include "tls/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20" /* for TLS 1.2.  TLS 1.3 has only secure ciphers */

struct vs_tls_conn {
    SSL *ssl;
    int fd;
    int reads_left;  /* number of socket reads that are still allowed in this call */
    bool is_emptied; /* the last read took all bytes from the socket */
    /* a short read does not prove that the socket is empty, because the end of the stream may follow */
    bool is_unsure;
    bool is_reversed; /* the last read waits for POLLOUT, or the last write waits for POLLIN */
    bool is_refused, has_failed;
    const char *protocol;
    char why[VS_TLS_WORDS_MAX];
};

/* ------------------------------------------------------------------ the socket as a BIO
 *
 * These are raw system calls: the C library's functions are cancellation points, which costs two locked instructions
 * per call. */

static int tls_take(BIO *bio, char *to, int room) {
    struct vs_tls_conn *conn = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (conn->reads_left == 0) return BIO_set_retry_read(bio), -1;
    conn->reads_left--;
    long got = syscall(SYS_recvfrom, conn->fd, to, (size_t)room, MSG_DONTWAIT, NULL, NULL);
    conn->is_emptied = got < (conn->is_unsure ? 0 : room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)got;
}

static int tls_give(BIO *bio, const char *bytes, int length) {
    const struct vs_tls_conn *conn = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    long sent = syscall(SYS_sendto, conn->fd, bytes, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return (int)sent;
}

static long tls_control(BIO *bio, int what, long number, void *at) {
    (void)number;
    (void)at;
    if (what == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

/* Runs once, when the module is loaded. */
__attribute__((constructor)) static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vesta's socket");
    if (!method) return;
    BIO_meth_set_read(method, tls_take);
    BIO_meth_set_write(method, tls_give);
    BIO_meth_set_ctrl(method, tls_control);
}

/* ------------------------------------------------------------------ contexts */

/* Makes loading a key with a password fail, because the default callback would prompt on the terminal. */
static int say_no_password(char *buf, int size, int is_written, void *self) {
    (void)buf, (void)size, (void)is_written, (void)self;
    return -1;
}

SSL_CTX *vs_tls_context(const SSL_METHOD *side) {
    SSL_CTX *ctx = SSL_CTX_new(side);
    if (!ctx) return NULL;
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_PRIORITIZE_CHACHA |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE |
                                 /* safe, because the protocols above TLS detect a truncated message */
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(ctx, say_no_password);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 && SSL_CTX_set_cipher_list(ctx, CIPHERS_1_2) == 1)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* ------------------------------------------------------------------ begin and end */

static BIO *socket_of(struct vs_tls_conn *conn) {
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) return NULL;
    BIO_set_data(bio, conn);
    BIO_set_init(bio, 1);
    return bio;
}

struct vs_tls_conn *vs_tls_conn_new(SSL_CTX *ctx, int fd) {
    struct vs_tls_conn *conn = calloc(1, sizeof *conn);
    if (!conn) return NULL;
    conn->fd = fd;
    conn->ssl = SSL_new(ctx);
    BIO *bio = conn->ssl ? socket_of(conn) : NULL;
    if (!bio) {
        ERR_clear_error();
        vs_tls_free(conn);
        return NULL;
    }
    SSL_set_bio(conn->ssl, bio, bio);
    SSL_set_app_data(conn->ssl, conn);
    return conn;
}

SSL *vs_tls_ssl(const struct vs_tls_conn *conn) {
    return conn->ssl;
}

void vs_tls_set_protocol(struct vs_tls_conn *conn, const char *protocol) {
    conn->protocol = protocol;
}

const char *vs_tls_protocol(const struct vs_tls_conn *conn) {
    return conn->protocol;
}

/* Sends close_notify.  OpenSSL forbids a shutdown after a failure, and before the handshake is complete. */
void vs_tls_end(struct vs_tls_conn *conn) {
    if (conn->has_failed || !SSL_is_init_finished(conn->ssl)) return;
    conn->reads_left = 0;
    SSL_shutdown(conn->ssl);
    ERR_clear_error();
}

void vs_tls_free(struct vs_tls_conn *conn) {
    if (!conn) return;
    SSL_free(conn->ssl);
    free(conn);
}

/* ------------------------------------------------------------------ what went wrong */

/* Returns true if the same connection would fail again.  An internal error of the peer, for example missing memory, may
 * go away. */
static bool is_refusal(unsigned long code) {
    int reason = ERR_GET_REASON(code);
    return ERR_GET_LIB(code) == ERR_LIB_SSL && reason != SSL_R_UNEXPECTED_EOF_WHILE_READING &&
           reason != SSL_R_TLSV1_ALERT_INTERNAL_ERROR;
}

static void tls_fail(struct vs_tls_conn *conn) {
    unsigned long code = ERR_peek_error();
    long verified = SSL_get_verify_result(conn->ssl);
    bool is_believed = !SSL_is_server(conn->ssl) && SSL_get_verify_mode(conn->ssl) == SSL_VERIFY_NONE;
    char words[VS_TLS_WORDS_MAX];
    conn->has_failed = true;
    conn->is_refused = is_refusal(code);
    vs_tls_words(errno ? strerror(errno) : "the connection was closed", words);
    if (verified != X509_V_OK && !is_believed)
        snprintf(conn->why, sizeof conn->why, "the certificate is rejected: %s",
                 X509_verify_cert_error_string(verified));
    else if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
        snprintf(conn->why, sizeof conn->why, "the peer does not use TLS");
    else
        snprintf(conn->why, sizeof conn->why, "%s", words);
}

const char *vs_tls_why(const struct vs_tls_conn *conn) {
    return conn->why;
}

bool vs_tls_is_refused(const struct vs_tls_conn *conn) {
    return conn->is_refused;
}

bool vs_tls_is_reversed(const struct vs_tls_conn *conn) {
    return conn->is_reversed;
}

/* ------------------------------------------------------------------ the handshake */

/* Returns true if the peer's certificate has expired since a resumed session began, because OpenSSL does not check it
 * again. */
static bool has_expired(const SSL *ssl) {
    const X509 *peer = SSL_session_reused(ssl) ? SSL_get0_peer_certificate(ssl) : NULL;
    return peer && X509_cmp_current_time(X509_get0_notAfter(peer)) < 0;
}

static enum vs_tls_step tls_finish(struct vs_tls_conn *conn, bool *more) {
    *more = SSL_has_pending(conn->ssl) || !conn->is_emptied;
    if (!has_expired(conn->ssl)) return VS_TLS_DONE;
    SSL_set_verify_result(conn->ssl, X509_V_ERR_CERT_HAS_EXPIRED);
    tls_fail(conn);
    return VS_TLS_FAILED;
}

enum vs_tls_step vs_tls_shake(struct vs_tls_conn *conn, bool *more) {
    ERR_clear_error(); /* clear errors from other uses of OpenSSL in this thread */
    errno = 0;
    conn->reads_left = 1;
    conn->is_emptied = false; /* stays false if OpenSSL has buffered bytes and does not read the socket */
    conn->is_unsure = *more;
    int rc = SSL_do_handshake(conn->ssl);
    if (rc == 1) return tls_finish(conn, more);
    *more = !conn->is_emptied;
    switch (SSL_get_error(conn->ssl, rc)) {
    case SSL_ERROR_WANT_READ: return VS_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: *more = false; return VS_TLS_WANTS_WRITE;
    default: tls_fail(conn); return VS_TLS_FAILED;
    }
}

const char *vs_tls_peer(const struct vs_tls_conn *conn, char buf[VS_TLS_NAME_MAX]) {
    const X509 *peer = SSL_get0_peer_certificate(conn->ssl);
    if (!peer) return NULL;
    if (!vs_tls_name_of(peer, buf)) buf[0] = '\0';
    return buf;
}

/* ------------------------------------------------------------------ bytes */

/* Handles an OpenSSL call that returned no result.  `wanted` is the direction for which it normally waits. */
static ssize_t tls_say_why(struct vs_tls_conn *conn, int rc, int wanted) {
    int error = SSL_get_error(conn->ssl, rc);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        conn->is_reversed = error != wanted;
        return errno = EAGAIN, -1;
    }
    tls_fail(conn);
    return errno = EPROTO, -1;
}

/* Clears old errors of this thread, which would otherwise be attributed to this connection. */
static void forget_others(void) {
    if (ERR_peek_error()) ERR_clear_error();
    errno = 0;
}

/* Reads.  Does not set *more for an incomplete record in OpenSSL's buffer. */
ssize_t vs_tls_read(struct vs_tls_conn *conn, char *to, size_t room, bool *more) {
    size_t total = 0, got;
    int rc = 1;
    conn->reads_left = 1;
    conn->is_emptied = false; /* stays false if OpenSSL has buffered bytes and does not read the socket */
    conn->is_unsure = *more;
    conn->is_reversed = false;
    forget_others();
    while (total < room && (rc = SSL_read_ex(conn->ssl, to + total, room - total, &got)) == 1) {
        total += got;
        if (!SSL_has_pending(conn->ssl)) break;
    }
    *more = !conn->is_emptied || total == room;
    if (rc == 1) return (ssize_t)total;
    ssize_t said = tls_say_why(conn, rc, SSL_ERROR_WANT_READ);
    if (total == 0) return said;
    if (said == 0 || errno != EAGAIN) *more = true; /* the next call returns the error */
    return (ssize_t)total;
}

bool vs_tls_keeps_bytes(const struct vs_tls_conn *conn) {
    return SSL_has_pending(conn->ssl) == 1;
}

ssize_t vs_tls_write(struct vs_tls_conn *conn, const char *bytes, size_t length) {
    size_t total = 0, sent;
    int rc = 1;
    conn->reads_left = 0;
    conn->is_reversed = false;
    forget_others();
    while (total < length && (rc = SSL_write_ex(conn->ssl, bytes + total, length - total, &sent)) == 1)
        total += sent;
    if (rc == 1 || total > 0) {
        if (rc != 1) ERR_clear_error();
        return (ssize_t)total;
    }
    ssize_t said = tls_say_why(conn, rc, SSL_ERROR_WANT_WRITE);
    return said == 0 ? (errno = EPROTO, -1) : said;
}
