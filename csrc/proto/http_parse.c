/* http_parse.c -- parses one HTTP/1.x request with llhttp, which only this file includes.  Pure.
 *
 * llhttp is called only when a head is complete.  So every value is one slice of the buffer, and no parser state is
 * kept between reads. */
#include "proto/http.h"
#include "base/array.h"

#include <assert.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

static int http_broken(struct vs_http *out, int status, const char *why) {
    out->status = status;
    out->broken = why;
    return -1;
}

static int http_count_blanks(const char *line, size_t length) {
    int count = 0;
    for (const char *end = line + length; (line = memchr(line, ' ', (size_t)(end - line))); line++)
        count++;
    return count;
}

static int http_bad_line(struct vs_http *out, const char *line, size_t length, int number) {
    if (number > VS_HTTP_HEADERS_MAX) return http_broken(out, 431, "there are too many headers (at most 64)");
    if (*line == ' ' || *line == '\t')
        return http_broken(out, 400, "a header line starts with a space (folded headers are obsolete)");
    if (*line == ':') return http_broken(out, 400, "a header has no name");
    if (number > 0) return 0;
    if (length > VS_HTTP_LINE_MAX) return http_broken(out, 414, "the request line is too long (at most 4096 bytes)");
    if (length > 9 && memcmp(line + length - 9, " HTTP/1.", 8) == 0 &&
        (line[length - 1] == '1' || line[length - 1] == '0'))
        return http_count_blanks(line, length) == 2
                   ? 0
                   : http_broken(out, 400, "a request line must have exactly two spaces");
    return http_broken(out, 505, "this server speaks HTTP/1.1 and HTTP/1.0");
}

/* Returns the length of the head, or 0 if it is not complete.  Rejects bare line feeds and folded headers, which llhttp
 * accepts but a proxy in front may parse as a different request. */
static int http_head_length(const char *buf, size_t len, struct vs_http *out) {
    size_t at = 0;
    if (len > 0 && (buf[0] < 'A' || buf[0] > 'Z')) return http_broken(out, 400, "this is not HTTP");
    for (int number = 0;; number++) {
        const char *newline = memchr(buf + at, '\n', len - at);
        if (!newline) break;
        size_t end = (size_t)(newline - buf);
        if (end == at || buf[end - 1] != '\r') return http_broken(out, 400, "a line must end in CR LF");
        if (end + 1 > VS_HTTP_HEAD_MAX) break;
        if (end - 1 == at) return (int)end + 1;
        if (http_bad_line(out, buf + at, end - 1 - at, number) < 0) return -1;
        at = end + 1;
    }
    if (at == 0 && len > VS_HTTP_LINE_MAX)
        return http_broken(out, 414, "the request line is too long (at most 4096 bytes)");
    if (len > VS_HTTP_HEAD_MAX) return http_broken(out, 431, "the headers are too long (at most 16384 bytes)");
    return 0;
}

/* Filled by llhttp's callbacks. */
struct http_reading {
    struct vs_http *out;
    struct vs_slice url, name;
    int hosts, types, tokens, origins;
    bool complete, encoded, expects_more, bad_host;
    uint64_t content_length;
};

static int http_on_url(llhttp_t *parser, const char *at, size_t length) {
    struct http_reading *reading = parser->data;
    reading->url = (struct vs_slice){at, length};
    return 0;
}

static bool http_is_named(const struct http_reading *reading, const char *name) {
    return strncasecmp(reading->name.at, name, reading->name.length) == 0;
}

static int http_on_header_field(llhttp_t *parser, const char *at, size_t length) {
    struct http_reading *reading = parser->data;
    reading->name = (struct vs_slice){at, length};
    if (length == 4) reading->hosts += http_is_named(reading, "Host");
    if (length == 17 && http_is_named(reading, "Transfer-Encoding"))
        reading->encoded = true; /* set even if the header's value is empty, which llhttp ignores */
    return 0;
}

/* Returns whether all characters can occur in a name, an address or a port.  A proxy may interpret other characters
 * differently. */
static bool http_is_host(const char *at, size_t length) {
#define ROW(from, to) [from... to] = true
    static const bool plain[256] = {
        ROW('a', 'z'), ROW('A', 'Z'), ROW('0', ':'), ROW('-', '.'), ['['] = true, [']'] = true, ['_'] = true};
#undef ROW
    for (size_t i = 0; i < length; i++)
        if (!plain[(unsigned char)at[i]]) return false;
    return true;
}

static bool http_has_only(const char *at, size_t length, const char *letters) {
    for (size_t i = 0; i < length; i++)
        if (!strchr(letters, at[i])) return false;
    return true;
}

#define IPV6_LETTERS "0123456789abcdefABCDEF:."

/* Matches [::1], without a port. */
static bool http_is_bracketed(struct vs_slice host) {
    return host.length > 2 && *host.at == '[' && host.at[host.length - 1] == ']' &&
           http_has_only(host.at + 1, host.length - 2, IPV6_LETTERS);
}

/* Matches ::1, which some health checkers send without brackets.  Other hosts contain at most one colon, before the
 * port. */
static bool http_is_bare_ipv6(struct vs_slice host) {
    const char *first = memchr(host.at, ':', host.length);
    return first && memrchr(host.at, ':', host.length) != first && http_has_only(host.at, host.length, IPV6_LETTERS);
}

/* Returns whether public DNS could contain this name.  The last label of an IPv4 address has only digits, and no public
 * name ends in such a label.  Names without a dot only exist in the local network.  Browsers resolve `localhost` and
 * its subdomains to this machine. */
static bool http_is_public_name(struct vs_slice host) {
    if (http_is_bare_ipv6(host)) return false;
    const char *bracket = memrchr(host.at, ']', host.length), *from = bracket ? bracket : host.at;
    const char *port = memchr(from, ':', host.length - (size_t)(from - host.at));
    size_t length = port ? (size_t)(port - host.at) : host.length, label;
    if (port && !http_has_only(port + 1, host.length - length - 1, "0123456789"))
        return true; /* neither an address nor a valid name */
    if (memchr(host.at, '[', length) || bracket) return !http_is_bracketed((struct vs_slice){host.at, length});
    if (length > 0 && host.at[length - 1] == '.') length--;
    for (label = length; label > 0 && host.at[label - 1] != '.';)
        label--;
    if (label == 0) return false;
    struct vs_slice last = {host.at + label, length - label};
    for (size_t i = 0; i < last.length; i++)
        if (last.at[i] < '0' || last.at[i] > '9') return !vs_slice_is_case(last, "localhost");
    return false;
}

static void http_take_host(struct http_reading *reading, struct vs_slice value) {
    reading->bad_host = !http_is_host(value.at, value.length);
    reading->out->host = value;
    reading->out->is_public_name = http_is_public_name(value);
}

/* If the header occurs twice with different values, VS_SITE_FOREIGN wins. */
static void http_take_site(struct vs_http *out, struct vs_slice value) {
    bool is_own = vs_slice_is_case(value, "same-origin") || vs_slice_is_case(value, "none");
    if (out->site != VS_SITE_FOREIGN) out->site = is_own ? VS_SITE_OWN : VS_SITE_FOREIGN;
}

static int http_on_header_value(llhttp_t *parser, const char *at, size_t length) {
    struct http_reading *reading = parser->data;
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--; /* trailing blanks are not part of a value */
    struct vs_slice value = {at, length};
    switch (reading->name.length) { /* few names matter, and comparing lengths first is fast */
    case 4:
        if (http_is_named(reading, "Host")) http_take_host(reading, value);
        break;
    case 6:
        if (http_is_named(reading, "Accept")) vs_accept_read(&reading->out->accept, value);
        if (http_is_named(reading, "Expect") && vs_slice_is_case(value, "100-continue"))
            reading->out->expects_continue = true;
        else if (http_is_named(reading, "Expect"))
            reading->expects_more = true;
        else if (http_is_named(reading, "Origin"))
            reading->out->origin = value, reading->origins++;
        break;
    case 12:
        if (http_is_named(reading, "Content-Type")) reading->out->type = value, reading->types++;
        break;
    case 13:
        if (http_is_named(reading, "Authorization")) reading->out->authorization = value, reading->tokens++;
        break;
    case 14:
        if (http_is_named(reading, "Sec-Fetch-Site")) http_take_site(reading->out, value);
        break;
    }
    return 0;
}

static int http_on_headers_complete(llhttp_t *parser) {
    struct http_reading *reading = parser->data;
    reading->complete = true;
    reading->content_length = parser->flags & F_CONTENT_LENGTH ? parser->content_length : 0;
    reading->out->http10 = parser->http_minor == 0;
    reading->out->keep_alive = llhttp_should_keep_alive(parser);
    switch (parser->method) {
    case HTTP_GET: reading->out->method = VS_GET; break;
    case HTTP_POST: reading->out->method = VS_POST; break;
    case HTTP_HEAD: reading->out->method = VS_HEAD; break;
    case HTTP_OPTIONS: reading->out->method = VS_OPTIONS; break;
    case HTTP_PUT: reading->out->method = VS_PUT; break;
    case HTTP_DELETE: reading->out->method = VS_DELETE; break;
    default: reading->out->method = VS_OTHER_METHOD;
    }
    return 0;
}

static const llhttp_settings_t settings = {.on_url = http_on_url,
                                           .on_header_field = http_on_header_field,
                                           .on_header_value = http_on_header_value,
                                           .on_headers_complete = http_on_headers_complete};

/* Removes "http://host" from an absolute target.  That host replaces the Host header (RFC 9112, section 3.2.2).
 * Returns 1, or 0 if the target is not absolute, or -1 if its host is invalid. */
static int http_cut_authority(struct http_reading *reading) {
    static const char *const schemes[] = {"http://", "https://"};
    struct vs_slice url = reading->url;
    for (size_t i = 0; i < VS_COUNT(schemes); i++) {
        size_t length = strlen(schemes[i]);
        if (url.length < length || strncasecmp(url.at, schemes[i], length) != 0) continue;
        const char *at = url.at + length, *end = url.at + url.length, *path = at;
        while (path < end && *path != '/' && *path != '?' && *path != '#')
            path++;
        http_take_host(reading, (struct vs_slice){at, (size_t)(path - at)});
        reading->url = (struct vs_slice){path, (size_t)(end - path)};
        return path > at && !reading->bad_host ? 1 : -1;
    }
    return 0;
}

/* Splits path?query#fragment. */
static void http_split_url(struct vs_slice url, struct vs_http *out) {
    const char *end = memchr(url.at, '#', url.length);
    if (end) url.length = (size_t)(end - url.at);
    const char *mark = memchr(url.at, '?', url.length);
    out->path = (struct vs_slice){url.at, mark ? (size_t)(mark - url.at) : url.length};
    out->query = (struct vs_slice){mark ? mark + 1 : NULL, mark ? url.length - out->path.length - 1 : 0};
    if (out->path.length == 0) out->path = (struct vs_slice){out->host.at - 1, 1}; /* http://host: the path is "/" */
}

static int http_read_head(const char *head, size_t length, struct vs_http *out, size_t *body) {
    struct http_reading reading = {.out = out};
    llhttp_t parser;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = &reading;
    llhttp_errno_t rc = llhttp_execute(&parser, head, length);
    if ((rc != HPE_OK && rc != HPE_PAUSED_UPGRADE) || !reading.complete)
        return http_broken(out, 400, rc == HPE_OK ? "the request is not complete" : llhttp_get_error_reason(&parser));
    if (reading.hosts > 1 || (reading.hosts == 0 && !out->http10))
        return http_broken(out, 400, "a request must have exactly one Host header");
    if (reading.bad_host) return http_broken(out, 400, "Host must be a name or an address, and may have a port");
    bool is_all = out->method == VS_OPTIONS && vs_slice_is(reading.url, "*");
    int absolute = *reading.url.at == '/' || is_all ? 0 : http_cut_authority(&reading);
    if (absolute < 0) return http_broken(out, 400, "the host of the request target must be a name or an address");
    if (absolute == 0 && *reading.url.at != '/' && !is_all)
        return http_broken(out, 400, "the request target must be a path, such as /genid, or begin with http://");
    http_split_url(reading.url, out);
    if (reading.types > 1 || reading.tokens > 1 || reading.origins > 1)
        return http_broken(out, 400, "Content-Type, Authorization or Origin appears twice");
    if (reading.expects_more) return http_broken(out, 417, "the only Expect value supported is 100-continue");
    if (reading.encoded) return http_broken(out, 411, "send the body with Content-Length, not in chunks");
    if (reading.content_length > VS_HTTP_BODY_MAX)
        return http_broken(out, 413, "the body is too large (at most 65536 bytes)");
    *body = (size_t)reading.content_length;
    return 1;
}

int vs_http_parse(const char *buf, size_t len, struct vs_http *out) {
    size_t skip = 0, body = 0;
    memset(out, 0, sizeof *out);
    while (skip + 1 < len && skip < VS_HTTP_HEAD_MAX && buf[skip] == '\r' && buf[skip + 1] == '\n')
        skip += 2; /* old clients send an empty line after a body, which Content-Length does not count */
    if (len - skip == 1 && buf[skip] == '\r') return 0;
    int head = http_head_length(buf + skip, len - skip, out);
    if (head <= 0) return head;
    if (http_read_head(buf + skip, (size_t)head, out, &body) < 0) return -1;
    size_t total = skip + (size_t)head + body;
    if (len < total) {
        out->need = total;
        return 0;
    }
    out->body = (struct vs_slice){buf + total - body, body};
    return (int)total;
}

/* ------------------------------------------------------------------ cached heads */

/* Converts a slice of `from` to the same slice of its copy `to`. */
static struct vs_slice http_moved(struct vs_slice view, const char *from, const char *to) {
    return view.at ? (struct vs_slice){to + (view.at - from), view.length} : view;
}

static void http_keep(struct vs_head *head, const char *buf, size_t length, const struct vs_http *http) {
    assert(length <= sizeof head->bytes);
    memcpy(head->bytes, buf, length);
    head->length = length;
    head->http = *http;
    head->http.path = http_moved(http->path, buf, head->bytes);
    head->http.query = http_moved(http->query, buf, head->bytes);
    head->http.body = http_moved(http->body, buf, head->bytes);
    head->http.type = http_moved(http->type, buf, head->bytes);
    head->http.authorization = http_moved(http->authorization, buf, head->bytes);
    head->http.host = http_moved(http->host, buf, head->bytes);
    head->http.origin = http_moved(http->origin, buf, head->bytes);
}

int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out) {
    struct vs_head *head = &heads->at[client % VS_HEADS];
    if (head->length > 0 && len >= head->length && memcmp(buf, head->bytes, head->length) == 0) {
        *out = head->http;
        return (int)head->length;
    }
    int used = vs_http_parse(buf, len, out);
    bool is_whole = used > 0 && out->body.length == 0;
    if (is_whole && (size_t)used <= sizeof head->bytes) http_keep(head, buf, (size_t)used, out);
    return used;
}
