/* zone.c -- days of named time zones: compared with the C library, on days that a zone skips or repeats, and from
 * damaged files. */
#include "base/array.h"
#include "base/time.h"
#include "check.h"
#include "number/zone.h"

#include <errno.h>
#include <stdlib.h>

#define DAY_S INT64_C(86400)

static struct vs_zone_file loaded;

static struct vs_zone load(const char *name) {
    struct vesta_error err = {.text = ""};
    loaded.zone = vs_zone_utc;
    if (vs_zone_load(name, &loaded, &err) != VESTA_OK) CHECK_FAIL("%s: %s", name, err.text);
    return loaded.zone;
}

static int64_t instant(const char *text) {
    int64_t ms = 0;
    if (vesta_time_parse(text, &ms, NULL) != VESTA_OK) CHECK_FAIL("no time: %s", text);
    return ms;
}

/* Returns the date in the zone at an instant, such as "2026-11-22". */
static const char *date_at(const struct vs_zone *zone, const char *text) {
    static char buf[4][64];
    static int turn;
    struct vs_date date = vs_date_of(vs_zone_day(zone, instant(text)));
    char *out = buf[turn++ % 4];
    snprintf(out, sizeof buf[0], "%04d-%02d-%02d", (int)date.year, date.month, date.day);
    return out;
}

/* ------------------------------------------------------------------ compared with the C library */

static int compare_at(const struct vs_zone *zone, const char *name, int64_t unix_s) {
    time_t t = (time_t)unix_s;
    struct tm tm;
    if (!localtime_r(&t, &tm)) return 1;
    int64_t got = vs_zone_ahead_s(zone, unix_s);
    if (got != tm.tm_gmtoff)
        CHECK_FAIL("%s at %lld: %lld s ahead, the C library says %ld", name, (long long)unix_s, (long long)got,
                   tm.tm_gmtoff);
    struct vs_date date = vs_date_of(vs_zone_day(zone, unix_s * 1000));
    if (date.year != tm.tm_year + 1900 || date.month != tm.tm_mon + 1 || date.day != tm.tm_mday ||
        date.day_of_year != tm.tm_yday + 1)
        CHECK_FAIL("%s at %lld: another day than the C library's", name, (long long)unix_s);
    return 1;
}

/* Every eighteen days and some hours from 1900 to 2120, and each second around each change in the file. */
static int compare(const char *name) {
    struct vs_zone zone = load(name);
    int compared = 0;
    setenv("TZ", name, 1);
    tzset();
    for (int64_t s = INT64_C(-2208988800); s < INT64_C(4733510400); s += 31 * 3600 * 14)
        compared += compare_at(&zone, name, s);
    for (size_t i = 0; i < zone.change_count; i++) {
        uint64_t at = 0;
        for (int b = 0; b < 8; b++)
            at = at << 8 | zone.changes[8 * i + b];
        if ((int64_t)at < INT64_C(-2208988800)) continue;
        for (int64_t s = (int64_t)at - 1; s <= (int64_t)at; s++)
            compared += compare_at(&zone, name, s);
    }
    return compared;
}

static void zones_are_the_c_librarys(void) {
    char line[256], name[128], code[128], place[128];
    int zones = 0, compared = 0;
    FILE *file = fopen("/usr/share/zoneinfo/zone1970.tab", "r");
    NEED(file != NULL);
    while (fgets(line, sizeof line, file))
        if (*line != '#' && sscanf(line, "%127s %127s %127s", code, place, name) == 3) {
            zones++;
            compared += compare(name);
        }
    fclose(file);
    compared += compare("Africa/Casablanca") + compare("Europe/Dublin") + compare("Etc/GMT+12");
    unsetenv("TZ");
    tzset();
    CHECK(zones > 250);
    CHECK(compared > zones * 1000);
}

/* Dates after the last change in any file: Berlin in the year 2500, and Lord Howe's half hour. */
static void rules_go_on(void) {
    static const char *const names[] = {"Europe/Berlin",    "Australia/Lord_Howe", "America/Sao_Paulo", "Europe/Dublin",
                                        "America/New_York", "Asia/Kolkata",        "Pacific/Chatham",   "Asia/Gaza"};
    for (size_t i = 0; i < VS_COUNT(names); i++) {
        struct vs_zone zone = load(names[i]);
        setenv("TZ", names[i], 1);
        tzset();
        for (int64_t s = INT64_C(16725225600); s < INT64_C(16756761600); s += 3500)
            compare_at(&zone, names[i], s);
    }
    unsetenv("TZ");
    tzset();
}

/* ------------------------------------------------------------------ unusual days */

static void midnights(void) {
    struct vs_zone berlin = load("Europe/Berlin");
    CHECK_STR(date_at(&berlin, "2026-11-22T22:59:59.999Z"), "2026-11-22");
    CHECK_STR(date_at(&berlin, "2026-11-22T23:00:00Z"), "2026-11-23");
    CHECK_STR(date_at(&berlin, "2026-07-01T21:59:59.999Z"), "2026-07-01");
    CHECK_STR(date_at(&berlin, "2026-07-01T22:00:00Z"), "2026-07-02");
    CHECK_STR(date_at(&berlin, "2026-10-24T22:00:00Z"), "2026-10-25"); /* this day has 25 hours */
    CHECK_STR(date_at(&berlin, "2026-10-25T22:59:59Z"), "2026-10-25");
    CHECK_STR(date_at(&berlin, "2026-10-25T23:00:00Z"), "2026-10-26");
    struct vs_zone apia = load("Pacific/Apia"); /* Samoa skipped 30 December 2011 */
    CHECK_STR(date_at(&apia, "2011-12-30T09:59:59Z"), "2011-12-29");
    CHECK_STR(date_at(&apia, "2011-12-30T10:00:00Z"), "2011-12-31");
    struct vs_zone johns = load("America/St_Johns"); /* at 0:01 the clock went back to 23:01 */
    CHECK_STR(date_at(&johns, "2010-11-07T02:30:59Z"), "2010-11-07");
    CHECK_STR(date_at(&johns, "2010-11-07T02:31:00Z"), "2010-11-06");
    CHECK_STR(date_at(&johns, "2010-11-07T03:30:00Z"), "2010-11-07");
    CHECK_STR(date_at(&vs_zone_utc, "2026-11-22T23:59:59.999Z"), "2026-11-22");
    CHECK_STR(date_at(&vs_zone_utc, "1969-12-31T23:59:59.999Z"), "1969-12-31");
}

static void tz_plays_no_part(void) {
    struct vs_zone berlin = load("Europe/Berlin");
    setenv("TZ", "Pacific/Kiritimati", 1);
    tzset();
    CHECK_STR(date_at(&berlin, "2026-11-22T22:59:59Z"), "2026-11-22");
    unsetenv("TZ");
    tzset();
}

/* ------------------------------------------------------------------ names and files */

static void names_that_need_no_file(void) {
    static const struct {
        const char *name;
        int64_t ahead_s;
    } rows[] = {{"UTC", 0},         {"GMT", 0},           {"Z", 0},           {"GMT+8", 28800},       {"GMT-8", -28800},
                {"GMT+08:00", 28800}, {"UTC+8", 28800},   {"UTC+08:00", 28800}, {"UT+0530", 19800},   {"+08:00", 28800},
                {"-03", -10800},    {"GMT-0330", -12600}, {"GMT0", 0},        {"CST-8", 28800},       {"<+08>-8", 28800},
                {"EST5", -18000},   {"Etc/GMT+8", -28800}, {"Asia/Shanghai", 28800}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_zone zone = load(rows[i].name);
        if (vs_zone_ahead_s(&zone, 1784000000) != rows[i].ahead_s)
            CHECK_FAIL("%s is %" PRId64 " s ahead", rows[i].name, vs_zone_ahead_s(&zone, 1784000000));
    }
    struct vs_zone berlin = load("CET-1CEST,M3.5.0,M10.5.0/3");
    CHECK_EQ_I64(vs_zone_ahead_s(&berlin, 1784000000), 7200);
}

static void invalid_names(void) {
    static const struct {
        const char *name, *part;
    } rows[] = {
        {"", "is not the name"},
        {"/etc/passwd", "is not the name"},
        {"../../../etc/passwd", "is not the name"},
        {"Europe/../Europe/Berlin", "is not the name"},
        {"Europe/Berlin\n", "is not the name"},
        {":Europe/Berlin", "is not the name"},
        {"GMT+24", "there is no time zone GMT+24"},
        {"GMT+8:5", "is not the name"},
        {"GMT+08000", "there is no time zone"},
        {"GMT+", "there is no time zone"},
        {"CST", "there is no time zone CST: write Asia/Shanghai or America/Chicago"},
        {"Asia/Beijing", "there is no time zone Asia/Beijing: write Asia/Shanghai"},
        {"Europe/Berlin;", "is not the name"},
        {"Europe", "there is no time zone Europe"},
        {"Europe/Berlin/Mitte", "there is no time zone"},
        {"Europe/Atlantis", "there is no time zone"},
        {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "is not the name"},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vesta_error err = {.text = ""};
        loaded.zone.type_count = 77;
        CHECK_EQ_I64(vs_zone_load(rows[i].name, &loaded, &err), VESTA_EOPTION);
        CHECK_HAS(err.text, rows[i].part);
        CHECK_EQ_U64(loaded.zone.type_count, 77);
    }
    struct vesta_error err = {.text = ""};
    CHECK_EQ_I64(vs_zone_load("leapseconds", &loaded, &err), VESTA_EOPTION); /* the file exists, but is not a zone */
    CHECK_HAS(err.text, "damaged");
    CHECK_EQ_I64(vs_zone_load("right/Europe/Berlin", &loaded, &err), VESTA_EOPTION); /* its file has leap seconds */
}

/* Reads Berlin's file and returns its length. */
static size_t berlin(void) {
    (void)load("Europe/Berlin");
    FILE *disk = fopen("/usr/share/zoneinfo/Europe/Berlin", "r");
    size_t length = disk ? fread(loaded.bytes, 1, sizeof loaded.bytes, disk) : 0;
    if (disk) fclose(disk);
    CHECK(length > 500);
    return length;
}

static void prefixes_are_refused(void) {
    size_t length = berlin();
    for (size_t cut = 0; cut < length; cut++) {
        unsigned char *copy = malloc(cut ? cut : 1);
        struct vs_zone zone = vs_zone_utc;
        struct vesta_error err = {.text = ""};
        memcpy(copy, loaded.bytes, cut);
        if (vs_zone_read(copy, cut, &zone, &err) != VESTA_EOPTION) CHECK_FAIL("%zu bytes are read", cut);
        CHECK_HAS(err.text, "damaged");
        free(copy);
    }
}

static void bytes_may_be_anything(void) {
    size_t length = berlin();
    unsigned char *copy = malloc(length);
    int refused = 0;
    for (size_t i = 0; i < length; i++)
        for (int flip = 1; flip < 256; flip <<= 1) {
            struct vs_zone zone;
            memcpy(copy, loaded.bytes, length);
            copy[i] ^= (unsigned char)flip;
            if (vs_zone_read(copy, length, &zone, NULL) != VESTA_OK) {
                refused++;
                continue;
            }
            for (int64_t s = -5 * 365 * DAY_S; s < 150 * 365 * DAY_S; s += 365 * DAY_S * 5) {
                int64_t ahead = vs_zone_ahead_s(&zone, s);
                if (ahead > 8 * DAY_S || ahead < -8 * DAY_S) CHECK_FAIL("byte %zu: %lld s", i, (long long)ahead);
            }
            (void)vs_zone_day(&zone, INT64_MAX);
            (void)vs_zone_day(&zone, INT64_MIN);
        }
    CHECK(refused > 100);
    free(copy);
}

/* Builds a small file with no transitions, one type, and a rule. */
static int read_rule(const char *rule, struct vs_zone *zone, struct vesta_error *err) {
    static unsigned char file[512];
    static const unsigned char head[44] = {'T', 'Z', 'i', 'f', '2', [39] = 1, [43] = 4};
    static const unsigned char body[10] = {0, 0, 0, 0, 0, 0, 'U', 'T', 'C', 0};
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        memcpy(file + used, head, sizeof head);
        memcpy(file + used + sizeof head, body, sizeof body);
        used += sizeof head + sizeof body;
    }
    used += (size_t)snprintf((char *)file + used, sizeof file - used, "\n%s\n", rule);
    return vs_zone_read(file, used, zone, err);
}

static void invalid_rules(void) {
    static const char *const rules[] = {"C-1",
                                        "CET",
                                        "CET-",
                                        "CET-1CEST,",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-999",
                                        "<+03-3",
                                        "CET-1:60",
                                        "CET-1CEST,M3.6.0,J1",
                                        "CET-1CEST,J0,J1",
                                        "CET-1CEST,M3.5.0,M10.5.0x",
                                        "CET-1CEST",
                                        "CET-1 CEST",
                                        "CET-1CEST,M3.5.7,M10.5.0",
                                        "CET-1CEST,366,1",
                                        "CET-1CEST,M3.5.0/168,M10.5.0",
                                        "CET--1",
                                        "CET-1CEST,M0.5.0,M10.5.0",
                                        "\n"};
    for (size_t i = 0; i < VS_COUNT(rules); i++) {
        struct vs_zone zone = vs_zone_utc;
        struct vesta_error err = {.text = ""};
        if (read_rule(rules[i], &zone, &err) != VESTA_EOPTION) CHECK_FAIL("'%s' is read", rules[i]);
        CHECK_HAS(err.text, "rule");
    }
}

static void rules_of_every_kind(void) {
    struct vs_zone zone;
    NEED(read_rule("", &zone, NULL) == VESTA_OK);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, 0), 0);
    NEED(read_rule("<+0330>-3:30", &zone, NULL) == VESTA_OK);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, 0), 12600);
    NEED(read_rule("AAA3BBB,J60/0,J300/0", &zone, NULL) == VESTA_OK); /* J60 is 1 March, in leap years too */
    CHECK_STR(date_at(&zone, "2024-03-01T02:59:59Z"), "2024-02-29");
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2024-03-01T02:59:59Z") / 1000), -10800);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2024-03-01T03:00:00Z") / 1000), -7200);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2023-03-01T03:00:00Z") / 1000), -7200);
    NEED(read_rule("AAA3BBB2,59/0,300/0", &zone, NULL) == VESTA_OK); /* 59 counts from 0: 29 February, or 1 March */
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2024-02-29T03:00:00Z") / 1000), -7200);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2023-02-28T03:00:00Z") / 1000), -10800);
    NEED(read_rule("AAA-10BBB,M10.1.0,M4.1.0/3", &zone, NULL) == VESTA_OK); /* summer over New Year, as in the south */
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2026-12-31T23:00:00Z") / 1000), 39600);
    CHECK_EQ_I64(vs_zone_ahead_s(&zone, instant("2026-06-30T23:00:00Z") / 1000), 36000);
}

static const struct check_case cases[] = {
    {"each zone's day and offset equal the C library's, around every change and up to 2120", zones_are_the_c_librarys},
    {"rules apply after the last change in a file", rules_go_on},
    {"a day begins at the zone's midnight: summer time, a skipped day, a repeated hour over midnight", midnights},
    {"the process's TZ does not matter", tz_plays_no_part},
    {"names of Java count to the east, rules of POSIX to the west, and neither needs a file", names_that_need_no_file},
    {"names of no zone are rejected, and no file outside the folder is read", invalid_names},
    {"a file that is cut anywhere is rejected", prefixes_are_refused},
    {"a file with any bit changed is rejected or read, and its offsets are within 26 hours", bytes_may_be_anything},
    {"an invalid rule is rejected", invalid_rules},
    {"all forms of rules are read", rules_of_every_kind},
};

CHECK_MAIN(cases)
