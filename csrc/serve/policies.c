/* policies.c -- loads the policies of a server's namespaces, and starts the thread that runs them.  Contains no
 * Lua code. */
#include "base/error.h"
#include "policy/control/control.h"
#include "command/options.h"
#include "serve/serving.h"

#include <stdlib.h>
#include <string.h>

/* Finds a namespace by name.  The old and the new config usually list the namespaces in the same order, so the search
 * starts at *hint, after the last result. */
static const struct vs_conf_namespace *find(const struct vs_config *config, const char *name, int *hint) {
    for (int i = 0; i < config->ns_count; i++) {
        int at = (*hint + i) % config->ns_count;
        if (strcmp(config->ns[at].name, name) != 0) continue;
        *hint = at + 1;
        return &config->ns[at];
    }
    return NULL;
}

static int copy_policies(const struct vs_serving *serving, const struct vs_config *config, struct vs_policy_text *out,
                         struct vs_policy_text *shadow, struct vesta_error *err) {
    int rc = VESTA_OK, hint = 0;
    for (int i = 0; rc == VESTA_OK && i < serving->config->ns_count; i++) {
        const struct vs_conf_namespace *ns = find(config, serving->config->ns[i].name, &hint);
        if (!ns) ns = &serving->config->ns[i]; /* removed from the file, but served until the next restart */
        if (ns->policy.name) rc = vs_policy_text_copy(&ns->policy.text, &out[i], err);
        if (rc == VESTA_OK && ns->shadow.name)
            rc = vs_policy_text_copy(&ns->shadow.text, &shadow[i], err);
    }
    return rc;
}

/* Reads the policies.  At the start they come from the config that was just read, and on a reload from its sources. */
static int read_sources(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow,
                        struct vesta_error *err) {
    struct vs_serving *serving = self;
    struct vs_config *config;
    char keys[256];
    if (!serving->has_policies) {
        serving->has_policies = true;
        return copy_policies(serving, serving->config, out, shadow, err);
    }
    int rc = vs_config_read(&serving->conf, &config, err);
    if (rc != VESTA_OK) return rc;
    rc = copy_policies(serving, config, out, shadow, err);
    if (rc == VESTA_OK && vs_config_differences(serving->config, config, keys, sizeof keys) > 0)
        vs_log(VS_LOG_WARN, "a reload only changes policies: restart the server to apply the other keys", "keys", keys,
               NULL);
    vs_config_free(config);
    return rc;
}

static void wake(void *self) {
    vs_serve_wake(&((struct vs_serving *)self)->server);
}

bool vs_policies_wanted(const struct vs_serving *serving) {
    bool any = serving->conf.path && serving->config->ns_count > 0; /* a reload may add a policy */
    for (int i = 0; i < serving->config->ns_count; i++)
        any = any || serving->config->ns[i].policy.name || serving->config->ns[i].shadow.name;
    return any;
}

int vs_policies_open(struct vs_serving *serving) {
    struct vs_server *server = &serving->server;
    struct vesta_error err;
    if (!vs_policies_wanted(serving)) return VS_GO;
    const char **names = calloc((size_t)server->names.count, sizeof *names);
    /* start.c sets each element when it has opened the generator. */
    struct vesta_gen **gens = calloc((size_t)server->names.count, sizeof *gens);
    if (!names || !gens) return vs_say("no memory"), free(names), free(gens), VS_FAILED;
    struct vs_control_opts opts = {.name = names,
                                   .ns_count = server->names.count,
                                   .gen = gens,
                                   .sources = read_sources,
                                   .changed = wake,
                                   .self = serving};
    for (int i = 0; i < server->names.count; i++)
        names[i] = server->names.at[i].name;
    int rc = vs_control_open(&opts, &serving->control, &err);
    free(names);
    free(gens);
    if (rc != VESTA_OK) return vs_report(&err);
    server->above.policies = vs_control_policies(serving->control);
    return VS_GO;
}

void vs_policies_close(struct vs_serving *serving) {
    vs_control_close(serving->control);
}
