/* policies.c -- the policies of a server's namespaces: which there are, and the thread that judges by them.  Knows no
 * Lua. */
#include "core/core.h"
#include "host/control.h"
#include "main/options.h"
#include "main/serving.h"

#include <stdlib.h>

static int read_sources(void *self, struct vs_policy_source *out, struct vesta_error *err) {
    const struct vs_serving *serving = self;
    for (int i = 0; i < serving->space_count; i++) {
        const char *name = serving->space[i].policy;
        if (!name) continue;
        out[i].name = strdup(name);
        if (!out[i].name) return vs_fail(err, VESTA_ENOMEM, "no memory");
    }
    return VESTA_OK;
}

static void wake(void *self) {
    vs_serve_wake(&((struct vs_serving *)self)->app);
}

int vs_policies_open(struct vs_serving *serving) {
    struct vs_app *app = &serving->app;
    const char *names[VS_SPACES_MAX];
    struct vs_control_opts opts = {
        .space = names, .space_count = app->space_count, .sources = read_sources, .changed = wake, .self = serving};
    struct vesta_error err;
    bool any = false;
    for (int i = 0; i < app->space_count; i++) {
        names[i] = app->space[i].name;
        any = any || serving->space[i].policy;
    }
    if (!any) return VS_GO;
    if (vs_control_open(&opts, &serving->control, &err) != VESTA_OK) return vs_report(&err);
    app->host = vs_control_host(serving->control);
    return VS_GO;
}

void vs_policies_close(struct vs_serving *serving) {
    vs_control_close(serving->control);
}
