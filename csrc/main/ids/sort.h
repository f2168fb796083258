/* sort.h -- sorts ids.  Does no I/O. */
#ifndef VS_SORT_H
#define VS_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts ids in ascending order, in place.  Threads: one. */
void vs_sort(uint64_t *ids, size_t count);

#endif
