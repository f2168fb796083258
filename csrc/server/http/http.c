/* http.c -- processes one HTTP request: binds its parameters, negotiates the content type, runs the handler and
 * completes the reply.  Contains no socket or generator code. */
#include "base/error.h"
#include "base/nearest.h"
#include "server/clients/note.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/rights.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Returns whether replies and errors of a route are JSON by default. */
static bool http_is_v1(struct vs_slice path) {
    return path.length >= 4 && memcmp(path.at, "/v1/", 4) == 0;
}

/* ------------------------------------------------------------------ parameters */

/* Returns the position of `name` in "ns,n,format", or -1. */
static int params_place_of(const char *params, struct vs_slice name) {
    for (int place = 0; params && *params; place++) {
        size_t length = strcspn(params, ",");
        if (length == name.length && memcmp(params, name.at, length) == 0) return place;
        params += length + (params[length] == ',');
    }
    return -1;
}

/* Returns the number of names in "ns,n,format", or 0 for "*". */
static int count_places(const char *params) {
    int count = params && *params != '*';
    for (; params && *params; params++)
        count += *params == ',';
    return count;
}

static bool bind_one(struct vs_request *r, struct vs_slice *args, struct vs_slice name, struct vs_slice value,
                     int first) {
    const char *params = r->call->params;
    if (params && *params == '*') {
        if (r->arg_count + 2 > 2 * VESTA_FIELDS_MAX)
            return vs_refuse(r, "bad_field", "more parameters than a layout can have fields (%d)", VESTA_FIELDS_MAX),
                   false;
        args[r->arg_count++] = name;
        args[r->arg_count++] = value;
        return true;
    }
    int place = params_place_of(params, name);
    if (place < 0)
        return vs_refuse(r, "bad_field", "unknown parameter '%s': %s", VS_QUOTE(name.at, name.length),
                         r->call->route_help),
               false;
    if (args[first + place].at)
        return vs_refuse(r, "bad_field", "parameter '%s' is given twice", VS_QUOTE(name.at, name.length)), false;
    args[first + place] = value;
    return true;
}

/* Binds the parameters of "name=value&...".  Decoded values are written to *room. */
static bool bind_all(struct vs_request *r, struct vs_slice *args, struct vs_slice rest, char **room, int first) {
    struct vs_slice name, value;
    int rc = 0;
    while (rest.length > 0 && (rc = vs_http_next_pair(&rest, room, &name, &value)) > 0)
        if (!bind_one(r, args, name, value, first)) return false;
    if (rc < 0) vs_refuse(r, "bad_field", "a %% in a parameter must be followed by two hex digits");
    return rc >= 0;
}

/* Sets the arguments from the rest of the path, the query and a form.  If it returns false, the reply is an error. */
static bool http_bind(struct vs_request *r, const struct vs_http *http, struct vs_slice rest) {
    struct vs_slice *args = r->session->scratch->args.at;
    char *room = r->session->scratch->text;
    int first = rest.at ? 1 : 0, places = count_places(r->call->params);
    memset(args, 0, (size_t)(first + places) * sizeof *args); /* the `at` of a missing argument is NULL */
    r->arg = args;
    r->arg_count = first + places;
    if (first && !vs_http_decode(rest, '+', &room, args))
        return vs_refuse(r, "bad_field", "a %% in the path must be followed by two hex digits"), false;
    if (!bind_all(r, args, http->query, &room, first)) return false;
    if (http->method == VS_POST && http->body.length > 0) {
        if (!vs_http_is_form(http->type))
            return vs_refuse(r, "bad_type",
                             "a body must be a form (application/x-www-form-urlencoded), not '%s': put the parameters "
                             "into the "
                             "query",
                             VS_QUOTE(http->type.at, http->type.length)),
                   false;
        if (!bind_all(r, args, http->body, &room, first)) return false;
    }
    return true;
}

/* Returns the token parameter of a tinyid request.  `at` is NULL if the request has no token. */
static struct vs_slice http_token(const struct vs_request *r) {
    int place = r->call->flags & VS_CALL_TINYID ? params_place_of(r->call->params, (struct vs_slice){"token", 5}) : -1;
    return place < 0 ? (struct vs_slice){NULL, 0} : vs_arg(r, place);
}

/* ------------------------------------------------------------------ types */

/* Chooses between JSON and text.  Only /v1/ routes follow the Accept header, and the parameter `format` has priority
 * over it.  All other routes have one fixed type. */
static bool http_negotiate(struct vs_request *r, const struct vs_http *http) {
    r->json = r->call->json;
    if (!http_is_v1(http->path)) return true;
    int json = vs_accept_q(&http->accept, VS_TYPE_JSON), text = vs_accept_q(&http->accept, VS_TYPE_TEXT);
    int format = params_place_of(r->call->params, (struct vs_slice){"format", 6});
    bool may_be_text = format >= 0;
    if (may_be_text && vs_arg(r, format).at) return true;
    r->json = !may_be_text || json >= text;
    if (json > 0 || (may_be_text && text > 0)) return true;
    vs_refuse(r, "not_acceptable", "%s answers in application/json%s", r->call->route,
              may_be_text ? " or text/plain" : "");
    return false;
}

/* ------------------------------------------------------------------ one request */

/* Replies to OPTIONS, which some load balancers use as a health check. */
static enum vs_reply_state tell_methods(struct vs_request *r, unsigned methods) {
    r->allow = methods;
    return VS_ANSWERED;
}

/* Rejects a body unless the method is POST, because the body's parameters would be silently ignored. */
static bool has_no_body(struct vs_request *r, const struct vs_http *http) {
    if (http->body.length == 0 || http->method == VS_POST) return true;
    vs_refuse(r, "bad_type", "only POST may have a body: put the parameters into the query, or send a POST");
    return false;
}

#define ROUTES_MAX 64
#define PATH_MAX_NEAR 64 /* longer paths are not compared */

/* Returns the route that the client probably meant, such as /genid for /genid/ or /healthz for /health, or NULL. */
static const char *near_route(const struct vs_request *r, struct vs_slice path) {
    const char *routes[ROUTES_MAX + 1] = {NULL};
    char word[PATH_MAX_NEAR];
    size_t count = 0;
    const struct vs_call *call;
    if (path.length >= sizeof word) return NULL;
    snprintf(word, sizeof word, "%.*s", (int)path.length, path.at);
    for (int i = 0; (call = vs_call_at(i)) && count < ROUTES_MAX; i++)
        if (call->route && vs_call_is_at(call, r->session->protocol) && !vs_call_is_kept(call, r->session))
            routes[count++] = call->route;
    const char *near = vs_nearest(word, routes);
    return near && strcmp(near, word) == 0 ? NULL : near; /* /v1/ids/ without an id */
}

/* Each route has exactly one path.  Extra slashes are not ignored, and there are no redirects. */
static enum vs_reply_state refuse_path(struct vs_request *r, struct vs_slice path) {
    const char *shown = VS_QUOTE(path.at, path.length), *near = near_route(r, path);
    if (near)
        return vs_refuse(r, "not_found", "no such path: %s.  Did you mean %s?  GET / lists the routes", shown, near);
    return vs_refuse(r, "not_found", "no such path: %s.  GET / lists the routes", shown);
}

static enum vs_reply_state http_answer(struct vs_request *r, const struct vs_http *http) {
    struct vs_slice rest;
    bool is_by_page = http->origin.at || http->site == VS_SITE_FOREIGN;
    if ((is_by_page || http->is_public_name) && !vs_http_admits(r, http)) return VS_ANSWERED;
    if (vs_slice_is(http->path, "*")) return has_no_body(r, http) ? tell_methods(r, VS_ANY_METHOD) : VS_ANSWERED;
    r->json = http_is_v1(http->path) || r->session->protocol == VS_ADMIN;
    r->call = vs_call_routed(http->path, r->session->protocol, &rest);
    if (!r->call) return refuse_path(r, http->path);
    if (r->call->flags & VS_CALL_TINYID) r->fail = vs_tinyid_failure;
    if (vs_call_is_kept(r->call, r->session))
        return vs_refuse(r, "not_found", "%s is only served on the admin listener", r->call->route);
    if (http->method == VS_OPTIONS) return has_no_body(r, http) ? tell_methods(r, r->call->methods) : VS_ANSWERED;
    if (!(r->call->methods & http->method)) {
        r->allow = r->call->methods;
        return vs_refuse(r, "bad_method", "%s only accepts %s", r->call->route, vs_http_allow(r->call->methods));
    }
    if (!has_no_body(r, http) || !http_bind(r, http, rest)) return VS_ANSWERED;
    if (!vs_rights_enter(r, http_token(r))) return VS_ANSWERED;
    return http_negotiate(r, http) ? vs_request_run(r) : VS_ANSWERED;
}

static int refuse_http2(struct vs_session *s, size_t len, struct vs_out *out) {
    struct vs_request r = {.session = s, .out = out, .start = out->used, .code = vs_code_named("bad_version")};
    if (!vs_http2_refuse(len, out)) return NET_MORE;
    vs_note(&r, out->used - r.start);
    vs_request_end(&r);
    return NET_CLOSE;
}

/* Completes a reply.  Returns `used` if the connection stays open, else NET_CLOSE. */
static int http_end(struct vs_request *r, const struct vs_http *http, size_t start, bool is_broken, int used) {
    bool ends = is_broken || !http->keep_alive || r->session->draining || vs_rights_is_over(r->session);
    bool close = ends && !r->session->viewer;
    struct vs_http_reply reply = {.status = r->status,
                                  .is_json = r->json,
                                  .is_page = r->is_page,
                                  .is_stream = r->session->viewer != NULL,
                                  .closes = close,
                                  .is_admin = r->session->protocol == VS_ADMIN,
                                  .type = r->type,
                                  .retry_after_s = r->retry_after_s,
                                  .allow = r->allow,
                                  .origin = r->origin};
    vs_http_end(r->out, start, &r->session->scratch->http, http, &reply);
    vs_note(r, r->out->used - start);
    vs_request_end(r);
    return close ? NET_CLOSE : used;
}

int vs_http_step(struct vs_session *s, const char *buf, size_t len, struct vs_out *out) {
    struct vs_http http;
    if (len < s->need) return NET_MORE;
    if (vs_http2_begins(buf, len)) return refuse_http2(s, len, out);
    int used = vs_http_read(&s->scratch->heads, s->id, buf, len, &http);
    if (used == 0) {
        s->need = http.need;
        if (http.need && http.expects_continue && !s->continued) {
            vs_put_text(out, "HTTP/1.1 100 Continue\r\n\r\n");
            s->continued = true;
        }
        return NET_MORE;
    }
    s->need = 0, s->continued = false;
    vs_rights_look(s);
    if (s->scratch->http.ok_length[VS_OK_TEXT] == 0) vs_http_tick(&s->scratch->http, -1); /* in a test without a loop */
    size_t start = vs_http_begin(out);
    struct vs_request r = {.session = s,
                           .out = out,
                           .start = out->used,
                           .protocol = VS_HTTP,
                           .http = &http,
                           .ns = &s->server->names.at[0],
                           .ids = s->scratch->ids,
                           .status = 200};
    if (used < 0) {
        r.json = s->protocol == VS_ADMIN || http_is_v1(http.path); /* the path is known if the head could be parsed */
        vs_refuse(&r, vs_code_of_status(http.status), "%s", http.broken);
    } else if (http_answer(&r, &http) == VS_WAITS) {
        out->used = start;
        s->waiting.bytes = (size_t)used;
        return NET_WAITS;
    }
    return http_end(&r, &http, start, used < 0, used);
}

int vs_http_again(struct vs_session *s, struct vs_out *out) {
    struct vs_request *r = s->waiting.request;
    size_t start = vs_http_begin(out);
    if (vs_request_go_on(r, out) == VS_WAITS) {
        out->used = start;
        return NET_WAITS;
    }
    return http_end(r, r->http, start, false, 1);
}
