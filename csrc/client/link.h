/* link.h -- a connection to a server, with or without TLS.  Used by the client, and by the commands health, top, fill
 * and doctor. */
#ifndef VS_CLIENT_LINK_H
#define VS_CLIENT_LINK_H

#include "tls/tls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct vs_link {
    int fd;                   /* -1: not connected */
    const struct vs_tls *tls; /* NULL: a connection without TLS */
    struct vs_tls_conn *conn;
};

struct vs_link_opts {
    const char *address; /* HOST:PORT, [v6]:PORT or unix:PATH, optionally prefixed with tls: */
    bool is_tls;         /* use TLS, even without the tls: prefix */
    const char *name;    /* expected name in the server's certificate.  NULL: the address's host */
    struct vs_tls_client_opts tls;
    int64_t timeout_ms;        /* limit for connecting to each of the host's addresses, and for the handshake */
    const atomic_bool *is_cut; /* cancels the handshake when set.  May be NULL */
};

/* Connects, and makes the TLS handshake.  Blocks.  Own: close with vs_link_close.  Errors: VESTA_EIO, also if a file
 * cannot be read, because an operator may be replacing it.  VESTA_EOPTION if the server is not trusted, or rejects this
 * client. */
int vs_link_open(const struct vs_link_opts *opts, struct vs_link *link, struct vesta_error *err);
/* Makes only the handshake, over a connection without TLS.  The caller closes the link, even after an error. */
int vs_link_secure(const struct vs_link_opts *opts, struct vs_link *link, struct vesta_error *err);

/* Closes the connection.  With TLS, sends close_notify first.  Drops a late reply. */
static inline void vs_link_close(struct vs_link *link) {
    if (link->conn) {
        link->tls->end(link->conn);
        link->tls->free(link->conn);
    }
    if (link->fd >= 0) close(link->fd);
    *link = (struct vs_link){.fd = -1};
}

static inline bool vs_link_is_for_later(ssize_t got) {
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Works like recv with MSG_DONTWAIT.  TLS may have buffered bytes that poll does not report, so read until EAGAIN
 * before you wait. */
static inline ssize_t vs_link_read(const struct vs_link *link, char *to, size_t room) {
    bool more = true;
    ssize_t got = -1;
    if (!link->conn) return recv(link->fd, to, room, MSG_DONTWAIT);
    while (more && (got = link->tls->read(link->conn, to, room, &more)) < 0 && vs_link_is_for_later(got))
        continue;
    return got;
}

/* Works like send with MSG_DONTWAIT. */
static inline ssize_t vs_link_write(const struct vs_link *link, const char *bytes, size_t length) {
    if (link->conn) return link->tls->write(link->conn, bytes, length);
    return send(link->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns why the last read or write failed. */
static inline const char *vs_link_why(const struct vs_link *link) {
    return link->conn && errno == EPROTO ? link->tls->why(link->conn) : strerror(errno);
}

/* Returns what to poll for after a read (POLLIN) or a write (POLLOUT) returned EAGAIN.  TLS may need the opposite
 * direction first. */
static inline struct pollfd vs_link_poll(const struct vs_link *link, short events) {
    bool is_reversed = link->conn && link->tls->is_reversed(link->conn);
    return (struct pollfd){.fd = link->fd, .events = is_reversed ? (short)(events ^ (POLLIN | POLLOUT)) : events};
}

#endif
