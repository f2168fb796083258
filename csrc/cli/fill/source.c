/* source.c -- a namespace's ids, by flags or by a config.  Knows no Redis. */
#include "cli/fill/source.h"

#include "command/options.h"
#include "config/config.h"

#include <string.h>

/* The config's namespace of that name; its first where none was named. */
static const struct vs_conf_namespace *find(const struct vs_config *config, const char *name) {
    if (!name) return config->ns_count > 0 ? &config->ns[0] : NULL;
    for (int i = 0; i < config->ns_count; i++)
        if (strcmp(config->ns[i].name, name) == 0) return &config->ns[i];
    return NULL;
}

/* A config says how its namespaces are opened: another word beside it would be a riddle. */
static bool has_flags(struct vesta_opts opts) {
    static const struct vesta_opts none = VESTA_OPTS_INIT;
    opts.namespace_ = NULL;
    return memcmp(&opts, &none, sizeof opts) != 0;
}

/* Where a policy chooses numbers the server asks it: then the server keeps the generator, and here it is only used. */
static int read_config(struct vs_source *source) {
    const char *name = source->opts.namespace_;
    if (has_flags(source->opts))
        return vs_usage("--config says how its namespaces are opened: beside it only --namespace can be given");
    struct vs_conf_opts from = {.path = source->config_path};
    struct vesta_error err;
    if (vs_config_read(&from, &source->config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    const struct vs_conf_namespace *ns = find(source->config, name);
    if (!ns)
        return vs_usage("%s has no namespace %s", vs_shown_text(source->config_path),
                        name ? vs_shown_text(name) : "at all");
    source->opts = ns->opts;
    if (ns->policy.name) source->opts.flags |= VESTA_NO_KEEPER;
    return VS_GO;
}

int vs_source_open(struct vs_source *source) {
    struct vesta_error err;
    struct vesta_info info;
    int rc = source->config_path ? read_config(source) : VS_GO;
    if (rc != VS_GO) return rc;
    source->opts.any_worker = !source->opts.has_worker; /* counts only where there is no generator file yet */
    if (vesta_open(&source->opts, &source->gen, &err) != VESTA_OK) return vs_report(&err);
    vesta_get_info(source->gen, &info);
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    return VS_GO;
}

void vs_source_close(struct vs_source *source) {
    vesta_close(source->gen);
    vs_config_free(source->config);
    source->gen = NULL;
    source->config = NULL;
}

size_t vs_source_take(struct vs_source *source, uint64_t *ids, size_t n, int wait_ms, char *why) {
    struct vesta_pause pause;
    size_t got = 0;
    if (n > VESTA_BATCH_MAX) n = VESTA_BATCH_MAX;
    if (vesta_next_n(source->gen, ids, n, &got, &pause) == VESTA_OK) return got;
    if (vesta_next_wait(source->gen, ids, (int64_t)wait_ms * 1000, &pause) == VESTA_OK) return 1;
    vesta_pause_text(source->gen, &pause, why, VS_SOURCE_WHY_MAX);
    return 0;
}
