/* block.h -- a block: ids that a server handed out as a whole, and nobody else is given.  What one must be like before
 * an id is made of it, and taking from its front.  Pure arithmetic; whatever a network carries may come in. */
#ifndef VS_CLIENT_BLOCK_H
#define VS_CLIENT_BLOCK_H

#include "vesta.h"

#include <stdbool.h>

/* The ids first, first + 1, ... as ticks, whose bits go where the five numbers say (docs/blocks.md), or the numbers
 * first, first + stride, ... themselves. */
struct vs_block {
    bool is_ticks;
    uint8_t seq_bits, time_shift, seq_shift, low_bits, low_shift; /* of ticks; 0 to 63 */
    uint64_t base;                                                /* of ticks: all other bits */
    uint64_t first, count, stride;                                /* stride is 1 for ticks */
};

/* Why nobody may make ids of it that asked for `asked`, as the end of a sentence, or NULL.  Of what is not rejected
 * every id is another one and fits 64 bits. */
const char *vs_block_reject(const struct vs_block *block, uint64_t asked);

/* Whether two blocks, of which neither is rejected, have an id in common. */
bool vs_block_overlaps(const struct vs_block *a, const struct vs_block *b);

/* The block that a generator in this process gave. */
void vs_block_of(const struct vesta_layout *layout, const struct vesta_block *given, struct vs_block *out);

/* Ids next, next + step, ..., `count` of them. */
struct vs_run {
    uint64_t next, step, count;
};

/* Takes up to n ids, as many as are a run, from the front.  Shape: n and block->count are at least 1; run->count is 1
 * to n. */
void vs_block_take(struct vs_block *block, uint64_t n, struct vs_run *run);

#endif
