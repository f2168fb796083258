/* space.c -- the namespaces of a server: found by name, and open or not.  A server listens before its namespaces are
 * open, so that one whose store is away harms no other.  Knows no protocol and opens nothing. */
#include "base/error.h"
#include "server/request.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* over the `why` of all: read where there is no id */

void vs_space_set(struct vs_space *space, enum vs_space_state state, const char *why) {
    pthread_mutex_lock(&telling);
    if (why) snprintf(space->why, sizeof space->why, "%s", why);
    pthread_mutex_unlock(&telling);
    /* release: pairs with vs_space_is_open; gen and layout were set before */
    atomic_store_explicit(&space->state, state, memory_order_release);
}

const char *vs_space_why(const struct vs_space *space, char buf[VS_SPACE_WHY_MAX]) {
    pthread_mutex_lock(&telling);
    memcpy(buf, space->why, VS_SPACE_WHY_MAX);
    pthread_mutex_unlock(&telling);
    return buf;
}

struct vs_space *vs_space_named(struct vs_app *app, const char *name, size_t length) {
    if (!name) return &app->space[0];
    for (struct vs_space *space = app->space; space < app->space + app->space_count; space++)
        if (space->name_length == length && memcmp(space->name, name, length) == 0) return space;
    return NULL;
}

static bool refuse_unknown(struct vs_request *r, struct vs_slice name) {
    const struct vs_app *app = r->session->app;
    if (app->space_count == 1)
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s'", VS_QUOTE(name.at, name.length),
                  app->space[0].name);
    else
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s' and %d more",
                  VS_QUOTE(name.at, name.length), app->space[0].name, app->space_count - 1);
    return false;
}

static bool refuse_closed(struct vs_request *r, struct vs_space *space) {
    char why[VS_SPACE_WHY_MAX];
    /* relaxed: which words the refusal has */
    bool for_good = atomic_load_explicit(&space->state, memory_order_relaxed) == VS_SPACE_REFUSED;
    r->opening = for_good ? NULL : space;
    vs_refuse(r, for_good ? "not_served" : "not_ready", "'%s' %s: %s", space->name,
              for_good ? "is not served" : "is not open yet", vs_space_why(space, why));
    return false;
}

bool vs_request_enter(struct vs_request *r, struct vs_slice name) {
    struct vs_space *space = vs_space_named(r->session->app, name.at, name.length);
    if (!space) return refuse_unknown(r, name);
    if (!vs_space_is_open(space)) return refuse_closed(r, space);
    vs_request_turn(r, space);
    return true;
}

uint64_t vs_space_refused(const struct vs_space *space, struct vesta_pause *pause) {
    uint64_t refused = atomic_load(&space->refused);
    *pause = (struct vesta_pause){.why = (enum vesta_why)atomic_load(&space->refused_why),
                                  .wait_us = atomic_load(&space->refused_wait_us)};
    return refused;
}
