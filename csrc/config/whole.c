/* whole.c -- what must hold between the keys of a config, and what is worth a note.  Asks the machine only whether
 * names exist (addresses, groups, users), and that only for notes and addresses. */
#include "os/address.h"
#include "base/array.h"
#include "base/error.h"
#include "id/id.h"
#include "config/schema.h"
#include "keeper/options.h"
#include "number/form.h"
#include "os/clock.h"
#include "store/lineage.h"
#include "store/store.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ stores */

static struct vs_conf_store *find_store(struct vs_config *config, const char *name) {
    for (int i = 0; i < config->store_count; i++)
        if (strcmp(config->store[i].name, name) == 0) return &config->store[i];
    return NULL;
}

static const char *store_names(const struct vs_config *config, char *buf, size_t size) {
    size_t used = (size_t)snprintf(buf, size, config->store_count ? "stores are" : "there are none under stores");
    for (int i = 0; i < config->store_count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "", config->store[i].name);
    return buf;
}
#define STORE_NAMES(config) store_names((config), (char[200]){0}, 200)

/* The key of the store's secret; NULL: it has none. */
static const char *secret_key(const struct vs_conf_store *store) {
    const struct vs_backend *ops = vs_store_of(store->uri, NULL);
    return ops ? ops->secret : NULL;
}

static const char *secret_under(const struct vs_conf_store *store, const char *key) {
    return strcmp(key, "auth") == 0 ? store->auth : store->password;
}

static bool has_secret(const struct vs_backend *ops, const char *key) {
    return ops->secret && strcmp(ops->secret, key) == 0;
}

/* A key of another kind of store is not used. */
static void note_secret(const struct vs_conf_reading *r, const struct vs_conf_store *store, const char *key) {
    char schemes[VS_STORE_LIST_MAX];
    const char *used = secret_key(store);
    if (!vs_store_of(store->uri, NULL)) return; /* its module is missing, and knows which secret it has */
    if (secret_under(store, key) && !(used && strcmp(used, key) == 0))
        vs_conf_add_note(r->config, "stores.%s.%s is for %s stores, and is not used", store->name, key,
                         *vs_store_list(has_secret, key, schemes) ? schemes : "other");
}

static int check_stores(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vesta_error why;
    for (int i = 0; i < r->config->store_count; i++) {
        struct vs_conf_store *store = &r->config->store[i];
        if (!store->uri) return VS_CONF_WRONG(r, "stores.*.uri", store, err, "is missing: %s", VS_STORE_FORMS);
        if (vs_store_of(store->uri, NULL) && vs_store_check(store->uri, &why) != VESTA_OK) /* used or not */
            return VS_CONF_WRONG(r, "stores.*.uri", store, err, "cannot be used: %s", why.text);
        note_secret(r, store, "auth");
        note_secret(r, store, "password");
    }
    return VESTA_OK;
}

/* The URI as it is opened: with what the store's other keys say of the way there. */
static int complete_uri(const struct vs_conf_reading *r, struct vs_conf_store *store, const char **out,
                        struct vesta_error *err) {
    const struct vs_conf_key *tls = vs_conf_key_of("stores.*.tls");
    bool said = *vs_conf_origin(tls, store) != VS_FROM_DEFAULT;
    *out = store->uri;
    const struct vs_backend *ops = vs_store_of(store->uri, NULL);
    if (!said || !ops || !ops->tls) return VESTA_OK;
    if (*ops->tls)
        return store->tls ? VS_CONF_WRONG(r, "stores.*.tls", store, err, "is verify, but %s", ops->tls) : VESTA_OK;
    char *uri;
    int length =
        asprintf(&uri, "%s%stls=%s", store->uri, strchr(store->uri, '?') ? "&" : "?", store->tls ? "verify" : "off");
    *out = length < 0 ? NULL : vs_conf_keep(r->config, uri, (size_t)length);
    if (length >= 0) free(uri);
    return *out ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory for the config");
}

/* What a store knows us by. */
static const char *secret_of(const struct vs_conf_store *store) {
    const char *key = secret_key(store);
    return key ? secret_under(store, key) : NULL;
}

static bool holds_counters(const struct vs_backend *ops, const char *unused) {
    (void)unused;
    return ops->counters != NULL;
}

static bool holds_reservations(const struct vs_backend *ops, const char *unused) {
    (void)unused;
    return ops->counters && ops->counters->reserve;
}

static const char *stores_that(bool (*is)(const struct vs_backend *ops, const char *of), char *buf) {
    return *vs_store_list(is, NULL, buf) ? buf : "none that is installed";
}
#define STORES_THAT(is) stores_that(is, (char[VS_STORE_LIST_MAX]){0})

/* The store that a segment names, as it is opened. */
static int resolve_named(const struct vs_conf_reading *r, struct vs_conf_segment *s, const char *name,
                         struct vesta_error *err) {
    struct vesta_error why;
    const char *path = s->store ? "segments.#.store" : "segments.#.stores";
    struct vs_conf_store *store = find_store(r->config, name);
    if (!store)
        return VS_CONF_WRONG(r, path, s, err, "has '%s', which is not a store; %s", VS_QUOTE(name, strlen(name)),
                             STORE_NAMES(r->config));
    if (complete_uri(r, store, &s->uri[s->uri_count], err) != VESTA_OK) return err->code;
    if (vs_store_check(s->uri[s->uri_count], &why) != VESTA_OK)
        return VS_CONF_WRONG(r, "stores.*.uri", store, err, "cannot be used: %s", why.text);
    if (!holds_counters(vs_store_of(store->uri, NULL), NULL))
        return VS_CONF_WRONG(r, path, s, err, "has '%s', which holds no counters; these do: %s", name,
                             STORES_THAT(holds_counters));
    if (s->order == VS_CONF_DENSE && !holds_reservations(vs_store_of(store->uri, NULL), NULL))
        return VS_CONF_WRONG(r, path, s, err,
                             "has '%s', which holds no reservations, as dense needs them; these do: %s", name,
                             STORES_THAT(holds_reservations));
    s->secret[s->uri_count++] = secret_of(store);
    return VESTA_OK;
}

/* There is nothing else to serve: what keeps this namespace from it is an error of the config. */
static bool is_alone(const struct vs_config *config) {
    return config->ns_count == 1 && config->segment_count == 0;
}

/* A module that is missing, or of another version, is a state of the machine: only its own namespaces are not served. */
static bool lacks_module(const char *uri, struct vesta_error *why) {
    return vs_store_is_known(uri) && !vs_store_of(uri, why);
}

/* The URI of a store that is written as a name, or as a URI. */
static int resolve_store(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, struct vesta_error *err) {
    struct vesta_error why;
    ns->opts.store = ns->store;
    if (!ns->store) return VESTA_OK;
    struct vs_conf_store *store = find_store(r->config, ns->store);
    if (!store && !strchr(ns->store, ':'))
        return VS_CONF_WRONG(r, "namespaces.*.store", ns, err, "is '%s', which is not a store; %s",
                             VS_QUOTE(ns->store, strlen(ns->store)), STORE_NAMES(r->config));
    const struct vs_conf_key *uri = vs_conf_key_of("stores.*.uri");
    if (store && complete_uri(r, store, &ns->opts.store, err) != VESTA_OK) return err->code;
    ns->opts.secret = store ? secret_of(store) : NULL;
    if (!store && uri->check(ns->opts.store, err) != VESTA_OK)
        return vs_conf_blame(r, vs_conf_key_of("namespaces.*.store"), ns, err);
    if (!is_alone(r->config) && lacks_module(ns->opts.store, &why)) {
        vs_conf_add_note(r->config, "namespaces.%s.store cannot be used: %s", ns->name, why.text);
        return VESTA_OK;
    }
    if (vs_store_check(ns->opts.store, &why) == VESTA_OK) return VESTA_OK;
    return store ? VS_CONF_WRONG(r, "stores.*.uri", store, err, "cannot be used: %s", why.text)
                 : VS_CONF_WRONG(r, "namespaces.*.store", ns, err, "cannot be used: %s", why.text);
}

/* ------------------------------------------------------------------ namespaces */

/* An ended layout, or one whose epoch a clock has not reached, is a state of the world that keeps no other namespace from
 * being served. */
static int note_lifetime(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, const struct vesta_layout *layout,
                         struct vesta_error *err) {
    struct vesta_error why;
    char warning[256];
    if (vs_check_lifetime(layout, vs_clock_system(), warning, sizeof warning, &why) != VESTA_OK) {
        if (layout->read_only || is_alone(r->config))
            return VS_CONF_WRONG(r, "namespaces.*.layout", ns, err, "cannot give ids: %s", why.text);
        vs_conf_add_note(r->config, "namespaces.%s.layout cannot give ids: %s", ns->name, why.text);
    } else if (*warning)
        vs_conf_add_note(r->config, "namespaces.%s.layout: %s", ns->name, warning);
    return VESTA_OK;
}

static int check_layout(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, struct vesta_error *err) {
    struct vesta_layout layout;
    struct vesta_error why;
    uint64_t values[VESTA_FIELDS_MAX];
    if (!ns->opts.layout || vesta_layout_parse(ns->opts.layout, &layout, &why) != VESTA_OK) return VESTA_OK;
    int rc = note_lifetime(r, ns, &layout, err);
    if (rc != VESTA_OK) return rc;
    if (ns->opts.has_worker && vs_worker_check(&layout, ns->opts.worker, &why) != VESTA_OK)
        return VS_CONF_WRONG(r, "namespaces.*.worker", ns, err, "does not fit the layout: %s", why.text);
    if (ns->opts.fields && vs_fields_parse(&layout, ns->opts.fields, NULL, values, &why) != VESTA_OK)
        return VS_CONF_WRONG(r, "namespaces.*.fields", ns, err, "does not fit the layout: %s", why.text);
    if (ns->opts.method && vs_fields_parse(&layout, ns->opts.fields, ns->opts.method, values, &why) != VESTA_OK)
        return VS_CONF_WRONG(r, "namespaces.*.method", ns, err, "does not fit the layout: %s", why.text);
    return VESTA_OK;
}

static int check_together(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, struct vesta_error *err) {
    char path[VS_CONF_PATH_MAX];
    struct vesta_error why;
    const char *member;
    if (vs_opts_together(&ns->opts, &member, &why) == VESTA_OK) return VESTA_OK;
    snprintf(path, sizeof path, "namespaces.*.%s", member);
    return VS_CONF_WRONG(r, path, ns, err, "%s", why.text);
}

static int check_generation(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, struct vesta_error *err) {
    unsigned n = vs_generation_of(ns->name, ns->opts.namespace_);
    if (n == 0)
        return VS_CONF_WRONG(r, "namespaces.*.leased_as", ns, err,
                             "is '%s', which must be %s.2 or what else `vesta store relayout` has made", ns->leased_as,
                             ns->name);
    if (n > 1 && !ns->store)
        return VS_CONF_WRONG(r, "namespaces.*.leased_as", ns, err, "needs store beside it, in which %s is",
                             ns->leased_as);
    if (n > 1 && !ns->opts.layout)
        return VS_CONF_WRONG(r, "namespaces.*.leased_as", ns, err, "needs layout beside it, the one that %s has",
                             ns->leased_as);
    return VESTA_OK;
}

static int by_path(const void *a, const void *b) {
    const struct vs_conf_namespace *left = *(void *const *)a, *right = *(void *const *)b;
    int order = strcmp(left->opts.path, right->opts.path);
    return order != 0 ? order : left < right ? -1 : 1;
}

/* No two have the same file. */
static int check_paths(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    struct vs_conf_namespace **with = calloc((size_t)config->ns_count + 1, sizeof *with);
    int count = 0, rc = VESTA_OK;
    if (!with) return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
    for (int i = 0; i < config->ns_count; i++)
        if (config->ns[i].opts.path) with[count++] = &config->ns[i];
    qsort(with, (size_t)count, sizeof *with, by_path);
    for (int i = 1; rc == VESTA_OK && i < count; i++)
        if (strcmp(with[i]->opts.path, with[i - 1]->opts.path) == 0)
            rc = VS_CONF_WRONG(r, "namespaces.*.path", with[i], err,
                               "is the file of namespaces.%s too; each needs its own", with[i - 1]->name);
    free(with);
    return rc;
}

static int check_namespaces(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    if (!r->source.path) return VESTA_OK; /* flags: vesta_open says what is wrong with them */
    int rc = check_paths(r, err);
    for (int i = 0; rc == VESTA_OK && i < config->ns_count; i++) {
        struct vs_conf_namespace *ns = &config->ns[i];
        if (ns->opts.group && !getgrnam(ns->opts.group))
            vs_conf_add_note(config, "namespaces.%s.group: there is no group %s on this machine", ns->name,
                             ns->opts.group);
        ns->opts.size = sizeof ns->opts;
        ns->opts.namespace_ = ns->leased_as ? ns->leased_as : ns->name;
        rc = check_generation(r, ns, err);
        if (rc == VESTA_OK) rc = resolve_store(r, ns, err);
        if (rc == VESTA_OK) rc = check_together(r, ns, err);
        if (rc == VESTA_OK) rc = check_layout(r, ns, err);
    }
    return rc;
}

/* ------------------------------------------------------------------ segments */

/* A name means one thing. */
static int check_tags(const struct vs_conf_reading *r, struct vs_conf_segment *s, struct vesta_error *err) {
    const struct vs_config *config = r->config;
    if (s->tags.count == 0)
        return VS_CONF_WRONG(r, "segments.#.tags", s, err, "is missing: %s", vs_conf_key_of("segments.#.tags")->help);
    if (s->tags.count > 1 && vs_conf_segment_has(s, "*"))
        return VS_CONF_WRONG(r, "segments.#.tags", s, err, "has '*' beside other tags; it means all of them");
    for (int i = 0; i < config->ns_count; i++)
        if (vs_conf_segment_has(s, config->ns[i].name))
            return VS_CONF_WRONG(r, "segments.#.tags", s, err,
                                 "has '%s', which is a namespace too; GET %s would mean two things", config->ns[i].name,
                                 config->ns[i].name);
    for (const struct vs_conf_segment *other = config->segment; other < s; other++)
        for (int t = 0; t < s->tags.count; t++)
            if (!vs_conf_segment_is_any(s) && vs_conf_segment_has(other, s->tags.text[t]))
                return VS_CONF_WRONG(r, "segments.#.tags", s, err,
                                     "has '%s', and so has segments[%s].tags; each tag has one table", s->tags.text[t],
                                     other->name);
    return VESTA_OK;
}

static int check_form(const struct vs_conf_reading *r, struct vs_conf_segment *s, struct vesta_error *err) {
    struct vs_form form = {.period = VS_FORM_NEVER};
    if (s->form && vs_form_parse(s->form, &form, err) != VESTA_OK) return VESTA_EOPTION;
    if (s->zone && form.period == VS_FORM_NEVER)
        return VS_CONF_WRONG(r, "segments.#.zone", s, err,
                             "is set, and there is no form with a day, month or year for it");
    if (s->form && s->order == VS_CONF_DENSE)
        return VS_CONF_WRONG(r, "segments.#.form", s, err,
                             "is not for order dense, whose numbers are reserved in digits");
    if (form.period == VS_FORM_NEVER) return VESTA_OK;
    if (s->order != VS_CONF_STRICT)
        return VS_CONF_WRONG(
            r, "segments.#.form", s, err,
            "has a day, month or year, and needs order = \"strict\": in trend a range is taken long before its "
            "numbers are given, so they would bear a day that is over");
    if (vs_conf_segment_is_any(s))
        return VS_CONF_WRONG(
            r, "segments.#.form", s, err,
            "has a day, month or year, and needs tags by name: their counters are raised with each, and '*' "
            "has those of others too");
    return VESTA_OK;
}

static int check_segment(const struct vs_conf_reading *r, struct vs_conf_segment *s, struct vesta_error *err) {
    int rc = VESTA_OK;
    if (!s->store == !s->stores.count)
        return VS_CONF_WRONG(r, "segments.#.store", s, err, "%s",
                             s->store ? "and stores are both set; only one may be" : "is missing; set it, or stores");
    if (s->store) rc = resolve_named(r, s, s->store, err);
    for (int i = 0; rc == VESTA_OK && i < s->stores.count; i++)
        rc = resolve_named(r, s, s->stores.text[i], err);
    if (rc == VESTA_OK && s->order == VS_CONF_STRICT && s->uri_count > 1)
        return VS_CONF_WRONG(r, "segments.#.stores", s, err,
                             "are several, and strict is of one: two databases agree on no order");
    if (rc == VESTA_OK && s->order == VS_CONF_DENSE && s->uri_count > 1)
        return VS_CONF_WRONG(r, "segments.#.stores", s, err,
                             "are several, and dense is of one: over several there would be gaps");
    if (rc == VESTA_OK && s->step > s->step_max)
        return VS_CONF_WRONG(r, "segments.#.step", s, err, "is %lld, and step_max is %lld", (long long)s->step,
                             (long long)s->step_max);
    if (rc == VESTA_OK) rc = check_tags(r, s, err);
    return rc == VESTA_OK ? check_form(r, s, err) : rc;
}

static int check_segments(const struct vs_conf_reading *r, struct vesta_error *err) {
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < r->config->segment_count; i++)
        rc = check_segment(r, &r->config->segment[i], err);
    return rc;
}

/* A store that nobody names is often a name mistyped elsewhere. */
static void note_unused(struct vs_config *config) {
    for (int i = 0; i < config->store_count; i++) {
        const char *name = config->store[i].name;
        bool used = false;
        for (int k = 0; k < config->ns_count; k++)
            used |= config->ns[k].store && strcmp(config->ns[k].store, name) == 0;
        for (int k = 0; k < config->segment_count; k++) {
            const struct vs_conf_segment *s = &config->segment[k];
            used |= s->store && strcmp(s->store, name) == 0;
            for (int t = 0; t < s->stores.count; t++)
                used |= strcmp(s->stores.text[t], name) == 0;
        }
        if (!used) vs_conf_add_note(config, "stores.%s is not used", name);
    }
}

/* ------------------------------------------------------------------ addresses */

static const struct {
    const char *path;
    size_t offset;
} listens[] = {{"http.listen", offsetof(struct vs_config, http)},
               {"resp.listen", offsetof(struct vs_config, resp)},
               {"admin.listen", offsetof(struct vs_config, admin)}};

static struct vs_conf_list *listen_of(struct vs_config *config, size_t i) {
    return (struct vs_conf_list *)((char *)config + listens[i].offset);
}

static bool is_unix(const char *address) {
    return strncmp(address, "unix:", 5) == 0;
}

static bool is_shared(const struct vs_backend *ops, const char *unused) {
    (void)unused;
    return !ops->is_local;
}

/* A store of this machine alone does not help: what it draws, another machine's draws, too. */
bool vs_config_is_numbered(const struct vs_config *config, bool by_flags, char *why, size_t size) {
    for (int i = 0; !config->single_host && i < config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &config->ns[i];
        char worker[VS_CONF_PATH_MAX] = "--worker N", shared[VS_STORE_LIST_MAX];
        if (ns->opts.has_worker || (ns->opts.store && !vs_store_is_local(ns->opts.store))) continue;
        if (!by_flags) snprintf(worker, sizeof worker, "namespaces.%s.worker", ns->name);
        bool has_shared = *vs_store_list(is_shared, NULL, shared);
        snprintf(why, size,
                 "other machines can reach it, and the number that '%s' draws from this machine's own store may be "
                 "drawn by another, too: lease from a store that all share (%s%s), give each machine its own "
                 "number (%s), or say that this is the only one (%s)",
                 ns->name,
                 !has_shared ? "none is installed"
                 : by_flags  ? "--store "
                             : "store = ",
                 shared, worker, by_flags ? "--single-host" : "single_host = true");
        return false;
    }
    return true;
}

static int check_numbered(const struct vs_conf_reading *r, const char *path, const char *address,
                          struct vesta_error *err) {
    char why[VS_NUMBERED_WHY_MAX];
    if (vs_config_is_numbered(r->config, !r->source.path, why, sizeof why)) return VESTA_OK;
    return VS_CONF_WRONG(r, path, r->config, err, "has %s: %s", address, why);
}

const char *vs_config_closed(const struct vs_config *config, bool by_flags) {
    if (config->clients || config->open) return NULL;
    return by_flags ? "other machines can reach it, and whoever does could take ids: say who may (--clients FILE, which vesta "
                      "client add writes), or that all may (--open)"
                    : "other machines can reach it, and whoever does could take ids: say who may (clients = FILE, which "
                      "vesta client add writes), or that all may (open = true)";
}

static int check_open(const struct vs_conf_reading *r, const char *address, struct vesta_error *err) {
    const char *why = vs_config_closed(r->config, !r->source.path);
    return why ? VS_CONF_WRONG(r, "http.listen", r->config, err, "has %s: %s", address, why) : VESTA_OK;
}

static int check_address(const struct vs_conf_reading *r, size_t which, const char *address, struct vesta_error *err) {
    struct vesta_error why;
    const char *path = listens[which].path;
    int local = vs_address_is_local(address, &why);
    if (local < 0) return VS_CONF_WRONG(r, path, r->config, err, "has a wrong address: %s", why.text);
    for (size_t i = 0; i < which; i++)
        for (int k = 0; k < listen_of(r->config, i)->count; k++)
            if (strcmp(listen_of(r->config, i)->text[k], address) == 0)
                return VS_CONF_WRONG(r, path, r->config, err, "has %s, and so has %s; each needs its own", address,
                                     listens[i].path);
    if (which == 2)
        return is_unix(address) || r->config->admin_token || r->config->clients
                   ? VESTA_OK
                   : VS_CONF_WRONG(
                         r, path, r->config, err,
                         "has %s, but there is no token: set %s, or listen on unix:PATH, whose file mode decides who "
                         "may connect",
                         address, r->source.path ? "admin.token" : "VESTA_ADMIN_TOKEN in the environment");
    if (local) return VESTA_OK;
    if (which == 1 && !r->config->resp_password && !r->config->clients)
        return VS_CONF_WRONG(
            r, path, r->config, err,
            "has %s, which other machines can reach, but there is no password: %s, or listen on 127.0.0.1 or "
            "unix:PATH",
            address, r->source.path ? "set resp.password" : "give --resp-password-file FILE");
    int rc = check_numbered(r, path, address, err);
    return rc == VESTA_OK && which == 0 ? check_open(r, address, err) : rc;
}

static int check_listens(const struct vs_conf_reading *r, struct vesta_error *err) {
    for (size_t i = 0; i < VS_COUNT(listens); i++) {
        struct vs_conf_list *list = listen_of(r->config, i);
        for (int k = 0; k < list->count; k++)
            if (strcmp(list->text[k], "off") == 0 && list->count > 1)
                return VS_CONF_WRONG(r, listens[i].path, r->config, err, "has \"off\" among addresses");
        if (list->count && strcmp(list->text[0], "off") == 0) list->count = 0;
        for (int k = 0; k < list->count; k++) {
            int rc = check_address(r, i, list->text[k], err);
            if (rc != VESTA_OK) return rc;
        }
    }
    if (r->config->http.count == 0 && r->config->resp.count == 0 &&
        !getenv("LISTEN_FDS")) /* sockets that are handed over */
        return VS_CONF_WRONG(r, "http.listen", r->config, err,
                             "is off, and so is resp.listen: nothing would be served");
    return VESTA_OK;
}

/* Of flags as well: nobody else looks at how they are written, and what is written otherwise would never be met. */
static int check_sites(const struct vs_conf_reading *r, struct vesta_error *err) {
    static const char *const paths[] = {"http.hosts", "http.allow_origins", "proxies"};
    const struct vs_conf_list *lists[] = {&r->config->hosts, &r->config->origins, &r->config->proxies};
    struct vesta_error why;
    for (size_t i = 0; i < VS_COUNT(paths); i++)
        for (int k = 0; k < lists[i]->count; k++)
            if (vs_conf_key_of(paths[i])->check(lists[i]->text[k], &why) != VESTA_OK)
                return VS_CONF_WRONG(r, paths[i], r->config, err, "%s", why.text);
    return VESTA_OK;
}

static void note_state(struct vs_config *config) {
    if (!config->http_state && config->admin.count == 0 && !getenv("LISTEN_FDS"))
        vs_conf_add_note(config,
                         "http.state is false and there is no admin.listen: nobody can ask for /metrics, /readyz "
                         "and /version");
}

int vs_conf_whole(const struct vs_conf_reading *r, struct vesta_error *err) {
    int rc = check_stores(r, err);
    if (rc == VESTA_OK) rc = check_namespaces(r, err);
    if (rc == VESTA_OK) rc = vs_conf_policies(r, err);
    if (rc == VESTA_OK) rc = check_segments(r, err);
    if (rc == VESTA_OK) rc = vs_conf_clients(r, err);
    if (rc == VESTA_OK) rc = check_listens(r, err);
    if (rc == VESTA_OK) rc = vs_conf_tls(r, err);
    if (rc == VESTA_OK) rc = check_sites(r, err);
    if (rc != VESTA_OK) return rc;
    note_unused(r->config);
    if ((rc = vs_conf_note_secrets(r, err)) != VESTA_OK) return rc;
    note_state(r->config);
    if (!r->source.path) return VESTA_OK;
    if (r->config->user && !getpwnam(r->config->user))
        vs_conf_add_note(r->config, "user: there is no user %s on this machine", r->config->user);
    if (r->config->group && !getgrnam(r->config->group))
        vs_conf_add_note(r->config, "group: there is no group %s on this machine", r->config->group);
    return VESTA_OK;
}
