/* numbers.c -- business numbers: `make --form` writes one, and `explain --form` parses and checks them. */
#include "main/ids/numbers.h"

#include "base/time.h"
#include "command/options.h"
#include "number/form.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes "2026-11-22", or the part of the date that the form has. */
#define DATE_MAX 32
static const char *numbers_date_of(const struct vs_form *form, uint64_t number, char *buf) {
    struct vs_date date = vs_date_of(vs_form_day_of(form, number));
    int length = snprintf(buf, DATE_MAX, "%04d-%02d-%02d", (int)date.year, date.month, date.day);
    if (form->period == VS_FORM_MONTHLY) buf[length - 3] = '\0';
    if (form->period == VS_FORM_YEARLY) buf[length - 6] = '\0';
    return buf;
}

static const char *const periods[] = {"", "day", "month", "year"};

static void numbers_print_number(const struct vs_form *form, const char *text, uint64_t number, int json) {
    char date[DATE_MAX];
    uint64_t count = vs_form_count_of(form, number);
    if (json) {
        vs_outf("{\"text\":");
        vs_out_json(text);
        if (form->period != VS_FORM_NEVER)
            vs_outf(",\"%s\":\"%s\"", periods[form->period], numbers_date_of(form, number, date));
        vs_outf(",\"number\":\"%" PRIu64 "\",\"counter\":\"%" PRIu64 "\"}\n", count, number);
        return;
    }
    vs_outf("%s  number %" PRIu64, text, count);
    if (form->period != VS_FORM_NEVER)
        vs_outf(" of the %s %s", periods[form->period], numbers_date_of(form, number, date));
    vs_outf(", counter %" PRIu64 "\n", number);
}

/* ------------------------------------------------------------------ make */

static int numbers_read_operand(const char *text, uint64_t *count, int64_t *unix_ms) {
    struct vesta_error err;
    if (strncmp(text, "number=", 7) == 0) {
        if (vs_read_count(text + 7, INT64_MAX - 1, count) && *count > 0) return VS_GO;
        return vs_usage("%s must be a whole number from 1 to 2^63 - 2", vs_shown_text(text));
    }
    if (strncmp(text, "time=", 5) == 0)
        return vesta_time_parse(text + 5, unix_ms, &err) == VESTA_OK ? VS_GO : vs_report(&err);
    return vs_usage("%s must be number=N or time=TIME", vs_shown_text(text));
}

int vs_make_number(const char *text, const char *zone_name, int argc, char **argv, int json) {
    static struct vs_zone_file file;
    struct vs_form form;
    struct vesta_error err;
    char out[VS_FORM_TEXT_MAX];
    uint64_t count = 0;
    int64_t unix_ms = vs_now_ms();
    if (vs_form_parse(text, &form, &err) != VESTA_OK) return vs_report(&err);
    if (vs_zone_load(zone_name ? zone_name : "UTC", &file, &err) != VESTA_OK) return vs_report(&err);
    int rc = VS_GO;
    for (int i = 0; i < argc && rc == VS_GO; i++)
        rc = numbers_read_operand(argv[i], &count, &unix_ms);
    if (rc != VS_GO) return rc;
    if (count == 0) return vs_usage("add number=N, and time=TIME if it is not now");
    uint64_t first = vs_form_first(&form, &file.zone, unix_ms);
    if (first == 0) return vs_usage("the time is outside the years that the form can show");
    if (form.period != VS_FORM_NEVER && count >= UINT64_C(1) << VS_FORM_DAY_BITS)
        return vs_usage("number=%" PRIu64 " exceeds the numbers of a %s", count, periods[form.period]);
    if (vs_form_write(&form, first + count - 1, out, &err) != VESTA_OK) return vs_report(&err);
    if (json)
        numbers_print_number(&form, out, first + count - 1, json);
    else
        vs_outf("%s\n", out);
    return VS_DONE;
}

/* ------------------------------------------------------------------ explain */

int vs_explain_numbers(const char *text, int argc, char **argv, int json) {
    struct vs_form form;
    struct vesta_error err;
    int rc = VS_DONE;
    if (vs_form_parse(text, &form, &err) != VESTA_OK) return vs_report(&err);
    if (argc == 0) return vs_usage("name the numbers to read, in the form %s", vs_shown_text(text));
    for (int i = 0; i < argc; i++) {
        uint64_t number;
        if (vs_form_read(&form, argv[i], &number, &err) == VESTA_OK)
            numbers_print_number(&form, argv[i], number, json);
        else
            rc = vs_report(&err);
    }
    return rc;
}
