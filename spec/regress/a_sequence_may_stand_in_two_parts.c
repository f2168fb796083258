/* Since version 1.0.2, Butterfly's sequence has two parts. Regression: no layout could express that, so the preset
 * read and made ids with another meaning. */
#include "base/array.h"
#include "world.h"

#define NOON (INT64_C(1800000000) * SECOND + 250)
#define MOST 3000

/* Butterfly's layout, a wide low part, parts that do not adjoin the time and therefore need one more term, fields
 * between and below, and a narrow upper part. */
static const char *const split[] = {
    "butterfly",
    "version:1 type:1=1 method:2 time:40 seq:6 machine:10 seq:4 unit=1ms epoch=2014-12-31T16:00:00Z",
    "time:41 worker:10 seq:5 pad:1=1 seq:6 unit=1ms epoch=2020-01-01T00:00:00Z",
    "zone:3=5 time:40 a:2 seq:4 worker:7 seq:5 b:2=2 unit=1ms epoch=2020-01-01T00:00:00Z",
    "worker:12 time:41 seq:1 pad:2=3 seq:7 unit=1ms epoch=2020-01-01T00:00:00Z",
};

static uint64_t made(const struct vesta_layout *layout, uint64_t tick, uint64_t worker) {
    unsigned bits = layout->field[layout->seq].width;
    const struct vesta_value given[] = {{"time", tick >> bits},
                                        {"seq", tick & ((UINT64_C(1) << bits) - 1)},
                                        {"worker", worker},
                                        /* These are the values that generators write. Only some layouts have the
                                         * field. */
                                        {"method", 2}};
    size_t count = vs_method_at(layout) >= 0 ? 4 : 3;
    uint64_t id = 0;
    CHECK_EQ_I64(vesta_make(layout, given, count, &id, NULL), VESTA_OK);
    return id;
}

static void one_by_one(const char *layout, enum vesta_pacing pacing) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, layout, pacing, 3, NOON);
    grant_all(&w, 5);
    uint64_t first = now_tick(&w), units = UINT64_C(4) << w.gen.shape.seq_bits, given = 0, id = 0;
    for (; vesta_next(&w.gen, &id, &pause) == VESTA_OK; given++)
        if (id != made(&w.layout, first + given, 5)) CHECK_FAIL("%s: id %" PRIu64 " is %" PRIu64, layout, given, id);
    CHECK_EQ_U64(given, units);
    world_close(&w);
}

static void every_tick_is_where_make_puts_it(void) {
    for (size_t i = 0; i < VS_COUNT(split); i++) {
        one_by_one(split[i], VESTA_PACING_CLOCK);
        one_by_one(split[i], VESTA_PACING_HISTORY);
    }
}

static void batches_and_blocks(void) {
    static uint64_t ids[MOST];
    uint64_t dice = 7;
    for (size_t i = 0; i < VS_COUNT(split); i++) {
        struct world w;
        struct vesta_pause pause;
        struct vesta_block block;
        world_open(&w, split[i], VESTA_PACING_HISTORY, 1000, NOON);
        grant_all(&w, 9);
        for (int n = 0; n < 40; n++) {
            uint64_t tick = cursor_of(&w);
            size_t got = take_n(&w, ids, 1 + roll_below(&dice, MOST / 10), &pause);
            for (size_t k = 0; k < got; k++)
                CHECK_EQ_U64(ids[k], made(&w.layout, tick + k, 9));
            tick = cursor_of(&w);
            if (vesta_next_block(&w.gen, 1 + roll_below(&dice, MOST), &block, &pause) != VESTA_OK) break;
            for (uint64_t k = 0; k < block.count; k++)
                CHECK_EQ_U64(vesta_block_id(&w.layout, &block, k), made(&w.layout, tick + k, 9));
        }
        world_close(&w);
    }
}

static void ids_say_what_they_were_made_of(void) {
    uint64_t dice = 11;
    for (size_t i = 0; i < VS_COUNT(split); i++) {
        struct vesta_layout l = parsed(split[i]);
        for (int n = 0; n < 2000; n++) {
            struct vesta_parts parts;
            uint64_t tick = roll(&dice) & (((l.field[l.time].max + 1) << l.field[l.seq].width) - 1),
                     worker = roll(&dice) & l.field[l.worker].max, id = made(&l, tick, worker), again = 0;
            CHECK_EQ_I64(vesta_explain(&l, id, &parts, NULL), VESTA_OK);
            CHECK_EQ_U64(parts.time << l.field[l.seq].width | parts.seq, tick);
            CHECK_EQ_U64(parts.worker, worker);
            CHECK(vesta_compose(&l, parts.values, &again, NULL) == VESTA_OK && again == id);
        }
    }
}

static void texts_and_parts(void) {
    for (size_t i = 0; i < VS_COUNT(split); i++) {
        struct vesta_layout l = parsed(split[i]);
        struct vs_part parts[VS_PARTS_MAX];
        char text[VESTA_LAYOUT_TEXT_MAX], again[VESTA_LAYOUT_TEXT_MAX];
        uint64_t all = 0;
        unsigned shift = 64;
        int count = vs_parts_of(&l, parts);
        CHECK_EQ_I64(count, l.field_count + 1);
        for (int p = 0; p < count; p++) {
            shift -= parts[p].width;
            CHECK_EQ_U64(parts[p].shift, shift);
        }
        for (int f = 0; f < l.field_count; f++) {
            CHECK_EQ_U64(all & vs_field_put(&l.field[f], l.field[f].max), 0);
            all |= vs_field_put(&l.field[f], l.field[f].max);
        }
        CHECK_EQ_U64(all, UINT64_MAX);
        vesta_layout_text(&l, text);
        struct vesta_layout back = parsed(text);
        vesta_layout_text(&back, again);
        CHECK_STR(again, text);
        CHECK(memcmp(&back, &l, sizeof l) == 0);
    }
}

static void texts_that_cannot_be(void) {
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"time:41 seq:8 seq:1 worker:13 unit=1ms epoch=0", "write them as one, seq:9"},
        {"time:41 seq:7 worker:13 seq:1 x:1 seq:1 unit=1ms epoch=0", "one part or two"},
        {"seq:8 time:41 worker:13 seq:1 unit=1ms epoch=0", "must be below the time"},
        {"time:4 seq:50 worker:5 seq:4 unit=1ms epoch=0", "at most 53"},
        {"snowflake seq:8 seq:4", "written twice"},
        {"butterfly seq:8 seq:1 seq:1", "written twice"},
        {"butterfly seq:9", "add up to 65"},
        {"time:41 seq:8 worker:6 worker:7 seq:1 unit=1ms epoch=0", "written twice"},
        {"time:41 time:1 seq:21 unit=1ms epoch=0", "written twice"},
    };
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        struct vesta_layout layout;
        struct vesta_error err = {0};
        CHECK_EQ_I64(vesta_layout_parse(wrong[i].text, &layout, &err), VESTA_ELAYOUT);
        CHECK_HAS(err.text, wrong[i].says);
    }
    char text[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout layout = parsed("butterfly seq:7 worker:12 seq:3");
    vesta_layout_text(&layout, text);
    CHECK_STR(text, "sign:1=0 time:41 seq:7 worker:12 seq:3 unit=1ms epoch=2020-02-21T16:00:00Z");
}

/* Existing files and stores contain the fingerprint of 1.0.1's layout, which was then called `butterfly`. */
static void fingerprints(void) {
    CHECK_EQ_U64(parsed("butterfly-v1.0.1").fingerprint, UINT64_C(0x85c0cc615fdc65b7));
    CHECK_EQ_U64(parsed("butterfly").fingerprint, UINT64_C(0x0e7f89f594965b3e));
}

static void ranges_hold_their_ids(void) {
    for (size_t i = 0; i < VS_COUNT(split); i++) {
        struct vesta_layout l = parsed(split[i]);
        struct vesta_pair pairs[16];
        struct vesta_pairs found = {.pair = pairs, .max = VS_COUNT(pairs)};
        const struct vesta_value worker = {"worker", 3};
        int64_t at = NOON / 1000;
        CHECK_EQ_I64(vesta_range(&l, &(struct vesta_interval){at, at + 10, &worker, 1}, &found, NULL), VESTA_OK);
        uint64_t first = (uint64_t)(at - l.epoch_ms) << l.field[l.seq].width, n = UINT64_C(10) << l.field[l.seq].width;
        bool ends_meet = made(&l, first, 3) == pairs[0].min;
        for (uint64_t k = 0; k < n; k++) {
            uint64_t id = made(&l, first + k, 3);
            bool inside = false;
            for (size_t p = 0; p < found.count; p++)
                inside = inside || (id >= pairs[p].min && id <= pairs[p].max);
            CHECK(inside);
        }
        CHECK(ends_meet || found.count > 1);
    }
}

static const struct check_case cases[] = {
    {"with a sequence in two parts, each tick yields the id that make builds, in every pacing",
     every_tick_is_where_make_puts_it},
    {"batches and blocks of such layouts contain the same ids, wherever they begin", batches_and_blocks},
    {"such ids are split into the values they were made from", ids_say_what_they_were_made_of},
    {"the layout's text is reproduced, and every bit belongs to one field", texts_and_parts},
    {"invalid parts are rejected with the reason", texts_that_cannot_be},
    {"the layout of Butterfly up to 1.0.1 has the fingerprint of existing files", fingerprints},
    {"a range contains all ids of its interval", ranges_hold_their_ids},
};
CHECK_MAIN(cases)
