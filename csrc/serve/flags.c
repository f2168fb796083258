/* flags.c -- reads the flags and the config of `vesta serve` into struct vs_serving.  Contains no rules for keys, and
 * opens nothing. */
#include "base/array.h"
#include "lease/lease.h"
#include "os/address.h"
#include "os/files.h"
#include "command/options.h"
#include "mapping/mapping.h"
#include "os/host.h"
#include "serve/effective.h"
#include "serve/serving.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(VS_GUARDED_MAX >= 2 * VS_NAMESPACES_MAX, "the maps of all namespaces, and others, can be guarded");
_Static_assert(VS_CONF_NAMESPACES_MAX == VS_NAMESPACES_MAX && 3 * VS_CONF_LISTEN_MAX <= VS_LISTENERS_MAX,
               "a server can have as many as a config");

/* ------------------------------------------------------------------ reading flags */

enum flags_kind { FLAG_TEXT, FLAG_SWITCH, FLAG_SECRET };
#define FLAG_WORD FLAG_TEXT
#define FLAG_FIELDS FLAG_TEXT
#define FLAG_INTEGER FLAG_TEXT
#define FLAG_CHOICE FLAG_TEXT
#define FLAG_LIST FLAG_TEXT
#define FLAG_SECRETS FLAG_TEXT
#define FLAG_POLICY FLAG_TEXT
#define FLAG_ROW(kind, flag, key, ...) {FLAG_##kind, flag, "--" flag, key, __VA_ARGS__},

/* The flags for keys of the config, generated from lua/config/schema.lua.  `says`: the value that a switch sets. */
static const struct flags_row {
    enum flags_kind kind;
    const char *name, *dashed, *key, *value, *help, *says;
} flags_rows[] = {VS_CONF_FLAGS(FLAG_ROW)};

#define FLAGS ((int)VS_COUNT(flags_rows))
_Static_assert(VS_COUNT(flags_rows) <= VS_SERVING_FLAGS_MAX, "a server has room for every flag");

/* Flags as given on the command line.  lua/config checks their values in the same way as values in the file. */
struct flags {
    const char *text[VS_SERVING_FLAGS_MAX];
    int is_on[VS_SERVING_FLAGS_MAX], effective, json;
};

static int flags_parse(struct vs_serving *serving, struct flags *flags, int *argc, char **argv) {
    struct vesta_opts *const opts = &serving->opts;
    const struct vs_option config = {
        "config", 'c', VS_OPT_TEXT, &serving->conf.path, "FILE", "the config file, see `vesta help check`", 0, 0, NULL};
    const struct vs_option rest[] = {VS_GENERATOR_OPTIONS, VS_EFFECTIVE(&flags->effective),
                                     VS_SWITCH("json", &flags->json, "with --effective: print JSON objects")};
    struct vs_option table[VS_OPTIONS_MAX] = {config};
    _Static_assert(1 + VS_COUNT(flags_rows) + VS_COUNT(rest) < VS_OPTIONS_MAX, "the table has room for every option");
    for (int i = 0; i < FLAGS; i++) {
        const struct flags_row *row = &flags_rows[i];
        table[1 + i] = row->kind == FLAG_SWITCH ? (struct vs_option)VS_SWITCH(row->name, &flags->is_on[i], row->help)
                                                : (struct vs_option)VS_TEXT(row->name, &flags->text[i], row->value, row->help);
    }
    memcpy(&table[1 + FLAGS], rest, sizeof rest);
    int rc = vs_options(table, argc, argv);
    if (rc != VS_GO) return rc;
    if (flags->json && !flags->effective) return vs_usage("--json goes with --effective");
    return *argc > 0 ? vs_usage("unexpected operand %s", vs_shown_text(argv[0])) : VS_GO;
}

#define GIVEN_WORKER(member) opts->has_##member
#define GIVEN_TEXT(member) opts->member
#define GIVEN_LAYOUT(member) opts->member
#define GIVEN_PATH(member) opts->member
#define GIVEN_URI(member) opts->member
#define GIVEN_NAME(member) opts->member
#define GIVEN_FIELDS(member) opts->member
#define GIVEN_WORD(member) opts->member
#define GIVEN_CHOICE(member) opts->member
#define GIVEN_AHEAD(member) opts->member
#define GIVEN_SWITCH(member) opts->member
#define GIVEN(type, member, kind, max, flag, ...) {GIVEN_##kind(member), flag, "." #member},

static int flags_refuse_with_config(const char *flag, const char *key) {
    return vs_usage("--%s and --config cannot be combined: in the config it is namespaces.NAME%s", flag, key);
}

/* Rejects flags of a namespace if there is also a config, because a config may have several namespaces. */
static int flags_refuse_namespace(const struct vesta_opts *opts, const struct flags *flags) {
    const struct {
        bool given;
        const char *flag, *key;
    } rows[] = {VESTA_NAMESPACE_OPTIONS(GIVEN){opts->namespace_, "namespace", ""}};
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        if (rows[i].given) return flags_refuse_with_config(rows[i].flag, rows[i].key);
    for (int i = 0; i < FLAGS; i++) {
        const char *star = strchr(flags_rows[i].key, '*');
        if (flags->text[i] && star) return flags_refuse_with_config(flags_rows[i].name, star + 1);
    }
    return VS_GO;
}

static int flags_gather(struct vs_serving *serving, const struct flags *flags) {
    int rc = VS_GO;
    serving->conf.flag = serving->conf_flag;
    serving->conf.opts = &serving->opts;
    for (int i = 0; rc == VS_GO && i < FLAGS; i++) {
        const struct flags_row *row = &flags_rows[i];
        const char *text = flags->is_on[i] ? row->says : flags->text[i];
        if (!text) continue;
        if (row->kind == FLAG_SECRET) {
            serving->password_file = text;
            rc = vs_read_secret(row->dashed, text, &text);
        }
        serving->conf_flag[serving->conf.flag_count++] = (struct vs_conf_flag){row->dashed, row->key, text};
    }
    return rc;
}

/* ------------------------------------------------------------------ from the config */

static void flags_listen_at(struct vs_serving *serving, enum vs_protocol protocol, const struct vs_conf_list *list,
                      const char *mode) {
    for (int i = 0; i < list->count; i++)
        serving->listener[serving->listener_count++] = (struct vs_serving_listener){
            .protocol = protocol,
            .address = list->text[i],
            .written = list->text[i],
            .mode = (unsigned)strtoul(mode, NULL, 8),
            .fd = -1,
            .is_secure = vs_address_is_secure(list->text[i])};
}

/* Joins user and group to NAME:GROUP, the format of --user. */
static void flags_take_user(struct vs_serving *serving, const struct vs_config *config) {
    serving->user = config->user;
    if (!config->group) return;
    snprintf(serving->user_group, sizeof serving->user_group, "%s:%s", config->user ? config->user : "", config->group);
    serving->user = serving->user_group;
}

/* Converts an optional number of the config.  In struct vs_limits, 0 means that the number is not configured. */
static int flags_given(int64_t number) {
    return number > 0 ? (int)number : 0;
}

struct vs_limits vs_limits_of(const struct vs_config *config) {
    return (struct vs_limits){.connections_max = (int)config->connections_max,
                              .proto_max = {[VS_HTTP] = flags_given(config->http_connections_max),
                                            [VS_RESP] = flags_given(config->resp_connections_max),
                                            [VS_ADMIN] = flags_given(config->admin_connections_max)},
                              .address_max = flags_given(config->address_connections_max),
                              .memory_max = config->memory_mib_max << 20,
                              .address_rate = {(uint64_t)config->address_rate, (uint64_t)config->address_requests},
                              .tags = vs_segments_plan(config)};
}

/* Parses the networks, which were checked when the config was read. */
static void flags_take_proxies(struct vs_serving *serving, const struct vs_conf_list *list) {
    struct vesta_error err;
    for (int i = 0; i < list->count; i++)
        serving->proxy_count += vs_network_read(list->text[i], &serving->proxy[i], &err) == VESTA_OK;
}

static void flags_take_bounds(struct vs_server *server, const struct vs_config *config) {
    const int64_t blocks[VS_ID_PROTOCOLS] = {[VS_HTTP] = config->http_blocks_max, [VS_RESP] = config->resp_blocks_max};
    server->rules.n_max[VS_HTTP] = (uint64_t)config->http_n_max;
    server->rules.n_max[VS_RESP] = (uint64_t)config->resp_n_max;
    for (int i = 0; i < VS_ID_PROTOCOLS; i++) {
        server->rules.no_blocks[i] = blocks[i] == 0;
        server->rules.blocks_max[i] = blocks[i] > 0 ? (uint64_t)blocks[i] : 0;
    }
}

static void flags_take_config(struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    flags_listen_at(serving, VS_HTTP, &config->http, config->http_socket_mode);
    flags_listen_at(serving, VS_RESP, &config->resp, config->resp_socket_mode);
    flags_listen_at(serving, VS_ADMIN, &config->admin, config->admin_socket_mode);
    flags_take_user(serving, config);
    flags_take_bounds(&serving->server, config);
    serving->server.rules.resp_password = config->resp_password;
    serving->server.rules.admin_token = config->admin_token;
    serving->server.rules.state_is_admins = !config->http_state;
    serving->server.rules.leaf_any_key = config->leaf_any_key;
    serving->server.rules.host = config->http_hosts.text;
    serving->server.rules.host_count = config->http_hosts.count;
    serving->server.rules.origin = config->http_allow_origins.text;
    serving->server.rules.origin_count = config->http_allow_origins.count;
    flags_take_proxies(serving, &config->proxies);
    uint64_t *idle_ms = serving->server.rules.idle_ms;
    idle_ms[VS_HTTP] = idle_ms[VS_ADMIN] = (uint64_t)config->http_idle_ms_max;
    idle_ms[VS_RESP] = (uint64_t)config->resp_idle_ms_max;
    serving->auth_ms = (uint64_t)config->resp_auth_ms_max;
    serving->limits = vs_limits_of(config);
    serving->threads = (int)config->threads;
    serving->server.rules.tinyid_token = config->tinyid_tokens.text;
    serving->server.rules.tinyid_token_count = config->tinyid_tokens.count;
    serving->log.level = (enum vs_log_level)config->log_level;
    serving->log.format = (enum vs_log_format)config->log_format;
    serving->log.path = config->log_file;
    serving->access_path = config->log_access;
}

static int flags_read_config(struct vs_serving *serving) {
    struct vesta_error err;
    if (vs_config_read(&serving->conf, &serving->config, &err) != VESTA_OK) {
        /* the error is about a flag */
        if (!serving->conf.path || strncmp(err.text, "--", 2) == 0) return vs_report(&err);
        return vs_say("%s", err.text), VS_FAILED;
    }
    return VS_GO;
}

int vs_flags_read(struct vs_serving *serving, int argc, char **argv) {
    struct flags flags = {0};
    serving->opts = (struct vesta_opts)VESTA_OPTS_INIT;
    int rc = flags_parse(serving, &flags, &argc, argv);
    if (rc == VS_GO && serving->conf.path) rc = flags_refuse_namespace(&serving->opts, &flags);
    if (rc == VS_GO) rc = flags_gather(serving, &flags);
    if (rc == VS_GO) rc = flags_read_config(serving);
    if (rc == VS_GO && flags.effective) return vs_effective_config(serving->config, flags.json);
    if (rc == VS_GO) flags_take_config(serving);
    return rc;
}

/* Warns if an environment variable is set that other commands read but a server ignores. */
static void flags_tell_of_variable(const char *name, const char *flag, const char *said) {
    if (!said && vs_environment(name))
        vs_log(VS_LOG_WARN, "a server does not read this environment variable, but it is set", "variable", name, "do",
               flag, NULL);
}

/* Warns about passwords that other users may have read.  A password on the command line is in the process list until
 * the program has overwritten it, and remains in the shell's history. */
static void flags_tell_of_secrets(const struct vs_serving *serving) {
    size_t at;
    struct stat st;
    if (serving->opts.store && vs_store_password(serving->opts.store, &at) > 0)
        vs_log(VS_LOG_WARN, "the store's password is on the command line, where other users may have read it", "do",
               "write it into a file, and secret_file=FILE into the store's URI", NULL);
    const char *others =
        serving->password_file && stat(serving->password_file, &st) == 0 ? vs_open_to_others(&st) : NULL;
    if (others)
        vs_log(VS_LOG_WARN, "other users may access the file of the Redis password", "file",
               serving->password_file, "access", others, "do", "chmod o= on it", NULL);
}

void vs_flags_tell(const struct vs_serving *serving) {
    for (int i = 0; i < serving->config->notes.count; i++)
        vs_log(VS_LOG_WARN, serving->config->notes.text[i], NULL);
    flags_tell_of_secrets(serving);
    if (serving->conf.path) return; /* a config itself chooses the variables that it reads */
    flags_tell_of_variable("VESTA_CONFIG", "name the config with -c", NULL);
    flags_tell_of_variable("VESTA_STORE", "name the store with --store, or in a config", serving->opts.store);
    flags_tell_of_variable("VESTA_NAMESPACE", "name it with --namespace, or in a config", serving->opts.namespace_);
}

void vs_flags_free(struct vs_serving *serving) {
    vs_config_free(serving->config);
}
