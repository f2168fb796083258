/* spaces.c -- the namespaces of a server: how each is opened, named and told of.  Knows no socket and no thread. */
#include "base/error.h"
#include "command/options.h"
#include "serve/serving.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 256

/* One handle a face, because the `method` field, where a layout has one, says which face made an id. */
static int open_face(const struct vesta_opts *from, const struct vesta_layout *layout, enum vs_face face,
                     struct vesta_gen **gen, struct vesta_error *err) {
    static const int method[VS_ID_FACES] = {[VS_RESP] = 1, [VS_HTTP] = 2};
    struct vesta_opts opts = *from;
    char fields[FIELDS_MAX];
    int at = vesta_layout_find(layout, "method");
    if (at >= 0 && !layout->field[at].fixed) {
        int length = snprintf(fields, sizeof fields, "%s method=%d", opts.fields ? opts.fields : "", method[face]);
        if (length >= (int)sizeof fields)
            return vs_fail(err, VESTA_EOPTION, "--fields is longer than %d bytes", FIELDS_MAX);
        opts.fields = fields;
    }
    return vesta_open(&opts, gen, err);
}

static void close_faces(struct vs_space *space) {
    for (int face = 0; face < VS_ID_FACES; face++) {
        vesta_close(space->gen[face]);
        space->gen[face] = NULL;
    }
}

/* The layout may be the file's own, so a first handle is opened to ask for it. */
int vs_space_open_gen(struct vs_serving *serving, int i, struct vesta_error *err) {
    struct vs_space *space = &serving->app.space[i];
    const struct vesta_opts *opts = &serving->space[i].opts;
    struct vesta_gen *first;
    int rc = vesta_open(opts, &first, err);
    if (rc != VESTA_OK) return rc;
    for (int face = 0; face < VS_ID_FACES && rc == VESTA_OK; face++)
        rc = open_face(opts, vesta_gen_layout(first), face, &space->gen[face], err);
    if (rc == VESTA_OK)
        space->layout = vesta_gen_layout(space->gen[VS_RESP]);
    else
        close_faces(space);
    vesta_close(first);
    return rc;
}

static void name_space(struct vs_space *space, const char *name) {
    snprintf(space->name, sizeof space->name, "%s", name);
    space->name_length = strlen(space->name);
}

/* A generator file that is attached to says itself which namespace it is of. */
static int name_by_file(const struct vesta_opts *opts, struct vs_space *space) {
    struct vesta_error err;
    struct vesta_info info;
    struct vesta_gen *gen;
    if (vesta_open(opts, &gen, &err) != VESTA_OK) return vs_report(&err);
    vesta_get_info(gen, &info);
    name_space(space, info.namespace_);
    vesta_close(gen);
    return VS_GO;
}

int vs_spaces_prepare(struct vs_serving *serving) {
    struct vs_app *app = &serving->app;
    int rc = VS_GO;
    for (int i = 0; i < serving->space_count && rc == VS_GO; i++) {
        struct vs_serving_space *from = &serving->space[i];
        struct vs_space *space = &app->space[app->space_count++];
        from->opts.any_worker = !from->opts.has_worker && !from->opts.store;
        if (vs_policies_wanted(serving)) from->opts.flags |= VESTA_CHOOSES;
        space->wait_us_max = from->wait_ms_max * 1000;
        space->park_us_max = from->park_ms_max * 1000;
        vs_space_set(space, VS_SPACE_OPENING, "the server has just begun");
        if (!from->opts.namespace_ && from->opts.path)
            rc = name_by_file(&from->opts, space);
        else
            name_space(space, from->opts.namespace_ ? from->opts.namespace_ : serving->config->space[i].name);
    }
    return rc;
}

void vs_space_say(const struct vs_space *space) {
    struct vesta_info info;
    vesta_get_info(space->gen[VS_RESP], &info);
    if (*info.warning) vs_log(VS_LOG_WARN, info.warning, "namespace", info.namespace_, NULL);
    bool shared = !vs_store_is_local(info.store);
    vs_log(VS_LOG_INFO, "serving ids", "namespace", info.namespace_, "worker", VS_DIGITS((int64_t)info.worker),
           "number", info.drew_worker && !shared ? "drawn at random by this machine, which keeps it" : NULL, "store",
           shared ? info.store : NULL, NULL);
}

void vs_spaces_state(const struct vs_serving *serving) {
    const struct vs_app *app = &serving->app;
    for (int i = 0; i < app->space_count; i++) {
        struct vesta_info info;
        char why[VS_SPACE_WHY_MAX];
        if (!vs_space_is_open(&app->space[i])) {
            vs_log(VS_LOG_INFO, "state", "namespace", app->space[i].name, "not_open", vs_space_why(&app->space[i], why),
                   NULL);
            continue;
        }
        vesta_get_info(app->space[i].gen[VS_RESP], &info);
        vs_log(VS_LOG_INFO, "state", "namespace", info.namespace_, "leased", info.holds_lease ? "yes" : "no", "worker",
               info.holds_lease ? VS_DIGITS((int64_t)info.worker) : NULL, "lease_ms_left",
               info.holds_lease ? VS_DIGITS(info.lease_end_ms - vs_now_ms()) : NULL, "slot", VS_DIGITS(info.slot),
               "slots_used", VS_DIGITS(info.slots_used), "keeper", *info.keeper ? info.keeper : NULL, "path", info.path,
               "connections", VS_DIGITS(vs_budget_open(app->budget, VS_FACES)), NULL);
    }
}

void vs_space_close(struct vs_serving *serving, int i) {
    close_faces(&serving->app.space[i]);
}
