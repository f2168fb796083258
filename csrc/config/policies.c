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

/* A list that names a secret's variable is a mistake, which a policy's log would spread.  Own: free *env. */
static int read_env(const struct vs_conf_reading *r, const struct vs_conf_namespace *ns, char **env,
                    struct vesta_error *why) {
    const struct vs_conf_list *names = &ns->policy_env;
    *env = NULL;
    for (int i = 0; i < names->count; i++) {
        const char *secret = secret_of(r->config, names->text[i]);
        if (secret)
            return vs_fail(why, VESTA_EOPTION, "names %s, which is the secret %s: no policy reads that",
                           VS_QUOTE(names->text[i], strlen(names->text[i])), secret);
    }
    return names->count > 0 ? vs_policy_env(names->text, names->count, env, why) : VESTA_OK;
}

/* ------------------------------------------------------------------ whether they hold */

/* Within the limits that a server sets: what `vesta check` finds well a server takes, without trying it again. */
static int check(struct vs_conf_policy *policy, const char *env, const char *namespace_, struct vesta_error *why) {
    const struct vesta_clock *clock = vs_clock_system();
    if (!policy->name) return VESTA_OK;
    int rc = vs_policy_read(policy->name, policy->options, &policy->text, why);
    if (rc == VESTA_OK && env) rc = vs_policy_grant(&policy->text, env, why);
    return rc == VESTA_OK ? vs_policy_try(&policy->text, namespace_, clock->unix_us(clock->self) / 1000, why) : rc;
}

int vs_conf_policies(const struct vs_conf_reading *r, struct vesta_error *err) {
    for (int i = 0; i < r->config->ns_count; i++) {
        struct vs_conf_namespace *ns = &r->config->ns[i];
        struct vesta_error why;
        char *env;
        int rc = read_env(r, ns, &env, &why);
        if (rc == VESTA_EOPTION) return VS_CONF_WRONG(r, "namespaces.*.policy_env", ns, err, "%s", why.text);
        const char *key = "namespaces.*.policy";
        if (rc == VESTA_OK) rc = check(&ns->policy, env, ns->name, &why);
        if (rc == VESTA_OK && (rc = check(&ns->shadow, env, ns->name, &why)) != VESTA_OK)
            key = "namespaces.*.shadow_policy";
        free(env);
        if (rc == VESTA_ENOMEM) return vs_fail(err, rc, "%s", why.text);
        if (rc != VESTA_OK) return VS_CONF_WRONG(r, key, ns, err, "cannot be used: %s", why.text);
    }
    return VESTA_OK;
}
