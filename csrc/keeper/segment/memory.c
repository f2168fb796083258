/* memory.c -- what this host remembers of a counter whose numbers have no gap; see memory.h. */
#include "keeper/segment/memory.h"
#include "keeper/segment/counter.h"

#define BITS 64
_Static_assert(2 * VS_REMEMBERED_MAX <= BITS * VS_COMMITTED_WORDS,
               "a commit that is noted late, after as many grants, sets the bit of no newer number");

static _Atomic uint64_t *word_of(struct vs_segment *words, uint64_t number) {
    return &words->committed[number / BITS % VS_COMMITTED_WORDS];
}

static uint64_t bit_of(uint64_t number) {
    return UINT64_C(1) << number % BITS;
}

static bool is_remembered(const struct vs_segment *words, uint64_t number) {
    uint64_t granted = atomic_load(&words->granted[0]);
    return number < granted && granted - number <= VS_REMEMBERED_MAX;
}

bool vs_memory_is_alone(struct vesta_segment *seg, struct vs_store *store, struct vs_reply *reply) {
    return vs_share_is_alone(&seg->part[0], store, reply);
}

uint64_t vs_memory_granted(struct vesta_segment *seg) {
    return atomic_load(&atomic_load(&seg->words)->granted[0]);
}

bool vs_memory_is_stopped(struct vesta_segment *seg) {
    return atomic_load(&atomic_load(&seg->words)->stopped) & 1;
}

bool vs_memory_has_committed(struct vesta_segment *seg, uint64_t number) {
    struct vs_segment *words = atomic_load(&seg->words);
    return is_remembered(words, number) && (atomic_load(word_of(words, number)) & bit_of(number));
}

void vs_memory_grant(struct vesta_segment *seg, uint64_t number) {
    struct vs_segment *words = atomic_load(&seg->words);
    uint64_t granted = atomic_load(&words->granted[0]);
    if (number < granted) return; /* it was free again, and is not committed */
    /* other hosts had the numbers between: their bits are those of numbers long ago */
    uint64_t first = number - granted < BITS * VS_COMMITTED_WORDS ? granted : number - BITS * VS_COMMITTED_WORDS + 1;
    for (uint64_t n = first; n <= number; n++)
        atomic_fetch_and(word_of(words, n), ~bit_of(n));
    vs_raise_u64(&words->granted[0], number + 1);
}

void vs_memory_commit(struct vesta_segment *seg, uint64_t number) {
    struct vs_segment *words = atomic_load(&seg->words);
    if (is_remembered(words, number)) atomic_fetch_or(word_of(words, number), bit_of(number));
}

void vs_memory_stop(struct vesta_segment *seg, uint64_t lowered) {
    vs_words_stop(atomic_load(&seg->words), 0, lowered);
}
