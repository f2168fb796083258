/* stores.h -- opens a store for the programs of these tests, and exits if that fails. */
#ifndef SPEC_STORES_H
#define SPEC_STORES_H

#include "a_store.h"
#include "crowd.h"

#define INCARNATION UINT64_C(0x1234567890abcdef)

__attribute__((unused)) static const char *outcome_name(enum vs_outcome outcome) {
    static const char *const names[] = {"OK", "CONFLICT", "MOVED", "REFUSED", "DOWN", "UNKNOWN"};
    return names[outcome];
}

#define PATIENT_MS 20000 /* for calls without a visible deadline, because a busy machine is no silent store */

__attribute__((unused)) static struct vs_store *open_store(const char *uri, const char *ns, int64_t call_ms_max) {
    struct vesta_error err = {.text = ""};
    struct vs_store *store = try_store(uri, ns, call_ms_max, &err);
    if (!store) {
        fprintf(stderr, "cannot open the store: %s\n", err.text);
        exit(2);
    }
    return store;
}

#endif
