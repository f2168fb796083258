/* policies.c -- the policies of a config's namespaces: read, given what they may read of the environment, and tried. */
#include "base/array.h"
#include "base/error.h"
#include "config/schema.h"
#include "os/clock.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ what they may read */

static bool is_secret(const struct vs_conf_key *key) {
    return key->kind == VS_CONF_SECRET || key->kind == VS_CONF_SECRETS;
}

/* Whether a secret of the config, or of one of its parts, is this text. */
static bool has_text(const struct vs_conf_key *key, const void *base, const char *text) {
    const void *at = (const char *)base + key->offset;
    const char *secret = *(const char *const *)at;
    const struct vs_conf_list *list = at;
    if (key->kind == VS_CONF_SECRET) return secret && strcmp(secret, text) == 0;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], text) == 0) return true;
    return false;
}

static bool is_value_of(const struct vs_config *config, const struct vs_conf_key *key, const char *text) {
    const struct vs_conf_part *part = vs_conf_part_of(key->path);
    if (!part) return has_text(key, config, text);
    for (int i = 0; i < vs_conf_part_size(config, part); i++)
        if (has_text(key, vs_conf_part_at(config, part, i), text)) return true;
    return false;
}

/* The secret that a variable sets, or whose value it has; NULL: none. */
static const char *secret_of(const struct vs_config *config, const char *name) {
    const char *value = getenv(name);
    for (int i = 0; i < vs_conf_key_count; i++) {
        const struct vs_conf_key *key = &vs_conf_keys[i];
        if (!is_secret(key)) continue;
        if (key->variable && strcmp(key->variable, name) == 0) return key->path;
        if (value && *value && is_value_of(config, key, value)) return key->path;
    }
    return NULL;
}

/* A list that names a secret's variable is a mistake, which a policy's log would spread. */
static int grant_env(const struct vs_conf_reading *r, struct vs_conf_namespace *ns, struct vesta_error *why) {
    const struct vs_conf_list *names = &ns->policy_env;
    char *env = NULL;
    for (int i = 0; i < names->count; i++) {
        const char *secret = secret_of(r->config, names->text[i]);
        if (secret)
            return vs_fail(why, VESTA_EOPTION, "names %s, which is the secret %s: no policy reads that",
                           VS_QUOTE(names->text[i], strlen(names->text[i])), secret);
    }
    int rc = names->count > 0 ? vs_policy_env(names->text, names->count, &env, why) : VESTA_OK;
    if (rc == VESTA_OK && ns->policy.name && env) rc = vs_policy_grant(&ns->policy.text, env, why);
    free(env);
    return rc;
}

/* ------------------------------------------------------------------ whether they hold */

/* Within the limits that a server sets: what `vesta check` finds well a server takes, without trying it again. */
int vs_conf_policies(const struct vs_conf_reading *r, struct vesta_error *err) {
    const struct vesta_clock *clock = vs_clock_system();
    for (int i = 0; i < r->config->ns_count; i++) {
        struct vs_conf_namespace *ns = &r->config->ns[i];
        struct vesta_error why;
        int rc = VESTA_OK;
        if (ns->policy.name) rc = vs_policy_read(ns->policy.name, ns->policy.options, &ns->policy.text, &why);
        if (rc == VESTA_OK && (rc = grant_env(r, ns, &why)) == VESTA_EOPTION)
            return VS_CONF_WRONG(r, "namespaces.*.policy_env", ns, err, "%s", why.text);
        if (rc == VESTA_OK && ns->policy.name)
            rc = vs_policy_try(&ns->policy.text, ns->name, clock->unix_us(clock->self) / 1000, &why);
        if (rc == VESTA_ENOMEM) return vs_fail(err, rc, "%s", why.text);
        if (rc != VESTA_OK) return VS_CONF_WRONG(r, "namespaces.*.policy", ns, err, "cannot be used: %s", why.text);
    }
    return VESTA_OK;
}
