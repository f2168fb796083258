/* check.c -- `vesta check`: reads a config and says what is wrong with it, what it comes to, or what may stand in one.
 * Knows no key. */
#include "main/cli.h"
#include "main/where.h"
#include "config/schema.h"
#include "command/options.h"
#include "serve/effective.h"
#include "serve/serving.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ what may stand in a config */

static int print_keys(int json) {
    char expected[VS_CONF_EXPECTED_MAX], path[VS_CONF_PATH_MAX];
    for (int i = 0; i < vs_conf_key_count; i++) {
        const struct vs_conf_key *key = &vs_conf_keys[i];
        const char *name = strchr(key->path, '#') ? "I" : "NAME"; /* of a part that could be */
        vs_conf_path(key, &name, path);
        const char *value = vs_conf_expected(key, expected), *initial = key->initial ? key->initial : key->absent;
        if (!json) {
            vs_outf("%s\n    %s\n    %s; without it: %s\n", path, key->help, value, initial);
            if (key->variable) vs_outf("    in the environment: %s\n", key->variable);
            continue;
        }
        vs_outf("{\"key\":\"%s\",\"value\":", path);
        vs_out_json(value);
        vs_outf(",\"%s\":", key->initial ? "default" : "absent");
        vs_out_json(initial);
        if (key->variable) vs_outf(",\"variable\":\"%s\"", key->variable);
        vs_outf(",\"help\":");
        vs_out_json(key->help);
        vs_outf("}\n");
    }
    return VS_DONE;
}

/* ------------------------------------------------------------------ the summary */

static void print_protocols(const struct vs_config *config) {
    const struct {
        const char *name;
        const struct vs_conf_list *list;
    } protocols[] = {{"HTTP", &config->http}, {"Redis protocol", &config->resp}, {"admin", &config->admin}};
    for (size_t i = 0; i < 3; i++) {
        vs_outf("  %-14s  %s", protocols[i].name, protocols[i].list->count ? "" : "off");
        for (int k = 0; k < protocols[i].list->count; k++)
            vs_outf("%s%s", k ? ", " : "", protocols[i].list->text[k]);
        vs_outf("\n");
    }
}

static void print_list(const struct vs_conf_list *list) {
    for (int i = 0; i < list->count; i++)
        vs_outf("%s%s", i ? ", " : "", list->text[i]);
}

static void print_segments(const struct vs_config *config) {
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *s = &config->segment[i];
        vs_outf("  %-14s  ", i ? "" : "segments");
        print_list(&s->tags);
        vs_outf(": %s of %s", s->table, s->store ? s->store : "");
        print_list(&s->stores);
        vs_outf("\n");
    }
}

static void print_summary(const struct vs_config *config) {
    vs_outf("%s: ok\n", VS_CONF_SHOWN(config->name));
    for (int i = 0; i < config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &config->ns[i];
        vs_outf("  %-14s  %s", i ? "" : "namespaces", ns->name);
        vs_outf(": %s", ns->opts.layout ? ns->opts.layout : VS_LAYOUT_DEFAULT);
        if (ns->leased_as) vs_outf(", leased as %s", ns->leased_as);
        if (ns->opts.has_worker) vs_outf(", worker %" PRIu64, ns->opts.worker);
        if (ns->store) vs_outf(", store %s", vs_store_public(ns->store, (char[VS_URI_MAX]){0}));
        if (ns->policy.name) vs_outf(", policy %s", ns->policy.name);
        if (ns->shadow.name) vs_outf(", in shadow %s", ns->shadow.name);
        vs_outf("\n");
    }
    print_segments(config);
    print_protocols(config);
    for (int i = 0; i < config->note_count; i++)
        vs_outf("  %-14s  %s\n", "note", config->note[i]);
}

static void print_summary_json(const struct vs_config *config) {
    vs_outf("{\"ok\":true,\"namespaces\":[");
    for (int i = 0; i < config->ns_count; i++) {
        vs_outf("%s", i ? "," : "");
        vs_out_json(config->ns[i].name);
    }
    vs_outf("],\"notes\":[");
    for (int i = 0; i < config->note_count; i++) {
        vs_outf("%s{\"text\":", i ? "," : "");
        vs_out_json(config->note[i]);
        vs_outf("}");
    }
    vs_outf("]}\n");
}

static int print_wrong(const struct vesta_error *err, int json) {
    if (!json) {
        vs_say("%s", err->text);
        return VS_FAILED;
    }
    vs_outf("{\"ok\":false,\"error\":");
    vs_out_json(err->text);
    vs_outf(",\"code\":\"%s\"}\n", vesta_code_name(err->code));
    return VS_FAILED;
}

static int check(const struct vs_conf_opts *opts, int effective, int json) {
    struct vs_config *config;
    struct vesta_error err;
    int rc = VS_DONE;
    if (vs_config_read(opts, &config, &err) != VESTA_OK) return print_wrong(&err, json);
    if (!effective && vs_secure_try(config, &err) != VESTA_OK)
        rc = print_wrong(&err, json);
    else if (effective)
        rc = vs_effective_config(config, opts, json);
    else
        (json ? print_summary_json : print_summary)(config);
    vs_config_free(config);
    return rc;
}

static int run_check(int argc, char **argv) {
    const char *path = NULL;
    int effective = 0, keys = 0, json = 0;
    const struct vs_option table[] = {
        {"config", 'c', VS_OPT_TEXT, &path, "FILE",
         "the config, as other commands take it, in place of the operand FILE", 0, 0, NULL},
        VS_EFFECTIVE(&effective),
        VS_SWITCH("keys", &keys, "list what a config may contain; takes no FILE"),
        VS_SWITCH("json", &json, "print JSON objects"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (keys && (argc || path || effective)) return vs_usage("--keys can be combined only with --json");
    if (keys) return print_keys(json);
    if (argc + (path != NULL) > 1)
        return vs_usage("unexpected operand %s; vesta check takes one config", vs_shown_text(argv[path ? 0 : 1]));
    if (argc > 0) path = argv[0];
    if (!path) path = vs_where_config();
    if (!path) return vs_usage("no config is given: vesta check FILE");
    return check(&(struct vs_conf_opts){.path = path}, effective, json);
}

const struct vs_command vs_check_command = {
    "check", run_check, "read a config and say what is wrong with it", "check [OPTION...] [-c] FILE",
    "Reads a config file as `vesta serve -c` does and shows the result, or what is wrong: the file, the\n"
    "line, the key, what was expected.  A config is a Lua file that returns a table.  Nothing is opened or\n"
    "claimed but the files of TLS.  Exit code 1 if it cannot be used.\n"
    "\n"
    "  $ vesta check /etc/vesta/vesta.lua\n"
    "  /etc/vesta/vesta.lua: ok\n"
    "    namespaces      orders: vesta-milli, worker 7\n"
    "  ...\n"
    "\n"
    "  $ vesta check /etc/vesta/vesta.lua\n"
    "  vesta check: /etc/vesta/vesta.lua:4: namespaces.orders.wait_ms is not a\n"
    "  key; did you mean wait_ms_max?\n"};
