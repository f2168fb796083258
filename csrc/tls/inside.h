/* inside.h -- declarations shared by the module's files.  Only these files include this header and OpenSSL. */
#ifndef VS_TLS_INSIDE_H
#define VS_TLS_INSIDE_H

#include "tls/aes.h"
#include "tls/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#define VS_TLS_WORDS_MAX 192

/* ------------------------------------------------------------------ words.c */

/* Returns the text of this thread's first OpenSSL error, or `none`, and clears all errors. */
const char *vs_tls_words(const char *none, char buf[VS_TLS_WORDS_MAX]);
/* Sets err to VESTA_EOPTION and "FILE: what: OpenSSL's reason", and returns it. */
int vs_tls_fail_file(struct vesta_error *err, const char *path, const char *what);
/* Returns the name in a certificate, as vs_tls.peer does.  Returns NULL if the certificate has no readable name. */
const char *vs_tls_name_of(const X509 *certificate, char buf[VS_TLS_NAME_MAX]);
int64_t vs_tls_unix_s(const ASN1_TIME *time);

/* ------------------------------------------------------------------ both sides */

/* Creates a context with the options that servers and clients share.  Returns NULL if there is no memory. */
SSL_CTX *vs_tls_context(const SSL_METHOD *method);
/* Loads a certificate with its chain, and the certificate's key.  Errors: VESTA_EOPTION. */
int vs_tls_use(SSL_CTX *ctx, const char *certificate, const char *key, struct vesta_error *err);
/* Creates a connection of that context over a socket.  Returns NULL if there is no memory. */
struct vs_tls_conn *vs_tls_conn_new(SSL_CTX *ctx, int fd);
SSL *vs_tls_ssl(const struct vs_tls_conn *conn);
/* Sets the connection's ALPN protocol.  NULL accepts any. */
void vs_tls_set_protocol(struct vs_tls_conn *conn, const char *protocol);
const char *vs_tls_protocol(const struct vs_tls_conn *conn);

enum vs_tls_step vs_tls_shake(struct vs_tls_conn *conn, bool *more);
ssize_t vs_tls_read(struct vs_tls_conn *conn, char *to, size_t room, bool *more);
ssize_t vs_tls_write(struct vs_tls_conn *conn, const char *bytes, size_t length);
bool vs_tls_keeps_bytes(const struct vs_tls_conn *conn);
bool vs_tls_is_reversed(const struct vs_tls_conn *conn);
void vs_tls_end(struct vs_tls_conn *conn);
void vs_tls_free(struct vs_tls_conn *conn);
const char *vs_tls_peer(const struct vs_tls_conn *conn, char buf[VS_TLS_NAME_MAX]);
const char *vs_tls_why(const struct vs_tls_conn *conn);
bool vs_tls_is_refused(const struct vs_tls_conn *conn);

/* ------------------------------------------------------------------ server.c, tickets.c, client.c */

/* Keys of session tickets, shared by all contexts of a server.  Own: free with vs_tickets_free.  vs_tickets_new returns
 * NULL if there are no random bytes. */
struct vs_tickets;
struct vs_tickets *vs_tickets_new(void);
void vs_tickets_free(struct vs_tickets *tickets); /* may be NULL */
/* Makes a context use these keys for its tickets.  Returns false if OpenSSL fails. */
bool vs_tickets_use(struct vs_tickets *tickets, SSL_CTX *ctx);

int vs_tls_server_open(const struct vs_tls_server_opts *opts, struct vs_tls_server **server, struct vesta_error *err);
int vs_tls_server_renew(struct vs_tls_server *server, struct vesta_error *err);
void vs_tls_server_facts(struct vs_tls_server *server, struct vs_tls_facts *facts);
void vs_tls_server_close(struct vs_tls_server *server);
struct vs_tls_conn *vs_tls_accept(struct vs_tls_server *server, int fd, const char *protocol);

int vs_tls_client_open(const struct vs_tls_client_opts *opts, struct vs_tls_client **client, struct vesta_error *err);
void vs_tls_client_close(struct vs_tls_client *client);
struct vs_tls_conn *vs_tls_connect(struct vs_tls_client *client, int fd, const char *name);

/* ------------------------------------------------------------------ aes.c */

struct vs_aes_key *vs_aes_key_open(const uint8_t *bytes, size_t length);
void vs_aes_encrypt(struct vs_aes_key *key, uint8_t *blocks, size_t count);
void vs_aes_key_close(struct vs_aes_key *key);

#endif
