/* notation.h -- ids as texts: read in any base, and found in running text.  Pure. */
#ifndef VS_NOTATION_H
#define VS_NOTATION_H

#include "base/slice.h"
#include "vesta.h"

/* How ids are written, in the order of VS_NOTATION's words: the bases, and before them whichever it is. */
enum vs_notation { VS_ANY_NOTATION };
static inline enum vesta_base vs_base_of(enum vs_notation notation) {
    return (enum vesta_base)(notation - 1);
}

struct vs_found_id {
    uint64_t id;
    const char
        *notation; /* by which it was known: "decimal", "hex", "base32", "base62", "signed"; NULL: it was given */
};

/* Reads an id.  In any notation: decimal, 0x and hex, a negative number (the upper half as signed 64 bits), and by
 * their fixed lengths 16 digits of hex, 13 of base32, 11 of base62; quotes, brackets and commas around it are passed
 * over. False: it is none. */
bool vs_id_read(enum vs_notation notation, struct vs_slice text, struct vs_found_id *out);

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
