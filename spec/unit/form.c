/* form.c -- business numbers: their text, the start of days, reading, and invalid forms. */
#include "number/form.h"

#include "base/array.h"
#include "base/time.h"
#include "check.h"

#include <stdlib.h>

#define DAILY "INV-{day:%Y%m%d}-{number:6}-{luhn}"

static struct vs_form parse(const char *text) {
    struct vs_form form = {.part_count = 0};
    struct vesta_error err = {.text = ""};
    if (vs_form_parse(text, &form, &err) != VESTA_OK) CHECK_FAIL("%s: %s", text, err.text);
    return form;
}

static uint64_t dated(int year, int month, int day, uint64_t n) {
    int64_t unix_day = 0;
    CHECK(vs_day_of(year, month, day, &unix_day));
    return (uint64_t)unix_day << VS_FORM_DAY_BITS | n;
}

/* The number n of a counter in the form's period of 2026-11-22. */
static uint64_t dated_for(const struct vs_form *form, uint64_t n) {
    switch (form->period) {
    case VS_FORM_NEVER: return n;
    case VS_FORM_MONTHLY: return dated(2026, 11, 1, n);
    case VS_FORM_YEARLY: return dated(2026, 1, 1, n);
    default: return dated(2026, 11, 22, n);
    }
}

/* ------------------------------------------------------------------ writing */

static void numbers_in_their_forms(void) {
    static const struct {
        const char *form;
        uint64_t n;
        const char *text;
    } rows[] = {
        {"{number}", 1, "1"},
        {"{number}", 9223372036854775806, "9223372036854775806"},
        {"{number:1}", 9, "9"},
        {"{number:12}", 999999999999, "999999999999"},
        {"A{{{number:3}}}-", 42, "A{042}-"},
        {DAILY, 421, "INV-20261122-000421-2"},
        {"{day:%Y-%m-%d}/{number}", 421, "2026-11-22/421"},
        {"{day:%d.%m.%y} {number:4}", 421, "22.11.26 0421"},
        {"{day:%y%j}{number:5}", 421, "2632600421"},
        {"RE {month:%Y/%m} {number:4}", 421, "RE 2026/11 0421"},
        {"{number:4}/{year:%y}", 421, "0421/26"},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_form form = parse(rows[i].form);
        char text[VS_FORM_TEXT_MAX] = "";
        struct vesta_error err = {.text = ""};
        uint64_t number = dated_for(&form, rows[i].n), back = 0;
        CHECK_EQ_I64(vs_form_write(&form, number, text, &err), VESTA_OK);
        CHECK_STR(text, rows[i].text);
        CHECK_EQ_I64(vs_form_read(&form, text, &back, &err), VESTA_OK);
        CHECK_EQ_U64(vs_form_count_of(&form, back), rows[i].n);
        if (form.period > VS_FORM_DAILY) /* a counter within the period was issued under another form */
            CHECK_EQ_I64(vs_form_write(&form, dated(2026, 11, 22, rows[i].n), text, &err), VESTA_EFIELD);
    }
}

/* Published examples of each method, in forms that add nothing. */
static void check_digits_are_the_standards(void) {
    static const struct {
        const char *form;
        uint64_t n;
        const char *text;
    } rows[] = {
        {"{number}{luhn}", 7992739871, "79927398713"},                /* the usual example of Luhn's formula */
        {"{number}{luhn}", 453201511283036, "4532015112830366"},      /* a Visa number from the same examples */
        {"{number}{luhn}", 0 + 1, "18"},                              /* 1 doubled is 2, and 8 makes it 10 */
        {"{number}{mod11}", 21825009, "218250097"},                   /* ORCID 0000-0002-1825-0097 */
        {"0000-0001-{number}{mod11}", 2146438, "0000-0001-2146438X"}, /* ISNI 0000 0001 2146 438X */
        {"{number}{mod97}", 794, "79444"},                            /* the example of ISO 7064 */
        {"{number}RF{mod97}", 539007547034, "539007547034RF18"},      /* ISO 11649: RF18 5390 0754 7034 */
        {"{number}rf{mod97}", 539007547034, "539007547034rf18"},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_form form = parse(rows[i].form);
        char text[VS_FORM_TEXT_MAX] = "";
        CHECK_EQ_I64(vs_form_write(&form, rows[i].n, text, NULL), VESTA_OK);
        CHECK_STR(text, rows[i].text);
    }
}

static void a_number_that_does_not_fit_is_an_error(void) {
    struct vs_form daily = parse(DAILY), plain = parse("{number:3}"), any = parse("{number}");
    struct vs_form month = parse("{month:%y%m}-{number:2}"), year = parse("{year:%Y}-{number:2}");
    struct vesta_error err = {.text = ""};
    char text[VS_FORM_TEXT_MAX] = "untouched";
    CHECK_EQ_I64(vs_form_write(&daily, dated(2026, 11, 22, 1000000), text, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "1000000 has more than the form's 6 digits: the numbers of this day are used up");
    CHECK_EQ_I64(vs_form_write(&plain, 1000, text, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "of this form are used up");
    CHECK_EQ_I64(vs_form_write(&month, dated(2026, 11, 1, 100), text, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "of this month");
    CHECK_EQ_I64(vs_form_write(&year, dated(2026, 1, 1, 100), text, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "of this year");
    CHECK_EQ_I64(vs_form_write(&any, 0, text, &err), VESTA_EFIELD);
    CHECK_EQ_I64(vs_form_write(&any, INT64_MAX, text, &err), VESTA_EFIELD);
    CHECK_EQ_I64(vs_form_write(&any, UINT64_MAX, text, &err), VESTA_EFIELD);
    CHECK_EQ_I64(vs_form_write(&daily, dated(2026, 11, 22, 0), text, &err), VESTA_EFIELD);
    /* the day would be in the year 47000 */
    CHECK_EQ_I64(vs_form_write(&daily, UINT64_MAX - 1, text, &err), VESTA_EFIELD);
    CHECK_EQ_I64(vs_form_write(&month, dated(2100, 1, 1, 1), text, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "2100"); /* %y would repeat the year 2000 */
    CHECK_EQ_I64(vs_form_write(&month, dated(1999, 12, 1, 1), text, &err), VESTA_EFIELD);
    CHECK_STR(text, "untouched");
}

/* ------------------------------------------------------------------ days */

static struct vs_zone zone_of(const char *name) {
    static struct vs_zone_file file;
    struct vesta_error err = {.text = ""};
    file.zone = vs_zone_utc;
    if (vs_zone_load(name, &file, &err) != VESTA_OK) CHECK_FAIL("%s: %s", name, err.text);
    return file.zone;
}

static int64_t instant(const char *text) {
    int64_t ms = 0;
    CHECK_EQ_I64(vesta_time_parse(text, &ms, NULL), VESTA_OK);
    return ms;
}

static void periods_begin_at_the_zones_midnight(void) {
    struct vs_zone berlin = zone_of("Europe/Berlin");
    struct vs_form daily = parse(DAILY), month = parse("{month:%Y%m}-{number}"), year = parse("{year:%Y}-{number}"),
                   never = parse("{number}");
    int64_t before = instant("2026-12-31T22:59:59.999Z"), after = instant("2026-12-31T23:00:00Z");
    CHECK_EQ_U64(vs_form_first(&daily, &berlin, before), dated(2026, 12, 31, 1));
    CHECK_EQ_U64(vs_form_first(&daily, &berlin, after), dated(2027, 1, 1, 1));
    CHECK_EQ_U64(vs_form_first(&month, &berlin, before), dated(2026, 12, 1, 1));
    CHECK_EQ_U64(vs_form_first(&month, &berlin, after), dated(2027, 1, 1, 1));
    CHECK_EQ_U64(vs_form_first(&year, &berlin, before), dated(2026, 1, 1, 1));
    CHECK_EQ_U64(vs_form_first(&year, &berlin, after), dated(2027, 1, 1, 1));
    CHECK_EQ_U64(vs_form_first(&never, &berlin, after), 1);
    CHECK_EQ_U64(vs_form_first(&daily, &berlin, -1000 * 86400 * 2), 0); /* a day before 1970 has no counter */
    CHECK_EQ_U64(vs_form_first(&daily, &berlin, INT64_MAX), 0);
    CHECK_EQ_U64(vs_form_first(&daily, &berlin, INT64_MIN), 0);
}

/* A counter as in a store: raised to the day's first number, then by the step. */
static uint64_t take(uint64_t *counter, uint64_t first) {
    if (*counter < first) *counter = first;
    return (*counter)++;
}

/* Three hosts with clocks 2 s apart take numbers from one counter in random turns over midnight.  No number and no text
 * repeats, and no number of yesterday follows the first of today. */
static void count_over_midnight(const char *name, const char *from) {
    struct vs_form form = parse(DAILY);
    struct vs_zone zone = zone_of(name);
    static const int64_t off_ms[] = {-2000, 0, 2000};
    int64_t now = instant(from);
    uint64_t counter = 1, last = 0, dice = 88172645463325252;
    char text[VS_FORM_TEXT_MAX], before[VS_FORM_TEXT_MAX] = "";
    int days = 0;
    for (int i = 0; i < 6000; i++, now += 2) { /* 6000 steps of 2 ms are 12 s */
        dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
        uint64_t number = take(&counter, vs_form_first(&form, &zone, now + off_ms[dice % 3]));
        CHECK_EQ_I64(vs_form_write(&form, number, text, NULL), VESTA_OK);
        if (number <= last || strcmp(text, before) <= 0) CHECK_FAIL("%s behind %s", text, before);
        if (vs_form_day_of(&form, number) != vs_form_day_of(&form, last)) {
            days++;
            CHECK_EQ_U64(vs_form_count_of(&form, number), 1);
        }
        last = number;
        memcpy(before, text, sizeof text);
    }
    CHECK_EQ_I64(days, 2); /* the first day and one change, so no day came back */
}

static void midnight_on_three_hosts(void) {
    count_over_midnight("UTC", "2026-11-21T23:59:54Z");
    count_over_midnight("Europe/Berlin", "2026-11-21T22:59:54Z");
    count_over_midnight("Europe/Berlin", "2026-10-25T22:59:54Z");    /* a day of 25 hours ends */
    count_over_midnight("Pacific/Apia", "2011-12-30T09:59:54Z");     /* the day after the 29th is the 31st */
    count_over_midnight("America/St_Johns", "2010-11-07T02:29:54Z"); /* one minute after midnight the clock goes back */
}

static void a_day_does_not_come_back(void) {
    struct vs_form form = parse(DAILY);
    struct vs_zone johns = zone_of("America/St_Johns");
    uint64_t counter = 1, number = take(&counter, vs_form_first(&form, &johns, instant("2010-11-07T02:30:30Z")));
    CHECK_EQ_U64(number, dated(2010, 11, 7, 1));
    /* the zone's date is the 6th again */
    number = take(&counter, vs_form_first(&form, &johns, instant("2010-11-07T02:31:30Z")));
    CHECK_EQ_U64(number, dated(2010, 11, 7, 2));
}

/* ------------------------------------------------------------------ reading */

static void read_back_is_the_same(void) {
    static const char *const forms[] = {DAILY,
                                        "{day:%y%j}{number}{mod97}",
                                        "{month:%m%Y}{number:3}{mod11}",
                                        "{number}{luhn}",
                                        "x{number:12}y{luhn}z",
                                        "{year:%y}{number}"};
    uint64_t dice = 7;
    for (size_t f = 0; f < VS_COUNT(forms); f++) {
        struct vs_form form = parse(forms[f]);
        for (int i = 0; i < 2000; i++) {
            char text[VS_FORM_TEXT_MAX] = "";
            uint64_t back = 0, n = 1 + (dice = dice * 6364136223846793005 + 1442695040888963407) % 999;
            int64_t ms = (int64_t)(946684800 + (dice >> 20) % 3155760000) * 1000; /* from 2000 to 2099 */
            uint64_t number = vs_form_first(&form, &vs_zone_utc, ms) + n - 1;
            struct vesta_error err = {.text = ""};
            CHECK_EQ_I64(vs_form_write(&form, number, text, NULL), VESTA_OK);
            if (vs_form_read(&form, text, &back, &err) != VESTA_OK || back != number)
                CHECK_FAIL("%s: %s read as %llu: %s", forms[f], text, (unsigned long long)back, err.text);
        }
    }
}

/* A mistyped digit and two swapped neighbours are detected if the method promises it.  Any other text is rejected, or
 * written as it was read. */
static void mistyped_is_found(void) {
    struct vs_form form = parse("{day:%Y%m%d}{number:6}{mod97}");
    char text[VS_FORM_TEXT_MAX] = "";
    uint64_t number = dated(2026, 11, 22, 421), back;
    CHECK_EQ_I64(vs_form_write(&form, number, text, NULL), VESTA_OK);
    for (size_t i = 0; text[i]; i++)
        for (char c = ' '; c < 127; c++) {
            char wrong[VS_FORM_TEXT_MAX];
            memcpy(wrong, text, sizeof wrong);
            wrong[i] = c;
            if (c != text[i] && vs_form_read(&form, wrong, &back, NULL) != VESTA_EID) CHECK_FAIL("%s is read", wrong);
        }
    for (size_t i = 0; text[i + 1]; i++) {
        char wrong[VS_FORM_TEXT_MAX];
        memcpy(wrong, text, sizeof wrong);
        wrong[i] = text[i + 1], wrong[i + 1] = text[i];
        if (text[i] != text[i + 1] && vs_form_read(&form, wrong, &back, NULL) != VESTA_EID)
            CHECK_FAIL("%s is read", wrong);
    }
}

static void invalid_texts(void) {
    static const struct {
        const char *form, *text, *part;
    } rows[] = {
        {DAILY, "", "column 1: the text ends too early"},
        {DAILY, "INV", "column 4: the text ends too early"},
        {DAILY, "inv-20261122-000421-2", "column 1: the form has 'I' here"},
        {DAILY, "INV-20261122-000421-7", "column 21: the check digit is wrong"},
        {DAILY, "INV-20261122-000421-", "column 21: the text ends too early"},
        {DAILY, "INV-20261122-000421-22", "column 22: the form ends here"},
        {DAILY, "INV-20261122-00042a-6", "column 19: write a digit here"},
        {DAILY, "INV-20261122- 00421-6", "column 14: write a digit here"},
        {DAILY, "INV-20261122-+00421-6", "column 14: write a digit here"},
        {DAILY, "INV-20260229-000421-6", "there is no such day"},
        {DAILY, "INV-20261301-000421-2", "there is no such day"},
        {DAILY, "INV-19691231-000421-3", "there is no such day"},
        {DAILY, "INV-20261122-000000-4", "begin with 1"},
        {"{day:%Y%j}-{number}", "2026366-1", "there is no such day"},
        {"{day:%Y%j}-{number}", "2026000-1", "there is no such day"},
        {"{day:%Y%j}-{number}", "2026001-1099511627776", "too large"},
        {"{number}", "01", "no leading zeros"},
        {"{number}", "9223372036854775807", "too large"},
        {"{number}", "99999999999999999999999", "too large"},
        {"{number}", "1\x01", "write a digit here"},
        {"{number}", "11111111111111111111111111111111111111111111111111111111111111111111111", "longer than 64"},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_form form = parse(rows[i].form);
        struct vesta_error err = {.text = ""};
        uint64_t number = 77;
        if (vs_form_read(&form, rows[i].text, &number, &err) != VESTA_EID) CHECK_FAIL("'%s' is read", rows[i].text);
        CHECK_HAS(err.text, rows[i].part);
        CHECK_EQ_U64(number, 77);
    }
}

/* ------------------------------------------------------------------ forms */

static void invalid_forms(void) {
    static const struct {
        const char *form, *part;
    } rows[] = {
        {"", "{number} is missing"},
        {"INV", "column 4: {number} is missing"},
        {"{number", "column 1: the brace that opens here does not close"},
        {"a{", "column 2: the brace"},
        {"{}", "column 1: write day:"},
        {"number}", "column 7: no brace is open"},
        {"{{number}", "column 9: no brace is open"},
        {"{Number}", "column 1: write day:"},
        {"{number }", "column 1: write day:"},
        {"{number:0}", "1 to 12 digits"},
        {"{number:13}", "1 to 12 digits"},
        {"{number:-1}", "1 to 12 digits"},
        {"{number:}", "1 to 12 digits"},
        {"{number: 6}", "1 to 12 digits"},
        {"{number:99999999999999999999999}", "1 to 12 digits"},
        {"{number}{number}", "column 9: a form cannot have this part twice"},
        {"{luhn}{number}", "column 1: a check digit must come after {number}"},
        {"{number}{luhn}{mod97}", "at most one check digit"},
        {"{number}{luhn}{luhn}", "at most one check digit"},
        {"{number}{luhn:2}", "a check digit has no ':'"},
        {"{day}{number}", "column 1: its format is missing"},
        {"{day:}{number}", "column 1: the year is missing"},
        {"{day:%Y%m}{number}", "column 1: the counter restarts each day, so the date needs"},
        {"{day:%m%d}{number}", "the year is missing"},
        {"{day:%Y%d}{number}", "so the date needs %m and %d"},
        {"{day:%Y%y%j}{number}", "the year is missing"},
        {"{day:%Y%j%d}{number}", "%j is the day of the year"},
        {"{day:%Y%m%d%m}{number}", "column 13: a form cannot have this part twice"},
        {"{day:%Y%m%H}{number}", "column 11: write %Y"},
        {"{day:%Y%m%}{number}", "write %Y"},
        {"{month:%Y}{number}", "so the date needs %m"},
        {"{month:%Y%m%d}{number}", "neither %d nor %j"},
        {"{year:%Y%m}{number}", "neither %m, %d nor %j"},
        {"{day:%Y%j}{month:%Y%m}{number}", "one {day}, {month} or {year}"},
        {"{number}\n", "column 9: only printable ASCII is allowed"},
        {"\x7f{number}", "column 1: only printable ASCII is allowed"},
        {"\xc3\xa4{number}", "column 1: only printable ASCII"},
        {"{day:%Y%m\t%d}{number}", "column 10: only printable ASCII"},
        {"{number}%n%n%s%s", NULL}, /* is a form: no text here is a printf format */
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_form form = {.part_count = 77};
        struct vesta_error err = {.text = ""};
        int rc = vs_form_parse(rows[i].form, &form, &err);
        if (rows[i].part ? rc != VESTA_EOPTION : rc != VESTA_OK) CHECK_FAIL("'%s': %d", rows[i].form, rc);
        if (!rows[i].part) continue;
        CHECK_HAS(err.text, rows[i].part);
        CHECK_EQ_I64(form.part_count, 77);
    }
}

static void forms_that_are_huge(void) {
    char text[4096];
    struct vs_form form;
    struct vesta_error err = {.text = ""};
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ_I64(vs_form_parse(text, &form, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "at most 128 characters");
    snprintf(text, sizeof text, "%060d{number:4}", 0); /* 64 characters with the digits */
    CHECK_EQ_I64(vs_form_parse(text, &form, &err), VESTA_OK);
    snprintf(text, sizeof text, "%060d{number:5}", 0);
    CHECK_EQ_I64(vs_form_parse(text, &form, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "more than 64 characters");
    snprintf(text, sizeof text, "%046d{number}", 0); /* a number may add up to 19 digits */
    CHECK_EQ_I64(vs_form_parse(text, &form, &err), VESTA_EOPTION);
    *text = '\0';
    for (int i = 0; i < 17; i++)
        strcat(text, i % 2 ? "{luhn}" : "x");
    CHECK_EQ_I64(vs_form_parse(text, &form, &err), VESTA_EOPTION);
}

static void forms_of_any_words(void) {
    static const char *const words[] = {"{number}",
                                        "{number:3}",
                                        "{luhn}",
                                        "{mod97}",
                                        "{mod11}",
                                        "{day:%Y%m%d}",
                                        "{month:%m.%y}",
                                        "{year:%Y}",
                                        "{day:%y%j}",
                                        "{{",
                                        "}}",
                                        "-",
                                        "0",
                                        "{",
                                        "}",
                                        "%",
                                        "a b"};
    uint64_t dice = 11;
    int read = 0;
    for (int i = 0; i < 200000; i++) {
        char text[VS_FORM_MAX] = "", out[VS_FORM_TEXT_MAX];
        struct vs_form form;
        for (int w = 0; w < 5; w++) {
            dice = dice * 6364136223846793005 + 1442695040888963407;
            strcat(text, words[(dice >> 33) % VS_COUNT(words)]);
        }
        if (vs_form_parse(text, &form, NULL) != VESTA_OK) continue;
        read++;
        uint64_t number = vs_form_first(&form, &vs_zone_utc, instant("2026-11-22T00:00:00Z")) + 420, back = 0;
        if (vs_form_write(&form, number, out, NULL) != VESTA_OK || vs_form_read(&form, out, &back, NULL) != VESTA_OK ||
            back != number)
            CHECK_FAIL("%s: %s", text, out);
    }
    CHECK(read > 1000);
}

static const struct check_case cases[] = {
    {"numbers are written in their form, and read back", numbers_in_their_forms},
    {"check digits follow their standards", check_digits_are_the_standards},
    {"a number that does not fit is an error: it is neither widened nor restarted",
     a_number_that_does_not_fit_is_an_error},
    {"a day, month and year begin at the zone's midnight", periods_begin_at_the_zones_midnight},
    {"midnight on three hosts 2 s apart: no number twice, and none of yesterday after the first of today",
     midnight_on_three_hosts},
    {"a day that has begun does not end when the zone's clocks go back", a_day_does_not_come_back},
    {"a written number is read back", read_back_is_the_same},
    {"a mistyped digit and two swapped digits are detected", mistyped_is_found},
    {"texts of another form are rejected with the column", invalid_texts},
    {"invalid forms are rejected with the column", invalid_forms},
    {"a form is rejected if it or its numbers are too long", forms_that_are_huge},
    {"numbers of any valid form are written and read back", forms_of_any_words},
};

CHECK_MAIN(cases)
