/* metrics_tls.c -- the families of TLS.  Knows no socket. */
#include "server/handlers/metrics.h"

void vs_put_tls_handshakes(struct vs_metrics *m) {
    static const char *const results[NET_SHAKES] = {[NET_SHAKE_OK] = "ok",
                                                   [NET_SHAKE_FAILED] = "failed",
                                                   [NET_SHAKE_LATE] = "late",
                                                   [NET_SHAKE_PLAIN] = "no_tls",
                                                   [NET_SHAKE_MISLED] = "not_here"};
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        for (int result = 0; result < NET_SHAKES; result++)
            vs_metrics_sample(m, "{proto=\"%s\",result=\"%s\"} %llu", vs_protocol_name[protocol], results[result],
                              (unsigned long long)vs_total(m->app, &m->app->counts[0]->net.shakes[protocol][result]));
}

void vs_put_tls_expiry(struct vs_metrics *m) {
    struct vs_tls_status tls;
    if (!m->app->tls_status) return;
    m->app->tls_status(m->app->tls_self, &tls);
    vs_metrics_sample(m, " %lld", (long long)tls.expires_unix_s);
}
