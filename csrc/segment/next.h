/* next.h -- one number of a segment, as it is nearly always had: inline, without a call, and so without a stack,
 * because a fetch-add waits for every store before it.  Knows no more than cursor.c, which has the rest. */
#ifndef VS_SEGMENT_NEXT_H
#define VS_SEGMENT_NEXT_H

#include "generator/point.h"
#include "segment/segment.h"

#define VS_NOT_PUSHED UINT64_MAX /* for what push found: it is dry */

/* Takes n offsets, wherever they are, or says that nobody is to push any more. */
static inline uint64_t vs_segment_push(struct vs_segment *seg, uint64_t n) {
    /* relaxed: both may be old, which costs a push in vain; cursor_look_up decides */
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&seg->dry, memory_order_relaxed) >= next, 0)) return VS_NOT_PUSHED;
    VS_POINT(takes);
    /* acq_rel: pairs with the CAS of cursor_move_on, by which the range's words are there; and with vs_segment_close */
    uint64_t at = atomic_fetch_add_explicit(&seg->cursor, n, memory_order_acq_rel);
    VS_POINT(took);
    return at;
}

/* The next number.  False: there is more to do, by vs_segment_next_on with what *at says then.
 *
 * The range is read before the fetch-add, so that nothing is loaded behind it.  If what is taken is of the generation
 * that was read, then so are those words: the cursor was still there, and a place is written anew only when it has
 * left.
 */
static inline bool vs_segment_try_next(struct vs_segment *seg, uint64_t *number, uint64_t *at) {
    /* acquire: pairs with cursor_move_on, so that the range is there; no more than a guess where to read */
    uint64_t guess = atomic_load_explicit(&seg->ahead, memory_order_acquire);
    const struct vs_range_words *range = &seg->range[guess % VS_RANGES];
    /* acquire: pairs with write_range; the words that follow are of this generation, or of a later one */
    uint64_t generation = atomic_load_explicit(&range->tag, memory_order_acquire);
    VS_POINT(reads_ahead);
    /* relaxed: the release of the fetch-add comes behind them, and before whoever writes the place anew */
    uint64_t first = atomic_load_explicit(&range->first, memory_order_relaxed);
    VS_POINT(read_half_ahead);
    uint64_t stride = atomic_load_explicit(&range->stride, memory_order_relaxed);
    uint64_t until = atomic_load_explicit(&range->count, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&range->mark, memory_order_relaxed);
    /* as far as nobody is to be told that the next range is wanted */
    if (mark < until && atomic_load_explicit(&seg->want, memory_order_relaxed) < generation) until = mark;
    *at = vs_segment_push(seg, 1);
    uint64_t offset = *at & VS_OFFSET_MASK;
    if (__builtin_expect(*at >> VS_OFFSET_BITS != generation || offset >= until, 0)) return false;
    *number = first + offset * stride;
    return true;
}

/* Goes on where vs_segment_try_next said false.  As vs_segment_next. */
int vs_segment_next_on(struct vs_segment *seg, uint64_t at, uint64_t *number, bool *wanted);

#endif
