/* times.h -- times in the operands of commands. */
#ifndef VS_CLI_TIMES_H
#define VS_CLI_TIMES_H

#include <stdint.h>

/* Reads "now", "today", "-90m" and "+2d" (relative to now, in ms, s, m, h, d or w), "2026-01-31" (the start of that day
 * in UTC), RFC 3339, or Unix milliseconds.  Returns VS_GO, or an exit code after a message. */
int vs_time_operand(const char *text, int64_t now_ms, int64_t *unix_ms);

/* Returns the length of a time: a day for "2026-01-31" and "today", else 0 for an instant. */
int64_t vs_time_length(const char *text);

#endif
