/* text.h -- the decimal digits of one id after another. */
#ifndef VS_TEXT_H
#define VS_TEXT_H

#include "vesta.h"

/* What the ids of a row mostly share: the digits in front of the last eight.  All zero: nothing yet. */
struct vs_digits {
    uint64_t front; /* the number that `text` says */
    size_t length;
    char text[VESTA_FORMAT_MAX];
};

/* As vesta_format(VESTA_DECIMAL, ...), at less than half of its cost where the row's last id had the same front.
 * Shape: buf of VESTA_FORMAT_MAX bytes, all of which may be written; returns the length, and no NUL is behind it. */
size_t vs_digits_put(struct vs_digits *digits, uint64_t id, char *buf);

#endif
