/* check.h -- check digits, which detect typing errors in a number.  Each function computes the digits that follow the
 * first `length` characters of a text.  Pure.
 *
 *   luhn    ISO/IEC 7812, as on bank cards: one digit.  Detects every wrong digit, and swapped neighbors except 09 and 90
 *   damm    H. M. Damm (2004): one digit.  Detects every wrong digit and all swapped neighbors
 *   mod11   ISO 7064 MOD 11-2, as in ISNI: one character, 0 to 9 or X
 *   mod97   ISO 7064 MOD 97-10, as in IBAN: two digits.  Letters count too, A to Z as 10 to 35 */
#ifndef VS_CHECK_H
#define VS_CHECK_H

#include <stddef.h>

/* All but vs_check_mod97 skip characters that are not digits. */
char vs_check_luhn(const char *text, size_t length);
char vs_check_damm(const char *text, size_t length);
char vs_check_mod11(const char *text, size_t length);
int vs_check_mod97(const char *text, size_t length);

#endif
