/* reply.c -- writing a reply: bytes and numbers, and the forms of the Redis protocol, RESP2 and RESP3. */
#include "server/reply.h"
#include "base/text.h"

#include <assert.h>
#include <string.h>

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

void vs_put_int(struct vs_out *out, int64_t value) {
    if (value < 0) vs_put(out, "-", 1);
    vs_put_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void vs_put_ids(struct vs_out *out, const uint64_t *ids, size_t count, const char *between) {
    struct vs_digits digits = {0};
    size_t length = strlen(between);
    assert(count * (VESTA_FORMAT_MAX + length) <= out->size - out->used);
    char *at = out->at + out->used;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) at = (char *)memcpy(at, between, length) + length;
        at += vs_digits_put(&digits, ids[i], at);
    }
    out->used = (size_t)(at - out->at);
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
    put_header(out, '*', count);
}

void vs_resp_map(struct vs_out *out, size_t count) {
    put_header(out, out->resp3 ? '%' : '*', out->resp3 ? count : 2 * count);
}

/* The last of a row whose `digits` these are. */
static void put_bulk_id(struct vs_out *out, struct vs_digits *digits, uint64_t id) {
    assert(out->size - out->used >= 5 + VESTA_FORMAT_MAX);
    char *p = out->at + out->used;
    size_t n = vs_digits_put(digits, id, p + 5); /* behind "$19\r\n", where an id's digits nearly always stand */
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
    put_bulk_id(out, &none, id);
}

void vs_resp_ids(struct vs_out *out, const uint64_t *ids, size_t count) {
    struct vs_digits digits = {0};
    for (size_t i = 0; i < count; i++)
        put_bulk_id(out, &digits, ids[i]);
}
