/* link.c -- connects to an address.  Independent of the protocol. */
#include "client/link.h"
#include "base/error.h"
#include "os/address.h"
#include "os/clock.h"

#include <stdio.h>

static int64_t link_until_us(const struct vs_link_opts *opts) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) + opts->timeout_ms * 1000;
}

/* Returns the name that the server's certificate must have. */
static const char *link_name(const struct vs_link_opts *opts, char *buf, size_t size) {
    const char *host = vs_address_plain(opts->address), *port = strrchr(host, ':');
    if (opts->name) return opts->name;
    size_t length = port ? (size_t)(port - host) : strlen(host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') host++, length -= 2;
    snprintf(buf, size, "%.*s", (int)length, host);
    return buf;
}

/* Reads the certificate files for each connection, so that an operator can replace them. */
int vs_link_secure(const struct vs_link_opts *opts, struct vs_link *link, struct vesta_error *err) {
    char host[256];
    const struct vs_tls_wait wait = {link->fd, link_until_us(opts), opts->is_cut};
    struct vs_tls_client *client;
    struct vesta_error why;
    const struct vs_tls *tls = vs_tls_find(err);
    if (!tls) return VESTA_EIO;
    int rc = tls->client_open(&opts->tls, &client, &why);
    if (rc != VESTA_OK) return vs_fail(err, VESTA_EIO, "%s", why.text);
    link->tls = tls;
    link->conn = tls->connect(client, link->fd, link_name(opts, host, sizeof host));
    tls->client_close(client);
    if (!link->conn) return vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
    rc = vs_tls_greet(tls, link->conn, &wait, &why);
    return rc == VESTA_OK ? rc : vs_fail(err, rc, "%.250s: %.250s", opts->address, why.text);
}

int vs_link_open(const struct vs_link_opts *opts, struct vs_link *link, struct vesta_error *err) {
    struct vs_link open = {.fd = vs_connect(opts->address, (int)opts->timeout_ms, err)};
    if (open.fd < 0) return VESTA_EIO;
    int rc = opts->is_tls || vs_address_is_secure(opts->address) ? vs_link_secure(opts, &open, err) : VESTA_OK;
    if (rc == VESTA_OK)
        *link = open;
    else
        vs_link_close(&open);
    return rc;
}
