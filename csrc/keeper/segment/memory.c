/* memory.c -- the host's record of the commits of a counter of order dense (memory.h). */
#include "keeper/segment/memory.h"
#include "keeper/segment/counter.h"

/* Each word of `committed` belongs to a block of consecutive numbers.  Its lower half has a bit for each number of the
 * block. Its upper half identifies the block, so a newer block replaces the word in one step.  Clearing the word first
 * would be unsafe, because a thread that slept before its store would clear bits that other threads have set since. */
#define BLOCK 32
_Static_assert(VS_REMEMBERED_MAX == BLOCK * (VS_COMMITTED_WORDS - 1), "no two remembered numbers share a bit");
/* block ids wrap around, so a block that is further ahead than this is an old block */
#define NEWER_MAX (UINT32_C(1) << 16)

static _Atomic uint64_t *word_of(struct vs_segment *words, uint64_t number) {
    return &words->committed[number / BLOCK % VS_COMMITTED_WORDS];
}

/* Returns the id of a number's block, which distinguishes the blocks that share a word.  It is never 0, because
 * vs_segment_format leaves words below 1 << 32. */
static uint32_t block_of(uint64_t number) {
    return (uint32_t)(number / BLOCK / VS_COMMITTED_WORDS % UINT32_MAX + 1);
}

static uint64_t bit_of(uint64_t number) {
    return (uint64_t)block_of(number) << 32 | UINT64_C(1) << number % BLOCK;
}

static bool is_remembered(const struct vs_segment *words, uint64_t number) {
    uint64_t granted = vs_segment_granted(words, 0);
    return number < granted && granted - number <= VS_REMEMBERED_MAX;
}

bool vs_memory_is_alone(struct vesta_segment *seg, struct vs_store *store, struct vs_reply *reply) {
    return vs_share_is_alone(&seg->part[0], store, reply);
}

uint64_t vs_memory_granted(struct vesta_segment *seg) {
    return vs_segment_granted(atomic_load(&seg->words), 0);
}

bool vs_memory_is_stopped(struct vesta_segment *seg) {
    return atomic_load(&atomic_load(&seg->words)->stopped) & 1;
}

bool vs_memory_has_committed(struct vesta_segment *seg, uint64_t number) {
    struct vs_segment *words = atomic_load(&seg->words);
    uint64_t bit = bit_of(number);
    if (!is_remembered(words, number)) return false;
    uint64_t stands = atomic_load(word_of(words, number));
    return stands >> 32 == bit >> 32 && (stands & bit) == bit;
}

void vs_memory_grant(struct vesta_segment *seg, uint64_t number) {
    vs_segment_see(seg);
    vs_raise_u64(&atomic_load(&seg->words)->granted[0], number + 1);
}

/* Also records the number as granted, because another host may have reserved it. */
void vs_memory_commit(struct vesta_segment *seg, uint64_t number) {
    struct vs_segment *words = atomic_load(&seg->words);
    _Atomic uint64_t *word = word_of(words, number);
    uint64_t stands = atomic_load(word), next;
    vs_memory_grant(seg, number);
    do {
        uint32_t ahead = (uint32_t)(stands >> 32) - block_of(number);
        if (stands >> 32 && ahead > 0 && ahead < NEWER_MAX) return; /* the block is too old to be recorded */
        next = ahead == 0 ? stands | bit_of(number) : bit_of(number);
    } while (!atomic_compare_exchange_weak(word, &stands, next));
}

void vs_memory_forget(struct vesta_segment *seg) {
    struct vs_segment *words = atomic_load(&seg->words);
    for (size_t i = 0; i < VS_COMMITTED_WORDS; i++)
        atomic_store(&words->committed[i], 0);
}

void vs_memory_stop(struct vesta_segment *seg, uint64_t lowered) {
    vs_words_stop(atomic_load(&seg->words), 0, lowered);
}
