/* status.c -- the state of the server as JSON. */
#include "server/monitor/status.h"
#include "os/host.h"
#include "server/counts.h"
#include "server/monitor/feed.h"
#include "server/monitor/recent.h"
#include "server/problem.h"
#include "server/tags.h"

#include <string.h>
#include <unistd.h>

#define NAMESPACE_BYTES_MAX 5400 /* bytes of one namespace's status */
#define RECENT_END (VS_REPLY_MAX - 128) /* recent events use the remaining room, up to here */
_Static_assert(VS_NAMESPACES_TOLD *NAMESPACE_BYTES_MAX + 5120 <= VS_REPLY_MAX, "the status fits a reply");

/* Writes a number as a string, because most JSON readers round 64-bit numbers. */
static void status_put_wide(struct vs_out *out, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_json_text(out, name, digits);
}

static void status_put_element(struct vs_out *out, int at, uint64_t value) {
    if (at > 0) vs_put(out, ",", 1);
    vs_put_uint(out, value);
}

static void status_put_counts(struct vs_out *out, const struct vs_server *server, int at) {
    const struct vs_counts *first = server->monitor.counts[0];
    vs_json_open(out, "ids", '{');
    vs_json_uint(out, "resp", vs_total(&server->monitor, &first->ns[at].ids[VS_RESP]));
    vs_json_uint(out, "http", vs_total(&server->monitor, &first->ns[at].ids[VS_HTTP]));
    vs_put(out, "}", 1);
    vs_json_open(out, "pauses", '{');
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++)
        vs_json_uint(out, vesta_why_name((enum vesta_why)why), vs_total(&server->monitor, &first->ns[at].pauses[why]));
    vs_put(out, "}", 1);
}

static void put_pause(struct vs_out *out, const struct vs_server *server, const struct vs_namespace *ns) {
    struct vesta_pause pause;
    char text[VS_PAUSE_TEXT_MAX];
    bool ready = vs_namespace_is_ready(server, ns, &pause);
    vs_json_bool(out, "ready", ready);
    if (ready) return;
    if (!vs_namespace_is_open(ns)) {
        char not_open[VS_NAMESPACE_WHY_MAX];
        vs_json_text(out, "why", vs_namespace_has_ended(ns, not_open) ? vesta_why_name(VESTA_END) : "not_open");
        vs_json_text(out, "detail", vs_namespace_why(ns, not_open));
        return;
    }
    vs_namespace_pause_text(server, ns, &pause, text);
    vs_json_text(out, "why", vesta_why_name(pause.why));
    vs_json_text(out, "detail", text);
}

static void put_info(struct vs_out *out, const struct vs_server *server, int at) {
    const struct vs_namespace *ns = &server->names.at[at];
    struct vesta_info info;
    char layout[VESTA_LAYOUT_TEXT_MAX];
    vesta_get_info(ns->gen[VS_RESP], &info);
    vesta_layout_text(ns->layout, layout);
    vs_json_bool(out, "holds_lease", info.holds_lease);
    vs_json_text(out, "layout", layout);
    vs_json_text(out, "pacing", info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    if (info.holds_lease) {
        status_put_wide(out, "worker", info.worker);
        status_put_wide(out, "tick", info.tick);
        status_put_wide(out, "limit", info.limit);
        vs_json_int(out, "lease_end_ms", info.lease_end_ms);
    }
    vs_json_bool(out, "worker_assigned", ns->is_assigned);
    vs_json_uint(out, "capacity_s", vs_namespace_capacity(ns));
    vs_json_uint(out, "leases_of_file", info.slots_used);
    status_put_counts(out, server, at);
    vs_json_text(out, "state", info.state);
    vs_json_int(out, "clock_drift_ms", info.clock_drift_us / 1000);
    vs_json_int(out, "layout_end_ms", vesta_layout_end_ms(ns->layout));
    if (*info.keeper) vs_json_text(out, "keeper", info.keeper);
    if (*info.warning) vs_json_text(out, "warning", info.warning);
}

static void status_put_policy_of(struct vs_out *out, const struct vs_server *server, int at) {
    struct vs_policy_seen seen;
    if (!server->above.policies.look) return;
    server->above.policies.look(server->above.policies.self, at, NULL, &seen);
    if (*seen.policy) vs_json_text(out, "policy", seen.policy);
}

/* Writes the shadow policy, whose verdicts are recorded but not used. */
static void status_put_shadow(struct vs_out *out, const struct vs_server *server, int at) {
    struct vs_shadow_seen seen;
    if (!server->above.policies.shadow) return;
    server->above.policies.shadow(server->above.policies.self, at, &seen);
    if (!*seen.policy) return;
    vs_json_open(out, "shadow", '{');
    vs_json_text(out, "policy", seen.policy);
    vs_json_uint(out, "agreed", seen.agreed);
    vs_json_uint(out, "differed", seen.differed);
    vs_json_uint(out, "failed", seen.failed);
    if (seen.last_unix_ms != 0) {
        vs_json_int(out, "last_unix_ms", seen.last_unix_ms);
        vs_json_text(out, "hook", server->above.policies.hook_name(seen.hook));
        vs_json_text(out, "said", seen.said);
        if (*seen.done) vs_json_text(out, "done", seen.done);
        if (*seen.why) vs_json_text(out, "why", seen.why);
    }
    vs_put(out, "}", 1);
}

static void status_put_namespace(struct vs_out *out, const struct vs_server *server, int at) {
    struct vesta_pause pause;
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "name", server->names.at[at].name);
    put_pause(out, server, &server->names.at[at]);
    if (vs_namespace_is_open(&server->names.at[at])) put_info(out, server, at);
    vs_json_uint(out, "refused", vs_namespace_refused(&server->names.at[at], &pause));
    status_put_policy_of(out, server, at);
    status_put_shadow(out, server, at);
    vs_put(out, "}", 1);
}

static void status_put_calls(struct vs_out *out, const struct vs_server *server, const struct vs_policies_status *policies) {
    vs_json_open(out, "calls", '{');
    for (int hook = 0; hook < VS_HOOKS; hook++) {
        vs_json_open(out, server->above.policies.hook_name((enum vs_hook)hook), '{');
        for (int result = 0; result < VS_CALL_RESULTS; result++)
            if (policies->calls[hook][result])
                vs_json_uint(out, server->above.policies.result_name((enum vs_call_result)result),
                             policies->calls[hook][result]);
        vs_put(out, "}", 1);
    }
    vs_put(out, "}", 1);
}

static void put_policy(struct vs_out *out, const struct vs_server *server) {
    struct vs_policies_status policies;
    if (!server->above.policies.status) return;
    server->above.policies.status(server->above.policies.self, &policies);
    vs_json_open(out, "policies", '{');
    vs_json_uint(out, "generation", policies.generation);
    vs_json_bool(out, "stuck", policies.stuck);
    vs_json_bool(out, "reload_ok", policies.reload_ok);
    vs_json_int(out, "reload_unix_ms", policies.reload_unix_ms);
    vs_json_uint(out, "reloads", policies.reloads);
    if (*policies.reload_result) vs_json_text(out, "reload_result", policies.reload_result);
    status_put_calls(out, server, &policies);
    if (*policies.last_error) {
        vs_json_text(out, "last_error", policies.last_error);
        vs_json_int(out, "last_error_unix_ms", policies.last_error_unix_ms);
    }
    vs_put(out, "}", 1);
}

/* Writes only codes that occurred. */
static void put_requests(struct vs_out *out, const struct vs_server *server) {
    vs_json_open(out, "requests", '{');
    for (int code = 0; vs_code_name(code); code++) {
        uint64_t sum = 0;
        for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
            sum += vs_total(&server->monitor, &server->monitor.counts[0]->requests[protocol][code]);
        if (sum > 0) vs_json_uint(out, vs_code_name(code), sum);
    }
    vs_put(out, "}", 1);
}

/* Writes request counts by duration.  The requests of the i-th count took at most le_us[i] microseconds, and the
 * requests of the last count took longer. */
static void status_put_durations(struct vs_out *out, const struct vs_server *server) {
    const struct vs_counts *first = server->monitor.counts[0];
    vs_json_open(out, "durations", '{');
    vs_json_open(out, "le_us", '[');
    for (int i = 0; i < VS_DURATIONS_MAX - 1; i++)
        status_put_element(out, i, vs_duration_us[i]);
    vs_put(out, "]", 1);
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++) {
        vs_json_open(out, vs_protocol_name[protocol], '[');
        for (int i = 0; i < VS_DURATIONS_MAX; i++)
            status_put_element(out, i, vs_total(&server->monitor, &first->durations[protocol][i]));
        vs_put(out, "]", 1);
    }
    vs_put(out, "}", 1);
}

/* Writes the namespaces whose worker ids clients may lease, and how often they did. */
static void status_put_leases(struct vs_out *out, const struct vs_server *server) {
    const struct vs_leases *leases = &server->leases;
    if (leases->count == 0) return;
    vs_json_open(out, "leases", '{');
    vs_json_open(out, "namespaces", '[');
    for (int i = 0; i < leases->count; i++) {
        if (i > 0) vs_put(out, ",", 1);
        vs_put_json(out, leases->name[i]);
    }
    vs_put(out, "]", 1);
    for (int i = 0; i < VS_LEASE_RESULTS; i++)
        vs_json_uint(out, vs_lease_result_name[i], vs_total(&server->monitor, &server->monitor.counts[0]->leases[i]));
    vs_put(out, "}", 1);
}

/* Writes the host, and the first name in http.hosts or else the name in the certificate. */
static void status_put_names(struct vs_out *out, const struct vs_server *server) {
    char host[256];
    struct vs_tls_status tls = {.name = ""};
    const char *name = NULL;
    vs_host_name(host, sizeof host);
    vs_json_text(out, "host", host);
    for (int i = 0; i < server->rules.host_count && !name; i++)
        if (strcmp(server->rules.host[i], "*") != 0) name = server->rules.host[i];
    if (!name && server->above.tls_status) server->above.tls_status(server->above.tls_self, &tls);
    if (name || *tls.name) vs_json_text(out, "name", name ? name : tls.name);
}

static void put_tls(struct vs_out *out, const struct vs_server *server) {
    struct vs_tls_status tls;
    if (!server->above.tls_status) return;
    server->above.tls_status(server->above.tls_self, &tls);
    vs_json_open(out, "tls", '{');
    vs_json_text(out, "certificate", tls.path);
    vs_json_text(out, "name", tls.name);
    vs_json_int(out, "expires_unix_ms", tls.expires_unix_s * 1000);
    if (*tls.error) vs_json_text(out, "error", tls.error);
    vs_put(out, "}", 1);
}

/* Writes sums of the namespaces after the first VS_NAMESPACES_TOLD. */
static void put_others(struct vs_out *out, const struct vs_server *server) {
    const struct vs_counts *first = server->monitor.counts[0];
    uint64_t ids = 0, refused = 0;
    struct vesta_pause pause;
    for (int i = VS_NAMESPACES_TOLD; i < server->names.count; i++) {
        refused += vs_namespace_refused(&server->names.at[i], &pause);
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            ids += vs_total(&server->monitor, &first->ns[i].ids[protocol]);
    }
    vs_json_open(out, "other_namespaces", '{');
    vs_json_int(out, "count", server->names.count - VS_NAMESPACES_TOLD);
    vs_json_int(out, "unready", vs_others_unready(&server->names));
    vs_json_uint(out, "ids", ids);
    vs_json_uint(out, "refused", refused);
    vs_put(out, "}", 1);
}

void vs_put_status(struct vs_out *out, const struct vs_server *server, int ns, bool draining) {
    size_t begin = out->used;
    vs_put(out, "{", 1);
    vs_json_text(out, "version", VESTA_VERSION);
    status_put_names(out, server);
    vs_json_uint(out, "pid", (uint64_t)getpid());
    vs_json_int(out, "unix_ms", server->clock->unix_us(server->clock->self) / 1000);
    vs_json_int(out, "uptime_s", (server->clock->boot_us(server->clock->self) - server->monitor.started_us) / 1000000);
    vs_json_bool(out, "draining", draining);
    vs_json_int(out, "connections", ledger_open(server->ledger, VS_PROTOCOLS));
    vs_json_int(out, "viewers", vs_feed_viewers(server->monitor.feed));
    vs_json_uint(out, "waiting", vs_total(&server->monitor, &server->monitor.counts[0]->waiting));
    put_requests(out, server);
    status_put_durations(out, server);
    status_put_leases(out, server);
    put_policy(out, server);
    put_tls(out, server);
    if (ns < 0 && server->names.count > VS_NAMESPACES_TOLD) put_others(out, server);
    vs_json_open(out, "namespaces", '[');
    for (int i = 0; ns < 0 && i < vs_told(&server->names); i++)
        status_put_namespace(out, server, i);
    if (ns >= 0) status_put_namespace(out, server, ns);
    vs_put(out, "]", 1);
    vs_recent_put(server->monitor.recent, out, begin + RECENT_END);
    vs_put(out, "}", 1);
}
