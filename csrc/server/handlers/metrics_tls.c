/* metrics_tls.c -- the families of TLS.  Knows no socket. */
#include "server/handlers/metrics.h"

void vs_put_tls_handshakes(struct vs_metrics *m) {
    static const char *const results[VS_SHAKES] = {[VS_SHAKE_OK] = "ok",
                                                   [VS_SHAKE_FAILED] = "failed",
                                                   [VS_SHAKE_LATE] = "late",
                                                   [VS_SHAKE_PLAIN] = "no_tls",
                                                   [VS_SHAKE_MISLED] = "not_here"};
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        for (int result = 0; result < VS_SHAKES; result++)
            vs_metrics_sample(m, "{proto=\"%s\",result=\"%s\"} %llu", vs_protocol_name[protocol], results[result],
                              (unsigned long long)vs_total(m->app, &m->app->counts[0]->shakes[protocol][result]));
}

void vs_put_tls_expiry(struct vs_metrics *m) {
    struct vs_tls_status tls;
    if (!m->app->tls_status) return;
    m->app->tls_status(m->app->tls_self, &tls);
    vs_metrics_sample(m, " %lld", (long long)tls.expires_unix_s);
}
