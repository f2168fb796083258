/* names.c -- the namespaces of a server, as many as its config names, and which has a name.  Knows no protocol. */
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MIN 16 /* of the table; twice as many places as names at least, so that a search ends soon */

bool vs_namespaces_make(struct vs_app *app, int count) {
    assert(count >= 0 && count <= VS_NAMESPACES_MAX);
    size_t width = WIDTH_MIN;
    while (width < 2 * (size_t)count)
        width *= 2;
    app->ns_count = 0;
    app->ns = calloc((size_t)count + 1, sizeof *app->ns); /* never none: an index is a difference of pointers */
    app->names.place = calloc(width, sizeof *app->names.place);
    app->names.mask = width - 1;
    return app->ns && app->names.place;
}

void vs_namespaces_free(struct vs_app *app) {
    for (int i = 0; i < app->ns_count; i++)
        free(app->ns[i].ended);
    free(app->ns);
    free(app->names.place);
    app->ns = NULL;
    app->names.place = NULL;
    app->ns_count = 0;
}

/* FNV-1a: names are the config's, and nobody else chooses what stands in the table. */
static size_t hash_of(const char *name, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ hash >> 32);
}

static bool has_name(const struct vs_namespace *ns, const char *name, size_t length) {
    return ns->name_length == length && memcmp(ns->name, name, length) == 0;
}

/* Where the name stands, or would. */
static uint16_t *find(const struct vs_app *app, const char *name, size_t length) {
    size_t at = hash_of(name, length) & app->names.mask;
    while (app->names.place[at] && !has_name(&app->ns[app->names.place[at] - 1], name, length))
        at = (at + 1) & app->names.mask;
    return &app->names.place[at];
}

struct vs_namespace *vs_namespace_add(struct vs_app *app, const char *name) {
    struct vs_namespace *ns = &app->ns[app->ns_count++];
    size_t length = strlen(name);
    assert(2 * (size_t)app->ns_count <= app->names.mask + 1);
    ns->name_length = length < sizeof ns->name ? length : sizeof ns->name - 1;
    memcpy(ns->name, name, ns->name_length);
    uint16_t *place = find(app, ns->name, ns->name_length);
    if (!*place) *place = (uint16_t)app->ns_count;
    return ns;
}

/* The first is asked for most, and by who has no other. */
struct vs_namespace *vs_namespace_named(struct vs_app *app, const char *name, size_t length) {
    if (app->ns_count == 0) return NULL;
    if (!name || has_name(app->ns, name, length)) return app->ns;
    uint16_t place = app->ns_count > 1 ? *find(app, name, length) : 0;
    return place ? &app->ns[place - 1] : NULL;
}

void vs_namespace_seen(struct vs_app *app, struct vs_namespace *ns, bool is_ready) {
    bool was_ready = atomic_exchange(&ns->was_ready, is_ready);
    if (ns - app->ns >= VS_NAMESPACES_TOLD) atomic_fetch_add(&app->others_ready, is_ready - was_ready);
}

int vs_others_unready(const struct vs_app *app) {
    return app->ns_count - vs_told(app) - atomic_load(&app->others_ready);
}
