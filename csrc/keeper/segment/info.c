/* info.c -- vesta_segment_get_info. */
#include "keeper/segment/counter.h"

#include <stdio.h>
#include <string.h>

static uint64_t seg_answers(const struct vs_segment_part *part, enum vs_outcome outcome) {
    return atomic_load(&part->answers[outcome]);
}

void vesta_segment_get_info(struct vesta_segment *seg, struct vesta_segment_info *out) {
    const struct vs_segment *words = atomic_load(&seg->words);
    struct vs_segment_state state;
    vs_segment_get_state(words, &state);
    memset(out, 0, sizeof *out);
    snprintf(out->tag, sizeof out->tag, "%s", seg->tag);
    snprintf(out->warning, sizeof out->warning, "%s", seg->why_alone);
    out->order = seg->order;
    out->stores = (int)seg->parts_count;
    out->position = state.position;
    out->count = state.count;
    out->left = state.left;
    out->next_left = state.next_left;
    out->stride = state.stride ? state.stride : seg->parts_count;
    uint64_t used = state.count - state.left;
    if (!state.next_left && state.mark > used) out->until_refill = state.mark - used;
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        const struct vs_segment_part *part = &seg->part[i];
        out->database[i].store = part->shown;
        out->database[i].step = atomic_load(&part->step);
        out->database[i].ranges = atomic_load(&part->ranges);
        out->database[i].refused = seg_answers(part, VS_STORE_REFUSED);
        out->database[i].down = seg_answers(part, VS_STORE_DOWN);
        out->database[i].unknown = seg_answers(part, VS_STORE_UNKNOWN);
        out->database[i].conflict = seg_answers(part, VS_STORE_CONFLICT) + seg_answers(part, VS_STORE_MOVED);
        out->database[i].fetch_us = atomic_load(&part->fetch_us);
        out->database[i].granted = vs_segment_granted(words, i);
        out->database[i].is_refused = atomic_load(&part->is_refused);
        out->database[i].is_stopped = atomic_load(&words->stopped) >> i & 1;
        out->database[i].lowered = atomic_load(&words->lowered[i]);
        if (atomic_load(&part->forgets_form))
            snprintf(
                out->warning, sizeof out->warning,
                "the database cannot store the form of the numbers, so another host may use a different form: grant "
                "SELECT, INSERT, UPDATE on vesta_segment_share to the user of %.80s",
                part->shown);
        vs_part_said(part, out->database[i].said);
        out->per_s += (double)atomic_load(&part->per_1000_s) / 1000;
    }
}
