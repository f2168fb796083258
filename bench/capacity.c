/* capacity.c -- the preset `snowflake` at its capacity of 4096 ids per millisecond, by vesta_next_wait.
 *
 *     bench_capacity SAMPLES      one second each; `core` is CPU time per second */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_NS 1000000000
#define CAPACITY 4096000
#define COUNTED 1000000

static void must_wait(struct vesta_gen *gen, uint64_t *id) {
    struct vesta_pause pause;
    if (vesta_next_wait(gen, id, 1000000, &pause) != VESTA_OK) {
        errno = 0;
        bench_die("an id was refused");
    }
}

static void sample(struct vesta_gen *gen) {
    uint64_t done = 0, id;
    int64_t cpu_ns = bench_cpu_ns(true), begin = bench_now_ns(), took_ns;
    do {
        for (int i = 0; i < 256; i++)
            must_wait(gen, &id);
        done += 256;
        took_ns = bench_now_ns() - begin;
    } while (took_ns < (bench_tiny() ? SAMPLE_NS / 20 : SAMPLE_NS));
    cpu_ns = bench_cpu_ns(true) - cpu_ns;
    printf("{\"ours\": %.0f, \"yard\": %d, \"core\": %.4f}\n", (double)done * 1e9 / (double)took_ns, CAPACITY,
           (double)cpu_ns / (double)took_ns);
    fflush(stdout);
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/vesta-bench.XXXXXX", path[64];
    struct vesta_gen gen;
    if (argc != 2) {
        fputs("usage: bench_capacity SAMPLES\n", stderr);
        return 2;
    }
    if (!mkdtemp(dir)) bench_die("a folder");
    snprintf(path, sizeof path, "%s/snowflake.gen", dir);
    bench_gen(&gen, bench_map(path, "snowflake", VESTA_PACING_CLOCK, 0));
    for (int i = atoi(argv[1]); i > 0; i--)
        sample(&gen);
    size_t n = bench_counted(COUNTED);
    uint64_t *ids = malloc(n * sizeof *ids);
    if (!ids) bench_die("memory");
    for (size_t i = 0; i < n; i++)
        must_wait(&gen, &ids[i]);
    printf("{\"ids\": %zu, \"duplicates\": %zu}\n", n, bench_duplicates(ids, n));
    free(ids);
    unlink(path);
    strcat(path, ".lock");
    unlink(path);
    rmdir(dir);
    return 0;
}
