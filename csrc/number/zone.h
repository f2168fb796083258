/* zone.h -- how far a named time zone is ahead of UTC, and which day it has: a file of the tz database (TZif, RFC
 * 9636), read in memory.  Pure: whoever has the bytes hands them in.  The process's own TZ plays no part: localtime(3)
 * knows that one only, and to change it would change it under other threads' feet. */
#ifndef VS_ZONE_H
#define VS_ZONE_H

#include "vesta.h"

#include <stdbool.h>

#define VS_ZONE_BYTES_MAX 65536 /* of a file; the longest have 4 KiB */

/* When in each year one half of a rule begins. */
struct vs_zone_when {
    char kind;                /* 'J': day 1 to 365, without 29 February; '0': day 0 to 365; 'M': month, week, weekday */
    int month, week, weekday; /* week 5 is the last one, weekday 0 Sunday */
    int day;
    int64_t at_s; /* after that day's midnight by the clocks that end then; may be negative, or days later */
};

/* What holds behind the last change that the file lists. */
struct vs_zone_rule {
    bool is_there, has_summer;
    int64_t winter_s, summer_s; /* ahead of UTC */
    struct vs_zone_when begin, end;
};

/* Views of the bytes, which outlive it. */
struct vs_zone {
    const unsigned char *changes, *kinds, *types; /* the file's, as it has them */
    size_t change_count, type_count;
    struct vs_zone_rule rule;
};

/* UTC is a zone that needs no file. */
extern const struct vs_zone vs_zone_utc;

/* Shape: any bytes; *out is set with VESTA_OK only.  Errors: VESTA_EOPTION, saying what is wrong with them. */
int vs_zone_read(const unsigned char *bytes, size_t length, struct vs_zone *out, struct vesta_error *err);

/* Seconds to be added to UTC.  Threads: any. */
int64_t vs_zone_ahead_s(const struct vs_zone *zone, int64_t unix_s);

/* The zone's day at an instant, in days since 1970-01-01. */
int64_t vs_zone_day(const struct vs_zone *zone, int64_t unix_ms);

/* What the zone's calendar and clocks show at an instant.  Each instant has one answer.  Where clocks are put forward,
 * no instant shows what they leave out; where they are put back, two instants show the same, and ahead_s tells them
 * apart. */
struct vs_zone_time {
    int64_t year, ahead_s; /* ahead_s: seconds ahead of UTC */
    int month, day, hour, minute, second;
    int weekday, day_of_year; /* both from 1 on; 1 is Sunday */
};
/* Its members, with the names that Lua's os.date("*t") has for them. */
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

/* A zone and its file's bytes, which stay where they are. */
struct vs_zone_file {
    struct vs_zone zone;
    unsigned char bytes[VS_ZONE_BYTES_MAX];
};
#define VS_ZONE_NAME_MAX 64 /* "America/Argentina/ComodRivadavia", with its NUL */

/* Reads a name that needs no file.  GMT+8, UTC+08:00 and +08:00 are Java's names, ahead of UTC; *is_java is then set.
 * Any other, such as CST-8 or <+08>-8, is a rule of POSIX, which counts to the west.  False: it is none of them. */
bool vs_zone_read_name(const char *name, struct vs_zone *out, bool *is_java);

/* Reads a zone by its name: one that needs no file, or one that has a file in Debian's tzdata.  Shape: out->zone is set
 * with VESTA_OK only, and views out->bytes: do not copy it.  Threads: any; reads a disk.  Errors: VESTA_EOPTION: there
 * is no such zone; VESTA_EIO. */
int vs_zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err);

/* Makes the C library read the process's TZ as Java does, and fails if it names no zone: the C library would use UTC
 * without a word.  Threads: one, before any other starts.  Errors: as vs_zone_load. */
int vs_zone_adopt(struct vesta_error *err);

#endif
