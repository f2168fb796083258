/* picture.c -- draws layouts and ids.  Does not depend on any command.  The drawings are UTF-8 in every locale, so that
 * a command always prints the same bytes. */
#include "command/command.h"
#include "id/id.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_MAX 512 /* 64 bits, 15 gaps, and three bytes for each stroke below them */

int64_t vs_now_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->unix_us(clock->self) / 1000;
}

const char *vs_iso(int64_t unix_ms, char *buf) {
    vesta_iso(unix_ms, buf);
    return buf;
}

const char *vs_grouped(uint64_t n, char *buf) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n), used = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) buf[used++] = ',';
        buf[used++] = digits[i];
    }
    buf[used] = '\0';
    return buf;
}

uint64_t vs_per_second(const struct vesta_layout *layout) {
    uint64_t per_second;
    bool is_more = __builtin_mul_overflow(vs_seq(layout)->max + 1, 1000000u / (unsigned)layout->unit_us, &per_second);
    return is_more ? UINT64_MAX : per_second;
}

/* ------------------------------------------------------------------ how long ago */

const char *vs_span(uint64_t ms, char *buf) {
    static const struct {
        const char *name;
        uint64_t ms, from_ms; /* from_ms: shortest span that is shown in this unit */
    } units[] = {
        {"years", UINT64_C(31556952000), UINT64_C(63113904000)},
        {"days", 86400000, 172800000},
        {"hours", 3600000, 7200000},
        {"minutes", 60000, 120000},
        {"seconds", 1000, 2000},
        {"ms", 1, 0},
    };
    int i = 0;
    while (ms < units[i].from_ms)
        i++;
    snprintf(buf, VS_AGO_MAX, "%" PRIu64 " %s", ms / units[i].ms, units[i].name);
    return buf;
}

const char *vs_ago(int64_t then_ms, int64_t now_ms, char *buf) {
    char span[VS_AGO_MAX];
    uint64_t ms = then_ms > now_ms ? (uint64_t)then_ms - (uint64_t)now_ms : (uint64_t)now_ms - (uint64_t)then_ms;
    vs_span(ms, span);
    snprintf(buf, VS_AGO_MAX, then_ms > now_ms ? "in %.40s" : "%.40s ago", span);
    return buf;
}

/* ------------------------------------------------------------------ the tree of fields
 *
 *   0 10 0011 1111
 *   │ │  │    └─ low     4 bits
 *   │ │  └─ next ...
 */

/* Writes the bits of a row, with a gap between parts. */
static void picture_bits(const struct vesta_layout *layout, bool filled, uint64_t id) {
    struct vs_part parts[VS_PARTS_MAX];
    char row[ROW_MAX];
    size_t used = 0;
    for (int i = 0, count = vs_parts_of(layout, parts); i < count; i++) {
        const struct vesta_field *f = &layout->field[parts[i].field];
        row[used++] = ' ';
        for (unsigned bit = parts[i].shift + parts[i].width; bit-- > parts[i].shift;)
            row[used++] = filled || f->fixed ? (char)('0' + (id >> bit & 1)) : f->name[0];
    }
    vs_outf(" %.*s\n", (int)used, row);
}

/* Writes the strokes before part i's text: one stroke for each higher part, and a corner for part i itself. */
static void picture_strokes(const struct vs_part *parts, int i) {
    vs_outf("  ");
    for (int above = 0; above < i; above++)
        vs_outf("│%*s", (int)parts[above].width, "");
    vs_outf("└─ ");
}

static const char *picture_bits_word(int width) {
    return width == 1 ? "bit" : "bits";
}

static const char *picture_role(const struct vesta_layout *layout, int i) {
    if (i == layout->worker) return ", leased";
    return layout->field[i].fixed ? ", always" : "";
}

static void picture_low(unsigned width) {
    if (width > 1)
        vs_outf("seq's lowest %u bits\n", width);
    else
        vs_outf("seq's lowest bit\n");
}

static void picture_meaning(const struct vesta_layout *layout, int i) {
    const struct vesta_field *f = &layout->field[i];
    vs_outf("%s  %d %s%s", f->name, f->width, picture_bits_word(f->width), picture_role(layout, i));
    if (f->fixed)
        vs_outf(" %" PRIu64 "\n", f->value);
    else
        vs_outf(", 0 to %" PRIu64 "\n", f->max);
}

void vs_draw_layout(const struct vesta_layout *layout) {
    struct vs_part parts[VS_PARTS_MAX];
    uint64_t constants = 0;
    for (int i = 0; i < layout->field_count; i++)
        constants |= vs_field_put(&layout->field[i], layout->field[i].value);
    picture_bits(layout, false, constants);
    for (int i = vs_parts_of(layout, parts) - 1; i >= 0; i--) {
        picture_strokes(parts, i);
        if (parts[i].is_low)
            picture_low(parts[i].width);
        else
            picture_meaning(layout, parts[i].field);
    }
}

static void picture_time(const struct vesta_parts *parts, int64_t now_ms) {
    char iso[VESTA_ISO_MAX], ago[VS_AGO_MAX];
    vs_outf("  %s, %s", vs_iso(parts->unix_ms, iso), vs_ago(parts->unix_ms, now_ms, ago));
    if (parts->unix_ms > now_ms) vs_outf(": in the future");
}

static void picture_value(const struct vesta_layout *layout, int i, const struct vesta_parts *parts, int64_t now_ms) {
    vs_outf("%s %" PRIu64, layout->field[i].name, parts->values[i]);
    if (i == layout->time) picture_time(parts, now_ms);
    bool has_room = vs_out_columns() == 0 || vs_out_columns() >= 96; /* for 64 bits, gaps, and the text after them */
    if (has_room && i == layout->worker && strcmp(layout->field[i].name, "worker") != 0) vs_outf("  the worker");
    vs_outf("\n");
}

void vs_draw_id(const struct vesta_layout *layout, uint64_t id, const struct vesta_parts *parts, int64_t now_ms) {
    struct vs_part places[VS_PARTS_MAX];
    picture_bits(layout, true, id);
    for (int i = vs_parts_of(layout, places) - 1; i >= 0; i--) {
        picture_strokes(places, i);
        if (places[i].is_low)
            picture_low(places[i].width);
        else
            picture_value(layout, places[i].field, parts, now_ms);
    }
}
