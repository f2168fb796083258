/* sort.h -- sorts ids.  Knows no I/O. */
#ifndef VS_SORT_H
#define VS_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts ids ascending; scratch has room for as many.  Returns the array, of the two, that holds the result. */
uint64_t *vs_sort(uint64_t *ids, uint64_t *scratch, size_t count);

#endif
