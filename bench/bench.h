/* bench.h -- shared by the benchmarks in C: a generator with a day of spare ids, workers that run for a fixed time,
 * and the counting of duplicates. Each program prints one JSON object per sample, and bench/run makes the table. */
#ifndef BENCH_H
#define BENCH_H

#include "generator/generator.h"

#include <stddef.h>

#define BENCH_W "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
#define BENCH_DAY_US (86400 * 1000000ll)
#define BENCH_WORKERS_MAX 2
#define BENCH_STRIDE 1024 /* operations between two reads of the clock */
#define BENCH_PIECE_NS 20000000
#define BENCH_PIECES 5 /* of a sample */

int64_t bench_now_ns(void);
/* CPU time of the calling thread, or of the whole process. */
int64_t bench_cpu_ns(bool whole_process);

_Noreturn void bench_die(const char *what);

/* Publishes a slot of worker 1 from `from` to the layout's end, in the file at the path, which is created if
 * necessary. */
struct vs_map *bench_map(const char *path, const char *layout_text, enum vesta_pacing pacing, int64_t behind_us);
void bench_gen(struct vesta_gen *gen, struct vs_map *map);

/* Runs `op(arg)`, which makes BENCH_STRIDE operations, in `workers` concurrent threads or processes for `ns`. The
 * rate is the total of operations per second. `share` is the share of a core that the slowest worker had, which is
 * below 1 if another program ran. */
struct bench_rate {
    double per_second, share;
};
struct bench_rate bench_run(void (*op)(void *), void *arg, int workers, bool processes, int64_t ns);

/* The yardstick of many rows: adds to the _Atomic uint64_t at which `word` points. */
void bench_add(void *word);
/* Prints a sample of pieces of both operations in turn. */
void bench_sample(void (*ours)(void *), void (*yard)(void *), void *arg, int workers);

/* With BENCH_TINY in the environment, pieces last a twentieth and a hundredth is counted, for a test that ignores
 * the figures. With BENCH_UNCOUNTED nothing is counted, because bad samples are repeated. */
bool bench_tiny(void);
size_t bench_counted(size_t n);

/* Returns the number of duplicates among ids[0..n), which it sorts. */
size_t bench_duplicates(uint64_t *ids, size_t n);

#endif
