/* slice.c -- see slice.h. */
#include "base/slice.h"

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r'); /* unlike isspace, this ignores the locale */
}

bool vs_slice_next(const char **text, struct vs_slice *slice) {
    const char *at = *text;
    while (is_space(*at))
        at++;
    const char *end = at;
    while (*end && !is_space(*end))
        end++;
    *slice = (struct vs_slice){at, (size_t)(end - at)};
    *text = end;
    return end > at;
}

bool vs_slice_is_name(struct vs_slice slice, size_t max) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    for (size_t i = 0; i < slice.length; i++)
        if (!memchr(allowed, slice.at[i], sizeof allowed - 1)) return false;
    return slice.length > 0 && slice.length <= max && slice.at[0] != '.';
}

bool vs_slice_split(struct vs_slice slice, char mark, struct vs_slice *before, struct vs_slice *after) {
    const char *at = memchr(slice.at, mark, slice.length);
    if (!at) return false;
    size_t length = (size_t)(at - slice.at);
    *before = (struct vs_slice){slice.at, length};
    *after = (struct vs_slice){at + 1, slice.length - length - 1};
    return true;
}

int vs_slice_place(struct vs_slice slice, const char *list, char mark) {
    for (int place = 0; *list; place++) {
        const char *end = strchrnul(list, mark);
        if (slice.length == (size_t)(end - list) && memcmp(slice.at, list, slice.length) == 0) return place;
        list = end + (*end == mark);
    }
    return -1;
}

bool vs_slice_is_secret(struct vs_slice slice, const char *secret) {
    size_t length = strlen(secret);
    unsigned differ = slice.length != length;
    for (size_t i = 0; i < slice.length; i++)
        differ |= (unsigned char)slice.at[i] ^ (unsigned char)secret[length ? i % length : 0];
    return differ == 0;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

enum vs_decoding vs_slice_decode(struct vs_slice slice, char *out, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < slice.length; i++) {
        int c = (unsigned char)slice.at[i];
        if (c == '%') {
            int high = i + 2 < slice.length ? hex_digit(slice.at[i + 1]) : -1;
            int low = i + 2 < slice.length ? hex_digit(slice.at[i + 2]) : -1;
            if (high < 0 || low < 0) return VS_DECODE_HEX;
            c = high * 16 + low;
            i += 2;
        }
        if (c < ' ' || c == 127) return VS_DECODE_CONTROL;
        if (used + 1 >= size) return VS_DECODE_LONG;
        out[used++] = (char)c;
    }
    out[used] = '\0';
    return VS_DECODED;
}
