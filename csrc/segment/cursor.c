/* cursor.c -- the cursor over two ranges: take, publish, switch, close.  No I/O, no waiting, no allocation.
 *
 * Why no number is issued twice:
 * - A fetch-add on `cursor` assigns each offset of a generation to one taker.
 * - Each generation is drawn once, so it has one range.  Its publisher writes the range, and then stores the generation
 *   in `next`.
 * - The cursor only moves to a higher generation, by a CAS that requires the old generation.
 * - The words of a range are rewritten only after the cursor has left the range, and then with another tag.  A reader
 *   checks the tag after it has read the words, so a late reader detects the change.
 * - Closing sets a bit of `cursor`, and taking out the unused numbers moves `cursor` by a CAS.  Both return the offset
 *   that no taker has reached or will reach. */
#include "segment/next.h"

#include <assert.h>
#include <string.h>

#define COLD __attribute__((cold, noinline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define GENERATION(at) (((at) & ~VS_CLOSED) >> VS_OFFSET_BITS)
#define START(generation) ((uint64_t)(generation) << VS_OFFSET_BITS)

static struct vs_range_words *range_at(struct vs_segment *seg, uint64_t generation) {
    return &seg->range[generation % VS_RANGES];
}

void vs_segment_format(struct vs_segment *seg) {
    memset(seg, 0, sizeof *seg);
    memcpy(seg->magic, VS_SEGMENT_MAGIC, sizeof seg->magic);
    seg->format = VS_SEGMENT_FORMAT;
    seg->size = sizeof *seg;
    /* generation 1 is empty, so it is exhausted from the start */
    atomic_store(&range_at(seg, 1)->tag, 1);
    atomic_store(&seg->cursor, START(1));
    atomic_store(&seg->next, 1);
    atomic_store(&seg->dry, 1);
    atomic_store(&seg->drawn, 1);
}

const char *vs_segment_reject(const struct vs_segment *seg, uint64_t bytes) {
    if (bytes < sizeof *seg) return "the file is too short to be a segment's map";
    if (memcmp(seg->magic, VS_SEGMENT_MAGIC, sizeof seg->magic) != 0) return "the file is not a segment's map";
    if (seg->format > VS_SEGMENT_FORMAT) return "a newer vesta made it";
    if (seg->format != VS_SEGMENT_FORMAT || seg->size != sizeof *seg)
        return "another build of vesta made it, in another format";
    return NULL;
}

/* ------------------------------------------------------------------ taking */

/* Returns true to one caller per generation, which then notifies the refiller. */
static COLD bool is_first_to_want(struct vs_segment *seg, uint64_t generation) {
    /* relaxed: this only selects the caller that notifies the refiller */
    uint64_t was = atomic_load_explicit(&seg->want, memory_order_relaxed);
    while (was < generation)
        if (atomic_compare_exchange_weak_explicit(&seg->want, &was, generation, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Moves the cursor to the next range.  Called when the generation is exhausted, or its range was overwritten, which
 * happens only after it is exhausted.  If there is no next range, sets `dry`, so that takers stop pushing the cursor.
 */
static COLD void cursor_move_on(struct vs_segment *seg, uint64_t generation) {
    /* acquire: pairs with vs_segment_publish, so that a thread that sees the new cursor also sees the range's words */
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_acquire);
    VS_POINT(knows_next);
    if (next == VS_ENDED || next <= generation) {
        vs_raise_u64(&seg->dry, next == VS_ENDED ? VS_ENDED : generation);
        return;
    }
    uint64_t at = atomic_load_explicit(&seg->cursor, memory_order_relaxed);
    VS_POINT(switches);
    /* The offset may differ, because other threads push the cursor.  The generation must be equal: a thread that slept
     * here finds a newer generation.  A closed cursor matches no generation.  acq_rel: passes on what
     * vs_segment_publish released. */
    while (at >> VS_OFFSET_BITS == generation &&
           !atomic_compare_exchange_weak_explicit(&seg->cursor, &at, START(next), memory_order_acq_rel,
                                                  memory_order_relaxed))
        ;
    vs_raise_u64(&seg->ahead, next);
}

/* Translates n offsets into numbers.  Returns false if the offsets are past the range's end, or if the range was
 * overwritten.  In both cases, no taker uses these offsets. */
static inline bool cursor_look_up(struct vs_segment *seg, uint64_t at, uint64_t n, struct vs_taken *out,
                                  uint64_t *mark) {
    uint64_t generation = at >> VS_OFFSET_BITS, offset = at & VS_OFFSET_MASK;
    struct vs_range_words *range = range_at(seg, generation);
    /* acquire: pairs with the releases in write_range.  If one of these words belongs to a later range, the tag below
     * differs, too. */
    uint64_t count = atomic_load_explicit(&range->count, memory_order_acquire);
    uint64_t first = atomic_load_explicit(&range->first, memory_order_acquire);
    VS_POINT(read_half);
    uint64_t stride = atomic_load_explicit(&range->stride, memory_order_acquire);
    *mark = atomic_load_explicit(&range->mark, memory_order_acquire);
    /* The generation of a closed cursor is above every tag, so a closed cursor fails here. */
    if (UNLIKELY(atomic_load_explicit(&range->tag, memory_order_relaxed) != generation || offset >= count))
        return false;
    *out = (struct vs_taken){
        .first = first + offset * stride, .count = n < count - offset ? n : count - offset, .stride = stride};
    return true;
}

/* Returns true to every taker past the mark, not only to the taker that crosses it, because that taker's process may be
 * killed before it notifies the refiller. */
static inline bool may_want(struct vs_segment *seg, uint64_t at, uint64_t n, uint64_t mark) {
    return (at & VS_OFFSET_MASK) + n > mark &&
           UNLIKELY(atomic_load_explicit(&seg->want, memory_order_relaxed) < at >> VS_OFFSET_BITS);
}

/* Continues a take after the first push, which returned `at`. */
static COLD int take_on(struct vs_segment *seg, uint64_t n, uint64_t at, struct vs_taken *out) {
    for (uint64_t mark; at != VS_NOT_PUSHED; at = vs_segment_push(seg, n)) {
        if (cursor_look_up(seg, at, n, out, &mark)) {
            out->wanted = may_want(seg, at, out->count, mark) && is_first_to_want(seg, at >> VS_OFFSET_BITS);
            return VESTA_OK;
        }
        if (at & VS_CLOSED)
            vs_raise_u64(&seg->dry, VS_ENDED);
        else
            cursor_move_on(seg, at >> VS_OFFSET_BITS);
    }
    uint64_t dry = atomic_load_explicit(&seg->dry, memory_order_relaxed);
    *out = (struct vs_taken){.wanted = dry != VS_ENDED && is_first_to_want(seg, dry)};
    return dry == VS_ENDED ? VESTA_ECLOSED : VESTA_EPAUSE;
}

int vs_segment_take(struct vs_segment *seg, uint64_t n, struct vs_taken *out) {
    if (n > VS_TAKE_MAX) n = VS_TAKE_MAX;
    return take_on(seg, n, vs_segment_push(seg, n), out);
}

int vs_segment_next_on(struct vs_segment *seg, uint64_t at, uint64_t *number, bool *wanted) {
    struct vs_taken taken;
    int rc = take_on(seg, 1, at, &taken);
    if (rc == VESTA_OK) *number = taken.first;
    if (taken.wanted) *wanted = true;
    return rc;
}

int vs_segment_next(struct vs_segment *seg, uint64_t *number, bool *wanted) {
    uint64_t at;
    return vs_segment_try_next(seg, number, &at) ? VESTA_OK : vs_segment_next_on(seg, at, number, wanted);
}

/* ------------------------------------------------------------------ refilling */

/* Draws a generation and reserves a slot for it in `range`.  No taker reads the slot before the range is published.
 * Returns 0 if no slot is free. */
static uint64_t cursor_take_place(struct vs_segment *seg, uint64_t current) {
    for (int i = 0; i < VS_RANGES; i++) {
        /* relaxed: the value only has to be unique, and orders no other word */
        uint64_t generation = atomic_fetch_add_explicit(&seg->drawn, 1, memory_order_relaxed) + 1;
        if (generation > VS_GENERATION_MAX) return 0;
        struct vs_range_words *range = range_at(seg, generation);
        uint64_t tag = atomic_load_explicit(&range->tag, memory_order_relaxed);
        VS_POINT(takes_place);
        /* The slot is free if it was never used, or if the cursor is past its generation, because the cursor never
         * returns to it. VS_WRITING is not set, so the slot's publisher has finished.  acq_rel: a reader that sees one
         * of the new words also sees this tag. */
        if (!(tag & VS_WRITING) && tag < current &&
            atomic_compare_exchange_strong_explicit(&range->tag, &tag, generation | VS_WRITING, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return generation;
    }
    return 0;
}

static void write_range(struct vs_range_words *words, const struct vs_range *range, uint64_t generation,
                        uint64_t before) {
    assert(generation <= VS_GENERATION_MAX);
    /* The generation was drawn once, so no other thread writes here.
     * release: pairs with the acquires in cursor_look_up.  A reader that sees one of these words also sees the tag that
     * cursor_take_place has set. */
    atomic_store_explicit(&words->first, range->first, memory_order_release);
    VS_POINT(writes_first);
    atomic_store_explicit(&words->count, range->count, memory_order_release);
    VS_POINT(writes_count);
    atomic_store_explicit(&words->stride, range->stride, memory_order_release);
    atomic_store_explicit(&words->until, range->until, memory_order_release);
    atomic_store_explicit(&words->database, range->database, memory_order_release);
    atomic_store_explicit(&words->before, before, memory_order_release);
    atomic_store_explicit(&words->before_of, (uint32_t)generation, memory_order_release);
    atomic_store_explicit(&words->mark, range->mark, memory_order_release);
    VS_POINT(writes_mark);
    /* release: a reader that sees the tag sees the whole range */
    atomic_store_explicit(&words->tag, generation, memory_order_release);
}

enum vs_published vs_segment_publish(struct vs_segment *seg, const struct vs_range *range) {
    assert(range->count > 0);
    assert(range->count <= VS_RANGE_MAX);
    assert(range->stride > 0);
    assert(range->until <= VS_NUMBER_MAX);
    assert(range->database < VS_DATABASES_MAX);
    assert((range->count - 1) <= (range->until - 1 - range->first) / range->stride); /* all numbers are below `until` */
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_acquire);
    uint64_t cursor = atomic_load_explicit(&seg->cursor, memory_order_acquire), current = GENERATION(cursor);
    VS_POINT(publishes);
    if (next == VS_ENDED || cursor & VS_CLOSED) return VS_SEGMENT_CLOSED;
    if (next > current) return VS_NOT_NEEDED;
    /* Another refiller was granted these numbers, too, or later ones: the refiller decides what that means. */
    if (vs_segment_granted(seg, range->database) > range->first) return VS_NOT_NEEDED;
    uint64_t generation = cursor_take_place(seg, current);
    if (!generation) return VS_SEGMENT_SPENT;
    write_range(range_at(seg, generation), range, generation, 1 + vs_segment_granted(seg, range->database));
    /* Raise this before the range is linked.  A publisher that finds this range in `next` then also finds its end, and
     * rejects a range of the same numbers that the database granted again after a failover. */
    vs_raise_u64(&seg->granted[range->database], range->until);
    VS_POINT(links);
    /* Replaces only a `next` that the cursor has reached.  A newer `next` is another publisher's range, which would be
     * lost.  The new generation was drawn later, so `next` increases.  If this fails, `granted` stays raised, so the
     * refiller drops the range.  acq_rel: pairs with the acquire in cursor_move_on. */
    if (atomic_compare_exchange_strong_explicit(&seg->next, &next, generation, memory_order_acq_rel,
                                                memory_order_acquire))
        return VS_PUBLISHED;
    return next == VS_ENDED ? VS_SEGMENT_CLOSED : VS_NOT_NEEDED;
}

bool vs_segment_is_due(const struct vs_segment *seg) {
    uint64_t cursor = atomic_load_explicit(&seg->cursor, memory_order_acquire);
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_acquire);
    if (cursor & VS_CLOSED || next > GENERATION(cursor)) return false;
    const struct vs_range_words *range = &seg->range[GENERATION(cursor) % VS_RANGES];
    /* If the range was overwritten in the meantime, it has a successor, and the refiller checks again soon. */
    return (cursor & VS_OFFSET_MASK) >= atomic_load_explicit(&range->mark, memory_order_acquire);
}

bool vs_segment_begin_refill(struct vs_segment *seg, uint64_t token, int64_t boot_us, int64_t pulse_boot_us) {
    assert(token != 0);
    assert(pulse_boot_us > boot_us);
    uint64_t was = atomic_load_explicit(&seg->refiller, memory_order_relaxed);
    if (was && was != token && boot_us < atomic_load_explicit(&seg->pulse_boot_us, memory_order_relaxed)) return false;
    VS_POINT(begins_refill);
    /* relaxed, here and below: orders no other word.  Two refillers at once waste time, but are safe. */
    if (!atomic_compare_exchange_strong_explicit(&seg->refiller, &was, token, memory_order_relaxed,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&seg->pulse_boot_us, pulse_boot_us, memory_order_relaxed);
    return true;
}

void vs_segment_end_refill(struct vs_segment *seg, uint64_t token) {
    assert(token != 0);
    atomic_compare_exchange_strong_explicit(&seg->refiller, &token, 0, memory_order_relaxed, memory_order_relaxed);
}

/* ------------------------------------------------------------------ the end */

/* Returns how many numbers of a range follow an offset, and describes them in *out.  The caller ensures that the range
 * is not overwritten meanwhile: either the cursor has not left it, or no publisher can reuse its slot any more. */
static uint64_t rest_of(const struct vs_segment *seg, uint64_t generation, uint64_t offset, struct vs_unused *out) {
    const struct vs_range_words *range = &seg->range[generation % VS_RANGES];
    uint64_t count = atomic_load_explicit(&range->count, memory_order_acquire);
    uint64_t first = atomic_load_explicit(&range->first, memory_order_acquire);
    uint64_t stride = atomic_load_explicit(&range->stride, memory_order_acquire);
    uint64_t until = atomic_load_explicit(&range->until, memory_order_acquire);
    uint32_t database = atomic_load_explicit(&range->database, memory_order_acquire);
    uint64_t before = atomic_load_explicit(&range->before, memory_order_acquire);
    uint32_t before_of = atomic_load_explicit(&range->before_of, memory_order_acquire);
    if (atomic_load_explicit(&range->tag, memory_order_relaxed) != generation || offset >= count) return 0;
    *out = (struct vs_unused){.from = first + offset * stride, .until = until, .stride = stride, .database = database};
    /* If the whole range is unused, this host's previous grant ended at `before`.  The numbers in between may belong to
     * other hosts, which may return them. */
    bool is_known = before > 0 && before <= out->from && before_of == (uint32_t)generation;
    out->issued_until = offset == 0 && is_known ? before - 1 : out->from;
    bool is_whole = stride > 0 && out->from < until && until <= VS_NUMBER_MAX && database < VS_DATABASES_MAX;
    return is_whole ? count - offset : 0; /* 0 if the range is damaged: another program has written into the map */
}

/* Sorts the unused ranges in descending order, because only the end of what the counter granted can be returned. */
static void cursor_order(struct vs_unused unused[2], int count) {
    if (count < 2 || unused[0].database != unused[1].database || unused[0].until >= unused[1].until) return;
    struct vs_unused lower = unused[0];
    unused[0] = unused[1];
    unused[1] = lower;
}

/* If an unused range ends where this host's grants end, lowers `granted`, because the counter may be lowered from now
 * on. */
static void cursor_forgo(struct vs_segment *seg, struct vs_unused unused[2], int count) {
    cursor_order(unused, count);
    for (int i = 0; i < count; i++) {
        uint64_t until = unused[i].until;
        unused[i].is_last =
            atomic_compare_exchange_strong(&seg->granted[unused[i].database], &until, unused[i].issued_until);
        /* increment this after `granted` is lowered, because a refiller reads this word first */
        atomic_fetch_add(&seg->forgone, 1);
    }
}

/* The unused numbers of the current and the next range, if both are older than a certain generation. */
struct both {
    uint64_t at, next;
    struct vs_unused unused[2];
    int count;
};

/* Returns false if the cursor is closed, or if one of the two ranges has a later generation than `before`. */
static bool look_at_both(struct vs_segment *seg, uint64_t before, struct both *out) {
    /* acquire: pairs with cursor_move_on and vs_segment_publish, so that the ranges' words are visible */
    out->at = atomic_load_explicit(&seg->cursor, memory_order_acquire);
    uint64_t current = GENERATION(out->at);
    uint64_t next = out->next = atomic_load_explicit(&seg->next, memory_order_acquire);
    out->count = 0;
    if (out->at & VS_CLOSED || current >= before || next >= before) return false;
    if (next > current) out->count += rest_of(seg, next, 0, &out->unused[out->count]) > 0;
    out->count += rest_of(seg, current, out->at & VS_OFFSET_MASK, &out->unused[out->count]) > 0;
    return true;
}

/* Moves the cursor to an empty range, past the numbers that are taken out.  The CAS finds the cursor unchanged, so
 * takers own every offset below it, and no taker will get an offset at or above it.  The next range was drawn before
 * the empty one, so the cursor never moves to the next range. */
static bool cursor_take_out(struct vs_segment *seg, uint64_t generation, struct both *both) {
    while (look_at_both(seg, generation, both)) {
        VS_POINT(takes_out);
        /* acq_rel: see cursor_move_on */
        if (atomic_compare_exchange_strong_explicit(&seg->cursor, &both->at, START(generation), memory_order_acq_rel,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

/* A publisher that read the words before cursor_take_out may have linked a range since.  The cursor never moves to that
 * range, because its generation was drawn before the empty range.  So this range is taken out, too.  Then the empty
 * range becomes the next one, so that a later publisher cannot link its range, and still owns it. */
static void take_passed_by(struct vs_segment *seg, uint64_t generation, struct both *both) {
    /* acquire: pairs with vs_segment_publish, so that the range's words are visible */
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_acquire);
    while (next < generation) {
        bool is_passed_by = next != both->next && next > GENERATION(both->at) && both->count < 2;
        if (is_passed_by) both->count += rest_of(seg, next, 0, &both->unused[both->count]) > 0;
        both->next = next;
        VS_POINT(shuts_out);
        /* acq_rel: see vs_segment_publish */
        if (atomic_compare_exchange_strong_explicit(&seg->next, &next, generation, memory_order_acq_rel,
                                                    memory_order_acquire))
            return;
    }
}

bool vs_segment_take_rest(struct vs_segment *seg, struct vs_unused unused[2], int *count) {
    static const struct vs_range none = {.count = 0};
    struct both both = {.at = 0};
    uint64_t generation = 0;
    *count = 0;
    for (bool is_out = false; !is_out;) {
        uint64_t at = atomic_load_explicit(&seg->cursor, memory_order_acquire);
        if (at & VS_CLOSED) return false;
        generation = cursor_take_place(seg, GENERATION(at));
        if (!generation) return false;
        write_range(range_at(seg, generation), &none, generation, 0);
        is_out = cursor_take_out(seg, generation, &both);
    }
    VS_POINT(took_out);
    take_passed_by(seg, generation, &both);
    cursor_forgo(seg, both.unused, both.count);
    memcpy(unused, both.unused, sizeof both.unused);
    *count = both.count;
    return true;
}

bool vs_segment_put_back(struct vs_segment *seg, const struct vs_unused *unused) {
    uint64_t count = (unused->until - 1 - unused->from) / unused->stride + 1;
    const struct vs_range range = {.first = unused->from,
                                   .count = count,
                                   .stride = unused->stride,
                                   .until = unused->until,
                                   .mark = count / 10,
                                   .database = unused->database};
    enum vs_published published = vs_segment_publish(seg, &range);
    if (published != VS_NOT_NEEDED) return published == VS_PUBLISHED;
    struct vs_segment_state state;
    vs_segment_get_state(seg, &state);
    if (state.is_closed || state.left > 0) return false;
    /* the current range is exhausted, so move to the next one, which frees a slot */
    cursor_move_on(seg, state.generation);
    return vs_segment_publish(seg, &range) == VS_PUBLISHED;
}

bool vs_segment_close(struct vs_segment *seg, struct vs_unused unused[2], int *count) {
    VS_POINT(closes);
    /* acq_rel: every earlier taker has an offset below this one, and every later taker finds the bit */
    uint64_t at = atomic_fetch_or_explicit(&seg->cursor, VS_CLOSED, memory_order_acq_rel);
    if (at & VS_CLOSED) return false;
    VS_POINT(closed);
    /* This must come after the cursor was closed, so that the cursor cannot move to this range any more.  It must come
     * before the unused ranges are returned, so that a later publisher still owns its range.  acq_rel: pairs with
     * vs_segment_publish. */
    uint64_t next = atomic_exchange_explicit(&seg->next, VS_ENDED, memory_order_acq_rel);
    vs_raise_u64(&seg->dry, VS_ENDED);
    *count = 0;
    if (next != VS_ENDED && next > GENERATION(at)) *count += rest_of(seg, next, 0, &unused[*count]) > 0;
    *count += rest_of(seg, GENERATION(at), at & VS_OFFSET_MASK, &unused[*count]) > 0;
    cursor_forgo(seg, unused, *count);
    return true;
}

void vs_segment_inherit(struct vs_segment *seg, struct vs_segment *old) {
    /* Mark only closed words, because publishers still raise `granted` in words that are in use. */
    uint64_t mark = atomic_load(&old->cursor) & VS_CLOSED ? VS_INHERITED : 0;
    for (int i = 0; i < VS_DATABASES_MAX; i++) {
        /* One atomic step: either cursor_forgo came first, or the CAS of cursor_forgo fails, because the mark changed
         * the value. */
        uint64_t granted = atomic_fetch_or(&old->granted[i], mark);
        vs_raise_u64(&seg->granted[i], granted & ~VS_INHERITED);
        vs_raise_u64(&seg->lowered[i], atomic_load(&old->lowered[i]));
        vs_raise_u64(&seg->answered[i], atomic_load(&old->answered[i]));
    }
    atomic_fetch_or(&seg->stopped, atomic_load(&old->stopped));
}

/* ------------------------------------------------------------------ rests to be claimed */

/* Returns the word of a slot that contains an unused range of this database.  While a thread reads the slot, the word
 * is the complement of this value. */
static uint64_t cursor_waiting(uint64_t owner, uint32_t database) {
    return owner ^ (uint64_t)(database + 1) << 56;
}

static bool cursor_is_own(uint64_t word, uint64_t owner) {
    bool is = false;
    for (uint32_t i = 0; i < VS_DATABASES_MAX; i++)
        is = is || word == cursor_waiting(owner, i) || word == ~cursor_waiting(owner, i);
    return is;
}

bool vs_rest_keep(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, const struct vs_unused *unused) {
    assert(owner != 0);
    assert(unused->database < VS_DATABASES_MAX);
    for (int i = 0; i < VS_RESTS_MAX; i++) {
        /* A slot that the parent process used before a fork counts as free. */
        if (cursor_is_own(atomic_load(&rests[i].owner), owner)) continue;
        rests[i].unused = *unused;
        VS_POINT(keeps);
        atomic_store(&rests[i].owner, cursor_waiting(owner, unused->database));
        return true;
    }
    return false;
}

bool vs_rest_waits(const struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database) {
    bool waits = false;
    for (int i = 0; i < VS_RESTS_MAX; i++)
        waits = waits || atomic_load(&rests[i].owner) == cursor_waiting(owner, database);
    return waits;
}

int vs_rest_claim(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database,
                  struct vs_unused out[VS_RESTS_MAX]) {
    int count = 0;
    assert(owner != 0);
    for (int i = 0; i < VS_RESTS_MAX; i++) {
        uint64_t is = cursor_waiting(owner, database);
        if (!atomic_compare_exchange_strong(&rests[i].owner, &is, ~is)) continue;
        VS_POINT(claims);
        struct vs_unused unused = rests[i].unused; /* no thread overwrites the range until the word is 0 */
        atomic_store(&rests[i].owner, 0);
        int at = count++;
        for (; at > 0 && out[at - 1].until < unused.until; at--)
            out[at] = out[at - 1];
        out[at] = unused;
    }
    return count;
}

void vs_segment_get_state(const struct vs_segment *seg, struct vs_segment_state *out) {
    uint64_t cursor = atomic_load_explicit(&seg->cursor, memory_order_acquire), generation = GENERATION(cursor);
    uint64_t next = atomic_load_explicit(&seg->next, memory_order_acquire);
    struct vs_unused rest = {0}, behind = {0}, whole;
    *out = (struct vs_segment_state){.generation = generation, .is_closed = cursor & VS_CLOSED};
    if (out->is_closed) return;
    out->left = rest_of(seg, generation, cursor & VS_OFFSET_MASK, &rest);
    out->count = rest_of(seg, generation, 0, &whole);
    out->mark = atomic_load_explicit(&seg->range[generation % VS_RANGES].mark, memory_order_acquire);
    if (next > generation && next != VS_ENDED) out->next_left = rest_of(seg, next, 0, &behind);
    out->position = out->left ? rest.from : behind.from;
    out->stride = out->left ? rest.stride : behind.stride;
}
