/* line.h -- an event as one line, whatever its values are. */
#ifndef VS_LOG_LINE_H
#define VS_LOG_LINE_H

#include "log/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_line {
    enum vs_log_format format;
    size_t used;
    bool begun; /* a name stands in it */
    bool full;  /* a value was cut; the names behind it are left out */
    char text[VS_LOG_LINE_MAX];
};

/* unix_ms < 0: the journal reads it, which wants its own prefix for the level and stamps lines itself. */
void vs_line_begin(struct vs_line *line, enum vs_log_format format, int64_t unix_ms, enum vs_log_level level,
                   const char *sentence);
/* Of the access log, whose lines begin with the time alone, as vs_line_iso wrote it. */
void vs_line_begin_with(struct vs_line *line, enum vs_log_format format, const char *ts);
/* Milliseconds always, so that lines align and sort.  Returns buf. */
const char *vs_line_iso(char buf[VESTA_ISO_MAX], int64_t unix_ms);
void vs_line_text(struct vs_line *line, const char *name, const char *value);
/* A number; at the end there is always room for two, for the log's own counts. */
void vs_line_count(struct vs_line *line, const char *name, uint64_t value);
void vs_line_end(struct vs_line *line);

#endif
