/* dial.c -- makes one connection, up to the server's first reply. */
#include "client/dial.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/secret.h"
#include "store/errand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vs_dial {
    struct vs_errand *errand;
    const struct vs_wire *wire;
    const struct vs_tls *tls;
    struct vs_place place; /* copied, like wake_fd, because the errand may outlive the client */
    struct vs_client_access access;
    int64_t timeout_ms;
    int wake_fd;
    struct vs_link link;
    atomic_bool is_left;
    struct vesta_error err;
};

static void dial_drop(void *work) {
    struct vs_dial *dial = work;
    vs_link_close(&dial->link);
    close(dial->wake_fd);
    explicit_bzero(dial, sizeof *dial); /* erase the secrets in it */
    free(dial);
}

static int64_t dial_until_us(const struct vs_dial *dial) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) + dial->timeout_ms * 1000;
}

/* ------------------------------------------------------------------ TLS */

static const char *or_none(const char *path) {
    return *path ? path : NULL;
}

static int dial_open(struct vs_dial *dial) {
    char host[256];
    const struct vs_client_access *is = &dial->access;
    const struct vs_link_opts opts = {.address = dial->place.address,
                                      .is_tls = dial->place.is_tls,
                                      .name = vs_place_host(&dial->place, host, sizeof host),
                                      .tls = {.ca = or_none(is->tls_ca),
                                              .certificate = or_none(is->tls_certificate),
                                              .key = or_none(*is->tls_key ? is->tls_key : is->tls_certificate),
                                              .is_unverified = is->tls_unverified},
                                      .timeout_ms = dial->timeout_ms,
                                      .is_cut = &dial->is_left};
    return vs_link_open(&opts, &dial->link, &dial->err);
}

/* ------------------------------------------------------------------ the greeting */

/* Finds the secret.  Reads the secret file anew for each connection, so that an operator can replace it. */
static int find_secret(const struct vs_dial *dial, char secret[VS_PLACE_SECRET_MAX], struct vesta_error *err) {
    const struct vs_client_access *is = &dial->access;
    const char *given = *dial->place.secret ? dial->place.secret : is->password;
    if (!*given && *is->secret_file)
        return vs_secret_of_file(&(struct vs_secret_file){"secret_file", is->secret_file, false}, secret,
                                 VS_PLACE_SECRET_MAX, err);
    snprintf(secret, VS_PLACE_SECRET_MAX, "%s", given);
    return VESTA_OK;
}

/* Composes AUTH, or PING if there is no secret.  Without a secret, PING checks that a server replies, because an open
 * port alone does not count as connected. */
static int dial_compose(const struct vs_dial *dial, const char *secret, const char *words[3]) {
    const char *user = *dial->place.user ? dial->place.user : dial->access.user;
    int count = 0;
    words[count++] = *secret ? "AUTH" : "PING";
    if (*secret && *user) words[count++] = user;
    if (*secret) words[count++] = secret;
    return count;
}

/* Returns true if the reply contains the beginning of the secret.  Redis replies to an unknown command with its first
 * arguments, truncated. */
static bool dial_repeats(const char *text, const char *secret) {
    char beginning[9];
    snprintf(beginning, sizeof beginning, "%.8s", secret);
    return *beginning && strstr(text, beginning);
}

static int dial_greet(struct vs_dial *dial) {
    char secret[VS_PLACE_SECRET_MAX];
    const char *words[3];
    int rc = find_secret(dial, secret, &dial->err);
    if (rc != VESTA_OK) return vs_fail(&dial->err, VESTA_EIO, "%s", dial->err.text);
    struct vs_wire_question q = {.link = &dial->link,
                                 .words = words,
                                 .count = dial_compose(dial, secret, words),
                                 .until_boot_us = dial_until_us(dial),
                                 .is_cut = &dial->is_left};
    struct vs_wire_answer answer;
    dial->wire->ask(&q, &answer);
    bool is_repeated = dial_repeats(answer.text, secret);
    explicit_bzero(secret, sizeof secret);
    if (answer.heard == VS_HEARD_STATUS) return VESTA_OK;
    bool refuses = answer.heard == VS_HEARD_ERROR && !vs_wire_passes(answer.text);
    return vs_fail(&dial->err, refuses ? VESTA_EOPTION : VESTA_EIO, "%.250s: greeting: %s", dial->place.address,
                   is_repeated                       ? "its reply to AUTH is not shown, because it repeats the secret"
                   : answer.heard == VS_HEARD_VALUES ? "unexpected reply: check that this is a vesta server"
                                                     : answer.text);
}

static void dial_run(void *work) {
    struct vs_dial *dial = work;
    uint64_t one = 1;
    if (dial_open(dial) == VESTA_OK && dial_greet(dial) != VESTA_OK) vs_link_close(&dial->link);
    /* fails if the eventfd is full, but then the thread is already awake */
    ssize_t told = write(dial->wake_fd, &one, sizeof one);
    (void)told;
}

/* ------------------------------------------------------------------ for the thread */

struct vs_dial *vs_dial_begin(const struct vs_dial_opts *opts, struct vesta_error *err) {
    struct vs_dial *dial = calloc(1, sizeof *dial);
    if (!dial) return vs_fail(err, VESTA_ENOMEM, "no memory for a connection"), NULL;
    dial->wire = opts->wire;
    dial->tls = opts->tls;
    dial->place = *opts->place;
    dial->access = *opts->access;
    dial->timeout_ms = opts->timeout_ms;
    dial->link.fd = -1;
    dial->wake_fd = fcntl(opts->wake_fd, F_DUPFD_CLOEXEC, 0);
    if (dial->wake_fd >= 0) dial->errand = vs_errand_send(dial_run, dial_drop, dial);
    if (dial->errand) return dial;
    vs_fail(err, VESTA_EIO, "%s: no %s is available to connect", opts->place->address,
            dial->wake_fd < 0 ? "file descriptor" : "thread");
    if (dial->wake_fd >= 0) close(dial->wake_fd);
    explicit_bzero(dial, sizeof *dial);
    free(dial);
    return NULL;
}

bool vs_dial_is_done(const struct vs_dial *dial) {
    return vs_errand_is_done(dial->errand);
}

bool vs_dial_end(struct vs_dial *dial, struct vs_link *link, struct vesta_error *err) {
    vs_errand_take(dial->errand);
    *link = dial->link;
    dial->link = (struct vs_link){.fd = -1};
    if (link->fd < 0) *err = dial->err;
    dial_drop(dial);
    return link->fd >= 0;
}

void vs_dial_leave(struct vs_dial *dial) {
    atomic_store(&dial->is_left, true); /* makes the errand stop waiting for the server's reply */
    vs_errand_leave(dial->errand);
}
