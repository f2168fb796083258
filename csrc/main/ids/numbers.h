/* numbers.h -- `make` and `explain` for business numbers, by their form. */
#ifndef VS_NUMBERS_H
#define VS_NUMBERS_H

/* Both functions return an exit code.  After a failure they have printed a message. */
int vs_make_number(const char *form, const char *zone, int argc, char **argv, int json);
int vs_explain_numbers(const char *form, int argc, char **argv, int json);

#endif
