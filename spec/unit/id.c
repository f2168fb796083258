/* id.c -- compose, explain and make are exact inverses, and errors name the field. */
#include "base/array.h"
#include "base/time.h"
#include "id/id.h"
#include "generator/generator.h"
#include "tools.h"

/* ------------------------------------------------------------------ exactness */

/* Composes and explains every value of `edges` in each of three fields. */
static void check_edges(const struct vesta_layout *l, const int *place) {
    const struct vesta_field *f[3] = {&l->field[place[0]], &l->field[place[1]], &l->field[place[2]]};
    for (int n = 0; n < 125; n++) {
        uint64_t values[VESTA_FIELDS_MAX] = {0}, id = 0;
        struct vesta_parts parts;
        for (int i = 0, rest = n; i < 3; i++, rest /= 5) {
            const uint64_t edges[5] = {0, 1, f[i]->max >> 1, f[i]->max - 1, f[i]->max};
            values[place[i]] = edges[rest % 5];
        }
        bool ok = vesta_compose(l, values, &id, NULL) == VESTA_OK && vesta_explain(l, id, &parts, NULL) == VESTA_OK;
        for (int i = 0; i < 3; i++)
            ok = ok && parts.values[place[i]] == values[place[i]];
        ok = ok && parts.time == values[l->time] && parts.seq == values[l->seq] && parts.worker == values[l->worker];
        uint64_t base = vs_layout_base(l, values[l->worker], values);
        ok = ok && (base | values[l->time] << l->field[l->time].shift |
                    (l->seq < 0 ? 0 : values[l->seq] << l->field[l->seq].shift)) == id;
        if (!ok) CHECK_FAIL("widths %u %u %u, id %" PRIu64, f[0]->width, f[1]->width, f[2]->width, id);
    }
}

static void every_split_of_63_bits(void) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const names[3] = {"time", "seq", "worker"};
    int splits = 0;
    for (int time = 1; time <= 53; time++)
        for (int seq = 1; seq <= 53; seq++) {
            int widths[3] = {time, seq, 63 - time - seq};
            if (widths[2] < 1 || widths[2] > 53) continue;
            splits++;
            for (int o = 0; o < 6; o++) {
                char text[128];
                const int *by = orders[o];
                snprintf(text, sizeof text, "%s:%d %s:%d %s:%d unit=1ms epoch=0", names[by[0]], widths[by[0]],
                         names[by[1]], widths[by[1]], names[by[2]], widths[by[2]]);
                struct vesta_layout l = parsed(text);
                check_edges(&l, (const int[]){1, 2, 3});
            }
        }
    CHECK_EQ_I64(splits, 1783); /* each split has 6 orders and 125 combinations of values: 1.3 million ids */
}

static void any_id_explains_and_composes(void) {
    uint64_t dice = 5;
    for (int p = 0; vesta_preset_at(p); p++) {
        struct vesta_layout l = parsed(vesta_preset_at(p)->name);
        int taken = 0;
        for (int i = 0; i < 10000; i++) {
            struct vesta_parts parts;
            uint64_t id = roll(&dice) >> roll_below(&dice, 64), back = ~id;
            if (vesta_explain(&l, id, &parts, NULL) != VESTA_OK) continue;
            taken++;
            CHECK_EQ_I64(vesta_compose(&l, parts.values, &back, NULL), VESTA_OK);
            CHECK_EQ_U64(back, id);
        }
        CHECK(taken > 100);
    }
}

static void the_largest_time_has_no_overflow(void) {
    struct vesta_layout l = parsed("time:53 worker:1 seq:9 unit=1s epoch=9999-12-31T23:59:59.999Z");
    struct vesta_parts parts;
    CHECK_EQ_I64(vesta_explain(&l, INT64_MAX, &parts, NULL), VESTA_OK);
    CHECK_EQ_I64(parts.unix_ms, VS_EPOCH_MS_MAX + INT64_C(9007199254740991) * 1000);
    CHECK_EQ_I64(vesta_layout_end_ms(&l), parts.unix_ms + 1000);
}

/* ------------------------------------------------------------------ rejected values */

static void compose_names_what_is_too_large(void) {
    struct vesta_layout l = parsed("vesta-milli");
    struct vesta_error err;
    uint64_t id = 77, values[VESTA_FIELDS_MAX] = {0, 1, 0, 0, 0, 1024};
    CHECK_EQ_I64(vesta_compose(&l, values, &id, &err), VESTA_EFIELD);
    CHECK_STR(err.text, "machine cannot be 1024: its maximum is 1023 (10 bits)");
    values[5] = UINT64_MAX;
    CHECK_EQ_I64(vesta_compose(&l, values, &id, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "machine cannot be 18446744073709551615");
    values[5] = 0, values[1] = 0;
    CHECK_EQ_I64(vesta_compose(&l, values, &id, &err), VESTA_EFIELD);
    CHECK_STR(err.text, "type cannot be 0: this layout fixes it to 1");
    CHECK_EQ_U64(id, 77);
}

static void explain_refuses_another_layouts_id(void) {
    struct vesta_layout l = parsed("vesta-second");
    struct vesta_parts parts = {.time = 77};
    struct vesta_error err;
    CHECK_EQ_I64(vesta_explain(&l, UINT64_C(4611686018427387904), &parts, &err), VESTA_EID);
    CHECK_STR(err.text, "4611686018427387904 is not of this layout: its type is 1, not 0. "
                        "`vesta guess 4611686018427387904` shows the layouts that could have made it");
    CHECK_EQ_U64(parts.time, 77);
    struct vesta_layout flake = parsed("snowflake");
    CHECK_EQ_I64(vesta_explain(&flake, UINT64_C(1) << 63, &parts, &err), VESTA_EID);
    CHECK_HAS(err.text, "its sign is 1, not 0");
    CHECK_EQ_I64(vesta_explain(&flake, UINT64_MAX, &parts, NULL), VESTA_EID);
}

/* ------------------------------------------------------------------ make */

#define GIVEN(...)                                                                                                     \
    (const struct vesta_value[]){__VA_ARGS__}, sizeof((struct vesta_value[]){__VA_ARGS__}) / sizeof(struct vesta_value)

static void make_fills_missing_fields(void) {
    struct vesta_layout milli = parsed("vesta-milli method:2=3"),
                        bare = parsed("time:30 seq:20 node:14 unit=1s epoch=0");
    uint64_t id, same;
    CHECK_EQ_I64(vesta_make(&milli, GIVEN({"time", 5}, {"seq", 6}, {"machine", 7}), &id, NULL), VESTA_OK);
    CHECK_EQ_U64(id, UINT64_C(7) << 60 | 5 << 20 | 6 << 10 | 7);
    CHECK_EQ_I64(vesta_make(&milli,
                            GIVEN({"worker", 7}, {"type", 1}, {"seq", 6}, {"time", 5}, {"machine", 7}, {"method", 3}),
                            &same, NULL),
                 VESTA_OK);
    CHECK_EQ_U64(same, id);
    CHECK_EQ_I64(vesta_make(&bare, GIVEN({"time", 1}, {"seq", 1}), &id, NULL), VESTA_OK);
    CHECK_EQ_U64(id, UINT64_C(1) << 34 | 1 << 14);
}

static void make_names_the_wrong_field(void) {
    struct vesta_layout l = parsed("vesta-milli");
    static const struct {
        struct vesta_value given[5];
        size_t count;
        const char *why;
    } bad[] = {
        {{{"seq", 0}, {"machine", 0}}, 2, "time is missing"},
        {{{"time", 0}, {"machine", 0}}, 2, "seq is missing"},
        {{{"time", 0}, {"seq", 0}}, 2, "machine is missing"},
        {{{"", 0}}, 0, "time is missing"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"tiem", 0}},
         4,
         "no field 'tiem'. The fields are version type method time seq machine"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"", 0}}, 4, "no field ''"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"\n\xff", 0}}, 4, "no field '\\x0a\\xff'"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"seq", 0}}, 4, "seq is given twice"},
        {{{"time", 0}, {"seq", 0}, {"machine", 3}, {"worker", 4}}, 4, "machine is 3 but worker is 4"},
        {{{"time", 0}, {"seq", 1024}, {"machine", 0}}, 3, "seq cannot be 1024: its maximum is 1023"},
        {{{"time", UINT64_C(1) << 40}, {"seq", 0}, {"machine", 0}}, 3, "time cannot be 1099511627776"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"type", 0}}, 4, "this layout fixes it to 1"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"type", 2}}, 4, "this layout fixes it to 1"},
        {{{"time", 0}, {"seq", 0}, {"machine", 0}, {"version", 2}}, 4, "its maximum is 1"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        uint64_t id = 77;
        struct vesta_error err = {0};
        CHECK_EQ_I64(vesta_make(&l, bad[i].given, bad[i].count, &id, &err), VESTA_EFIELD);
        CHECK_HAS(err.text, bad[i].why);
        CHECK_EQ_U64(id, 77);
    }
    struct vesta_layout bare = parsed("time:30 seq:20 node:14 unit=1s epoch=0");
    struct vesta_error err;
    uint64_t id;
    CHECK_EQ_I64(vesta_make(&bare, GIVEN({"time", 1}, {"seq", 1}, {"worker", 1}), &id, &err), VESTA_EFIELD);
    CHECK_HAS(err.text, "no field 'worker'");
}

/* ------------------------------------------------------------------ a handle's fields */

static void handle_fields_are_read(void) {
    struct vesta_layout l = parsed("vesta-milli");
    uint64_t values[VESTA_FIELDS_MAX] = {9, 9, 9, 9, 9, 9};
    CHECK_EQ_I64(vs_fields_parse(&l, NULL, NULL, values, NULL), VESTA_OK);
    static const uint64_t none[] = {0, 1, 2, 0, 0, 0}, both[] = {1, 1, 3, 0, 0, 0};
    CHECK(memcmp(values, none, sizeof none) == 0);
    CHECK_EQ_I64(vs_fields_parse(&l, "", NULL, values, NULL), VESTA_OK);
    CHECK(memcmp(values, none, sizeof none) == 0);
    CHECK_EQ_I64(vs_fields_parse(&l, " method=3\tversion=1 type=1", NULL, values, NULL), VESTA_OK);
    CHECK(memcmp(values, both, sizeof both) == 0);
    CHECK_EQ_U64(vs_layout_base(&l, 1023, values), UINT64_C(15) << 60 | 1023);
}

static void methods_are_read(void) {
    static const struct {
        const char *layout, *fields, *method;
        int rc;
        uint64_t value;
    } rows[] = {
        {"vesta-milli", NULL, NULL, VESTA_OK, 2},
        {"vesta-milli", "version=1", "0", VESTA_OK, 0},
        {"vesta-milli", NULL, "by_protocol", VESTA_OK, 0},
        {"vesta-milli", "method=1", NULL, VESTA_OK, 1},
        {"vesta-milli", "method=1", "1", VESTA_EFIELD, 0},
        {"vesta-milli", NULL, "4", VESTA_EFIELD, 0},
        {"vesta-milli", NULL, "rest", VESTA_EOPTION, 0},
        {"vesta-milli method:2=3", NULL, NULL, VESTA_OK, 3},
        {"vesta-milli method:2=3", NULL, "3", VESTA_OK, 3},
        {"vesta-milli method:2=3", NULL, "2", VESTA_EFIELD, 0},
        {"method:1 time:40 seq:13 worker:10 unit=1ms epoch=0", NULL, NULL, VESTA_OK, 1},
        {"snowflake", NULL, "2", VESTA_EFIELD, 0},
    };
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vesta_layout l = parsed(rows[i].layout);
        struct vesta_error err;
        uint64_t values[VESTA_FIELDS_MAX];
        CHECK_EQ_I64(vs_fields_parse(&l, rows[i].fields, rows[i].method, values, &err), rows[i].rc);
        if (rows[i].rc == VESTA_OK) CHECK_EQ_U64(values[vesta_layout_find(&l, "method")], rows[i].value);
    }
    struct vesta_layout without = parsed("snowflake");
    uint64_t values[VESTA_FIELDS_MAX];
    CHECK_EQ_I64(vs_fields_parse(&without, NULL, "by_protocol", values, NULL), VESTA_OK);
}

static void handle_fields_are_refused(void) {
    struct vesta_layout l = parsed("vesta-milli");
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"method", "write name=number"},
        {"method=", "write name=number"},
        {"method=-1", "write name=number"},
        {"method=4", "its maximum is 3"},
        {"type=0", "fixes it to 1"},
        {"methods=1", "no field 'methods'"},
        {"=1", "no field ''"},
        {"a_name_of_more_than_fifteen=1", "no field"},
        {"time=1", "the generator sets it"},
        {"seq=1", "the generator sets it"},
        {"machine=1", "the generator sets it"},
        {"worker=1", "the generator sets it"},
        {"method=1 method=1", "given twice"},
        {"a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1", "too many"},
        {"method=18446744073709551616", "write name=number"},
        {"method=1,version=1", "write name=number"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        struct vesta_error err = {0};
        uint64_t values[VESTA_FIELDS_MAX];
        CHECK_EQ_I64(vs_fields_parse(&l, bad[i].text, NULL, values, &err), VESTA_EFIELD);
        CHECK_HAS(err.text, bad[i].why);
    }
}

/* ------------------------------------------------------------------ the clock's time */

static void instants_become_time_fields(void) {
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = {{"1us", 1},    {"10us", 10},    {"1250us", 1250},  {"1ms", 1000},
                 {"5ms", 5000}, {"10ms", 10000}, {"100ms", 100000}, {"1s", 1000000}};
    for (size_t i = 0; i < VS_COUNT(units); i++) {
        char text[128];
        snprintf(text, sizeof text, "snowflake epoch=1000000000000 unit=%s", units[i].unit);
        struct vesta_layout l = parsed(text);
        struct vs_shape shape;
        vs_shape_of(&l, &shape);
        int64_t epoch_us = INT64_C(1000000000000000), unit_us = units[i].us;
        CHECK_EQ_I64(vs_time_at(&shape, epoch_us), 0);
        CHECK_EQ_I64(vs_time_at(&shape, epoch_us + unit_us - 1), 0);
        CHECK_EQ_I64(vs_time_at(&shape, epoch_us + unit_us), 1);
        CHECK_EQ_I64(vs_time_at(&shape, epoch_us + 12345 * unit_us + unit_us / 2), 12345);
        CHECK_EQ_I64(vs_time_at(&shape, epoch_us - 1), -1); /* -1, not 0: the instant is before the epoch */
        CHECK_EQ_I64(vs_time_at(&shape, 0), -1);
        CHECK_EQ_I64(vs_time_at(&shape, -1), -1);
        CHECK_EQ_I64(vs_time_at(&shape, INT64_MIN), -1);
        CHECK_EQ_I64(vs_time_at(&shape, INT64_MAX), (INT64_MAX - epoch_us) / unit_us);
    }
}

static const struct check_case cases[] = {
    {"every split of 63 bits into time, seq and worker, in every order, is exact at its edges", every_split_of_63_bits},
    {"an id that a preset explains is composed again", any_id_explains_and_composes},
    {"the latest instant of the longest layout does not overflow", the_largest_time_has_no_overflow},
    {"compose rejects a value with the field, the value and the maximum", compose_names_what_is_too_large},
    {"explain rejects an id with another constant and mentions guess", explain_refuses_another_layouts_id},
    {"make fills in constants and zeros, and takes a constant or an alias that agrees", make_fills_missing_fields},
    {"make names a field that is missing, unknown, repeated, too large or not the constant",
     make_names_the_wrong_field},
    {"a handle's fields are read over the layout's constants", handle_fields_are_read},
    {"the field method is 2 unless layout, fields or option set it", methods_are_read},
    {"a handle's fields are rejected by name", handle_fields_are_refused},
    {"an instant is in the unit that has begun, or before the epoch in no unit", instants_become_time_fields},
};
CHECK_MAIN(cases)
