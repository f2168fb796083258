/* error.h -- a failure is one line: a code, and a sentence that names the value and the next step. */
#ifndef VS_ERROR_H
#define VS_ERROR_H

#include "vesta.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Fills err (which may be NULL) and returns code, so that a failure is one line: return vs_fail(err, ...).
 * A text that does not fit is cut, never overrun. */
__attribute__((format(printf, 3, 4))) int vs_fail(struct vesta_error *err, int code, const char *fmt, ...);

/* Writes "OURS: THEIRS", or OURS if THEIRS is "".  If both do not fit, OURS is left out: the words around a cause never
 * cut the cause. */
static inline void vs_put_said(char *buf, size_t size, const char *ours, const char *theirs) {
    bool is_room = strlen(ours) + strlen(": ") + strlen(theirs) < size;
    bool has_both = *ours && *theirs && is_room;
    int length = snprintf(buf, size, "%s%s%s", *theirs && !is_room ? "" : ours, has_both ? ": " : "", theirs);
    if (length < 0) buf[0] = '\0';
}

/* Foreign text for a message: bytes that are not printable ASCII as \xNN (a message may end in a log), cut with "..."
 * where it is long.  Use: vs_fail(err, code, "'%s' is no width", VS_QUOTE(at, length)); lives to the block's end. */
#define VS_QUOTE_MAX 52
#define VS_QUOTE(text, length) vs_quote((char[VS_QUOTE_MAX]){0}, (text), (length))
const char *vs_quote(char *buf, const char *text, size_t length);

#endif
