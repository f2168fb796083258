/* resp_parse.c -- parses the arguments of one request of the Redis protocol.  Pure: keeps no state, allocates nothing,
 * and contains no command code. */
#include "proto/resp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_DIGITS_MAX 10 /* longer numbers exceed all limits */

const struct vs_resp_limits vs_resp_limits = {VS_RESP_ARGS_MAX, VS_RESP_BULK_MAX, VS_RESP_INLINE_MAX};
/* Limits for clients that have not authenticated.  The first two limits are those of Redis.  The third limits inline
 * requests, which only need room for AUTH or HELLO. */
const struct vs_resp_limits vs_resp_stranger_limits = {10, 16384, 4096};

static int resp_broken(struct vs_args *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int resp_broken(struct vs_args *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(out->why, sizeof out->why, format, list);
    va_end(list);
    out->broken = out->why;
    return -1;
}

/* ------------------------------------------------------------------ arrays of bulk strings, which clients send */

/* Reads "<digits>\r\n" at *at and advances *at.  Returns 1, 0 (more bytes are needed) or -1 (malformed). */
static int resp_read_length(const char *buf, size_t len, size_t *at, size_t *value) {
    size_t i = *at, n = 0;
    while (i < len && buf[i] >= '0' && buf[i] <= '9') {
        if (i - *at == LENGTH_DIGITS_MAX) return -1;
        n = n * 10 + (size_t)(buf[i++] - '0');
    }
    size_t digits = i - *at;
    if (digits > 1 && buf[*at] == '0') return -1; /* leading zeros are rejected, because parsers disagree about them */
    if (i == len) return 0;
    if (digits == 0 || buf[i] != '\r') return -1;
    if (i + 1 == len) return 0;
    if (buf[i + 1] != '\n') return -1;
    *at = i + 2, *value = n;
    return 1;
}

/* Reads "$<length>\r\n<bytes>\r\n" at *at into *text.  Returns the same values as resp_read_length. */
static int resp_read_bulk(struct vs_slice request, size_t *at, size_t most, struct vs_slice *text,
                          struct vs_args *out) {
    const char *buf = request.at;
    size_t i = *at, len = request.length, n;
    if (i == len) return 0;
    if (buf[i++] != '$') return resp_broken(out, "Protocol error: expected '$'");
    int rc = resp_read_length(buf, len, &i, &n);
    if (rc < 0 || (rc > 0 && n > most)) return resp_broken(out, "Protocol error: invalid bulk length (0 to %zu)", most);
    if (rc == 0) return 0;
    if (len - i > n && buf[i + n] != '\r')
        return resp_broken(out, "Protocol error: a bulk string does not end where its length says");
    if (len - i < n + 2) return 0;
    if (buf[i + n + 1] != '\n')
        return resp_broken(out, "Protocol error: a bulk string does not end where its length says");
    *text = (struct vs_slice){buf + i, n};
    *at = i + n + 2;
    return 1;
}

static int resp_parse_array(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out) {
    size_t at = 1, count;
    int rc = resp_read_length(buf, len, &at, &count);
    if (rc < 0 || (rc > 0 && count > limits->args_max))
        return resp_broken(out, "Protocol error: invalid multibulk length (0 to %zu)", limits->args_max);
    for (size_t i = 0; rc > 0 && i < count; i++)
        rc = resp_read_bulk((struct vs_slice){buf, len}, &at, limits->bulk_max, &out->at[i], out);
    if (rc < 0) return rc;
    if (rc == 0)
        return len < VS_RESP_REQUEST_MAX ? 0 : resp_broken(out, "Protocol error: too big request (at most 1 MiB)");
    out->count = (int)count;
    return (int)at;
}

/* ------------------------------------------------------------------ lines, which people type into telnet */

/* Returns whether a character separates words. */
static bool resp_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns whether a character ends an unquoted word.  As in Redis, not every character that separates words also ends a
 * word. */
static bool resp_ends_word(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static int resp_hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads an escape sequence between double quotes.  *at points after the backslash and is advanced. */
static char resp_unescape(const char **at, const char *end) {
    static const char named[] = "n\nr\rt\tb\ba\a";
    const char *p = *at;
    if (end - p >= 3 && *p == 'x' && resp_hex_value(p[1]) >= 0 && resp_hex_value(p[2]) >= 0) {
        *at = p + 3;
        return (char)(resp_hex_value(p[1]) * 16 + resp_hex_value(p[2]));
    }
    *at = p + 1;
    for (const char *pair = named; *pair; pair += 2)
        if (*p == *pair) return pair[1];
    return *p;
}

/* Reads a quoted string and writes its characters to *to.  Returns the position after the closing quote, or NULL if the
 * quote is not closed. */
static const char *resp_read_quoted(const char *at, const char *end, char **to) {
    char quote = *at++;
    while (at < end && *at != quote) {
        bool escaped = *at == '\\' && end - at > 1;
        if (escaped && quote == '"') {
            at++;
            *(*to)++ = resp_unescape(&at, end);
        } else {
            at += escaped && at[1] == quote; /* between single quotes, only \' is an escape */
            *(*to)++ = *at++;
        }
    }
    return at < end ? at + 1 : NULL;
}

/* Reads a word by Redis' rules and returns the position after it.  Writes quoted words to *typed.  Returns NULL if a
 * quote is not closed, or if text follows the closing quote. */
static const char *resp_read_word(const char *from, const char *end, char **typed, struct vs_slice *word) {
    const char *at = from;
    while (at < end && !resp_ends_word(*at) && *at != '"' && *at != '\'')
        at++;
    *word = (struct vs_slice){from, (size_t)(at - from)};
    if (at == end || resp_ends_word(*at)) return at;
    memcpy(*typed, from, word->length);
    word->at = *typed;
    *typed += word->length;
    at = resp_read_quoted(at, end, typed);
    word->length = (size_t)(*typed - word->at);
    return at && (at == end || resp_is_blank(*at)) ? at : NULL;
}

/* Recognizes the first line of a browser, scraper or health check: GET /metrics HTTP/1.1. */
static bool resp_is_http(const struct vs_args *args) {
    bool asks = args->count == 3 && (vs_slice_is_case(args->at[0], "GET") || vs_slice_is_case(args->at[0], "HEAD"));
    return asks && args->at[1].length > 0 && *args->at[1].at == '/' && args->at[2].length == 8 &&
           memcmp(args->at[2].at, "HTTP/1.", 7) == 0;
}

static int resp_parse_inline(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out) {
    if (len >= 2 && buf[0] == 0x16 && buf[1] == 0x03)
        return resp_broken(out, "Protocol error: this address speaks no TLS");
    const char *newline = memchr(buf, '\n', len < limits->inline_max ? len : limits->inline_max), *at = buf;
    if (!newline)
        return len < limits->inline_max
                   ? 0
                   : resp_broken(out, "Protocol error: too big inline request (at most %zu bytes)", limits->inline_max);
    char *typed = out->typed;
    out->is_inline = true;
    while (true) {
        while (at < newline && resp_is_blank(*at))
            at++;
        if (at == newline && resp_is_http(out))
            return resp_broken(out, "Protocol error: this address speaks the Redis protocol, not HTTP");
        if (at == newline) return (int)(newline - buf) + 1;
        if ((size_t)out->count == limits->args_max)
            return resp_broken(out, "Protocol error: too many arguments (%zu)", limits->args_max);
        at = resp_read_word(at, newline, &typed, &out->at[out->count++]);
        if (!at) return resp_broken(out, "Protocol error: unbalanced quotes in request");
    }
}

int vs_resp_parse(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out) {
    out->count = 0;
    out->broken = NULL;
    out->is_inline = false;
    if (len == 0) return 0;
    return buf[0] == '*' ? resp_parse_array(buf, len, limits, out) : resp_parse_inline(buf, len, limits, out);
}
