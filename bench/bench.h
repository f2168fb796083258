/* bench.h -- what the benchmarks in C share: a generator whose cursor is a day behind, workers that run for a fixed
 * time, and the counting of duplicates.  Each program prints one JSON object a sample; bench/run makes the table. */
#ifndef BENCH_H
#define BENCH_H

#include "generator/generator.h"

#include <stddef.h>

#define BENCH_W "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
#define BENCH_DAY_US (86400 * 1000000ll)
#define BENCH_WORKERS_MAX 2
#define BENCH_STRIDE 1024 /* operations between two looks at the clock */

int64_t bench_now_ns(void);
/* Processor time of the calling thread, or of the whole process. */
int64_t bench_cpu_ns(bool whole_process);

_Noreturn void bench_die(const char *what);

/* A published slot of worker 1 from `from` to the layout's end, in the file of a path that is made if it is not there.
 */
struct vs_map *bench_map(const char *path, const char *layout_text, enum vesta_pacing pacing, int64_t behind_us);
void bench_gen(struct vesta_gen *gen, struct vs_map *map);

/* Runs `op(arg)`, BENCH_STRIDE operations a call, in `workers` threads or processes at once for `ns`.  The rate is
 * operations a second of all together; `share` is the part of a core that the worse served worker had: below 1
 * where something else ran on this machine. */
struct bench_rate {
    double per_second, share;
};
struct bench_rate bench_run(void (*op)(void *), void *arg, int workers, bool processes, int64_t ns);

/* With BENCH_TINY in the environment pieces last a twentieth and a hundredth is counted: for a test, which looks at no
 * figure.  With BENCH_UNCOUNTED nothing is counted: samples are made again. */
bool bench_tiny(void);
size_t bench_counted(size_t n);

/* Equal values among ids[0..n); sorts them. */
size_t bench_duplicates(uint64_t *ids, size_t n);

#endif
