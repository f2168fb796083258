/* notation.h -- ids as texts: read in any base, and found in running text.  Pure. */
#ifndef VS_NOTATION_H
#define VS_NOTATION_H

#include "base/slice.h"
#include "vesta.h"

/* How ids are written, in the order of VS_NOTATION's words: the bases, and before them whichever it is. */
enum vs_notation { VS_ANY_NOTATION };
#define VS_NOTATION_OF(base) ((enum vs_notation)((base) + 1))
static inline enum vesta_base vs_base_of(enum vs_notation notation) {
    return (enum vesta_base)(notation - 1);
}

struct vs_found_id {
    uint64_t id;
    const char
        *notation; /* by which it was known: "decimal", "hex", "base32", "base62", "signed"; NULL: it was given */
};

/* Reads an id.  Passes over quotes, brackets and commas around it and a byte order mark before it.  A decimal may be
 * negative (the upper half as signed 64 bits) or end in n, L, LL, U, UL or ULL; hex may begin with 0x.  In any
 * notation, fixed lengths tell hex (16 digits), base32 (13) and base62 (11) from decimals.  False: it is no id. */
bool vs_id_read(enum vs_notation notation, struct vs_slice text, struct vs_found_id *out);

/* Whether a text that is no id has the digits of one, but a value above 2^64 - 1. */
bool vs_id_is_too_large(enum vs_notation notation, struct vs_slice text);

/* Whether a text is a number with an exponent, as spreadsheets show large integers: 1.39784E+18. */
bool vs_id_is_rounded(struct vs_slice text);

/* The id whose 64 bits a language without unsigned numbers shows as -n.  False: there is none. */
static inline bool vs_id_of_negative(uint64_t n, uint64_t *id) {
    *id = -n;
    return n > 0 && n <= UINT64_C(1) << 63;
}

/* Finds words that may be ids, of one base. */
struct vs_finder {
    enum vesta_base base;
    size_t length_min, length_max;
    bool digit[256];
};
/* `length_min`: of decimal digits; the others have a fixed length. */
void vs_finder_begin(struct vs_finder *finder, enum vesta_base base, size_t length_min);
/* The next one at or behind *from, which moves behind it.  False: there is none. */
bool vs_finder_next(const struct vs_finder *finder, struct vs_slice text, size_t *from, struct vs_slice *word);

#endif
