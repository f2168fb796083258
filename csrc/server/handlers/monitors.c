/* monitors.c -- handlers of commands that monitoring agents and dashboards send to a Redis server: CONFIG, SLOWLOG,
 * LATENCY, MEMORY, MODULE, CLUSTER, ROLE, TIME, DBSIZE.  Each replies like a Redis server with that feature turned
 * off.  Does not issue ids. */
#include "base/array.h"
#include "base/error.h"
#include "os/process.h"
#include "server/commands.h"

#include <stdio.h>
#include <string.h>

static enum vs_reply_state monitors_put_int(struct vs_request *r, int64_t value) {
    vs_resp_int(r->out, value);
    return VS_ANSWERED;
}

static enum vs_reply_state monitors_put_empty(struct vs_request *r) {
    vs_resp_array(r->out, 0);
    return VS_ANSWERED;
}

static enum vs_reply_state monitors_put_text(struct vs_request *r, const char *text) {
    vs_resp_word(r->out, text);
    return VS_ANSWERED;
}

static bool monitors_is(const struct vs_request *r, const char *name) {
    return vs_slice_is_case(r->arg[0], name);
}

static enum vs_reply_state monitors_unknown(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "unknown subcommand '%s' of %s: use %s",
                     VS_QUOTE(r->arg[0].at, r->arg[0].length), r->call->name, r->call->help);
}

/* ------------------------------------------------------------------ CONFIG */

#define PATTERN_BYTES_MAX 64

static int64_t param_maxclients(const struct vs_server *server) {
    return ledger_limits(server->ledger)->proto_max[VS_RESP];
}

/* Returns the timeout in seconds, rounded up, because 0 means never. */
static int64_t param_timeout(const struct vs_server *server) {
    return (int64_t)((server->rules.idle_ms[VS_RESP] + 999) / 1000);
}

/* The Redis parameters that clients, agents and dashboards read, if this server has a true value for them.  Other
 * parameters are missing in the reply instead of empty, because agents parse many values as numbers. */
static const struct {
    const char *name, *value; /* value NULL: `number` computes the value */
    int64_t (*number)(const struct vs_server *);
} params[] = {{"appendonly", "no", NULL},
              {"cluster-enabled", "no", NULL},
              {"databases", "16", NULL},
              {"latency-monitor-threshold", "0", NULL},
              {"maxclients", NULL, param_maxclients},
              {"maxmemory", "0", NULL},
              {"maxmemory-policy", "noeviction", NULL},
              {"notify-keyspace-events", "", NULL},
              {"save", "", NULL},
              {"slowlog-log-slower-than", "-1", NULL},
              {"slowlog-max-len", "0", NULL},
              {"timeout", NULL, param_timeout}};

/* Matches a pattern with * and ?. Takes at most as many steps as the product of both lengths. */
static bool matches(struct vs_slice pattern, const char *name) {
    const char *at = pattern.at, *end = at + pattern.length, *star = NULL, *again = NULL;
    while (*name) {
        if (at < end && *at == '*') {
            star = ++at, again = name;
        } else if (at < end && (*at == '?' || (*at | 0x20) == *name)) {
            at++, name++;
        } else if (star) {
            at = star, name = ++again;
        } else {
            return false;
        }
    }
    while (at < end && *at == '*')
        at++;
    return at == end;
}

static bool is_param_wanted(const struct vs_request *r, const char *name) {
    for (int i = 1; i < r->arg_count; i++)
        if (matches(r->arg[i], name)) return true;
    return false;
}

static void put_param(struct vs_request *r, size_t i) {
    char digits[24];
    if (params[i].number) snprintf(digits, sizeof digits, "%lld", (long long)params[i].number(r->session->server));
    vs_resp_word(r->out, params[i].name);
    vs_resp_word(r->out, params[i].number ? digits : params[i].value);
}

enum vs_reply_state vs_on_config(struct vs_request *r) {
    size_t count = 0;
    if (!monitors_is(r, "GET") || r->arg_count < 2)
        return vs_refuse(r, "bad_command",
                         "CONFIG %s is rejected, because only CONFIG GET pattern... is supported.  To change a "
                         "setting, change the config or the options of the server",
                         VS_QUOTE(r->arg[0].at, r->arg[0].length));
    for (int i = 1; i < r->arg_count; i++)
        if (r->arg[i].length > PATTERN_BYTES_MAX)
            return vs_refuse(r, "too_long", "a pattern has %zu bytes, and at most %d are allowed: shorten it",
                             r->arg[i].length, PATTERN_BYTES_MAX);
    for (size_t i = 0; i < VS_COUNT(params); i++)
        count += is_param_wanted(r, params[i].name);
    vs_resp_map(r->out, count);
    for (size_t i = 0; i < VS_COUNT(params); i++)
        if (is_param_wanted(r, params[i].name)) put_param(r, i);
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ features that are off */

/* There is no slow log, because /metrics contains the durations of requests. */
enum vs_reply_state vs_on_slowlog(struct vs_request *r) {
    if (monitors_is(r, "GET") && r->arg_count <= 2) return monitors_put_empty(r);
    if (monitors_is(r, "LEN") && r->arg_count == 1) return monitors_put_int(r, 0);
    if (!monitors_is(r, "RESET") || r->arg_count > 1) return monitors_unknown(r);
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_latency(struct vs_request *r) {
    if (monitors_is(r, "LATEST") || monitors_is(r, "HISTORY")) return monitors_put_empty(r);
    if (monitors_is(r, "RESET")) return monitors_put_int(r, 0);
    if (monitors_is(r, "HISTOGRAM")) return vs_resp_map(r->out, 0), VS_ANSWERED;
    if (!monitors_is(r, "DOCTOR")) return monitors_unknown(r);
    return monitors_put_text(r, "vesta records no latency events. The metric vesta_request_duration_seconds has the times "
                                "of requests.");
}

static enum vs_reply_state put_memory_stats(struct vs_request *r) {
    struct vs_process_usage usage = {.open_fds = 0};
    vs_process_measure(&usage);
    vs_resp_map(r->out, 5);
    vs_resp_word(r->out, "peak.allocated"), vs_resp_int(r->out, (int64_t)usage.peak_bytes);
    vs_resp_word(r->out, "total.allocated"), vs_resp_int(r->out, (int64_t)usage.resident_bytes);
    vs_resp_word(r->out, "clients.normal"), vs_resp_int(r->out, ledger_bytes_held(r->session->server->ledger));
    vs_resp_word(r->out, "keys.count"), vs_resp_int(r->out, 0);
    vs_resp_word(r->out, "dataset.bytes"), vs_resp_int(r->out, 0);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_memory(struct vs_request *r) {
    if (monitors_is(r, "STATS")) return put_memory_stats(r);
    if (monitors_is(r, "USAGE")) return vs_refuse(r, "bad_command", "vesta does not store data");
    if (!monitors_is(r, "DOCTOR")) return monitors_unknown(r);
    return monitors_put_text(r, "vesta does not store data. INFO memory has the memory of the server.");
}

enum vs_reply_state vs_on_module(struct vs_request *r) {
    return monitors_is(r, "LIST") && r->arg_count == 1 ? monitors_put_empty(r) : monitors_unknown(r);
}

/* Replies with the error text of Redis, which clients recognize. */
enum vs_reply_state vs_on_cluster(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "This instance has cluster support disabled");
}

enum vs_reply_state vs_on_role(struct vs_request *r) {
    vs_resp_array(r->out, 3);
    vs_resp_word(r->out, "master");
    vs_resp_int(r->out, 0);
    vs_resp_array(r->out, 0);
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ times and sizes */

enum vs_reply_state vs_on_time(struct vs_request *r) {
    const struct vesta_clock *clock = r->session->server->clock;
    int64_t us = clock->unix_us(clock->self);
    char text[24];
    vs_resp_array(r->out, 2);
    vs_resp_bulk(r->out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)(us / 1000000)));
    vs_resp_bulk(r->out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)(us % 1000000)));
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_dbsize(struct vs_request *r) {
    return monitors_put_int(r, 0);
}
