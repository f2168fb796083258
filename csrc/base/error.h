/* error.h -- sets an error: a code, and a message that states the value and the next step. */
#ifndef VS_ERROR_H
#define VS_ERROR_H

#include "vesta.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Removes the last character of a text that was truncated within its UTF-8 bytes. */
void vs_end_whole(char *text);

/* Sets err, which may be NULL, and returns code, so a function can end with `return vs_fail(err, ...)`.  A message that
 * is too long is truncated. */
__attribute__((format(printf, 3, 4))) int vs_fail(struct vesta_error *err, int code, const char *fmt, ...);

/* Writes "OURS: THEIRS", or OURS if THEIRS is "".  If both do not fit, it writes only THEIRS, the message of the cause,
 * because this message is more useful. */
static inline void vs_put_said(char *buf, size_t size, const char *ours, const char *theirs) {
    bool is_room = strlen(ours) + strlen(": ") + strlen(theirs) < size;
    bool has_both = *ours && *theirs && is_room;
    int length = snprintf(buf, size, "%s%s%s", *theirs && !is_room ? "" : ours, has_both ? ": " : "", theirs);
    if (length < 0) buf[0] = '\0';
}

/* Makes untrusted text safe for a message.  Bytes that are not printable ASCII become \xNN, because messages end up in
 * logs.  Long text is truncated and ends with "...".  The result is valid until the end of the enclosing block.
 * Example: vs_fail(err, code, "'%s' is no width", VS_QUOTE(at, length)). */
#define VS_QUOTE_MAX 52
#define VS_QUOTE(text, length) vs_quote((char[VS_QUOTE_MAX]){0}, (text), (length))
const char *vs_quote(char *buf, const char *text, size_t length);

#endif
