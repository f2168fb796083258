/* tls.c -- the certificate of a config: whether one is needed, and what belongs to it.  Looks into no file. */
#include "base/array.h"
#include "base/error.h"
#include "config/schema.h"
#include "os/address.h"

#include <stdlib.h>

/* The first address where TLS is to be spoken; NULL: none. */
static const char *secure_address(const struct vs_config *config, const char **path) {
    const struct {
        const char *path;
        const struct vs_conf_list *list;
    } listens[] = {{"http.listen", &config->http}, {"resp.listen", &config->resp}, {"admin.listen", &config->admin}};
    for (size_t i = 0; i < VS_COUNT(listens); i++)
        for (int k = 0; k < listens[i].list->count; k++)
            if (vs_address_is_secure(listens[i].list->text[k]))
                return *path = listens[i].path, listens[i].list->text[k];
    return NULL;
}

static int check_pair(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    const char *path, *address = secure_address(config, &path);
    if (config->tls_certificate && !config->tls_key)
        return VS_CONF_WRONG(r, "tls.certificate", config, err, "is set, and tls.key is not (--tls-key FILE)");
    if (config->tls_key && !config->tls_certificate)
        return VS_CONF_WRONG(r, "tls.key", config, err, "is set, and tls.certificate is not (--tls-certificate FILE)");
    if (address && !config->tls_certificate)
        return VS_CONF_WRONG(r, path, config, err,
                             "has %s, and TLS needs a certificate and its key: tls.certificate and tls.key "
                             "(--tls-certificate FILE, --tls-key FILE)",
                             address);
    if (config->tls_certificate && !address && !getenv("LISTEN_FDS")) /* sockets that are handed over */
        vs_conf_add_note(config, "tls.certificate is set, and no address begins with tls:, so TLS is spoken nowhere");
    return VESTA_OK;
}

static int check_clients(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    if (config->tls_client_certificates && !config->tls_client_ca)
        return VS_CONF_WRONG(r, "tls.client_certificates", config, err,
                             "is set, and it is not said who signs them: tls.client_ca (--tls-client-ca FILE)");
    if (config->tls_client_ca && !config->tls_client_certificates)
        vs_conf_add_note(config,
                         "tls.client_ca is set, and tls.client_certificates is off: no client is asked for one");
    return VESTA_OK;
}

int vs_conf_tls(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct vs_config *config = r->config;
    int rc = vs_conf_beside(r, "tls.certificate", &config->tls_certificate, err);
    if (rc == VESTA_OK) rc = vs_conf_beside(r, "tls.key", &config->tls_key, err);
    if (rc == VESTA_OK) rc = vs_conf_beside(r, "tls.client_ca", &config->tls_client_ca, err);
    if (rc == VESTA_OK) rc = check_pair(r, err);
    if (rc == VESTA_OK) rc = check_clients(r, err);
    if (rc != VESTA_OK) return rc;
    const char *others = config->tls_key ? vs_conf_open_to(config->tls_key) : NULL;
    if (others)
        vs_conf_add_note(config, "others may %s %s, the private key of tls.key: chmod o= on it", others,
                         VS_CONF_SHOWN(config->tls_key));
    return VESTA_OK;
}
