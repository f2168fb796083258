/* layout_text.c -- reads any bytes as a layout: it is rejected with a reason, or satisfies every rule of a layout. */
#include "id/id.h"
#include "fuzz.h"

static void check_text(const struct vesta_layout *layout) {
    char text[VESTA_LAYOUT_TEXT_MAX], again[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout back;
    MUST(vesta_layout_text(layout, text) == strlen(text));
    MUST(vesta_layout_parse(text, &back, NULL) == VESTA_OK);
    vesta_layout_text(&back, again);
    MUST(strcmp(text, again) == 0);
    MUST(back.fingerprint == layout->fingerprint && back.epoch_ms == layout->epoch_ms);
    MUST(back.spread == layout->spread && back.start == layout->start);
}

static void check_bits(const struct vesta_layout *layout) {
    struct vs_part parts[VS_PARTS_MAX];
    uint64_t bits = 0;
    unsigned shift = 64;
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *f = &layout->field[i];
        uint64_t own = vs_field_put(f, f->max);
        MUST(f->width >= 1 && f->width <= 53 && f->low_width < f->width && (i == layout->seq || !f->low_width));
        MUST(f->max == (UINT64_C(1) << f->width) - 1 && f->value <= f->max);
        MUST(vesta_layout_find(layout, f->name) == i);
        MUST((bits & own) == 0 && __builtin_popcountll(own) == f->width);
        bits |= own;
    }
    MUST(bits == UINT64_MAX);
    int count = vs_parts_of(layout, parts);
    MUST(count == layout->field_count + (vs_seq(layout)->low_width > 0));
    for (int i = 0; i < count; i++) {
        shift -= parts[i].width;
        MUST(parts[i].shift == shift);
    }
    MUST(shift == 0);
    MUST(layout->field[layout->time].width + vs_seq(layout)->width <= 62 || layout->read_only);
    MUST(layout->unit_us >= 1 && 1000000 % layout->unit_us == 0);
    MUST(vesta_layout_end_ms(layout) > layout->epoch_ms && layout->epoch_ms >= 0);
}

/* Returns the id of these values at that time, or at the layout's last time. */
static uint64_t id_at(const struct vesta_layout *layout, const uint64_t *values, unsigned __int128 time) {
    uint64_t at[VESTA_FIELDS_MAX], id;
    memcpy(at, values, sizeof at);
    at[layout->time] = time < layout->field[layout->time].max ? (uint64_t)time : layout->field[layout->time].max;
    MUST(vesta_compose(layout, at, &id, NULL) == VESTA_OK);
    return id;
}

static void check_id(const struct vesta_layout *layout, const uint64_t *values) {
    struct vesta_parts parts;
    struct vesta_pair pair;
    struct vesta_pairs pairs = {.pair = &pair, .max = 1};
    uint64_t id;
    MUST(vesta_compose(layout, values, &id, NULL) == VESTA_OK);
    MUST(vesta_explain(layout, id, &parts, NULL) == VESTA_OK);
    for (int i = 0; i < layout->field_count; i++)
        MUST(parts.values[i] == values[i]);
    struct vesta_value given[VESTA_FIELDS_MAX];
    size_t named = 0;
    for (int i = 0; i < layout->field_count; i++)
        if (i != layout->time) given[named++] = (struct vesta_value){layout->field[i].name, values[i]};
    struct vesta_interval interval = {parts.unix_ms, parts.unix_ms, given, named};
    MUST(vesta_range(layout, &interval, &pairs, NULL) == VESTA_OK);
    /* The pair must include every unit that overlaps this millisecond. There are several if a unit is shorter, or
     * begins within it. */
    unsigned __int128 ms = (unsigned __int128)(parts.unix_ms - layout->epoch_ms), unit = (unsigned)layout->unit_us;
    MUST(pairs.count == 1 && pair.min <= id && id <= pair.max);
    MUST(pair.min == id_at(layout, values, ms * 1000 / unit));
    MUST(pair.max == id_at(layout, values, (ms * 1000 + 999) / unit));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = text_of(data, size);
    struct vesta_layout layout;
    struct vesta_error err = {0};
    uint64_t low[VESTA_FIELDS_MAX], high[VESTA_FIELDS_MAX];
    int rc = vesta_layout_parse(text, &layout, &err);
    if (rc == VESTA_OK) {
        check_bits(&layout);
        check_text(&layout);
        for (int i = 0; i < layout.field_count; i++) {
            low[i] = layout.field[i].value;
            high[i] = layout.field[i].fixed ? layout.field[i].value : layout.field[i].max;
        }
        check_id(&layout, low);
        check_id(&layout, high);
        vs_fields_parse(&layout, text, NULL, low, &err);
    } else {
        MUST(rc == VESTA_ELAYOUT && err.code == rc && strlen(err.text) > 12 && strlen(err.text) < sizeof err.text);
        for (const char *c = err.text; *c; c++)
            MUST(*c >= ' ' && *c <= '~');
    }
    free(text);
    return 0;
}
