/* sort.h -- sorts ids.  Does no I/O. */
#ifndef VS_SORT_H
#define VS_SORT_H

#include "id/wide.h"

#include <stddef.h>
#include <stdint.h>

/* Sorts ids in ascending order, in place.  Threads: one. */
void vs_sort(uint64_t *ids, size_t count);

/* Sorts ids of 128 bits.  Fast if they consist of few ascending parts, such as the files of several processes.
 * `scratch` has as many elements. */
void vs_sort_wide(struct vs_wide *ids, struct vs_wide *scratch, size_t count);

#endif
