/* drawing.c -- draws numbers of a counter until it is killed, and marks each number in a file that all such processes
 * map.  A number that is marked twice was issued twice.
 *
 *     drawing URI TAG STEP RATE FILE      RATE: numbers per second
 *
 * The file has the counts of struct drawn, and then one bit per number. */
#include "vesta_segment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 250
#define PATIENCE_US 200000

struct drawn {
    _Atomic uint64_t given, twice, beyond, stops; /* stops: pauses because the counter was lowered */
    _Atomic uint64_t bits[];
};

static struct drawn *drawn;
static uint64_t end; /* how many numbers the file has bits for */

static void mark(uint64_t number) {
    uint64_t bit = UINT64_C(1) << (number % 64);
    if (number >= end) {
        atomic_fetch_add(&drawn->beyond, 1);
    } else {
        uint64_t was = atomic_fetch_or(&drawn->bits[number / 64], bit);
        atomic_fetch_add(was & bit ? &drawn->twice : &drawn->given, 1);
    }
}

/* Draws up to a batch.  Waits for a range if there is none. */
static void draw(struct vesta_segment *seg) {
    struct vesta_numbers got = {0, 1, 1};
    struct vesta_pause pause;
    if (vesta_segment_next_n(seg, BATCH, &got, &pause) != VESTA_OK &&
        vesta_segment_next_wait(seg, &got.first, PATIENCE_US, &pause) != VESTA_OK) {
        if (pause.why != VESTA_FAILSTOP) return;
        atomic_fetch_add(&drawn->stops, 1);
        usleep(PATIENCE_US);
        return;
    }
    for (uint64_t i = 0; i < got.count; i++)
        mark(got.first + i * got.stride);
}

int main(int argc, char **argv) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *seg;
    struct vesta_error err;
    struct stat is;
    if (argc != 6) return 2;
    int fd = open(argv[5], O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &is) != 0) return 2;
    drawn = mmap(NULL, (size_t)is.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (drawn == MAP_FAILED) return 2;
    end = ((uint64_t)is.st_size - sizeof *drawn) * 8;
    opts.stores[0] = argv[1];
    opts.tag = argv[2];
    opts.step = opts.step_max = strtoull(argv[3], NULL, 10);
    if (vesta_segment_open(&opts, &seg, &err) != VESTA_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (useconds_t rest_us = (useconds_t)(BATCH * UINT64_C(1000000) / strtoull(argv[4], NULL, 10));; usleep(rest_us))
        draw(seg);
}
