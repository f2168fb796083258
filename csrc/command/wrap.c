/* wrap.c -- wraps texts at 80 columns.  Does not depend on any command. */
#include "command/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns the width of UTF-8 text: continuation bytes have no width. */
static size_t wrap_width_of(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static size_t wrap_put_space(size_t count) {
    vs_outf("%*s", (int)count, "");
    return count;
}

/* Returns the gap after a word: two spaces after a sentence, if the text has them. */
static size_t wrap_gap_behind(const char *from, const char *end) {
    return end - from > 0 && strchr(".:", end[-1]) && end[0] == '\n' ? 2 : strspn(end, " ") > 1 ? 2 : 1;
}

static void wrap_put(const char *text, size_t columns, size_t indent, size_t used) {
    size_t gap = 0;
    while (*(text += strspn(text, " \n"))) {
        size_t length = strcspn(text, " \n"), width = wrap_width_of(text, length);
        if ((gap || used > indent) && used + gap + width > columns) {
            vs_outf("\n");
            used = wrap_put_space(indent);
            gap = 0;
        }
        used += wrap_put_space(gap) + width;
        vs_out_write(text, length);
        gap = wrap_gap_behind(text, text + length);
        text += length;
    }
    vs_outf("\n");
}

void vs_out_wrapped(const char *text, size_t indent, size_t used) {
    wrap_put(text, VS_COLUMNS, indent, used);
}

#define FITTED_MIN 20 /* columns for a text, however narrow the terminal is */

void vs_out_fitted(const char *text, size_t indent, size_t used) {
    char clean[2048];
    size_t columns = vs_out_columns();
    if (!columns) {
        vs_out_clean(text);
        vs_outf("\n");
        return;
    }
    snprintf(clean, sizeof clean, "%s", text);
    wrap_put(vs_clean(clean), columns > indent + FITTED_MIN ? columns : indent + FITTED_MIN, indent, used);
}

void vs_out_fittedf(size_t indent, size_t used, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vs_out_fitted(text, indent, used);
}
