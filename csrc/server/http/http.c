/* http.c -- what becomes of one HTTP request, and the head of its reply.  Knows no socket and no generator. */
#include "base/error.h"
#include "server/clients/note.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/rights/rights.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ writing */

#define HEAD_RESERVE 1024 /* the longest head; the body is written behind it and moved up */

/* No reply is kept by whoever is between, and none is taken for what it does not say it is: its text may quote what was
 * asked. */
#define FOR_BROWSERS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"

/* In the form of RFC 9110, which no locale changes. */
static void put_date(char *to, size_t size, int64_t unix_s) {
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
                      months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t at = (time_t)unix_s;
    struct tm tm;
    *to = '\0';
    if (unix_s < 0 || !gmtime_r(&at, &tm) || tm.tm_year > 9999 - 1900) return;
    snprintf(to, size, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon],
             tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void vs_http_tick(struct vs_scratch *scratch, int64_t unix_s) {
    static const char *const types[VS_OK_HEADS] = {[VS_OK_TEXT] = "text/plain", [VS_OK_JSON] = "application/json"};
    if (unix_s == scratch->http.unix_s && *scratch->http.date) return;
    scratch->http.unix_s = unix_s;
    put_date(scratch->http.date, sizeof scratch->http.date, unix_s);
    for (int i = 0; i < VS_OK_HEADS; i++)
        scratch->http.ok_length[i] = (size_t)snprintf(
            scratch->http.ok[i], sizeof scratch->http.ok[i],
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" FOR_BROWSERS "%sContent-Length: ", types[i], scratch->http.date);
}

static const char *allow(unsigned methods) {
    return methods == VS_POST ? "POST, OPTIONS" : methods & VS_POST ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

/* What lets a listed origin's page read the reply, and ask first whether it may ask. */
static int put_origin(const struct vs_request *r, char *to, size_t size) {
    int n = snprintf(to, size, "Access-Control-Allow-Origin: %s\r\nAccess-Control-Expose-Headers: Retry-After\r\n",
                     r->origin);
    if (r->http->method == VS_OPTIONS)
        n +=
            snprintf(to + n, size - (size_t)n,
                     "Access-Control-Allow-Methods: %s\r\nAccess-Control-Allow-Headers: Authorization, Content-Type\r\n"
                     "Access-Control-Max-Age: 600\r\n",
                     allow(r->allow));
    return n;
}

/* The head of anything but a plain 200, up to Content-Length's value. */
static size_t other_head(const struct vs_request *r, char *to) {
    const char *json = r->status >= 400 ? "application/problem+json" : "application/json";
    const char *type = r->type ? r->type : r->json ? json : "text/plain";
    int n = snprintf(to, HEAD_RESERVE, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n" FOR_BROWSERS "%s", r->status,
                     vs_status_reason(r->status), type, r->session->scratch->http.date);
    if (r->is_page)
        n += snprintf(to + n, HEAD_RESERVE - (size_t)n,
                      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n");
    if (r->retry_after_s > 0) n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Retry-After: %d\r\n", r->retry_after_s);
    if (r->allow) n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Allow: %s\r\n", allow(r->allow));
    if (r->origin) n += put_origin(r, to + n, HEAD_RESERVE - (size_t)n);
    if (r->status == 401) /* a browser would ask for a name in its own words: not on the admin's page */
        n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "WWW-Authenticate: Bearer realm=\"vesta\"%s\r\n",
                      r->session->protocol == VS_ADMIN ? "" : ", Basic realm=\"vesta\"");
    n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Content-Length: ");
    assert(n < HEAD_RESERVE - 64);
    return (size_t)n;
}

/* Of what has no end but the connection's: no length, and HTTP/1.0 reads it as well. */
static size_t stream_head(const struct vs_request *r, char *to) {
    return (size_t)snprintf(to, HEAD_RESERVE,
                            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" FOR_BROWSERS "%s"
                            "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n",
                            r->type, r->session->scratch->http.date);
}

/* Puts the head in front of the body that stands HEAD_RESERVE behind `start`. */
static void finish(const struct vs_request *r, const struct vs_http *http, size_t start, bool close) {
    struct vs_out *out = r->out;
    char *head = out->at + start, *body = head + HEAD_RESERVE;
    const struct vs_scratch *scratch = r->session->scratch;
    size_t length = out->used - start - HEAD_RESERVE, n = scratch->http.ok_length[r->json];
    if (r->session->viewer) {
        out->used = start + stream_head(r, head);
        memmove(out->at + out->used, body, length);
        out->used += length;
        return;
    }
    if (r->status != 200 || r->type || r->allow || r->origin)
        n = other_head(r, head);
    else
        memcpy(head, scratch->http.ok[r->json], n);
    out->used = start + n;
    vs_put_uint(out, length);
    if (close)
        vs_put_text(out, "\r\nConnection: close\r\n\r\n");
    else if (http->http10)
        vs_put_text(out, "\r\nConnection: keep-alive\r\n\r\n");
    else
        vs_put(out, "\r\n\r\n", 4);
    if (http->method != VS_HEAD) {
        memmove(out->at + out->used, body, length);
        out->used += length;
    }
}

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

static enum vs_reply_state answer(struct vs_request *r, const struct vs_http *http) {
    struct vs_slice rest;
    bool is_by_page = http->origin.at || http->site == VS_SITE_FOREIGN;
    if ((is_by_page || http->is_public_name) && !vs_http_admits(r, http)) return VS_ANSWERED;
    if (vs_slice_is(http->path, "*")) return has_no_body(r, http) ? tell_methods(r, VS_ANY_METHOD) : VS_ANSWERED;
    r->json = vs_http_is_v1(http->path) || r->session->protocol == VS_ADMIN;
    r->call = vs_call_routed(http->path, r->session->protocol, &rest);
    if (!r->call) return vs_refuse(r, "not_found", "no such path: %s", VS_QUOTE(http->path.at, http->path.length));
    if (vs_call_is_kept(r->call, r->session))
        return vs_refuse(r, "not_found", "%s is answered on the admin's listener alone", r->call->route);
    if (http->method == VS_OPTIONS) return has_no_body(r, http) ? tell_methods(r, r->call->methods) : VS_ANSWERED;
    if (!(r->call->methods & http->method)) {
        r->allow = r->call->methods;
        return vs_refuse(r, "bad_method", "%s only accepts %s", r->call->route, allow(r->call->methods));
    }
    if (!has_no_body(r, http) || !vs_http_bind(r, http, rest)) return VS_ANSWERED;
    if (!vs_rights_enter(r, vs_http_token(r))) return VS_ANSWERED;
    return vs_http_negotiate(r, http) ? vs_request_run(r) : VS_ANSWERED;
}

/* A client that begins with HTTP/2 reads no answer in HTTP/1.1; it is told in frames to come again with that:
 * SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED (RFC 9113, 7). */
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define WHY "this server speaks HTTP/1.1 and HTTP/1.0"

static int refuse_http2(struct vs_session *s, size_t len, struct vs_out *out) {
    static const char settings_frame[9] = {0, 0, 0, 4},
                      goaway[17] = {0, 0, 8 + sizeof WHY - 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xd};
    struct vs_request r = {
        .session = s, .args = &s->scratch->args, .out = out, .start = out->used, .code = vs_code_named("bad_version")};
    if (len < sizeof PREFACE - 1) return VS_STEP_MORE;
    vs_put(out, settings_frame, sizeof settings_frame);
    vs_put(out, goaway, sizeof goaway);
    vs_put_text(out, WHY);
    vs_count_request(&r);
    vs_note(&r, out->used - r.start);
    return VS_STEP_CLOSE;
}

/* Completes a reply; returns the step's answer, `used` where the connection goes on. */
static int end(struct vs_request *r, const struct vs_http *http, size_t start, bool is_broken, int used) {
    bool ends = is_broken || !http->keep_alive || r->session->draining || vs_rights_is_over(r->session);
    bool close = ends && !r->session->viewer;
    finish(r, http, start, close);
    vs_count_request(r);
    vs_note(r, r->out->used - start);
    return close ? VS_STEP_CLOSE : used;
}

int vs_http_step(struct vs_session *s, const char *buf, size_t len, struct vs_out *out) {
    struct vs_http http;
    if (len < s->need) return VS_STEP_MORE;
    if (len > 2 && memcmp(buf, PREFACE, len < sizeof PREFACE ? len : sizeof PREFACE - 1) == 0)
        return refuse_http2(s, len, out);
    int used = vs_http_read(&s->scratch->heads, s->id, buf, len, &http);
    if (used == 0) {
        s->need = http.need;
        if (http.need && http.expects_continue && !s->continued) {
            vs_put_text(out, "HTTP/1.1 100 Continue\r\n\r\n");
            s->continued = true;
        }
        return VS_STEP_MORE;
    }
    s->need = 0, s->continued = false;
    s->scratch->args.count = 0; /* those of another, until its own are read */
    vs_rights_look(s);
    size_t start = out->used;
    if (s->scratch->http.ok_length[VS_OK_TEXT] == 0) vs_http_tick(s->scratch, -1); /* no loop says what time it is */
    out->used += HEAD_RESERVE;
    struct vs_request r = {.session = s,
                           .args = &s->scratch->args,
                           .out = out,
                           .start = out->used,
                           .protocol = VS_HTTP,
                           .http = &http,
                           .ns = &s->app->ns[0],
                           .ids = s->scratch->ids,
                           .status = 200};
    if (used < 0) {
        r.json =
            s->protocol == VS_ADMIN || vs_http_is_v1(http.path); /* the path is known where the head could be read */
        vs_refuse(&r, vs_code_of_status(http.status), "%s", http.broken);
    } else if (answer(&r, &http) == VS_WAITS) {
        out->used = start;
        s->waiting.bytes = (size_t)used;
        return VS_STEP_WAITS;
    }
    return end(&r, &http, start, used < 0, used);
}

int vs_http_again(struct vs_session *s, struct vs_out *out) {
    struct vs_http http = *s->waiting.request->http;
    vs_rights_look(s);
    size_t start = out->used;
    out->used += HEAD_RESERVE;
    struct vs_request r = vs_request_recall(s, out);
    r.http = &http; /* what is remembered goes when it is answered */
    if (vs_request_run(&r) == VS_WAITS) {
        out->used = start;
        return VS_STEP_WAITS;
    }
    return end(&r, &http, start, false, 1);
}
