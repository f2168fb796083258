/* time.h -- RFC 3339 texts of a slice; days of the calendar. */
#ifndef VS_TIME_H
#define VS_TIME_H

#include "base/slice.h"
#include "vesta.h"

#define VS_EPOCH_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z: the last that RFC 3339 can write */

/* A day of the Gregorian calendar, which is extended backwards. */
struct vs_date {
    int64_t year;
    int month, day, day_of_year; /* from 1 on */
};
/* Of a count of days since 1970-01-01, as those of any int64_t of milliseconds are. */
struct vs_date vs_date_of(int64_t unix_day);
/* The other way, for years 0 to 9999.  False: there is no such day; *unix_day is left alone. */
bool vs_day_of(int64_t year, int month, int day, int64_t *unix_day);

/* vesta_time_parse of a view. */
int vs_time_read(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err);

#endif
