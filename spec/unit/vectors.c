/* vectors.c -- ids that other generators published or made.  The format is described in spec/vectors/ids.csv. */
#include "base/time.h"
#include "id/id.h"
#include "tools.h"
#include "generator/generator.h"

struct vector {
    const char *kind, *layout, *values, *id, *hex, *unix_ms;
    int line;
};

/* Calls `test` for each vector and returns their count. */
static int each_vector(void (*test)(const struct vector *)) {
    char text[512], *cell[6], *rest;
    int line = 0, count = 0;
    FILE *file = fopen(SPEC_DIR "/vectors/ids.csv", "r");
    if (!file) return 0;
    while (fgets(text, sizeof text, file)) {
        line++;
        if (*text == '#' || *text == '\n') continue;
        rest = text;
        for (int i = 0; i < 6; i++)
            cell[i] = strtok_r(rest, ",\n", &rest);
        test(&(struct vector){cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], line});
        count++;
    }
    fclose(file);
    return count;
}

static uint64_t number(const char *text) {
    uint64_t value = 0;
    CHECK_EQ_I64(vesta_parse(VESTA_DECIMAL, text, strlen(text), &value), VESTA_OK);
    return value;
}

/* Splits "a=1 b=2" into names and values, and modifies `text`. */
static size_t read_values(char *text, struct vesta_value *values) {
    size_t count = 0;
    for (char *word; (word = strtok_r(text, " ", &text)); count++) {
        char *value = strchr(word, '=');
        *value++ = 0;
        values[count] = (struct vesta_value){word, number(value)};
    }
    return count;
}

#define CHECK_LINE(cond)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) CHECK_FAIL("ids.csv:%d: does not hold: %s", v->line, #cond);                                      \
    } while (0)

static void made(const struct vector *v) {
    struct vesta_layout layout = parsed(v->layout);
    struct vesta_value values[VESTA_FIELDS_MAX];
    struct vesta_error err = {0};
    char buf[512];
    uint64_t id = 77;
    snprintf(buf, sizeof buf, "%s", v->values);
    int rc = vesta_make(&layout, values, read_values(buf, values), &id, &err);
    if (strcmp(v->kind, "refused") == 0) {
        CHECK_LINE(rc == VESTA_EFIELD && id == 77);
        CHECK_HAS(err.text, "time cannot be");
    } else {
        CHECK_LINE(rc == VESTA_OK && id == number(v->id));
    }
}

static void read_back(const struct vector *v) {
    struct vesta_layout layout = parsed(v->layout);
    struct vesta_value values[VESTA_FIELDS_MAX];
    struct vesta_parts parts;
    char buf[512];
    uint64_t id = number(v->id), again = 0;
    int rc = vesta_explain(&layout, id, &parts, NULL);
    if (strcmp(v->kind, "refused") == 0) {
        CHECK_LINE(rc == VESTA_EID);
        return;
    }
    snprintf(buf, sizeof buf, "%s", v->values);
    CHECK_LINE(read_values(buf, values) == (size_t)layout.field_count);
    CHECK_LINE(rc == VESTA_OK);
    for (int i = 0; i < layout.field_count; i++) {
        CHECK_LINE(strcmp(values[i].name, layout.field[i].name) == 0);
        CHECK_LINE(parts.values[i] == values[i].value);
    }
    CHECK_LINE(parts.unix_ms == (int64_t)number(v->unix_ms));
    CHECK_LINE(vesta_compose(&layout, parts.values, &again, NULL) == VESTA_OK && again == id);
}

static void dated(const struct vector *v) {
    struct vesta_layout layout = parsed(v->layout);
    struct vs_shape shape;
    vs_shape_of(&layout, &shape);
    int64_t unix_ms = (int64_t)number(v->unix_ms), back = 0;
    struct vesta_value values[VESTA_FIELDS_MAX];
    char buf[512], iso[VESTA_ISO_MAX];
    snprintf(buf, sizeof buf, "%s", v->values);
    size_t count = read_values(buf, values);
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, "time") == 0) {
            int64_t value = (int64_t)values[i].value; /* the unit begins within that millisecond */
            CHECK_LINE(vs_time_at(&shape, unix_ms * 1000) <= value &&
                       value <= vs_time_at(&shape, unix_ms * 1000 + 999));
            CHECK_LINE(vs_time_ms(&layout, values[i].value) == unix_ms);
        }
    vesta_iso(unix_ms, iso);
    CHECK_LINE(vesta_time_parse(iso, &back, NULL) == VESTA_OK && back == unix_ms);
}

static void written(const struct vector *v) {
    char buf[VESTA_FORMAT_MAX];
    uint64_t id = 0;
    vesta_format(VESTA_DECIMAL, number(v->id), buf);
    CHECK_LINE(strcmp(buf, v->id) == 0);
    vesta_format(VESTA_HEX, number(v->id), buf);
    CHECK_LINE(strcmp(buf, v->hex) == 0);
    CHECK_LINE(vesta_parse(VESTA_HEX, v->hex, strlen(v->hex), &id) == VESTA_OK && id == number(v->id));
}

/* This clock shows the end of time, so that every tick may be issued. */
static int64_t late_us(void *self) {
    (void)self;
    return VS_EPOCH_MS_MAX * 1000;
}

static int64_t uptime_us(void *self) {
    (void)self;
    return 1000000;
}

/* Issues the id from a lease that has only its tick. */
static void composed(const struct vector *v) {
    static struct vs_map map;
    const struct vesta_clock clock = {.unix_us = late_us, .boot_us = uptime_us};
    struct vesta_layout layout = parsed(v->layout);
    struct vesta_parts parts;
    struct vesta_pause pause;
    struct vesta_gen gen;
    uint64_t id = number(v->id), given = 0;
    if (vesta_explain(&layout, id, &parts, NULL) != VESTA_OK) return;
    if (layout.field[layout.time].width + vs_seq(&layout)->width > 62) return; /* such ids can only be read */
    uint64_t tick = parts.time << vs_seq(&layout)->width | parts.seq;
    memset(&map, 0, sizeof map);
    vs_map_format(&map, &clock);
    map.header.pacing = VESTA_PACING_HISTORY;
    vs_slot_publish(&map, vs_slot_take(&map, &(struct vs_claim){.worker = parts.worker, .owner = {1, 1}, .from = tick}),
                    tick + 1, 0);
    vs_gen_init(&gen, &map, &layout, vs_layout_base(&layout, 0, parts.values), &clock);
    CHECK_LINE(vesta_next(&gen, &given, &pause) == VESTA_OK && given == id);
    CHECK_LINE(vesta_next(&gen, &given, &pause) == VESTA_EPAUSE);
}

#define VECTORS_MIN 222
static void all_are_made(void) {
    CHECK(each_vector(made) >= VECTORS_MIN);
}
static void all_are_read_back(void) {
    CHECK(each_vector(read_back) >= VECTORS_MIN);
}
static void all_are_dated(void) {
    CHECK(each_vector(dated) >= VECTORS_MIN);
}
static void all_are_written(void) {
    CHECK(each_vector(written) >= VECTORS_MIN);
}
static void all_are_composed(void) {
    CHECK(each_vector(composed) >= VECTORS_MIN);
}

static const char *wanted;
static int wanted_count;

static void count_wanted(const struct vector *v) {
    wanted_count += strcmp(v->kind, "ok") == 0 && strcmp(v->layout, wanted) == 0;
}

/* js53 is the only layout that no other generator uses. */
static void presets_have_some(void) {
    const struct vesta_preset *preset;
    for (int i = 0; (preset = vesta_preset_at(i)); i++) {
        wanted = preset->name;
        wanted_count = 0;
        each_vector(count_wanted);
        if (wanted_count == 0 && strcmp(wanted, "js53") != 0)
            CHECK_FAIL("spec/vectors/ids.csv has no id of the preset %s: add one of the original generator", wanted);
    }
}

static const struct check_case cases[] = {
    {"every preset has an id that the original generator made", presets_have_some},
    {"known ids are made from their values, or rejected if the layout's time had ended", all_are_made},
    {"known ids are explained as their values and time, or rejected", all_are_read_back},
    {"known times are converted to their time fields and back", all_are_dated},
    {"known ids have their known decimal and hex texts", all_are_written},
    {"a generator with a lease of a known id's tick issues that id", all_are_composed},
};
CHECK_MAIN(cases)
