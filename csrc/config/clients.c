/* clients.c -- the clients of a config: their file is read, and what it has is held against the names that are served. */
#include "access/accounts.h"
#include "base/error.h"
#include "config/schema.h"

#include <stdio.h>

int vs_conf_beside(const struct vs_conf_reading *r, const char *key, const char **path, struct vesta_error *err) {
    const char *slash = r->source.path ? strrchr(r->source.path, '/') : NULL;
    char full[4096];
    bool is_ours = *vs_conf_origin(vs_conf_key_of(key), r->config) == VS_FROM_FILE;
    if (!*path || **path == '/' || !slash || !is_ours) return VESTA_OK;
    int n = snprintf(full, sizeof full, "%.*s%s", (int)(slash + 1 - r->source.path), r->source.path, *path);
    *path = n < (int)sizeof full ? vs_conf_keep(r->config, full, (size_t)n) : NULL;
    return *path ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory for the config");
}

/* What the names mean is said in one place. */
static int check_others(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    static const char twice[] = "is set beside clients, whose file has all secrets: remove it, and create a client with "
                                "`vesta client add NAME`, which prints the token that replaces it";
    if (config->resp_password) return VS_CONF_WRONG(r, "resp.password", config, err, twice);
    if (config->tinyid_tokens.count > 0) return VS_CONF_WRONG(r, "tinyid.tokens", config, err, twice);
    if (config->open) return VS_CONF_WRONG(r, "open", config, err, "is set beside clients, which say who may ask");
    return VESTA_OK;
}

static bool is_served(const struct vs_config *config, struct vs_slice pattern) {
    for (int i = 0; i < config->ns_count; i++)
        if (vs_pattern_has(pattern, (struct vs_slice){config->ns[i].name, strlen(config->ns[i].name)})) return true;
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *s = &config->segment[i];
        for (int t = 0; t < s->tags.count; t++)
            if (vs_conf_segment_is_any(s) || vs_pattern_has(pattern, (struct vs_slice){s->tags.text[t], strlen(s->tags.text[t])}))
                return true;
    }
    return false;
}

static void note_patterns(struct vs_config *config) {
    struct vs_slice pattern;
    for (int i = 0; i < config->clients->count; i++)
        for (int k = 0; vs_account_pattern(&config->clients->at[i], k, &pattern); k++)
            if (!is_served(config, pattern))
                vs_conf_add_note(config, "clients: '%.*s' of client %s matches no namespace and no tag", (int)pattern.length,
                                 pattern.at, config->clients->at[i].name);
}

static void note_certificates(struct vs_config *config) {
    for (int i = 0; i < config->clients->count && !config->tls_client_certificates; i++)
        if (config->clients->at[i].by_certificate)
            vs_conf_add_note(config,
                             "clients: %s can only be proved by a certificate, and tls.client_certificates is off: set "
                             "it to optional, or run `vesta client rotate %s`",
                             config->clients->at[i].name, config->clients->at[i].name);
}

int vs_conf_clients(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    struct vesta_error why;
    const char *others = NULL;
    if (!config->clients_file) return VESTA_OK;
    int rc = vs_conf_beside(r, "clients", &config->clients_file, err);
    if (rc == VESTA_OK) rc = check_others(r, err);
    if (rc != VESTA_OK) return rc;
    if (vs_accounts_read(config->clients_file, &config->clients, &others, &why) != VESTA_OK)
        return VS_CONF_WRONG(r, "clients", config, err, "cannot be used: %s%s", why.text,
                             why.code == VESTA_EIO ? "; vesta client add NAME creates it" : "");
    if (others)
        vs_conf_add_note(config, "clients is %s, which others may %s: chmod o= on it", VS_CONF_SHOWN(config->clients_file),
                         others);
    note_patterns(config);
    note_certificates(config);
    return VESTA_OK;
}
