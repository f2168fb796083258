/* lines.h -- lines of a screen, or of an output: cut at the edge, harmless whatever a server says, and no more of them
 * than fit. */
#ifndef VS_TOP_LINES_H
#define VS_TOP_LINES_H

#include "command/command.h"

struct vs_lines {
    size_t columns;     /* 0: as many as it takes */
    bool is_screen;     /* what stood there is drawn over */
    size_t rows;        /* how many there may be; SIZE_MAX: all */
    size_t used, fixed; /* fixed: of those that do not scroll */
    bool scrolls;       /* the lines that come now may be passed over */
    size_t passed;      /* how many of those are */
    size_t told;        /* how many of those there were, seen or not */
};

void vs_line(struct vs_lines *lines, const char *paint, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "name            what is told of it", in as many lines as it takes. */
void vs_line_fact(struct vs_lines *lines, const char *paint, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
