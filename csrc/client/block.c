/* block.c -- checks blocks, and takes runs of ids from their front. */
#include "client/block.h"
#include "id/id.h"

#include <assert.h>

#define TICK_BITS_MAX 62 /* bits of a layout's time and sequence fields together */

static uint64_t block_ones(unsigned width) {
    return ~(~(uint64_t)0 << width); /* width is below 64, so the shift is defined */
}

static unsigned width_of(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Sets *mask to the bits of a field.  Returns false if the field ends above bit 63. */
static bool block_place(unsigned width, unsigned shift, uint64_t *mask) {
    *mask = width ? block_ones(width) << shift : 0;
    return width + shift <= 64;
}

static const char *reject_ticks(const struct vs_block *b) {
    uint64_t time, seq, low;
    if (b->seq_bits > TICK_BITS_MAX || b->time_shift > 63 || b->seq_shift > 63 || b->low_shift > 63)
        return "one of its shifts or widths is too large for a layout";
    if (b->low_bits > b->seq_bits) return "the lower part of its sequence is wider than the whole sequence";
    if (b->first > block_ones(TICK_BITS_MAX) || b->count > block_ones(TICK_BITS_MAX) - b->first)
        return "it has more ticks than a layout allows";
    unsigned time_bits = width_of((b->first + b->count - 1) >> b->seq_bits);
    if (!block_place(time_bits, b->time_shift, &time) || !block_place(b->seq_bits - b->low_bits, b->seq_shift, &seq) ||
        !block_place(b->low_bits, b->low_shift, &low))
        return "its ids have more than 64 bits";
    if (time & seq || time & low || seq & low) return "its fields overlap";
    if (b->base & (time | seq | low)) return "its base overlaps the time or the sequence";
    return NULL;
}

static const char *reject_numbers(const struct vs_block *b) {
    uint64_t max = (uint64_t)INT64_MAX; /* a database stores the counter in a signed 64-bit column */
    if (b->stride == 0) return "its stride is 0";
    if (b->first > max || b->stride > max || b->count - 1 > (max - b->first) / b->stride)
        return "its numbers exceed 2^63 - 1";
    return NULL;
}

const char *vs_block_reject(const struct vs_block *block, uint64_t asked) {
    if (block->count == 0) return "it has no ids";
    if (block->count > asked) return "it has more ids than the client requested";
    return block->is_ticks ? reject_ticks(block) : reject_numbers(block);
}

bool vs_block_overlaps(const struct vs_block *a, const struct vs_block *b) {
    if (a->is_ticks != b->is_ticks || (a->is_ticks && a->base != b->base)) return false;
    uint64_t a_last = a->first + (a->count - 1) * a->stride, b_last = b->first + (b->count - 1) * b->stride;
    if (a_last < b->first || b_last < a->first) return false;
    uint64_t apart = a->first > b->first ? a->first - b->first : b->first - a->first;
    /* each database of a counter issues numbers with a different remainder */
    return a->stride != b->stride || apart % a->stride == 0;
}

void vs_block_of(const struct vesta_layout *layout, const struct vesta_block *given, struct vs_block *out) {
    const struct vesta_field *seq = vs_seq(layout);
    *out = (struct vs_block){.is_ticks = true,
                             .seq_bits = seq->width,
                             .time_shift = layout->field[layout->time].shift,
                             .seq_shift = seq->shift,
                             .low_bits = seq->low_width,
                             .low_shift = seq->low_shift,
                             .base = given->base,
                             .first = given->first,
                             .count = given->count,
                             .stride = 1};
}

static uint64_t id_of(const struct vs_block *b, uint64_t tick) {
    uint64_t seq = tick & block_ones(b->seq_bits);
    return b->base | (tick >> b->seq_bits) << b->time_shift | (seq >> b->low_bits) << b->seq_shift |
           (seq & block_ones(b->low_bits)) << b->low_shift;
}

/* Takes ids only up to the next carry into a higher field, because the distance between ids is constant until then. */
static void take_ticks(const struct vs_block *b, uint64_t n, struct vs_run *run) {
    unsigned bits = b->low_bits ? b->low_bits : b->seq_bits;
    uint64_t room = block_ones(bits) - (b->first & block_ones(bits)) + 1;
    *run = (struct vs_run){.next = id_of(b, b->first),
                           .step = (uint64_t)1 << (b->low_bits ? b->low_shift : b->seq_shift),
                           .count = n < room ? n : room};
}

void vs_block_take(struct vs_block *block, uint64_t n, struct vs_run *run) {
    assert(n > 0);
    assert(block->count > 0);
    if (n > block->count) n = block->count;
    if (block->is_ticks)
        take_ticks(block, n, run);
    else
        *run = (struct vs_run){.next = block->first, .step = block->stride, .count = n};
    block->first += run->count * block->stride;
    block->count -= run->count;
}
