/* next.h -- the fast path for one number of a segment.  It is inline because a fetch-add waits for all earlier stores,
 * and a call would store registers on the stack.  cursor.c has the slow paths. */
#ifndef VS_SEGMENT_NEXT_H
#define VS_SEGMENT_NEXT_H

#include "generator/point.h"
#include "segment/segment.h"

#define VS_NOT_PUSHED UINT64_MAX /* both ranges are exhausted, so the cursor was not pushed */

/* Takes n offsets of the current range, which may be past its end.  Returns the previous value of the cursor, or
 * VS_NOT_PUSHED. */
static inline uint64_t vs_segment_push(struct vs_segment *seg, uint64_t n) {
    /* relaxed: an old value costs at most a useless push, because cursor_look_up decides */
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&seg->dry, memory_order_relaxed) >= next, 0)) return VS_NOT_PUSHED;
    VS_POINT(takes);
    /* acq_rel: pairs with the CAS in cursor_move_on, so that the range's words are visible, and with vs_segment_close
     */
    uint64_t at = atomic_fetch_add_explicit(&seg->cursor, n, memory_order_acq_rel);
    VS_POINT(took);
    return at;
}

/* Takes the next number.  If it returns false, call vs_segment_next_on with *at.
 *
 * The range is read before the fetch-add, so that no load waits for the fetch-add.  If the offset belongs to the
 * generation that was read, so do the words.  The cursor was still in that range, and a range is overwritten only after
 * the cursor has left it. */
static inline bool vs_segment_try_next(struct vs_segment *seg, uint64_t *number, uint64_t *at) {
    /* acquire: pairs with cursor_move_on, so that the range is visible.  The value is only a hint about which range to
     * read. */
    uint64_t guess = atomic_load_explicit(&seg->ahead, memory_order_acquire);
    const struct vs_range_words *range = &seg->range[guess % VS_RANGES];
    /* acquire: pairs with write_range, so that the words below belong to this generation or to a later one */
    uint64_t generation = atomic_load_explicit(&range->tag, memory_order_acquire);
    VS_POINT(reads_ahead);
    /* relaxed: the release of the fetch-add orders these loads before any later write to this slot */
    uint64_t first = atomic_load_explicit(&range->first, memory_order_relaxed);
    VS_POINT(read_half_ahead);
    uint64_t stride = atomic_load_explicit(&range->stride, memory_order_relaxed);
    uint64_t until = atomic_load_explicit(&range->count, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&range->mark, memory_order_relaxed);
    /* Past the mark, take the slow path, which notifies the refiller, unless a thread has notified it for this
     * generation. */
    if (mark < until && atomic_load_explicit(&seg->want, memory_order_relaxed) < generation) until = mark;
    *at = vs_segment_push(seg, 1);
    uint64_t offset = *at & VS_OFFSET_MASK;
    if (__builtin_expect(*at >> VS_OFFSET_BITS != generation || offset >= until, 0)) return false;
    *number = first + offset * stride;
    return true;
}

/* Continues after vs_segment_try_next has returned false, with its *at.  Results: the same as vs_segment_next. */
int vs_segment_next_on(struct vs_segment *seg, uint64_t at, uint64_t *number, bool *wanted);

#endif
