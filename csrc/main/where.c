/* where.c -- finds the namespace that a command is about (see where.h). */
#include "main/where.h"

#include "base/array.h"
#include "base/nearest.h"
#include "keeper/file.h"
#include "os/host.h"
#include "serve/serving.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *flag, *variable;
} where_words[VS_W_WORDS] = {
    [VS_W_CONFIG] = {"config", "--config", "VESTA_CONFIG"},
    [VS_W_NAMESPACE] = {"namespace", "--namespace", "VESTA_NAMESPACE"},
    [VS_W_PATH] = {"path", "--path", NULL},
    [VS_W_STORE] = {"store", "--store", "VESTA_STORE"},
    [VS_W_LAYOUT] = {"layout", "--layout", NULL},
};

void vs_where_put(struct vs_where *where, enum vs_where_word word, const char *text, enum vs_origin origin,
                  const char *from) {
    if (!text || !*text || where->text[word]) return;
    where->text[word] = text;
    where->origin[word] = origin;
    where->from[word] = from;
}

static void where_take_variable(struct vs_where *where, enum vs_where_word word) {
    vs_where_put(where, word, vs_environment(where_words[word].variable), VS_FROM_ENV, where_words[word].variable);
}

const char *vs_where_config(void) {
    return vs_environment(where_words[VS_W_CONFIG].variable);
}

/* Adds values from the environment.  If a flag names a config, file or store, all environment variables that name one
 * of these are ignored. */
int vs_where_environment(struct vs_where *where) {
    bool is_told = where->text[VS_W_CONFIG] || where->text[VS_W_PATH] || where->text[VS_W_STORE];
    for (int i = 0; i < VS_W_WORDS; i++)
        if (where->text[i] && !where->from[i]) where->from[i] = where_words[i].flag, where->origin[i] = VS_FROM_FLAG;
    where_take_variable(where, VS_W_NAMESPACE);
    if (is_told) return VS_GO;
    where_take_variable(where, VS_W_CONFIG);
    where_take_variable(where, VS_W_STORE);
    if (!where->text[VS_W_CONFIG] || !where->text[VS_W_STORE]) return VS_GO;
    return vs_usage("VESTA_CONFIG and VESTA_STORE are both set. Unset one of them, or name the store with --store");
}

/* ------------------------------------------------------------------ the config */

static const struct vs_conf_namespace *where_find(const struct vs_config *config, const char *name) {
    if (!name) return config->ns_count > 0 ? &config->ns[0] : NULL;
    for (int i = 0; i < config->ns_count; i++)
        if (strcmp(config->ns[i].name, name) == 0) return &config->ns[i];
    return NULL;
}

const char *vs_where_leased(const struct vs_where *where) {
    const char *name = where->text[VS_W_NAMESPACE];
    const struct vs_conf_namespace *ns = where->config ? where_find(where->config, name) : NULL;
    return ns && ns->leased_as ? ns->leased_as : name;
}

const char *vs_where_public(const struct vs_where *where, const char *leased) {
    for (int i = 0; where->config && i < where->config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &where->config->ns[i];
        if (ns->leased_as && strcmp(ns->leased_as, leased) == 0 && strcmp(ns->name, leased) != 0) return ns->name;
    }
    return NULL;
}

static int where_no_namespace(const struct vs_where *where) {
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < where->config->ns_count && used < sizeof names - VESTA_NAMESPACE_MAX - 2; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", where->config->ns[i].name);
    if (!where->text[VS_W_NAMESPACE] || !used)
        return vs_usage("%s has no namespace%s", vs_shown_text(where->text[VS_W_CONFIG]),
                        where->config->segment_count ? ", only segments: vesta segments lists their counters" : "");
    const char *name = where->text[VS_W_NAMESPACE];
    char hint[VS_HINT_MAX];
    return vs_usage("%s has no namespace %s. It has %s%s", vs_shown_text(where->text[VS_W_CONFIG]), vs_shown_text(name),
                    names, vs_nearest_hint(name, strlen(name), names, hint));
}

static int where_take_config(struct vs_where *where) {
    struct vs_conf_opts from = {.path = where->text[VS_W_CONFIG], .serves_no_clients = true};
    struct vesta_error err;
    for (int i = VS_W_PATH; i < VS_W_WORDS; i++)
        if (where->text[i])
            return vs_usage("%s determines the %s of its namespaces: leave out %s or %s", where->from[VS_W_CONFIG],
                            where_words[i].name, where->from[i], where->from[VS_W_CONFIG]);
    if (vs_config_read(&from, &where->config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    const struct vs_conf_namespace *ns = where_find(where->config, where->text[VS_W_NAMESPACE]);
    if (!ns) return where_no_namespace(where);
    vs_where_put(where, VS_W_NAMESPACE, ns->name, VS_FROM_FILE, "the config, of which it is the first");
    vs_where_put(where, VS_W_PATH, ns->opts.path, VS_FROM_FILE, "the config");
    vs_where_put(where, VS_W_STORE, ns->opts.store, VS_FROM_FILE, "the config");
    vs_where_put(where, VS_W_LAYOUT, ns->opts.layout, VS_FROM_FILE, "the config");
    where->secret = ns->opts.secret;
    where->fields = ns->opts.fields;
    where->method = ns->opts.method;
    return VS_GO;
}

/* ------------------------------------------------------------------ the generator file */

static int where_no_file(const struct vs_where *where) {
    /* the namespace was never used on this machine, but the config is sufficient */
    if (where->text[VS_W_CONFIG]) return VS_GO;
    if (where->text[VS_W_PATH])
        vs_say("there is no generator file %s. Create it with `vesta gen --path`",
               vs_shown_text(where->text[VS_W_PATH]));
    else
        vs_say("the namespace %s has no generator file on this machine (%s): name its store (--store URI), its config "
               "(-c FILE) or its layout (--layout)",
               vs_shown_text(where->text[VS_W_NAMESPACE]), where->path);
    return VS_FAILED;
}

static bool where_is_of_layout(const struct vs_where *where) {
    struct vesta_layout asked, own;
    if (!where->text[VS_W_LAYOUT]) return true;
    if (vs_read_layout(where->text[VS_W_LAYOUT], &asked) != VS_DONE) return false;
    if (vs_read_layout(where->header.layout, &own) == VS_DONE && own.fingerprint == asked.fingerprint) return true;
    vs_usage("the layout %s of %s differs from that of %s, %s. Leave it out, or name the generator file that has it",
             vs_shown_text(where->text[VS_W_LAYOUT]), where->from[VS_W_LAYOUT], where->path, where->header.layout);
    return false;
}

/* Finds the file that vesta_open would use.  Runs the same code, but creates nothing. */
static int where_take_file(struct vs_where *where) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vs_settings settings;
    struct vs_anchor anchor;
    struct vesta_error err;
    bool found;
    opts.path = where->text[VS_W_PATH];
    opts.namespace_ = vs_where_leased(where);
    if (vs_settings_look(&opts, &settings, &err) != VESTA_OK ||
        vs_anchor_find(&settings, false, &found, &anchor, &err) != VESTA_OK) {
        /* vesta did not create the file */
        bool is_said = where->config && where->text[VS_W_LAYOUT] && err.code == VESTA_EIO;
        return is_said ? VS_GO : vs_report(&err);
    }
    memcpy(where->path, settings.path, sizeof where->path);
    if (where->may_lack_file) vs_where_put(where, VS_W_PATH, where->path, VS_FROM_DEFAULT, "default");
    if (!found || anchor.no_file) return where->may_lack_file ? VS_GO : where_no_file(where);
    where->header = anchor.header;
    if (!where_is_of_layout(where)) return VS_USAGE;
    vs_where_put(where, VS_W_PATH, where->path, VS_FROM_DEFAULT, "default");
    vs_where_put(where, VS_W_NAMESPACE, where->header.namespace_, VS_FROM_MAP, "the generator file");
    vs_where_put(where, VS_W_STORE, where->header.store, VS_FROM_MAP, "the generator file");
    vs_where_put(where, VS_W_LAYOUT, where->header.layout, VS_FROM_MAP, "the generator file");
    return VS_GO;
}

/* ------------------------------------------------------------------ resolving */

bool vs_where_is_named(const struct vs_where *where) {
    return where->text[VS_W_CONFIG] || where->text[VS_W_NAMESPACE] || where->text[VS_W_PATH] || where->text[VS_W_STORE];
}

int vs_where_read(struct vs_where *where) {
    struct vesta_error err;
    int rc = vs_where_environment(where);
    if (rc != VS_GO) return rc;
    if (where->text[VS_W_NAMESPACE] && vs_namespace_check(where->text[VS_W_NAMESPACE], &err) != VESTA_OK)
        return vs_report(&err);
    if (where->text[VS_W_CONFIG]) rc = where_take_config(where);
    bool is_in_file = where->text[VS_W_PATH] || !where->text[VS_W_STORE];
    if (rc == VS_GO && vs_where_is_named(where) && is_in_file && !where->asks_no_file) rc = where_take_file(where);
    return rc;
}

bool vs_where_has_flags(const struct vesta_opts *opts) {
#define VS_OR_GIVEN(type, member, ...) || opts->member
    return opts->has_worker VESTA_NAMESPACE_OPTIONS(VS_OR_GIVEN);
#undef VS_OR_GIVEN
}

/* Uses the options of a config.  If a policy chooses worker ids, only the server can run it.  The server then renews
 * the lease, and this process only uses the generator. */
static int where_take_opts(struct vs_where *where, struct vesta_opts *opts) {
    struct vs_conf_opts from = {.path = where->text[VS_W_CONFIG], .serves_no_clients = true};
    struct vesta_error err;
    if (vs_config_read(&from, &where->config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    const struct vs_conf_namespace *ns = where_find(where->config, where->text[VS_W_NAMESPACE]);
    if (!ns) return where_no_namespace(where);
    if (vs_namespace_prove(ns, &err) != VESTA_OK) return vs_report(&err);
    *opts = ns->opts;
    if (ns->policy.name) opts->flags |= VESTA_NO_KEEPER;
    return VS_GO;
}

/* A config sets all options of its namespaces, so additional flags would be ambiguous. */
int vs_where_opts(const char *config_path, struct vesta_opts *opts, struct vs_config **config) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = config_path,
                                      [VS_W_NAMESPACE] = opts->namespace_,
                                      [VS_W_PATH] = opts->path,
                                      [VS_W_STORE] = opts->store}};
    if (config_path && vs_where_has_flags(opts))
        return vs_usage("--config determines the options of its namespaces: only --namespace can be combined with it");
    int rc = vs_where_environment(&where);
    if (rc != VS_GO) return rc;
    if (where.text[VS_W_CONFIG] && vs_where_has_flags(opts))
        return vs_usage(
            "VESTA_CONFIG determines the options of its namespaces: unset it, or also name the store or the path");
    if (where.text[VS_W_CONFIG])
        rc = where_take_opts(&where, opts);
    else
        opts->namespace_ = where.text[VS_W_NAMESPACE], opts->store = where.text[VS_W_STORE];
    *config = where.config;
    return rc;
}

void vs_where_free(struct vs_where *where) {
    vs_config_free(where->config);
    where->config = NULL;
}

/* ------------------------------------------------------------------ --effective */

int vs_where_print(const struct vs_where *where) {
    for (int i = 0; i < VS_W_WORDS; i++)
        if (where->text[i])
            vs_effective_print(&(struct vs_conf_value){.path = where_words[i].name,
                                                       .text = where->text[i],
                                                       .origin = where->origin[i],
                                                       .variable = where_words[i].variable,
                                                       .by = where->origin[i] ? where->from[i] : NULL},
                               where->json);
    const char *leased = vs_where_leased(where);
    if (leased && vs_where_public(where, leased))
        vs_effective_print(
            &(struct vs_conf_value){.path = "leased_as", .text = leased, .origin = VS_FROM_FILE, .by = "the config"},
            where->json);
    return VS_DONE;
}

/* Prints the config's values for the options of the namespace's generator, except values that were printed already. */
static void where_print_option(void *self, const struct vs_conf_value *value) {
#define MEMBER(type, member, ...) #member,
    static const char *const members[] = {VESTA_NAMESPACE_OPTIONS(MEMBER)};
#undef MEMBER
    const struct vs_where *where = self;
    const char *name = where->text[VS_W_NAMESPACE], *dot = strrchr(value->path, '.');
    size_t length = strlen("namespaces."), name_length = strlen(name);
    struct vs_conf_value row = *value;
    if (!dot || strncmp(value->path, "namespaces.", length) != 0 || dot != value->path + length + name_length ||
        strncmp(value->path + length, name, name_length) != 0)
        return;
    row.path = dot + 1;
    for (int i = 0; i < VS_W_WORDS; i++)
        if (where->text[i] && strcmp(where_words[i].name, row.path) == 0) return;
    for (size_t i = 0; i < VS_COUNT(members); i++)
        if (strcmp(members[i], row.path) == 0) vs_effective_print(&row, where->json);
}

static int where_print_options(struct vs_where *where, const struct vesta_opts *opts) {
    struct vesta_opts own = *opts;
    struct vs_conf_opts from = {.opts = &own};
    struct vs_config *config = where->config, *flags = NULL;
    struct vesta_error err;
    own.namespace_ = where->text[VS_W_NAMESPACE];
    own.store = where->text[VS_W_STORE];
    if (!config && vs_config_read(&from, &flags, &err) != VESTA_OK) return vs_report(&err);
    vs_where_print(where);
    int rc = vs_config_each(config ? config : flags, where_print_option, where);
    vs_config_free(flags);
    return rc == VESTA_OK ? VS_DONE : (vs_say("no memory"), VS_FAILED);
}

int vs_where_print_opts(const char *config_path, const struct vesta_opts *opts, int json) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = config_path,
                                      [VS_W_NAMESPACE] = opts->namespace_,
                                      [VS_W_PATH] = opts->path,
                                      [VS_W_STORE] = opts->store,
                                      [VS_W_LAYOUT] = opts->layout},
                             .may_lack_file = true,
                             .json = json};
    struct vesta_opts copy = *opts;
    int rc = vs_where_opts(config_path, &copy, &where.config); /* rejects options that cannot be combined */
    vs_where_free(&where);
    if (rc == VS_GO) rc = vs_where_environment(&where);
    if (rc == VS_GO && !where.text[VS_W_CONFIG])
        vs_where_put(&where, VS_W_NAMESPACE, "default", VS_FROM_DEFAULT, "default");
    if (rc == VS_GO) rc = vs_where_read(&where);
    if (rc == VS_GO) rc = where_print_options(&where, opts);
    vs_where_free(&where);
    return rc;
}
