/* time.c -- reads and writes RFC 3339, and checks the calendar. */
#include "check.h"
#include "base/array.h"
#include "base/time.h"

static const struct {
    const char *text;
    int64_t ms;
} instants[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1969-12-31T23:59:59.999Z", -1},
    {"1970-01-01T00:00:00.001Z", 1},
    {"2000-02-29T12:00:00Z", 951825600000},
    {"1900-03-01T00:00:00Z", -2203891200000},
    {"2014-12-31T16:00:00Z", 1420041600000},
    {"2010-11-04T01:42:54.657Z", 1288834974657},
    {"2038-01-19T03:14:08Z", 2147483648000},
    {"2049-01-09T05:37:04Z", 2493783424000},
    {"2049-11-03T11:53:47.776Z", 2519553227776},
    {"2080-07-10T17:30:30.209Z", 3487858230209},
    {"2100-02-28T23:59:59Z", 4107542399000},
    {"2100-03-01T00:00:00Z", 4107542400000},
    {"2106-02-07T06:28:16Z", 4294967296000},
    {"9999-12-31T23:59:59.999Z", VS_EPOCH_MS_MAX},
    {"0000-01-01T00:00:00Z", -62167219200000},
};

static void known_instants(void) {
    char buf[VESTA_ISO_MAX];
    for (size_t i = 0; i < VS_COUNT(instants); i++) {
        int64_t ms = -7;
        CHECK_EQ_I64(vesta_time_parse(instants[i].text, &ms, NULL), VESTA_OK);
        CHECK_EQ_I64(ms, instants[i].ms);
        CHECK_EQ_U64(vesta_iso(instants[i].ms, buf), strlen(instants[i].text));
        CHECK_STR(buf, instants[i].text);
    }
}

static void every_day_follows_its_neighbour(void) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t ms = -62167219200000;
    char want[40], got[VESTA_ISO_MAX];
    for (int year = 0; year <= 2400; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 0; month < 12; month++)
            for (int day = 1; day <= days[month] + (month == 1 && leap); day++, ms += 86400000) {
                snprintf(want, sizeof want, "%04d-%02d-%02dT00:00:00Z", year, month + 1, day);
                vesta_iso(ms, got);
                int64_t back = -7;
                if (strcmp(want, got) != 0 || vesta_time_parse(want, &back, NULL) != VESTA_OK || back != ms) {
                    CHECK_STR(got, want);
                    CHECK_EQ_I64(back, ms);
                }
            }
    }
}

static void offsets_are_subtracted(void) {
    static const struct {
        const char *a, *b;
    } same[] = {
        {"2015-01-01T00:00:00+08:00", "2014-12-31T16:00:00Z"},
        {"2014-12-31T10:30:00-05:30", "2014-12-31T16:00:00Z"},
        {"2016-09-20t00:00:00+08:00", "2016-09-19T16:00:00z"},
        {"2020-02-22 00:00:00.000+08:00", "2020-02-21T16:00:00-00:00"},
        {"2024-02-29T23:59:59.5+23:59", "2024-02-29T00:00:59.500000Z"},
        {"1420041600000", "2014-12-31T16:00:00Z"},
        {"0", "1970-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < VS_COUNT(same); i++) {
        int64_t a = -1, b = -2;
        CHECK_EQ_I64(vesta_time_parse(same[i].a, &a, NULL), VESTA_OK);
        CHECK_EQ_I64(vesta_time_parse(same[i].b, &b, NULL), VESTA_OK);
        CHECK_EQ_I64(a, b);
    }
}

static void no_such_time(void) {
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "write RFC 3339"},
        {"2026", NULL},
        {"2026-01-01", "write RFC 3339"},
        {"2026-01-01T00:00:00", "with a zone"},
        {"2026-02-30T00:00:00Z", "no such day"},
        {"2026-02-29T00:00:00Z", "no such day"},
        {"2100-02-29T00:00:00Z", "no such day"},
        {"2026-04-31T00:00:00Z", "no such day"},
        {"2026-01-00T00:00:00Z", "no such day"},
        {"2026-00-01T00:00:00Z", "12 months"},
        {"2026-13-01T00:00:00Z", "12 months"},
        {"2026-01-01T24:00:00Z", "23:59"},
        {"2026-01-01T23:60:00Z", "23:59"},
        {"2016-12-31T23:59:60Z", "leap second"},
        {"2026-01-01T00:00:00.0001Z", "finer"},
        {"2026-01-01T00:00:00.Z", "write RFC"},
        {"2026-01-01T00:00:00.5", "write RFC"},
        {"2026-01-01T00:00:00+24:00", "write RFC"},
        {"2026-01-01T00:00:00+08:60", "write RFC"},
        {"2026-01-01T00:00:00+8:00", "write RFC"},
        {"2026-01-01T00:00:00+0800", "write RFC"},
        {"2026-01-01T00:00:00ZZ", "write RFC"},
        {" 2026-01-01T00:00:00Z", "write RFC"},
        {"2026-01-01T00:00:00Z ", "write RFC"},
        {"26-01-01T00:00:00Z", "write RFC"},
        {"12026-01-01T00:00:00Z", "write RFC"},
        {"+2026-01-01T00:00:00Z", "write RFC"},
        {"-1", "write RFC"},
        {"+1", "write RFC"},
        {"1e3", "write RFC"},
        {"9223372036854775808", "write RFC"},
        {"\xd9\xa1\xd9\xa2", "\\xd9\\xa1\\xd9\\xa2"},
        {"2026-01-01T00:00:00\x1b[2J", "\\x1b[2J"},
        {"now", "'now'"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        struct vesta_error err = {0};
        int64_t ms = -77;
        int rc = vesta_time_parse(bad[i].text, &ms, &err);
        if (!bad[i].why) { /* "2026" is valid, because it is read as Unix milliseconds */
            CHECK_EQ_I64(ms, 2026);
            continue;
        }
        CHECK_EQ_I64(rc, VESTA_EFIELD);
        CHECK_EQ_I64(ms, -77);
        CHECK_HAS(err.text, bad[i].why);
    }
}

static void far_times_fit_their_buffer(void) {
    char buf[VESTA_ISO_MAX + 1];
    static const struct {
        int64_t ms;
        const char *want;
    } far[] = {
        {VS_EPOCH_MS_MAX + 1, "+10000-01-01T00:00:00Z"},
        {-62167219200001, "-0001-12-31T23:59:59.999Z"},
        {INT64_MAX, "+292278994-08-17T07:12:55.807Z"},
        {INT64_MIN, "-292275055-05-16T16:47:04.192Z"},
    };
    for (size_t i = 0; i < VS_COUNT(far); i++) {
        buf[VESTA_ISO_MAX] = '!';
        CHECK(vesta_iso(far[i].ms, buf) < VESTA_ISO_MAX);
        CHECK_STR(buf, far[i].want);
        CHECK(buf[VESTA_ISO_MAX] == '!');
    }
}

static const struct check_case cases[] = {
    {"known instants read and write exactly", known_instants},
    {"876,948 days in a row are each written and read as the day after the one before",
     every_day_follows_its_neighbour},
    {"zones and spellings that RFC 3339 allows mean the same instant", offsets_are_subtracted},
    {"texts that are not times are rejected with the reason and set nothing", no_such_time},
    {"times beyond RFC 3339 are written with a sign and fit the buffer", far_times_fit_their_buffer},
};
CHECK_MAIN(cases)
