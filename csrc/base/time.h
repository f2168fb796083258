/* time.h -- reads RFC 3339 texts, and converts days of the calendar. */
#ifndef VS_TIME_H
#define VS_TIME_H

#include "base/slice.h"
#include "vesta.h"

#define VS_EPOCH_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z, the last time in RFC 3339 */

/* A day of the proleptic Gregorian calendar. */
struct vs_date {
    int64_t year;
    int month, day, day_of_year; /* from 1 */
};
/* The date of a count of days since 1970-01-01, for all days that an int64_t of milliseconds can reach. */
struct vs_date vs_date_of(int64_t unix_day);
/* The inverse, for years 0 to 9999.  False if there is no such day: *unix_day is unchanged. */
bool vs_day_of(int64_t year, int month, int day, int64_t *unix_day);

/* vesta_time_parse for a slice. */
int vs_time_read(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err);

#endif
