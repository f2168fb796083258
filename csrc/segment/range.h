/* range.h -- ranges of a counter: the size of the next one, the numbers in it, and when to request its successor.  Pure
 * arithmetic.  Values from a database may be anything, and are checked here. */
#ifndef VS_RANGE_H
#define VS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define VS_RANGE_MAX ((uint64_t)1 << 32)             /* numbers in one range; a larger step is probably a typo */
#define VS_NUMBER_MAX ((uint64_t)INT64_MAX)          /* a database's BIGINT is signed; this value is never issued */
#define VS_DATABASES_MAX 8                           /* per segment: each issues the numbers of one remainder */
#define VS_STEP_MAX 1000000                          /* a step grows to at most this, by default */
#define VS_STEP_BUSY_US ((int64_t)15 * 60 * 1000000) /* a range that lasts less than this doubles the step */
#define VS_STEP_IDLE_US ((int64_t)30 * 60 * 1000000) /* a range that lasts this long halves the step */

/* Returns the step to request next.  It doubles if the last refill is less than 15 minutes ago, unless the result
 * exceeds `step_max`.  It halves after 30 minutes.  It is never below the configured step, even if that exceeds
 * `step_max`.
 * Shape: configured is 1 to VS_RANGE_MAX.  If last is 0 or since_us is negative, the result is the configured step. */
uint64_t vs_step_next(uint64_t configured, uint64_t last, int64_t since_us, uint64_t step_max);

/* Numbers first, first + stride, ..., `count` of them.  `until` is the counter's value after the grant.  A rest can be
 * given back only while the counter still has this value. */
struct vs_range {
    uint64_t first, count, stride, until;
    uint64_t mark;     /* after this many numbers, the taker requests the next range */
    uint32_t database; /* index of the database whose counter granted the range */
};

/* Checks a counter's [from, until).  Returns NULL and sets *out to the numbers in it that are congruent to `remainder`
 * modulo `delta` (delta 1, remainder 0: all of them), with the mark at a tenth.  Otherwise returns the reason, as the
 * end of a sentence. */
const char *vs_range_of(uint64_t from, uint64_t until, uint64_t delta, uint64_t remainder, struct vs_range *out);

/* Returns after how many of `count` numbers to request the next range: a tenth, or fewer if at the rate of `used`
 * numbers in `used_us` the rest would not last for two fetches.  0: with the first number.  used_us 0: not measured
 * yet. */
uint64_t vs_range_mark(uint64_t count, uint64_t used, int64_t used_us, int64_t fetch_us);

#endif
