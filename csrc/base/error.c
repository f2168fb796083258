/* error.c -- error codes with their stable names, and quoting for error messages. */
#include "base/array.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void vs_end_whole(char *text) {
    size_t length = strlen(text), more = 0;
    while (more < 3 && more < length && ((unsigned char)text[length - 1 - more] & 0xc0) == 0x80)
        more++;
    if (more == length) return;
    char *last = text + length - 1 - more;
    unsigned char first = (unsigned char)*last;
    size_t wanted = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (more < wanted) *last = '\0';
}

int vs_fail(struct vesta_error *err, int code, const char *fmt, ...) {
    if (!err) return code;
    va_list args;
    va_start(args, fmt);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    vs_end_whole(err->text);
    return code;
}

const char *vs_quote(char *buf, const char *text, size_t length) {
    static const char hex[] = "0123456789abcdef";
    static const size_t room = VS_QUOTE_MAX - sizeof "..."; /* leaves room for "..." */
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= ' ' && c <= '~';
        if (used + (plain ? 1 : 4) > room) {
            memcpy(buf + used, "...", 3);
            used += 3;
            break;
        }
        if (plain)
            buf[used++] = (char)c;
        else {
            memcpy(buf + used, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
            used += 4;
        }
    }
    buf[used] = 0;
    return buf;
}

/* The names are part of the API in every language, so the name of a code never changes. */
static const char *const code_names[] = {
    [-VESTA_OK] = "ok",
    [-VESTA_EPAUSE] = "pause",
    [-VESTA_ELAYOUT] = "bad_layout",
    [-VESTA_EFIELD] = "bad_field",
    [-VESTA_EID] = "bad_id",
    [-VESTA_EMISMATCH] = "mismatch",
    [-VESTA_ENOGEN] = "no_generator",
    [-VESTA_ECLOSED] = "closed",
    [-VESTA_EEPOCH] = "epoch_end",
    [-VESTA_ENAME] = "unknown_name",
    [-VESTA_EOPTION] = "bad_option",
    [-VESTA_EIO] = "io",
    [-VESTA_ENOMEM] = "no_memory",
    [-VESTA_EFULL] = "too_many",
    [-VESTA_ENOTNOW] = "not_now",
};

static const char *const why_names[] = {
    [VESTA_FULL] = "full",     [VESTA_CLOCK_BACK] = "clock_back", [VESTA_CLOCK_AHEAD] = "clock_ahead",
    [VESTA_AHEAD] = "ahead",   [VESTA_LEASE] = "lease",           [VESTA_CHOOSE] = "choose",
    [VESTA_END] = "epoch_end", [VESTA_CLOSED] = "closed",         [VESTA_FAILSTOP] = "failstop",
    [VESTA_RANGE] = "range",
};

const char *vesta_code_name(int code) {
    return code <= 0 && code > -(int)VS_COUNT(code_names) ? code_names[-code] : "unknown";
}

const char *vesta_why_name(enum vesta_why why) {
    return (int)why > 0 && why < (int)VS_COUNT(why_names) ? why_names[why] : "unknown";
}
