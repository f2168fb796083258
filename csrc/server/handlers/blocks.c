/* blocks.c -- issues blocks: numbers from which a client computes ids itself, without knowing layouts (see
 * docs/blocks.md). */
#include "server/commands.h"
#include "server/named.h"
#include "server/rights.h"
#include "server/take.h"

#define BLOCK_MAX 100000 /* ids of one block (a larger block would leave other clients without ids for seconds) */

static enum vs_reply_state put_ticks(struct vs_request *r) {
    vs_named_open(r, VS_NAMED_BLOCK);
    vs_named_block(r, r->ns->name, r->ns->layout, &r->got.block);
    vs_named_close(r);
    return VS_ANSWERED;
}

/* Writes a block of numbers.  The i-th number is first + i * stride. */
static enum vs_reply_state blocks_put_numbers(struct vs_request *r) {
    const struct vesta_numbers *numbers = &r->got.numbers;
    vs_named_open(r, 5);
    vs_named_text(r, "ns", r->tag->name);
    vs_named_text(r, "kind", "numbers");
    vs_named_wide(r, "first", numbers->first);
    vs_named_int(r, "count", (int64_t)numbers->count);
    vs_named_int(r, "stride", (int64_t)numbers->stride);
    vs_named_close(r);
    return VS_ANSWERED;
}

static enum vs_reply_state blocks_take_numbers(struct vs_request *r, uint64_t n) {
    if (vs_request_has_text(r))
        return vs_refuse(r, "bad_command",
                         "the numbers of '%s' are text, which blocks cannot contain: take n with VESTA.NEXT %s n",
                         r->tag->name, r->tag->name);
    if (r->tag->desk)
        return vs_refuse(r, "bad_command",
                         "'%s' has strict order, which a block would break: take the next number with INCR %s",
                         r->tag->name, r->tag->name);
    return vs_take_block(r, n, blocks_put_numbers);
}

static enum vs_reply_state blocks_take(struct vs_request *r) {
    uint64_t n;
    if (!vs_rights_may_block(r) || !vs_read_up_to(r, vs_arg(r, 1), vs_rights_block(r, BLOCK_MAX), &n))
        return VS_ANSWERED;
    if (r->tag) return blocks_take_numbers(r, n);
    if (r->ns->mask)
        return vs_refuse(r, "bad_command",
                         "the ids of '%s' are masked, and a block would show plain ids: take n with VESTA.NEXT %s n",
                         r->ns->name, r->ns->name);
    return vs_take_block(r, n, put_ticks);
}

enum vs_reply_state vs_on_block(struct vs_request *r) {
    if (vs_arg(r, 2).at || vs_arg(r, 3).at) return vs_rights_may_block(r) ? vs_on_past_block(r) : VS_ANSWERED;
    return vs_request_enter(r, 0, VS_KIND_ANY, blocks_take);
}
