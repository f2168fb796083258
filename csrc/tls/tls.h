/* tls.h -- TLS over a connected socket, as a server and as a client.  Only the module uses OpenSSL (inside.h).  It is
 * loaded when the first address with `tls:` is used, so other processes do not load OpenSSL.
 *
 *     const struct vs_tls *tls = vs_tls_find(&err);              the module; the error names the package to install
 *     tls->client_open(&(struct vs_tls_client_opts){...}, &client, &err);
 *     struct vs_tls_conn *conn = tls->connect(client, fd, "ids.example.com");
 *     vs_tls_greet(tls, conn, &(struct vs_tls_wait){...}, &err);  or call shake and poll yourself
 *     tls->write(conn, ...); tls->read(conn, ...); tls->end(conn); tls->free(conn); close(fd);
 *
 * Only vs_tls_greet blocks.  A socket is read and written with MSG_DONTWAIT, whatever its mode, and never raises
 * SIGPIPE.  The caller closes the socket.  Threads: any number may use a server or a client at once.  One thread at a
 * time may use a connection.  A forked child must not call end or free for its parent's connections. */
#ifndef VS_TLS_H
#define VS_TLS_H

#include "tls/abi.h"
#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define VS_TLS_NAME_MAX 256

#define VS_TLS_RECORD_BYTES 17408 /* size of OpenSSL's buffer for one record */

/* The result of a handshake step. */
enum vs_tls_step { VS_TLS_DONE, VS_TLS_WANTS_READ, VS_TLS_WANTS_WRITE, VS_TLS_FAILED };

/* Whether a server requests client certificates. */
enum vs_tls_asks { VS_TLS_OFF, VS_TLS_OPTIONAL, VS_TLS_REQUIRED };

struct vs_tls_server_opts {
    const char *certificate, *key; /* PEM files.  The certificate's chain follows it in the same file */
    const char *client_ca;         /* PEM file.  NULL if client certificates are off */
    enum vs_tls_asks client_certificates;
    bool is_1_3_only; /* false: TLS 1.2 and 1.3 */
};

struct vs_tls_client_opts {
    const char *ca;                /* PEM file of CAs that may sign the server's certificate.  NULL: the system's CAs */
    const char *certificate, *key; /* PEM files, sent to a server that requests a client certificate.  NULL: none */
    bool is_unverified;            /* true: do not verify the server's certificate */
    /* true: `ca` is the server's own certificate, and only that certificate is trusted, with any name, even if expired
     */
    bool is_pinned;
};

/* Facts about a server's certificate. */
struct vs_tls_facts {
    int64_t expires_unix_s;     /* the earliest expiry in its chain */
    char name[VS_TLS_NAME_MAX]; /* as returned by vs_tls.peer */
};

struct vs_tls_server;
struct vs_tls_client;
struct vs_tls_conn;

struct vs_tls {
    uint32_t abi;

    /* Opens a server.  Own: end with server_close, after all connections of the server have ended.  Errors:
     * VESTA_EOPTION, with the name of the file. */
    int (*server_open)(const struct vs_tls_server_opts *opts, struct vs_tls_server **server, struct vesta_error *err);
    /* Reloads the files, for new connections.  After an error, the old files stay in use. */
    int (*server_renew)(struct vs_tls_server *server, struct vesta_error *err);
    void (*server_facts)(struct vs_tls_server *server, struct vs_tls_facts *facts);
    void (*server_close)(struct vs_tls_server *server);
    /* Creates the server's side of a connection.  `protocol` is the ALPN name ("http/1.1"), and a client that only
     * offers other protocols is rejected.  NULL accepts any protocol.  Returns NULL if there is no memory. */
    struct vs_tls_conn *(*accept)(struct vs_tls_server *server, int fd, const char *protocol);

    /* Opens a client.  Own: end with client_close.  Errors: VESTA_EOPTION, with the name of the file. */
    int (*client_open)(const struct vs_tls_client_opts *opts, struct vs_tls_client **client, struct vesta_error *err);
    void (*client_close)(struct vs_tls_client *client); /* may be NULL.  Its connections stay valid */
    /* Creates the client's side of a connection.  `name` is the host name or IP address that the server's certificate
     * must have.  Returns NULL if there is no memory. */
    struct vs_tls_conn *(*connect)(struct vs_tls_client *client, int fd, const char *name);

    /* Continues the handshake until it must wait.
     *
     * *more is an input and an output, here and in read.
     * Input: true if poll has already reported the end of the stream, and will not report it again.  A short read is
     * then followed by another read, which finds the end.
     * Output: true if the socket may have more bytes.  They are left for the next call, so that one connection does not
     * occupy the thread.
     * poll does not report bytes in OpenSSL's own buffer, so call this until EAGAIN before you wait. */
    enum vs_tls_step (*shake)(struct vs_tls_conn *conn, bool *more);
    /* Returns the number of bytes, or 0 if the peer has closed the connection.  Returns -1 with the errno EAGAIN, or
     * EPROTO, for which `why` has the reason. */
    ssize_t (*read)(struct vs_tls_conn *conn, char *to, size_t room, bool *more);
    /* Returns the number of bytes written, or -1 as in read.  After EAGAIN, the next write must begin with the same
     * bytes. They may be at another address, and more bytes may follow them. */
    ssize_t (*write)(struct vs_tls_conn *conn, const char *bytes, size_t length);
    /* Returns true if the connection has an incomplete record, which occupies a buffer of VS_TLS_RECORD_BYTES. */
    bool (*keeps_bytes)(const struct vs_tls_conn *conn);
    /* After EAGAIN, returns true if a read must wait for POLLOUT, or a write for POLLIN. */
    bool (*is_reversed)(const struct vs_tls_conn *conn);
    /* Sends close_notify, unless the socket is full.  Do not write anything after this. */
    void (*end)(struct vs_tls_conn *conn);
    void (*free)(struct vs_tls_conn *conn); /* may be NULL */

    /* Returns the name in the peer's certificate: the subject's CN, or else the first DNS name.  Returns "" if the
     * certificate has no readable name of these kinds.  Returns NULL if the peer sent no certificate. */
    const char *(*peer)(const struct vs_tls_conn *conn, char buf[VS_TLS_NAME_MAX]);
    /* `why` returns the text of the last error, or "".  `is_refused` returns true if one side rejected the other's
     * certificate, version or protocol, so that a new attempt would fail, too. */
    const char *(*why)(const struct vs_tls_conn *conn);
    bool (*is_refused)(const struct vs_tls_conn *conn);
};

/* Loads the module.  If this build or this machine lacks the module, returns NULL and sets err. */
const struct vs_tls *vs_tls_find(struct vesta_error *err);

/* Makes a client's handshake.  Blocks until the deadline, or until *is_cut, which is checked a few times a second.
 * is_cut may be NULL.  Errors: VESTA_EIO if the handshake takes too long, or the connection breaks.  VESTA_EOPTION if
 * the server's certificate is not valid for the name, or if the server rejects this client. */
struct vs_tls_wait {
    int fd;
    int64_t until_boot_us;
    const atomic_bool *is_cut;
};
int vs_tls_greet(const struct vs_tls *tls, struct vs_tls_conn *conn, const struct vs_tls_wait *wait,
                 struct vesta_error *err);

#endif
