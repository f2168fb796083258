/* metrics.c -- /metrics: what the loops counted and how things stand, as Prometheus reads it.  Knows no socket.
 *
 * One table of families; docs/metrics.md says what each is for, and a spec holds that page to this table. */
#include "base/array.h"
#include "log/access.h"
#include "os/process.h"
#include "server/handlers/metrics.h"
#include "proto/accept.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/shares/shares.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ lines */

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

static unsigned long long total(const struct vs_metrics *m, const vs_count *of) {
    return vs_total(m->app, of);
}

/* Counts are named by their place in the first loop's. */
#define COUNTS(m) (*(m)->app->counts[0])

/* ------------------------------------------------------------------ clients with names */

static bool has_clients(const struct vs_metrics *m) {
    return m->app->gate && vs_gate_now(m->app->gate);
}

#define EACH_CLIENT(m, i, name)                                                                                        \
    const char *name;                                                                                                  \
    for (int i = 0; i < VS_COUNTED_MAX && (name = vs_gate_counted((m)->app->gate, i)); i++)

static void put_client_requests(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name) {
        vs_metrics_sample(m, "{client=\"%s\",result=\"ok\"} %llu", name,
                          total(m, &COUNTS(m).of_client[i][VS_CLIENT_ANSWERED]));
        vs_metrics_sample(m, "{client=\"%s\",result=\"refused\"} %llu", name,
                          (unsigned long long)vs_total_refused(m->app, i));
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
                          total(m, &COUNTS(m).of_client[i][why]));
}

static void put_client_connections(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name)
    vs_metrics_sample(m, "{client=\"%s\"} %llu", name, total(m, &COUNTS(m).of_client[i][VS_CLIENT_OPEN]));
}

static void put_client_ids(struct vs_metrics *m) {
    EACH_CLIENT(m, i, name)
    vs_metrics_sample(m, "{client=\"%s\"} %llu", name, total(m, &COUNTS(m).of_client[i][VS_CLIENT_IDS]));
}

static void put_secrets(struct vs_metrics *m) {
    static const struct {
        enum vs_proof proof;
        const char *name;
    } results[] = {{VS_PROOF_RIGHT, "right"}, {VS_PROOF_WRONG, "wrong"}, {VS_PROOF_PUT_OFF, "put_off"}};
    for (size_t i = 0; m->app->gate && i < VS_COUNT(results); i++)
        vs_metrics_sample(m, "{result=\"%s\"} %llu", results[i].name,
                          (unsigned long long)vs_gate_proofs(m->app->gate, results[i].proof));
}

/* ------------------------------------------------------------------ requests and connections */

#define EACH_PROTOCOL(protocol) for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)

static void put_requests(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol)
    for (int code = 0; vs_code_name(code); code++)
        vs_metrics_sample(m, "{proto=\"%s\",code=\"%s\"} %llu", vs_protocol_name[protocol], vs_code_name(code),
                          total(m, &COUNTS(m).requests[protocol][code]));
}

static void put_durations(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol) {
        unsigned long long count = 0;
        for (int i = 0; i < VS_DURATIONS_MAX; i++) {
            bool last = i == VS_DURATIONS_MAX - 1;
            count += total(m, &COUNTS(m).durations[protocol][i]);
            vs_metrics_sample(m, "_bucket{proto=\"%s\",le=\"%s\"} %llu", vs_protocol_name[protocol],
                              last ? "+Inf" : SECONDS((int64_t)vs_duration_us[i]), count);
        }
        vs_metrics_sample(m, "_sum{proto=\"%s\"} %s", vs_protocol_name[protocol],
                          SECONDS((int64_t)total(m, &COUNTS(m).duration_us[protocol])));
        vs_metrics_sample(m, "_count{proto=\"%s\"} %llu", vs_protocol_name[protocol], count);
    }
}

static void put_connections(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol) {
        unsigned long long closed = total(m, &COUNTS(m).closed[protocol]); /* first: never more than were accepted */
        vs_metrics_sample(m, "{proto=\"%s\"} %llu", vs_protocol_name[protocol],
                          total(m, &COUNTS(m).accepted[protocol]) - closed);
    }
}

static void put_loops(struct vs_metrics *m) {
    for (int loop = 0; loop < m->app->loop_count; loop++)
        vs_metrics_sample(m, "{loop=\"%d\"} %llu", loop, (unsigned long long)vs_served_by(m->app, loop));
}

static void put_accepted(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol)
    vs_metrics_sample(m, "{proto=\"%s\"} %llu", vs_protocol_name[protocol], total(m, &COUNTS(m).accepted[protocol]));
}

static void put_refused(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol)
    for (int why = VS_LET_IN + 1; why < VS_TURNED_REASONS; why++)
        vs_metrics_sample(m, "{proto=\"%s\",reason=\"%s\"} %llu", vs_protocol_name[protocol], vs_turned_name[why],
                          total(m, &COUNTS(m).turned[protocol][why]));
}

static void put_held(struct vs_metrics *m) {
    for (int kind = VS_SHARE_NONE + 1; kind < VS_SHARES; kind++)
        vs_metrics_sample(m, "{share=\"%s\"} %llu", vs_share_name[kind], total(m, &COUNTS(m).held[kind]));
}

static void put_over(struct vs_metrics *m) {
    for (int kind = VS_SHARE_NONE + 1; kind < VS_SHARES; kind++)
        vs_metrics_sample(m, "{share=\"%s\"} %llu", vs_share_name[kind], total(m, &COUNTS(m).over[kind]));
}

static void put_headers(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol)
    for (int what = 0; what < NET_PROXY_RESULTS; what++)
        vs_metrics_sample(m, "{proto=\"%s\",result=\"%s\"} %llu", vs_protocol_name[protocol],
                          net_proxy_result_name[what], total(m, &COUNTS(m).net.headers[protocol][what]));
}

static void put_limits(struct vs_metrics *m) {
    const struct vs_limits *limits = ledger_limits(m->app->ledger);
    EACH_PROTOCOL(protocol) {
        vs_metrics_sample(m, "{proto=\"%s\",of=\"proto\"} %d", vs_protocol_name[protocol], limits->proto_max[protocol]);
        vs_metrics_sample(m, "{proto=\"%s\",of=\"address\"} %d", vs_protocol_name[protocol],
                          limits->of_address[protocol]);
    }
}

static void put_limit(struct vs_metrics *m) {
    vs_metrics_sample(m, " %d", ledger_limits(m->app->ledger)->connections_max);
}

static void put_rests(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", total(m, &COUNTS(m).net.rests));
}

static void put_shed(struct vs_metrics *m) {
    EACH_PROTOCOL(protocol)
    vs_metrics_sample(m, "{proto=\"%s\"} %llu", vs_protocol_name[protocol], total(m, &COUNTS(m).shed[protocol]));
}

static void put_access_lost(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)vs_access_lost(m->app->access));
}

static void put_memory(struct vs_metrics *m) {
    vs_metrics_sample(m, " %lld", (long long)ledger_memory(m->app->ledger));
}

static void put_memory_max(struct vs_metrics *m) {
    vs_metrics_sample(m, " %lld", (long long)ledger_limits(m->app->ledger)->memory_max);
}

static void put_fds_reserved(struct vs_metrics *m) {
    vs_metrics_sample(m, " %d", ledger_limits(m->app->ledger)->reserved);
}

static void put_waiting(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", total(m, &COUNTS(m).waiting));
}

/* ------------------------------------------------------------------ policies and config */

#define HOOK(m, hook) ((m)->app->policies.hook_name((enum vs_hook)(hook)))

static void put_calls(struct vs_metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            vs_metrics_sample(m, "{hook=\"%s\",result=\"%s\"} %llu", HOOK(m, hook),
                              m->app->policies.result_name((enum vs_call_result)result),
                              (unsigned long long)m->policies.calls[hook][result]);
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
            const char *said = m->app->policies.verdict_name((enum vs_hook)hook, (enum vs_verdict_kind)kind);
            if (said)
                vs_metrics_sample(m, "{hook=\"%s\",decision=\"%s\",outcome=\"%s\"} %llu", HOOK(m, hook), said, outcome,
                                  (unsigned long long)counts[hook][kind]);
        }
}

static void put_shadow(struct vs_metrics *m) {
    struct vs_shadow_counts *shadow = &m->policies.shadow;
    put_shadow_answers(m, "agreed", shadow->agreed);
    put_shadow_answers(m, "differed", shadow->differed);
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int result = VS_CALL_ERROR; result < VS_CALL_RESULTS; result++)
            vs_metrics_sample(m, "{hook=\"%s\",decision=\"%s\",outcome=\"failed\"} %llu", HOOK(m, hook),
                              m->app->policies.result_name((enum vs_call_result)result),
                              (unsigned long long)shadow->failed[hook][result]);
}

static void put_shadow_dropped(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->policies.shadow.dropped);
}

static void put_generation(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->policies.generation);
}

static void put_stuck(struct vs_metrics *m) {
    vs_metrics_sample(m, " %d", m->policies.stuck);
}

static void put_reload_ok(struct vs_metrics *m) {
    vs_metrics_sample(m, " %d", m->policies.reload_ok);
}

static void put_reload_time(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS(m->policies.reload_unix_ms * 1000));
}

/* ------------------------------------------------------------------ the process */

static void put_build(struct vs_metrics *m) {
    vs_metrics_sample(m, "{version=\"" VESTA_VERSION "\",lua=\"%s\"} 1",
                      m->app->policies.lua ? m->app->policies.lua : "");
}

static void put_start(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS(m->process.start_unix_ms * 1000));
}

static void put_cpu(struct vs_metrics *m) {
    vs_metrics_sample(m, " %s", SECONDS((int64_t)m->process.cpu_ms * 1000));
}

static void put_resident(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->process.resident_bytes);
}

static void put_virtual(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->process.virtual_bytes);
}

static void put_fds(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->process.open_fds);
}

static void put_fds_max(struct vs_metrics *m) {
    vs_metrics_sample(m, " %llu", (unsigned long long)m->process.max_fds);
}

/* ------------------------------------------------------------------ the table */

enum kind { COUNTER, GAUGE, HISTOGRAM, SUMMARY };

static const struct family {
    const char *name, *help;
    enum kind kind;
    void (*put)(struct vs_metrics *);
    enum { ALWAYS, OF_POLICIES, OF_SHADOWS, OF_TAGS, OF_CLIENTS, OF_ACCESS } when;
} families[] = {
    {"vesta_namespaces", "Namespaces that are served", GAUGE, vs_put_namespaces, ALWAYS},
    {"vesta_namespaces_unready", "Namespaces of which a request for an id would be refused", GAUGE, vs_put_unready,
     ALWAYS},
    {"vesta_ids_issued_total", "Ids given", COUNTER, vs_put_issued, ALWAYS},
    {"vesta_pauses_total", "Requests that met a pause, by reason", COUNTER, vs_put_pauses, ALWAYS},
    {"vesta_sequence_exhausted_total", "Requests that found the time unit used up", COUNTER, vs_put_exhausted, ALWAYS},
    {"vesta_clock_backwards_total", "Requests that found the clock behind a time already seen", COUNTER,
     vs_put_backwards, ALWAYS},
    {"vesta_clock_drift_seconds", "Drift of the wall clock against uptime since it was last confirmed", GAUGE,
     vs_put_drift, ALWAYS},
    {"vesta_ready", "1 while a request for an id would be served, 0 while it would be refused", GAUGE, vs_put_ready,
     ALWAYS},
    {"vesta_lease_held", "1 while a worker number is leased", GAUGE, vs_put_held, ALWAYS},
    {"vesta_lease_expiry_timestamp_seconds", "Time at which ids end unless the lease is renewed", GAUGE, vs_put_expiry,
     ALWAYS},
    {"vesta_lease_renewals_total", "Renewals, by the store's answer", COUNTER, vs_put_renewals, ALWAYS},
    {"vesta_worker_id", "The leased worker number", GAUGE, vs_put_worker, ALWAYS},
    {"vesta_layout_end_timestamp_seconds", "Time at which the layout's time field ends", GAUGE, vs_put_layout_end,
     ALWAYS},
    {"vesta_tags", "Tags that are served", GAUGE, vs_put_tags, OF_TAGS},
    {"vesta_tags_not_served",
     "Tags of tables that are not served, because something else has the name or there are too many", GAUGE,
     vs_put_tags_passed, OF_TAGS},
    {"vesta_tag_tables_unread", "Tables whose tags could not be read since the start", GAUGE, vs_put_tables_unread,
     OF_TAGS},
    {"vesta_tag_numbers_issued_total", "Numbers given", COUNTER, vs_put_tag_numbers, OF_TAGS},
    {"vesta_tag_pauses_total", "Requests that found no number", COUNTER, vs_put_tag_pauses, OF_TAGS},
    {"vesta_tag_ranges_total", "Ranges that were taken from the databases", COUNTER, vs_put_tag_ranges, OF_TAGS},
    {"vesta_tag_store_errors_total", "Questions for a range that brought none", COUNTER, vs_put_tag_errors, OF_TAGS},
    {"vesta_tag_numbers_left", "Numbers of the ranges that are here", GAUGE, vs_put_tag_left, OF_TAGS},
    {"vesta_tag_step", "Numbers that are taken at a time", GAUGE, vs_put_tag_step, OF_TAGS},
    {"vesta_requests_total", "Requests answered, by the stable code of the answer", COUNTER, put_requests, ALWAYS},
    {"vesta_request_duration_seconds", "Time from reading a request to writing its answer", HISTOGRAM, put_durations,
     ALWAYS},
    {"vesta_client_requests_total", "Requests answered, by the client that asked", COUNTER, put_client_requests,
     OF_CLIENTS},
    {"vesta_client_refused_total", "Requests refused, by the client that asked and why", COUNTER, put_client_refused,
     OF_CLIENTS},
    {"vesta_client_connections", "Connections open, by client", GAUGE, put_client_connections, OF_CLIENTS},
    {"vesta_client_ids_total", "Ids and numbers given, by the client that asked", COUNTER, put_client_ids, OF_CLIENTS},
    {"vesta_secrets_total", "Secrets that were said, by what they turned out to be", COUNTER, put_secrets, ALWAYS},
    {"vesta_connections", "Connections open", GAUGE, put_connections, ALWAYS},
    {"vesta_loop_connections", "Connections that a loop serves", GAUGE, put_loops, ALWAYS},
    {"vesta_connections_accepted_total", "Connections accepted", COUNTER, put_accepted, ALWAYS},
    {"vesta_connections_refused_total", "Connections turned away, by the limit they exceeded", COUNTER, put_refused,
     ALWAYS},
    {"vesta_proxy_headers_total", "PROXY headers of balancers, by what became of them", COUNTER, put_headers, ALWAYS},
    {"vesta_share_waits_total", "Requests that waited for a share, by whose", COUNTER, put_held, ALWAYS},
    {"vesta_share_refusals_total", "Requests refused because a share was used up, by whose", COUNTER, put_over, ALWAYS},
    {"vesta_connections_limit", "Connections that a protocol, or one address at it, may have", GAUGE, put_limits,
     ALWAYS},
    {"vesta_connections_total_limit", "Connections that the HTTP and Redis protocols may have together", GAUGE,
     put_limit, ALWAYS},
    {"vesta_connections_shed_total", "Connections closed because clients held too much memory", COUNTER, put_shed,
     ALWAYS},
    {"vesta_accept_rests_total", "Times that new connections had to wait for a file descriptor", COUNTER, put_rests,
     ALWAYS},
    {"vesta_access_log_lost_total", "Lines of the access log that were lost", COUNTER, put_access_lost, OF_ACCESS},
    {"vesta_tls_handshakes_total", "TLS handshakes, by what became of them", COUNTER, vs_put_tls_handshakes, ALWAYS},
    {"vesta_tls_certificate_expiry_timestamp_seconds", "Time at which the certificate expires", GAUGE, vs_put_tls_expiry,
     ALWAYS},
    {"vesta_client_memory_bytes", "Memory held for clients", GAUGE, put_memory, ALWAYS},
    {"vesta_client_memory_limit_bytes", "Limit of the memory held for clients", GAUGE, put_memory_max, ALWAYS},
    {"vesta_waiting_requests", "Requests that wait for an id", GAUGE, put_waiting, ALWAYS},
    {"vesta_policy_calls_total", "Calls of policies", COUNTER, put_calls, OF_POLICIES},
    {"vesta_policy_duration_seconds", "Time spent in calls of policies", SUMMARY, put_call_durations, OF_POLICIES},
    {"vesta_policy_generation", "Sets of policies that were put into use", GAUGE, put_generation, OF_POLICIES},
    {"vesta_policy_stuck", "1 while a policy is running that cannot be stopped", GAUGE, put_stuck, OF_POLICIES},
    {"vesta_policy_shadow_total", "Answers of policies that are tried and not obeyed", COUNTER, put_shadow, OF_SHADOWS},
    {"vesta_policy_shadow_dropped_total", "Questions that no such policy was asked", COUNTER, put_shadow_dropped,
     OF_SHADOWS},
    {"vesta_config_last_reload_successful", "1 if the last reload succeeded", GAUGE, put_reload_ok, OF_POLICIES},
    {"vesta_config_last_reload_success_timestamp_seconds", "Time of the last successful reload", GAUGE, put_reload_time,
     OF_POLICIES},
    {"vesta_build_info", "The version of vesta and of its Lua", GAUGE, put_build, ALWAYS},
    {"process_start_time_seconds", "Start time of the process", GAUGE, put_start, ALWAYS},
    {"process_cpu_seconds_total", "Processor time used", COUNTER, put_cpu, ALWAYS},
    {"process_resident_memory_bytes", "Resident memory", GAUGE, put_resident, ALWAYS},
    {"process_virtual_memory_bytes", "Virtual memory", GAUGE, put_virtual, ALWAYS},
    {"process_open_fds", "Open file descriptors", GAUGE, put_fds, ALWAYS},
    {"process_max_fds", "Limit of open file descriptors", GAUGE, put_fds_max, ALWAYS},
    {"vesta_reserved_fds", "File descriptors that are reserved, and not for clients", GAUGE, put_fds_reserved, ALWAYS},
};

/* OpenMetrics names a family of counters without the ending of its samples. */
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
    const struct vs_policies *policies = &m->app->policies;
    m->has_policies = policies->status != NULL;
    if (m->has_policies) policies->status(policies->self, &m->policies);
    vs_process_measure(&m->process);
    vs_metrics_look_at_namespaces(m);
}

enum vs_reply_state vs_on_metrics(struct vs_request *r) {
    const struct vs_accept *accept = &r->http->accept;
    struct vs_metrics m = {.out = r->out, .app = r->session->app};
    m.open = accept->given && vs_accept_q(accept, VS_TYPE_OPENMETRICS) > vs_accept_q(accept, VS_TYPE_TEXT);
    look_around(&m);
    vs_metrics_look_at_tags(&m, vs_request_tags(r));
    for (size_t i = 0; i < VS_COUNT(families); i++) {
        if (families[i].when == OF_POLICIES && !m.has_policies) continue;
        if (families[i].when == OF_SHADOWS && !m.policies.shadow.any) continue;
        if (families[i].when == OF_CLIENTS && !has_clients(&m)) continue;
        if (families[i].when == OF_ACCESS && !m.app->access) continue;
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
