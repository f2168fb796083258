/* range.c -- the ids of an interval: none inside is missed, none outside is included. */
#include "base/array.h"
#include "id/id.h"
#include "tools.h"

enum { PAIRS_MAX = 4096 };
static struct vesta_pair pairs[PAIRS_MAX];

static bool caught(uint64_t id, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (pairs[i].min <= id && id <= pairs[i].max) return true;
    return false;
}

static int range_of(const struct vesta_layout *l, const struct vesta_interval *interval, size_t max, size_t *count,
                    struct vesta_error *err) {
    struct vesta_pairs found = {.pair = pairs, .max = max, .count = *count};
    int rc = vesta_range(l, interval, &found, err);
    *count = found.count;
    return rc;
}

/* Returns a random id of the layout with this time field. */
static uint64_t id_at(const struct vesta_layout *l, uint64_t *dice, uint64_t time) {
    uint64_t values[VESTA_FIELDS_MAX], id = 0;
    for (int i = 0; i < l->field_count; i++) {
        const struct vesta_field *f = &l->field[i];
        uint64_t edge[] = {0, f->max, roll(dice) & f->max};
        values[i] = i == l->time ? time : f->fixed ? f->value : edge[roll_below(dice, 3)];
    }
    CHECK_EQ_I64(vesta_compose(l, values, &id, NULL), VESTA_OK);
    return id;
}

static void inside_and_outside(void) {
    static const char *const layouts[] = {
        "vesta-second",
        "vesta-milli",
        "snowflake",
        "twitter",
        "butterfly",
        "sonyflake",
        "yitter",
        "js53",
        "version:1 type:1=0 method:2 machine:6 time:30 seq:24 unit=1s epoch=2014-12-31T16:00:00Z",
        "worker:5 a:2=2 b:3 time:40 c:2 seq:12 unit=10ms epoch=0",
        "seq:9 time:41 worker:14 unit=1ms epoch=0",
    };
    uint64_t dice = 6;
    for (size_t n = 0; n < VS_COUNT(layouts); n++) {
        struct vesta_layout l = parsed(layouts[n]);
        for (int round = 0; round < 50; round++) {
            uint64_t max = l.field[l.time].max, first = roll_below(&dice, max),
                     last = first + roll_below(&dice, max - first + 1);
            int64_t from = vs_time_ms(&l, first) + (int64_t)roll_below(&dice, (uint64_t)l.unit_us / 1000);
            int64_t until = vs_time_ms(&l, last) + 1 + (int64_t)roll_below(&dice, (uint64_t)l.unit_us / 1000);
            size_t count = 0;
            if (until <= from) continue;
            CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){from, until, NULL, 0}, PAIRS_MAX, &count, NULL),
                         VESTA_OK);
            for (int i = 0; i < 20; i++) {
                CHECK(caught(id_at(&l, &dice, first), count));
                CHECK(caught(id_at(&l, &dice, last), count));
                CHECK(caught(id_at(&l, &dice, first + roll_below(&dice, last - first + 1)), count));
                CHECK(first == 0 || !caught(id_at(&l, &dice, first - 1), count));
                CHECK(last == max || !caught(id_at(&l, &dice, last + 1), count));
            }
        }
    }
}

static void pairs_are_many_sorted_and_apart(void) {
    struct vesta_layout l = parsed("version:1 type:1=1 method:2 machine:5 time:40 seq:15 unit=1ms epoch=0");
    size_t count = 0;
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){1000, 2000, NULL, 0}, PAIRS_MAX, &count, NULL), VESTA_OK);
    CHECK_EQ_U64(count, 2 * 4 * 32);
    for (size_t i = 0; i < count; i++) {
        CHECK(pairs[i].min < pairs[i].max);
        CHECK(i == 0 || pairs[i - 1].max < pairs[i].min);
        CHECK_EQ_U64(pairs[i].min >> 62 & 1, 1);
    }
}

#define GIVEN(...)                                                                                                     \
    (const struct vesta_value[]){__VA_ARGS__}, sizeof((struct vesta_value[]){__VA_ARGS__}) / sizeof(struct vesta_value)

static void named_fields_leave_one_pair(void) {
    struct vesta_layout l = parsed("vesta-legacy-second");
    size_t count = 0;
    int64_t from = l.epoch_ms + INT64_C(12235264000);
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){from, from, GIVEN({"version", 0}, {"method", 0}, {"worker", 1})},
                          1, &count, NULL),
                 VESTA_OK);
    CHECK_EQ_U64(count, 1);
    CHECK_EQ_U64(pairs[0].min, UINT64_C(1138729511026688));
    CHECK_EQ_U64(pairs[0].max, UINT64_C(1138729511026688) + 1048575);
}

static void fields_below_time_may_be_named(void) {
    struct vesta_layout l = parsed("snowflake epoch=0");
    size_t count = 0;
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){10, 20, GIVEN({"worker", 7}, {"seq", 3})}, 1, &count, NULL),
                 VESTA_OK);
    CHECK_EQ_U64(pairs[0].min, UINT64_C(10) << 22 | 7 << 12 | 3);
    CHECK_EQ_U64(pairs[0].max, UINT64_C(19) << 22 | 7 << 12 | 3);
}

static void edges_of_the_interval(void) {
    struct vesta_layout l = parsed("time:8 worker:3 seq:52 unit=1s epoch=1000");
    static const struct {
        int64_t from, until;
        uint64_t first, last;
    } want[] = {
        {1000, 1000, 0, 0},
        {1999, 1999, 0, 0},
        {2000, 2000, 1, 1},
        {1000, 2000, 0, 0},
        {1999, 2001, 0, 1},
        {0, 1001, 0, 0},
        {INT64_MIN, INT64_MAX, 0, 255},
        {256999, 256999, 255, 255},
        {255999, INT64_MAX, 254, 255},
    };
    for (size_t i = 0; i < VS_COUNT(want); i++) {
        size_t count = 0;
        CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){want[i].from, want[i].until, NULL, 0}, 1, &count, NULL),
                     VESTA_OK);
        CHECK_EQ_U64(pairs[0].min, want[i].first << 55);
        CHECK_EQ_U64(pairs[0].max, want[i].last << 55 | ((UINT64_C(1) << 55) - 1));
    }
}

static void refusals(void) {
    struct vesta_layout l = parsed("time:8 worker:3 seq:52 unit=1s epoch=1000"), legacy = parsed("vesta-legacy-second");
    struct vesta_error err;
    size_t count = 77;
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){2000, 1999, NULL, 0}, 1, &count, &err), VESTA_EFIELD);
    CHECK_STR(err.text, "the interval ends at 1970-01-01T00:00:01.999Z, before it starts at 1970-01-01T00:00:02Z");
    static const int64_t outside[][2] = {{0, 1000},        {999, 999},          {INT64_MIN, INT64_MIN},
                                         {257000, 257000}, {257000, INT64_MAX}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < VS_COUNT(outside); i++) {
        CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){outside[i][0], outside[i][1], NULL, 0}, 1, &count, &err),
                     VESTA_EEPOCH);
        CHECK_HAS(err.text, "from 1970-01-01T00:00:01Z until 1970-01-01T00:04:17Z");
    }
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){1000, 1000, GIVEN({"time", 0})}, 1, &count, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "time cannot be given");
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){1000, 1000, GIVEN({"worker", 8})}, 1, &count, &err),
                 VESTA_EFIELD);
    CHECK_HAS(err.text, "its maximum is 7");
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){1000, 1000, GIVEN({"node", 1})}, 1, &count, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "no field 'node'");
    int64_t now = legacy.epoch_ms;
    CHECK_EQ_I64(range_of(&legacy, &(struct vesta_interval){now, now, NULL, 0}, PAIRS_MAX, &count, &err), VESTA_EFULL);
    CHECK_STR(err.text,
              "the interval has 8192 pairs of ids, not 4096: fields above the time split it. Name the value of "
              "version method machine");
    CHECK_EQ_I64(range_of(&legacy, &(struct vesta_interval){now, now, GIVEN({"method", 0})}, 16, &count, &err),
                 VESTA_EFULL);
    CHECK_HAS(err.text, "2048 pairs of ids, not 16: fields above the time split it. Name the value of version machine");
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){1000, 1000, NULL, 0}, 0, &count, &err), VESTA_EFULL);
    CHECK_EQ_U64(count, 77);
}

static void a_wide_field_above_time_is_too_many(void) {
    struct vesta_layout l = parsed("a:53 worker:8 time:1 seq:2 unit=1s epoch=0");
    struct vesta_error err;
    size_t count;
    CHECK_EQ_I64(range_of(&l, &(struct vesta_interval){0, 0, NULL, 0}, PAIRS_MAX, &count, &err), VESTA_EFULL);
    CHECK_HAS(err.text, "2305843009213693952 pairs");
}

/* Intervals are in milliseconds.  If units are finer, an interval includes all units that begin in it. */
static void units_below_a_millisecond(void) {
    static const struct {
        const char *layout;
        int64_t from_ms, until_ms;
        uint64_t first, last;
    } want[] = {
        {"tid", 1000, 1000, 1000000, 1000999},
        {"tid", 1000, 1002, 1000000, 1001999},
        {"tid", 0, 1, 0, 999},
        {"time:48 worker:16 unit=10us epoch=5", 5, 5, 0, 99},
        {"time:48 worker:16 unit=10us epoch=5", 1005, 1006, 100000, 100099},
        {"time:48 worker:16 unit=1250us epoch=0", 5, 10, 4, 7},
        /* one unit reaches into the interval, and one begins in it */
        {"time:48 worker:16 unit=1250us epoch=0", 6, 6, 4, 5},
        {"time:48 worker:16 unit=100ms epoch=0", 150, 250, 1, 2},
    };
    for (size_t i = 0; i < VS_COUNT(want); i++) {
        struct vesta_layout l = parsed(want[i].layout);
        struct vesta_pair pair;
        struct vesta_pairs found = {&pair, 1, 0};
        struct vesta_parts parts;
        CHECK_EQ_I64(
            vesta_range(&l, &(struct vesta_interval){want[i].from_ms, want[i].until_ms, NULL, 0}, &found, NULL),
            VESTA_OK);
        vesta_explain(&l, pair.min, &parts, NULL);
        CHECK_EQ_U64(parts.time, want[i].first);
        vesta_explain(&l, pair.max, &parts, NULL);
        CHECK_EQ_U64(parts.time, want[i].last);
    }
}

/* Tests the last unit of a field that ends within a millisecond. */
static void an_end_within_a_millisecond(void) {
    struct vesta_layout l = parsed("time:10 node:53 sign:1=0 unit=1us epoch=0");
    struct vesta_pair pair;
    struct vesta_pairs found = {&pair, 1, 0};
    struct vesta_parts parts;
    CHECK_EQ_I64(vesta_layout_end_ms(&l), 2); /* the exact end is 1.024 ms */
    CHECK_EQ_I64(vesta_range(&l, &(struct vesta_interval){1, 1, NULL, 0}, &found, NULL), VESTA_OK);
    vesta_explain(&l, pair.min, &parts, NULL);
    CHECK_EQ_U64(parts.time, 1000);
    vesta_explain(&l, pair.max, &parts, NULL);
    CHECK_EQ_U64(parts.time, 1023);
    CHECK_EQ_I64(vesta_range(&l, &(struct vesta_interval){2, 2, NULL, 0}, &found, NULL), VESTA_EEPOCH);
}

static const struct check_case cases[] = {
    {"an interval includes all units that begin in it if they are shorter than a millisecond",
     units_below_a_millisecond},
    {"the last units of a layout that ends within a millisecond are reached", an_end_within_a_millisecond},

    {"ids inside the interval are included, and ids one unit outside are not", inside_and_outside},
    {"there is one pair for each combination above time, ascending and without overlap",
     pairs_are_many_sorted_and_apart},
    {"with all fields above time named there is one pair", named_fields_leave_one_pair},
    {"fields below time may be named as well", fields_below_time_may_be_named},
    {"a unit belongs to each interval that overlaps it, and intervals are limited to the layout's time",
     edges_of_the_interval},
    {"an invalid interval is rejected with the reason, and nothing is set", refusals},
    {"2^61 pairs are counted but not made", a_wide_field_above_time_is_too_many},
};
CHECK_MAIN(cases)
