/* zone.h -- the offset of a named time zone and its calendar day, from a file of the tz database (TZif, RFC 9636).  It
 * reads bytes in memory, which the caller provides.  localtime(3) is not used: it supports only the process's own TZ,
 * and changing that would affect other threads. */
#ifndef VS_ZONE_H
#define VS_ZONE_H

#include "vesta.h"

#include <stdbool.h>

#define VS_ZONE_BYTES_MAX 65536 /* of a file; the longest ones have 4 KiB */

/* The start of summer or winter time in each year. */
struct vs_zone_when {
    char kind;                /* 'J': day 1 to 365, without 29 February. '0': day 0 to 365. 'M': month, week, weekday */
    int month, week, weekday; /* week 5 is the last one, weekday 0 is Sunday */
    int day;
    int64_t at_s; /* seconds after that day's midnight in the time that ends then; may be negative or more than a day */
};

/* The rule that applies after the last change in the file. */
struct vs_zone_rule {
    bool is_there, has_summer;
    int64_t winter_s, summer_s; /* seconds ahead of UTC */
    struct vs_zone_when begin, end;
};

/* Views of the file's bytes, which must outlive it. */
struct vs_zone {
    const unsigned char *changes, *kinds, *types; /* in the file's format */
    size_t change_count, type_count;
    struct vs_zone_rule rule;
};

/* UTC needs no file. */
extern const struct vs_zone vs_zone_utc;

/* Reads a file.  Shape: any bytes; *out is set with VESTA_OK only.  Errors: VESTA_EOPTION with the fault. */
int vs_zone_read(const unsigned char *bytes, size_t length, struct vs_zone *out, struct vesta_error *err);

/* Seconds to add to UTC.  Threads: any. */
int64_t vs_zone_ahead_s(const struct vs_zone *zone, int64_t unix_s);

/* The zone's day at an instant, in days since 1970-01-01. */
int64_t vs_zone_day(const struct vs_zone *zone, int64_t unix_ms);

/* The zone's date and time at an instant.  If clocks are put forward, no instant has the skipped times.  If they are
 * put back, two instants have the same time and differ in ahead_s. */
struct vs_zone_time {
    int64_t year, ahead_s; /* seconds ahead of UTC */
    int month, day, hour, minute, second;
    int weekday, day_of_year; /* from 1 on; weekday 1 is Sunday */
};
/* The members, with their names in Lua's os.date("*t"). */
#define VS_ZONE_TIME_ROWS(ROW)                                                                                         \
    ROW("year", year)                                                                                                  \
    ROW("month", month)                                                                                                \
    ROW("day", day)                                                                                                    \
    ROW("hour", hour)                                                                                                  \
    ROW("min", minute)                                                                                                 \
    ROW("sec", second)                                                                                                 \
    ROW("wday", weekday)                                                                                               \
    ROW("yday", day_of_year)                                                                                           \
    ROW("offset_s", ahead_s)
/* Threads: any. */
struct vs_zone_time vs_zone_time(const struct vs_zone *zone, int64_t unix_ms);

/* A zone with its file's bytes.  Do not move it. */
struct vs_zone_file {
    struct vs_zone zone;
    unsigned char bytes[VS_ZONE_BYTES_MAX];
};
#define VS_ZONE_NAME_MAX 64 /* "America/Argentina/ComodRivadavia", with its NUL */

/* Reads a name that needs no file.  GMT+8, UTC+08:00 and +08:00 are Java's names, which count to the east.  Then
 * *is_java is set.  Other names, such as CST-8 or <+08>-8, are POSIX rules, which count to the west.  False: the name
 * is neither. */
bool vs_zone_read_name(const char *name, struct vs_zone *out, bool *is_java);

/* Loads a zone by name: a name without a file, or a file of Debian's tzdata.  Shape: out->zone is set with VESTA_OK
 * only, and views out->bytes: do not copy it.  Threads: any, reads a disk.
 * Errors: VESTA_EOPTION if there is no such zone, VESTA_EIO. */
int vs_zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err);

/* Makes the C library read the process's TZ like Java.  Fails for an unknown zone, for which the C library would
 * silently use UTC.  Threads: before any other thread starts.  Errors: as vs_zone_load. */
int vs_zone_adopt(struct vesta_error *err);

#endif
