/* form.h -- business numbers: writes a counter's number in a form, such as "INV-20261122-000042-7", and reads it back.
 *
 *     INV-{day:%Y%m%d}-{number:6}-{luhn}
 *
 *     {day:...}     the day on which the number was issued: %Y or %y, and either %m and %d or %j (the day of the
 *                   year).  The counter restarts each day
 *     {month:...}   the month: %Y or %y, and %m.  The counter restarts each month
 *     {year:...}    the year: %Y or %y.  The counter restarts each year
 *     {number:6}    the counter, padded with zeros.  A longer number is an error
 *     {number}      the counter with as many digits as needed
 *     {luhn}        a check digit over all digits before it (ISO/IEC 7812)
 *     {mod11}       a check character, 0 to 9 or X, over all digits before it (ISO 7064 MOD 11-2, as in ISNI)
 *     {mod97}       two check digits over all digits and letters before them (ISO 7064 MOD 97-10, as in IBAN)
 *     {{ and }}     braces.  Other printable ASCII characters are copied
 *
 * A counter that restarts stores the first day of the period in its numbers: days since 1970-01-01 << 40 | n, where n
 * starts at 1.  A period begins when the counter is raised to its first number (vs_form_first).  Because the counter
 * only rises, no number repeats, even if clocks or zones are wrong, and no earlier day returns.  Pure: the text depends
 * only on the number and the form. */
#ifndef VS_FORM_H
#define VS_FORM_H

#include "number/zone.h"

#define VS_FORM_MAX 129     /* bytes of a form, with the NUL */
#define VS_FORM_TEXT_MAX 65 /* bytes of a number's text, with the NUL */
#define VS_FORM_PARTS_MAX 16
#define VS_FORM_WIDTH_MAX 12 /* digits of {number}: 10^12 < 2^VS_FORM_DAY_BITS */
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
    int at;     /* for a literal: its offset in vs_form.literals */
    int length; /* characters of the part, or 0 if their number varies */
};

/* A parsed form.  It may be copied. */
struct vs_form {
    struct vs_form_part part[VS_FORM_PARTS_MAX];
    int part_count;
    enum vs_form_period period;
    char literals[VS_FORM_TEXT_MAX];
};

/* Parses a form.  Threads: any.  Errors: VESTA_EOPTION with the column. */
int vs_form_parse(const char *text, struct vs_form *out, struct vesta_error *err);

/* Returns the first number of the period that contains an instant in the zone, or 1 if the counter never restarts.  If
 * the counter is lower, raise it to this number before you issue one.  Returns 0 if the form cannot write the year of
 * the instant. */
uint64_t vs_form_first(const struct vs_form *form, const struct vs_zone *zone, int64_t unix_ms);

/* Returns whether the number's day is the first day of a period of the form.  If it is not, the number was issued with
 * another form, and its text in this form would equal the text of another number. */
bool vs_form_fits(const struct vs_form *form, uint64_t number);

/* Returns the maximum count of numbers per period, or in total if the counter never restarts. */
uint64_t vs_form_count_max(const struct vs_form *form);

/* Writes a number as text.
 * Shape: buf has VS_FORM_TEXT_MAX bytes.  Threads: any.
 * Errors: VESTA_EFIELD if the number has more digits than the form, is 0, or belongs to a year that the form cannot
 * write. */
int vs_form_write(const struct vs_form *form, uint64_t number, char *buf, struct vesta_error *err);

/* Reads a number from its text: the inverse of vs_form_write.  Sets *number only on success.  Threads: any.
 * Errors: VESTA_EID with the column if the text does not have this form, or its check digit is wrong. */
int vs_form_read(const struct vs_form *form, const char *text, uint64_t *number, struct vesta_error *err);

/* Return the parts of a number: the first day of its period, in days since 1970-01-01 (0 if the counter never
 * restarts), and its n within the period. */
int64_t vs_form_day_of(const struct vs_form *form, uint64_t number);
uint64_t vs_form_count_of(const struct vs_form *form, uint64_t number);

#endif
