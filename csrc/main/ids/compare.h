/* compare.h -- compares two ids. */
#ifndef VS_COMPARE_H
#define VS_COMPARE_H

#include "command/command.h"

/* When an id was made: from from_ms to before end_ms, in Unix milliseconds. */
struct vs_moment {
    char text[VS_WIDE_TEXT_MAX]; /* the id */
    int64_t from_ms, end_ms;
};

/* Prints which id was made first, how far apart the ids are and, if layouts[0] == layouts[1], whether one worker made
 * both ids.  The output is text or a JSON object.  Each id must be valid in its layout. */
void vs_compare_print(const struct vesta_layout *const layouts[2], const uint64_t ids[2], int json);

/* Compares two ids that share no field but their times.  `why_only` ends a line of the text. */
void vs_compare_times(const struct vs_moment moments[2], const char *why_only, int json);

/* Returns when an id was made.  It must be valid in the layout. */
struct vs_moment vs_moment_of(const struct vesta_layout *layout, uint64_t id);

#endif
