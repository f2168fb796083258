/* info.c -- the handlers of INFO and LASTSAVE: the state of the server, under the names of Redis that monitoring agents
 * use.  Does not issue ids.
 *
 * Every value is true for this server.  Values about data, replicas and files are 0, or what Redis reports before it
 * has saved for the first time.  docs/redis.md lists the names that are missing. */
#include "base/array.h"
#include "os/process.h"
#include "server/commands.h"
#include "server/rights.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void info_put_text(struct vs_out *out, const char *name, const char *value) {
    vs_put_text(out, name);
    vs_put_text(out, ":");
    vs_put_text(out, value);
    vs_put_text(out, "\r\n");
}

static void info_put_uint(struct vs_out *out, const char *name, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    info_put_text(out, name, digits);
}

/* Writes a number of bytes in the abbreviated form of Redis, such as "1.50M". */
static void put_human(struct vs_out *out, const char *name, uint64_t bytes) {
    static const char units[] = "BKMGT";
    char text[32];
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < sizeof units - 2)
        value /= 1024, unit++;
    snprintf(text, sizeof text, unit == 0 ? "%.0f%c" : "%.2f%c", value, units[unit]);
    info_put_text(out, name, text);
}

static int64_t up_us(const struct vs_server *server) {
    return server->clock->boot_us(server->clock->self) - server->monitor.started_us;
}

static int64_t started_unix_s(const struct vs_server *server) {
    return (server->clock->unix_us(server->clock->self) - up_us(server)) / 1000000;
}

static void put_server(struct vs_request *r, struct vs_out *out) {
    const struct vs_server *server = r->session->server;
    info_put_text(out, "redis_version", VS_REDIS_VERSION);
    info_put_text(out, "redis_mode", "standalone");
    info_put_text(out, "vesta_version", VESTA_VERSION);
    info_put_text(out, "os", "Linux");
    info_put_text(out, "arch_bits", "64");
    info_put_text(out, "multiplexing_api", "epoll");
    info_put_uint(out, "process_id", (uint64_t)getpid());
    info_put_uint(out, "server_time_usec", (uint64_t)server->clock->unix_us(server->clock->self));
    info_put_uint(out, "uptime_in_seconds", (uint64_t)(up_us(server) / 1000000));
    info_put_uint(out, "uptime_in_days", (uint64_t)(up_us(server) / 1000000 / 86400));
}

static void put_clients(struct vs_request *r, struct vs_out *out) {
    const struct vs_server *server = r->session->server;
    const struct vs_monitor *monitor = &server->monitor;
    info_put_uint(out, "connected_clients", (uint64_t)ledger_open(server->ledger, VS_PROTOCOLS));
    info_put_uint(out, "cluster_connections", 0);
    info_put_uint(out, "maxclients", (uint64_t)ledger_limits(server->ledger)->proto_max[VS_RESP]);
    info_put_uint(out, "blocked_clients", monitor->loop_count ? vs_total(monitor, &monitor->counts[0]->waiting) : 0);
    info_put_uint(out, "tracking_clients", 0);
    info_put_uint(out, "pubsub_clients", 0);
}

#define USAGE_US 100000 /* cache time of values from /proc, which take longer to read than the rest of INFO */

static const struct vs_process_usage *usage_now(struct vs_scratch *scratch) {
    if (scratch->usage_us != 0 && scratch->now_us - scratch->usage_us < USAGE_US) return &scratch->usage;
    if (vs_process_measure(&scratch->usage) == 0) scratch->usage_us = scratch->now_us;
    return &scratch->usage;
}

static void put_memory(struct vs_request *r, struct vs_out *out) {
    const struct vs_process_usage *usage = usage_now(r->session->scratch);
    info_put_uint(out, "used_memory", usage->resident_bytes);
    put_human(out, "used_memory_human", usage->resident_bytes);
    info_put_uint(out, "used_memory_rss", usage->resident_bytes);
    put_human(out, "used_memory_rss_human", usage->resident_bytes);
    info_put_uint(out, "used_memory_peak", usage->peak_bytes);
    put_human(out, "used_memory_peak_human", usage->peak_bytes);
    info_put_uint(out, "used_memory_dataset", 0);
    info_put_uint(out, "total_system_memory", usage->system_bytes);
    put_human(out, "total_system_memory_human", usage->system_bytes);
    info_put_uint(out, "maxmemory", 0);
    info_put_text(out, "maxmemory_human", "0B");
    info_put_text(out, "maxmemory_policy", "noeviction");
    info_put_text(out, "mem_fragmentation_ratio", "1.00");
    info_put_uint(out, "mem_fragmentation_bytes", 0);
    info_put_uint(out, "mem_clients_slaves", 0);
    info_put_uint(out, "mem_clients_normal", (uint64_t)ledger_bytes_held(r->session->server->ledger));
    info_put_text(out, "mem_allocator", "libc");
    info_put_uint(out, "active_defrag_running", 0);
    info_put_uint(out, "lazyfree_pending_objects", 0);
}

/* Writes what Redis writes before its first save: the time of its start, "ok" and -1. */
static void put_persistence(struct vs_request *r, struct vs_out *out) {
    vs_put_text(out, "loading:0\r\nasync_loading:0\r\nrdb_changes_since_last_save:0\r\nrdb_bgsave_in_progress:0\r\n");
    info_put_uint(out, "rdb_last_save_time", (uint64_t)started_unix_s(r->session->server));
    vs_put_text(out, "rdb_last_bgsave_status:ok\r\nrdb_last_bgsave_time_sec:-1\r\nrdb_current_bgsave_time_sec:-1\r\n"
                     "rdb_last_cow_size:0\r\naof_enabled:0\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
                     "aof_last_rewrite_time_sec:-1\r\naof_current_rewrite_time_sec:-1\r\n"
                     "aof_last_bgrewrite_status:ok\r\naof_last_write_status:ok\r\naof_last_cow_size:0\r\n");
}

/* Returns the number of requests over the Redis protocol.  If `failed`, counts only requests that failed. */
static uint64_t total_requests(const struct vs_server *server, bool failed) {
    uint64_t sum = 0;
    for (int code = failed; server->monitor.loop_count && code < VS_CODES_MAX; code++)
        sum += vs_total(&server->monitor, &server->monitor.counts[0]->requests[VS_RESP][code]);
    return sum;
}

static uint64_t total_turned(const struct vs_server *server) {
    uint64_t sum = 0;
    for (int why = 0; server->monitor.loop_count && why < VS_TURNED_REASONS; why++)
        sum += vs_total(&server->monitor, &server->monitor.counts[0]->turned[VS_RESP][why]);
    return sum;
}

static void put_stats(struct vs_request *r, struct vs_out *out) {
    const struct vs_server *server = r->session->server;
    info_put_uint(out, "total_connections_received",
                  atomic_load_explicit(&server->monitor.clients, memory_order_relaxed));
    info_put_uint(out, "total_commands_processed", total_requests(server, false));
    info_put_uint(out, "rejected_connections", total_turned(server));
    vs_put_text(out, "sync_full:0\r\nsync_partial_ok:0\r\nsync_partial_err:0\r\nexpired_keys:0\r\n"
                     "expired_stale_perc:0.00\r\nexpired_time_cap_reached_count:0\r\nevicted_keys:0\r\n"
                     "evicted_clients:0\r\nkeyspace_hits:0\r\nkeyspace_misses:0\r\npubsub_channels:0\r\n"
                     "pubsub_patterns:0\r\nlatest_fork_usec:0\r\ntotal_forks:0\r\nmigrate_cached_sockets:0\r\n"
                     "slave_expires_tracked_keys:0\r\nactive_defrag_hits:0\r\nactive_defrag_misses:0\r\n"
                     "active_defrag_key_hits:0\r\nactive_defrag_key_misses:0\r\n");
    info_put_uint(out, "total_error_replies", total_requests(server, true));
}

static void put_replication(struct vs_request *r, struct vs_out *out) {
    (void)r;
    vs_put_text(out, "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nmaster_repl_offset:0\r\n"
                     "second_repl_offset:-1\r\nrepl_backlog_active:0\r\nrepl_backlog_size:0\r\n"
                     "repl_backlog_first_byte_offset:0\r\nrepl_backlog_histlen:0\r\n");
}

static void put_seconds(struct vs_out *out, const char *name, int64_t us) {
    char text[32];
    snprintf(text, sizeof text, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
    info_put_text(out, name, text);
}

static void info_put_cpu(struct vs_request *r, struct vs_out *out) {
    const struct vs_process_usage *usage = usage_now(r->session->scratch);
    put_seconds(out, "used_cpu_sys", usage->cpu_system_us);
    put_seconds(out, "used_cpu_user", usage->cpu_user_us);
    put_seconds(out, "used_cpu_sys_children", 0);
    put_seconds(out, "used_cpu_user_children", 0);
}

static void put_cluster(struct vs_request *r, struct vs_out *out) {
    (void)r;
    info_put_uint(out, "cluster_enabled", 0);
}

/* For empty sections: Redis writes no line for a database without keys. */
static void info_put_nothing(struct vs_request *r, struct vs_out *out) {
    (void)r, (void)out;
}

/* Returns the number of ids that a namespace issued. */
static uint64_t info_ids_of(const struct vs_server *server, int ns) {
    uint64_t ids = 0;
    for (int protocol = 0; server->monitor.loop_count && protocol < VS_ID_PROTOCOLS; protocol++)
        ids += vs_total(&server->monitor, &server->monitor.counts[0]->ns[ns].ids[protocol]);
    return ids;
}

/* Replaces each colon of the name by an underscore, as Redis does, because a colon separates name and value. */
static void put_ids(struct vs_out *out, const char *name, uint64_t ids) {
    char text[sizeof "vesta_ids_" + VESTA_NAMESPACE_MAX];
    snprintf(text, sizeof text, "vesta_ids_%s", name);
    for (char *c = text; *c; c++)
        if (*c == ':') *c = '_';
    info_put_uint(out, text, ids);
}

/* The counts of masked ids are shown only to clients that may read masked ids. */
static void put_vesta(struct vs_request *r, struct vs_out *out) {
    struct vs_server *server = r->session->server;
    bool unmasks = vs_rights_unmasks(r->session);
    info_put_uint(out, "vesta_namespaces", (uint64_t)server->names.count);
    uint64_t others = 0;
    for (int i = 0; i < server->names.count; i++) {
        if (!unmasks && server->names.at[i].mask) continue;
        if (i < VS_NAMESPACES_TOLD)
            put_ids(out, server->names.at[i].name, info_ids_of(server, i));
        else
            others += info_ids_of(server, i);
    }
    if (server->names.count > VS_NAMESPACES_TOLD) put_ids(out, VS_OTHERS, others);
    const struct vs_tag_set *tags = vs_tags_now(&server->tags);
    struct vs_tag_total total = {{0}, 0};
    for (size_t i = 0; tags && i < tags->count; i++)
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS && (unmasks || !tags->at[i]->mask); protocol++)
            total.given[protocol] += vs_tag_total(&server->monitor, tags->at[i]).given[protocol];
    if (!tags) return;
    info_put_uint(out, "vesta_tags", tags->count);
    info_put_uint(out, "vesta_tag_numbers", total.given[VS_RESP] + total.given[VS_HTTP]);
}

static const struct {
    const char *name;
    void (*put)(struct vs_request *, struct vs_out *);
    bool is_asked_by_name; /* shown only if named: not by `all`, `default` or a plain INFO */
} sections[] = {{"Server", put_server, false},
                {"Clients", put_clients, false},
                {"Memory", put_memory, false},
                {"Persistence", put_persistence, false},
                {"Stats", put_stats, false},
                {"Replication", put_replication, false},
                {"CPU", info_put_cpu, false},
                {"Modules", info_put_nothing, false},
                {"Errorstats", info_put_nothing, false},
                {"Cluster", put_cluster, false},
                {"Keyspace", info_put_nothing, false},
                {"Commandstats", info_put_nothing, true},
                {"Latencystats", info_put_nothing, true},
                {"Vesta", put_vesta, false}};

static bool info_is_wanted(const struct vs_request *r, size_t i) {
    static const char *const groups[] = {"all", "default", "everything"};
    bool is_in_groups = !sections[i].is_asked_by_name;
    if (r->arg_count == 0) return is_in_groups;
    for (int arg = 0; arg < r->arg_count; arg++) {
        if (vs_slice_is_case(r->arg[arg], sections[i].name)) return true;
        for (size_t group = 0; is_in_groups && group < VS_COUNT(groups); group++)
            if (vs_slice_is_case(r->arg[arg], groups[group])) return true;
    }
    return false;
}

/* The length must precede the text, but is only known when the text is complete.  So the text is written a few bytes
 * after its final position and then moved. */
enum vs_reply_state vs_on_info(struct vs_request *r) {
    static const size_t header = sizeof "$12345\r\n";
    struct vs_out text = {.at = r->out->at + r->start + header, .size = VS_REPLY_MAX - 2 * header};
    for (size_t i = 0; i < VS_COUNT(sections); i++) {
        if (!info_is_wanted(r, i) || (sections[i].put == put_vesta && !vs_rights_sees_all(r->session))) continue;
        vs_put_text(&text, text.used ? "\r\n# " : "# ");
        vs_put_text(&text, sections[i].name);
        vs_put_text(&text, "\r\n");
        sections[i].put(r, &text);
    }
    char length[16];
    int digits = snprintf(length, sizeof length, "$%zu\r\n", text.used);
    vs_put(r->out, length, (size_t)digits);
    memmove(r->out->at + r->out->used, text.at, text.used);
    r->out->used += text.used;
    vs_put(r->out, "\r\n", 2);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_lastsave(struct vs_request *r) {
    vs_resp_int(r->out, started_unix_s(r->session->server));
    return VS_ANSWERED;
}
