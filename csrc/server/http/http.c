/* http.c -- what becomes of one HTTP request.  Knows no socket and no generator. */
#include "base/error.h"
#include "server/clients/note.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/rights.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ one request */

/* What load balancers ask to see whether somebody is there. */
static enum vs_reply_state tell_methods(struct vs_request *r, unsigned methods) {
    r->allow = methods;
    return VS_ANSWERED;
}

/* A parameter in a body that nobody reads would be another request than the client believes. */
static bool has_no_body(struct vs_request *r, const struct vs_http *http) {
    if (http->body.length == 0 || http->method == VS_POST) return true;
    vs_refuse(r, "bad_type", "only POST may have a body: put the parameters into the query, or send a POST");
    return false;
}

static enum vs_reply_state http_answer(struct vs_request *r, const struct vs_http *http) {
    struct vs_slice rest;
    bool is_by_page = http->origin.at || http->site == VS_SITE_FOREIGN;
    if ((is_by_page || http->is_public_name) && !vs_http_admits(r, http)) return VS_ANSWERED;
    if (vs_slice_is(http->path, "*")) return has_no_body(r, http) ? tell_methods(r, VS_ANY_METHOD) : VS_ANSWERED;
    r->json = vs_http_is_v1(http->path) || r->session->protocol == VS_ADMIN;
    r->call = vs_call_routed(http->path, r->session->protocol, &rest);
    if (!r->call) return vs_refuse(r, "not_found", "no such path: %s", VS_QUOTE(http->path.at, http->path.length));
    if (r->call->flags & VS_CALL_TINYID) r->fail = vs_tinyid_failure;
    if (vs_call_is_kept(r->call, r->session))
        return vs_refuse(r, "not_found", "%s is answered on the admin's listener alone", r->call->route);
    if (http->method == VS_OPTIONS) return has_no_body(r, http) ? tell_methods(r, r->call->methods) : VS_ANSWERED;
    if (!(r->call->methods & http->method)) {
        r->allow = r->call->methods;
        return vs_refuse(r, "bad_method", "%s only accepts %s", r->call->route, vs_http_allow(r->call->methods));
    }
    if (!has_no_body(r, http) || !vs_http_bind(r, http, rest)) return VS_ANSWERED;
    if (!vs_rights_enter(r, vs_http_token(r))) return VS_ANSWERED;
    return vs_http_negotiate(r, http) ? vs_request_run(r) : VS_ANSWERED;
}

static int refuse_http2(struct vs_session *s, size_t len, struct vs_out *out) {
    struct vs_request r = {.session = s, .out = out, .start = out->used, .code = vs_code_named("bad_version")};
    if (!vs_http2_refuse(len, out)) return NET_MORE;
    vs_note(&r, out->used - r.start);
    vs_request_end(&r);
    return NET_CLOSE;
}

/* Completes a reply; returns the step's answer, `used` where the connection goes on. */
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
    if (s->scratch->http.ok_length[VS_OK_TEXT] == 0) vs_http_tick(&s->scratch->http, -1); /* no loop: a test */
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
        r.json =
            s->protocol == VS_ADMIN || vs_http_is_v1(http.path); /* the path is known where the head could be read */
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
