/* text.h -- formats batches of decimal ids. */
#ifndef VS_TEXT_H
#define VS_TEXT_H

#include "vesta.h"

/* The leading digits of the last id, which most ids of a batch share: often only the last eight digits differ.
 * Initialize with zeros. */
struct vs_digits {
    uint64_t front; /* the number with the digits in `text` */
    size_t length;
    char text[VESTA_FORMAT_MAX];
};

/* Like vesta_format(VESTA_DECIMAL, ...), but takes less than half the time if the last id had the same leading digits.
 * Returns the length.  Does not write a terminating NUL.
 * Shape: buf has VESTA_FORMAT_MAX bytes, all of which may be overwritten. */
size_t vs_digits_put(struct vs_digits *digits, uint64_t id, char *buf);

#endif
