/* tls.c -- loads the module, and makes a client's handshake with a deadline.  Does not use OpenSSL itself. */
#include "tls/tls.h"
#include "tls/aes.h"
#include "base/error.h"
#include "os/clock.h"
#include "store/module.h"

#include <errno.h>
#include <poll.h>

#define SLICE_MS 50 /* how often a waiting thread checks `is_cut` */

const struct vs_tls *vs_tls_find(struct vesta_error *err) {
    static const struct vs_module_file file = {"tls/openssl", "vs_tls_module", "TLS", VS_TLS_REMEDY};
    const struct vs_tls *tls = vs_module_load(&file, err);
    return !tls || tls->abi == VS_TLS_ABI ? tls : vs_module_foreign(&file, err);
}

const struct vs_aes *vs_aes_find(struct vesta_error *err) {
    static const struct vs_module_file file = {"tls/openssl", "vs_aes_module", "AES of a mask", VS_TLS_REMEDY};
    const struct vs_aes *aes = vs_module_load(&file, err);
    return !aes || aes->abi == VS_TLS_ABI ? aes : vs_module_foreign(&file, err);
}

static int64_t tls_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

/* Waits until the socket is ready.  Returns false if the deadline has passed, or if the wait was cut. */
static bool tls_await(const struct vs_tls_wait *wait, short events) {
    struct pollfd ready = {.fd = wait->fd, .events = events};
    for (;;) {
        int64_t left_ms = (wait->until_boot_us - tls_now_us() + 999) / 1000;
        if (left_ms <= 0 || (wait->is_cut && atomic_load(wait->is_cut))) return false;
        int rc = poll(&ready, 1, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS);
        if (rc > 0) return true;
        if (rc < 0 && errno != EINTR) return false;
    }
}

int vs_tls_greet(const struct vs_tls *tls, struct vs_tls_conn *conn, const struct vs_tls_wait *wait,
                 struct vesta_error *err) {
    for (;;) {
        bool more = false;
        enum vs_tls_step step = tls->shake(conn, &more);
        if (step == VS_TLS_DONE) return VESTA_OK;
        if (step == VS_TLS_FAILED)
            return vs_fail(err, tls->is_refused(conn) ? VESTA_EOPTION : VESTA_EIO, "TLS: %s", tls->why(conn));
        if (!more && !tls_await(wait, step == VS_TLS_WANTS_WRITE ? POLLOUT : POLLIN))
            return vs_fail(err, VESTA_EIO, "TLS: no handshake before the deadline");
    }
}
