/* range.h -- the arithmetic of a counter's ranges: the size of the next range, the numbers in a range, and when to
 * request the next one.  Pure.  Values from a database may be anything, and are checked here. */
#ifndef VS_RANGE_H
#define VS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* maximum count of numbers in a range.  A larger step is probably a typo */
#define VS_RANGE_MAX ((uint64_t)1 << 32)
/* the highest value of a BIGINT, which is signed.  This number itself is never issued */
#define VS_NUMBER_MAX ((uint64_t)INT64_MAX)
/* maximum number of databases per segment.  Each database issues the numbers with one remainder */
#define VS_DATABASES_MAX 8
#define VS_STEP_MAX 1000000 /* default limit for a growing step */
/* if a range lasts less than this, the next step is twice as large */
#define VS_STEP_BUSY_US ((int64_t)15 * 60 * 1000000)
/* if a range lasts at least this long, the next step is half as large */
#define VS_STEP_IDLE_US ((int64_t)30 * 60 * 1000000)

/* Returns the step to request next.  The step doubles if the last refill is less than 15 minutes ago, unless the result
 * would exceed `step_max`.  It halves if the last refill is at least 30 minutes ago.  It is never less than the
 * configured step, even if that exceeds `step_max`.
 * Range: configured is 1 to VS_RANGE_MAX.  If last is 0 or since_us is negative, the result is the configured step. */
uint64_t vs_step_next(uint64_t configured, uint64_t last, int64_t since_us, uint64_t step_max);

/* The numbers first, first + stride, ..., `count` of them.  `until` is the counter's value after the grant.  Unused
 * numbers can be returned only while the counter still has this value. */
struct vs_range {
    uint64_t first, count, stride, until;
    uint64_t mark;     /* after this many numbers, a taker requests the next range */
    uint32_t database; /* index of the database that granted the range */
};

/* Checks a range [from, until) that a counter granted.  Returns NULL and sets *out to the numbers in it that are
 * congruent to `remainder` modulo `delta`.  With delta 1 and remainder 0, these are all numbers.  Sets the mark to a
 * tenth of them.  If the range is invalid, returns the reason, as the end of a sentence. */
const char *vs_range_of(uint64_t from, uint64_t until, uint64_t delta, uint64_t remainder, struct vs_range *out);

/* Returns the mark, which is how many of `count` numbers are taken before the next range is requested.  The mark is a
 * tenth of `count`, or less if the numbers after the mark would not last for two fetches, at the rate of `used` numbers
 * in `used_us`.  0 means that the first number requests the next range.  Range: used_us is 0 if the rate is unknown. */
uint64_t vs_range_mark(uint64_t count, uint64_t used, int64_t used_us, int64_t fetch_us);

#endif
