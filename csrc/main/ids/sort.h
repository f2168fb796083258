/* sort.h -- sorts ids.  Knows no I/O. */
#ifndef VS_SORT_H
#define VS_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts ids ascending, in place.  Threads: one. */
void vs_sort(uint64_t *ids, size_t count);

#endif
