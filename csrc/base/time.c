/* time.c -- reads and writes RFC 3339 and Unix milliseconds.  The calendar is plain arithmetic, without libc's time,
 * time zones, locale or clock.  Days count from 0000-01-01 of the proleptic Gregorian calendar. */
#include "base/error.h"
#include "base/slice.h"
#include "base/time.h"

#define MS_PER_DAY 86400000
#define UNIX_DAY 719528 /* the day 1970-01-01, counted from 0000-01-01 */

/* ------------------------------------------------------------------ the calendar */

static int64_t time_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static bool is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_before_year(int64_t year) {
    int64_t last = year - 1;
    int64_t leap_days =
        /* + 1: year 0 is a leap year */
        time_floor_div(last, 4) - time_floor_div(last, 100) + time_floor_div(last, 400) + 1;
    return 365 * year + leap_days;
}

static int days_before_month(int64_t year, int month) {
    static const short before[] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return before[month] + (month > 2 && is_leap(year));
}

static int days_in_month(int64_t year, int month) {
    return days_before_month(year, month + 1) - days_before_month(year, month);
}

static int64_t year_of_day(int64_t day) {
    int64_t year = time_floor_div(day * 400, 146097); /* at most one year off: 400 years have 146097 days */
    while (days_before_year(year) > day)
        year--;
    while (days_before_year(year + 1) <= day)
        year++;
    return year;
}

static int month_of_day(int64_t year, int day) {
    int month = 1;
    while (month < 12 && days_before_month(year, month + 1) <= day)
        month++;
    return month;
}

struct vs_date vs_date_of(int64_t unix_day) {
    int64_t day = unix_day + UNIX_DAY;
    struct vs_date date = {.year = year_of_day(day)};
    int before = (int)(day - days_before_year(date.year));
    date.month = month_of_day(date.year, before);
    date.day = before - days_before_month(date.year, date.month) + 1;
    date.day_of_year = before + 1;
    return date;
}

bool vs_day_of(int64_t year, int month, int day, int64_t *unix_day) {
    if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return false;
    *unix_day = days_before_year(year) + days_before_month(year, month) + day - 1 - UNIX_DAY;
    return true;
}

/* ------------------------------------------------------------------ writing */

static char *time_put(char *at, char mark, int64_t value, int width) {
    char digits[20];
    int count = 0;
    if (mark) *at++ = mark;
    for (; value > 0 || count < width; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* RFC 3339 has no form for years before 0 or after 9999.  Such years are written with a sign, as in ISO 8601. */
static char *put_year(char *at, int64_t year) {
    if (year < 0) return time_put(at, '-', -year, 4);
    return time_put(at, year > 9999 ? '+' : 0, year, 4);
}

size_t vesta_iso(int64_t unix_ms, char *buf) {
    struct vs_date date = vs_date_of(time_floor_div(unix_ms, MS_PER_DAY));
    int ms = (int)(unix_ms % MS_PER_DAY); /* subtracting the day's start would overflow for the earliest day */
    if (ms < 0) ms += MS_PER_DAY;
    char *at = put_year(buf, date.year);
    at = time_put(at, '-', date.month, 2);
    at = time_put(at, '-', date.day, 2);
    at = time_put(at, 'T', ms / 3600000, 2);
    at = time_put(at, ':', ms / 60000 % 60, 2);
    at = time_put(at, ':', ms / 1000 % 60, 2);
    if (ms % 1000) at = time_put(at, '.', ms % 1000, 3);
    *at++ = 'Z';
    *at = 0;
    return (size_t)(at - buf);
}

/* ------------------------------------------------------------------ reading */

/* Takes one of the characters in `mark` (none if `mark` is "") and then exactly `count` digits from the start of text.
 */
static bool time_take(struct vs_slice *text, const char *mark, int count, int *out) {
    struct vs_slice rest = *text;
    if (*mark) {
        if (rest.length == 0 || *rest.at == 0 || !strchr(mark, *rest.at)) return false;
        rest.at++, rest.length--;
    }
    if (rest.length < (size_t)count) return false;
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (rest.at[i] < '0' || rest.at[i] > '9') return false;
        value = value * 10 + (rest.at[i] - '0');
    }
    *text = (struct vs_slice){rest.at + count, rest.length - (size_t)count};
    *out = value;
    return true;
}

struct instant {
    int year, month, day, hour, minute, second, ms, offset_minutes;
    bool finer_than_ms;
};

/* Reads an optional fraction.  Digits after the third must be zeros, because the result has only milliseconds. */
static bool take_fraction(struct vs_slice *text, struct instant *out) {
    int digit;
    if (text->length == 0 || *text->at != '.') return true;
    if (!time_take(text, ".", 1, &digit)) return false;
    out->ms = digit * 100;
    for (int scale = 10; time_take(text, "", 1, &digit); scale /= 10) {
        out->ms += digit * scale;
        if (scale == 0 && digit != 0) out->finer_than_ms = true;
    }
    return true;
}

static bool take_zone(struct vs_slice *text, struct instant *out) {
    int hours, minutes;
    if (text->length == 1 && (*text->at == 'Z' || *text->at == 'z')) return true;
    int sign = text->length > 0 && *text->at == '-' ? -1 : 1;
    if (!time_take(text, "+-", 2, &hours) || !time_take(text, ":", 2, &minutes)) return false;
    out->offset_minutes = sign * (hours * 60 + minutes);
    return text->length == 0 && hours < 24 && minutes < 60;
}

static bool take_instant(struct vs_slice text, struct instant *out) {
    *out = (struct instant){0};
    return time_take(&text, "", 4, &out->year) && time_take(&text, "-", 2, &out->month) &&
           time_take(&text, "-", 2, &out->day) && time_take(&text, "Tt ", 2, &out->hour) &&
           time_take(&text, ":", 2, &out->minute) && time_take(&text, ":", 2, &out->second) &&
           take_fraction(&text, out) && take_zone(&text, out);
}

/* Returns the reason why this instant does not exist, or NULL. */
static const char *instant_fault(const struct instant *t) {
    if (t->month < 1 || t->month > 12) return "there are 12 months";
    if (t->day < 1 || t->day > days_in_month(t->year, t->month)) return "that month has no such day";
    if (t->hour > 23 || t->minute > 59) return "a day ends at 23:59";
    if (t->second > 59) return "Unix time has no leap second, use the second after it";
    if (t->finer_than_ms) return "it is finer than a millisecond";
    return NULL;
}

static int64_t instant_ms(const struct instant *t) {
    int64_t day = days_before_year(t->year) + days_before_month(t->year, t->month) + t->day - 1 - UNIX_DAY;
    int64_t second = t->hour * 3600 + (t->minute - t->offset_minutes) * 60 + t->second;
    return day * MS_PER_DAY + second * 1000 + t->ms;
}

int vs_time_read(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err) {
    struct instant instant;
    uint64_t number;
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, &number) == VESTA_OK && number <= INT64_MAX) {
        *unix_ms = (int64_t)number;
        return VESTA_OK;
    }
    if (!take_instant(text, &instant))
        return vs_fail(err, VESTA_EFIELD,
                       "'%s' is not a time: write RFC 3339 with a zone, 2026-01-31T12:00:00Z, or Unix milliseconds",
                       VS_QUOTE(text.at, text.length));
    const char *fault = instant_fault(&instant);
    if (fault) return vs_fail(err, VESTA_EFIELD, "'%s' is not a time: %s", VS_QUOTE(text.at, text.length), fault);
    *unix_ms = instant_ms(&instant);
    return VESTA_OK;
}

int vesta_time_parse(const char *text, int64_t *unix_ms, struct vesta_error *err) {
    return vs_time_read((struct vs_slice){text, strlen(text)}, unix_ms, err);
}
