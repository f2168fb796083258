/* namespace.c -- the namespaces of a server: found by name, and open or not.  A server listens before its namespaces
 * are open, so that one whose store is away harms no other.  Knows no protocol and opens nothing. */
#include "base/error.h"
#include "server/request.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* over the `why` of all: read where there is no id */

void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why) {
    pthread_mutex_lock(&telling);
    if (why) snprintf(ns->why, sizeof ns->why, "%s", why);
    pthread_mutex_unlock(&telling);
    /* release: pairs with vs_namespace_is_open; gen and layout were set before */
    atomic_store_explicit(&ns->state, state, memory_order_release);
}

const char *vs_namespace_why(const struct vs_namespace *ns, char buf[VS_NAMESPACE_WHY_MAX]) {
    pthread_mutex_lock(&telling);
    memcpy(buf, ns->why, VS_NAMESPACE_WHY_MAX);
    pthread_mutex_unlock(&telling);
    return buf;
}

struct vs_namespace *vs_namespace_named(struct vs_app *app, const char *name, size_t length) {
    if (!name) return &app->ns[0];
    for (struct vs_namespace *ns = app->ns; ns < app->ns + app->ns_count; ns++)
        if (ns->name_length == length && memcmp(ns->name, name, length) == 0) return ns;
    return NULL;
}

static bool refuse_unknown(struct vs_request *r, struct vs_slice name) {
    const struct vs_app *app = r->session->app;
    if (app->ns_count == 1)
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s'", VS_QUOTE(name.at, name.length),
                  app->ns[0].name);
    else
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s' and %d more",
                  VS_QUOTE(name.at, name.length), app->ns[0].name, app->ns_count - 1);
    return false;
}

static bool refuse_closed(struct vs_request *r, struct vs_namespace *ns) {
    char why[VS_NAMESPACE_WHY_MAX];
    /* relaxed: which words the refusal has */
    bool for_good = atomic_load_explicit(&ns->state, memory_order_relaxed) == VS_NAMESPACE_REFUSED;
    r->opening = for_good ? NULL : ns;
    vs_refuse(r, for_good ? "not_served" : "not_ready", "'%s' %s: %s", ns->name,
              for_good ? "is not served" : "is not open yet", vs_namespace_why(ns, why));
    return false;
}

bool vs_request_enter(struct vs_request *r, struct vs_slice name) {
    struct vs_namespace *ns = vs_namespace_named(r->session->app, name.at, name.length);
    if (!ns) return refuse_unknown(r, name);
    if (!vs_namespace_is_open(ns)) return refuse_closed(r, ns);
    vs_request_turn(r, ns);
    return true;
}

uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause) {
    uint64_t refused = atomic_load(&ns->refused);
    *pause = (struct vesta_pause){.why = (enum vesta_why)atomic_load(&ns->refused_why),
                                  .wait_us = atomic_load(&ns->refused_wait_us)};
    return refused;
}
