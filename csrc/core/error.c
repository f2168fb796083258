/* error.c -- codes, their stable names, and the sentence that goes with them.  Knows no layout, no generator. */
#include "core/core.h"

#include <stdarg.h>
#include <stdio.h>

int vs_fail(struct vesta_error *err, int code, const char *fmt, ...) {
    if (!err) return code;
    va_list args;
    va_start(args, fmt);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return code;
}

/* Names are part of the API on every face; a code never changes its name. */
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
};

static const char *const why_names[] = {
    [VESTA_FULL] = "full",
    [VESTA_CLOCK_BACK] = "clock_back",
    [VESTA_CLOCK_AHEAD] = "clock_ahead",
    [VESTA_AHEAD] = "ahead",
    [VESTA_LEASE] = "lease",
    [VESTA_CHOOSE] = "choose",
    [VESTA_END] = "epoch_end",
    [VESTA_CLOSED] = "closed",
    [VESTA_FAILSTOP] = "failstop",
};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

const char *vesta_code_name(int code) {
    return code <= 0 && code > -COUNT(code_names) ? code_names[-code] : "unknown";
}

const char *vesta_why_name(enum vesta_why why) {
    return (int)why > 0 && (int)why < COUNT(why_names) ? why_names[why] : "unknown";
}
