/* flags.c -- what `vesta serve` is asked for: flags and a config become one struct vs_serving.  Knows no key's rules,
 * and opens nothing. */
#include "base/array.h"
#include "lease/lease.h"
#include "os/address.h"
#include "os/files.h"
#include "command/options.h"
#include "mapping/mapping.h"
#include "serve/effective.h"
#include "serve/serving.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(VS_GUARDED_MAX >= 2 * VS_NAMESPACES_MAX, "the map of each namespace is guarded, and what comes after it");
_Static_assert(VS_CONF_NAMESPACES_MAX == VS_NAMESPACES_MAX && 3 * VS_CONF_LISTEN_MAX <= VS_LISTENERS_MAX,
               "the server has room for what a config may hold");

/* Flags as they were written: the config's schema judges them, as it judges what stands in a file. */
struct flags {
    const char *http, *resp, *admin, *password_file, *http_idle_ms, *resp_idle_ms, *threads, *user, *level, *format,
        *log_file, *access_log, *policy, *shadow_policy, *policy_env, *wait_ms, *connections, *address_connections,
        *memory_mib, *start_wait_ms, *hosts, *origins, *clients, *proxies, *certificate, *key, *client_ca,
        *client_certificates;
    int open, single_host, no_state, effective, json;
};

/* ------------------------------------------------------------------ reading flags */

static int read_flags(struct vs_serving *serving, struct flags *flags, int *argc, char **argv) {
    struct vesta_opts *const opts = &serving->opts;
    const struct vs_option table[] = {
        {"config", 'c', VS_OPT_TEXT, &serving->conf.path, "FILE", "a config; see vesta help check", 0, 0, NULL},
        VS_TEXT("http", &flags->http, "ADDR",
                "HOST:PORT, [IPv6]:PORT, either with tls: before it, unix:PATH or off (default: 127.0.0.1:8088)"),
        VS_TEXT("http-idle-ms", &flags->http_idle_ms, "MS",
                "how long an HTTP client may be idle before it is disconnected (default: 60000)"),
        VS_TEXT("http-hosts", &flags->hosts, "NAME,...",
                "names with a dot by which browsers and proxies may call the server, or *"),
        VS_TEXT("allow-origins", &flags->origins, "ORIGIN,...",
                "origins whose pages may ask for ids and read them (default: none)"),
        VS_SWITCH("no-http-state", &flags->no_state, "/metrics, /readyz and /version are on --admin alone"),
        VS_TEXT("resp", &flags->resp, "ADDR", "the Redis protocol's address, or off (default: 127.0.0.1:8089)"),
        VS_TEXT("resp-password-file", &flags->password_file, "FILE",
                "the password that Redis clients must give, alone on a line (default: none)"),
        VS_TEXT("resp-idle-ms", &flags->resp_idle_ms, "MS",
                "how long a Redis client may be idle before it is disconnected (default: 300000)"),
        VS_TEXT("admin", &flags->admin, "ADDR", "the address of the admin routes (default: off)"),
        VS_TEXT("tls-certificate", &flags->certificate, "FILE", "the certificate for tls:ADDR, with its chain (default: none)"),
        VS_TEXT("tls-key", &flags->key, "FILE", "its private key (default: none)"),
        VS_TEXT("tls-client-ca", &flags->client_ca, "FILE", "who may sign clients' certificates (default: none)"),
        VS_TEXT("tls-client-certificates", &flags->client_certificates, "off|optional|required", "whether they show one (default: off)"),
        VS_TEXT("clients", &flags->clients, "FILE",
                "who may ask, as `vesta client` writes it (default: nobody has a name)"),
        VS_SWITCH("open", &flags->open, "whoever reaches --http may have ids, also from other machines"),
        VS_TEXT("proxies", &flags->proxies, "NETWORK,...",
                "balancers, whose connections begin with a PROXY protocol v2 header (default: none)"),
        VS_TEXT("connections", &flags->connections, "N",
                "how many connections HTTP and Redis clients may have together (default: 10000)"),
        VS_TEXT("address-connections", &flags->address_connections, "N",
                "how many of them one address may have at each protocol (default: half)"),
        VS_TEXT("memory-mib", &flags->memory_mib, "N", "how much memory clients may hold (default: 128)"),
        VS_TEXT("threads", &flags->threads, "N", "event loops, one per thread (default: 1)"),
        VS_TEXT("wait-ms", &flags->wait_ms, "MS",
                "how long a request may wait for an id (default: 1500; 100 with a policy)"),
        VS_TEXT("start-wait-ms", &flags->start_wait_ms, "MS",
                "how long to wait for a worker number before giving up (default: 0, for ever)"),
        VS_SWITCH("single-host", &flags->single_host, "no other machine gives ids of this namespace"),
        VS_TEXT("policy", &flags->policy, "NAME|FILE",
                "the policy that decides about longer pauses; HUP reloads it (default: none)"),
        VS_TEXT("shadow-policy", &flags->shadow_policy, "NAME|FILE",
                "a policy that is asked, told and not obeyed (default: none)"),
        VS_TEXT("policy-env", &flags->policy_env, "NAME,...",
                "the environment's variables that it may read (default: none)"),
        VS_TEXT("user", &flags->user, "NAME[:GROUP]", "the user to switch to once the addresses are bound"),
        VS_TEXT("log-level", &flags->level, "debug|info|warn|error",
                "the least severe level that is logged (default: info)"),
        VS_TEXT("log-format", &flags->format, "logfmt|json", "how an event is written (default: logfmt)"),
        VS_TEXT("log-file", &flags->log_file, "FILE", "where events go (default: stderr); USR1 reopens it"),
        VS_TEXT("access-log", &flags->access_log, "FILE", "a line for each request goes there (default: none)"),
        VS_GENERATOR_OPTIONS,
        VS_EFFECTIVE(&flags->effective),
        VS_SWITCH("json", &flags->json, "with --effective: JSON objects"),
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}};
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
#define GIVEN(type, member, kind, max, flag, ...) {GIVEN_##kind(member), flag, #member},

/* A config may have several namespaces: flags of one would be a riddle. */
static int refuse_namespace_flags(const struct vesta_opts *opts, const struct flags *flags) {
    const struct {
        bool given;
        const char *flag, *key;
    } rows[] = {VESTA_NAMESPACE_OPTIONS(GIVEN){opts->namespace_, "namespace", NULL},
                {flags->wait_ms, "wait-ms", "wait_ms_max"},
                {flags->policy, "policy", "policy"},
                {flags->shadow_policy, "shadow-policy", "shadow_policy"},
                {flags->policy_env, "policy-env", "policy_env"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        if (rows[i].given)
            return vs_usage("--%s and --config cannot be combined: in the config it is namespaces.NAME%s%s",
                            rows[i].flag, rows[i].key ? "." : "", rows[i].key ? rows[i].key : "");
    return VS_GO;
}

static void add_flag(struct vs_serving *serving, const char *flag, const char *key, const char *text) {
    if (!text) return;
    assert(serving->conf.flag_count < VS_SERVING_FLAGS_MAX);
    serving->conf_flag[serving->conf.flag_count++] = (struct vs_conf_flag){flag, key, text};
}

static int gather_flags(struct vs_serving *serving, const struct flags *flags) {
    const char *password = NULL;
    int rc = VS_GO;
    if (flags->password_file) rc = vs_read_secret("--resp-password-file", flags->password_file, &password);
    serving->password_file = flags->password_file;
    serving->conf.flag = serving->conf_flag;
    serving->conf.opts = &serving->opts;
    add_flag(serving, "--http", "http.listen", flags->http);
    add_flag(serving, "--http-hosts", "http.hosts", flags->hosts);
    add_flag(serving, "--allow-origins", "http.allow_origins", flags->origins);
    add_flag(serving, "--no-http-state", "http.state", flags->no_state ? "false" : NULL);
    add_flag(serving, "--resp", "resp.listen", flags->resp);
    add_flag(serving, "--resp-password-file", "resp.password", password);
    add_flag(serving, "--http-idle-ms", "http.idle_ms_max", flags->http_idle_ms);
    add_flag(serving, "--resp-idle-ms", "resp.idle_ms_max", flags->resp_idle_ms);
    add_flag(serving, "--admin", "admin.listen", flags->admin);
    add_flag(serving, "--tls-certificate", "tls.certificate", flags->certificate);
    add_flag(serving, "--tls-key", "tls.key", flags->key);
    add_flag(serving, "--tls-client-ca", "tls.client_ca", flags->client_ca);
    add_flag(serving, "--tls-client-certificates", "tls.client_certificates", flags->client_certificates);
    add_flag(serving, "--clients", "clients", flags->clients);
    add_flag(serving, "--open", "open", flags->open ? "true" : NULL);
    add_flag(serving, "--proxies", "proxies", flags->proxies);
    add_flag(serving, "--connections", "connections_max", flags->connections);
    add_flag(serving, "--address-connections", "address_connections_max", flags->address_connections);
    add_flag(serving, "--memory-mib", "memory_mib_max", flags->memory_mib);
    add_flag(serving, "--threads", "threads", flags->threads);
    add_flag(serving, "--single-host", "single_host", flags->single_host ? "true" : NULL);
    add_flag(serving, "--start-wait-ms", "start_wait_ms_max", flags->start_wait_ms);
    add_flag(serving, "--user", "user", flags->user);
    add_flag(serving, "--log-level", "log.level", flags->level);
    add_flag(serving, "--log-format", "log.format", flags->format);
    add_flag(serving, "--log-file", "log.file", flags->log_file);
    add_flag(serving, "--access-log", "log.access", flags->access_log);
    add_flag(serving, "--wait-ms", "namespaces.*.wait_ms_max", flags->wait_ms);
    add_flag(serving, "--policy", "namespaces.*.policy", flags->policy);
    add_flag(serving, "--shadow-policy", "namespaces.*.shadow_policy", flags->shadow_policy);
    add_flag(serving, "--policy-env", "namespaces.*.policy_env", flags->policy_env);
    return rc;
}

/* ------------------------------------------------------------------ from the config */

static void listen_at(struct vs_serving *serving, enum vs_protocol protocol, const struct vs_conf_list *list,
                      const char *mode) {
    for (int i = 0; i < list->count; i++)
        serving->listener[serving->listener_count++] = (struct vs_serving_listener){
            .protocol = protocol,
            .address = list->text[i],
            .mode = (unsigned)strtoul(mode, NULL, 8),
            .fd = -1,
            .is_secure = vs_address_is_secure(list->text[i])};
}

/* vs_drop_rights wants NAME:GROUP, and so does --user. */
static void take_user(struct vs_serving *serving, const struct vs_config *config) {
    serving->user = config->user;
    if (!config->group) return;
    snprintf(serving->user_group, sizeof serving->user_group, "%s:%s", config->user ? config->user : "", config->group);
    serving->user = serving->user_group;
}

/* A number that was not given is 0 in the limits. */
static int given(int64_t number) {
    return number > 0 ? (int)number : 0;
}

struct vs_limits vs_limits_of(const struct vs_config *config) {
    return (struct vs_limits){.connections_max = (int)config->connections_max,
                              .proto_max = {[VS_HTTP] = given(config->http_connections_max),
                                            [VS_RESP] = given(config->resp_connections_max),
                                            [VS_ADMIN] = given(config->admin_connections_max)},
                              .address_max = given(config->address_connections_max),
                              .memory_max = config->memory_mib_max << 20,
                              .address_rate = {(uint64_t)config->address_rate, (uint64_t)config->address_requests},
                              .tags = vs_segments_plan(config)};
}

/* Each was looked at when the config was read. */
static void take_proxies(struct vs_serving *serving, const struct vs_conf_list *list) {
    struct vesta_error err;
    for (int i = 0; i < list->count; i++)
        serving->proxy_count += vs_network_read(list->text[i], &serving->proxy[i], &err) == VESTA_OK;
}

static void take_bounds(struct vs_app *app, const struct vs_config *config) {
    const int64_t blocks[VS_ID_PROTOCOLS] = {[VS_HTTP] = config->http_blocks_max, [VS_RESP] = config->resp_blocks_max};
    app->n_max[VS_HTTP] = (uint64_t)config->http_n_max;
    app->n_max[VS_RESP] = (uint64_t)config->resp_n_max;
    for (int i = 0; i < VS_ID_PROTOCOLS; i++) {
        app->no_blocks[i] = blocks[i] == 0;
        app->blocks_max[i] = blocks[i] > 0 ? (uint64_t)blocks[i] : 0;
    }
}

static void take_config(struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    listen_at(serving, VS_HTTP, &config->http, config->http_socket_mode);
    listen_at(serving, VS_RESP, &config->resp, config->resp_socket_mode);
    listen_at(serving, VS_ADMIN, &config->admin, config->admin_socket_mode);
    take_user(serving, config);
    take_bounds(&serving->app, config);
    serving->app.resp_password = config->resp_password;
    serving->app.admin_token = config->admin_token;
    serving->app.state_is_admins = !config->http_state;
    serving->app.leaf_any_key = config->leaf_any_key;
    serving->app.host = config->hosts.text;
    serving->app.host_count = config->hosts.count;
    serving->app.origin = config->origins.text;
    serving->app.origin_count = config->origins.count;
    take_proxies(serving, &config->proxies);
    serving->http_idle_ms = (uint64_t)config->http_idle_ms_max;
    serving->resp_idle_ms = (uint64_t)config->resp_idle_ms_max;
    serving->auth_ms = (uint64_t)config->resp_auth_ms_max;
    serving->limits = vs_limits_of(config);
    serving->threads = (int)config->threads;
    serving->app.tinyid_token = config->tinyid_tokens.text;
    serving->app.tinyid_token_count = config->tinyid_tokens.count;
    serving->log.level = (enum vs_log_level)config->log_level;
    serving->log.format = (enum vs_log_format)config->log_format;
    serving->log.path = config->log_file;
    serving->access_path = config->log_access;
}

static int read_config(struct vs_serving *serving) {
    struct vesta_error err;
    if (vs_config_read(&serving->conf, &serving->config, &err) != VESTA_OK) {
        if (!serving->conf.path || strncmp(err.text, "--", 2) == 0) return vs_report(&err); /* the caller's words */
        return vs_say("%s", err.text), VS_FAILED;
    }
    return VS_GO;
}

int vs_flags_read(struct vs_serving *serving, int argc, char **argv) {
    struct flags flags = {0};
    serving->opts = (struct vesta_opts)VESTA_OPTS_INIT;
    int rc = read_flags(serving, &flags, &argc, argv);
    if (rc == VS_GO && serving->conf.path) rc = refuse_namespace_flags(&serving->opts, &flags);
    if (rc == VS_GO) rc = gather_flags(serving, &flags);
    if (rc == VS_GO) rc = read_config(serving);
    if (rc == VS_GO && flags.effective) return vs_effective_config(serving->config, &serving->conf, flags.json);
    if (rc == VS_GO) take_config(serving);
    return rc;
}

/* The other commands read it; whoever set it for them may believe that a server does, too. */
static void tell_of_variable(const char *name, const char *flag, const char *said) {
    const char *text = getenv(name);
    if (!said && text && *text)
        vs_log(VS_LOG_WARN, "a server does not read this variable, which is set", "variable", name, "do", flag, NULL);
}

/* The list of processes shows it until the program has blotted it out, and the shell's history for longer. */
static void tell_of_secrets(const struct vs_serving *serving) {
    size_t at;
    struct stat st;
    if (serving->opts.store && vs_store_password(serving->opts.store, &at) > 0)
        vs_log(VS_LOG_WARN, "the store's password was given on the command line, where others may have read it", "do",
               "write it into a file, and secret_file=FILE into the store's URI", NULL);
    const char *others =
        serving->password_file && stat(serving->password_file, &st) == 0 ? vs_open_to_others(&st) : NULL;
    if (others)
        vs_log(VS_LOG_WARN, "others may access the password of Redis clients", "file",
               serving->password_file, "access", others, "do", "chmod o= on it", NULL);
}

void vs_flags_tell(const struct vs_serving *serving) {
    for (int i = 0; i < serving->config->note_count; i++)
        vs_log(VS_LOG_WARN, serving->config->note[i], NULL);
    tell_of_secrets(serving);
    if (serving->conf.path) return; /* a config reads what it likes */
    tell_of_variable("VESTA_CONFIG", "name the config with -c", NULL);
    tell_of_variable("VESTA_STORE", "name the store with --store, or in a config", serving->opts.store);
    tell_of_variable("VESTA_NAMESPACE", "name it with --namespace, or in a config", serving->opts.namespace_);
}

void vs_flags_free(struct vs_serving *serving) {
    vs_config_free(serving->config);
}
