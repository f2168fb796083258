/* notation.h -- ids as text: parsing in any base, and finding them within text.  Pure. */
#ifndef VS_NOTATION_H
#define VS_NOTATION_H

#include "base/slice.h"
#include "id/wide.h"
#include "vesta.h"

/* Notations of ids, in the order of VS_NOTATION's words: any, then the bases. */
enum vs_notation { VS_ANY_NOTATION };
#define VS_NOTATION_OF(base) ((enum vs_notation)((base) + 1))
static inline enum vesta_base vs_base_of(enum vs_notation notation) {
    return (enum vesta_base)(notation - 1);
}

struct vs_found_id {
    uint64_t id;
    const char *notation; /* "decimal", "hex", "base32", "base62" or "signed" (NULL: the caller chose the notation) */
};

/* Reads an id.  Ignores quotes, brackets and commas around the id, and a byte order mark.  A decimal may be negative
 * (ids from 2^63 on as signed 64-bit integers), or end in n, L, LL, U, UL or ULL.  Hex may begin with 0x.  In any
 * notation, fixed lengths distinguish hex (16 digits), base32 (13) and base62 (11) from decimals.  Returns false if the
 * text is not an id. */
bool vs_id_read(enum vs_notation notation, struct vs_slice text, struct vs_found_id *out);

/* Returns whether a text has the digits of an id, but a value above 2^64 - 1. */
bool vs_id_is_too_large(enum vs_notation notation, struct vs_slice text);

/* Returns whether a text is a number with an exponent, as spreadsheets show large integers: 1.39784E+18. */
bool vs_id_is_rounded(struct vs_slice text);

#define VS_WIDE_LENGTH_MIN 26 /* of a ULID, the shortest text of an id of 128 bits */

/* Reads an id of 128 bits.  Ignores the characters around it as vs_id_read does.  Returns false if the text is not such
 * an id. */
bool vs_id_read_wide(struct vs_slice text, struct vs_wide_found *out);

/* Returns why a text that looks like an id of 128 bits is not one, as a sentence in err, or NULL if it does not look
 * like one. */
const char *vs_id_wide_trouble(struct vs_slice text, struct vesta_error *err);

/* Finds the next id of 128 bits at or after *from, and moves *from behind it.  Braces and urn:uuid: before it are not
 * part of it.  Returns false if there is none. */
bool vs_id_next_wide(struct vs_slice text, size_t *from, struct vs_wide_found *out);

/* Computes the id that a language without unsigned integers prints as -n.  Returns false if there is no such id. */
static inline bool vs_id_of_negative(uint64_t n, uint64_t *id) {
    *id = -n;
    return n > 0 && n <= UINT64_C(1) << 63;
}

/* Finds words of one base that may be ids. */
struct vs_finder {
    enum vesta_base base;
    size_t length_min, length_max;
    bool digit[256];
};
/* `length_min` applies only to decimals, because the other bases have fixed lengths. */
void vs_finder_begin(struct vs_finder *finder, enum vesta_base base, size_t length_min);
/* Finds the next word at or after *from, and moves *from behind the word.  Returns false if there is none. */
bool vs_finder_next(const struct vs_finder *finder, struct vs_slice text, size_t *from, struct vs_slice *word);

#endif
