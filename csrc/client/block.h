/* block.h -- a block: ids that a server has issued to one client.  Checks a block, and takes ids from its front.  Pure
 * arithmetic.  Values from the network may be anything, and are checked here. */
#ifndef VS_CLIENT_BLOCK_H
#define VS_CLIENT_BLOCK_H

#include "vesta.h"

#include <stdbool.h>

/* If `is_ticks`, the block contains the ids of the ticks first, first + 1, ... .  The five shifts and widths give
 * the position of each tick's bits in its id (docs/blocks.md).  Otherwise the block contains the numbers first, first +
 * stride, and so on. */
struct vs_block {
    bool is_ticks;
    uint8_t seq_bits, time_shift, seq_shift, low_bits, low_shift; /* for ticks only.  Each is 0 to 63 */
    uint64_t base;                                                /* for ticks only: the id's remaining bits */
    uint64_t first, count, stride;                                /* stride is 1 if is_ticks */
};

/* Returns why the block is not a valid reply to a request for `asked` ids, as the end of a sentence, or NULL.  The ids
 * of a valid block are unique and fit in 64 bits. */
const char *vs_block_reject(const struct vs_block *block, uint64_t asked);

/* Returns true if two valid blocks share an id. */
bool vs_block_overlaps(const struct vs_block *a, const struct vs_block *b);

/* Converts a block issued by a generator in this process. */
void vs_block_of(const struct vesta_layout *layout, const struct vesta_block *given, struct vs_block *out);

/* The ids next, next + step, ..., `count` of them. */
struct vs_run {
    uint64_t next, step, count;
};

/* Takes up to n ids from the front of the block, as many as form one run.
 * Range: n and block->count are at least 1.  run->count becomes 1 to n. */
void vs_block_take(struct vs_block *block, uint64_t n, struct vs_run *run);

#endif
