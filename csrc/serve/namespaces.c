/* namespaces.c -- opens, names and logs the namespaces of a server.  Contains no socket code and starts no threads. */
#include "base/error.h"
#include "command/options.h"
#include "id/id.h"
#include "keeper/file.h"
#include "mask/uuid47.h"
#include "serve/serving.h"
#include "os/clock.h"
#include "store/lineage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens the generator of a namespace for a protocol.  Both protocols use the same `method` value unless the config sets
 * by_protocol.  With by_protocol each protocol uses its own value, as in Vesta (Java), and the ids of the two protocols
 * do not interleave. */
static int open_gen(struct vesta_opts opts, const struct vesta_layout *layout, enum vs_protocol protocol,
                    struct vs_namespace *ns, struct vesta_error *err) {
    static const char *const methods[VS_ID_PROTOCOLS] = {[VS_RESP] = "1", [VS_HTTP] = "2"};
    uint64_t values[VESTA_FIELDS_MAX];
    int at = vs_method_at(layout);
    if (at >= 0 && opts.method && strcmp(opts.method, VS_METHOD_BY_PROTOCOL) == 0) opts.method = methods[protocol];
    int rc = vs_fields_parse(layout, opts.fields, opts.method, values, err);
    if (rc != VESTA_OK) return rc;
    ns->method[protocol] = at >= 0 ? values[at] : 0;
    return vesta_open(&opts, &ns->gen[protocol], err);
}

static void close_gens(struct vs_namespace *ns) {
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++) {
        vesta_close(ns->gen[protocol]);
        ns->gen[protocol] = NULL;
    }
}

/* Returns whether a generator file of this namespace and exactly this layout exists. */
static bool find_file(const struct vs_conf_namespace *conf, const struct vesta_layout *layout,
                      struct vs_settings *settings, struct vs_anchor *anchor) {
    struct vesta_layout has;
    bool found;
    return vs_settings_look(&conf->opts, settings, NULL) == VESTA_OK && access(settings->path, F_OK) == 0 &&
           vs_anchor_find(settings, false, &found, anchor, NULL) == VESTA_OK && found &&
           vesta_layout_parse(anchor->header.layout, &has, NULL) == VESTA_OK && vs_layout_is_same(&has, layout) &&
           strcmp(anchor->header.namespace_, conf->leased_as) == 0;
}

/* Returns whether the generator file records the proof, which remains valid forever.  If a program itself named the
 * generation, the generator file has no such record. */
static bool is_proved(const struct vs_conf_namespace *conf, const struct vesta_layout *layout) {
    struct vs_settings settings;
    struct vs_anchor anchor;
    return find_file(conf, layout, &settings, &anchor) && anchor.header.is_proved;
}

static void note_proof(const struct vs_conf_namespace *conf, const struct vesta_layout *layout) {
    struct vs_settings settings;
    struct vs_anchor anchor;
    if (find_file(conf, layout, &settings, &anchor) && !anchor.header.is_proved)
        (void)vs_anchor_note_proof(settings.path, &anchor); /* if this fails, the next start asks the store again */
}

static bool is_generation(const struct vs_conf_namespace *conf) {
    return conf->leased_as && strcmp(conf->leased_as, conf->name) != 0;
}

/* Proves that a generation's ids differ from those of earlier generations, because all generations of a namespace issue
 * ids.  The proof needs the store, unless the generator file records it. */
int vs_namespace_prove(const struct vs_conf_namespace *conf, struct vesta_error *err) {
    struct vesta_layout layout;
    if (!is_generation(conf)) return VESTA_OK;
    assert(conf->opts.store && conf->opts.layout); /* checked by the config */
    int rc = vesta_layout_parse(conf->opts.layout, &layout, err);
    if (rc != VESTA_OK) return rc;
    if (is_proved(conf, &layout)) return VESTA_OK;
    const struct vs_lineage lineage = {
        .uri = conf->opts.store, .secret = conf->opts.secret, .name = conf->name, .clock = vs_clock_system()};
    rc = vs_lineage_check(&lineage, vs_generation_of(conf->name, conf->leased_as), &layout, err);
    if (rc == VESTA_OK) note_proof(conf, &layout);
    return rc;
}

/* Stores the layout of a namespace that has ended, so that its ids can still be decoded. */
static void keep_layout(struct vs_namespace *ns, const struct vesta_layout *layout) {
    if (!ns->ended) ns->ended = malloc(sizeof *ns->ended);
    if (!ns->ended) return;
    *ns->ended = *layout;
    ns->layout = ns->ended;
}

/* Returns whether the layout's epoch is in the future.  This may be temporary: a machine without a battery-backed clock
 * starts with a time in the past until its clock is set. */
static bool has_future_epoch(const struct vesta_layout *layout) {
    return !layout->read_only && vs_now_ms() < layout->epoch_ms;
}

/* Opens the generators of a namespace.  If the config has no layout, the layout of the generator file is used.  If the
 * namespace is a generation, the caller must have proved it. */
int vs_namespace_open_gen(struct vs_serving *serving, int i, struct vesta_error *err) {
    struct vs_namespace *ns = &serving->server.names.at[i];
    struct vesta_opts opts = serving->config->ns[i].opts;
    struct vs_header header;
    struct vesta_layout layout;
    opts.any_worker = !opts.has_worker && !opts.store;
    if (vs_policies_wanted(serving)) opts.flags |= VESTA_CHOOSES;
    int rc = opts.layout ? VESTA_OK : vs_anchor_look(&opts, &header, err);
    if (rc == VESTA_OK) rc = vesta_layout_parse(opts.layout ? opts.layout : header.layout, &layout, err);
    if (rc != VESTA_OK) return rc;
    if (ns->mask) rc = vs_mask_fits(&opts, &layout, vs_mask_last(ns->mask), err); /* the file may have another layout */
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS && rc == VESTA_OK; protocol++)
        rc = open_gen(opts, &layout, protocol, ns, err);
    if (rc == VESTA_OK)
        ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
    else
        close_gens(ns);
    if (rc == VESTA_EEPOCH) keep_layout(ns, &layout);
    if (rc == VESTA_ELAYOUT && has_future_epoch(&layout)) rc = err->code = VESTA_EIO;
    if (rc == VESTA_OK && is_generation(&serving->config->ns[i])) note_proof(&serving->config->ns[i], &layout);
    return rc;
}

/* Reads the name of a namespace.  An attached generator file records its name. */
static int read_name(const struct vs_conf_namespace *from, char name[VESTA_NAMESPACE_MAX]) {
    struct vesta_error err;
    struct vs_header header;
    snprintf(name, VESTA_NAMESPACE_MAX, "%.*s", VESTA_NAMESPACE_MAX - 1, from->name);
    if (from->opts.namespace_ || !from->opts.path) return VS_GO;
    if (vs_anchor_look(&from->opts, &header, &err) != VESTA_OK) return vs_report(&err);
    snprintf(name, VESTA_NAMESPACE_MAX, "%.*s", VESTA_NAMESPACE_MAX - 1, header.namespace_);
    return VS_GO;
}

/* Longer than the longest time unit and the renewal of a lease, so that short pauses do not become errors for stock
 * Redis clients, which do not retry.  Shorter than 2 s, the shortest timeout of common clients.  With a policy the wait
 * is short, because the policy decides whether a request waits longer. */
#define WAIT_MS_DEFAULT 1500
#define WAIT_MS_POLICY_DEFAULT 100

static int64_t wait_ms_max_of(const struct vs_conf_namespace *ns) {
    if (ns->wait_ms_max >= 0) return ns->wait_ms_max;
    return ns->policy.name ? WAIT_MS_POLICY_DEFAULT : WAIT_MS_DEFAULT;
}

/* Opens the namespace's mask, if the config has one. */
static int open_mask(struct vs_serving *serving, const struct vs_conf_namespace *from, struct vs_namespace *ns) {
    struct vs_conf_mask conf;
    struct vesta_error err;
    int rc = vs_conf_namespace_mask(from, &conf, &err);
    conf.opts.threads = serving->threads;
    if (rc == VESTA_OK && conf.opts.key_count > 0) rc = vs_mask_open(&conf.opts, &ns->mask, &err);
    explicit_bzero(&conf, sizeof conf);
    if (rc == VESTA_OK && from->mask_uuid_secret_file) {
        uint8_t *key = malloc(VS_UUID47_KEY);
        rc = key ? vs_mask_uuid_key_read(from->mask_uuid_secret_file, key, &err) : vs_fail(&err, VESTA_ENOMEM, "no memory");
        ns->uuid_key = key;
    }
    return rc == VESTA_OK ? VS_GO : (vs_say("namespaces.%s.mask: %s", from->name, err.text), VS_FAILED);
}

int vs_namespaces_prepare(struct vs_serving *serving) {
    struct vs_server *server = &serving->server;
    int rc = VS_GO;
    char name[VESTA_NAMESPACE_MAX];
    if (!vs_namespaces_make(&server->names, serving->config->ns_count) ||
        !vs_crews_make(&serving->crews, serving->config))
        return vs_say("no memory"), VS_FAILED;
    for (int i = 0; i < serving->config->ns_count; i++) {
        const struct vs_conf_namespace *from = &serving->config->ns[i];
        if ((rc = read_name(from, name)) != VS_GO) return rc;
        struct vs_namespace *ns = vs_namespace_add(&server->names, name);
        if ((rc = open_mask(serving, from, ns)) != VS_GO) return rc;
        ns->is_assigned = from->opts.has_worker;
        ns->wait_us_max = wait_ms_max_of(from) * 1000;
        ns->policy_wait_us_max = from->policy_wait_ms_max * 1000;
        access_bucket_set(&ns->rates.of[LEDGER_IDS], (uint64_t)from->rate, 0);
        access_bucket_set(&ns->rates.of[LEDGER_REQUESTS], (uint64_t)from->requests, 0);
        server->rules.has_rates |= from->rate || from->requests;
        vs_namespace_set(ns, VS_NAMESPACE_OPENING, "the server has just started");
    }
    return VS_GO;
}

void vs_namespace_say(const struct vs_server *server, const struct vs_namespace *ns) {
    enum vs_log_level level = ns - server->names.at < vs_told(&server->names) ? VS_LOG_INFO : VS_LOG_DEBUG;
    struct vesta_info info;
    vesta_get_info(ns->gen[VS_RESP], &info);
    if (*info.warning) vs_log(VS_LOG_WARN, info.warning, "namespace", info.namespace_, NULL);
    bool shared = !vs_store_is_local(info.store);
    uint64_t gives = vs_per_second(ns->layout);
    char until[VESTA_ISO_MAX];
    vesta_iso(vesta_layout_end_ms(ns->layout), until);
    vs_log(level, "serving ids", "namespace", info.namespace_, "worker", VS_DIGITS((int64_t)info.worker),
           "ids_per_second", gives <= INT64_MAX ? VS_DIGITS((int64_t)gives) : NULL, "until", until, "number", info.drew_worker && !shared ? "drawn at random by this machine, which keeps it" : NULL, "store",
           shared ? info.store : NULL, NULL);
}

void vs_namespaces_state(const struct vs_serving *serving) {
    const struct vs_server *server = &serving->server;
    vs_segments_state(serving);
    for (int i = 0; i < server->names.count; i++) {
        struct vesta_info info;
        char why[VS_NAMESPACE_WHY_MAX];
        if (!vs_namespace_is_open(&server->names.at[i])) {
            vs_log(VS_LOG_INFO, "state", "namespace", server->names.at[i].name, "not_open",
                   vs_namespace_why(&server->names.at[i], why), NULL);
            continue;
        }
        vesta_get_info(server->names.at[i].gen[VS_RESP], &info);
        vs_log(VS_LOG_INFO, "state", "namespace", info.namespace_, "leased", info.holds_lease ? "yes" : "no", "worker",
               info.holds_lease ? VS_DIGITS((int64_t)info.worker) : NULL, "lease_ms_left",
               info.holds_lease ? VS_DIGITS(info.lease_end_ms - vs_now_ms()) : NULL, "slot", VS_DIGITS(info.slot),
               "slots_used", VS_DIGITS(info.slots_used), "keeper", *info.keeper ? info.keeper : NULL, "path", info.path,
               "connections", VS_DIGITS(ledger_open(server->ledger, VS_PROTOCOLS)), NULL);
    }
}

void vs_namespace_close(struct vs_serving *serving, int i) {
    close_gens(&serving->server.names.at[i]);
}
