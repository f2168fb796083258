/* line.h -- formats an event as one line, whatever its values are. */
#ifndef VS_LOG_LINE_H
#define VS_LOG_LINE_H

#include "log/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_line {
    enum vs_log_format format;
    size_t used;
    bool begun; /* the line has at least one name */
    bool full;  /* a value was cut, so later names are left out */
    char text[VS_LOG_LINE_MAX];
};

/* Begins a line.  If unix_ms is negative, the line goes to the journal, so it gets the journal's level prefix instead
 * of a time. */
void vs_line_begin(struct vs_line *line, enum vs_log_format format, int64_t unix_ms, enum vs_log_level level,
                   const char *sentence);
/* Begins a line of the access log, which starts with the time as vs_line_iso formatted it. */
void vs_line_begin_with(struct vs_line *line, enum vs_log_format format, const char *ts);
/* Formats a time, always with milliseconds, so that lines align and can be sorted.  Returns buf. */
const char *vs_line_iso(char buf[VESTA_ISO_MAX], int64_t unix_ms);
void vs_line_text(struct vs_line *line, const char *name, const char *value);
/* Adds a number.  The end of a line always has room for the log's two counts. */
void vs_line_count(struct vs_line *line, const char *name, uint64_t value);
void vs_line_end(struct vs_line *line);

#endif
