/* check.c -- see check.h. */
#include "number/check.h"

static int check_digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : -1;
}

char vs_check_luhn(const char *text, size_t length) {
    int sum = 0, doubled = 1; /* the digit next to the check digit is doubled */
    for (size_t i = length; i-- > 0;) {
        int digit = check_digit_of(text[i]);
        if (digit < 0) continue;
        if (doubled) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
        doubled = !doubled;
        sum += digit;
    }
    return (char)('0' + (10 - sum % 10) % 10);
}

char vs_check_damm(const char *text, size_t length) {
    /* the quasigroup of order 10 in Damm's thesis, "Total anti-symmetrische Quasigruppen", Marburg 2004 */
    static const char table[10][11] = {"0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
                                       "3674209581", "5869720134", "8945362017", "9438617205", "2581436790"};
    int interim = 0;
    for (size_t i = 0; i < length; i++)
        if (check_digit_of(text[i]) >= 0) interim = table[interim][check_digit_of(text[i])] - '0';
    return (char)('0' + interim);
}

char vs_check_mod11(const char *text, size_t length) {
    int rest = 0;
    for (size_t i = 0; i < length; i++)
        if (check_digit_of(text[i]) >= 0) rest = (rest + check_digit_of(text[i])) * 2 % 11;
    int check = (12 - rest) % 11;
    return check == 10 ? 'X' : (char)('0' + check);
}

int vs_check_mod97(const char *text, size_t length) {
    int rest = 0;
    for (size_t i = 0; i < length; i++) {
        char c = (char)(text[i] | ' ');
        if (check_digit_of(text[i]) >= 0)
            rest = (rest * 10 + check_digit_of(text[i])) % 97;
        else if (c >= 'a' && c <= 'z')
            rest = (rest * 100 + 10 + c - 'a') % 97;
    }
    return 98 - rest * 100 % 97;
}
