/* out.c -- see out.h. */
#include "base/out.h"
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
    if (out->size - out->used >= sizeof digits)
        out->used += vesta_format(VESTA_DECIMAL, value, out->at + out->used);
    else
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
