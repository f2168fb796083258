/* store_uri.c -- any bytes as the URI of a store: refused with a reason, or parts within their bounds; and no message
 * tells what stands between a user's ':' and the '@' behind it. */
#include "fuzz.h"

#include "store/reply.h"

static const char *const keys[] = {"tls", "ca", "secret_file", "socket", "galera", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = text_of(data, size), host[256];
    static struct vs_uri uri;
    struct vesta_error err = {0};
    unsigned port = 3306;
    int rc = vs_uri_parse(text, keys, &uri, &err);
    MUST(rc == VESTA_OK || (rc == VESTA_EOPTION && err.code == rc && err.text[0]));
    for (const char *c = err.text; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
    if (rc == VESTA_OK) {
        MUST(uri.hosts[0] && strlen(uri.hosts) < sizeof uri.hosts && strlen(uri.path) < sizeof uri.path);
        MUST(strlen(uri.user) < sizeof uri.user && strlen(uri.password) < sizeof uri.password);
        MUST(!uri.path[0] || uri.path[0] == '/');
        if (vs_uri_host(uri.hosts, host, sizeof host, &port, &err) == VESTA_OK)
            MUST(host[0] && port > 0 && port < 65536);
    }
    free(text);
    return 0;
}
