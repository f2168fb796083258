/* judge.c -- finds lives of one worker id at one time, and ids that two lives issued.
 *
 *     judge watch ARENA     stamps the lives that still hold their locks, also stopped ones, until it is killed
 *     judge count ARENA     prints the totals, and the first faults */
#include "arena.h"

#include <string.h>

#define JUDGE_SHOWN 5

static int judge_watch(struct arena *arena, int fd) {
    for (int first = 0;;) {
        int lives = atomic_load(&arena->lives);
        bool is_first = true;
        for (int i = first; i < lives && i < ARENA_LIVES; i++) {
            struct arena_life *life = &arena->life[i];
            if (atomic_load(&life->is_over)) {
                if (is_first) first = i + 1;
                continue;
            }
            is_first = false;
            if (!atomic_load(&life->began_us)) continue;
            int64_t now_us = arena_us(CLOCK_MONOTONIC); /* before the proof, so that no life is stretched */
            struct flock byte = arena_byte(i);
            if (fcntl(fd, F_GETLK, &byte) != 0) return 1;
            if (byte.l_type == F_UNLCK)
                atomic_store(&life->is_over, 1);
            else if (atomic_load(&life->alive_us) < now_us)
                atomic_store(&life->alive_us, now_us);
        }
        usleep(5000);
    }
}

static struct arena *judge_arena;

static int judge_by_worker(const void *a, const void *b) {
    const struct arena_life *x = &judge_arena->life[*(const int *)a], *y = &judge_arena->life[*(const int *)b];
    if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
    return (x->began_us > y->began_us) - (x->began_us < y->began_us);
}

/* Prints the pairs of lives of one worker id that were certainly alive at one instant. */
static long judge_pairs(struct arena *arena, int *order, int lives) {
    long pairs = 0;
    judge_arena = arena;
    qsort(order, (size_t)lives, sizeof *order, judge_by_worker);
    for (int i = 0; i < lives; i++) {
        const struct arena_life *a = &arena->life[order[i]];
        for (int j = i + 1; j < lives; j++) {
            const struct arena_life *b = &arena->life[order[j]];
            if (b->worker != a->worker || b->began_us > a->alive_us) break; /* sorted by begin */
            if (pairs++ < JUDGE_SHOWN)
                printf("both alive: worker id %d, slot %d from %lld to %lld us, slot %d from %lld to %lld us\n",
                       a->worker, a->slot, (long long)a->began_us, (long long)a->alive_us, b->slot,
                       (long long)b->began_us, (long long)b->alive_us);
        }
    }
    return pairs;
}

struct judge_ms {
    uint64_t key; /* worker id and millisecond */
    int32_t life, count;
};

static int judge_by_key(const void *a, const void *b) {
    const struct judge_ms *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static long judge_equal(struct arena *arena, struct judge_ms *all, size_t count) {
    long equal = 0, shown = 0;
    qsort(all, count, sizeof *all, judge_by_key);
    for (size_t i = 1; i < count; i++) {
        if (all[i].key != all[i - 1].key) continue;
        equal += all[i].count < all[i - 1].count ? all[i].count : all[i - 1].count;
        if (shown++ < JUDGE_SHOWN) {
            const struct arena_life *a = &arena->life[all[i - 1].life], *b = &arena->life[all[i].life];
            printf("equal ids: worker id %d, millisecond %lld, slot %d alive from %lld to %lld us, slot %d from %lld "
                   "to %lld us\n", a->worker, (long long)(all[i].key & ((UINT64_C(1) << 41) - 1)), a->slot,
                   (long long)a->began_us, (long long)a->alive_us, b->slot, (long long)b->began_us,
                   (long long)b->alive_us);
        }
    }
    return equal;
}

static int judge_count(struct arena *arena) {
    int chunks = atomic_load(&arena->chunks), lives = 0, most = 0;
    long ids = 0;
    size_t count = 0;
    int *order = calloc(ARENA_LIVES, sizeof *order);
    struct judge_ms *all = calloc((size_t)chunks * ARENA_CHUNK_WORDS + 1, sizeof *all);
    bool *is_used = calloc(ARENA_LIVES, sizeof *is_used);
    if (!order || !all || !is_used || chunks > ARENA_CHUNKS) return 1;
    for (int i = 0; i < ARENA_LIVES && i < atomic_load(&arena->lives); i++)
        if (arena->life[i].began_us) order[lives++] = i;
    for (int i = 0; i < chunks; i++) {
        const struct arena_chunk *chunk = &arena->chunk[i];
        for (int k = 0; k < chunk->used; k++) {
            uint64_t word = chunk->words[k], issued = word & ((1u << ARENA_WORD_SHIFT) - 1);
            if (!issued) continue; /* killed before its first id of this millisecond */
            uint64_t worker = (uint64_t)arena->life[chunk->life].worker;
            all[count++] = (struct judge_ms){worker << 41 | word >> ARENA_WORD_SHIFT, chunk->life, (int32_t)issued};
            ids += (long)issued;
            is_used[worker % FLAKE_WORKERS] = true;
        }
    }
    for (int i = 0; i < FLAKE_WORKERS; i++) most += is_used[i];
    long pairs = judge_pairs(arena, order, lives), equal = judge_equal(arena, all, count);
    printf("lives %d workers %d ids %ld pairs %ld equal %ld\n", lives, most, ids, pairs, equal);
    free(order);
    free(all);
    free(is_used);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "judge watch|count ARENA\n");
        return 2;
    }
    int fd;
    struct arena *arena = arena_open(argv[2], &fd);
    return strcmp(argv[1], "watch") == 0 ? judge_watch(arena, fd) : judge_count(arena);
}
