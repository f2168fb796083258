/* resp_write.c -- writes the types of the Redis protocol, RESP2 and RESP3.  Contains no command code. */
#include "base/text.h"
#include "proto/resp.h"

#include <assert.h>
#include <string.h>

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

static void resp_put_header(struct vs_out *out, char kind, uint64_t value) {
    vs_put(out, &kind, 1);
    vs_put_uint(out, value);
    vs_put(out, "\r\n", 2);
}

void vs_resp_bulk(struct vs_out *out, const void *bytes, size_t length) {
    resp_put_header(out, '$', length);
    vs_put(out, bytes, length);
    vs_put(out, "\r\n", 2);
}

void vs_resp_word(struct vs_out *out, const char *text) {
    vs_resp_bulk(out, text, strlen(text));
}

void vs_resp_null(struct vs_out *out) {
    vs_put_text(out, out->resp3 ? "_\r\n" : "$-1\r\n");
}

void vs_resp_null_array(struct vs_out *out) {
    vs_put_text(out, out->resp3 ? "_\r\n" : "*-1\r\n");
}

void vs_resp_int(struct vs_out *out, int64_t value) {
    vs_put_text(out, value < 0 ? ":-" : ":");
    vs_put_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    vs_put(out, "\r\n", 2);
}

void vs_resp_array(struct vs_out *out, size_t count) {
    resp_put_header(out, '*', count);
}

void vs_resp_map(struct vs_out *out, size_t count) {
    resp_put_header(out, out->resp3 ? '%' : '*', out->resp3 ? count : 2 * count);
}

/* Writes one id of a sequence.  `digits` remembers the previous id, because converting the next id is then faster. */
static void resp_put_id(struct vs_out *out, struct vs_digits *digits, uint64_t id) {
    assert(out->size - out->used >= 5 + VESTA_FORMAT_MAX);
    char *p = out->at + out->used;
    size_t n = vs_digits_put(digits, id, p + 5); /* after "$19\r\n", the usual length of an id */
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

void vs_resp_id(struct vs_out *out, uint64_t id) {
    struct vs_digits none = {0};
    resp_put_id(out, &none, id);
}

void vs_resp_ids(struct vs_out *out, const uint64_t *ids, size_t count) {
    struct vs_digits digits = {0};
    for (size_t i = 0; i < count; i++)
        resp_put_id(out, &digits, ids[i]);
}
