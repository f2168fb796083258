/* tls.h -- TLS over a connected socket, as a server and as a client.  OpenSSL is known by the module alone (inside.h),
 * which is loaded when the first address with `tls:` is named: whoever names none pays nothing for it.
 *
 *     const struct vs_tls *tls = vs_tls_find(&err);              the module, or what to install
 *     tls->client_open(&(struct vs_tls_client_opts){...}, &client, &err);
 *     struct vs_tls_conn *conn = tls->connect(client, fd, "ids.example.com");
 *     vs_tls_greet(tls, conn, &(struct vs_tls_wait){...}, &err);  or shake, with a poll of your own
 *     tls->write(conn, ...); tls->read(conn, ...); tls->end(conn); tls->free(conn); close(fd);
 *
 * No call blocks but vs_tls_greet: a socket is read and written with MSG_DONTWAIT, whatever its mode, and never raises
 * SIGPIPE.  The socket stays the caller's.
 * Threads: of a server and a client any, at once; a connection belongs to one at a time.  A forked child leaves its
 * parent's connections alone: no end, no free. */
#ifndef VS_TLS_H
#define VS_TLS_H

#include "tls/abi.h"
#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define VS_TLS_NAME_MAX 256

/* What a handshake needs to go on. */
#define VS_TLS_RECORD_BYTES 17408

enum vs_tls_step { VS_TLS_DONE, VS_TLS_WANTS_READ, VS_TLS_WANTS_WRITE, VS_TLS_FAILED };

/* Whether a server asks for its clients' certificates. */
enum vs_tls_asks { VS_TLS_OFF, VS_TLS_OPTIONAL, VS_TLS_REQUIRED };

struct vs_tls_server_opts {
    const char *certificate, *key; /* PEM files; the certificate's chain follows it in its file */
    const char *client_ca;         /* PEM; NULL where no certificates are asked for */
    enum vs_tls_asks client_certificates;
    bool is_1_3_only; /* else 1.2, too */
};

struct vs_tls_client_opts {
    const char *ca;                /* PEM: who may sign a server's certificate; NULL: whom this system trusts */
    const char *certificate, *key; /* PEM: what is shown to a server that asks; NULL: nothing */
    bool is_unverified;            /* whoever answers is believed to be the server */
    bool is_pinned; /* `ca` is the file of the server's own certificate: it alone is trusted, by any name, expired or not */
};

/* Of a server's certificate. */
struct vs_tls_facts {
    int64_t expires_unix_s;     /* the first of its chain to do so */
    char name[VS_TLS_NAME_MAX]; /* whose it is: as vs_tls.peer has it */
};

struct vs_tls_server;
struct vs_tls_client;
struct vs_tls_conn;

struct vs_tls {
    uint32_t abi;

    /* Own: end with server_close, when it has no connections.  Errors: VESTA_EOPTION, which names the file. */
    int (*server_open)(const struct vs_tls_server_opts *opts, struct vs_tls_server **server, struct vesta_error *err);
    /* Reads the files again, for connections that begin from then on; an error leaves it as it was. */
    int (*server_renew)(struct vs_tls_server *server, struct vesta_error *err);
    void (*server_facts)(struct vs_tls_server *server, struct vs_tls_facts *facts);
    void (*server_close)(struct vs_tls_server *server);
    /* A client has connected.  `protocol`: ALPN's name of what is spoken ("http/1.1"), whoever asks for others only is
     * refused; NULL: any.  NULL: no memory. */
    struct vs_tls_conn *(*accept)(struct vs_tls_server *server, int fd, const char *protocol);

    /* Own: end with client_close.  Errors: VESTA_EOPTION, which names the file. */
    int (*client_open)(const struct vs_tls_client_opts *opts, struct vs_tls_client **client, struct vesta_error *err);
    void (*client_close)(struct vs_tls_client *client); /* may be NULL; its connections go on */
    /* `name`: host name or IP address, which the server's certificate must have.  NULL: no memory. */
    struct vs_tls_conn *(*connect)(struct vs_tls_client *client, int fd, const char *name);

    /* Goes on with the handshake until it must wait.  *more, here and below: in, an end may stand behind what a read of the
     * socket gets, even where that is less than it might be (false: an edge will tell); out, there may be bytes in the socket that were
     * left for the next call, so that nobody who sends without end holds a thread; poll says nothing of what was read
     * and not asked for yet, so ask until EAGAIN before a wait. */
    enum vs_tls_step (*shake)(struct vs_tls_conn *conn, bool *more);
    /* > 0 bytes; 0: the other side has ended; -1 and errno: EAGAIN, or EPROTO with `why`. */
    ssize_t (*read)(struct vs_tls_conn *conn, char *to, size_t room, bool *more);
    /* > 0: so many of them are gone; -1 and errno as above.  What was refused by EAGAIN is what must be written next:
     * the same bytes, wherever they are then, and maybe more behind them. */
    ssize_t (*write)(struct vs_tls_conn *conn, const char *bytes, size_t length);
    /* Whether it keeps bytes that were read from the socket: a record that is not whole, in a buffer of VS_TLS_RECORD_BYTES. */
    bool (*keeps_bytes)(const struct vs_tls_conn *conn);
    /* Behind an EAGAIN of read or write: it is the other way that must be waited for (read for POLLOUT). */
    bool (*is_reversed)(const struct vs_tls_conn *conn);
    /* Says goodbye, if the socket takes it; nothing is written behind it. */
    void (*end)(struct vs_tls_conn *conn);
    void (*free)(struct vs_tls_conn *conn); /* may be NULL */

    /* The other side's name, by its certificate: the subject's CN, else the first DNS name; "": it has
     * neither, or none that can be read; NULL: it has shown no certificate. */
    const char *(*peer)(const struct vs_tls_conn *conn, char buf[VS_TLS_NAME_MAX]);
    /* What went wrong last, in words; "" for nothing.  is_refused: one side found the other's certificate, version or
     * protocol wrong, and would again. */
    const char *(*why)(const struct vs_tls_conn *conn);
    bool (*is_refused)(const struct vs_tls_conn *conn);
};

/* The module.  NULL with err: this build or this machine has none. */
const struct vs_tls *vs_tls_find(struct vesta_error *err);

/* A client's handshake, until then at the latest (or until cut, looked at a few times a second; may be NULL).  Errors:
 * VESTA_EIO: too late, or the connection broke; VESTA_EOPTION: the server is not whom its name says, or refuses us. */
struct vs_tls_wait {
    int fd;
    int64_t until_boot_us;
    const atomic_bool *is_cut;
};
int vs_tls_greet(const struct vs_tls *tls, struct vs_tls_conn *conn, const struct vs_tls_wait *wait,
                 struct vesta_error *err);

#endif
