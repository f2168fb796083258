/* http.c -- HTTP/1.x by llhttp: bytes -> request -> reply.  Knows no socket; knows a generator only to hand it on. */
#include "base/error.h"
#include "server/request.h"

#include <assert.h>
#include <llhttp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ------------------------------------------------------------------ reading
 *
 * The head is looked at by llhttp only once it is complete, and always whole: so every text is one view into the
 * buffer, and nothing of a request has to be remembered between two reads.
 */

static int broken(struct vs_http *out, int status, const char *why) {
    out->status = status;
    out->broken = why;
    return -1;
}

static int count_blanks(const char *line, size_t length) {
    int count = 0;
    for (const char *end = line + length; (line = memchr(line, ' ', (size_t)(end - line))); line++)
        count++;
    return count;
}

static int bad_line(struct vs_http *out, const char *line, size_t length, int number) {
    if (number > VS_HTTP_HEADERS_MAX) return broken(out, 431, "too many headers (64)");
    if (*line == ' ' || *line == '\t')
        return broken(out, 400, "a header line starts with a blank (folded headers are obsolete)");
    if (*line == ':') return broken(out, 400, "a header has no name");
    if (number > 0) return 0;
    if (length > VS_HTTP_LINE_MAX) return broken(out, 414, "the request line is too long (4096 bytes)");
    if (length > 9 && memcmp(line + length - 9, " HTTP/1.", 8) == 0 &&
        (line[length - 1] == '1' || line[length - 1] == '0'))
        return count_blanks(line, length) == 2 ? 0 : broken(out, 400, "a request line has two blanks");
    return broken(out, 505, "this server speaks HTTP/1.1 and HTTP/1.0");
}

/* The length of a complete head.  llhttp forgives bare line feeds and folded headers, proxies read them otherwise:
 * whatever two readers could take for two different requests is refused here. */
static int head_length(const char *buf, size_t len, struct vs_http *out) {
    size_t at = 0;
    if (len > 0 && (buf[0] < 'A' || buf[0] > 'Z')) return broken(out, 400, "this is not HTTP");
    for (int number = 0;; number++) {
        const char *newline = memchr(buf + at, '\n', len - at);
        if (!newline) break;
        size_t end = (size_t)(newline - buf);
        if (end == at || buf[end - 1] != '\r') return broken(out, 400, "a line does not end in CR LF");
        if (end + 1 > VS_HTTP_HEAD_MAX) break;
        if (end - 1 == at) return (int)end + 1;
        if (bad_line(out, buf + at, end - 1 - at, number) < 0) return -1;
        at = end + 1;
    }
    if (at == 0 && len > VS_HTTP_LINE_MAX) return broken(out, 414, "the request line is too long (4096 bytes)");
    if (len > VS_HTTP_HEAD_MAX) return broken(out, 431, "the headers are too long (16384 bytes)");
    return 0;
}

/* What llhttp's callbacks fill. */
struct reading {
    struct vs_http *out;
    struct vs_slice url, name;
    int hosts, types, tokens;
    bool complete, encoded, expects_more, bad_host;
    uint64_t content_length;
};

static int on_url(llhttp_t *parser, const char *at, size_t length) {
    struct reading *reading = parser->data;
    reading->url = (struct vs_slice){at, length};
    return 0;
}

static bool is_named(const struct reading *reading, const char *name) {
    return strncasecmp(reading->name.at, name, reading->name.length) == 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t length) {
    struct reading *reading = parser->data;
    reading->name = (struct vs_slice){at, length};
    if (length == 4) reading->hosts += is_named(reading, "Host");
    if (length == 17 && is_named(reading, "Transfer-Encoding"))
        reading->encoded = true; /* even an empty one, which llhttp takes for none */
    return 0;
}

/* A name, an address, a port.  Whoever stands in front of this server may read more into other characters. */
static bool is_host(const char *at, size_t length) {
#define ROW(from, to) [from... to] = true
    static const bool plain[256] = {
        ROW('a', 'z'), ROW('A', 'Z'), ROW('0', ':'), ROW('-', '.'), ['['] = true, [']'] = true, ['_'] = true};
#undef ROW
    for (size_t i = 0; i < length; i++)
        if (!plain[(unsigned char)at[i]]) return false;
    return true;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t length) {
    struct reading *reading = parser->data;
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--; /* blanks behind a value are not its own */
    struct vs_slice value = {at, length};
    switch (reading->name.length) { /* few names are looked at, and a length is soon compared */
    case 4:
        if (is_named(reading, "Host")) reading->bad_host = !is_host(at, length);
        break;
    case 6:
        if (is_named(reading, "Accept")) vs_accept_read(&reading->out->accept, value);
        if (is_named(reading, "Expect") && vs_slice_is_case(value, "100-continue"))
            reading->out->expects_continue = true;
        else if (is_named(reading, "Expect"))
            reading->expects_more = true;
        break;
    case 12:
        if (is_named(reading, "Content-Type")) reading->out->type = value, reading->types++;
        break;
    case 13:
        if (is_named(reading, "Authorization")) reading->out->authorization = value, reading->tokens++;
        break;
    }
    return 0;
}

static int on_headers_complete(llhttp_t *parser) {
    struct reading *reading = parser->data;
    reading->complete = true;
    reading->content_length = parser->flags & F_CONTENT_LENGTH ? parser->content_length : 0;
    reading->out->http10 = parser->http_minor == 0;
    reading->out->keep_alive = llhttp_should_keep_alive(parser);
    switch (parser->method) {
    case HTTP_GET: reading->out->method = VS_GET; break;
    case HTTP_POST: reading->out->method = VS_POST; break;
    case HTTP_HEAD: reading->out->method = VS_HEAD; break;
    case HTTP_OPTIONS: reading->out->method = VS_OPTIONS; break;
    default: reading->out->method = VS_OTHER_METHOD;
    }
    return 0;
}

static const llhttp_settings_t settings = {.on_url = on_url,
                                           .on_header_field = on_header_field,
                                           .on_header_value = on_header_value,
                                           .on_headers_complete = on_headers_complete};

/* path?query#fragment */
static void split_url(struct vs_slice url, struct vs_http *out) {
    const char *end = memchr(url.at, '#', url.length);
    if (end) url.length = (size_t)(end - url.at);
    const char *mark = memchr(url.at, '?', url.length);
    out->path = (struct vs_slice){url.at, mark ? (size_t)(mark - url.at) : url.length};
    out->query = (struct vs_slice){mark ? mark + 1 : NULL, mark ? url.length - out->path.length - 1 : 0};
}

static int read_head(const char *head, size_t length, struct vs_http *out, size_t *body) {
    struct reading reading = {.out = out};
    llhttp_t parser;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = &reading;
    llhttp_errno_t rc = llhttp_execute(&parser, head, length);
    if ((rc != HPE_OK && rc != HPE_PAUSED_UPGRADE) || !reading.complete)
        return broken(out, 400, rc == HPE_OK ? "the request is not complete" : llhttp_get_error_reason(&parser));
    if (reading.hosts > 1 || (reading.hosts == 0 && !out->http10))
        return broken(out, 400, "a request needs one Host header");
    if (reading.bad_host) return broken(out, 400, "Host is a name or an address, and a port");
    bool is_all = out->method == VS_OPTIONS && vs_slice_is(reading.url, "*");
    if (*reading.url.at != '/' && !is_all) return broken(out, 400, "the request target is a path, like /genid");
    split_url(reading.url, out);
    if (reading.types > 1 || reading.tokens > 1)
        return broken(out, 400, "Content-Type or Authorization is given twice");
    if (reading.expects_more) return broken(out, 417, "only 100-continue can be expected");
    if (reading.encoded) return broken(out, 411, "send the body with Content-Length, not in chunks");
    if (reading.content_length > VS_HTTP_BODY_MAX) return broken(out, 413, "the body is too large (65536 bytes)");
    *body = (size_t)reading.content_length;
    return 1;
}

int vs_http_parse(const char *buf, size_t len, struct vs_http *out) {
    size_t skip = 0, body = 0;
    memset(out, 0, sizeof *out);
    while (skip + 1 < len && skip < VS_HTTP_HEAD_MAX && buf[skip] == '\r' && buf[skip + 1] == '\n')
        skip += 2; /* old clients end a body with an empty line that they do not count */
    if (len - skip == 1 && buf[skip] == '\r') return 0;
    int head = head_length(buf + skip, len - skip, out);
    if (head <= 0) return head;
    if (read_head(buf + skip, (size_t)head, out, &body) < 0) return -1;
    size_t total = skip + (size_t)head + body;
    if (len < total) {
        out->need = total;
        return 0;
    }
    out->body = (struct vs_slice){buf + total - body, body};
    return (int)total;
}

/* ------------------------------------------------------------------ writing */

#define HEAD_RESERVE 512 /* the longest head; the body is written behind it and moved up */

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
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-store\r\n%sContent-Length: ", types[i],
            scratch->http.date);
}

static const char *allow(unsigned methods) {
    return methods == VS_POST ? "POST, OPTIONS" : methods & VS_POST ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

/* The head of anything but a plain 200, up to Content-Length's value. */
static size_t other_head(const struct vs_request *r, char *to) {
    const char *type = r->type ? r->type : r->json ? "application/problem+json" : "text/plain";
    int n = snprintf(to, HEAD_RESERVE, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n%s", r->status,
                     vs_status_reason(r->status), type, r->session->scratch->http.date);
    if (r->status >= 400) /* its text may quote what was asked: no browser shall read more into it */
        n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "X-Content-Type-Options: nosniff\r\n");
    if (r->retry_after_s > 0) n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Retry-After: %d\r\n", r->retry_after_s);
    if (r->allow) n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Allow: %s\r\n", allow(r->allow));
    if (r->status == 401)
        n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "WWW-Authenticate: Bearer realm=\"vesta\"\r\n");
    n += snprintf(to + n, HEAD_RESERVE - (size_t)n, "Content-Length: ");
    assert(n < HEAD_RESERVE - 64);
    return (size_t)n;
}

/* Puts the head in front of the body that stands HEAD_RESERVE behind `start`. */
static void finish(const struct vs_request *r, const struct vs_http *http, size_t start, bool close) {
    struct vs_out *out = r->out;
    char *head = out->at + start, *body = head + HEAD_RESERVE;
    const struct vs_scratch *scratch = r->session->scratch;
    size_t length = out->used - start - HEAD_RESERVE, n = scratch->http.ok_length[r->json];
    if (r->status != 200 || r->type || r->allow)
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

static enum vs_reply_state answer(struct vs_request *r, const struct vs_http *http) {
    struct vs_slice rest;
    if (vs_slice_is(http->path, "*")) return tell_methods(r, VS_ANY_METHOD);
    r->json = vs_http_is_v1(http->path) || r->session->protocol == VS_ADMIN;
    r->call = vs_call_routed(http->path, r->session->protocol, &rest);
    if (!r->call) return vs_refuse(r, "not_found", "no such path: %s", VS_QUOTE(http->path.at, http->path.length));
    if (http->method == VS_OPTIONS) return tell_methods(r, r->call->methods);
    if (!(r->call->methods & http->method)) {
        r->allow = r->call->methods;
        return vs_refuse(r, "bad_method", "%s answers to %s", r->call->route, allow(r->call->methods));
    }
    if (!vs_http_bind(r, http, rest) || !vs_http_negotiate(r, http)) return VS_ANSWERED;
    return vs_request_run(r);
}

/* A client that begins with HTTP/2 reads no answer in HTTP/1.1; it is told in frames to come again with that:
 * SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED (RFC 9113, 7). */
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define WHY "this server speaks HTTP/1.1 and HTTP/1.0"

static int refuse_http2(struct vs_session *s, size_t len, struct vs_out *out) {
    static const char settings_frame[9] = {0, 0, 0, 4},
                      goaway[17] = {0, 0, 8 + sizeof WHY - 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xd};
    struct vs_request r = {.session = s, .code = vs_code_named("bad_version")};
    if (len < sizeof PREFACE - 1) return VS_STEP_MORE;
    vs_put(out, settings_frame, sizeof settings_frame);
    vs_put(out, goaway, sizeof goaway);
    vs_put_text(out, WHY);
    vs_count_request(&r);
    return VS_STEP_CLOSE;
}

int vs_http_step(struct vs_session *s, const char *buf, size_t len, struct vs_out *out) {
    struct vs_http http;
    if (len < s->need) return VS_STEP_MORE;
    if (len > 2 && memcmp(buf, PREFACE, len < sizeof PREFACE ? len : sizeof PREFACE - 1) == 0)
        return refuse_http2(s, len, out);
    int used = vs_http_parse(buf, len, &http);
    if (used == 0) {
        s->need = http.need;
        if (http.need && http.expects_continue && !s->continued) {
            vs_put_text(out, "HTTP/1.1 100 Continue\r\n\r\n");
            s->continued = true;
        }
        return VS_STEP_MORE;
    }
    s->need = 0, s->continued = false;
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
    } else if (answer(&r, &http) == VS_PAUSED) {
        out->used = start;
        return VS_STEP_PAUSED;
    }
    bool close = used < 0 || !http.keep_alive || s->draining;
    finish(&r, &http, start, close);
    vs_count_request(&r);
    return close ? VS_STEP_CLOSE : used;
}
