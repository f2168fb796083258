/* form.h -- business numbers: how a counter's number is written for people, "INV-20261122-000042-7", and read back.
 *
 *     INV-{day:%Y%m%d}-{number:6}-{luhn}
 *
 *     {day:...}     the day on which the number was given: the counter starts anew with each.  %Y or %y, and %m and %d
 *                   or %j (the day of the year)
 *     {month:...}   the same with each month: %Y or %y, and %m
 *     {year:...}    the same with each year: %Y or %y
 *     {number:6}    the counter, padded with zeros; one that needs more digits is an error.  {number}: as many as
 * needed {luhn}        a check digit over all digits before it (ISO/IEC 7812) {mod11}       a check character, 0 to 9
 * or X, over all digits before it (ISO 7064 MOD 11-2, as ISNI's) {mod97}       two check digits over all digits and
 * letters before them (ISO 7064 MOD 97-10, as IBAN's)
 *     {{ and }}     braces; all else of printable ASCII stands for itself
 *
 * A number with a day is one number of one counter: days since 1970-01-01 << 40 | n, with n from 1 on.  A day begins as
 * the counter is raised to it (vs_form_first), so nothing comes twice whatever clocks and zones do, and no number of a
 * day comes from the counter behind one of a later day.  Pure; a text is made from the number and the form alone. */
#ifndef VS_FORM_H
#define VS_FORM_H

#include "number/zone.h"

#define VS_FORM_MAX 129     /* a form, with its NUL */
#define VS_FORM_TEXT_MAX 65 /* a number's text, with its NUL */
#define VS_FORM_PARTS_MAX 16
#define VS_FORM_WIDTH_MAX 12 /* digits: 10^12 < 2^VS_FORM_DAY_BITS */
#define VS_FORM_DAY_BITS 40

enum vs_form_kind {
    VS_FORM_LITERAL,
    VS_FORM_YEAR,
    VS_FORM_YEAR_OF_CENTURY,
    VS_FORM_MONTH,
    VS_FORM_DAY,
    VS_FORM_DAY_OF_YEAR,
    VS_FORM_NUMBER,
    VS_FORM_LUHN,
    VS_FORM_MOD11,
    VS_FORM_MOD97
};

/* When the counter starts anew. */
enum vs_form_period { VS_FORM_NEVER, VS_FORM_DAILY, VS_FORM_MONTHLY, VS_FORM_YEARLY };

struct vs_form_part {
    enum vs_form_kind kind;
    int at, length; /* of a literal: in `literals`; of all others only the length, 0: as long as needed */
};

/* Plain data: copy it freely. */
struct vs_form {
    struct vs_form_part part[VS_FORM_PARTS_MAX];
    int part_count;
    enum vs_form_period period;
    char literals[VS_FORM_TEXT_MAX];
};

/* Reads a form.  Threads: any.  Errors: VESTA_EOPTION, naming the column. */
int vs_form_parse(const char *text, struct vs_form *out, struct vesta_error *err);

/* The first number of the day, month or year that the zone has at that instant; 1 where the counter never starts anew.
 * A counter below it is to be raised to it before a number is taken.  0: an instant outside the form's years. */
uint64_t vs_form_first(const struct vs_form *form, const struct vs_zone *zone, int64_t unix_ms);

/* Whether the number's day begins one of the form's periods.  One in the middle of a month was given in another form,
 * and its text in this one would be that of another number. */
bool vs_form_fits(const struct vs_form *form, uint64_t number);

/* How many numbers it has: in a day, a month or a year where the counter starts anew with each. */
uint64_t vs_form_count_max(const struct vs_form *form);

/* Writes a number.  Shape: buf of VS_FORM_TEXT_MAX bytes.  Threads: any.  Errors: VESTA_EFIELD: it has more digits than
 * the form, is 0, or lies outside the years that the form can say. */
int vs_form_write(const struct vs_form *form, uint64_t number, char *buf, struct vesta_error *err);

/* The number of a text: what vs_form_write makes the same text of.  Shape: *number is set with VESTA_OK only.
 * Threads: any.  Errors: VESTA_EID, naming the column: a text of another form, a wrong check digit. */
int vs_form_read(const struct vs_form *form, const char *text, uint64_t *number, struct vesta_error *err);

/* The parts of a number: its first day, in days since 1970-01-01 (0 where the counter never starts anew), and n. */
int64_t vs_form_day_of(const struct vs_form *form, uint64_t number);
uint64_t vs_form_count_of(const struct vs_form *form, uint64_t number);

#endif
