/* block.h -- a block: ids that a server has issued to one client.  Checks a block, and takes ids from its front.  Pure
 * arithmetic.  Values from the network may be anything, and are checked here. */
#ifndef VS_CLIENT_BLOCK_H
#define VS_CLIENT_BLOCK_H

#include "vesta.h"

#include <stdbool.h>

/* `is_ticks`: the ids of the ticks first, first + 1, ..., whose bits the five shifts and widths place (docs/blocks.md).
 * Otherwise: the numbers first, first + stride, ... themselves. */
struct vs_block {
    bool is_ticks;
    uint8_t seq_bits, time_shift, seq_shift, low_bits, low_shift; /* of ticks; 0 to 63 */
    uint64_t base;                                                /* of ticks: all other bits */
    uint64_t first, count, stride;                                /* stride is 1 for ticks */
};

/* Returns why the block is not a valid reply to a request for `asked` ids, as the end of a sentence, or NULL.  The ids
 * of a valid block are unique and fit 64 bits. */
const char *vs_block_reject(const struct vs_block *block, uint64_t asked);

/* True if two valid blocks have an id in common. */
bool vs_block_overlaps(const struct vs_block *a, const struct vs_block *b);

/* Converts a block that a generator in this process issued. */
void vs_block_of(const struct vesta_layout *layout, const struct vesta_block *given, struct vs_block *out);

/* Ids next, next + step, ..., `count` of them. */
struct vs_run {
    uint64_t next, step, count;
};

/* Takes up to n ids from the front: as many as form a run.  Shape: n and block->count are at least 1; run->count is 1
 * to n. */
void vs_block_take(struct vs_block *block, uint64_t n, struct vs_run *run);

#endif
