/* metrics.c -- /metrics: the counters of the loops and the state of the server, in the format of Prometheus.
 *
 * families.h is the table of metric families.  docs/metrics.md explains each family, and a spec compares that page with
 * the table. */
#include "base/array.h"
#include "log/access.h"
#include "os/process.h"
#include "server/handlers/metrics.h"
#include "proto/accept.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/shares.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ samples */

void vs_metrics_sample(struct vs_metrics *m, const char *format, ...) {
    char line[VS_METRICS_LINE_BYTES];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    assert(length > 0 && strlen(m->name) + (size_t)length < sizeof line);
    vs_put_text(m->out, m->name);
    vs_put(m->out, line, (size_t)length);
    vs_put(m->out, "\n", 1);
}

const char *vs_metrics_seconds(char *buf, int64_t us) {
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    int length = snprintf(buf, VS_SECONDS_MAX, "%s%llu.%06llu", us < 0 ? "-" : "", (unsigned long long)size / 1000000,
                          (unsigned long long)size % 1000000);
    while (buf[length - 1] == '0' && buf[length - 2] != '.')
        buf[--length] = '\0';
    return buf;
}

static unsigned long long metrics_total(const struct vs_metrics *m, const vs_count *of) {
    return vs_total(&m->server->monitor, of);
}

/* vs_total takes the address of a counter in the first loop's counts. */
#define COUNTS(m) (*(m)->server->monitor.counts[0])

/* ------------------------------------------------------------------ clients */

static bool has_clients(const struct vs_metrics *m) {
    return m->server->gate && vs_gate_now(m->server->gate);
}

#define EACH_CLIENT(m, i, name)                                                                                        \
    const char *name;                                                                                                  \
    for (int i = 0; i < VS_COUNTED_MAX && (name = vs_gate_counted((m)->server->gate, i)); i++)

static void put_client_requests(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name) {
        vs_metrics_sample(m, "{client=\"%s\",result=\"ok\"} %llu", name,
                          metrics_total(m, &COUNTS(m).of_client[i][VS_CLIENT_ANSWERED]));
        vs_metrics_sample(m, "{client=\"%s\",result=\"refused\"} %llu", name,
                          (unsigned long long)vs_total_refused(&m->server->monitor, i));
    }
}

static void put_client_refused(struct vs_metrics *m) {
    static const char *const reasons[VS_CLIENT_COUNTS] = {[VS_CLIENT_REFUSED_REQUEST] = "request",
                                                          [VS_CLIENT_REFUSED_RIGHTS] = "rights",
                                                          [VS_CLIENT_REFUSED_RATE] = "rate",
                                                          [VS_CLIENT_REFUSED_PAUSE] = "pause"};
    EACH_CLIENT(m, i, name)
    for (int why = VS_CLIENT_REFUSED_REQUEST; why <= VS_CLIENT_REFUSED_PAUSE; why++)
        vs_metrics_sample(m, "{client=\"%s\",reason=\"%s\"} %llu", name, reasons[why],
                          metrics_total(m, &COUNTS(m).of_client[i][why]));
}

static void put_client_connections(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name)
    vs_metrics_sample(m, "{client=\"%s\"} %llu", name, metrics_total(m, &COUNTS(m).of_client[i][VS_CLIENT_OPEN]));
}

static void put_client_ids(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name)
    vs_metrics_sample(m, "{client=\"%s\"} %llu", name, metrics_total(m, &COUNTS(m).of_client[i][VS_CLIENT_IDS]));
}

static void put_secrets(struct vs_metrics *m) {
    static const struct {
        enum vs_proof proof;
        const char *name;
    } results[] = {{VS_PROOF_RIGHT, "right"}, {VS_PROOF_WRONG, "wrong"}, {VS_PROOF_PUT_OFF, "put_off"}};
    for (size_t i = 0; m->server->gate && i < VS_COUNT(results); i++)
        vs_metrics_sample(m, "{result=\"%s\"} %llu", results[i].name,
                          (unsigned long long)vs_gate_proofs(m->server->gate, results[i].proof));
}

/* ------------------------------------------------------------------ requests and connections */

#define EACH_PROTOCOL(protocol) for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)

static void put_durations(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol) {
        unsigned long long count = 0;
        for (int i = 0; i < VS_DURATIONS_MAX; i++) {
            bool last = i == VS_DURATIONS_MAX - 1;
            count += metrics_total(m, &COUNTS(m).durations[protocol][i]);
            vs_metrics_sample(m, "_bucket{proto=\"%s\",le=\"%s\"} %llu", vs_protocol_name[protocol],
                              last ? "+Inf" : SECONDS((int64_t)vs_duration_us[i]), count);
        }
        vs_metrics_sample(m, "_sum{proto=\"%s\"} %s", vs_protocol_name[protocol],
                          SECONDS((int64_t)metrics_total(m, &COUNTS(m).duration_us[protocol])));
        vs_metrics_sample(m, "_count{proto=\"%s\"} %llu", vs_protocol_name[protocol], count);
    }
}

static void put_connections(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol) {
        /* `closed` is read before `accepted`, so that the difference is never negative */
        unsigned long long closed = metrics_total(m, &COUNTS(m).closed[protocol]);
        vs_metrics_sample(m, "{proto=\"%s\"} %llu", vs_protocol_name[protocol],
                          metrics_total(m, &COUNTS(m).accepted[protocol]) - closed);
    }
}

static void put_loops(struct vs_metrics *m) {
    for (int loop = 0; loop < m->server->monitor.loop_count; loop++)
        vs_metrics_sample(m, "{loop=\"%d\"} %llu", loop, (unsigned long long)vs_served_by(&m->server->monitor, loop));
}

static void put_limits(struct vs_metrics *m) {
    const struct vs_limits *limits = ledger_limits(m->server->ledger);
    EACH_PROTOCOL(protocol) {
        vs_metrics_sample(m, "{proto=\"%s\",of=\"proto\"} %d", vs_protocol_name[protocol], limits->proto_max[protocol]);
        vs_metrics_sample(m, "{proto=\"%s\",of=\"address\"} %d", vs_protocol_name[protocol],
                          limits->of_address[protocol]);
    }
}

static void put_tls_expiry(struct vs_metrics *m) {
    struct vs_tls_status tls;
    if (!m->server->above.tls_status) return;
    m->server->above.tls_status(m->server->above.tls_self, &tls);
    vs_metrics_sample(m, " %lld", (long long)tls.expires_unix_s);
}

/* ------------------------------------------------------------------ policies and config */

#define HOOK(m, hook) ((m)->server->above.policies.hook_name((enum vs_hook)(hook)))

static void metrics_put_calls(struct vs_metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            vs_metrics_sample(m, "{hook=\"%s\",result=\"%s\"} %llu", HOOK(m, hook),
                              m->server->above.policies.result_name((enum vs_call_result)result),
                              (unsigned long long)m->policies.calls[hook][result]);
}

static void metrics_put_verdicts(struct vs_metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int kind = 0; kind < VS_VERDICTS; kind++) {
            const char *said = m->server->above.policies.verdict_name((enum vs_hook)hook, (enum vs_verdict_kind)kind);
            if (said)
                vs_metrics_sample(m, "{hook=\"%s\",decision=\"%s\"} %llu", HOOK(m, hook), said,
                                  (unsigned long long)m->policies.verdicts[hook][kind]);
        }
}

static void put_call_durations(struct vs_metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++) {
        unsigned long long count = 0;
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            count += m->policies.calls[hook][result];
        vs_metrics_sample(m, "_sum{hook=\"%s\"} %s", HOOK(m, hook), SECONDS((int64_t)m->policies.call_us[hook]));
        vs_metrics_sample(m, "_count{hook=\"%s\"} %llu", HOOK(m, hook), count);
    }
}

static void put_shadow_answers(struct vs_metrics *m, const char *outcome, uint64_t counts[VS_HOOKS][VS_VERDICTS]) {
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int kind = 0; kind < VS_VERDICTS; kind++) {
            const char *said = m->server->above.policies.verdict_name((enum vs_hook)hook, (enum vs_verdict_kind)kind);
            if (said)
                vs_metrics_sample(m, "{hook=\"%s\",decision=\"%s\",outcome=\"%s\"} %llu", HOOK(m, hook), said, outcome,
                                  (unsigned long long)counts[hook][kind]);
        }
}

static void metrics_put_shadow(struct vs_metrics *m) {
    struct vs_shadow_counts *shadow = &m->policies.shadow;
    put_shadow_answers(m, "agreed", shadow->agreed);
    put_shadow_answers(m, "differed", shadow->differed);
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int result = VS_CALL_ERROR; result < VS_CALL_RESULTS; result++)
            vs_metrics_sample(m, "{hook=\"%s\",decision=\"%s\",outcome=\"failed\"} %llu", HOOK(m, hook),
                              m->server->above.policies.result_name((enum vs_call_result)result),
                              (unsigned long long)shadow->failed[hook][result]);
}

static void put_reload_time(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS(m->policies.reload_unix_ms * 1000));
}

/* ------------------------------------------------------------------ the process */

static void put_build(struct vs_metrics *m) {
    vs_metrics_sample(m, "{version=\"" VESTA_VERSION "\",lua=\"%s\"} 1",
                      m->server->above.policies.lua ? m->server->above.policies.lua : "");
}

static void put_start(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS(m->process.start_unix_ms * 1000));
}

static void put_cpu(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS((int64_t)m->process.cpu_ms * 1000));
}

/* ------------------------------------------------------------------ the table */

/* The labels of a counter: none, the protocol, another label, or the protocol and another label. */
struct labels {
    bool by_proto;
    const char *label; /* NULL: no label but the protocol */
    int from, to;
    const char *(*value)(int); /* value of the label for an index (NULL: no more values) */
};

static const char *turned_name(int why) {
    return vs_turned_name[why];
}

static const char *share_name(int kind) {
    return vs_share_name[kind];
}

static const char *header_name(int what) {
    return net_proxy_result_name[what];
}

static const char *shake_name(int what) {
    static const char *const names[NET_SHAKES] = {[NET_SHAKE_OK] = "ok",
                                                  [NET_SHAKE_FAILED] = "failed",
                                                  [NET_SHAKE_LATE] = "late",
                                                  [NET_SHAKE_PLAIN] = "no_tls",
                                                  [NET_SHAKE_MISLED] = "not_here"};
    return names[what];
}

static const char *lease_name(int result) {
    return vs_lease_result_name[result];
}

static const struct labels labels_NONE = {.to = 1}, labels_PROTO = {.by_proto = true, .to = 1},
                           labels_CODE = {true, "code", 0, VS_CODES_MAX, vs_code_name},
                           labels_TURNED = {true, "reason", VS_LET_IN + 1, VS_TURNED_REASONS, turned_name},
                           labels_HEADER = {true, "result", 0, NET_PROXY_RESULTS, header_name},
                           labels_SHAKE = {true, "result", 0, NET_SHAKES, shake_name},
                           labels_SHARE = {false, "share", VS_SHARE_NONE + 1, VS_SHARES, share_name},
                           labels_LEASE = {false, "result", 0, VS_LEASE_RESULTS, lease_name};

/* Writes the samples of a counter.  `of` is the address of its first element in the first loop's counts. */
static void metrics_put_counts(struct vs_metrics *m, const vs_count *of, const struct labels *l) {
    for (int protocol = 0; protocol < (l->by_proto ? VS_PROTOCOLS : 1); protocol++)
        for (int i = l->from; i < l->to && (!l->label || l->value(i)); i++) {
            unsigned long long sum = metrics_total(m, of + protocol * l->to + i);
            const char *proto = vs_protocol_name[protocol];
            if (l->by_proto && l->label)
                vs_metrics_sample(m, "{proto=\"%s\",%s=\"%s\"} %llu", proto, l->label, l->value(i), sum);
            else if (l->by_proto)
                vs_metrics_sample(m, "{proto=\"%s\"} %llu", proto, sum);
            else if (l->label)
                vs_metrics_sample(m, "{%s=\"%s\"} %llu", l->label, l->value(i), sum);
            else
                vs_metrics_sample(m, " %llu", sum);
        }
}

#define COUNT(name, member, labels, ...)                                                                               \
    static void put_##name(struct vs_metrics *m) {                                                                     \
        metrics_put_counts(m, (const vs_count *)&COUNTS(m).member, &labels_##labels);                                          \
    }
#define COUNT_OF_NET COUNT
#define VALUE(name, expression, ...)                                                                                   \
    static void put_##name(struct vs_metrics *m) {                                                                     \
        vs_metrics_sample(m, " %llu", (unsigned long long)(expression));                                               \
    }
#include "server/families.h"

enum kind { COUNTER, GAUGE, HISTOGRAM, SUMMARY };

static const struct family {
    const char *name, *help;
    enum kind kind;
    void (*put)(struct vs_metrics *);
    enum { ALWAYS, OF_POLICIES, OF_SHADOWS, OF_TAGS, OF_CLIENTS, OF_ACCESS } when;
} families[] = {
#define COUNT(name, member, labels, kind, help) {#name, help, kind, put_##name, ALWAYS},
#define COUNT_OF_NET COUNT
#define VALUE(name, expression, kind, when, help) {#name, help, kind, put_##name, when},
#define FAMILY(name, put, kind, when, labels, help) {#name, help, kind, put, when},
#include "server/families.h"
};

/* Writes HELP and TYPE.  In OpenMetrics, the name of a counter family has no suffix _total, but its samples do. */
static void put_head(struct vs_metrics *m, const struct family *family) {
    static const char *const kind_name[] = {"counter", "gauge", "histogram", "summary"};
    size_t length = strlen(family->name);
    if (m->open && family->kind == COUNTER) length -= strlen("_total");
    const char *words[][2] = {{"# HELP ", family->help}, {"# TYPE ", kind_name[family->kind]}};
    for (int i = 0; i < 2; i++) {
        vs_put_text(m->out, words[i][0]);
        vs_put(m->out, family->name, length);
        vs_put(m->out, " ", 1);
        vs_put_text(m->out, words[i][1]);
        vs_put(m->out, i == 0 ? ".\n" : "\n", 1 + (i == 0));
    }
}

static void look_around(struct vs_metrics *m) {
    const struct vs_policies *policies = &m->server->above.policies;
    m->has_policies = policies->status != NULL;
    if (m->has_policies) policies->status(policies->self, &m->policies);
    vs_process_measure(&m->process);
    vs_metrics_look_at_namespaces(m);
}

enum vs_reply_state vs_on_metrics(struct vs_request *r) {
    const struct vs_accept *accept = &r->http->accept;
    struct vs_metrics m = {.out = r->out, .server = r->session->server};
    m.open = accept->given && vs_accept_q(accept, VS_TYPE_OPENMETRICS) > vs_accept_q(accept, VS_TYPE_TEXT);
    look_around(&m);
    vs_metrics_look_at_tags(&m, vs_request_tags(r));
    for (size_t i = 0; i < VS_COUNT(families); i++) {
        if (families[i].when == OF_POLICIES && !m.has_policies) continue;
        if (families[i].when == OF_SHADOWS && !m.policies.shadow.any) continue;
        if (families[i].when == OF_CLIENTS && !has_clients(&m)) continue;
        if (families[i].when == OF_ACCESS && !m.server->monitor.access) continue;
        if (families[i].when == OF_TAGS && !m.has_tags) continue;
        m.name = families[i].name;
        put_head(&m, &families[i]);
        families[i].put(&m);
    }
    if (m.open) vs_put_text(m.out, "# EOF\n");
    r->type = m.open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                     : "text/plain; version=0.0.4; charset=utf-8";
    return VS_ANSWERED;
}
