/* names.c -- the namespaces of a server, as many as its config names, and which has a name.  Knows no protocol. */
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool vs_namespaces_make(struct vs_app *app, int count) {
    assert(count >= 0 && count <= VS_NAMESPACES_MAX);
    size_t width = vs_table_width((size_t)count);
    app->ns_count = 0;
    app->ns = calloc((size_t)count + 1, sizeof *app->ns); /* never none: an index is a difference of pointers */
    app->names = (struct vs_table){calloc(width, sizeof *app->names.slot), width - 1};
    return app->ns && app->names.slot;
}

void vs_namespaces_free(struct vs_app *app) {
    for (int i = 0; i < app->ns_count; i++)
        free(app->ns[i].ended);
    free(app->ns);
    free(app->names.slot);
    app->ns = NULL;
    app->names.slot = NULL;
    app->ns_count = 0;
}

static bool namespace_has_name(const struct vs_namespace *ns, const char *name, size_t length) {
    return ns->name_length == length && memcmp(ns->name, name, length) == 0;
}

/* The seed is 0, since clients do not choose the names. */
static struct vs_namespace *namespace_find(const struct vs_app *app, const char *name, size_t length) {
    uint64_t hash = vs_table_hash(name, length, 0);
    size_t at = vs_table_begin(&app->names, hash);
    uint32_t item;
    while (vs_table_next(&app->names, hash, &at, &item))
        if (namespace_has_name(&app->ns[item], name, length)) return &app->ns[item];
    return NULL;
}

struct vs_namespace *vs_namespace_add(struct vs_app *app, const char *name) {
    struct vs_namespace *ns = &app->ns[app->ns_count];
    size_t length = strlen(name);
    ns->name_length = length < sizeof ns->name ? length : sizeof ns->name - 1;
    memcpy(ns->name, name, ns->name_length);
    if (!namespace_find(app, ns->name, ns->name_length))
        vs_table_put(&app->names, vs_table_hash(ns->name, ns->name_length, 0), (uint32_t)app->ns_count);
    app->ns_count++;
    return ns;
}

/* Most requests ask the first, and those without a name all do. */
struct vs_namespace *vs_namespace_named(struct vs_app *app, const char *name, size_t length) {
    if (app->ns_count == 0) return NULL;
    if (!name || namespace_has_name(app->ns, name, length)) return app->ns;
    return app->ns_count > 1 ? namespace_find(app, name, length) : NULL;
}

void vs_namespace_seen(struct vs_app *app, struct vs_namespace *ns, bool is_ready) {
    bool was_ready = atomic_exchange(&ns->was_ready, is_ready);
    if (ns - app->ns >= VS_NAMESPACES_TOLD) atomic_fetch_add(&app->others_ready, is_ready - was_ready);
}

int vs_others_unready(const struct vs_app *app) {
    return app->ns_count - vs_told(app) - atomic_load(&app->others_ready);
}
