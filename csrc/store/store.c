/* store.c -- from a URI to the backend that serves it. */
#include "store/store.h"
#include "core/core.h"

static const struct vs_store_ops *const backends[] = {&vs_store_file};

static const struct vs_store_ops *find(const char *uri, const char **place) {
    for (size_t i = 0; i < VS_COUNT(backends); i++) {
        size_t length = strlen(backends[i]->scheme);
        if (strncmp(uri, backends[i]->scheme, length) == 0 && uri[length] == ':') {
            *place = uri + length + 1;
            return backends[i];
        }
    }
    return NULL;
}

int vs_store_check(const char *uri, struct vesta_error *err) {
    const char *place;
    if (!find(uri, &place))
        return vs_fail(err, VESTA_EOPTION, "no store like '%s': this build has file:DIR", VS_QUOTE(uri, strlen(uri)));
    if (strlen(uri) >= VS_URI_MAX)
        return vs_fail(err, VESTA_EOPTION, "the store's URI is longer than %d bytes", VS_URI_MAX - 1);
    if (*place != '/')
        return vs_fail(err, VESTA_EOPTION, "the store '%s' needs an absolute path: file:/var/lib/vesta",
                       VS_QUOTE(uri, strlen(uri)));
    return VESTA_OK;
}

int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err) {
    int rc = vs_store_check(uri, err);
    const char *place = NULL;
    return rc == VESTA_OK ? find(uri, &place)->open(place, opts, store, err) : rc;
}
