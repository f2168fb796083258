/* resp.c -- the Redis protocol: bytes -> arguments -> reply.  Knows no socket and no generator. */
#include "server/request.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ reading */

#define LENGTH_DIGITS_MAX 10 /* of any length that is not refused anyway */

static int broken(struct vs_args *out, const char *why) {
    out->broken = why;
    return -1;
}

/* Reads "<digits>\r\n" at *at, moving *at behind it.  1: read; 0: wants more; -1: not such a line. */
static int read_length(const char *buf, size_t len, size_t *at, size_t *value) {
    size_t i = *at, n = 0;
    while (i < len && buf[i] >= '0' && buf[i] <= '9') {
        if (i - *at == LENGTH_DIGITS_MAX) return -1;
        n = n * 10 + (size_t)(buf[i++] - '0');
    }
    size_t digits = i - *at;
    if (digits > 1 && buf[*at] == '0') return -1; /* a leading zero: nobody sends it but to be read in two ways */
    if (i == len) return 0;
    if (digits == 0 || buf[i] != '\r') return -1;
    if (i + 1 == len) return 0;
    if (buf[i + 1] != '\n') return -1;
    *at = i + 2, *value = n;
    return 1;
}

/* Reads "$<length>\r\n<bytes>\r\n" at *at into *out.  As read_length. */
static int read_bulk(const char *buf, size_t len, size_t *at, struct vs_word *text, struct vs_args *out) {
    size_t i = *at, n;
    if (i == len) return 0;
    if (buf[i++] != '$') return broken(out, "Protocol error: expected '$'");
    int rc = read_length(buf, len, &i, &n);
    if (rc < 0 || (rc > 0 && n > VS_RESP_BULK_MAX))
        return broken(out, "Protocol error: invalid bulk length (0 to 65536)");
    if (rc == 0) return 0;
    if (len - i > n && buf[i + n] != '\r')
        return broken(out, "Protocol error: a bulk string does not end where its length says");
    if (len - i < n + 2) return 0;
    if (buf[i + n + 1] != '\n') return broken(out, "Protocol error: a bulk string does not end where its length says");
    *text = (struct vs_word){buf + i, n};
    *at = i + n + 2;
    return 1;
}

static int parse_array(const char *buf, size_t len, struct vs_args *out) {
    size_t at = 1, count;
    int rc = read_length(buf, len, &at, &count);
    if (rc < 0 || (rc > 0 && count > VS_RESP_ARGS_MAX))
        return broken(out, "Protocol error: invalid multibulk length (0 to 1024)");
    for (size_t i = 0; rc > 0 && i < count; i++)
        rc = read_bulk(buf, len, &at, &out->at[i], out);
    if (rc < 0) return rc;
    if (rc == 0) return len < VS_RESP_REQUEST_MAX ? 0 : broken(out, "Protocol error: too big request (1 MiB)");
    out->count = (int)count;
    return (int)at;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* A line as a person types it into telnet: words between blanks.  No quotes: no command here needs one. */
static int parse_inline(const char *buf, size_t len, struct vs_args *out) {
    size_t most = len < VS_RESP_INLINE_MAX ? len : VS_RESP_INLINE_MAX;
    const char *newline = memchr(buf, '\n', most);
    if (!newline) return len < VS_RESP_INLINE_MAX ? 0 : broken(out, "Protocol error: too big inline request");
    size_t end = (size_t)(newline - buf), i = 0;
    if (end > 0 && buf[end - 1] == '\r') end--;
    out->is_inline = true;
    while (true) {
        while (i < end && is_blank(buf[i]))
            i++;
        if (i == end) return (int)(newline - buf) + 1;
        if (out->count == VS_RESP_ARGS_MAX) return broken(out, "Protocol error: too many arguments (1024)");
        size_t from = i;
        while (i < end && !is_blank(buf[i]))
            i++;
        out->at[out->count++] = (struct vs_word){buf + from, i - from};
    }
}

int vs_resp_parse(const char *buf, size_t len, struct vs_args *out) {
    out->count = 0;
    out->broken = NULL;
    out->is_inline = false;
    if (len == 0) return 0;
    return buf[0] == '*' ? parse_array(buf, len, out) : parse_inline(buf, len, out);
}

/* ------------------------------------------------------------------ writing */

void vs_put(struct vs_out *out, const void *bytes, size_t length) {
    assert(length <= out->size - out->used);
    memcpy(out->at + out->used, bytes, length);
    out->used += length;
}

void vs_put_text(struct vs_out *out, const char *text) {
    vs_put(out, text, strlen(text));
}

void vs_put_uint(struct vs_out *out, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vs_put(out, digits, vesta_format(VESTA_DECIMAL, value, digits));
}

void vs_resp_simple(struct vs_out *out, const char *text) {
    vs_put(out, "+", 1);
    vs_put_text(out, text);
    vs_put(out, "\r\n", 2);
}

void vs_resp_error(struct vs_out *out, const char *prefix, const char *text) {
    assert(!strpbrk(text, "\r\n"));
    vs_put(out, "-", 1);
    vs_put_text(out, prefix);
    vs_put(out, " ", 1);
    vs_put_text(out, text);
    vs_put(out, "\r\n", 2);
}

static void put_header(struct vs_out *out, char kind, uint64_t value) {
    vs_put(out, &kind, 1);
    vs_put_uint(out, value);
    vs_put(out, "\r\n", 2);
}

void vs_resp_bulk(struct vs_out *out, const void *bytes, size_t length) {
    put_header(out, '$', length);
    vs_put(out, bytes, length);
    vs_put(out, "\r\n", 2);
}

void vs_resp_null(struct vs_out *out) {
    vs_put(out, "$-1\r\n", 5);
}

void vs_resp_int(struct vs_out *out, uint64_t value) {
    put_header(out, ':', value);
}

void vs_resp_array(struct vs_out *out, size_t count) {
    put_header(out, '*', count);
}

void vs_resp_id(struct vs_out *out, uint64_t id) {
    assert(out->size - out->used >= 5 + VESTA_FORMAT_MAX);
    char *p = out->at + out->used;
    size_t n = vesta_format(VESTA_DECIMAL, id, p + 5); /* behind "$19\r\n", where an id's digits nearly always stand */
    if (n < 10) {
        memmove(p + 4, p + 5, n);
        p[0] = '$', p[1] = (char)('0' + n), p[2] = '\r', p[3] = '\n';
        p += 4;
    } else {
        p[0] = '$', p[1] = (char)('0' + n / 10), p[2] = (char)('0' + n % 10), p[3] = '\r', p[4] = '\n';
        p += 5;
    }
    p[n] = '\r', p[n + 1] = '\n';
    out->used = (size_t)(p + n + 2 - out->at);
}

/* ------------------------------------------------------------------ one request */

/* A web page can make a browser post to this port: its first line is harmless, its next ones would be commands. */
static bool is_foreign(const struct vs_args *args) {
    return vs_word_is_case(args->at[0], "POST") || vs_word_is_case(args->at[0], "Host:");
}

static void unknown(struct vs_request *r) {
    bool more = r->args->count > 1;
    vs_refuse(r, "bad_command", "unknown command '%s', with args beginning with: %s%s%s",
              VS_QUOTE(r->args->at[0].at, r->args->at[0].length), more ? "'" : "",
              more ? VS_QUOTE(r->args->at[1].at, r->args->at[1].length) : "", more ? "' " : "");
}

static enum vs_outcome answer(struct vs_request *r) {
    struct vs_args *args = &r->session->scratch->args;
    r->call = vs_call_named(args->at[0]);
    if (!r->call) {
        unknown(r);
        return VS_ANSWERED;
    }
    args->count--;
    memmove(args->at, args->at + 1, (size_t)args->count * sizeof *args->at); /* a handler sees no name */
    if (args->count < r->call->args_min || args->count > r->call->args_max)
        return vs_refuse(r, "bad_command", "wrong number of arguments for '%s': %s", r->call->name, r->call->help);
    return vs_request_run(r);
}

int vs_resp_step(struct vs_session *s, const char *buf, size_t len, struct vs_out *out) {
    struct vs_args *args = &s->scratch->args;
    int used = vs_resp_parse(buf, len, args);
    if (used == 0 || (used > 0 && args->count == 0)) return used;
    if (used > 0 && is_foreign(args)) return VS_STEP_CLOSE;
    struct vs_request r = {.session = s,
                           .args = args,
                           .out = out,
                           .start = out->used,
                           .face = VS_RESP,
                           .space = &s->app->space[0],
                           .gen = s->app->space[0].gen[VS_RESP],
                           .ids = s->scratch->ids};
    enum vs_outcome outcome = used < 0 ? vs_refuse(&r, "bad_request", "%s", args->broken) : answer(&r);
    if (outcome == VS_PAUSED) return VS_STEP_PAUSED;
    vs_count_request(&r);
    return used < 0 || outcome == VS_QUIT ? VS_STEP_CLOSE : used;
}
