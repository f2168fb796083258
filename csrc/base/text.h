/* text.h -- writes the decimal digits of one id after another. */
#ifndef VS_TEXT_H
#define VS_TEXT_H

#include "vesta.h"

/* Ids in a row mostly share all digits but the last eight.  They are kept here.  Start with all zero. */
struct vs_digits {
    uint64_t front; /* the number in `text` */
    size_t length;
    char text[VESTA_FORMAT_MAX];
};

/* Like vesta_format(VESTA_DECIMAL, ...), but at less than half the cost if the last id had the same leading digits.
 * Shape: buf of VESTA_FORMAT_MAX bytes, all of which may be written.  Returns the length.  Writes no NUL at the end. */
size_t vs_digits_put(struct vs_digits *digits, uint64_t id, char *buf);

#endif
