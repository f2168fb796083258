/* a_store.h -- a store that a spec controls: opened by URI or by its place, with one-line calls. */
#ifndef SPEC_A_STORE_H
#define SPEC_A_STORE_H

#include "check.h"
#include "os/clock.h"
#include "store/store.h"

#include <unistd.h>

__attribute__((unused)) static struct vs_reply reply;

/* Opens a store by URI.  NULL: *err is the reason. */
static struct vs_store *try_store(const char *uri, const char *ns, int64_t call_ms_max, struct vesta_error *err) {
    struct vs_store *store = NULL;
    struct vs_store_opts opts = {.namespace_ = ns, .group = -1, .clock = vs_clock_system(), .call_ms_max = call_ms_max};
    return vs_store_open(uri, &opts, &store, err) == VESTA_OK ? store : NULL;
}

/* Opens a store whose place is a folder or a file: "file:" or "sqlite:".  NULL: the check has failed. */
__attribute__((unused)) static struct vs_store *a_store_of(const char *scheme, const char *place, const char *ns,
                                                           int64_t call_ms_max) {
    char uri[1024];
    struct vesta_error err = {.text = ""};
    snprintf(uri, sizeof uri, "%s%s", scheme, place);
    struct vs_store *store = try_store(uri, ns, call_ms_max, &err);
    if (!store) CHECK_FAIL("%s", err.text);
    return store;
}

__attribute__((unused)) static struct vs_store *a_store(const char *scheme, const char *place) {
    return a_store_of(scheme, place, "ns", 0);
}

__attribute__((unused)) static enum vs_outcome read_of(struct vs_store *store, uint64_t worker) {
    store->leases->read(store, worker, &reply);
    return reply.outcome;
}

/* Replaces the record, with a new `until`. */
__attribute__((unused)) static enum vs_outcome swap_of(struct vs_store *store, uint64_t worker, uint64_t old_ver,
                                                       uint64_t until) {
    struct vs_record record = {.ver = old_ver + 1, .until = until, .held = true, .owner = {1, 2}, .lease_ms = 15000};
    snprintf(record.identity, sizeof record.identity, "somebody");
    snprintf(record.holder, sizeof record.holder, "pid %d", (int)getpid());
    store->leases->swap(store, worker, old_ver, &record, &reply);
    return reply.outcome;
}

__attribute__((unused)) static enum vs_outcome ns_swap_of(struct vs_store *store, uint64_t old_ver,
                                                          uint64_t fingerprint, uint64_t incarnation) {
    struct vs_ns_record ns = {.ver = old_ver + 1, .fingerprint = fingerprint, .incarnation = incarnation};
    snprintf(ns.layout, sizeof ns.layout, "a layout");
    store->leases->ns_swap(store, old_ver, &ns, &reply);
    return reply.outcome;
}

/* Creates a namespace that does not exist. */
__attribute__((unused)) static void begin_namespace(struct vs_store *store) {
    CHECK(ns_swap_of(store, 0, 5, 6) == VS_STORE_OK);
}

#endif
