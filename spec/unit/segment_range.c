/* segment_range.c -- arithmetic of ranges: Leaf's steps, tinyid's numbers, and when the next range is requested. */
#include "base/array.h"
#include "check.h"
#include "segment/range.h"

#define MINUTE ((int64_t)60 * 1000000)

static void steps_double_as_leafs(void) {
    /* the steps of Leaf from 2000, if each range is used up at once */
    uint64_t step = 0, leafs[] = {2000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000, 512000, 512000};
    for (size_t i = 0; i < VS_COUNT(leafs); i++) {
        step = vs_step_next(2000, step, i < 2 ? -1 : MINUTE, VS_STEP_MAX);
        CHECK_EQ_U64(step, leafs[i]);
    }
}

static void steps_halve_as_leafs(void) {
    uint64_t step = 512000, leafs[] = {256000, 128000, 64000, 32000, 16000, 8000, 4000, 2000, 2000};
    for (size_t i = 0; i < VS_COUNT(leafs); i++) {
        step = vs_step_next(2000, step, 30 * MINUTE, VS_STEP_MAX);
        CHECK_EQ_U64(step, leafs[i]);
    }
}

static void steps_stay_between(void) {
    CHECK_EQ_U64(vs_step_next(2000, 8000, 15 * MINUTE - 1, VS_STEP_MAX), 16000);
    CHECK_EQ_U64(vs_step_next(2000, 8000, 15 * MINUTE, VS_STEP_MAX), 8000);
    CHECK_EQ_U64(vs_step_next(2000, 8000, 30 * MINUTE - 1, VS_STEP_MAX), 8000);
    CHECK_EQ_U64(vs_step_next(2000, 8000, 30 * MINUTE, VS_STEP_MAX), 4000);
}

static void the_configured_step_is_the_least(void) {
    CHECK_EQ_U64(vs_step_next(3000, 2000, 20 * MINUTE, VS_STEP_MAX), 3000); /* a user raised it */
    CHECK_EQ_U64(vs_step_next(3000, 5000, 40 * MINUTE, VS_STEP_MAX), 3000);
    CHECK_EQ_U64(vs_step_next(2000000, 2000000, 0, VS_STEP_MAX), 2000000); /* a configured step may exceed step_max */
    CHECK_EQ_U64(vs_step_next(1, 1, INT64_MAX, VS_STEP_MAX), 1);
    CHECK_EQ_U64(vs_step_next(1, 1, 0, 0), 1);
}

static void steps_do_not_overflow(void) {
    CHECK_EQ_U64(vs_step_next(1, VS_RANGE_MAX, 0, UINT64_MAX), VS_RANGE_MAX);
    CHECK_EQ_U64(vs_step_next(1, VS_RANGE_MAX / 2, 0, UINT64_MAX), VS_RANGE_MAX);
    CHECK_EQ_U64(vs_step_next(1, VS_RANGE_MAX / 2 + 1, 0, UINT64_MAX), VS_RANGE_MAX / 2 + 1);
}

/* ------------------------------------------------------------------ numbers of a range */

/* tinyid's range is (current, max]. The counter's own is [current + 1, max + 1). */
static void numbers_are_tinyids(void) {
    static const struct {
        uint64_t current, max, delta, remainder, first, last, count;
    } rows[] = {
        {1, 100001, 1, 0, 2, 100001, 100000},
        {1, 100001, 2, 1, 3, 100001, 50000},
        {1000, 2000, 3, 0, 1002, 1998, 333},
        {0, 10, 1, 0, 1, 10, 10},
        {0, 100, 2, 0, 2, 100, 50},
        {0, 100, 2, 1, 1, 99, 50},
        {100000, 200000, 3, 2, 100001, 200000, 33334},
        {7, 1007, 4, 3, 11, 1007, 250},
        {5, 25, 5, 0, 10, 25, 4},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_range r = {0};
        CHECK(vs_range_of(rows[i].current + 1, rows[i].max + 1, rows[i].delta, rows[i].remainder, &r) == NULL);
        CHECK_EQ_U64(r.first, rows[i].first);
        CHECK_EQ_U64(r.count, rows[i].count);
        CHECK_EQ_U64(r.first + (r.count - 1) * r.stride, rows[i].last);
        CHECK_EQ_U64(r.until, rows[i].max + 1);
        CHECK_EQ_U64(r.mark, r.count / 10);
    }
}

static void numbers_are_all_of_the_remainder(void) {
    for (uint64_t from = 0; from < 12; from++)
        for (uint64_t until = from + 1; until < 24; until++)
            for (uint64_t delta = 1; delta < 6; delta++)
                for (uint64_t remainder = 0; remainder < delta; remainder++) {
                    uint64_t count = 0, first = 0;
                    for (uint64_t n = until; n-- > from;)
                        if (n % delta == remainder) count++, first = n;
                    struct vs_range r = {0};
                    CHECK((vs_range_of(from, until, delta, remainder, &r) == NULL) == (count > 0));
                    CHECK_EQ_U64(r.count, count);
                    CHECK_EQ_U64(r.first, first);
                }
}

static void an_invalid_range_is_rejected(void) {
    struct vs_range r = {.first = 77};
    CHECK_HAS(vs_range_of(5, 5, 1, 0, &r), "empty");
    CHECK_HAS(vs_range_of(6, 5, 1, 0, &r), "check that its step is positive");
    CHECK_HAS(vs_range_of(1, 2 + VS_RANGE_MAX, 1, 0, &r), "longer");
    CHECK_HAS(vs_range_of(4, 6, 4, 3, &r), "at least delta");
    CHECK_HAS(vs_range_of(VS_NUMBER_MAX - 5, VS_NUMBER_MAX + 1, 1, 0, &r), "2^63");
    CHECK_HAS(vs_range_of(UINT64_MAX - 1, UINT64_MAX, 1, 0, &r), "2^63");
    CHECK_EQ_U64(r.first, 77);
    CHECK(vs_range_of(1, 1 + VS_RANGE_MAX, 1, 0, &r) == NULL);
    CHECK(vs_range_of(VS_NUMBER_MAX - 5, VS_NUMBER_MAX, 3, 2, &r) == NULL);
    CHECK(r.first + (r.count - 1) * r.stride < VS_NUMBER_MAX);
}

/* ------------------------------------------------------------------ when the next range is requested */

static void wanted_at_a_tenth_or_earlier(void) {
    CHECK_EQ_U64(vs_range_mark(1000, 0, 0, 0), 100);
    CHECK_EQ_U64(vs_range_mark(9, 0, 0, 0), 0);
    CHECK_EQ_U64(vs_range_mark(1000, 1000, 60 * MINUTE, 3000), 100);
    CHECK_EQ_U64(vs_range_mark(1000, 1000, 400000, 180000), 100); /* 900 numbers during two requests: just enough */
    CHECK_EQ_U64(vs_range_mark(1000, 1000, 400000, 190000), 50);
    CHECK_EQ_U64(vs_range_mark(1000, 1000, 400000, 200000), 0);
    CHECK_EQ_U64(vs_range_mark(1000, 1000, 1, INT64_MAX), 0);
    CHECK_EQ_U64(vs_range_mark(VS_RANGE_MAX, VS_RANGE_MAX, INT64_MAX, 1), VS_RANGE_MAX / 10);
}

static const struct check_case cases[] = {
    {"steps double like Leaf's, up to step_max", steps_double_as_leafs},
    {"steps halve like Leaf's, down to the configured one", steps_halve_as_leafs},
    {"steps stay the same between 15 and 30 minutes, to the microsecond", steps_stay_between},
    {"the configured step is the minimum, whatever step_max is", the_configured_step_is_the_least},
    {"steps do not overflow", steps_do_not_overflow},
    {"numbers of delta and remainder equal tinyid's", numbers_are_tinyids},
    {"numbers of delta and remainder are complete, and no others are included", numbers_are_all_of_the_remainder},
    {"invalid ranges are rejected, and so are those that reach 2^63", an_invalid_range_is_rejected},
    {"the next range is requested at a tenth, or earlier as measured", wanted_at_a_tenth_or_earlier},
};

CHECK_MAIN(cases)
