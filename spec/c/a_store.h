/* a_store.h -- a store of a spec's own, opened, with a namespace in it if it is to have one. */
#ifndef SPEC_A_STORE_H
#define SPEC_A_STORE_H

#include "check.h"
#include "os/os.h"
#include "store/store.h"

/* NULL, and the check has failed. */
static struct vs_store *a_store_with(const char *uri, struct vs_store_opts opts) {
    struct vs_store *store = NULL;
    struct vesta_error err = {.text = ""};
    if (!opts.namespace_) opts.namespace_ = "ns";
    opts.group = -1;
    opts.clock = vs_clock_system();
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return store;
}

__attribute__((unused)) static struct vs_store *a_store(const char *uri) {
    return a_store_with(uri, (struct vs_store_opts){.namespace_ = NULL});
}

/* Of the kind whose place is a folder or a file: "file:" or "sqlite:". */
__attribute__((unused)) static struct vs_store *a_store_at(const char *scheme, const char *place) {
    char uri[1024];
    snprintf(uri, sizeof uri, "%s%s", scheme, place);
    return a_store(uri);
}

__attribute__((unused)) static void a_namespace(struct vs_store *store) {
    struct vs_ns_record ns = {.ver = 1, .fingerprint = 5, .incarnation = 6};
    struct vs_reply reply;
    store->ops->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
}

#endif
