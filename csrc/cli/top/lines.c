/* lines.c -- lines for a terminal; see lines.h. */
#include "cli/top/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX 4096
#define INDENT 16 /* of what is told of a name */

/* The bytes of the first `columns` letters. */
static size_t bytes_of(const char *text, size_t columns) {
    bool is_fine;
    size_t at = 0;
    while (text[at] && columns--)
        at += vs_letter(text + at, &is_fine);
    return at;
}

static void put(struct vs_lines *lines, const char *paint, char *text) {
    size_t length = strlen(vs_clean(text));
    if (lines->scrolls && lines->told++ < lines->passed) return;
    if (lines->used >= lines->rows) return;
    lines->used++;
    lines->fixed += !lines->scrolls;
    if (lines->columns) length = length < bytes_of(text, lines->columns) ? length : bytes_of(text, lines->columns);
    vs_outf("%s%.*s%s%s\n", paint, (int)length, text, *paint ? VS_PLAIN : "", lines->is_screen ? "\033[K" : "");
}

void vs_line(struct vs_lines *lines, const char *paint, const char *format, ...) {
    char text[LINE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(lines, paint, text);
}

/* Where a line ends that may be so wide: behind its last word, or in a word that is wider itself. */
static size_t end_of_line(const char *text, size_t columns) {
    size_t end = bytes_of(text, columns), at = end;
    if (!text[end]) return end;
    while (at > 0 && text[at] != ' ')
        at--;
    return at ? at : end;
}

void vs_line_fact(struct vs_lines *lines, const char *paint, const char *name, const char *format, ...) {
    char text[LINE_BYTES_MAX - INDENT], whole[LINE_BYTES_MAX];
    size_t columns = lines->columns > 2 * INDENT ? lines->columns - INDENT : lines->columns ? INDENT : SIZE_MAX;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (const char *at = vs_clean(text); *at || *name; name = "") {
        size_t length = end_of_line(at, columns);
        snprintf(whole, sizeof whole, "%-*s%.*s", INDENT, name, (int)length, at);
        put(lines, paint, whole);
        at += length;
        at += strspn(at, " ");
    }
}
