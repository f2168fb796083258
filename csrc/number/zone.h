/* zone.h -- computes a time zone's offset and calendar day from the bytes of a file of the tz database (TZif, RFC
 * 9636), which the caller provides.  localtime(3) cannot be used: it supports only the zone in TZ, and changing TZ
 * would affect other threads. */
#ifndef VS_ZONE_H
#define VS_ZONE_H

#include "vesta.h"

#include <stdbool.h>

/* The maximum size of a zone's file.  The longest files of the tz database have 4 KiB. */
#define VS_ZONE_BYTES_MAX 65536

/* When summer or winter time begins in each year, in one of the three forms of POSIX. */
struct vs_zone_when {
    /* 'J': `day` is 1 to 365 and does not count 29 February.  '0': `day` is 0 to 365.  'M': month, week and weekday. */
    char kind;
    int month, week, weekday; /* week 5 is the last week of the month, weekday 0 is Sunday */
    int day;
    int64_t at_s; /* seconds after midnight, local time before the change. May be negative or exceed a day */
};

/* The rule for all times after the last change that the file lists. */
struct vs_zone_rule {
    bool is_there, has_summer;
    int64_t winter_s, summer_s; /* seconds ahead of UTC */
    struct vs_zone_when begin, end;
};

/* A zone.  The pointers refer to the file's bytes, which must outlive the zone. */
struct vs_zone {
    const unsigned char *changes, *kinds, *types; /* tables in the file's format */
    size_t change_count, type_count;
    struct vs_zone_rule rule;
};

/* The zone UTC, which needs no file. */
extern const struct vs_zone vs_zone_utc;

/* Reads a zone from the bytes of a file, which may be damaged.  Sets *out only on success.
 * Errors: VESTA_EOPTION with the fault. */
int vs_zone_read(const unsigned char *bytes, size_t length, struct vs_zone *out, struct vesta_error *err);

/* Returns the zone's offset at an instant: the seconds to add to UTC.  Threads: any. */
int64_t vs_zone_ahead_s(const struct vs_zone *zone, int64_t unix_s);

/* Returns the zone's calendar day at an instant, in days since 1970-01-01. */
int64_t vs_zone_day(const struct vs_zone *zone, int64_t unix_ms);

/* The zone's date and time at an instant.  When clocks are put back, two instants have the same local time and differ
 * only in ahead_s.  When clocks are put forward, no instant has the skipped local times. */
struct vs_zone_time {
    int64_t year, ahead_s; /* seconds ahead of UTC */
    int month, day, hour, minute, second;
    int weekday, day_of_year; /* both start at 1, and weekday 1 is Sunday */
};
/* The members and their Lua names, which are those of os.date("*t") if it has the member. */
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
/* Returns the date and time.  Threads: any. */
struct vs_zone_time vs_zone_time(const struct vs_zone *zone, int64_t unix_ms);

/* A zone with its file's bytes.  Do not copy or move it, because `zone` points into `bytes`. */
struct vs_zone_file {
    struct vs_zone zone;
    unsigned char bytes[VS_ZONE_BYTES_MAX];
};
#define VS_ZONE_NAME_MAX 64 /* "America/Argentina/ComodRivadavia", with its NUL */

/* Reads the name of a zone that needs no file: UTC, or a name of one of two kinds.  Java's names, such as GMT+8,
 * UTC+08:00 or +08:00, are positive to the east and set *is_java.  POSIX rules, such as CST-8 or <+08>-8, are positive
 * to the west.  Returns false for other names. */
bool vs_zone_read_name(const char *name, struct vs_zone *out, bool *is_java);

/* Loads a zone by name: a name as in vs_zone_read_name, or the path of a file below /usr/share/zoneinfo.  Sets
 * out->zone only on success.  Threads: any, reads a file.
 * Errors: VESTA_EOPTION if there is no such zone, VESTA_EIO. */
int vs_zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err);

/* Makes the C library interpret a Java name in TZ like Java, by rewriting TZ as a POSIX rule.  Fails for an unknown
 * zone, for which the C library would silently use UTC.  Threads: call it before other threads start.
 * Errors: as vs_zone_load. */
int vs_zone_adopt(struct vesta_error *err);

#endif
