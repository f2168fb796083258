/* http_write.c -- writes the head of an HTTP reply.  Contains no route or client code. */
#include "base/array.h"
#include "base/time.h"
#include "proto/http.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Caches must not store replies.  Browsers must not guess a different content type, because an error text may quote the
 * request. */
#define FOR_BROWSERS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"

const char *vs_http_reason(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {202, "Accepted"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {406, "Not Acceptable"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {410, "Gone"},
                   {411, "Length Required"},
                   {413, "Content Too Large"},
                   {414, "URI Too Long"},
                   {415, "Unsupported Media Type"},
                   {417, "Expectation Failed"},
                   {421, "Misdirected Request"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < VS_COUNT(reasons); i++)
        if (reasons[i].status == status) return reasons[i].reason;
    assert(!"a status without a reason");
    return "";
}

/* Writes the date format of RFC 9110. */
static void http_put_date(char *to, size_t size, int64_t unix_s) {
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
                      months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t day = unix_s / 86400;
    int second = (int)(unix_s % 86400);
    struct vs_date date = vs_date_of(day);
    *to = '\0';
    if (unix_s < 0 || date.year > 9999) return;
    snprintf(to, size, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[(day + 4) % 7], date.day,
             months[date.month - 1], (int)date.year, second / 3600, second / 60 % 60, second % 60);
}

void vs_http_tick(struct vs_http_plain *plain, int64_t unix_s) {
    static const char *const types[VS_OK_HEADS] = {[VS_OK_TEXT] = "text/plain", [VS_OK_JSON] = "application/json"};
    if (unix_s == plain->unix_s && *plain->date) return;
    plain->unix_s = unix_s;
    http_put_date(plain->date, sizeof plain->date, unix_s);
    for (int i = 0; i < VS_OK_HEADS; i++)
        plain->ok_length[i] = (size_t)snprintf(
            plain->ok[i], sizeof plain->ok[i],
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" FOR_BROWSERS "%sContent-Length: ", types[i], plain->date);
}

const char *vs_http_allow(unsigned methods) {
    if (methods & VS_PUT) return "PUT, DELETE, OPTIONS";
    return methods == VS_POST ? "POST, OPTIONS" : methods & VS_POST ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

/* Allows a listed origin's page to read the reply, and answers its preflight request. */
static int http_put_origin(const struct vs_http_reply *reply, unsigned method, char *to, size_t size) {
    int n = snprintf(to, size, "Access-Control-Allow-Origin: %s\r\nAccess-Control-Expose-Headers: Retry-After\r\n",
                     reply->origin);
    if (method == VS_OPTIONS)
        n +=
            snprintf(to + n, size - (size_t)n,
                     "Access-Control-Allow-Methods: %s\r\nAccess-Control-Allow-Headers: Authorization, Content-Type\r\n"
                     "Access-Control-Max-Age: 600\r\n",
                     vs_http_allow(reply->allow));
    return n;
}

/* Writes the head of a reply that is not a plain 200, up to the value of Content-Length. */
static size_t http_other_head(const struct vs_http_reply *reply, const char *date, unsigned method, char *to) {
    const size_t size = VS_HTTP_HEAD_RESERVE;
    const char *json = reply->status >= 400 ? "application/problem+json" : "application/json";
    const char *type = reply->type ? reply->type : reply->is_json ? json : "text/plain";
    int n = snprintf(to, size, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n" FOR_BROWSERS "%s", reply->status,
                     vs_http_reason(reply->status), type, date);
    if (reply->is_page)
        n += snprintf(to + n, size - (size_t)n,
                      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n");
    if (reply->retry_after_s > 0) n += snprintf(to + n, size - (size_t)n, "Retry-After: %d\r\n", reply->retry_after_s);
    if (reply->allow) n += snprintf(to + n, size - (size_t)n, "Allow: %s\r\n", vs_http_allow(reply->allow));
    if (reply->origin) n += http_put_origin(reply, method, to + n, size - (size_t)n);
    if (reply->status == 401)
        n += snprintf(to + n, size - (size_t)n, "WWW-Authenticate: Bearer realm=\"vesta\"%s\r\n",
                      reply->is_admin ? "" : ", Basic realm=\"vesta\"");
    n += snprintf(to + n, size - (size_t)n, "Content-Length: ");
    assert(n < VS_HTTP_HEAD_RESERVE - 64);
    return (size_t)n;
}

/* Omits Content-Length and does not use chunks, so that HTTP/1.0 clients can also read the stream. */
static size_t http_stream_head(const struct vs_http_reply *reply, const char *date, char *to) {
    return (size_t)snprintf(to, VS_HTTP_HEAD_RESERVE,
                            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" FOR_BROWSERS "%s"
                            "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n",
                            reply->type, date);
}

void vs_http_end(struct vs_out *out, size_t start, const struct vs_http_plain *plain, const struct vs_http *asked,
                 const struct vs_http_reply *reply) {
    char *head = out->at + start, *body = head + VS_HTTP_HEAD_RESERVE;
    size_t length = out->used - start - VS_HTTP_HEAD_RESERVE, n = plain->ok_length[reply->is_json];
    if (reply->is_stream) {
        out->used = start + http_stream_head(reply, plain->date, head);
        memmove(out->at + out->used, body, length);
        out->used += length;
        return;
    }
    if (reply->status != 200 || reply->type || reply->allow || reply->origin)
        n = http_other_head(reply, plain->date, asked->method, head);
    else
        memcpy(head, plain->ok[reply->is_json], n);
    out->used = start + n;
    vs_put_uint(out, length);
    if (reply->closes)
        vs_put_text(out, "\r\nConnection: close\r\n\r\n");
    else if (asked->http10)
        vs_put_text(out, "\r\nConnection: keep-alive\r\n\r\n");
    else
        vs_put(out, "\r\n\r\n", 4);
    if (asked->method != VS_HEAD) {
        memmove(out->at + out->used, body, length);
        out->used += length;
    }
}

void vs_http_goodbye(struct vs_out *out, const char *status, const char *text, bool again) {
    text = text ? text : "";
    vs_put_text(out, "HTTP/1.1 "), vs_put_text(out, status);
    if (*text) vs_put_text(out, "\r\nContent-Type: text/plain");
    vs_put_text(out, "\r\nContent-Length: "), vs_put_uint(out, strlen(text) + (*text != '\0'));
    vs_put_text(out, "\r\nCache-Control: no-store\r\n");
    if (again) vs_put_text(out, "Retry-After: 1\r\n");
    vs_put_text(out, "Connection: close\r\n\r\n");
    vs_put_text(out, text), vs_put_text(out, *text ? "\n" : "");
}

/* A client that begins with HTTP/2 cannot read a reply in HTTP/1.1.  Two frames tell the client to retry with HTTP/1.1:
 * SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED (RFC 9113, section 7). */
#define WHY "this server speaks HTTP/1.1 and HTTP/1.0"

bool vs_http2_refuse(size_t len, struct vs_out *out) {
    static const char settings_frame[9] = {0, 0, 0, 4},
                      goaway[17] = {0, 0, 8 + sizeof WHY - 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xd};
    if (len < sizeof VS_HTTP2_PREFACE - 1) return false;
    vs_put(out, settings_frame, sizeof settings_frame);
    vs_put(out, goaway, sizeof goaway);
    vs_put_text(out, WHY);
    return true;
}
