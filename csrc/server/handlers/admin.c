/* admin.c -- the admin's routes: what goes on, and a few actions.  Knows no socket and no policy.
 *
 * Reload and drain are the signals HUP and TERM by another door, so they cannot differ from them.  Who may act: whoever
 * can reach a unix socket, and whoever says the token; over TCP nobody acts without one, because any page in a browser
 * on this machine can post to a port. */
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ------------------------------------------------------------------ who may */

static const char *door(const struct vs_request *r) {
    return r->session->local ? "a unix socket" : "TCP";
}

static bool says_token(struct vs_slice said, const char *token) {
    static const char scheme[] = "Bearer ";
    size_t length = sizeof scheme - 1;
    if (!said.at || said.length < length || strncasecmp(said.at, scheme, length) != 0) return false;
    return vs_slice_is_secret((struct vs_slice){said.at + length, said.length - length}, token);
}

static bool may(struct vs_request *r) {
    const char *token = r->session->app->admin_token;
    if (!token && r->session->local) return true;
    if (!token)
        return vs_refuse(r, "no_token",
                         "over TCP these routes need a token, but this server has none: set admin.token or "
                         "VESTA_ADMIN_TOKEN, or listen on unix:PATH"),
               false;
    if (says_token(r->http->authorization, token)) return true;
    vs_log(VS_LOG_WARN, "admin: refused, the token was missing or wrong", "route", r->call->route, "over", door(r),
           NULL);
    return vs_refuse(r, "no_token", "this route needs the header Authorization: Bearer TOKEN, with the admin token"),
           false;
}

/* ------------------------------------------------------------------ actions */

static enum vs_reply_state done(struct vs_request *r, const char *what) {
    r->status = 202;
    r->type = "application/json";
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "status", what);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_admin_reload(struct vs_request *r) {
    if (!may(r)) return VS_ANSWERED;
    if (!r->session->app->policies.reload && !r->session->app->tags_reread)
        return vs_refuse(r, "no_policies",
                         "there is nothing to reload: this server has no policies and no config file");
    vs_log(VS_LOG_INFO, "admin: reload requested", "over", door(r), NULL);
    kill(getpid(), SIGHUP);
    return done(r, "reloading");
}

/* A second TERM would end the process at once. */
enum vs_reply_state vs_on_admin_drain(struct vs_request *r) {
    if (!may(r)) return VS_ANSWERED;
    if (!r->session->draining && !atomic_exchange(&r->session->app->drain_asked, true)) {
        vs_log(VS_LOG_INFO, "admin: drain requested", "over", door(r), NULL);
        kill(getpid(), SIGTERM);
    }
    return done(r, "draining");
}

enum vs_reply_state vs_on_admin_log(struct vs_request *r) {
    struct vs_slice level = vs_arg(r, 0);
    char name[8] = "";
    if (!may(r)) return VS_ANSWERED;
    if (level.at && level.length < sizeof name) memcpy(name, level.at, level.length);
    int value = strlen(name) == level.length ? vs_log_level_named(name) : -1;
    if (value < 0)
        return vs_refuse(r, "bad_field", "level '%s' must be debug, info, warn or error",
                         VS_QUOTE(level.at, level.length));
    vs_log(VS_LOG_INFO, "admin: log level set", "level", name, "over", door(r), NULL);
    vs_log_set_level((enum vs_log_level)value);
    return done(r, name);
}

/* ------------------------------------------------------------------ status */

#define NAMESPACE_BYTES_MAX 3500 /* of one namespace's status */
_Static_assert(VS_NAMESPACES_MAX *NAMESPACE_BYTES_MAX + 4096 <= VS_REPLY_MAX, "the status fits a reply");

/* Numbers of 64 bits are strings: JSON's lose their digits in most readers. */
static void put_wide(struct vs_out *out, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_json_text(out, name, digits);
}

static void put_counts(struct vs_out *out, const struct vs_app *app, int at) {
    const struct vs_counts *first = app->counts[0];
    vs_json_open(out, "ids", '{');
    vs_json_uint(out, "resp", vs_total(app, &first->ids[at][VS_RESP]));
    vs_json_uint(out, "http", vs_total(app, &first->ids[at][VS_HTTP]));
    vs_put(out, "}", 1);
    vs_json_open(out, "pauses", '{');
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++)
        vs_json_uint(out, vesta_why_name((enum vesta_why)why), vs_total(app, &first->pauses[at][why]));
    vs_put(out, "}", 1);
}

static void put_pause(struct vs_out *out, const struct vs_namespace *ns) {
    struct vesta_pause pause;
    char text[256];
    bool ready = vs_namespace_is_ready(ns, &pause);
    vs_json_bool(out, "ready", ready);
    if (ready) return;
    if (!vs_namespace_is_open(ns)) {
        char not_open[VS_NAMESPACE_WHY_MAX];
        vs_json_text(out, "why", "not_open");
        vs_json_text(out, "detail", vs_namespace_why(ns, not_open));
        return;
    }
    vesta_pause_text(ns->gen[VS_RESP], &pause, text, sizeof text);
    vs_json_text(out, "why", vesta_why_name(pause.why));
    vs_json_text(out, "detail", text);
}

static void put_info(struct vs_out *out, const struct vs_app *app, int at) {
    const struct vs_namespace *ns = &app->ns[at];
    struct vesta_info info;
    char layout[VESTA_LAYOUT_TEXT_MAX];
    vesta_get_info(ns->gen[VS_RESP], &info);
    vesta_layout_text(ns->layout, layout);
    vs_json_bool(out, "holds_lease", info.holds_lease);
    vs_json_text(out, "layout", layout);
    vs_json_text(out, "pacing", info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    if (info.holds_lease) {
        put_wide(out, "worker", info.worker);
        put_wide(out, "tick", info.tick);
        put_wide(out, "limit", info.limit);
        vs_json_int(out, "lease_end_ms", info.lease_end_ms);
    }
    vs_json_uint(out, "leases_of_file", info.slots_used);
    put_counts(out, app, at);
    if (*info.keeper) vs_json_text(out, "keeper", info.keeper);
    if (*info.warning) vs_json_text(out, "warning", info.warning);
}

static void put_namespace(struct vs_out *out, const struct vs_app *app, int at) {
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "name", app->ns[at].name);
    put_pause(out, &app->ns[at]);
    if (vs_namespace_is_open(&app->ns[at])) put_info(out, app, at);
    vs_put(out, "}", 1);
}

static void put_policy(struct vs_out *out, const struct vs_app *app) {
    struct vs_policies_status policies;
    if (!app->policies.status) return;
    app->policies.status(app->policies.self, &policies);
    vs_json_open(out, "policies", '{');
    vs_json_uint(out, "generation", policies.generation);
    vs_json_bool(out, "stuck", policies.stuck);
    vs_json_bool(out, "reload_ok", policies.reload_ok);
    vs_json_int(out, "reload_unix_ms", policies.reload_unix_ms);
    if (*policies.last_error) {
        vs_json_text(out, "last_error", policies.last_error);
        vs_json_int(out, "last_error_unix_ms", policies.last_error_unix_ms);
    }
    vs_put(out, "}", 1);
}

enum vs_reply_state vs_on_admin_status(struct vs_request *r) {
    struct vs_app *app = r->session->app;
    struct vs_out *out = r->out;
    if (!may(r)) return VS_ANSWERED;
    vs_put(out, "{", 1);
    vs_json_text(out, "version", VESTA_VERSION);
    vs_json_uint(out, "pid", (uint64_t)getpid());
    vs_json_int(out, "uptime_s", (app->clock->boot_us(app->clock->self) - app->started_us) / 1000000);
    vs_json_bool(out, "draining", r->session->draining);
    vs_json_int(out, "connections", vs_budget_open(app->budget, VS_PROTOCOLS));
    vs_json_uint(out, "waiting", vs_total(app, &app->counts[0]->waiting));
    put_policy(out, app);
    vs_json_open(out, "namespaces", '[');
    for (int i = 0; i < app->ns_count; i++)
        put_namespace(out, app, i);
    vs_put_text(out, "]}\n");
    return VS_ANSWERED;
}
