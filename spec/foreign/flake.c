/* flake.c -- a foreign generator: a program with a snowflake generator of its own, which gets its worker id from the
 * environment, and records its life and every id in an arena.
 *
 *     flake ARENA SLOT SECONDS WORD...     SNOWFLAKE_NODE is the worker id
 *
 * Words: `wall` reads the clock for each id, like Twitter's generator.  Otherwise the clock is read once, and the
 * monotonic clock is added to it, like bwmarrin's.  `stubborn` ignores SIGTERM. */
#include "arena.h"

#include <signal.h>
#include <string.h>

#define FLAKE_BURST 24
#define FLAKE_PAUSE_US 3000

static int64_t flake_offset_us; /* 0: read the clock for each id */

static int64_t flake_now_ms(void) {
    int64_t us = flake_offset_us ? arena_us(CLOCK_MONOTONIC) + flake_offset_us : arena_us(CLOCK_REALTIME);
    return us / 1000 - FLAKE_EPOCH_MS;
}

int main(int argc, char **argv) {
    const char *node = getenv("SNOWFLAKE_NODE");
    if (argc < 4 || !node) {
        fprintf(stderr, "SNOWFLAKE_NODE=N flake ARENA SLOT SECONDS [wall] [stubborn]\n");
        return 2;
    }
    bool is_wall = false;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "wall") == 0) is_wall = true;
        if (strcmp(argv[i], "stubborn") == 0) signal(SIGTERM, SIG_IGN);
    }
    int fd;
    struct arena *arena = arena_open(argv[1], &fd);
    int number = atomic_fetch_add(&arena->lives, 1);
    if (number >= ARENA_LIVES) return 3;
    struct flock byte = arena_byte(number);
    if (fcntl(fd, F_SETLK, &byte) != 0) {
        perror("flake: lock");
        return 3;
    }
    struct arena_life *life = &arena->life[number];
    life->slot = atoi(argv[2]);
    life->worker = atoi(node);
    life->pid = getpid();
    int64_t begun_us = arena_us(CLOCK_MONOTONIC), seconds_us = (int64_t)(atof(argv[3]) * 1e6);
    atomic_store(&life->alive_us, begun_us);
    atomic_store(&life->began_us, begun_us);
    if (!is_wall) flake_offset_us = arena_us(CLOCK_REALTIME) - begun_us;

    struct arena_chunk *chunk = NULL;
    int at = ARENA_CHUNK_WORDS;
    int64_t last_ms = -1;
    uint64_t step = 0;
    unsigned seed = (unsigned)life->pid;
    while (!seconds_us || arena_us(CLOCK_MONOTONIC) - begun_us < seconds_us) {
        for (int i = 0; i < FLAKE_BURST; i++) {
            int64_t now_ms = flake_now_ms();
            if (now_ms < last_ms) break; /* the clock went back: wait, as Twitter's generator does in effect */
            if (now_ms == last_ms && ++step >= FLAKE_STEPS) break;
            if (now_ms > last_ms) {
                step = 0;
                last_ms = now_ms;
                if (at + 1 >= ARENA_CHUNK_WORDS) {
                    int taken = atomic_fetch_add(&arena->chunks, 1);
                    if (taken >= ARENA_CHUNKS) return 3;
                    chunk = &arena->chunk[taken];
                    chunk->life = number;
                    at = -1;
                }
                atomic_store(&chunk->used, ++at + 1);
            }
            atomic_store(&chunk->words[at], (uint64_t)now_ms << ARENA_WORD_SHIFT | (step + 1)); /* issued */
        }
        atomic_store(&life->alive_us, arena_us(CLOCK_MONOTONIC));
        usleep(FLAKE_PAUSE_US / 2 + (useconds_t)(rand_r(&seed) % FLAKE_PAUSE_US));
    }
    return 0;
}
