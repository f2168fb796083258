/* form.h -- business numbers: writes a counter's number in a form, such as "INV-20261122-000042-7", and reads it back.
 *
 *     INV-{day:%Y%m%d}-{number:6}-{luhn}
 *
 *     {day:...}     the day on which the number was issued; the counter restarts each day.  %Y or %y, and %m and %d
 *                   or %j (the day of the year)
 *     {month:...}   the same for each month: %Y or %y, and %m
 *     {year:...}    the same for each year: %Y or %y
 *     {number:6}    the counter, padded with zeros.  A longer number is an error
 *     {number}      the counter with as many digits as needed
 *     {luhn}        a check digit over all digits before it (ISO/IEC 7812)
 *     {mod11}       a check character, 0 to 9 or X, over all digits before it (ISO 7064 MOD 11-2, as in ISNI)
 *     {mod97}       two check digits over all digits and letters before them (ISO 7064 MOD 97-10, as in IBAN)
 *     {{ and }}     braces.  Other printable ASCII characters are copied
 *
 * A counter with days stores the day in its numbers: days since 1970-01-01 << 40 | n, with n from 1 on.  A day begins
 * when the counter is raised to it (vs_form_first).  So no number repeats, whatever clocks and zones do, and the
 * counter never goes back to an earlier day.  Pure: a text depends only on the number and the form. */
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

/* The period after which the counter restarts. */
enum vs_form_period { VS_FORM_NEVER, VS_FORM_DAILY, VS_FORM_MONTHLY, VS_FORM_YEARLY };

struct vs_form_part {
    enum vs_form_kind kind;
    int at, length; /* of a literal: its place in `literals`. Other parts have only a length, 0 if it varies */
};

/* Plain data, which may be copied. */
struct vs_form {
    struct vs_form_part part[VS_FORM_PARTS_MAX];
    int part_count;
    enum vs_form_period period;
    char literals[VS_FORM_TEXT_MAX];
};

/* Parses a form.  Threads: any.  Errors: VESTA_EOPTION with the column. */
int vs_form_parse(const char *text, struct vs_form *out, struct vesta_error *err);

/* The first number of the zone's day, month or year at an instant, or 1 if the counter never restarts.  A lower counter
 * must be raised to it before a number is taken.  0: the instant is outside the years of the form. */
uint64_t vs_form_first(const struct vs_form *form, const struct vs_zone *zone, int64_t unix_ms);

/* Whether the number's day is the first of one of the form's periods.  If not, it was issued with another form, and its
 * text in this form would be the text of another number. */
bool vs_form_fits(const struct vs_form *form, uint64_t number);

/* The most numbers in a period, or in total if the counter never restarts. */
uint64_t vs_form_count_max(const struct vs_form *form);

/* Writes a number.  Shape: buf of VS_FORM_TEXT_MAX bytes.  Threads: any.
 * Errors: VESTA_EFIELD if it has more digits than the form, is 0, or is outside the years that the form can write. */
int vs_form_write(const struct vs_form *form, uint64_t number, char *buf, struct vesta_error *err);

/* Reads a number: the inverse of vs_form_write.  Shape: *number is set with VESTA_OK only.  Threads: any.
 * Errors: VESTA_EID with the column, if the text has another form or a wrong check digit. */
int vs_form_read(const struct vs_form *form, const char *text, uint64_t *number, struct vesta_error *err);

/* The parts of a number: the first day of its period, in days since 1970-01-01 (0 if the counter never restarts), and
 * n. */
int64_t vs_form_day_of(const struct vs_form *form, uint64_t number);
uint64_t vs_form_count_of(const struct vs_form *form, uint64_t number);

#endif
