/* shards.c -- plans how an application that chooses a shard by id % N gets equally many ids in each shard.
 *
 * If a worker issues at most one id in a time unit, the sequence of an id is the start of its time unit, and the bits
 * below the sequence are equal in all of its ids.  If it issues ids at a fixed interval, the time may be constant
 * modulo N, too: the milliseconds of ids one second apart are equal modulo 2, 4, 5, 8, 10 ... 1,000. */
#include "id/id.h"

#include <stdio.h>

#define YEARS_MIN 100 /* the time must last so long after it has lost bits */
#define YEAR_MS INT64_C(31556952000)

/* Returns the field that can lose `bits` bits to the sequence, or -1. */
static int shards_donor(const struct vesta_layout *l, unsigned bits) {
    const struct vesta_field *time = &l->field[l->time];
    if (time->width > bits && vs_time_ms(l, time->max >> bits) - l->epoch_ms >= YEARS_MIN * YEAR_MS) return l->time;
    return l->worker >= 0 && l->field[l->worker].width > bits ? l->worker : -1;
}

/* Returns the lowest bit that differs between the ids of a worker. */
static unsigned shards_below(const struct vesta_layout *l) {
    const struct vesta_field *seq = vs_seq(l), *time = &l->field[l->time];
    unsigned below = seq->low_width ? seq->low_shift : seq->shift;
    return l->seq < 0 || time->shift < below ? time->shift : below;
}

/* Returns whether consecutive ticks have consecutive values of id >> shift. */
static bool shards_count_on(const struct vesta_layout *l, unsigned shift) {
    const struct vesta_field *seq = vs_seq(l), *time = &l->field[l->time];
    return time->shift == shift + (unsigned)(seq->width - seq->low_width);
}

void vs_shards_plan(const struct vesta_layout *l, struct vs_shards_plan *out) {
    const struct vesta_field *seq = vs_seq(l), *time = &l->field[l->time];
    unsigned width = seq->width - seq->low_width, lacks = width < VS_SHARDS_BITS ? VS_SHARDS_BITS - width : 0;
    int donor = lacks && l->seq >= 0 ? shards_donor(l, lacks) : -1;
    *out = (struct vs_shards_plan){.below = shards_below(l), .shift = l->seq >= 0 ? seq->shift : time->shift};
    out->max = 1u << (width < VS_SHARDS_BITS ? width : VS_SHARDS_BITS);
    out->by_history = lacks && shards_count_on(l, out->shift);
    if (donor < 0) return;
    const struct vesta_field *from = &l->field[donor];
    snprintf(out->wider, sizeof out->wider, "%s:%u seq:%u", from->name, from->width - lacks, width + lacks);
    out->wider_shift = from->shift < out->shift ? out->shift - lacks : out->shift;
}
