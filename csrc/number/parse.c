/* parse.c -- parses a form, "INV-{day:%Y%m%d}-{number:6}-{luhn}".  See form.h. */
#include "number/form.h"

#include "base/array.h"
#include "base/error.h"
#include "base/slice.h"

#include <assert.h>

#define NUMBER_DIGITS_MAX 19 /* the most digits of {number} without a width */

/* A form while it is parsed. */
struct form_draft {
    struct vs_form form;
    const char *text, *at; /* the form's text, and the current position in it */
    size_t literals;       /* characters in form.literals */
    bool seen[VS_FORM_MOD97 + 1];
    struct vesta_error *err;
};

static int parse_bad(const struct form_draft *d, const char *why) {
    size_t length = strnlen(d->text, VS_FORM_MAX);
    return vs_fail(d->err, VESTA_EOPTION, "bad form '%s': column %d: %s", VS_QUOTE(d->text, length),
                   (int)(d->at - d->text) + 1, why);
}

/* ------------------------------------------------------------------ parts */

static int parse_add(struct form_draft *d, enum vs_form_kind kind, int length) {
    if (d->form.part_count == VS_FORM_PARTS_MAX) return parse_bad(d, "a form has at most 16 parts");
    if (kind != VS_FORM_LITERAL && d->seen[kind]) return parse_bad(d, "a form cannot have this part twice");
    d->seen[kind] = true;
    d->form.part[d->form.part_count++] = (struct vs_form_part){.kind = kind, .at = (int)d->literals, .length = length};
    return VESTA_OK;
}

static int add_literal(struct form_draft *d, char c) {
    struct vs_form *form = &d->form;
    if (c < ' ' || c > '~') return parse_bad(d, "only printable ASCII is allowed");
    if (d->literals + 1 >= sizeof form->literals) return parse_bad(d, "its numbers would have more than 64 characters");
    bool goes_on = form->part_count > 0 && form->part[form->part_count - 1].kind == VS_FORM_LITERAL;
    int rc = goes_on ? VESTA_OK : parse_add(d, VS_FORM_LITERAL, 0);
    if (rc != VESTA_OK) return rc;
    form->literals[d->literals++] = c;
    form->part[form->part_count - 1].length++;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ {day:%Y%m%d} */

static int add_directive(struct form_draft *d, char c) {
    switch (c) {
    case 'Y': return parse_add(d, VS_FORM_YEAR, 4);
    case 'y': return parse_add(d, VS_FORM_YEAR_OF_CENTURY, 2);
    case 'm': return parse_add(d, VS_FORM_MONTH, 2);
    case 'd': return parse_add(d, VS_FORM_DAY, 2);
    case 'j': return parse_add(d, VS_FORM_DAY_OF_YEAR, 3);
    default: return parse_bad(d, "write %Y, %y, %m, %d or %j");
    }
}

/* Checks that the date is exactly as precise as the period.  With a less precise date, numbers of two periods would
 * have the same text.  A more precise date cannot be written, because a number stores only the period. */
static int check_date(const struct form_draft *d) {
    const bool *seen = d->seen;
    bool has_day = (seen[VS_FORM_MONTH] && seen[VS_FORM_DAY]) || seen[VS_FORM_DAY_OF_YEAR];
    bool has_less = seen[VS_FORM_DAY] || seen[VS_FORM_DAY_OF_YEAR];
    if (seen[VS_FORM_YEAR] + seen[VS_FORM_YEAR_OF_CENTURY] != 1)
        return parse_bad(d, "the year is missing: write %Y or %y, because numbers of two years would be equal");
    if (seen[VS_FORM_DAY_OF_YEAR] && (seen[VS_FORM_MONTH] || seen[VS_FORM_DAY]))
        return parse_bad(d, "%j is the day of the year: remove %m and %d");
    if (d->form.period == VS_FORM_DAILY && !has_day)
        return parse_bad(d, "the counter restarts each day, so the date needs %m and %d, or %j");
    if (d->form.period == VS_FORM_MONTHLY && (!seen[VS_FORM_MONTH] || has_less))
        return parse_bad(d, "the counter restarts each month, so the date needs %m, and neither %d nor %j");
    if (d->form.period == VS_FORM_YEARLY && (seen[VS_FORM_MONTH] || has_less))
        return parse_bad(d, "the counter restarts each year, so the date has neither %m, %d nor %j");
    return VESTA_OK;
}

static int add_date(struct form_draft *d, enum vs_form_period period, struct vs_slice format) {
    if (d->form.period != VS_FORM_NEVER) return parse_bad(d, "a form has at most one {day}, {month} or {year}");
    d->form.period = period;
    const char *begin = d->at, *end = format.at + format.length;
    for (d->at = format.at; d->at < end; d->at++) {
        int rc = *d->at != '%' ? add_literal(d, *d->at) : add_directive(d, ++d->at < end ? *d->at : '\0');
        if (rc != VESTA_OK) return rc;
    }
    d->at = begin;
    return check_date(d);
}

/* ------------------------------------------------------------------ {number:6}, {luhn} */

static int add_number(struct form_draft *d, struct vs_slice width) {
    uint64_t digits = 0;
    if (width.at && (vesta_parse(VESTA_DECIMAL, width.at, width.length, &digits) != VESTA_OK || digits < 1 ||
                     digits > VS_FORM_WIDTH_MAX))
        return parse_bad(d, "a number's width is 1 to 12 digits");
    return parse_add(d, VS_FORM_NUMBER, (int)digits);
}

static int add_check(struct form_draft *d, enum vs_form_kind kind) {
    if (!d->seen[VS_FORM_NUMBER]) return parse_bad(d, "a check digit must come after {number}");
    if (d->seen[VS_FORM_LUHN] || d->seen[VS_FORM_MOD11] || d->seen[VS_FORM_MOD97])
        return parse_bad(d, "a form has at most one check digit");
    return parse_add(d, kind, kind == VS_FORM_MOD97 ? 2 : 1);
}

/* Adds the part between braces.  `value` is the text after the colon.  value.at is NULL if there is no colon. */
static int add_field(struct form_draft *d, struct vs_slice name, struct vs_slice value) {
    static const struct {
        const char *name;
        enum vs_form_period period;
        enum vs_form_kind check;
    } fields[] = {{"day", VS_FORM_DAILY, 0}, {"month", VS_FORM_MONTHLY, 0}, {"year", VS_FORM_YEARLY, 0},
                  {"luhn", 0, VS_FORM_LUHN}, {"mod11", 0, VS_FORM_MOD11},   {"mod97", 0, VS_FORM_MOD97}};
    if (vs_slice_is(name, "number")) return add_number(d, value);
    for (size_t i = 0; i < VS_COUNT(fields); i++) {
        if (!vs_slice_is(name, fields[i].name)) continue;
        if (!fields[i].period)
            return value.at ? parse_bad(d, "a check digit has no ':'") : add_check(d, fields[i].check);
        if (!value.at) return parse_bad(d, "its format is missing, as in {day:%Y%m%d}");
        return add_date(d, fields[i].period, value);
    }
    return parse_bad(d, "write day:, month:, year:, number, luhn, mod11 or mod97 in braces");
}

/* ------------------------------------------------------------------ the whole */

static int read_braces(struct form_draft *d) {
    const char *end = strchr(d->at, '}');
    if (!end) return parse_bad(d, "the brace that opens here does not close");
    struct vs_slice inside = {d->at + 1, (size_t)(end - d->at - 1)}, name = inside, value = {NULL, 0};
    /* {day:} has an empty value, unlike {day} */
    if (vs_slice_split(inside, ':', &name, &value) && value.length == 0) value.at = name.at;
    int rc = add_field(d, name, value);
    if (rc == VESTA_OK) d->at = end + 1;
    return rc;
}

static int read_next(struct form_draft *d) {
    char c = *d->at;
    if ((c == '{' || c == '}') && d->at[1] == c) {
        int rc = add_literal(d, c);
        d->at += 2;
        return rc;
    }
    if (c == '{') return read_braces(d);
    if (c == '}') return parse_bad(d, "no brace is open here. Write }} for a brace in the number");
    int rc = add_literal(d, c);
    d->at++;
    return rc;
}

static int check_whole(struct form_draft *d) {
    int length = 0;
    for (int i = 0; i < d->form.part_count; i++) {
        const struct vs_form_part *part = &d->form.part[i];
        length += part->kind == VS_FORM_NUMBER && part->length == 0 ? NUMBER_DIGITS_MAX : part->length;
    }
    if (!d->seen[VS_FORM_NUMBER]) return parse_bad(d, "{number} is missing, so all numbers would be equal");
    if (length >= VS_FORM_TEXT_MAX) return parse_bad(d, "its numbers would have more than 64 characters");
    assert(length > 0);
    return VESTA_OK;
}

int vs_form_parse(const char *text, struct vs_form *out, struct vesta_error *err) {
    struct form_draft d = {.text = text, .at = text, .err = err};
    if (strnlen(text, VS_FORM_MAX) == VS_FORM_MAX) return parse_bad(&d, "a form has at most 128 characters");
    while (*d.at) {
        int rc = read_next(&d);
        if (rc != VESTA_OK) return rc;
    }
    int rc = check_whole(&d);
    if (rc == VESTA_OK) *out = d.form;
    return rc;
}
