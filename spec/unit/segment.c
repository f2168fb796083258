/* segment.c -- the shared memory of a segment, step by step: taking numbers, the two ranges, requesting the next range,
 * closing. */
#include "base/array.h"
#include "check.h"
#include "segment/segment.h"

static struct vs_segment seg;
static struct vs_taken taken;
static struct vs_unused unused[2];
static int count;

static enum vs_published publish_of(uint32_t database, uint64_t from, uint64_t until) {
    struct vs_range range;
    const char *why = vs_range_of(from, until, 1, 0, &range);
    if (why) CHECK_FAIL("%s", why);
    range.database = database;
    return vs_segment_publish(&seg, &range);
}

static enum vs_published publish(uint64_t from, uint64_t until) {
    return publish_of(0, from, until);
}

static void start(uint64_t from, uint64_t until) {
    vs_segment_format(&seg);
    CHECK(publish(from, until) == VS_PUBLISHED);
}

/* Takes up to n numbers and expects `want` of them, from `first` on. */
static void takes(uint64_t n, uint64_t first, uint64_t want) {
    CHECK_EQ_I64(vs_segment_take(&seg, n, &taken), VESTA_OK);
    CHECK_EQ_U64(taken.first, first);
    CHECK_EQ_U64(taken.count, want);
    CHECK_EQ_U64(taken.stride, 1);
}

static void refuses(int rc) {
    taken = (struct vs_taken){.count = 9};
    CHECK_EQ_I64(vs_segment_take(&seg, 1, &taken), rc);
    CHECK_EQ_U64(taken.count, 0);
}

/* ------------------------------------------------------------------ words */

static void a_segment_checks_its_format(void) {
    vs_segment_format(&seg);
    CHECK(vs_segment_reject(&seg, sizeof seg) == NULL);
    CHECK_HAS(vs_segment_reject(&seg, sizeof seg - 1), "too short");
    seg.format++;
    CHECK_HAS(vs_segment_reject(&seg, sizeof seg), "newer");
    seg.format -= 2;
    CHECK_HAS(vs_segment_reject(&seg, sizeof seg), "another build");
    vs_segment_format(&seg);
    seg.size += 64;
    CHECK_HAS(vs_segment_reject(&seg, sizeof seg), "another build");
    memcpy(seg.magic, VS_MAP_MAGIC, sizeof seg.magic);
    CHECK_HAS(vs_segment_reject(&seg, sizeof seg), "not a segment");
    CHECK(sizeof seg <= 4096);
}

/* ------------------------------------------------------------------ taking */

static void a_new_one_is_empty(void) {
    vs_segment_format(&seg);
    CHECK(vs_segment_is_due(&seg));
    refuses(VESTA_EPAUSE);
    CHECK(taken.wanted);
    for (int i = 0; i < 100; i++) {
        refuses(VESTA_EPAUSE);
        CHECK(!taken.wanted);
    }
}

static void numbers_follow_each_other(void) {
    start(100, 200);
    takes(1, 100, 1);
    takes(7, 101, 7);
    takes(92, 108, 92);
    refuses(VESTA_EPAUSE);
}

static void the_rest_of_a_range_is_issued(void) {
    start(100, 110);
    takes(4, 100, 4);
    takes(1000, 104, 6);
    start(100, 110);
    takes(UINT64_MAX, 100, 10);
    start(100, 100 + 2 * VS_TAKE_MAX);
    takes(UINT64_MAX, 100, VS_TAKE_MAX);
    takes(VS_TAKE_MAX, 100 + VS_TAKE_MAX, VS_TAKE_MAX);
}

static void numbers_of_a_remainder(void) {
    struct vs_range range;
    vs_segment_format(&seg);
    CHECK(vs_range_of(1000, 1100, 3, 1, &range) == NULL);
    CHECK(vs_segment_publish(&seg, &range) == VS_PUBLISHED);
    CHECK_EQ_I64(vs_segment_take(&seg, 5, &taken), VESTA_OK);
    CHECK_EQ_U64(taken.first, 1000);
    CHECK_EQ_U64(taken.stride, 3);
    CHECK_EQ_I64(vs_segment_take(&seg, 100, &taken), VESTA_OK);
    CHECK_EQ_U64(taken.first, 1015);
    CHECK_EQ_U64(taken.first + (taken.count - 1) * 3, 1099);
}

static void one_number_at_a_time(void) {
    uint64_t number = 7;
    bool wanted = false;
    start(100, 120);
    for (uint64_t want = 100; want < 120; want++) {
        CHECK_EQ_I64(vs_segment_next(&seg, &number, &wanted), VESTA_OK);
        CHECK_EQ_U64(number, want);
        CHECK(wanted == (want == 102)); /* its mark is 2 */
        wanted = false;
    }
    CHECK_EQ_I64(vs_segment_next(&seg, &number, &wanted), VESTA_EPAUSE);
    CHECK_EQ_U64(number, 119);
    CHECK(!wanted);
    CHECK(vs_segment_close(&seg, unused, &count));
    CHECK_EQ_I64(vs_segment_next(&seg, &number, &wanted), VESTA_ECLOSED);
}

static void up_to_the_last_number(void) {
    start(VS_NUMBER_MAX - 3, VS_NUMBER_MAX);
    takes(10, VS_NUMBER_MAX - 3, 3);
    CHECK(taken.first + taken.count - 1 < VS_NUMBER_MAX);
    refuses(VESTA_EPAUSE);
}

/* ------------------------------------------------------------------ two ranges */

static void ranges_follow_each_other(void) {
    start(100, 110);
    takes(8, 100, 8);
    CHECK(publish(500, 510) == VS_PUBLISHED);
    takes(8, 108, 2);
    takes(8, 500, 8);
    CHECK(publish(509, 515) == VS_NOT_NEEDED); /* 509 may have been granted twice */
    CHECK(publish_of(1, 200, 205) == VS_PUBLISHED); /* the counter of another database may be lower */
    takes(8, 508, 2);
    takes(8, 200, 5);
    refuses(VESTA_EPAUSE);
    CHECK(taken.wanted == false); /* the range was requested at the mark */
    CHECK(publish(600, 605) == VS_PUBLISHED);
    takes(1, 600, 1);
}

static void one_next_range_is_enough(void) {
    start(100, 110);
    takes(1, 100, 1);
    CHECK(publish(200, 210) == VS_PUBLISHED);
    CHECK(publish(300, 310) == VS_NOT_NEEDED);
    CHECK(publish(300, 310) == VS_NOT_NEEDED);
    takes(20, 101, 9);
    takes(20, 200, 10);
    refuses(VESTA_EPAUSE);
    CHECK_EQ_U64(atomic_load(&seg.granted[0]), 210); /* the caller returns a range that was not needed */
}

static void thousands_of_ranges(void) {
    vs_segment_format(&seg);
    for (uint64_t i = 0; i < 10000; i++) {
        CHECK(publish(1 + i * 10, 11 + i * 10) == VS_PUBLISHED);
        takes(3, 1 + i * 10, 3);
        takes(9, 4 + i * 10, 7);
        if (i % 2) refuses(VESTA_EPAUSE);
    }
}

/* However many takers fail, the cursor stays unchanged, so it cannot overflow. */
static void failed_takers_push_nothing(void) {
    start(100, 110);
    takes(10, 100, 10);
    refuses(VESTA_EPAUSE);
    uint64_t cursor = atomic_load(&seg.cursor);
    for (int i = 0; i < 100000; i++)
        refuses(VESTA_EPAUSE);
    CHECK_EQ_U64(atomic_load(&seg.cursor), cursor);
}

static void generations_end(void) {
    start(100, 110);
    atomic_store(&seg.drawn, VS_GENERATION_MAX - 1);
    takes(10, 100, 10);
    CHECK(publish(200, 210) == VS_PUBLISHED); /* publishing succeeds in the last generation */
    takes(10, 200, 10);
    CHECK(publish(300, 310) == VS_SEGMENT_SPENT);
    refuses(VESTA_EPAUSE);
    CHECK(vs_segment_close(&seg, unused, &count));
    CHECK_EQ_I64(count, 0);
}

/* A publisher that was killed while it wrote blocks its place for good. Six such places leave two. */
static void places_of_killed_publishers_stay_unused(void) {
    start(100, 110);
    takes(10, 100, 10);
    for (int i = 0; i < VS_RANGES; i++)
        if (i != 2 && i != 5) atomic_store(&seg.range[i].tag, VS_WRITING | 7);
    for (uint64_t i = 0; i < 50; i++) {
        CHECK(publish(1000 + i * 10, 1010 + i * 10) == VS_PUBLISHED);
        takes(10, 1000 + i * 10, 10);
    }
    for (int i = 0; i < VS_RANGES; i++)
        atomic_store(&seg.range[i].tag, VS_WRITING | 7);
    CHECK(publish(5000, 5010) == VS_SEGMENT_SPENT);
}

/* ------------------------------------------------------------------ requesting the next range */

static void wanted_once_at_the_mark(void) {
    start(1000, 2000); /* its mark is 100 */
    CHECK(!vs_segment_is_due(&seg));
    takes(100, 1000, 100);
    CHECK(!taken.wanted);
    takes(1, 1100, 1);
    CHECK(taken.wanted);
    CHECK(vs_segment_is_due(&seg));
    takes(500, 1101, 500);
    CHECK(!taken.wanted);
    CHECK(publish(2000, 3000) == VS_PUBLISHED);
    CHECK(!vs_segment_is_due(&seg));
    takes(500, 1601, 399);
    CHECK(!taken.wanted);
    takes(100, 2000, 100);
    CHECK(!taken.wanted);
    takes(2, 2100, 2);
    CHECK(taken.wanted);
}

static void wanted_by_a_taker_that_jumps_over_the_mark(void) {
    start(1000, 2000);
    takes(1000, 1000, 1000);
    CHECK(taken.wanted);
    refuses(VESTA_EPAUSE);
    CHECK(!taken.wanted);
}

static void wanted_with_the_first_number(void) {
    struct vs_range range;
    vs_segment_format(&seg);
    CHECK(vs_range_of(1, 1001, 1, 0, &range) == NULL);
    range.mark = 0;
    CHECK(vs_segment_publish(&seg, &range) == VS_PUBLISHED);
    takes(1, 1, 1);
    CHECK(taken.wanted);
}

static void one_refills(void) {
    vs_segment_format(&seg);
    CHECK(vs_segment_begin_refill(&seg, 11, 1000, 2000));
    CHECK(!vs_segment_begin_refill(&seg, 12, 1999, 3000));
    CHECK(vs_segment_begin_refill(&seg, 11, 1500, 2500)); /* the same refiller extends its time */
    CHECK(!vs_segment_begin_refill(&seg, 12, 2499, 3000));
    CHECK(vs_segment_begin_refill(&seg, 12, 2500, 3500)); /* refiller 11 is silent */
    vs_segment_end_refill(&seg, 11);
    CHECK(!vs_segment_begin_refill(&seg, 13, 2600, 3600));
    vs_segment_end_refill(&seg, 12);
    CHECK(vs_segment_begin_refill(&seg, 13, 2600, 3600));
}

/* ------------------------------------------------------------------ the end */

static void the_rest_is_given_back_once(void) {
    start(100, 110);
    takes(4, 100, 4);
    CHECK(publish(200, 210) == VS_PUBLISHED);
    CHECK(vs_segment_close(&seg, unused, &count));
    CHECK_EQ_I64(count, 2);
    CHECK_EQ_U64(unused[0].from, 200);
    CHECK_EQ_U64(unused[0].until, 210);
    CHECK_EQ_U64(unused[1].from, 104);
    CHECK_EQ_U64(unused[1].until, 110);
    CHECK(!vs_segment_close(&seg, unused, &count));
    for (int i = 0; i < 1000; i++)
        refuses(VESTA_ECLOSED);
    CHECK(publish(300, 310) == VS_SEGMENT_CLOSED);
    CHECK(!vs_segment_is_due(&seg));
    refuses(VESTA_ECLOSED);
}

static void nothing_is_left_of_used_numbers(void) {
    start(100, 110);
    takes(10, 100, 10);
    refuses(VESTA_EPAUSE); /* a taker that finds nothing may push the cursor, although this one did not */
    atomic_fetch_add(&seg.cursor, 1000);
    CHECK(vs_segment_close(&seg, unused, &count));
    CHECK_EQ_I64(count, 0);
    vs_segment_format(&seg);
    CHECK(vs_segment_close(&seg, unused, &count));
    CHECK_EQ_I64(count, 0);
}

/* The closing process was killed between its two steps. Takers finish the close, and push the cursor at most once. */
static void a_closer_that_was_killed(void) {
    start(100, 110);
    takes(4, 100, 4);
    atomic_fetch_or(&seg.cursor, VS_CLOSED);
    refuses(VESTA_ECLOSED);
    uint64_t cursor = atomic_load(&seg.cursor);
    for (int i = 0; i < 1000; i++)
        refuses(VESTA_ECLOSED);
    CHECK_EQ_U64(atomic_load(&seg.cursor), cursor);
    CHECK(publish(200, 210) == VS_SEGMENT_CLOSED);
    CHECK(!vs_segment_close(&seg, unused, &count));
}

static void the_state_is_reported(void) {
    struct vs_segment_state state;
    start(100, 110);
    CHECK(publish(200, 220) == VS_NOT_NEEDED); /* no number of the first range was taken yet */
    vs_segment_get_state(&seg, &state);
    CHECK_EQ_U64(state.left, 0);
    CHECK_EQ_U64(state.next_left, 10);
    CHECK_EQ_U64(state.position, 100);
    takes(4, 100, 4);
    CHECK(publish(200, 220) == VS_PUBLISHED);
    vs_segment_get_state(&seg, &state);
    CHECK_EQ_U64(state.left, 6);
    CHECK_EQ_U64(state.next_left, 20);
    CHECK_EQ_U64(state.position, 104);
    CHECK(!state.is_closed);
    CHECK(vs_segment_close(&seg, unused, &count));
    vs_segment_get_state(&seg, &state);
    CHECK_EQ_U64(state.left, 0);
    CHECK(state.is_closed);
}

static const struct check_case cases[] = {
    {"a segment checks its own format", a_segment_checks_its_format},
    {"a new segment is empty, and requests a range once", a_new_one_is_empty},
    {"numbers are consecutive", numbers_follow_each_other},
    {"numbers can be taken one at a time", one_number_at_a_time},
    {"a range with too few numbers left issues those", the_rest_of_a_range_is_issued},
    {"numbers of a remainder keep their stride", numbers_of_a_remainder},
    {"numbers go up to 2^63 - 2, and not further", up_to_the_last_number},
    {"ranges are used in the order of publication, higher or lower, but not if the database may have repeated them", ranges_follow_each_other},
    {"one next range is enough, and another one stays its publisher's", one_next_range_is_enough},
    {"thousands of ranges are used completely", thousands_of_ranges},
    {"a taker that finds no numbers leaves the cursor alone", failed_takers_push_nothing},
    {"generations end, and never wrap", generations_end},
    {"places of killed publishers are not used again", places_of_killed_publishers_stay_unused},
    {"the next range is requested once, at the mark", wanted_once_at_the_mark},
    {"a taker that jumps over the mark requests the next range", wanted_by_a_taker_that_jumps_over_the_mark},
    {"with a mark of 0 the first number requests the next range", wanted_with_the_first_number},
    {"one refiller works until it ends or stops renewing its claim", one_refills},
    {"closing returns the unused numbers to one caller, the newest range first", the_rest_is_given_back_once},
    {"a used-up segment has nothing left, however far the cursor was pushed", nothing_is_left_of_used_numbers},
    {"a segment whose closing process was killed between the steps is closed", a_closer_that_was_killed},
    {"the state of a segment is reported", the_state_is_reported},
};

CHECK_MAIN(cases)
