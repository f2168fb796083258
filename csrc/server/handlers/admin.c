/* admin.c -- the admin routes: the state of the server, and a few actions.
 *
 * Reload and drain send HUP and TERM to the process, so they cannot differ from these signals.  A client may use these
 * routes if it connects to a unix socket or sends the token.  Over TCP a token is always required, because any web page
 * in a browser on this machine can send a POST to a port. */
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/monitor/clients.h"
#include "server/monitor/feed.h"
#include "server/monitor/history.h"
#include "server/monitor/status.h"
#include "server/rights.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ rights */

static const char *door(const struct vs_request *r) {
    return r->session->local ? "a unix socket" : "TCP";
}

/* Returns whether the client may use the admin routes.  If not, the reply is an error. */
static bool may(struct vs_request *r) {
    const struct vs_session *s = r->session;
    const char *token = s->server->rules.admin_token;
    if (!token && s->local) return true;
    if (!token && !s->grant.accounts)
        return vs_refuse(r, "no_token",
                         "over TCP the admin routes require a token, but this server has none: set admin.token or "
                         "VESTA_ADMIN_TOKEN, or listen on unix:PATH"),
               false;
    if (vs_rights_operate(r)) return true;
    if (r->status == 403 || r->status == 429) return false;
    vs_log(VS_LOG_WARN, "admin: request rejected, because the token is missing or wrong", "route", r->call->route,
           "over", door(r), VS_WHO(s), NULL);
    return vs_refuse(r, "no_token", "this route requires the admin token: send the header Authorization: Bearer TOKEN"),
           false;
}

/* ------------------------------------------------------------------ actions */

static enum vs_reply_state admin_done(struct vs_request *r, const char *what) {
    r->status = 202;
    r->type = "application/json";
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "status", what);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_admin_reload(struct vs_request *r) {
    if (!may(r)) return VS_ANSWERED;
    if (!r->session->server->above.policies.reload && !r->session->server->tags.reread && !r->session->grant.accounts)
        return vs_refuse(r, "no_policies",
                         "there is nothing to reload: this server has no policies and no config file");
    vs_log(VS_LOG_INFO, "admin: reload requested", "over", door(r), VS_WHO(r->session), NULL);
    kill(getpid(), SIGHUP);
    return admin_done(r, "reloading");
}

/* drain_asked prevents a second TERM, which would end the process at once. */
enum vs_reply_state vs_on_admin_drain(struct vs_request *r) {
    if (!may(r)) return VS_ANSWERED;
    if (!r->session->draining && !atomic_exchange(&r->session->server->drain_asked, true)) {
        vs_log(VS_LOG_INFO, "admin: drain requested", "over", door(r), VS_WHO(r->session), NULL);
        kill(getpid(), SIGTERM);
    }
    return admin_done(r, "draining");
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
    vs_log(VS_LOG_INFO, "admin: log level set", "level", name, "over", door(r), VS_WHO(r->session), NULL);
    vs_log_set_level((enum vs_log_level)value);
    return admin_done(r, name);
}

/* ------------------------------------------------------------------ state */

/* Sets *ns to the index of the namespace that the request names, or to -1 if it names none.  If the name is unknown,
 * returns false, and the reply is an error. */
static bool read_namespace(struct vs_request *r, int *ns) {
    struct vs_server *server = r->session->server;
    struct vs_slice name = vs_arg(r, 0);
    const struct vs_namespace *found = name.at ? vs_namespace_named(&server->names, name.at, name.length) : NULL;
    if (name.at && !found)
        return vs_refuse(r, "unknown_name", "unknown namespace '%s'", VS_QUOTE(name.at, name.length)), false;
    *ns = found ? (int)(found - server->names.at) : -1;
    return true;
}

enum vs_reply_state vs_on_admin_status(struct vs_request *r) {
    int ns;
    if (!may(r) || !read_namespace(r, &ns)) return VS_ANSWERED;
    vs_put_status(r->out, r->session->server, ns, r->session->draining);
    vs_put(r->out, "\n", 1);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_admin_history(struct vs_request *r) {
    struct vs_server *server = r->session->server;
    int ns;
    if (!may(r) || !read_namespace(r, &ns)) return VS_ANSWERED;
    if (ns >= vs_told(&server->names))
        return vs_refuse(
            r, "unknown_name",
            "the last hour is only recorded for the first %d namespaces of the config, and %s comes after them",
            VS_NAMESPACES_TOLD, server->names.at[ns].name);
    vs_put(r->out, "{", 1);
    vs_history_put(server->monitor.history, server, ns, NULL, r->out);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_admin_workers(struct vs_request *r) {
    struct vs_server *server = r->session->server;
    int ns;
    if (!may(r) || !read_namespace(r, &ns)) return VS_ANSWERED;
    if (ns < 0) ns = 0;
    if (server->names.count == 0) return vs_refuse(r, "unknown_name", "this server has no namespaces");
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "namespace", server->names.at[ns].name);
    if (server->above.holders) server->above.holders(server->above.holders_self, ns, NULL, r->out);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ clients */

#define CONNECTIONS_SHOWN 100

static struct vs_wanted wanted_by(const struct vs_request *r) {
    return (struct vs_wanted){.client = vs_arg(r, 0), .host = vs_arg(r, 1)};
}

/* Reads an optional number from 1 to max.  If it is invalid, returns false, and the reply is an error. */
static bool admin_read_number(struct vs_request *r, const char *name, int at, uint64_t max, uint64_t *n) {
    struct vs_slice text = vs_arg(r, at);
    if (!text.at) return true;
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, n) == VESTA_OK && *n > 0 && *n <= max) return true;
    return vs_refuse(r, "bad_field", "%s is '%s', which must be a whole number from 1 to %" PRIu64, name,
                     VS_QUOTE(text.at, text.length), max),
           false;
}

enum vs_reply_state vs_on_admin_clients(struct vs_request *r) {
    struct vs_wanted wanted = wanted_by(r);
    struct vs_slice by = vs_arg(r, 4);
    uint64_t n = CONNECTIONS_SHOWN;
    if (!may(r)) return VS_ANSWERED;
    if (!admin_read_number(r, "after", 2, INT64_MAX, &wanted.after)) return VS_ANSWERED;
    if (!admin_read_number(r, "n", 3, VS_CONNECTIONS_SHOWN_MAX, &n)) return VS_ANSWERED;
    if (by.at && !vs_slice_is(by, "id") && !vs_slice_is(by, "ids"))
        return vs_refuse(r, "bad_field", "by is '%s', but must be id or ids", VS_QUOTE(by.at, by.length));
    vs_put(r->out, "{", 1);
    vs_put_clients(r->out, r->session->server);
    if (!vs_put_connections(r->out, r->session->server, &wanted, n, by.at && vs_slice_is(by, "ids")))
        return vs_refuse_memory(r);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

/* Does not end the requesting connection, so that the client receives the reply. */
enum vs_reply_state vs_on_admin_end(struct vs_request *r) {
    struct vs_session *s = r->session;
    struct vs_wanted wanted = wanted_by(r);
    uint64_t id;
    if (!may(r)) return VS_ANSWERED;
    if (!admin_read_number(r, "id", 2, INT64_MAX, &id)) return VS_ANSWERED;
    if (vs_arg(r, 2).at) wanted.ids = &id, wanted.id_count = 1;
    if (!wanted.ids && !wanted.client.at && !wanted.host.at)
        return vs_refuse(r, "bad_field",
                         "select the connections by client, address or id.  To end all connections, drain the server");
    wanted.but = s->id;
    size_t ended = vs_roster_end(s->server, &wanted);
    vs_log(VS_LOG_INFO, "admin: connections ended", "ended", VS_DIGITS((int64_t)ended), "over", door(r), VS_WHO(s),
           NULL);
    vs_put(r->out, "{", 1);
    vs_json_uint(r->out, "ended", ended);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ events */

/* Writes the first events as the beginning of the reply.  The loop sends further events later. */
enum vs_reply_state vs_on_admin_events(struct vs_request *r) {
    struct vs_session *session = r->session;
    struct vs_slice all = vs_arg(r, 0);
    if (!may(r)) return VS_ANSWERED;
    if (all.at && (all.length != 1 || *all.at != '1'))
        return vs_refuse(r, "bad_field", "all '%s' must be 1 or absent", VS_QUOTE(all.at, all.length));
    r->type = "text/event-stream";
    if (r->http->method == VS_HEAD || session->draining) return VS_ANSWERED;
    session->viewer = vs_feed_enter(session->server->monitor.feed, all.at != NULL);
    if (!session->viewer)
        return vs_refuse(r, "overloaded", "%d viewers are connected, which is the maximum: close one",
                         VS_VIEWERS_MAX);
    vs_feed_put(session->server->monitor.feed, session->server, session->viewer, r->out);
    return VS_ANSWERED;
}
