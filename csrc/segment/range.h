/* range.h -- a range of a counter: how large the next one is to be, which numbers it holds, when its successor is asked
 * for.  Pure arithmetic; whatever stands in a database may come in. */
#ifndef VS_RANGE_H
#define VS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define VS_RANGE_MAX ((uint64_t)1 << 32)             /* numbers in one range; more is a step that somebody mistyped */
#define VS_NUMBER_MAX ((uint64_t)INT64_MAX)          /* a database's BIGINT is signed; this one itself is never given */
#define VS_DATABASES_MAX 8                           /* of one segment: each has the numbers of one remainder */
#define VS_STEP_MAX 1000000                          /* what a step grows to, if nobody says otherwise */
#define VS_STEP_BUSY_US ((int64_t)15 * 60 * 1000000) /* a range that is used up in less doubles the step */
#define VS_STEP_IDLE_US ((int64_t)30 * 60 * 1000000) /* ... one that lasts this long halves it */

/* The step to ask for next.  It doubles where the last refill is less than 15 minutes ago, unless that exceeds
 * `step_max`; it halves after 30 minutes, and is never below the configured one, even where that exceeds `step_max`.
 * Shape: configured is 1 to VS_RANGE_MAX; last 0 or since_us < 0: not known yet, the configured one. */
uint64_t vs_step_next(uint64_t configured, uint64_t last, int64_t since_us, uint64_t step_max);

/* Numbers first, first + stride, ..., `count` of them.  `until` is the counter's value that granted them: whoever gives
 * a rest back does it only where the counter still says so. */
struct vs_range {
    uint64_t first, count, stride, until;
    uint64_t mark;     /* who takes this many of them says that the next range is wanted */
    uint32_t database; /* of the segment's: whose counter granted it */
};

/* Why a counter's [from, until) is no range, as the end of a sentence, or NULL: then *out is what it holds of the
 * numbers congruent to `remainder` modulo `delta` (1 and 0: all of them), its mark at a tenth. */
const char *vs_range_of(uint64_t from, uint64_t until, uint64_t delta, uint64_t remainder, struct vs_range *out);

/* Where the next range is to be wanted in one of `count` numbers: at a tenth; earlier where `used` numbers in `used_us`
 * say that the rest does not last for twice a fetch; 0 is with its first number.  used_us 0: not measured yet. */
uint64_t vs_range_mark(uint64_t count, uint64_t used, int64_t used_us, int64_t fetch_us);

#endif
