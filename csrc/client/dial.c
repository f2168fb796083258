/* dial.c -- one connection, from an address to a server that has answered. */
#include "client/dial.h"
#include "base/array.h"
#include "base/error.h"
#include "os/address.h"
#include "os/clock.h"
#include "store/errand.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct vs_dial {
    struct vs_errand *errand;
    const struct vs_wire *wire;
    char address[256], password[512];
    int64_t timeout_ms;
    int wake_fd; /* its own, because it may outlive whoever sent it */
    int fd;
    atomic_bool is_left;
    struct vesta_error err;
};

static void drop(void *work) {
    struct vs_dial *dial = work;
    if (dial->fd >= 0) close(dial->fd);
    close(dial->wake_fd);
    explicit_bzero(dial->password, sizeof dial->password);
    free(dial);
}

/* PING, or the password: whatever accepts connections and never answers is no server. */
static int greet(struct vs_dial *dial) {
    const struct vesta_clock *clock = vs_clock_system();
    const char *with[] = {"AUTH", dial->password}, *without[] = {"PING"};
    bool has_password = *dial->password;
    struct vs_question q = {.fd = dial->fd,
                            .words = has_password ? with : without,
                            .count = has_password ? VS_COUNT(with) : VS_COUNT(without),
                            .until_boot_us = clock->boot_us(clock->self) + dial->timeout_ms * 1000,
                            .is_cut = &dial->is_left};
    struct vs_answer answer;
    dial->wire->ask(&q, &answer);
    if (answer.heard == VS_HEARD_STATUS) return VESTA_OK;
    bool refuses = answer.heard == VS_HEARD_ERROR && !vs_wire_passes(answer.text);
    return vs_fail(&dial->err, refuses ? VESTA_EOPTION : VESTA_EIO, "%.250s: greeting: %s", dial->address,
                   answer.heard == VS_HEARD_VALUES ? "an answer of another kind" : answer.text);
}

static void run(void *work) {
    struct vs_dial *dial = work;
    uint64_t one = 1;
    dial->fd = vs_connect(dial->address, (int)dial->timeout_ms, &dial->err);
    if (dial->fd >= 0 && greet(dial) != VESTA_OK) {
        close(dial->fd);
        dial->fd = -1;
    }
    ssize_t told = write(dial->wake_fd, &one, sizeof one); /* full: it is awake */
    (void)told;
}

struct vs_dial *vs_dial_begin(const struct vs_dial_opts *opts, struct vesta_error *err) {
    struct vs_dial *dial = calloc(1, sizeof *dial);
    if (!dial) return vs_fail(err, VESTA_ENOMEM, "no memory for a connection"), NULL;
    assert(strlen(opts->address) < sizeof dial->address);   /* options.c has looked */
    assert(strlen(opts->password) < sizeof dial->password); /* likewise */
    snprintf(dial->address, sizeof dial->address, "%s", opts->address);
    snprintf(dial->password, sizeof dial->password, "%s", opts->password);
    dial->wire = opts->wire;
    dial->timeout_ms = opts->timeout_ms;
    dial->fd = -1;
    dial->wake_fd = fcntl(opts->wake_fd, F_DUPFD_CLOEXEC, 0);
    if (dial->wake_fd >= 0) dial->errand = vs_errand_send(run, drop, dial);
    if (dial->errand) return dial;
    vs_fail(err, VESTA_EIO, "%s: no %s can be had to connect", opts->address,
            dial->wake_fd < 0 ? "file descriptor" : "thread");
    if (dial->wake_fd >= 0) close(dial->wake_fd);
    free(dial);
    return NULL;
}

bool vs_dial_is_done(const struct vs_dial *dial) {
    return vs_errand_is_done(dial->errand);
}

int vs_dial_end(struct vs_dial *dial, struct vesta_error *err) {
    struct vs_errand *errand = dial->errand;
    vs_errand_take(errand);
    int fd = dial->fd;
    if (fd < 0 && err) *err = dial->err;
    dial->fd = -1;
    drop(dial);
    return fd;
}

void vs_dial_leave(struct vs_dial *dial) {
    atomic_store(&dial->is_left, true); /* a greeting is waited for no longer */
    vs_errand_leave(dial->errand);
}
