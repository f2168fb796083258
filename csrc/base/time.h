/* time.h -- parses RFC 3339, and converts calendar dates to day counts and back. */
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
/* Returns the date of a day, counted from 1970-01-01.  Supports every day that int64_t milliseconds can represent. */
struct vs_date vs_date_of(int64_t unix_day);
/* Sets *unix_day to the day count of a date in the years 0 to 9999.  Returns false, with *unix_day unchanged, if the
 * date does not exist. */
bool vs_day_of(int64_t year, int month, int day, int64_t *unix_day);

/* Like vesta_time_parse, for a slice. */
int vs_time_read(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err);

#endif
