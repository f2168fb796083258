/* spaces.c -- the namespaces of a server: opened, leased, given back.  Knows no socket. */
#include "core/core.h"
#include "host/control.h"
#include "main/options.h"
#include "main/serving.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define LEASE_MS_MAX 60000     /* how long the start may take */
#define LEASE_PROGRESS_MS 2000 /* nobody should look at a silent program for longer */
#define LEASE_STEP_US 100000
#define CHOICE_STEP_US 1000 /* a policy answers soon */
#define FIELDS_MAX 256

/* One handle a face, because the `method` field, where a layout has one, says which face made an id. */
static int open_face(const struct vesta_opts *from, const struct vesta_layout *layout, enum vs_face face,
                     struct vesta_gen **gen) {
    static const int method[VS_ID_FACES] = {[VS_RESP] = 1, [VS_HTTP] = 2};
    struct vesta_opts opts = *from;
    struct vesta_error err;
    char fields[FIELDS_MAX];
    int at = vesta_layout_find(layout, "method");
    if (at >= 0 && !layout->field[at].fixed) {
        int length = snprintf(fields, sizeof fields, "%s method=%d", opts.fields ? opts.fields : "", method[face]);
        if (length >= (int)sizeof fields) return vs_usage("--fields is longer than %d bytes", FIELDS_MAX);
        opts.fields = fields;
    }
    return vesta_open(&opts, gen, &err) == VESTA_OK ? VS_GO : vs_report(&err);
}

/* The layout may be the file's own, so a first handle is opened to ask for it. */
static int open_space(struct vs_serving_space *from, bool judged, struct vs_space *space) {
    struct vesta_error err;
    struct vesta_gen *first;
    struct vesta_info info;
    from->opts.any_worker = !from->opts.has_worker && !from->opts.store;
    if (judged) from->opts.flags |= VESTA_CHOOSES;
    if (vesta_open(&from->opts, &first, &err) != VESTA_OK) return vs_report(&err);
    int rc = VS_GO;
    for (int face = 0; face < VS_ID_FACES && rc == VS_GO; face++)
        rc = open_face(&from->opts, vesta_gen_layout(first), face, &space->gen[face]);
    vesta_get_info(first, &info);
    memcpy(space->name, info.namespace_, sizeof space->name);
    space->name_length = strlen(space->name);
    space->wait_us_max = from->wait_ms_max * 1000;
    space->park_us_max = from->park_ms_max * 1000;
    if (rc == VS_GO) space->layout = vesta_gen_layout(space->gen[VS_RESP]);
    vesta_close(first);
    return rc;
}

int vs_spaces_open(struct vs_serving *serving) {
    struct vs_app *app = &serving->app;
    int rc = VS_GO;
    for (int i = 0; i < serving->space_count && rc == VS_GO; i++)
        rc = open_space(&serving->space[i], vs_policies_wanted(serving), &app->space[app->space_count++]);
    return rc;
}

/* Has the keeper's question answered; false: a policy wants no lease, and that is said. */
static bool is_wanted(const struct vs_serving *serving, int i, const struct vesta_pause *pause) {
    const struct vs_host *host = &serving->app.host;
    const struct vs_space *space = &serving->app.space[i];
    char why[VS_OVER_MAX];
    int64_t until_us;
    if (!serving->control) return true;
    if (pause->why == VESTA_CHOOSE) (void)host->judge(host->self, i, space->gen[VS_RESP], pause, &until_us);
    if (!vs_control_is_over(serving->control, i, why)) return true;
    vs_say("%s: %s", space->name, why);
    return false;
}

static int lease(const struct vs_serving *serving, int i) {
    const struct vs_space *space = &serving->app.space[i];
    const struct vesta_clock *clock = serving->app.clock;
    struct vesta_gen *gen = space->gen[VS_RESP];
    int64_t from_us = clock->boot_us(clock->self), said_us = from_us;
    struct vesta_pause pause;
    char text[256] = "";
    uint64_t id;
    if (vesta_keep(gen) != VESTA_OK) return vs_say("cannot start the keeper of the lease"), VS_FAILED;
    while (vesta_next_wait(gen, &id, LEASE_STEP_US, &pause) != VESTA_OK) {
        int64_t now_us = clock->boot_us(clock->self);
        if (pause.why != VESTA_CHOOSE || !*text) /* the last answer's reason says more than the next question */
            vesta_pause_text(gen, &pause, text, sizeof text);
        if (!is_wanted(serving, i, &pause)) return VS_FAILED;
        if (pause.why == VESTA_CHOOSE)
            clock->sleep_us(clock->self, CHOICE_STEP_US);
        else if (pause.why != VESTA_LEASE && pause.wait_us >= 0)
            return VS_GO; /* a request may meet that at any time */
        if (pause.wait_us < 0 || now_us - from_us >= LEASE_MS_MAX * 1000)
            return vs_say("%s: %s", space->name, text), VS_FAILED;
        if (now_us - said_us < LEASE_PROGRESS_MS * 1000) continue;
        vs_log(VS_LOG_WARN, "waiting for a worker number", "namespace", space->name, "why", text, NULL);
        vs_notify("STATUS=waiting for a worker number of %s", space->name);
        said_us = now_us;
    }
    return VS_GO;
}

int vs_spaces_lease(struct vs_serving *serving) {
    const struct vs_app *app = &serving->app;
    int rc = VS_GO;
    for (int i = 0; i < app->space_count && rc == VS_GO; i++)
        rc = lease(serving, i);
    return rc;
}

void vs_spaces_say(const struct vs_serving *serving) {
    const struct vs_app *app = &serving->app;
    for (int i = 0; i < app->space_count; i++) {
        struct vesta_info info;
        vesta_get_info(app->space[i].gen[VS_RESP], &info);
        if (*info.warning) vs_log(VS_LOG_WARN, info.warning, "namespace", info.namespace_, NULL);
        bool shared = !vs_store_is_local(info.store);
        vs_log(VS_LOG_INFO, "serving ids", "namespace", info.namespace_, "worker", VS_DIGITS((int64_t)info.worker),
               "number", info.drew_worker && !shared ? "drawn at random by this machine, which keeps it" : NULL,
               "store", shared ? info.store : NULL, NULL);
    }
}

void vs_spaces_state(const struct vs_serving *serving) {
    const struct vs_app *app = &serving->app;
    for (int i = 0; i < app->space_count; i++) {
        struct vesta_info info;
        vesta_get_info(app->space[i].gen[VS_RESP], &info);
        vs_log(VS_LOG_INFO, "state", "namespace", info.namespace_, "leased", info.holds_lease ? "yes" : "no", "worker",
               info.holds_lease ? VS_DIGITS((int64_t)info.worker) : NULL, "lease_ms_left",
               info.holds_lease ? VS_DIGITS(info.lease_end_ms - vs_now_ms()) : NULL, "slot", VS_DIGITS(info.slot),
               "slots_used", VS_DIGITS(info.slots_used), "keeper", *info.keeper ? info.keeper : NULL, "path", info.path,
               "connections", VS_DIGITS(vs_budget_open(app->budget, VS_FACES)), NULL);
    }
}

int vs_spaces_release(struct vs_serving *serving) {
    struct vs_app *app = &serving->app;
    int rc = VS_DONE;
    for (int i = 0; i < app->space_count; i++) {
        struct vesta_error err;
        if (vesta_release(app->space[i].gen[VS_RESP], &err) == VESTA_OK) continue;
        vs_say("the worker number of '%s' was not given back: %s", app->space[i].name, err.text);
        rc = VS_FAILED;
    }
    return rc;
}

void vs_spaces_close(struct vs_serving *serving) {
    struct vs_app *app = &serving->app;
    for (int i = 0; i < app->space_count; i++)
        for (int face = 0; face < VS_ID_FACES; face++)
            vesta_close(app->space[i].gen[face]);
}
