/* guess.c -- which presets could have made an id.  Pure: the caller says what time it is. */
#include "core/core.h"

#define PRESETS_MAX 32
#define CLOCK_DOUBT_MS INT64_C(86400000) /* an id from a clock that is a day fast is still a likely id */

/* The larger, the likelier: milliseconds after the epoch, per sequence number.  Read under a wrong layout, time and
 * sequence are made of foreign bits: an early time or a high sequence is what chance gives, a late time with a low
 * sequence is what generators give, since most restart the sequence at 0. */
static double score(const struct vesta_layout *layout, const struct vesta_parts *parts) {
    return ((double)(parts->unix_ms - layout->epoch_ms) + 1) / ((double)parts->seq + 1);
}

static bool try_preset(const struct vesta_preset *preset, uint64_t id, int64_t now_ms, struct vesta_guess *out, double *points) {
    struct vesta_layout layout;
    int rc = vesta_layout_parse(preset->text, &layout, NULL);
    assert(rc == VESTA_OK);
    out->preset = preset;
    if (rc != VESTA_OK || vesta_explain(&layout, id, &out->parts, NULL) != VESTA_OK) return false;
    *points = score(&layout, &out->parts);
    return out->parts.unix_ms - CLOCK_DOUBT_MS <= now_ms;
}

size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_guess *out, size_t max) {
    struct vesta_guess found[PRESETS_MAX], guess;
    double points[PRESETS_MAX], own;
    size_t count = 0;
    for (int i = 0; vesta_preset_at(i); i++) {
        assert(i < PRESETS_MAX);
        if (!try_preset(vesta_preset_at(i), id, now_ms, &guess, &own)) continue;
        size_t at = count++;
        for (; at > 0 && points[at - 1] < own; at--) { /* equals keep the table's order */
            found[at] = found[at - 1];
            points[at] = points[at - 1];
        }
        found[at] = guess;
        points[at] = own;
    }
    if (count > max) count = max;
    if (count > 0) memcpy(out, found, count * sizeof *out);
    return count;
}
