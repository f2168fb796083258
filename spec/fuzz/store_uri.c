/* store_uri.c -- reads any bytes as the URI of a store: it is rejected with a reason, or its parts fit their limits. No
 * message contains the text between a user's ':' and the following '@'. */
#include "fuzz.h"

#include "store/reply.h"

static const char *const keys[] = {"tls", "ca", "secret_file", "socket", "galera", NULL};

/* Reads the same bytes after file:, as a path that is read back or rejected with a reason. Any bytes as a path have
 * exactly one URI. */
static void on_this_machine(const char *text) {
    static char uri[VS_URI_MAX], path[VS_URI_MAX], again[VS_URI_MAX], out[VS_URI_MAX];
    struct vesta_error err = {0};
    if (snprintf(uri, sizeof uri, "file:%s", text) >= (int)sizeof uri) return;
    int rc = vs_uri_path(&vs_store_file, uri, path, &err);
    MUST(rc == VESTA_OK || (rc == VESTA_EOPTION && err.text[0]));
    for (const char *c = err.text; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
    if (rc == VESTA_OK && vs_uri_of_path("file", path, out, NULL) == VESTA_OK) {
        const char *from = path;
        while (from[1] == '/')
            from++;
        MUST(vs_uri_place(out, again) && strcmp(again, from) == 0);
    }
    vs_uri_of_kept(uri);
    memcpy(again, uri, sizeof again);
    vs_uri_of_kept(again);
    MUST(strcmp(again, uri) == 0);
}

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
    on_this_machine(text);
    free(text);
    return 0;
}
