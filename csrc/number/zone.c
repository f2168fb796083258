/* zone.c -- reads a file of the tz database: a list of changes of the offset, and a rule for later times.  See zone.h.
 */
#include "number/zone.h"

#include "base/error.h"
#include "base/slice.h"
#include "base/time.h"

#include <assert.h>

#define HEADER 44         /* bytes: "TZif", a version, 15 unused bytes, six counts of four bytes */
#define AHEAD_S_MAX 93599 /* 25:59:59, the limit that TZif recommends */
#define AT_HOURS_MAX 167  /* the most hours of a time in a rule: a week */
#define TYPE 6            /* bytes: seconds ahead of UTC, a flag for summer time, the index of its name */
#define DAY_S 86400
#define JAVA_HOURS_MAX 23

const struct vs_zone vs_zone_utc = {.rule = {.is_there = true}};

/* ------------------------------------------------------------------ integers in the file */

static uint32_t zone_read32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t zone_read64(const unsigned char *at) {
    return (int64_t)((uint64_t)zone_read32(at) << 32 | zone_read32(at + 4));
}

static int64_t ahead_of_type(const struct vs_zone *zone, size_t type) {
    assert(type < zone->type_count);
    return (int32_t)zone_read32(zone->types + TYPE * type);
}

static int64_t floor_div(int64_t a, int64_t b) {
    assert(b > 0);
    return a / b - (a % b < 0);
}

/* ------------------------------------------------------------------ the rule: CET-1CEST,M3.5.0,M10.5.0/3 */

/* Each of these functions takes one part of a rule from the start of the text, or returns false if the text does not
 * begin with it. */
static bool zone_take(struct vs_slice *text, char c) {
    if (text->length == 0 || *text->at != c) return false;
    *text = (struct vs_slice){text->at + 1, text->length - 1};
    return true;
}

static bool zone_take_number(struct vs_slice *text, int max, int *out) {
    int digits = 0, value = 0;
    while (text->length > 0 && *text->at >= '0' && *text->at <= '9' && digits < 4) {
        value = value * 10 + (*text->at - '0');
        zone_take(text, *text->at);
        digits++;
    }
    if (digits == 0 || value > max) return false;
    *out = value;
    return true;
}

/* Skips a name, such as CET or <-03>. */
static bool zone_take_name(struct vs_slice *text) {
    bool quoted = zone_take(text, '<');
    size_t length = 0;
    while (length < text->length) {
        char c = text->at[length] | ' ', any = text->at[length];
        bool letter = c >= 'a' && c <= 'z';
        if (!letter && !(quoted && (any == '+' || any == '-' || (any >= '0' && any <= '9')))) break;
        length++;
    }
    *text = (struct vs_slice){text->at + length, text->length - length};
    return length >= 3 && (!quoted || zone_take(text, '>'));
}

/* Reads a time: [+-]hh[:mm[:ss]]. */
static bool take_time(struct vs_slice *text, int64_t *out) {
    int hours, minutes = 0, seconds = 0;
    bool is_negative = zone_take(text, '-');
    if (!is_negative) zone_take(text, '+');
    if (!zone_take_number(text, AT_HOURS_MAX, &hours)) return false;
    if (zone_take(text, ':') && !zone_take_number(text, 59, &minutes)) return false;
    if (zone_take(text, ':') && !zone_take_number(text, 59, &seconds)) return false;
    *out = (is_negative ? -1 : 1) * (hours * INT64_C(3600) + minutes * 60 + seconds);
    return true;
}

static bool take_when(struct vs_slice *text, struct vs_zone_when *out) {
    *out = (struct vs_zone_when){.kind = '0', .at_s = 7200};
    if (!zone_take(text, ',')) return false;
    if (zone_take(text, 'M')) {
        out->kind = 'M';
        if (!zone_take_number(text, 12, &out->month) || !zone_take(text, '.') ||
            !zone_take_number(text, 5, &out->week) || !zone_take(text, '.') ||
            !zone_take_number(text, 6, &out->weekday) || out->month < 1 || out->week < 1)
            return false;
    } else {
        if (zone_take(text, 'J')) out->kind = 'J';
        if (!zone_take_number(text, 365, &out->day) || (out->kind == 'J' && out->day < 1)) return false;
    }
    return !zone_take(text, '/') || take_time(text, &out->at_s);
}

static bool read_rule(struct vs_slice text, struct vs_zone_rule *out) {
    *out = (struct vs_zone_rule){0};
    if (text.length == 0) return true; /* the offset of the last change applies to all later times */
    out->is_there = true;
    if (!zone_take_name(&text) || !take_time(&text, &out->winter_s)) return false;
    out->winter_s = -out->winter_s; /* POSIX offsets are positive to the west */
    out->summer_s = out->winter_s + 3600;
    if (text.length == 0) return true;
    out->has_summer = true;
    if (!zone_take_name(&text)) return false;
    if (text.length > 0 && *text.at != ',') {
        if (!take_time(&text, &out->summer_s)) return false;
        out->summer_s = -out->summer_s;
    }
    return take_when(&text, &out->begin) && take_when(&text, &out->end) && text.length == 0;
}

/* Skips the prefix of a name such as GMT+8, UTC+08:00 or +0800, and returns whether the name has such a form.  Such a
 * name is always read as Java reads it, positive to the east, and never as a POSIX rule, which would differ by 16 hours
 * for GMT+8. */
static bool zone_begins_as_java(struct vs_slice *text) {
    static const char *const prefixes[] = {"GMT", "UTC", "UT", ""};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        bool begins = text->length > length && memcmp(text->at, prefixes[i], length) == 0;
        if (!begins || (text->at[length] != '+' && text->at[length] != '-')) continue;
        *text = (struct vs_slice){text->at + length, text->length - length};
        return true;
    }
    return false;
}

/* Reads a Java offset: [+-] and h, hh, hhmm or hh:mm. */
static bool zone_take_java(struct vs_slice text, int64_t *ahead_s) {
    bool is_west = zone_take(&text, '-');
    int hours, minutes = 0;
    if (!is_west) zone_take(&text, '+');
    size_t digits = text.length;
    if (!zone_take_number(&text, 2359, &hours)) return false;
    digits -= text.length;
    if (digits > 2)
        minutes = hours % 100, hours /= 100;
    else if (zone_take(&text, ':') && (text.length != 2 || !zone_take_number(&text, 59, &minutes)))
        return false;
    *ahead_s = (is_west ? -60 : 60) * (hours * INT64_C(60) + minutes);
    return text.length == 0 && hours <= JAVA_HOURS_MAX && minutes <= 59;
}

bool vs_zone_read_name(const char *name, struct vs_zone *out, bool *is_java) {
    struct vs_slice text = {name, strlen(name)};
    struct vs_zone zone = vs_zone_utc;
    *is_java = zone_begins_as_java(&text);
    bool is_utc = vs_slice_is(text, "UTC") || vs_slice_is(text, "GMT") || vs_slice_is(text, "Z");
    bool is_known = *is_java ? zone_take_java(text, &zone.rule.winter_s)
                             : is_utc || (text.length > 0 && read_rule(text, &zone.rule));
    if (is_known) *out = zone;
    return is_known;
}

/* Returns the day on which a rule's change occurs in a year, in days since 1970-01-01. */
static int64_t day_of_when(const struct vs_zone_when *when, int64_t year) {
    int64_t first = 0, next = 0;
    bool is_day = vs_day_of(year, when->kind == 'M' ? when->month : 1, 1, &first);
    assert(is_day);
    if (when->kind == '0') return first + when->day;
    if (when->kind == 'J') {
        int64_t march = 0;
        vs_day_of(year, 3, 1, &march);
        bool is_leap = march - first == 60;
        return first + when->day - 1 + (is_leap && when->day >= 60);
    }
    is_day = when->month == 12 ? vs_day_of(year, 12, 31, &next) : vs_day_of(year, when->month + 1, 1, &next);
    assert(is_day);
    if (when->month == 12) next++;
    int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    int64_t day = first + (when->weekday - weekday + 7) % 7 + (when->week - 1) * 7;
    return day < next ? day : day - 7;
}

static int64_t ahead_by_rule(const struct vs_zone_rule *rule, int64_t unix_s) {
    if (!rule->has_summer) return rule->winter_s;
    int64_t year = vs_date_of(floor_div(unix_s + rule->winter_s, DAY_S)).year;
    if (year < 0 || year > 9999) return rule->winter_s; /* vs_day_of supports no other years */
    int64_t begin_s = day_of_when(&rule->begin, year) * DAY_S + rule->begin.at_s - rule->winter_s;
    int64_t end_s = day_of_when(&rule->end, year) * DAY_S + rule->end.at_s - rule->summer_s;
    bool is_summer = /* in the southern hemisphere summer time ends before it begins */
        begin_s < end_s ? unix_s >= begin_s && unix_s < end_s : unix_s >= begin_s || unix_s < end_s;
    return is_summer ? rule->summer_s : rule->winter_s;
}

/* ------------------------------------------------------------------ the file */

/* Returns the number of bytes after a header, for times of `width` bytes each. */
static uint64_t body_length(const unsigned char *header, size_t width) {
    uint64_t utc = zone_read32(header + 20), std = zone_read32(header + 24), leaps = zone_read32(header + 28);
    uint64_t changes = zone_read32(header + 32), types = zone_read32(header + 36), letters = zone_read32(header + 40);
    return changes * (width + 1) + types * TYPE + letters + leaps * (width + 4) + std + utc;
}

static bool is_header(const unsigned char *bytes, size_t length) {
    return length >= HEADER && memcmp(bytes, "TZif", 4) == 0 && bytes[4] >= '2' && bytes[4] <= '9';
}

/* Returns a description of a fault in the changes or types, or NULL. */
static const char *zone_reject(const struct vs_zone *zone) {
    for (size_t i = 0; i < zone->type_count; i++)
        if (ahead_of_type(zone, i) > AHEAD_S_MAX || ahead_of_type(zone, i) < -AHEAD_S_MAX)
            return "it is more than 26 hours from UTC";
    for (size_t i = 0; i < zone->change_count; i++) {
        if (zone->kinds[i] >= zone->type_count) return "a change leads to no type";
        if (i > 0 && zone_read64(zone->changes + 8 * i) <= zone_read64(zone->changes + 8 * (i - 1)))
            return "its changes are not in order";
    }
    return NULL;
}

/* Reads the part with 64-bit times into *out.  Returns NULL, or a description of its fault. */
static const char *read_body(struct vs_slice rest, struct vs_zone *out) {
    const unsigned char *header = (const unsigned char *)rest.at, *body = header + HEADER;
    if (!is_header(header, rest.length)) return "its second header is missing";
    uint64_t length = body_length(header, 8);
    if (length > rest.length - HEADER) return "it ends too early";
    if (zone_read32(header + 28) > 0) return "it counts leap seconds (right/), which Unix time does not";
    out->change_count = zone_read32(header + 32);
    out->type_count = zone_read32(header + 36);
    if (out->type_count == 0) return "it has no type";
    out->changes = body;
    out->kinds = body + 8 * out->change_count;
    out->types = out->kinds + out->change_count;
    struct vs_slice footer = {rest.at + HEADER + length, rest.length - HEADER - length};
    if (!zone_take(&footer, '\n') || footer.length == 0 || footer.at[footer.length - 1] != '\n')
        return "its last line is missing";
    footer.length--;
    if (!read_rule(footer, &out->rule)) return "the rule in its last line cannot be read";
    return zone_reject(out);
}

int vs_zone_read(const unsigned char *bytes, size_t length, struct vs_zone *out, struct vesta_error *err) {
    struct vs_zone zone = {0};
    const char *why = "it is longer than 64 KiB";
    if (length <= VS_ZONE_BYTES_MAX && !is_header(bytes, length))
        why = "it does not begin as a TZif file of version 2 or later does";
    else if (length <= VS_ZONE_BYTES_MAX) {
        uint64_t first = HEADER + body_length(bytes, 4);
        why = first > length ? "it ends too early"
                             : read_body((struct vs_slice){(const char *)bytes + first, length - first}, &zone);
    }
    if (why) return vs_fail(err, VESTA_EOPTION, "the time zone's file is damaged: %s", why);
    *out = zone;
    return VESTA_OK;
}

int64_t vs_zone_ahead_s(const struct vs_zone *zone, int64_t unix_s) {
    size_t low = 0, high = zone->change_count; /* a binary search for the first later change */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone_read64(zone->changes + 8 * middle) <= unix_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->change_count && zone->rule.is_there) return ahead_by_rule(&zone->rule, unix_s);
    return ahead_of_type(zone, low > 0 ? zone->kinds[low - 1] : 0);
}

int64_t vs_zone_day(const struct vs_zone *zone, int64_t unix_ms) {
    int64_t unix_s = floor_div(unix_ms, 1000);
    return floor_div(unix_s + vs_zone_ahead_s(zone, unix_s), DAY_S);
}

struct vs_zone_time vs_zone_time(const struct vs_zone *zone, int64_t unix_ms) {
    int64_t unix_s = floor_div(unix_ms, 1000), ahead_s = vs_zone_ahead_s(zone, unix_s);
    int64_t shown_s = unix_s + ahead_s, day = floor_div(shown_s, DAY_S);
    int second = (int)(shown_s - day * DAY_S);
    struct vs_date date = vs_date_of(day);
    return (struct vs_zone_time){.year = date.year,
                                 .ahead_s = ahead_s,
                                 .month = date.month,
                                 .day = date.day,
                                 .hour = second / 3600,
                                 .minute = second / 60 % 60,
                                 .second = second % 60,
                                 .weekday = 1 + (int)(((day + 4) % 7 + 7) % 7), /* 1970-01-01 was a Thursday */
                                 .day_of_year = date.day_of_year};
}
