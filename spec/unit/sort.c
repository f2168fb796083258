/* sort.c -- the sort of `vesta audit` compared with qsort, for sizes around its limits and ids of all kinds. */
#include "main/ids/sort.h"
#include "tools.h"

#include <stdlib.h>

#define MOST 300000

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

enum kind { RANDOM, SORTED, FALLING, TWO_WORKERS, FEW_VALUES, ONE_OFF, HIGH_BITS, KINDS };

static uint64_t id_of(enum kind kind, size_t i, size_t count, uint64_t *dice) {
    size_t half = count / 2;
    switch (kind) {
    case SORTED: return i * 3;
    case FALLING: return UINT64_MAX - i;
    case TWO_WORKERS: return (UINT64_C(1) << 60) + ((i % (half + 1)) << 22 | (i > half) << 12);
    case FEW_VALUES: return roll_below(dice, 5) << 40;
    case ONE_OFF: return i + 1 == count ? 0 : UINT64_MAX;
    case HIGH_BITS: return roll(dice) << 60 | roll_below(dice, 3);
    default: return roll(dice);
    }
}

static void sorts_as_qsort_does(void) {
    static uint64_t ids[MOST], want[MOST];
    static const size_t sizes[] = {0, 1, 2, 24, 25, 26, 1000, 65535, 65536, 65537, MOST};
    uint64_t dice = 5;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t count = sizes[s];
            for (size_t i = 0; i < count; i++)
                ids[i] = want[i] = id_of((enum kind)kind, i, count, &dice);
            qsort(want, count, sizeof *want, by_value);
            vs_sort(ids, count);
            if (memcmp(ids, want, count * sizeof *ids) != 0) CHECK_FAIL("%zu ids of kind %d", count, kind);
        }
}

static const struct check_case cases[] = {
    {"ids are sorted as by qsort, of any kind and number", sorts_as_qsort_does},
};
CHECK_MAIN(cases)
