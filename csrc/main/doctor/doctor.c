/* doctor.c -- `vesta doctor`: looks at what a server needs before it needs it, and says what to do.  Changes nothing,
 * claims nothing. */
#include "main/cli.h"
#include "main/doctor/doctor.h"

#include "main/where.h"
#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_AT 22 /* the column of what was found */

static const char *const health_names[] = {"ok", "warn", "fail"};

void vs_doctor_found(struct vs_doctor *doctor, enum vs_health health, const char *what, const char *todo,
                     const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (health == VS_SICK) doctor->sick = true;
    if (!doctor->json) {
        const char *paint = health == VS_SICK ? VS_RED : health == VS_WARN ? VS_YELLOW : "";
        vs_outf("%s%-4s%s  %-14s  ", paint, health_names[health], *paint ? VS_PLAIN : "", what);
        vs_out_fittedf(TEXT_AT, TEXT_AT, "%s%s%s", text, todo ? ": " : "", todo ? todo : "");
        return;
    }
    vs_outf("{\"state\":\"%s\",\"what\":", health_names[health]);
    vs_out_json(what);
    vs_outf(",\"says\":");
    vs_out_json(text);
    if (todo) {
        vs_outf(",\"do\":");
        vs_out_json(todo);
    }
    vs_outf("}\n");
}

/* ------------------------------------------------------------------ the config */

/* The config is what the checks are of: without one that can be read there is only the machine. */
static void look_at_config(struct vs_doctor *doctor, const struct vs_conf_opts *opts) {
    struct vs_config *config;
    struct vesta_error err;
    if (vs_config_read(opts, &config, &err) != VESTA_OK) {
        vs_doctor_found(doctor, VS_SICK, "config", "correct it and run vesta doctor again", "%s", err.text);
        return;
    }
    doctor->config = config;
    if (opts->path) vs_doctor_found(doctor, VS_FINE, "config", NULL, "%s can be read", opts->path);
    for (int i = 0; i < config->note_count; i++)
        vs_doctor_found(doctor, VS_WARN, "config", NULL, "%s", config->note[i]);
    vs_doctor_limits(doctor);
    vs_doctor_addresses(doctor);
    vs_doctor_folders(doctor);
    for (int i = 0; i < config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &config->ns[i];
        struct vesta_layout layout = {0};
        doctor->incarnation = 0;
        doctor->is_at_odds = false;
        vs_doctor_namespace(doctor, ns, &layout);
        if (ns->opts.store) vs_doctor_store(doctor, ns, &layout);
        if (ns->policy.name) /* vs_config_read has loaded it */
            vs_doctor_found(doctor, VS_FINE, ns->name, NULL, "its policy %s loads", ns->policy.name);
    }
    vs_config_free(config);
}

/* ------------------------------------------------------------------ the command */

#define ADDRESSES 3

/* Where the words say nothing of a namespace, the environment does. */
static int find_config(struct vs_conf_opts *opts, struct vesta_opts *ns) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = opts->path,
                                      [VS_W_NAMESPACE] = ns->namespace_,
                                      [VS_W_PATH] = ns->path,
                                      [VS_W_STORE] = ns->store,
                                      [VS_W_LAYOUT] = ns->layout}};
    int rc = vs_where_environment(&where);
    if (rc != VS_GO) return rc;
    opts->path = where.text[VS_W_CONFIG];
    if (opts->path) return VS_GO;
    ns->namespace_ = where.text[VS_W_NAMESPACE];
    ns->store = where.text[VS_W_STORE];
    if (where.origin[VS_W_STORE] == VS_FROM_ENV) opts->store_variable = where.from[VS_W_STORE];
    return VS_GO;
}

static int print_effective(const struct vs_doctor *doctor, const struct vs_conf_opts *opts) {
    struct vs_config *config;
    struct vesta_error err;
    if (vs_config_read(opts, &config, &err) != VESTA_OK) return vs_report(&err);
    int rc = vs_effective_config(config, opts, doctor->json);
    vs_config_free(config);
    return rc;
}

static int run_doctor(int argc, char **argv) {
    const char *path = NULL;
    struct vs_conf_flag flag[ADDRESSES] = {
        {"--http", "http.listen", NULL}, {"--resp", "resp.listen", NULL}, {"--admin", "admin.listen", NULL}};
    struct vesta_opts ns = VESTA_OPTS_INIT;
    struct vs_doctor doctor = {.clock = vs_clock_system()};
    const struct vs_option table[] = {
        {"config", 'c', VS_OPT_TEXT, &path, "FILE", "the server's config file", 0, 0, NULL},
        VS_TEXT("namespace", &ns.namespace_, "NAME", "the namespace, if there is no config (default: default)"),
        VS_TEXT("path", &ns.path, "FILE", "its generator file (default: the namespace's in the state folder)"),
        VS_TEXT("layout", &ns.layout, "TEXT|PRESET", "the layout that its file should have"),
        VS_TEXT("store", &ns.store, "URI", "where its numbers are leased"),
        VS_TEXT("http", &flag[0].text, "ADDR", "an HTTP address to be served, or off"),
        VS_TEXT("resp", &flag[1].text, "ADDR", "the same for the Redis protocol"),
        VS_TEXT("admin", &flag[2].text, "ADDR", "the same for the admin routes"),
        VS_EFFECTIVE(&doctor.effective),
        VS_SWITCH("json", &doctor.json, "print JSON objects"),
        {0},
    };
    struct vs_conf_flag given[ADDRESSES];
    struct vs_conf_opts opts = {.opts = &ns, .flag = given};
    int rc = vs_options(table, &argc, argv);
    opts.path = path;
    if (rc != VS_GO) return rc;
    if (argc > 0) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    if (path && (ns.namespace_ || ns.layout || ns.path || ns.store))
        return vs_usage("-c cannot be combined with --namespace, --path, --layout or --store: the config sets them");
    for (int i = 0; i < ADDRESSES; i++)
        if (flag[i].text) given[opts.flag_count++] = flag[i];
    if ((rc = find_config(&opts, &ns)) != VS_GO) return rc;
    if (doctor.effective) return print_effective(&doctor, &opts);
    vs_doctor_clock(&doctor);
    look_at_config(&doctor, &opts);
    return doctor.sick ? VS_FAILED : VS_DONE;
}

const struct vs_command vs_doctor_command = {
    "doctor", run_doctor, "check what a server needs on this machine, and say what to fix", "doctor [OPTION...]",
    "Checks the clock, limits, addresses, the state folder, generator files, layouts, stores of leases, and\n"
    "with -c the config and its policies.  Prints one line for each: ok, warn, or fail and what to do.\n"
    "Changes nothing, claims nothing.  Exit code 1 if something fails.\n"
    "\n"
    "  $ vesta doctor -c /etc/vesta/vesta.lua\n"
    "  ok    clock           2026-11-21T19:32:16Z, synchronized to a time source, ...\n"
    "  ...\n"
    "  fail  state           /var/lib/vesta belongs to user 0, has mode 755 and is\n"
    "  not writable for vesta: change the owner with chown\n"
    "\n"
    "  $ vesta doctor --json\n"
    "  {\"state\":\"ok\",\"what\":\"clock\",\"says\":\"2026-11-21T19:32:16Z, synchronized ...\n"};
