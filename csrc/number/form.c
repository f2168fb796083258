/* form.c -- writes and reads a business number's text.  See form.h.  The form itself is parsed by parse.c. */
#include "number/form.h"

#include "base/error.h"
#include "base/slice.h"
#include "base/time.h"
#include "number/check.h"

#include <assert.h>

#define COUNT_END ((uint64_t)INT64_MAX) /* counters are signed 64-bit integers, and this value is never issued */
#define COUNT_MASK ((UINT64_C(1) << VS_FORM_DAY_BITS) - 1)

int64_t vs_form_day_of(const struct vs_form *form, uint64_t number) {
    return form->period == VS_FORM_NEVER ? 0 : (int64_t)(number >> VS_FORM_DAY_BITS);
}

uint64_t vs_form_count_of(const struct vs_form *form, uint64_t number) {
    return form->period == VS_FORM_NEVER ? number : number & COUNT_MASK;
}

/* Returns whether the form can write this year unambiguously: %y has only the years 2000 to 2099.  No number belongs to
 * a year before 1970. */
static bool has_year(const struct vs_form *form, int64_t year) {
    for (int i = 0; i < form->part_count; i++)
        if (form->part[i].kind == VS_FORM_YEAR_OF_CENTURY) return year >= 2000 && year < 2100;
    return year >= 1970 && year <= 9999;
}

uint64_t vs_form_first(const struct vs_form *form, const struct vs_zone *zone, int64_t unix_ms) {
    if (form->period == VS_FORM_NEVER) return 1;
    int64_t day = vs_zone_day(zone, unix_ms);
    struct vs_date date = vs_date_of(day);
    if (!has_year(form, date.year)) return 0;
    if (form->period == VS_FORM_MONTHLY) day -= date.day - 1;
    if (form->period == VS_FORM_YEARLY) day -= date.day_of_year - 1;
    assert(day >= 0);
    return (uint64_t)day << VS_FORM_DAY_BITS | 1;
}

bool vs_form_fits(const struct vs_form *form, uint64_t number) {
    if (form->period == VS_FORM_NEVER) return true;
    struct vs_date date = vs_date_of(vs_form_day_of(form, number));
    return form->period == VS_FORM_DAILY || (date.day == 1 && (form->period == VS_FORM_MONTHLY || date.month == 1));
}

static int form_digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : -1;
}

/* ------------------------------------------------------------------ writing */

static char *form_put(char *at, uint64_t value, int width) {
    char digits[20];
    int count = 0;
    for (; value > 0 || count < width; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* Writes the check digits of `length` characters and returns their count. */
static int check_of(enum vs_form_kind kind, const char *text, size_t length, char out[2]) {
    assert(kind == VS_FORM_LUHN || kind == VS_FORM_MOD11 || kind == VS_FORM_MOD97);
    if (kind == VS_FORM_MOD97) return (int)(form_put(out, (uint64_t)vs_check_mod97(text, length), 2) - out);
    *out = kind == VS_FORM_LUHN ? vs_check_luhn(text, length) : vs_check_mod11(text, length);
    return 1;
}

static uint64_t width_max(int width) {
    uint64_t max = 1;
    if (width == 0) return COUNT_END - 1;
    while (width-- > 0)
        max *= 10;
    return max - 1;
}

uint64_t vs_form_count_max(const struct vs_form *form) {
    uint64_t max = form->period == VS_FORM_NEVER ? COUNT_END - 1 : COUNT_MASK;
    for (int i = 0; i < form->part_count; i++)
        if (form->part[i].kind == VS_FORM_NUMBER && width_max(form->part[i].length) < max)
            max = width_max(form->part[i].length);
    return max;
}

static int check_count(const struct vs_form *form, uint64_t count, struct vesta_error *err) {
    for (int i = 0; i < form->part_count; i++) {
        const struct vs_form_part *part = &form->part[i];
        if (part->kind == VS_FORM_NUMBER && part->length > 0 && count > width_max(part->length))
            return vs_fail(
                err, VESTA_EFIELD, "%llu has more than the form's %d digits: the numbers %s are used up",
                (unsigned long long)count, part->length,
                (const char *const[]){"of this form", "of this day", "of this month", "of this year"}[form->period]);
    }
    if (count == 0 || count >= COUNT_END) return vs_fail(err, VESTA_EFIELD, "a counter's numbers are 1 to 2^63 - 2");
    return VESTA_OK;
}

int vs_form_write(const struct vs_form *form, uint64_t number, char *buf, struct vesta_error *err) {
    uint64_t count = vs_form_count_of(form, number);
    struct vs_date date = vs_date_of(vs_form_day_of(form, number));
    char *at = buf;
    int rc = check_count(form, count, err);
    if (rc != VESTA_OK) return rc;
    if (form->period != VS_FORM_NEVER && !has_year(form, date.year))
        return vs_fail(err, VESTA_EFIELD, "the form cannot write the year %lld", (long long)date.year);
    if (!vs_form_fits(form, number))
        return vs_fail(err, VESTA_EFIELD, "counter %llu is of another form: its day is not the first of a %s",
                       (unsigned long long)number, form->period == VS_FORM_MONTHLY ? "month" : "year");
    for (int i = 0; i < form->part_count; i++) {
        const struct vs_form_part *part = &form->part[i];
        switch (part->kind) {
        case VS_FORM_LITERAL:
            at = (char *)memcpy(at, form->literals + part->at, (size_t)part->length) + part->length;
            break;
        case VS_FORM_YEAR: at = form_put(at, (uint64_t)date.year, 4); break;
        case VS_FORM_YEAR_OF_CENTURY: at = form_put(at, (uint64_t)date.year % 100, 2); break;
        case VS_FORM_MONTH: at = form_put(at, (uint64_t)date.month, 2); break;
        case VS_FORM_DAY: at = form_put(at, (uint64_t)date.day, 2); break;
        case VS_FORM_DAY_OF_YEAR: at = form_put(at, (uint64_t)date.day_of_year, 3); break;
        case VS_FORM_NUMBER: at = form_put(at, count, part->length); break;
        default: at += check_of(part->kind, buf, (size_t)(at - buf), at);
        }
    }
    assert(at < buf + VS_FORM_TEXT_MAX); /* guaranteed by the parser */
    *at = '\0';
    return VESTA_OK;
}

/* ------------------------------------------------------------------ reading */

struct form_reading {
    const struct vs_form *form;
    const char *text, *at;
    size_t left;
    int year, month, day, day_of_year;
    uint64_t count;
    struct vesta_error *err;
};

static int form_bad(const struct form_reading *r, const char *what) {
    size_t length = strnlen(r->text, VS_FORM_TEXT_MAX + 1);
    return vs_fail(r->err, VESTA_EID, "'%s' is not a number of this form: column %d: %s", VS_QUOTE(r->text, length),
                   (int)(r->at - r->text) + 1, what);
}

/* Reads exactly `length` digits. */
static int take_digits(struct form_reading *r, int length, uint64_t *out) {
    uint64_t value = 0;
    for (int i = 0; i < length; i++) {
        int digit = r->left > 0 ? form_digit_of(*r->at) : -1;
        if (digit < 0) return form_bad(r, r->left > 0 ? "write a digit here" : "the text ends too early");
        if (value > (COUNT_END - 1 - (uint64_t)digit) / 10) return form_bad(r, "the number is too large");
        value = value * 10 + (uint64_t)digit;
        r->at++, r->left--;
    }
    *out = value;
    return VESTA_OK;
}

static int take_small(struct form_reading *r, int length, int *out) {
    uint64_t value = 0;
    int rc = take_digits(r, length, &value);
    *out = (int)value;
    return rc;
}

static int form_take_number(struct form_reading *r, const struct vs_form_part *part) {
    int rest = 0, length = part->length;
    for (const struct vs_form_part *p = part + 1; p < r->form->part + r->form->part_count; p++)
        rest += p->length;
    if (length == 0) {
        if (r->left <= (size_t)rest) return form_bad(r, "the text ends too early");
        length = (int)r->left - rest;
        if (*r->at == '0') return form_bad(r, "this form's numbers have no leading zeros");
    }
    return take_digits(r, length, &r->count);
}

static int take_literal(struct form_reading *r, const struct vs_form_part *part) {
    for (int i = 0; i < part->length; i++, r->at++, r->left--) {
        char what[] = "the form has '?' here";
        what[sizeof "the form has '" - 1] = r->form->literals[part->at + i];
        if (r->left == 0) return form_bad(r, "the text ends too early");
        if (*r->at != r->form->literals[part->at + i]) return form_bad(r, what);
    }
    return VESTA_OK;
}

static int take_check(struct form_reading *r, enum vs_form_kind kind) {
    char want[2];
    int length = check_of(kind, r->text, (size_t)(r->at - r->text), want);
    for (int i = 0; i < length; i++, r->at++, r->left--) {
        if (r->left == 0) return form_bad(r, "the text ends too early");
        if (*r->at != want[i]) return form_bad(r, "the check digit is wrong: the number was mistyped");
    }
    return VESTA_OK;
}

static int take_part(struct form_reading *r, const struct vs_form_part *part) {
    switch (part->kind) {
    case VS_FORM_LITERAL: return take_literal(r, part);
    case VS_FORM_YEAR: return take_small(r, 4, &r->year);
    case VS_FORM_YEAR_OF_CENTURY: {
        int rc = take_small(r, 2, &r->year);
        r->year += 2000;
        return rc;
    }
    case VS_FORM_MONTH: return take_small(r, 2, &r->month);
    case VS_FORM_DAY: return take_small(r, 2, &r->day);
    case VS_FORM_DAY_OF_YEAR: return take_small(r, 3, &r->day_of_year);
    case VS_FORM_NUMBER: return form_take_number(r, part);
    default: return take_check(r, part->kind);
    }
}

/* Sets *day to the day that the date parts name.  Returns false if that day does not exist. */
static bool form_day_of(const struct form_reading *r, int64_t *day) {
    bool is_day = has_year(r->form, r->year) && vs_day_of(r->year, r->month, r->day, day);
    if (!is_day || r->day_of_year < 0) return is_day;
    *day += r->day_of_year - 1;
    return r->day_of_year > 0 && vs_date_of(*day).year == r->year;
}

int vs_form_read(const struct vs_form *form, const char *text, uint64_t *number, struct vesta_error *err) {
    struct form_reading r = {
        .form = form, .text = text, .at = text, .month = 1, .day = 1, .day_of_year = -1, .err = err};
    int64_t day = 0;
    r.left = strnlen(text, VS_FORM_TEXT_MAX);
    if (r.left >= VS_FORM_TEXT_MAX) return form_bad(&r, "it is longer than 64 characters");
    for (int i = 0; i < form->part_count; i++) {
        int rc = take_part(&r, &form->part[i]);
        if (rc != VESTA_OK) return rc;
    }
    if (r.left > 0) return form_bad(&r, "the form ends here");
    r.at = text;
    if (form->period != VS_FORM_NEVER && !form_day_of(&r, &day)) return form_bad(&r, "there is no such day");
    if (r.count == 0) return form_bad(&r, "a counter's numbers begin with 1");
    if (form->period != VS_FORM_NEVER && r.count > COUNT_MASK) return form_bad(&r, "the number is too large");
    *number = form->period == VS_FORM_NEVER ? r.count : (uint64_t)day << VS_FORM_DAY_BITS | r.count;
    return VESTA_OK;
}
