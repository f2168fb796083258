/* about.c -- handlers for what Redis clients ask about the server: its commands, its state, its namespaces.  Gives no
 * id.
 */
#include "base/array.h"
#include "base/error.h"
#include "os/process.h"
#include "server/commands.h"
#include "server/rights.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ------------------------------------------------------------------ COMMAND */

static void put_lower(struct vs_out *out, const char *name) {
    char lower[VS_CALL_NAME_MAX];
    vs_resp_bulk(out, lower, vs_call_lower(name, lower));
}

/* What clients make of it: a command that gives ids is sent to no replica, and not twice. */
static void put_flags(struct vs_out *out, unsigned flags) {
    static const struct {
        unsigned bit;
        const char *text;
    } texts[] = {{VS_CALL_GIVES, "write"}, {VS_CALL_STRANGER, "no_auth"}, {VS_CALL_ALONE, "no_multi"}};
    size_t count = 1;
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        count += (flags & texts[i].bit) != 0;
    vs_resp_array(out, count);
    vs_resp_simple(out, "fast");
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        if (flags & texts[i].bit) vs_resp_simple(out, texts[i].text);
}

/* The ten elements of COMMAND INFO: the last four, of which vesta has none, are empty. */
static void about_put_command(struct vs_out *out, const struct vs_call *call) {
    bool has_key = call->flags & (VS_CALL_KEY | VS_CALL_KEYS);
    vs_resp_array(out, 10);
    put_lower(out, call->name);
    vs_resp_int(out, call->args_min == call->args_max ? call->args_min + 1 : -(call->args_min + 1));
    put_flags(out, call->flags);
    vs_resp_int(out, has_key);
    vs_resp_int(out, call->flags & VS_CALL_KEYS ? -1 : has_key);
    vs_resp_int(out, has_key);
    for (int i = 0; i < 4; i++)
        vs_resp_array(out, 0);
}

static void put_docs(struct vs_out *out, const struct vs_call *call) {
    put_lower(out, call->name);
    vs_resp_map(out, 2);
    vs_resp_word(out, "summary"), vs_resp_word(out, call->help);
    vs_resp_word(out, "group"), vs_resp_word(out, "generic");
}

/* The next command of the table, or of the names where there are some; *call is NULL where there is none of a name. */
static bool next_command(const struct vs_request *r, int *i, const struct vs_call **call) {
    if (r->arg_count > 1) {
        if (++*i >= r->arg_count) return false;
        *call = vs_call_named(r->arg[*i]);
        return true;
    }
    while ((*call = vs_call_at((*i)++)))
        if ((*call)->name) return true;
    return false;
}

enum vs_reply_state vs_on_command(struct vs_request *r) {
    struct vs_slice what = vs_arg(r, 0);
    const struct vs_call *call;
    int all = 0, known = 0, names = r->arg_count - 1;
    for (int i = 0; next_command(r, &i, &call); all++)
        known += call != NULL;
    if (names == 0 && vs_slice_is_case(what, "COUNT")) {
        vs_resp_int(r->out, all);
    } else if (names == 0 && vs_slice_is_case(what, "LIST")) {
        vs_resp_array(r->out, (size_t)all);
        for (int i = 0; next_command(r, &i, &call);)
            put_lower(r->out, call->name);
    } else if (vs_slice_is_case(what, "DOCS")) {
        vs_resp_map(r->out, (size_t)known);
        for (int i = 0; next_command(r, &i, &call);)
            if (call) put_docs(r->out, call);
    } else if (!what.at || vs_slice_is_case(what, "INFO")) {
        vs_resp_array(r->out, (size_t)all);
        for (int i = 0; next_command(r, &i, &call);)
            call ? about_put_command(r->out, call) : vs_resp_null_array(r->out);
    } else {
        return vs_refuse(r, "bad_command", "unknown subcommand '%s', or a wrong number of arguments: %s",
                         VS_QUOTE(what.at, what.length), r->call->help);
    }
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ CONFIG */

#define NAME_BYTES_MAX 64 /* of a pattern, and so of a parameter that is not known */

/* What clients and dashboards look at; the rest of Redis' parameters has nothing to do here. */
static const struct {
    const char *name, *value; /* NULL: the limit of connections */
} params[] = {{"appendonly", "no"},
              {"databases", "16"},
              {"maxclients", NULL},
              {"maxmemory", "0"},
              {"maxmemory-policy", "noeviction"},
              {"save", ""}};

/* A pattern with * and ?, in the time of the product of both lengths. */
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

static bool about_is_asked(const struct vs_request *r, const char *name) {
    for (int i = 1; i < r->arg_count; i++)
        if (matches(r->arg[i], name)) return true;
    return false;
}

/* A name that is none of `params`: redis-benchmark wants two elements for whatever it asks. */
static bool is_other(struct vs_slice word) {
    if (memchr(word.at, '*', word.length) || memchr(word.at, '?', word.length)) return false;
    for (size_t i = 0; i < VS_COUNT(params); i++)
        if (matches(word, params[i].name)) return false;
    return true;
}

static void put_param(struct vs_request *r, size_t i) {
    const struct vs_limits *limits = ledger_limits(r->session->server->ledger);
    char digits[16];
    snprintf(digits, sizeof digits, "%d", limits->proto_max[VS_RESP]);
    vs_resp_word(r->out, params[i].name);
    vs_resp_word(r->out, params[i].value ? params[i].value : digits);
}

enum vs_reply_state vs_on_config(struct vs_request *r) {
    bool asked[VS_COUNT(params)];
    size_t count = 0;
    if (!vs_slice_is_case(r->arg[0], "GET"))
        return vs_refuse(r, "bad_command", "unknown subcommand: only CONFIG GET is answered");
    for (int i = 1; i < r->arg_count; i++)
        if (r->arg[i].length > NAME_BYTES_MAX)
            return vs_refuse(r, "too_long", "a pattern has %zu bytes, and at most %d are allowed: shorten it",
                             r->arg[i].length, NAME_BYTES_MAX);
    for (size_t i = 0; i < VS_COUNT(params); i++)
        count += asked[i] = about_is_asked(r, params[i].name);
    for (int i = 1; i < r->arg_count; i++)
        count += is_other(r->arg[i]);
    vs_resp_map(r->out, count);
    for (size_t i = 0; i < VS_COUNT(params); i++)
        if (asked[i]) put_param(r, i);
    for (int i = 1; i < r->arg_count; i++) {
        if (!is_other(r->arg[i])) continue;
        vs_resp_bulk(r->out, r->arg[i].at, r->arg[i].length);
        vs_resp_bulk(r->out, "", 0);
    }
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ INFO */

static void about_put_line(struct vs_out *out, const char *name, uint64_t value) {
    vs_put_text(out, "\r\n");
    vs_put_text(out, name);
    vs_put_text(out, ":");
    vs_put_uint(out, value);
}

static void put_server(struct vs_request *r, struct vs_out *out) {
    const struct vs_server *server = r->session->server;
    int64_t up_s = (server->clock->boot_us(server->clock->self) - server->monitor.started_us) / 1000000;
    vs_put_text(out, "redis_version:" VS_REDIS_VERSION "\r\nredis_mode:standalone\r\nvesta_version:" VESTA_VERSION
                     "\r\narch_bits:64\r\nmultiplexing_api:epoll");
    about_put_line(out, "process_id", (uint64_t)getpid());
    about_put_line(out, "uptime_in_seconds", (uint64_t)up_s);
    about_put_line(out, "uptime_in_days", (uint64_t)(up_s / 86400));
}

static void put_clients(struct vs_request *r, struct vs_out *out) {
    const struct vs_server *server = r->session->server;
    vs_put_text(out, "connected_clients:");
    vs_put_uint(out, (uint64_t)ledger_open(server->ledger, VS_PROTOCOLS));
    about_put_line(out, "maxclients", (uint64_t)ledger_limits(server->ledger)->proto_max[VS_RESP]);
    about_put_line(out, "blocked_clients",
             server->monitor.loop_count ? vs_total(&server->monitor, &server->monitor.counts[0]->waiting) : 0);
    about_put_line(out, "tracking_clients", 0);
}

#define RESIDENT_US 100000 /* to read /proc takes longer than all else that INFO does */

static uint64_t resident_bytes(struct vs_scratch *scratch) {
    struct vs_process_usage usage = {.open_fds = 0};
    if (scratch->resident.at_us != 0 && scratch->now_us - scratch->resident.at_us < RESIDENT_US)
        return scratch->resident.bytes;
    vs_process_measure(&usage);
    scratch->resident.at_us = scratch->now_us;
    return scratch->resident.bytes = usage.resident_bytes;
}

static void put_memory(struct vs_request *r, struct vs_out *out) {
    uint64_t bytes = resident_bytes(r->session->scratch);
    vs_put_text(out, "maxmemory_policy:noeviction");
    about_put_line(out, "used_memory", bytes);
    about_put_line(out, "used_memory_rss", bytes);
    about_put_line(out, "mem_clients_normal", (uint64_t)ledger_bytes_held(r->session->server->ledger));
    about_put_line(out, "maxmemory", 0);
}

static void put_persistence(struct vs_request *r, struct vs_out *out) {
    (void)r;
    vs_put_text(out, "loading:0\r\nrdb_changes_since_last_save:0\r\nrdb_bgsave_in_progress:0\r\naof_enabled:0\r\n"
                     "aof_rewrite_in_progress:0");
}

static uint64_t total_requests(const struct vs_server *server) {
    uint64_t sum = 0;
    for (int code = 0; server->monitor.loop_count && code < VS_CODES_MAX; code++)
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
    vs_put_text(out, "total_connections_received:");
    vs_put_uint(out, atomic_load_explicit(&server->monitor.clients, memory_order_relaxed));
    vs_put_text(out, "\r\ntotal_commands_processed:");
    vs_put_uint(out, total_requests(server));
    about_put_line(out, "rejected_connections", total_turned(server));
}

static void put_replication(struct vs_request *r, struct vs_out *out) {
    (void)r;
    vs_put_text(out, "role:master\r\nconnected_slaves:0");
}

/* Of namespaces, from one up to another. */
static uint64_t about_ids_of(const struct vs_server *server, int from, int to) {
    uint64_t ids = 0;
    for (int i = from; i < to; i++)
        for (int protocol = 0; server->monitor.loop_count && protocol < VS_ID_PROTOCOLS; protocol++)
            ids += vs_total(&server->monitor, &server->monitor.counts[0]->ns[i].ids[protocol]);
    return ids;
}

static void put_ids(struct vs_out *out, const char *name, uint64_t ids) {
    vs_put_text(out, "\r\nvesta_ids_");
    vs_put_text(out, name);
    vs_put_text(out, ":");
    vs_put_uint(out, ids);
}

static void put_vesta(struct vs_request *r, struct vs_out *out) {
    struct vs_server *server = r->session->server;
    vs_put_text(out, "vesta_namespaces:");
    vs_put_uint(out, (uint64_t)server->names.count);
    for (int i = 0; i < vs_told(&server->names); i++)
        put_ids(out, server->names.at[i].name, about_ids_of(server, i, i + 1));
    if (server->names.count > VS_NAMESPACES_TOLD)
        put_ids(out, VS_OTHERS, about_ids_of(server, VS_NAMESPACES_TOLD, server->names.count));
    const struct vs_tag_set *tags = vs_tags_now(&server->tags);
    struct vs_tag_total total = {{0}, 0};
    for (size_t i = 0; tags && i < tags->count; i++)
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            total.given[protocol] += vs_tag_total(&server->monitor, tags->at[i]).given[protocol];
    if (!tags) return;
    about_put_line(out, "vesta_tags", tags->count);
    about_put_line(out, "vesta_tag_numbers", total.given[VS_RESP] + total.given[VS_HTTP]);
}

static const struct {
    const char *name;
    void (*put)(struct vs_request *, struct vs_out *);
} sections[] = {
    {"Server", put_server}, {"Clients", put_clients},         {"Memory", put_memory}, {"Persistence", put_persistence},
    {"Stats", put_stats},   {"Replication", put_replication}, {"Vesta", put_vesta}};

static bool about_is_wanted(const struct vs_request *r, const char *section) {
    for (int i = 0; i < r->arg_count; i++) {
        struct vs_slice word = r->arg[i];
        if (vs_slice_is_case(word, section) || vs_slice_is_case(word, "all") || vs_slice_is_case(word, "default") ||
            vs_slice_is_case(word, "everything"))
            return true;
    }
    return r->arg_count == 0;
}

/* Its length stands in front and is known at the end, so it is written behind where it will be. */
enum vs_reply_state vs_on_info(struct vs_request *r) {
    static const size_t header = sizeof "$12345\r\n";
    struct vs_out text = {.at = r->out->at + r->start + header, .size = VS_REPLY_MAX - 2 * header};
    for (size_t i = 0; i < VS_COUNT(sections); i++) {
        if (!about_is_wanted(r, sections[i].name)) continue;
        if (sections[i].put == put_vesta && !vs_rights_sees_all(r->session)) continue;
        vs_put_text(&text, text.used ? "\r\n# " : "# ");
        vs_put_text(&text, sections[i].name);
        vs_put_text(&text, "\r\n");
        sections[i].put(r, &text);
        vs_put_text(&text, "\r\n");
    }
    char length[16];
    int digits = snprintf(length, sizeof length, "$%zu\r\n", text.used);
    vs_put(r->out, length, (size_t)digits);
    memmove(r->out->at + r->out->used, text.at, text.used);
    r->out->used += text.used;
    vs_put(r->out, "\r\n", 2);
    return VS_ANSWERED;
}

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
    vs_resp_int(r->out, 0);
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ VESTA.INFO, VESTA.LAYOUTS */

static void about_put_namespace(struct vs_request *r, const struct vs_namespace *ns) {
    struct vs_out *out = r->out;
    struct vesta_info info;
    char layout[VESTA_LAYOUT_TEXT_MAX], why[VS_NAMESPACE_WHY_MAX];
    vs_resp_word(out, ns->name);
    if (!vs_namespace_is_open(ns)) {
        vs_resp_map(out, 1);
        bool is_shown = vs_rights_sees_reasons(r->session);
        vs_resp_word(out, "not_open");
        vs_resp_word(out, is_shown ? vs_namespace_why(ns, why) : "the server's log has the reason");
        return;
    }
    vesta_get_info(ns->gen[VS_RESP], &info);
    vesta_layout_text(ns->layout, layout);
    vs_resp_map(out, 3);
    vs_resp_word(out, "layout"), vs_resp_word(out, layout);
    vs_resp_word(out, "pacing"), vs_resp_word(out, info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    vs_resp_word(out, "worker");
    if (info.holds_lease)
        vs_resp_int(out, (int64_t)info.worker);
    else
        vs_resp_null(out);
}

enum vs_reply_state vs_on_vesta_info(struct vs_request *r) {
    const struct vs_server *server = r->session->server;
    const struct vs_tag_set *tags = vs_request_tags(r);
    int others = vs_rights_sees_all(r->session) ? server->names.count - vs_told(&server->names) : 0;
    vs_resp_map(r->out, 2 + (tags != NULL) + (others > 0));
    if (others > 0) vs_resp_word(r->out, "other_namespaces"), vs_resp_int(r->out, others);
    if (tags) vs_resp_word(r->out, "tags"), vs_resp_int(r->out, (int64_t)tags->count);
    vs_resp_word(r->out, "version"), vs_resp_word(r->out, VESTA_VERSION);
    size_t seen = 0;
    for (int i = 0; i < vs_told(&server->names); i++)
        seen += vs_rights_sees(r->session, server->names.at[i].name);
    vs_resp_word(r->out, "namespaces"), vs_resp_map(r->out, seen);
    for (int i = 0; i < vs_told(&server->names); i++)
        if (vs_rights_sees(r->session, server->names.at[i].name)) about_put_namespace(r, &server->names.at[i]);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_layouts(struct vs_request *r) {
    const struct vesta_preset *preset;
    size_t count = 0;
    while (vesta_preset_at((int)count))
        count++;
    vs_resp_map(r->out, count);
    for (int i = 0; (preset = vesta_preset_at(i)); i++)
        vs_resp_word(r->out, preset->name), vs_resp_word(r->out, preset->text);
    return VS_ANSWERED;
}
