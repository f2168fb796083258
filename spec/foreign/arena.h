/* arena.h -- the shared file in which foreign generators record their lives and their ids.  A kill loses nothing,
 * because the pages outlive the process.
 *
 * A life is a run of one generator.  It is alive as long as it holds the lock of its byte in the file: the kernel
 * releases the lock when the process ends, however it ends. */
#ifndef ARENA_H
#define ARENA_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ARENA_LIVES 65536
#define ARENA_CHUNKS 1048576
#define ARENA_CHUNK_WORDS 63

/* bwmarrin's and Twitter's layout: 41 bits of milliseconds, 10 of the worker id, 12 of the sequence. */
#define FLAKE_EPOCH_MS INT64_C(1288834974657)
#define FLAKE_WORKERS 1024
#define FLAKE_STEPS 4096

struct arena_life {
    _Atomic int64_t began_us; /* CLOCK_MONOTONIC, 0: not yet */
    _Atomic int64_t alive_us; /* the last instant at which the process was certainly alive */
    int32_t slot, worker, pid;
    _Atomic int32_t is_over; /* seen by the watcher */
};

/* A word is a millisecond since the epoch, and the number of ids issued in it, whose sequences begin with 0. */
struct arena_chunk {
    int32_t life;
    _Atomic int32_t used;
    _Atomic uint64_t words[ARENA_CHUNK_WORDS];
};
#define ARENA_WORD_SHIFT 13

struct arena {
    _Atomic int32_t lives, chunks;
    int64_t unused[7];
    struct arena_life life[ARENA_LIVES];
    struct arena_chunk chunk[ARENA_CHUNKS];
};

static inline int64_t arena_us(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Maps the file, which may be sparse, and stores its descriptor.  Ends the program if it cannot. */
static inline struct arena *arena_open(const char *path, int *fd) {
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0 || ftruncate(*fd, sizeof(struct arena)) != 0) {
        perror(path);
        exit(1);
    }
    struct arena *arena = mmap(NULL, sizeof(struct arena), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (arena == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return arena;
}

static inline struct flock arena_byte(int life) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = life, .l_len = 1};
}

#endif
