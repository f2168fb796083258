/* guess.c -- which presets could have made an id.  Pure: the caller says what time it is. */
#include "vesta.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define PRESETS_MAX 32
#define CLOCK_DOUBT_MS INT64_C(86400000) /* an id from a clock that is a day fast is still a likely id */

/* Small numbers are likelier than large ones: machines are counted from 0, and most generators restart a sequence at
 * 0.  1 / (value + 1), divided by the sum of that over the field, which is near ln(max + 1) + 0.58. */
static double small_is_likely(uint64_t value, unsigned width) {
    return 1 / (((double)value + 1) * (0.693 * width + 0.58));
}

/* How probable it is that a generator of this layout gave just this id: recent times are likelier than old ones (a
 * density that rises from the epoch until now), small numbers likelier than large ones.  Read under a wrong layout,
 * both are chance, and chance rarely gives a sequence of 0. */
static double score(const struct vesta_layout *layout, const struct vesta_parts *parts, int64_t now_ms) {
    double units_so_far = (double)(now_ms - layout->epoch_ms) / layout->unit_ms,
           units_max = (double)layout->field[layout->time].max;
    if (units_so_far > units_max) units_so_far = units_max;
    if (units_so_far < (double)parts->time) units_so_far = (double)parts->time; /* the day of doubt */
    double p = ((double)parts->time + 1) / ((units_so_far + 1) * (units_so_far + 1));
    for (int i = 0; i < layout->field_count; i++)
        if (i != layout->time && !layout->field[i].fixed)
            p *= small_is_likely(parts->values[i], layout->field[i].width);
    return p;
}

static bool try_preset(const struct vesta_preset *preset, uint64_t id, int64_t now_ms, struct vesta_candidate *out,
                       double *points) {
    struct vesta_layout layout;
    int rc = vesta_layout_parse(preset->text, &layout, NULL);
    assert(rc == VESTA_OK);
    out->preset = preset;
    if (rc != VESTA_OK || vesta_explain(&layout, id, &out->parts, NULL) != VESTA_OK) return false;
    if (out->parts.unix_ms - CLOCK_DOUBT_MS > now_ms) return false;
    *points = score(&layout, &out->parts, now_ms);
    return true;
}

size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_candidate *out, size_t max) {
    struct vesta_candidate found[PRESETS_MAX], guess;
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
