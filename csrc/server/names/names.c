/* names.c -- the namespaces of a server and their names.  Contains no protocol code. */
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool vs_namespaces_make(struct vs_names *names, int count) {
    assert(count >= 0 && count <= VS_NAMESPACES_MAX);
    size_t width = vs_table_width((size_t)count);
    names->count = 0;
    /* at least one element, so that `at` is never NULL and pointer differences are valid */
    names->at = calloc((size_t)count + 1, sizeof *names->at);
    names->by_name = (struct vs_table){calloc(width, sizeof *names->by_name.slot), width - 1};
    return names->at && names->by_name.slot;
}

void vs_namespaces_free(struct vs_names *names) {
    for (int i = 0; i < names->count; i++) {
        vs_mask_close(names->at[i].mask);
        free((void *)names->at[i].uuid_key);
        free(names->at[i].ended);
    }
    free(names->at);
    free(names->by_name.slot);
    names->at = NULL;
    names->by_name.slot = NULL;
    names->count = 0;
}

static bool namespace_has_name(const struct vs_namespace *ns, const char *name, size_t length) {
    return ns->name_length == length && memcmp(ns->name, name, length) == 0;
}

/* The hash needs no random seed, because clients do not choose the names. */
static struct vs_namespace *namespace_find(const struct vs_names *names, const char *name, size_t length) {
    uint64_t hash = vs_table_hash(name, length, 0);
    size_t at = vs_table_begin(&names->by_name, hash);
    uint32_t item;
    while (vs_table_next(&names->by_name, hash, &at, &item))
        if (namespace_has_name(&names->at[item], name, length)) return &names->at[item];
    return NULL;
}

struct vs_namespace *vs_namespace_add(struct vs_names *names, const char *name) {
    struct vs_namespace *ns = &names->at[names->count];
    size_t length = strlen(name);
    ns->name_length = length < sizeof ns->name ? length : sizeof ns->name - 1;
    memcpy(ns->name, name, ns->name_length);
    if (!namespace_find(names, ns->name, ns->name_length))
        vs_table_put(&names->by_name, vs_table_hash(ns->name, ns->name_length, 0), (uint32_t)names->count);
    names->count++;
    return ns;
}

/* Compares the name with the first namespace before searching the table, because most requests name that namespace.  A
 * request without a name uses it too. */
struct vs_namespace *vs_namespace_named(struct vs_names *names, const char *name, size_t length) {
    if (names->count == 0) return NULL;
    if (!name || namespace_has_name(names->at, name, length)) return names->at;
    return names->count > 1 ? namespace_find(names, name, length) : NULL;
}

void vs_namespace_seen(struct vs_names *names, struct vs_namespace *ns, bool is_ready) {
    bool was_ready = atomic_exchange(&ns->was_ready, is_ready);
    if (ns - names->at >= VS_NAMESPACES_TOLD) atomic_fetch_add(&names->others_ready, is_ready - was_ready);
}

int vs_others_unready(const struct vs_names *names) {
    return names->count - vs_told(names) - atomic_load(&names->others_ready);
}
