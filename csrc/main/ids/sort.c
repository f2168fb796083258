/* sort.c -- sorts in place: by the most significant digits until a part fits into the processor's cache, and then
 * within the cache from the least significant digit on.  A digit has eleven bits.  Digits that are equal in all ids of
 * a part are skipped.  Most ids of one source have equal high digits. */
#include "main/ids/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define BUCKETS (1u << DIGIT_BITS)
#define CACHED 65536 /* number of ids that fit into the cache: half a megabyte, and as much for the sorted copy */
#define FEW 24       /* at most this many ids are sorted by insertion */

static size_t sort_digit_of(uint64_t id, int shift) {
    return id >> shift & (BUCKETS - 1);
}

/* Returns the bits in which the ids differ (0: the ids are already sorted). */
static uint64_t sort_differing(const uint64_t *ids, size_t count) {
    uint64_t bits = 0;
    bool falls = false;
    for (size_t i = 1; i < count; i++) {
        bits |= ids[i] ^ ids[0];
        falls |= ids[i] < ids[i - 1];
    }
    return falls ? bits : 0;
}

static void sort_few(uint64_t *ids, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t id = ids[i];
        size_t at = i;
        for (; at > 0 && ids[at - 1] > id; at--)
            ids[at] = ids[at - 1];
        ids[at] = id;
    }
}

static void sort_count_digits(const uint64_t *ids, size_t count, int shift, size_t *buckets) {
    memset(buckets, 0, BUCKETS * sizeof *buckets);
    for (size_t i = 0; i < count; i++)
        buckets[sort_digit_of(ids[i], shift)]++;
}

/* Converts the sizes of buckets to the positions where they begin. */
static void sort_starts_of(size_t *buckets) {
    size_t start = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        size_t size = buckets[i];
        buckets[i] = start;
        start += size;
    }
}

static void sort_cached(uint64_t *ids, size_t count, uint64_t bits) {
    static uint64_t scratch[CACHED];
    static size_t buckets[BUCKETS];
    uint64_t *from = ids, *to = scratch;
    for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (sort_digit_of(bits, shift) == 0) continue;
        sort_count_digits(from, count, shift, buckets);
        sort_starts_of(buckets);
        for (size_t i = 0; i < count; i++)
            to[buckets[sort_digit_of(from[i], shift)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != ids) memcpy(ids, from, count * sizeof *ids);
}

/* Swaps each id with the id at the next position of its bucket.  The id that is swapped in is moved in a later round,
 * so that no step depends on the previous step. */
static void sort_move_to_buckets(uint64_t *ids, int shift, size_t *next, const size_t *end) {
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t b = 0; b < BUCKETS; b++)
            /* next[b] is at most i, because it increases by at most one per step */
            for (size_t i = next[b]; i < end[b]; i++) {
                uint64_t id = ids[i];
                size_t at = next[sort_digit_of(id, shift)]++;
                ids[i] = ids[at];
                ids[at] = id;
                moved = true;
            }
    }
}

void vs_sort(uint64_t *ids, size_t count) {
    size_t next[BUCKETS], end[BUCKETS];
    if (count <= FEW) {
        sort_few(ids, count);
        return;
    }
    uint64_t bits = sort_differing(ids, count);
    if (bits == 0) return;
    if (count <= CACHED) {
        sort_cached(ids, count, bits);
        return;
    }
    int high = 64 - __builtin_clzll(bits), shift = high > DIGIT_BITS ? high - DIGIT_BITS : 0;
    sort_count_digits(ids, count, shift, next);
    sort_starts_of(next);
    memcpy(end, next + 1, (BUCKETS - 1) * sizeof *end);
    end[BUCKETS - 1] = count;
    sort_move_to_buckets(ids, shift, next, end);
    for (size_t b = 0, from = 0; b < BUCKETS; from = end[b++])
        vs_sort(ids + from, end[b] - from);
}

/* ------------------------------------------------------------------ ids of 128 bits */

/* Returns the end of the ascending part that begins at `from`. */
static size_t sort_part_end(const struct vs_wide *ids, size_t from, size_t count) {
    if (from < count) from++;
    while (from < count && vs_wide_compare(ids[from - 1], ids[from]) <= 0)
        from++;
    return from;
}

/* Merges from[begin..middle) and from[middle..end) into `to`. */
static void sort_merge(const struct vs_wide *from, struct vs_wide *to, size_t begin, size_t middle, size_t end) {
    size_t a = begin, b = middle;
    for (size_t i = begin; i < end; i++)
        to[i] = b == end || (a < middle && vs_wide_compare(from[a], from[b]) <= 0) ? from[a++] : from[b++];
}

/* Merges adjacent ascending parts until there is only one. */
void vs_sort_wide(struct vs_wide *ids, struct vs_wide *scratch, size_t count) {
    struct vs_wide *from = ids, *to = scratch;
    while (sort_part_end(from, 0, count) < count) {
        for (size_t begin = 0, middle, end; begin < count; begin = end) {
            middle = sort_part_end(from, begin, count);
            end = sort_part_end(from, middle, count);
            sort_merge(from, to, begin, middle, end);
        }
        struct vs_wide *swap = from;
        from = to;
        to = swap;
    }
    if (from != ids) memcpy(ids, from, count * sizeof *ids);
}
