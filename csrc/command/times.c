/* times.c -- parses times in the operands of commands. */
#include "command/times.h"

#include "base/array.h"
#include "base/time.h"
#include "command/options.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
#define SPAN_MAX (100000 * DAY_MS) /* maximum distance from now, which no id exceeds */
#define SECONDS_MAX INT64_C(10000000000) /* current Unix times in seconds are below this, and in milliseconds above */

/* Reads "90m": a count and its unit. */
static bool times_read_span(const char *text, int64_t *ms) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", DAY_MS}, {"w", 7 * DAY_MS}};
    size_t digits = strspn(text, "0123456789");
    uint64_t n;
    if (vesta_parse(VESTA_DECIMAL, text, digits, &n) != VESTA_OK) return false;
    for (size_t i = 0; i < VS_COUNT(units); i++) {
        if (strcmp(text + digits, units[i].name) != 0 || n > (uint64_t)(SPAN_MAX / units[i].ms)) continue;
        *ms = (int64_t)n * units[i].ms;
        return true;
    }
    return false;
}

/* Reads "2026-01-31", without further characters. */
static bool times_read_day(const char *text, int64_t *unix_ms) {
    int year, month, day, length = -1;
    int64_t unix_day;
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-' || strspn(text, "0123456789-") != 10) return false;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &length) != 3 || length != 10) return false;
    if (month < 0 || day < 0 || !vs_day_of(year, month, day, &unix_day)) return false;
    *unix_ms = unix_day * DAY_MS;
    return true;
}

/* Warns if a time is probably in seconds.  Without the warning, it would be read as a time in January 1970. */
static void times_warn_of_seconds(const char *text, int64_t unix_ms) {
    char read[VESTA_ISO_MAX], meant[VESTA_ISO_MAX];
    if (strspn(text, "0123456789") != strlen(text) || unix_ms == 0 || unix_ms >= SECONDS_MAX) return;
    vesta_iso(unix_ms, read), vesta_iso(unix_ms * 1000, meant);
    vs_say("warning: %s in Unix milliseconds is %s: if it counts seconds, write %s", text, read, meant);
}

int vs_time_operand(const char *text, int64_t now_ms, int64_t *unix_ms) {
    struct vesta_error err;
    int64_t ms;
    if (strcmp(text, "now") == 0)
        *unix_ms = now_ms;
    else if (strcmp(text, "today") == 0)
        *unix_ms = now_ms - now_ms % DAY_MS;
    else if ((*text == '-' || *text == '+') && times_read_span(text + 1, &ms))
        *unix_ms = *text == '-' ? now_ms - ms : now_ms + ms;
    else if (times_read_day(text, &ms))
        *unix_ms = ms;
    else if (vesta_time_parse(text, unix_ms, &err) != VESTA_OK)
        return vs_usage("%s. Also accepted: a day (2026-01-31), now, today, -1h, +2d", err.text);
    else
        times_warn_of_seconds(text, *unix_ms);
    return VS_GO;
}

int64_t vs_time_length(const char *text) {
    int64_t ms;
    return strcmp(text, "today") == 0 || times_read_day(text, &ms) ? DAY_MS : 0;
}
