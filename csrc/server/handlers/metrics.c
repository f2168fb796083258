/* metrics.c -- /metrics: what the loops counted and how things stand, as Prometheus reads it.  Knows no socket.
 *
 * One table of families; docs/metrics.md says what each is for, and a spec holds that page to this table. */
#include "base/array.h"
#include "os/process.h"
#include "server/http/accept.h"
#include "server/commands.h"
#include "server/problem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 160         /* the longest sample, checked as they are written */
#define LINES_PER_NAMESPACE 23 /* of all families together, as a spec counts them */
#define OTHER_BYTES 25000      /* families without namespaces, and the heads of all */

_Static_assert(VS_NAMESPACES_MAX *LINES_PER_NAMESPACE *LINE_BYTES + OTHER_BYTES <= VS_REPLY_MAX,
               "the metrics fit a reply");

static const char *const renewal_name[] = {"ok", "conflict", "refused", "down", "unknown"}; /* as vesta_info has them */
#define RENEWALS ((int)VS_COUNT(renewal_name))
_Static_assert(sizeof((struct vesta_info){0}.renewals) == RENEWALS * sizeof(uint64_t), "all of them are told");

struct metrics {
    struct vs_out *out;
    const struct vs_app *app;
    const char *name;  /* of the family */
    bool open;         /* OpenMetrics */
    bool has_policies; /* else there are no policies and nothing can be reloaded */
    struct vs_policies_status policies;
    struct vs_process_usage process;
    struct {
        bool ready, held;
        uint64_t worker, renewals[RENEWALS];
        int64_t end_ms, drift_us;
    } ns[VS_NAMESPACES_MAX];
};

/* ------------------------------------------------------------------ lines */

/* One sample: what follows the family's name. */
static void sample(struct metrics *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void sample(struct metrics *m, const char *format, ...) {
    char line[LINE_BYTES];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    assert(length > 0 && strlen(m->name) + (size_t)length < sizeof line);
    vs_put_text(m->out, m->name);
    vs_put(m->out, line, (size_t)length);
    vs_put(m->out, "\n", 1);
}

/* Seconds without a float: a count of microseconds has more digits than a double keeps. */
#define SECONDS_MAX 32
#define SECONDS(us) seconds((char[SECONDS_MAX]){0}, (us))
static const char *seconds(char *buf, int64_t us) {
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    int length = snprintf(buf, SECONDS_MAX, "%s%llu.%06llu", us < 0 ? "-" : "", (unsigned long long)size / 1000000,
                          (unsigned long long)size % 1000000);
    while (buf[length - 1] == '0' && buf[length - 2] != '.')
        buf[--length] = '\0';
    return buf;
}

static unsigned long long total(const struct metrics *m, const vs_count *of) {
    return vs_total(m->app, of);
}

/* Counts are named by their place in the first loop's. */
#define COUNTS(m) (*(m)->app->counts[0])

static const char *const protocol_name[VS_PROTOCOLS] = {[VS_RESP] = "resp", [VS_HTTP] = "http", [VS_ADMIN] = "admin"};

/* ------------------------------------------------------------------ namespaces */

#define EACH_NAMESPACE(m, i) for (int i = 0; i < (m)->app->ns_count; i++)
#define NAME(m, i) ((m)->app->ns[i].name)

static void put_ids(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        sample(m, "{namespace=\"%s\",proto=\"%s\"} %llu", NAME(m, i), protocol_name[protocol],
               total(m, &COUNTS(m).ids[i][protocol]));
}

static void put_pauses(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++)
        sample(m, "{namespace=\"%s\",why=\"%s\"} %llu", NAME(m, i), vesta_why_name((enum vesta_why)why),
               total(m, &COUNTS(m).pauses[i][why]));
}

static void put_pauses_of(struct metrics *m, enum vesta_why why) {
    EACH_NAMESPACE(m, i)
    sample(m, "{namespace=\"%s\"} %llu", NAME(m, i), total(m, &COUNTS(m).pauses[i][why]));
}

static void put_exhausted(struct metrics *m) {
    put_pauses_of(m, VESTA_FULL);
}

static void put_backwards(struct metrics *m) {
    put_pauses_of(m, VESTA_CLOCK_BACK);
}

static void put_drift(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    sample(m, "{namespace=\"%s\"} %s", NAME(m, i), SECONDS(m->ns[i].drift_us));
}

static void put_held(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    sample(m, "{namespace=\"%s\"} %d", NAME(m, i), m->ns[i].held);
}

static void put_ready(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    sample(m, "{namespace=\"%s\"} %d", NAME(m, i), m->ns[i].ready);
}

static void put_worker(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    if (m->ns[i].held) sample(m, "{namespace=\"%s\"} %llu", NAME(m, i), (unsigned long long)m->ns[i].worker);
}

static void put_expiry(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    if (m->ns[i].held) sample(m, "{namespace=\"%s\"} %s", NAME(m, i), SECONDS(m->ns[i].end_ms * 1000));
}

static void put_renewals(struct metrics *m) {
    EACH_NAMESPACE(m, i)
    for (int at = 0; at < RENEWALS; at++)
        sample(m, "{namespace=\"%s\",result=\"%s\"} %llu", NAME(m, i), renewal_name[at],
               (unsigned long long)m->ns[i].renewals[at]);
}

static void put_layout_end(struct metrics *m) {
    EACH_NAMESPACE(m, i) {
        if (!vs_namespace_is_open(&m->app->ns[i])) continue;
        int64_t end_ms = vesta_layout_end_ms(m->app->ns[i].layout);
        sample(m, "{namespace=\"%s\"} %lld", NAME(m, i), (long long)(end_ms / 1000));
    }
}

/* ------------------------------------------------------------------ requests and connections */

#define EACH_PROTOCOL(protocol) for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)

static void put_requests(struct metrics *m) {
    EACH_PROTOCOL(protocol)
    for (int code = 0; vs_code_name(code); code++)
        sample(m, "{proto=\"%s\",code=\"%s\"} %llu", protocol_name[protocol], vs_code_name(code),
               total(m, &COUNTS(m).requests[protocol][code]));
}

static void put_durations(struct metrics *m) {
    EACH_PROTOCOL(protocol) {
        unsigned long long count = 0;
        for (int i = 0; i < VS_DURATIONS_MAX; i++) {
            bool last = i == VS_DURATIONS_MAX - 1;
            count += total(m, &COUNTS(m).durations[protocol][i]);
            sample(m, "_bucket{proto=\"%s\",le=\"%s\"} %llu", protocol_name[protocol],
                   last ? "+Inf" : SECONDS((int64_t)vs_duration_us[i]), count);
        }
        sample(m, "_sum{proto=\"%s\"} %s", protocol_name[protocol],
               SECONDS((int64_t)total(m, &COUNTS(m).duration_us[protocol])));
        sample(m, "_count{proto=\"%s\"} %llu", protocol_name[protocol], count);
    }
}

static void put_connections(struct metrics *m) {
    EACH_PROTOCOL(protocol) {
        unsigned long long closed = total(m, &COUNTS(m).closed[protocol]); /* first: never more than were accepted */
        sample(m, "{proto=\"%s\"} %llu", protocol_name[protocol], total(m, &COUNTS(m).accepted[protocol]) - closed);
    }
}

static void put_accepted(struct metrics *m) {
    EACH_PROTOCOL(protocol)
    sample(m, "{proto=\"%s\"} %llu", protocol_name[protocol], total(m, &COUNTS(m).accepted[protocol]));
}

static void put_refused(struct metrics *m) {
    EACH_PROTOCOL(protocol)
    for (int why = VS_LET_IN + 1; why < VS_TURNED_REASONS; why++)
        sample(m, "{proto=\"%s\",reason=\"%s\"} %llu", protocol_name[protocol], vs_turned_name[why],
               total(m, &COUNTS(m).turned[protocol][why]));
}

static void put_limits(struct metrics *m) {
    const struct vs_limits *limits = vs_budget_limits(m->app->budget);
    EACH_PROTOCOL(protocol) {
        sample(m, "{proto=\"%s\",of=\"proto\"} %d", protocol_name[protocol], limits->proto_max[protocol]);
        sample(m, "{proto=\"%s\",of=\"address\"} %d", protocol_name[protocol], limits->of_address[protocol]);
    }
}

static void put_limit(struct metrics *m) {
    sample(m, " %d", vs_budget_limits(m->app->budget)->connections_max);
}

static void put_rests(struct metrics *m) {
    sample(m, " %llu", total(m, &COUNTS(m).rests));
}

static void put_shed(struct metrics *m) {
    EACH_PROTOCOL(protocol)
    sample(m, "{proto=\"%s\"} %llu", protocol_name[protocol], total(m, &COUNTS(m).shed[protocol]));
}

static void put_memory(struct metrics *m) {
    sample(m, " %lld", (long long)vs_budget_memory(m->app->budget));
}

static void put_memory_max(struct metrics *m) {
    sample(m, " %lld", (long long)vs_budget_limits(m->app->budget)->memory_max);
}

static void put_fds_reserved(struct metrics *m) {
    sample(m, " %d", vs_budget_limits(m->app->budget)->reserved);
}

static void put_waiting(struct metrics *m) {
    sample(m, " %llu", total(m, &COUNTS(m).waiting));
}

/* ------------------------------------------------------------------ policies and config */

#define HOOK(m, hook) ((m)->app->policies.hook_name((enum vs_hook)(hook)))

static void put_calls(struct metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++)
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            sample(m, "{hook=\"%s\",result=\"%s\"} %llu", HOOK(m, hook),
                   m->app->policies.result_name((enum vs_call_result)result),
                   (unsigned long long)m->policies.calls[hook][result]);
}

static void put_call_durations(struct metrics *m) {
    for (int hook = 0; hook < VS_HOOKS; hook++) {
        unsigned long long count = 0;
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            count += m->policies.calls[hook][result];
        sample(m, "_sum{hook=\"%s\"} %s", HOOK(m, hook), SECONDS((int64_t)m->policies.call_us[hook]));
        sample(m, "_count{hook=\"%s\"} %llu", HOOK(m, hook), count);
    }
}

static void put_generation(struct metrics *m) {
    sample(m, " %llu", (unsigned long long)m->policies.generation);
}

static void put_stuck(struct metrics *m) {
    sample(m, " %d", m->policies.stuck);
}

static void put_reload_ok(struct metrics *m) {
    sample(m, " %d", m->policies.reload_ok);
}

static void put_reload_time(struct metrics *m) {
    sample(m, " %s", SECONDS(m->policies.reload_unix_ms * 1000));
}

/* ------------------------------------------------------------------ the process */

static void put_build(struct metrics *m) {
    sample(m, "{version=\"" VESTA_VERSION "\",lua=\"%s\"} 1", m->app->policies.lua ? m->app->policies.lua : "");
}

static void put_start(struct metrics *m) {
    sample(m, " %s", SECONDS(m->process.start_unix_ms * 1000));
}

static void put_cpu(struct metrics *m) {
    sample(m, " %s", SECONDS((int64_t)m->process.cpu_ms * 1000));
}

static void put_resident(struct metrics *m) {
    sample(m, " %llu", (unsigned long long)m->process.resident_bytes);
}

static void put_virtual(struct metrics *m) {
    sample(m, " %llu", (unsigned long long)m->process.virtual_bytes);
}

static void put_fds(struct metrics *m) {
    sample(m, " %llu", (unsigned long long)m->process.open_fds);
}

static void put_fds_max(struct metrics *m) {
    sample(m, " %llu", (unsigned long long)m->process.max_fds);
}

/* ------------------------------------------------------------------ the table */

enum kind { COUNTER, GAUGE, HISTOGRAM, SUMMARY };

static const struct family {
    const char *name, *help;
    enum kind kind;
    void (*put)(struct metrics *);
    bool of_policies;
} families[] = {
    {"vesta_ids_issued_total", "Ids given", COUNTER, put_ids, false},
    {"vesta_pauses_total", "Requests that met a pause, by reason", COUNTER, put_pauses, false},
    {"vesta_sequence_exhausted_total", "Requests that found the time unit used up", COUNTER, put_exhausted, false},
    {"vesta_clock_backwards_total", "Requests that found the clock behind a time already seen", COUNTER, put_backwards,
     false},
    {"vesta_clock_drift_seconds", "Drift of the wall clock against uptime since it was last confirmed", GAUGE,
     put_drift, false},
    {"vesta_ready", "1 while a request for an id would be served, 0 while it would be refused", GAUGE, put_ready,
     false},
    {"vesta_lease_held", "1 while a worker number is leased", GAUGE, put_held, false},
    {"vesta_lease_expiry_timestamp_seconds", "Time at which ids end unless the lease is renewed", GAUGE, put_expiry,
     false},
    {"vesta_lease_renewals_total", "Renewals, by the store's answer", COUNTER, put_renewals, false},
    {"vesta_worker_id", "The leased worker number", GAUGE, put_worker, false},
    {"vesta_layout_end_timestamp_seconds", "Time at which the layout's time field ends", GAUGE, put_layout_end, false},
    {"vesta_requests_total", "Requests answered, by the stable code of the answer", COUNTER, put_requests, false},
    {"vesta_request_duration_seconds", "Time from reading a request to writing its answer", HISTOGRAM, put_durations,
     false},
    {"vesta_connections", "Connections open", GAUGE, put_connections, false},
    {"vesta_connections_accepted_total", "Connections accepted", COUNTER, put_accepted, false},
    {"vesta_connections_refused_total", "Connections turned away, by the limit they exceeded", COUNTER, put_refused,
     false},
    {"vesta_connections_limit", "Connections that a protocol, or one address at it, may have", GAUGE, put_limits,
     false},
    {"vesta_connections_total_limit", "Connections that the HTTP and Redis protocols may have together", GAUGE,
     put_limit, false},
    {"vesta_connections_shed_total", "Connections closed because clients held too much memory", COUNTER, put_shed,
     false},
    {"vesta_accept_rests_total", "Times that new connections had to wait for a file descriptor", COUNTER, put_rests,
     false},
    {"vesta_client_memory_bytes", "Memory held for clients", GAUGE, put_memory, false},
    {"vesta_client_memory_limit_bytes", "Limit of the memory held for clients", GAUGE, put_memory_max, false},
    {"vesta_waiting_requests", "Requests that wait for an id", GAUGE, put_waiting, false},
    {"vesta_policy_calls_total", "Calls of policies", COUNTER, put_calls, true},
    {"vesta_policy_duration_seconds", "Time spent in calls of policies", SUMMARY, put_call_durations, true},
    {"vesta_policy_generation", "Sets of policies that were put into use", GAUGE, put_generation, true},
    {"vesta_policy_stuck", "1 while a policy is running that cannot be stopped", GAUGE, put_stuck, true},
    {"vesta_config_last_reload_successful", "1 if the last reload succeeded", GAUGE, put_reload_ok, true},
    {"vesta_config_last_reload_success_timestamp_seconds", "Time of the last successful reload", GAUGE, put_reload_time,
     true},
    {"vesta_build_info", "The version of vesta and of its Lua", GAUGE, put_build, false},
    {"process_start_time_seconds", "Start time of the process", GAUGE, put_start, false},
    {"process_cpu_seconds_total", "Processor time used", COUNTER, put_cpu, false},
    {"process_resident_memory_bytes", "Resident memory", GAUGE, put_resident, false},
    {"process_virtual_memory_bytes", "Virtual memory", GAUGE, put_virtual, false},
    {"process_open_fds", "Open file descriptors", GAUGE, put_fds, false},
    {"process_max_fds", "Limit of open file descriptors", GAUGE, put_fds_max, false},
    {"vesta_reserved_fds", "File descriptors that are reserved, and not for clients", GAUGE, put_fds_reserved, false},
};

/* OpenMetrics names a family of counters without the ending of its samples. */
static void put_head(struct metrics *m, const struct family *family) {
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

static void look_around(struct metrics *m) {
    const struct vs_policies *policies = &m->app->policies;
    m->has_policies = policies->status != NULL;
    if (m->has_policies) policies->status(policies->self, &m->policies);
    vs_process_measure(&m->process);
    EACH_NAMESPACE(m, i) {
        struct vesta_info info = {.holds_lease = 0};
        if (vs_namespace_is_open(&m->app->ns[i])) vesta_get_info(m->app->ns[i].gen[VS_RESP], &info);
        struct vesta_pause pause;
        m->ns[i].ready = vs_namespace_is_ready(&m->app->ns[i], &pause);
        m->ns[i].held = info.holds_lease;
        m->ns[i].worker = info.worker;
        m->ns[i].end_ms = info.lease_end_ms;
        m->ns[i].drift_us = info.clock_drift_us;
        memcpy(m->ns[i].renewals, &info.renewals, sizeof m->ns[i].renewals);
    }
}

enum vs_reply_state vs_on_metrics(struct vs_request *r) {
    const struct vs_accept *accept = &r->http->accept;
    struct metrics m = {.out = r->out, .app = r->session->app};
    m.open = accept->given && vs_accept_q(accept, VS_TYPE_OPENMETRICS) > vs_accept_q(accept, VS_TYPE_TEXT);
    look_around(&m);
    for (size_t i = 0; i < VS_COUNT(families); i++) {
        if (families[i].of_policies && !m.has_policies) continue;
        m.name = families[i].name;
        put_head(&m, &families[i]);
        families[i].put(&m);
    }
    if (m.open) vs_put_text(m.out, "# EOF\n");
    r->type = m.open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                     : "text/plain; version=0.0.4; charset=utf-8";
    return VS_ANSWERED;
}
