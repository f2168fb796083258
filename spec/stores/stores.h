/* stores.h -- a store in a spec's hands: opened by URI, asked in one line. */
#ifndef SPEC_STORES_H
#define SPEC_STORES_H

#include "crowd.h"

#include "os/os.h"
#include "store/store.h"

#define INCARNATION UINT64_C(0x1234567890abcdef)

static struct vs_reply reply;

__attribute__((unused)) static const char *outcome_name(enum vs_outcome outcome) {
    static const char *const names[] = {"OK", "CONFLICT", "MOVED", "REFUSED", "DOWN", "UNKNOWN"};
    return names[outcome];
}

#define PATIENT_MS 20000 /* where no deadline is shown: a busy machine is no silent store */

__attribute__((unused)) static struct vs_store *open_store(const char *uri, const char *ns, int64_t call_ms_max) {
    struct vs_store *store = NULL;
    struct vesta_error err = {.text = ""};
    struct vs_store_opts opts = {.namespace_ = ns, .group = -1, .clock = vs_clock_system(), .call_ms_max = call_ms_max};
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) {
        fprintf(stderr, "cannot open the store: %s\n", err.text);
        exit(2);
    }
    return store;
}

__attribute__((unused)) static enum vs_outcome read_of(struct vs_store *store, uint64_t worker) {
    store->ops->read(store, worker, &reply);
    return reply.outcome;
}

/* Writes `until` over the version. */
__attribute__((unused)) static enum vs_outcome swap_of(struct vs_store *store, uint64_t worker, uint64_t old_ver,
                                                       uint64_t until) {
    struct vs_record record = {.ver = old_ver + 1, .until = until, .held = true, .owner = {1, 2}, .lease_ms = 15000};
    snprintf(record.identity, sizeof record.identity, "somebody");
    snprintf(record.holder, sizeof record.holder, "pid %d", (int)getpid());
    store->ops->swap(store, worker, old_ver, &record, &reply);
    return reply.outcome;
}

__attribute__((unused)) static enum vs_outcome ns_swap_of(struct vs_store *store, uint64_t old_ver,
                                                          uint64_t fingerprint, uint64_t incarnation) {
    struct vs_ns_record ns = {.ver = old_ver + 1, .fingerprint = fingerprint, .incarnation = incarnation};
    snprintf(ns.layout, sizeof ns.layout, "a layout");
    store->ops->ns_swap(store, old_ver, &ns, &reply);
    return reply.outcome;
}

#endif
