/* layout.c -- layout texts: what is read, what is refused, and that writing is the exact inverse. */
#include "check.h"
#include "core/core.h"

static struct vesta_layout parsed(const char *text) {
    struct vesta_layout layout;
    struct vesta_error err;
    memset(&layout, 0, sizeof layout);
    if (vesta_layout_parse(text, &layout, &err) != VESTA_OK) CHECK_FAIL("'%s': %s", text, err.text);
    return layout;
}

static void check_round_trip(const struct vesta_layout *layout) {
    char text[VESTA_LAYOUT_TEXT_MAX], again[VESTA_LAYOUT_TEXT_MAX];
    CHECK_EQ_U64(vesta_layout_text(layout, text), strlen(text));
    struct vesta_layout back = parsed(text);
    CHECK(memcmp(&back, layout, sizeof back) == 0);
    vesta_layout_text(&back, again);
    CHECK_STR(again, text);
}

static void presets_are_canonical(void) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    int i = 0;
    for (; vesta_preset_at(i); i++) {
        struct vesta_layout by_name = parsed(vesta_preset_at(i)->name), by_text = parsed(vesta_preset_at(i)->text);
        CHECK(memcmp(&by_name, &by_text, sizeof by_name) == 0);
        vesta_layout_text(&by_name, text);
        CHECK_STR(text, vesta_preset_at(i)->text);
        CHECK(strlen(vesta_preset_at(i)->about) > 0);
        check_round_trip(&by_name);
    }
    CHECK_EQ_I64(i, 12);
    CHECK(!vesta_preset_at(-1));
}

static void ends_are_right(void) {
    static const struct {
        const char *preset, *end;
    } want[] = {
        {"vesta-second", "2049-01-09T05:37:04Z"}, {"vesta-milli", "2049-11-03T11:53:47.776Z"},
        {"vesta-legacy-second", "2049-01-09T05:37:04Z"}, {"vesta-legacy-milli", "2049-11-03T11:53:47.776Z"},
        {"snowflake", "2080-07-10T17:30:30.209Z"}, {"twitter", "2080-07-10T17:30:30.209Z"},
        {"leaf", "2080-07-10T17:30:30.209Z"}, {"butterfly", "2089-10-28T07:47:35.552Z"},
        {"uid", "2024-11-20T13:24:16Z"}, {"sonyflake epoch=2025-01-01T00:00:00Z", "2199-03-19T03:28:58.880Z"},
        {"js53", "2161-02-07T06:28:16Z"},
    };
    char buf[VESTA_ISO_MAX];
    for (size_t i = 0; i < VS_COUNT(want); i++) {
        struct vesta_layout layout = parsed(want[i].preset);
        vesta_iso(vesta_layout_end_ms(&layout), buf);
        CHECK_STR(buf, want[i].end);
    }
}

static const struct check_case cases[] = {
    {"every preset is its own canonical text and comes back from it unchanged", presets_are_canonical},
    {"layouts end when their documents say", ends_are_right},
};
CHECK_MAIN(cases)
