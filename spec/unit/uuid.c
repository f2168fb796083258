/* uuid.c -- the shapes of 128 bits in virtual time: their bits, their inverse, their order, and a clock that is set
 * back. */
#include "generator/lane.h"
#include "id/id.h"
#include "id/uuid.h"
#include "vesta_lane.h"
#include "world.h"

#define NOON (INT64_C(1800000000) * SECOND + 250)
#define MILLI "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"

static const unsigned char some_key[VESTA_UUID_KEY_BYTES] = {7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint64_t some_words[2] = {UINT64_C(0x0706050403020107), UINT64_C(0x0f0e0d0c0b0a0908)}; /* the same key */

static uint64_t load(const unsigned char *at, int bytes) {
    uint64_t word = 0;
    for (int i = 0; i < bytes; i++)
        word = word << 8 | at[i];
    return word;
}

/* The vectors of the reference implementation: key 00..0f, the 8 bytes 00..07. */
static void siphash_has_the_published_vectors(void) {
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint64_t more;
    CHECK_EQ_U64(vs_siphash(key, key[0], NULL), UINT64_C(0x93f5f5799a932462));
    CHECK_EQ_U64(vs_siphash(key, key[0], &more), UINT64_C(0x61f55862baa9623b));
    CHECK_EQ_U64(more, UINT64_C(0xb49714f364e2830f));
}

/* Returns the i-th bit of a UUID, counted from the most significant bit. */
static unsigned bit(const unsigned char *uuid, int i) {
    return uuid[i / 8] >> (7 - i % 8) & 1;
}

/* Reads `width` bits from bit `from`, without the bits of version and variant. */
static uint64_t bits(const unsigned char *uuid, bool has_version, int from, unsigned width) {
    uint64_t value = 0;
    for (int i = 0, at = 0; width > 0; i++) {
        if (has_version && ((i >= 48 && i < 52) || (i >= 64 && i < 66))) continue;
        if (at++ < from) continue;
        value = value << 1 | bit(uuid, i);
        width--;
    }
    return value;
}

/* Checks each bit of a UUID against its definition, and the inverse. */
static void check_one(const struct vesta_layout *layout, enum vesta_shape shape, uint64_t id) {
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_uuid_parts parts = {.tick = 0};
    struct vesta_parts fields = {.time = 0};
    struct vesta_error err;
    struct vs_uuid u;
    uint64_t second = 0, first;
    bool has_version = shape == VESTA_UUID7 || shape == VESTA_UUID8;
    int rest = has_version ? 74 : 80;
    CHECK_EQ_I64(vesta_explain(layout, id, &fields, NULL), VESTA_OK);
    int rc = vesta_uuid_make(layout, shape, id, some_key, uuid, &err);
    if (rc != VESTA_OK) CHECK_FAIL("%s", err.text);
    if (vesta_uuid_explain(layout, shape, uuid, &parts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    vs_uuid_of(layout, &u);
    CHECK_EQ_I64(parts.unix_ms, fields.unix_ms);
    CHECK_EQ_U64(load(uuid, 6), (uint64_t)fields.unix_ms);
    CHECK_EQ_U64(parts.time, fields.time);
    CHECK_EQ_U64(parts.seq, fields.seq);
    CHECK_EQ_U64(parts.tick, fields.time << vs_seq(layout)->width | fields.seq);
    CHECK_EQ_U64(parts.counter, bits(uuid, has_version, 48, parts.counter_bits));
    CHECK_EQ_U64(parts.counter & vs_seq(layout)->max, fields.seq);
    if (has_version) {
        CHECK_EQ_U64(bits(uuid, false, 48, 4), shape == VESTA_UUID7 ? 7 : 8);
        CHECK_EQ_U64(bits(uuid, false, 64, 2), 2);
    }
    CHECK_EQ_I64(parts.has_id, shape == VESTA_UUID8);
    if (shape == VESTA_UUID8) {
        CHECK_EQ_U64(parts.id, id);
        CHECK_EQ_U64(parts.random_bits, 0);
        return;
    }
    CHECK_EQ_U64(parts.random_bits + parts.counter_bits, (unsigned)rest);
    CHECK(parts.random_bits >= (shape == VESTA_HEX32 ? 56 : 32));
    /* 64 - counter_bits random bits are the lowest of the hash, and the others the highest of it or of its second half
     */
    first = vs_siphash(some_words, id, parts.random_bits > 64 ? &second : NULL);
    unsigned low = 64 - parts.counter_bits, high = parts.random_bits - low;
    CHECK_EQ_U64(bits(uuid, has_version, 48 + (int)parts.counter_bits, low),
                 first & (UINT64_MAX >> parts.counter_bits));
    CHECK_EQ_U64(bits(uuid, has_version, 112, high), (parts.random_bits > 64 ? second : first) >> (64 - high));
}

/* Makes an id with random values.  Its time begins before the year 10889. */
static uint64_t any_id(const struct vesta_layout *layout, uint64_t *dice) {
    uint64_t values[VESTA_FIELDS_MAX], id = 0;
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *f = &layout->field[i];
        values[i] = f->fixed ? f->value : roll(dice) & f->max;
        if (i == layout->time && values[i] > UINT64_C(1) << 45) values[i] &= (UINT64_C(1) << 45) - 1;
        if (i == layout->time && layout->unit_us == 1000000) values[i] &= (UINT64_C(1) << 37) - 1;
    }
    CHECK_EQ_I64(vesta_compose(layout, values, &id, NULL), VESTA_OK);
    return id;
}

static void check_layout(const char *text, uint64_t *dice) {
    const struct vesta_layout layout = parsed(text);
    struct vesta_error err;
    for (enum vesta_shape shape = 1; shape <= VESTA_SHAPES; shape++) {
        if (vesta_shape_check(&layout, shape, &err) != VESTA_OK) CHECK_FAIL("%s: %s", text, err.text);
        for (int i = 0; i < 100; i++)
            check_one(&layout, shape, any_id(&layout, dice));
    }
}

static void every_preset_has_every_shape(void) {
    const struct vesta_preset *preset;
    uint64_t dice = 1;
    for (int i = 0; (preset = vesta_preset_at(i)); i++)
        check_layout(preset->text, &dice);
}

static void other_units_have_every_shape(void) {
    uint64_t dice = 2;
    check_layout("time:48 worker:10 seq:5 unit=16us epoch=2015-01-01T00:00:00Z", &dice);  /* 62.5 units in 1 ms */
    check_layout("time:44 worker:10 seq:9 unit=400us epoch=2015-01-01T00:00:00Z", &dice); /* units across 2 ms */
    check_layout("time:44 worker:10 seq:9 unit=625us epoch=2015-01-01T00:00:00.001Z", &dice);
    check_layout("seq:9 time:44 worker:10 unit=5ms epoch=1970-01-01T00:00:00Z", &dice);
    check_layout("a:5 time:30 b:7 seq:4 c:9 seq:8 d:1 unit=1s epoch=2015-01-01T00:00:00Z", &dice);
    check_layout("time:53 worker:11 unit=1s epoch=2015-01-01T00:00:00Z", &dice); /* no counter */
}

static void uuid8_takes_any_sequence(void) {
    const struct vesta_layout layout = parsed("time:10 seq:53 unit=1us epoch=2015-01-01T00:00:00Z");
    uint64_t dice = 3;
    for (int i = 0; i < 1000; i++)
        check_one(&layout, VESTA_UUID8, any_id(&layout, &dice));
}

static void check_reject(const char *text, enum vesta_shape shape, const char *why) {
    const struct vesta_layout layout = parsed(text);
    struct vesta_error err = {.code = 0};
    unsigned char uuid[VESTA_UUID_BYTES] = {0};
    CHECK_EQ_I64(vesta_shape_check(&layout, shape, &err), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_uuid_make(&layout, shape, 0, some_key, uuid, &err), VESTA_EOPTION);
    CHECK_STR(err.text, why);
}

static void rejects_layouts_with_the_reason(void) {
    check_reject(
        "time:20 seq:43 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_UUID7,
        "uuid7 has room for a counter of 42 bits, and the layout needs 43: use uuid8, or a layout with a shorter "
        "sequence");
    check_reject(
        "time:30 worker:9 seq:25 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_HEX32,
        "hex32 has room for a counter of 24 bits, and the layout needs 25: use uuid8, or a layout with a shorter "
        "sequence");
    check_reject(MILLI, (enum vesta_shape)5, "there is no shape 5: use uuid7, uuid8, ulid or hex32");
    check_reject(MILLI, (enum vesta_shape)0, "there is no shape 0: use uuid7, uuid8, ulid or hex32");
}

static void check_unread(const char *text, enum vesta_shape shape, const char *hex, const char *why) {
    const struct vesta_layout layout = parsed(text);
    struct vesta_uuid_parts parts;
    struct vesta_error err = {.code = 0};
    unsigned char uuid[VESTA_UUID_BYTES];
    for (int i = 0; i < VESTA_UUID_BYTES; i++)
        sscanf(hex + 2 * i, "%2hhx", &uuid[i]);
    CHECK_EQ_I64(vesta_uuid_explain(&layout, shape, uuid, &parts, &err), VESTA_EID);
    CHECK_STR(err.text, why);
}

static void rejects_uuids_made_elsewhere(void) {
    check_unread(MILLI, VESTA_UUID7, "01890a5dac964c5e8c5eb12a3f5e6d7c",
                 "the version is 4 and the variant is 2, which for uuid7 are 7 and 2");
    check_unread(MILLI, VESTA_UUID8, "01890a5dac968c5ecc5eb12a3f5e6d7c",
                 "the version is 8 and the variant is 3, which for uuid8 are 8 and 2");
    check_unread(MILLI, VESTA_ULID, "000000000001ffffffffffffffffffff", /* before the epoch */
                 "no id of this layout has the time 1 ms and the counter 4095: it was made elsewhere, or with another "
                 "layout");
    check_unread("vesta-second", VESTA_UUID7, "01890a5dac967c5e8c5eb12a3f5e6d7c",
                 "no id of this layout has the time 1688096058518 ms and the counter 810545: it was made elsewhere, or "
                 "with another layout");
    check_unread(MILLI, VESTA_UUID8, "01890a5dac968c5e8c5eb12a3f5e6d7c",
                 "it has the fingerprint of another layout, or was made elsewhere");
}

static void has_an_end_and_a_key(void) {
    const struct vesta_layout layout = parsed("time:53 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z");
    struct vesta_value values[] = {{"time", UINT64_C(1) << 48}, {"worker", 1}};
    unsigned char uuid[VESTA_UUID_BYTES] = {1};
    struct vesta_error err = {.code = 0};
    uint64_t id = 0;
    CHECK_EQ_I64(vesta_make(&layout, values, 2, &id, NULL), VESTA_OK);
    CHECK_EQ_I64(vesta_uuid_make(&layout, VESTA_UUID7, id, some_key, uuid, &err), VESTA_EEPOCH);
    CHECK_EQ_I64(vesta_uuid_make(&layout, VESTA_ULID, 1, NULL, uuid, &err), VESTA_EOPTION);
    CHECK_STR(err.text, "ulid needs a key for its random bits: draw 16 random bytes once per process");
    CHECK_EQ_U64(uuid[0], 1);
}

static void check_end(const char *text) {
    const struct vesta_layout layout = parsed(text);
    const uint64_t unit_us = (uint64_t)layout.unit_us, end_us = (UINT64_C(1) << 48) * 1000, last = (end_us - 1) / unit_us;
    const uint64_t late[] = {last + 1, UINT64_MAX / unit_us + 1, layout.field[layout.time].max}; /* one overflows */
    unsigned char uuid[VESTA_UUID_BYTES];
    for (enum vesta_shape shape = 1; shape <= VESTA_SHAPES; shape++) {
        check_one(&layout, shape, vs_field_put(&layout.field[layout.time], last));
        for (int i = 0; i < 3; i++)
            if (late[i] <= layout.field[layout.time].max)
                CHECK_EQ_I64(vesta_uuid_make(&layout, shape, vs_field_put(&layout.field[layout.time], late[i]), some_key,
                                             uuid, NULL),
                             VESTA_EEPOCH);
    }
}

static void ends_in_the_year_10889(void) {
    check_end("time:53 worker:11 unit=1ms epoch=1970-01-01T00:00:00Z");
    check_end("time:53 worker:11 unit=62500us epoch=1970-01-01T00:00:00Z");
    check_end("time:53 worker:11 unit=1s epoch=1970-01-01T00:00:00Z");
}

static void shapes_have_names(void) {
    for (enum vesta_shape shape = 1; shape <= VESTA_SHAPES; shape++)
        CHECK_EQ_I64(vesta_shape_find(vesta_shape_name(shape), strlen(vesta_shape_name(shape))), shape);
    CHECK_EQ_I64(vesta_shape_find("uuid", 4), 0);
    CHECK(!vesta_shape_name(VESTA_SHAPES + 1) && !vesta_shape_name(0));
}

/* ------------------------------------------------------------------ issuing */

/* UUIDs of one generator, each of which must be greater than the one before. */
struct column {
    struct world w;
    unsigned char last[VESTA_UUID_BYTES];
    struct vesta_pause pause;
    int64_t ahead_ms; /* of the last UUID */
};

static void column_open(struct column *c, const char *layout, enum vesta_pacing pacing) {
    memset(c, 0, sizeof *c);
    world_open(&c->w, layout, pacing, 0, NOON);
    memcpy(c->w.gen.uuid.key, some_key, sizeof some_key);
    grant_all(&c->w, 5);
}

static bool column_next(struct column *c, enum vesta_shape shape) {
    unsigned char uuid[VESTA_UUID_BYTES];
    if (vesta_next_uuid(&c->w.gen, shape, uuid, &c->pause) != VESTA_OK) return false;
    CHECK(memcmp(c->last, uuid, sizeof uuid) < 0);
    memcpy(c->last, uuid, sizeof uuid);
    c->ahead_ms = (int64_t)load(uuid, 6) - c->w.time.unix_us / 1000;
    return true;
}

/* A second set of the same generator: a batch has the same UUIDs as single calls. */
static void a_batch_has_the_same_uuids(void) {
    static unsigned char batch[10000 * VESTA_UUID_BYTES], one[VESTA_UUID_BYTES];
    for (enum vesta_shape shape = 1; shape <= VESTA_SHAPES; shape++) {
        struct column a, b;
        size_t got = 0;
        column_open(&a, MILLI, VESTA_PACING_CLOCK);
        column_open(&b, MILLI, VESTA_PACING_CLOCK);
        CHECK_EQ_I64(vesta_next_uuid_n(&a.w.gen, shape, batch, 10000, &got, &a.pause), VESTA_OK);
        CHECK_EQ_U64(got, 4096);
        for (size_t i = 0; i < got; i++) {
            CHECK_EQ_I64(vesta_next_uuid(&b.w.gen, shape, one, &b.pause), VESTA_OK);
            CHECK(memcmp(one, batch + i * VESTA_UUID_BYTES, VESTA_UUID_BYTES) == 0);
        }
        CHECK_EQ_I64(vesta_next_uuid_n(&a.w.gen, shape, batch, 1, &got, &a.pause), VESTA_EPAUSE);
        world_close(&a.w);
        world_close(&b.w);
    }
}

static void shares_no_tick_with_ids(void) {
    struct column c;
    uint64_t before = 0, id = 0;
    struct vesta_uuid_parts parts = {.id = 0};
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    for (int i = 0; i < 100; i++) {
        CHECK(column_next(&c, VESTA_UUID8));
        CHECK_EQ_I64(vesta_uuid_explain(&c.w.layout, VESTA_UUID8, c.last, &parts, NULL), VESTA_OK);
        CHECK_EQ_I64(vesta_next(&c.w.gen, &id, &c.pause), VESTA_OK);
        CHECK(before < parts.id && parts.id < id);
        before = id;
    }
    world_close(&c.w);
}

/* A lane has the UUIDs of single calls, and continues while the clock is behind. */
static void a_lane_has_the_same_uuids(void) {
    unsigned char uuid[VESTA_UUID_BYTES];
    struct column lanes, singles;
    struct vesta_lane *lane = NULL;
    column_open(&lanes, MILLI, VESTA_PACING_HISTORY);
    column_open(&singles, MILLI, VESTA_PACING_HISTORY);
    CHECK_EQ_I64(vesta_lane_open(&lanes.w.gen, 64, &lane, NULL), VESTA_OK);
    for (int i = 0; lane && i < 4000; i++) {
        CHECK_EQ_I64(vesta_lane_next_uuid(lane, VESTA_ULID, uuid, &lanes.pause), VESTA_OK);
        CHECK(column_next(&singles, VESTA_ULID));
        CHECK(memcmp(uuid, singles.last, sizeof uuid) == 0);
    }
    memcpy(lanes.last, uuid, sizeof uuid);
    lanes.w.time.unix_us -= 30 * SECOND;
    for (int i = 0; lane && i < 10000; i++) {
        if (i % 1000 == 0) pass_us(&lanes.w.time, 2 * MS);
        CHECK_EQ_I64(vesta_lane_next_uuid(lane, VESTA_ULID, uuid, &lanes.pause), VESTA_OK);
        CHECK(memcmp(lanes.last, uuid, sizeof uuid) < 0);
        memcpy(lanes.last, uuid, sizeof uuid);
    }
    CHECK_EQ_I64(vesta_lane_next_uuid(lane, (enum vesta_shape)9, uuid, &lanes.pause), VESTA_EOPTION);
    vesta_lane_close(lane);
    world_close(&lanes.w);
    world_close(&singles.w);
}

/* UUIDs that exceed the layout's rate wait, so they do not run ahead of a correct clock. */
static void waits_for_a_full_unit(void) {
    struct column c;
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    for (int i = 0; i < 4096; i++)
        CHECK(column_next(&c, VESTA_UUID7));
    CHECK(!column_next(&c, VESTA_UUID7));
    CHECK_STR(vesta_why_name(c.pause.why), "full");
    CHECK_EQ_I64(c.pause.wait_us, 750);
    world_close(&c.w);
}

/* One caller requests as many UUIDs as the layout permits, and half as many after the clock is set back by back_ms,
 * until the clock has overtaken them. */
static void check_step_back(const char *layout, enum vesta_pacing pacing, int64_t back_ms) {
    struct column c;
    uint64_t id;
    const int64_t unit_us = parsed(layout).unit_us;
    const int per_unit = pacing == VESTA_PACING_HISTORY ? 3 : 4; /* history pacing loses a tick at each bound */
    column_open(&c, layout, pacing);
    for (int unit = 0; unit < 10; unit++, pass_us(&c.w.time, unit_us))
        for (int i = 0; i < per_unit; i++)
            CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= back_ms * 1000;
    const int64_t overtaken_us = c.w.time.unix_us + 2 * back_ms * 1000, end_us = overtaken_us + 20 * unit_us;
    if (back_ms * 1000 > unit_us && pacing == VESTA_PACING_CLOCK) {
        CHECK_EQ_I64(vesta_next(&c.w.gen, &id, &c.pause), VESTA_EPAUSE);
        CHECK_STR(vesta_why_name(c.pause.why), "clock_back");
    }
    for (int unit = 0, was_full = 0; c.w.time.unix_us < end_us; unit++, pass_us(&c.w.time, unit_us)) {
        bool is_over = c.w.time.unix_us > overtaken_us + 2 * unit_us;
        for (int i = 0; i < per_unit && (unit % 2 == 0 || is_over); i++) {
            if (!column_next(&c, VESTA_UUID7)) {
                bool is_near = c.pause.why == VESTA_FULL && !is_over && was_full++ < 12;
                if (!is_near) CHECK_FAIL("%s for %" PRId64 " us", vesta_why_name(c.pause.why), c.pause.wait_us);
                break;
            }
            CHECK(c.ahead_ms <= VESTA_UUID_LEAD_MS + unit_us / 1000);
        }
    }
    world_close(&c.w);
}

static void goes_on_while_the_clock_is_behind(void) {
    for (enum vesta_pacing pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        check_step_back("time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z", pacing, 60000);
        check_step_back("time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z", pacing, 7);
        check_step_back("time:41 seq:2 worker:20 unit=10ms epoch=2020-01-01T00:00:00Z", pacing, 60000);
        check_step_back("time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z", pacing, 60000);
        check_step_back("time:52 seq:2 worker:9 unit=100us epoch=2020-01-01T00:00:00Z", pacing, 60000);
    }
}

/* UUIDs have half of the layout's rate while the clock is behind, so that it overtakes them. */
static void is_paced_while_the_clock_is_behind(void) {
    struct column c;
    uint64_t count = 0;
    column_open(&c, "time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= 7 * SECOND;
    while (column_next(&c, VESTA_UUID7))
        count++;
    CHECK_EQ_U64(count, 3);
    for (int i = 0; i < 10; i++) {
        CHECK(!column_next(&c, VESTA_UUID7));
        CHECK_STR(vesta_why_name(c.pause.why), "full");
        CHECK_EQ_I64(c.pause.wait_us, 2000);
        pass_us(&c.w.time, c.pause.wait_us);
        for (int j = 0; j < 4; j++)
            CHECK(column_next(&c, VESTA_UUID7));
    }
    world_close(&c.w);
}

/* The clock is set back several times within a unit, so the slow clock is behind the clock for a part of each unit. */
static void waits_no_longer_than_the_clock_needs(void) {
    struct column c;
    uint64_t dice = 1;
    column_open(&c, "time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK);
    for (int i = 0; i < 1000; i++) {
        if (roll_below(&dice, 4) == 0) c.w.time.unix_us -= 100 * MS;
        while (column_next(&c, VESTA_UUID7))
            ;
        int64_t due_us = vs_tick_unix_us(&c.w.gen.shape, cursor_of(&c.w) - c.w.gen.ahead_ticks_max) - c.w.time.unix_us;
        if (c.pause.wait_us > due_us)
            CHECK_FAIL("%d: waits %" PRId64 " us, the clock needs %" PRId64, i, c.pause.wait_us, due_us);
        pass_us(&c.w.time, (int64_t)roll_below(&dice, 100) * MS);
    }
    world_close(&c.w);
}

/* UUIDs are requested without a break.  Returns for how long ids of the same generator file pause. */
static int64_t ids_pause_us(const char *layout, int64_t back_us) {
    struct column c;
    uint64_t id;
    const int64_t unit_us = parsed(layout).unit_us;
    column_open(&c, layout, VESTA_PACING_CLOCK);
    while (column_next(&c, VESTA_UUID7))
        ;
    c.w.time.unix_us -= back_us;
    const int64_t from_us = c.w.time.unix_us;
    while (vesta_next(&c.w.gen, &id, &c.pause) != VESTA_OK && c.w.time.unix_us < from_us + 3 * back_us + SECOND) {
        while (column_next(&c, VESTA_UUID7))
            ;
        pass_us(&c.w.time, unit_us);
    }
    world_close(&c.w);
    return c.w.time.unix_us - from_us;
}

static void lets_ids_resume(void) {
    const char *milli = "time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z";
    const int64_t back_us[] = {300, 2000, 5000, SECOND, 60 * SECOND};
    for (size_t i = 0; i < sizeof back_us / sizeof *back_us; i++) {
        int64_t paused_us = ids_pause_us(milli, back_us[i]);
        CHECK(paused_us >= back_us[i] - 1000 && paused_us <= 2 * back_us[i] + 4000);
        paused_us = ids_pause_us("sonyflake", back_us[i]);
        CHECK(paused_us >= back_us[i] - 10000 && paused_us <= 2 * back_us[i] + 40000);
    }
}

/* Ends the lease, sets the clock back by 30 s, and grants another worker id. */
static void begin_other_lease(struct column *c, uint32_t leave) {
    uint64_t cursor;
    CHECK(vs_slot_close(&c->w.map->slot[0], &cursor));
    c->w.time.unix_us -= 30 * SECOND;
    atomic_store(&c->w.map->shared.leave, leave);
    atomic_fetch_add(&c->w.map->shared.uuid_span, 1); /* as end_span in term.c does */
    CHECK_EQ_I64(grant_all(&c->w, 6), 1);
}

static void ascends_across_worker_ids(void) {
    for (enum vesta_pacing pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        struct column c;
        uint64_t before, after;
        column_open(&c, MILLI, pacing);
        for (int i = 0; i < 100; i++)
            CHECK(column_next(&c, VESTA_UUID7));
        before = cursor_of(&c.w);
        begin_other_lease(&c, 0);
        after = next_tick(&c.w, &c.pause); /* an id has the clock's time */
        CHECK(after < before - (UINT64_C(29000) << 12));
        for (int i = 0; i < 100; i++)
            CHECK(column_next(&c, VESTA_UUID7));
        CHECK(c.ahead_ms > 29000 && c.ahead_ms < 31000);
        world_close(&c.w);
    }
}

/* A policy chose another worker id, so that ids need not wait for the clock. */
static void begins_anew_after_a_switch(void) {
    struct column c;
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    begin_other_lease(&c, 1);
    memset(c.last, 0, sizeof c.last);
    for (int i = 0; i < 10; i++) {
        CHECK(column_next(&c, VESTA_UUID7));
        CHECK(c.ahead_ms <= 0);
        CHECK(next_tick(&c.w, &c.pause) != UINT64_MAX);
    }
    world_close(&c.w);
}

/* The clock is further behind than UUIDs may lead, so UUIDs pause, and ids do not. */
static void pauses_below_earlier_uuids(void) {
    struct column c;
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= 60 * SECOND;
    begin_other_lease(&c, 0);
    CHECK(!column_next(&c, VESTA_UUID7));
    CHECK_STR(vesta_why_name(c.pause.why), "clock_back");
    CHECK(c.pause.wait_us > 29 * SECOND && c.pause.wait_us < 31 * SECOND);
    CHECK(next_tick(&c.w, &c.pause) != UINT64_MAX);
    pass_us(&c.w.time, 31 * SECOND);
    CHECK(column_next(&c, VESTA_UUID7));
    world_close(&c.w);
}

/* A thread that has read a later clock has begun the next second, so a tick of this second is discarded. */
static void a_late_thread_loses_no_second(void) {
    struct column c;
    uint64_t next;
    column_open(&c, "time:31 seq:4 worker:28 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK);
    c.w.gen.ahead_ticks_max = 16; /* one second, as by default */
    CHECK(column_next(&c, VESTA_UUID7));
    next = (now_tick(&c.w) >> 4) + 1;
    atomic_store(&c.w.map->shared.uuid_span, next);
    CHECK(column_next(&c, VESTA_UUID7));
    CHECK_EQ_U64(cursor_of(&c.w), (next << 4) + 1);
    CHECK_EQ_U64(next_tick(&c.w, &c.pause), (next << 4) + 1); /* an id does not pause */
    world_close(&c.w);
}

/* A thread takes a tick and is suspended, until its lease has ended and another worker id has issued UUIDs. */
static void no_tick_of_a_closed_lease_begins_a_span(void) {
    struct column c;
    uint64_t id, cursor;
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    pass_us(&c.w.time, MS);
    CHECK_EQ_I64(vesta_next(&c.w.gen, &id, &c.pause), VESTA_OK);
    CHECK(vs_slot_close(&c.w.map->slot[0], &cursor));
    CHECK_EQ_I64(grant_all(&c.w, 6), 1);
    CHECK_EQ_I64(vs_gen_next_lead(&c.w.gen, VESTA_OK, &id, &c.pause), VESTA_OK);
    CHECK_EQ_U64((id - c.w.gen.base) / c.w.gen.shape.worker_unit % 1024, 6);
    world_close(&c.w);
}

/* The clock was five minutes ahead when it was set back by a second.  Then it is corrected. */
static void a_slow_clock_that_is_far_ahead_is_set_back(void) {
    struct column c;
    uint64_t id;
    column_open(&c, "time:41 seq:1 worker:21 unit=100ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= SECOND;
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= 299 * SECOND;
    const int64_t from_us = c.w.time.unix_us;
    while (vesta_next(&c.w.gen, &id, &c.pause) != VESTA_OK && c.w.time.unix_us < from_us + 900 * SECOND) {
        while (column_next(&c, VESTA_UUID7))
            ;
        pass_us(&c.w.time, 100 * MS);
    }
    CHECK(c.w.time.unix_us - from_us < (300 + 62) * SECOND);
    world_close(&c.w);
}

/* Behind by more than VESTA_UUID_LEAD_MS, the times of UUIDs would be too wrong. */
static void pauses_if_the_clock_is_far_behind(void) {
    struct column c;
    column_open(&c, MILLI, VESTA_PACING_CLOCK);
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= HOUR;
    CHECK(!column_next(&c, VESTA_UUID7));
    CHECK_STR(vesta_why_name(c.pause.why), "clock_back");
    CHECK_EQ_I64(c.pause.wait_us, HOUR - (VESTA_UUID_LEAD_MS + 1) * MS - 250);
    pass_us(&c.w.time, c.pause.wait_us);
    CHECK(column_next(&c, VESTA_UUID7));
    world_close(&c.w);
}

static void never_passes_the_lease(void) {
    struct column c;
    int count = 0;
    memset(&c, 0, sizeof c);
    world_open(&c.w, MILLI, VESTA_PACING_CLOCK, 0, NOON);
    grant(&c.w, 5, now_tick(&c.w), now_tick(&c.w) + 100);
    CHECK(column_next(&c, VESTA_UUID7));
    c.w.time.unix_us -= MINUTE;
    while (count < 1000 && column_next(&c, VESTA_UUID7))
        count++;
    CHECK_EQ_I64(count, 99);
    CHECK_STR(vesta_why_name(c.pause.why), "lease");
    world_close(&c.w);
}

static void rejects_a_shape_that_the_layout_cannot_have(void) {
    struct column c;
    struct vesta_pause untouched = {.slot = 77};
    unsigned char uuid[VESTA_UUID_BYTES] = {9};
    size_t got = 5;
    column_open(&c, "time:30 worker:9 seq:25 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK);
    uint64_t cursor = cursor_of(&c.w);
    CHECK_EQ_I64(vesta_next_uuid(&c.w.gen, VESTA_HEX32, uuid, &untouched), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_next_uuid(&c.w.gen, (enum vesta_shape)0, uuid, &untouched), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_next_uuid(&c.w.gen, (enum vesta_shape)5, uuid, &untouched), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_next_uuid(&c.w.gen, (enum vesta_shape) - 1, uuid, &untouched), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_next_uuid_n(&c.w.gen, VESTA_HEX32, uuid, 1, &got, &untouched), VESTA_EOPTION);
    CHECK(uuid[0] == 9 && untouched.slot == 77 && got == 5 && cursor_of(&c.w) == cursor);
    CHECK(column_next(&c, VESTA_UUID7));
    world_close(&c.w);
}

static const struct check_case cases[] = {
    {"SipHash has the published vectors", siphash_has_the_published_vectors},
    {"every preset has every shape, bit by bit, and its inverse", every_preset_has_every_shape},
    {"layouts with other units have every shape", other_units_have_every_shape},
    {"uuid8 takes a sequence of 53 bits", uuid8_takes_any_sequence},
    {"a layout that cannot have a shape is rejected with the reason", rejects_layouts_with_the_reason},
    {"a UUID that was made elsewhere is rejected with the reason", rejects_uuids_made_elsewhere},
    {"a time after the year 10889 and a missing key are rejected", has_an_end_and_a_key},
    {"ids of times after the year 10889 are rejected, in layouts of any unit", ends_in_the_year_10889},
    {"each shape has a name", shapes_have_names},
    {"a batch has the UUIDs of single calls", a_batch_has_the_same_uuids},
    {"a lane has the UUIDs of single calls, and continues while the clock is behind", a_lane_has_the_same_uuids},
    {"a UUID and an id share no tick", shares_no_tick_with_ids},
    {"UUIDs wait if the sequence is exhausted", waits_for_a_full_unit},
    {"UUIDs continue in order while the clock is 60 s behind", goes_on_while_the_clock_is_behind},
    {"UUIDs are paced while the clock is behind", is_paced_while_the_clock_is_behind},
    {"UUIDs wait no longer than until the clock reaches the cursor", waits_no_longer_than_the_clock_needs},
    {"ids resume after at most twice the clock's step, however many UUIDs are requested", lets_ids_resume},
    {"UUIDs of another worker id ascend although the clock was set back", ascends_across_worker_ids},
    {"after a policy's switch, UUIDs begin at the clock's time", begins_anew_after_a_switch},
    {"UUIDs of another worker id pause if the clock is 90 s behind, and ids do not", pauses_below_earlier_uuids},
    {"a thread that is late at the end of a second loses no tick of the next", a_late_thread_loses_no_second},
    {"a tick of a closed lease begins no span of UUIDs", no_tick_of_a_closed_lease_begins_a_span},
    {"ids resume soon after a clock that was far ahead is overtaken", a_slow_clock_that_is_far_ahead_is_set_back},
    {"UUIDs pause while the clock is an hour behind", pauses_if_the_clock_is_far_behind},
    {"UUIDs ahead of the clock never pass the lease", never_passes_the_lease},
    {"a shape that the layout cannot have takes no tick", rejects_a_shape_that_the_layout_cannot_have},
};

CHECK_MAIN(cases)
