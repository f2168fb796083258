/* growth.c -- the cost of an id after a generator has made 1,000, and at each power of ten up to a limit, in turn
 * with as many atomic adds.
 *
 *     bench_growth SAMPLES IDS      one JSON object per power of ten: nanoseconds per id and per add */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST 1000
#define PIECE_MAX (1 << 20) /* ids per sample, or a quarter of the ids so far if that is less */

static _Alignas(VS_LINE) _Atomic uint64_t word;
static struct vesta_gen gen;

static uint64_t make(uint64_t n) {
    struct vesta_pause pause;
    uint64_t id;
    for (uint64_t i = 0; i < n; i++)
        if (vesta_next(&gen, &id, &pause) != VESTA_OK) bench_die("an id was refused");
    return n;
}

static void add(uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel);
}

static uint64_t sample(uint64_t n, const char *comma) {
    int64_t begin_ns = bench_now_ns(), middle_ns;
    make(n);
    middle_ns = bench_now_ns();
    add(n);
    printf("%s[%.3f, %.3f]", comma, (double)(middle_ns - begin_ns) / (double)n, (double)(bench_now_ns() - middle_ns) / (double)n);
    return n;
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/vesta-bench.XXXXXX", path[64];
    if (argc != 3) {
        fputs("usage: bench_growth SAMPLES IDS\n", stderr);
        return 2;
    }
    if (!mkdtemp(dir)) bench_die("a folder");
    snprintf(path, sizeof path, "%s/growth.gen", dir);
    bench_gen(&gen, bench_map(path, BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US));
    unlink(path);
    strcat(path, ".lock");
    unlink(path);
    rmdir(dir);
    add(10 * PIECE_MAX); /* until the processor runs at full speed */
    uint64_t made = 0, last = strtoull(argv[2], NULL, 10);
    for (uint64_t ids = FIRST; ids <= last; ids *= 10) {
        made += make(ids - made);
        printf("{\"ids\": %llu, \"samples\": [", (unsigned long long)ids);
        for (int i = 0; i < atoi(argv[1]); i++)
            made += sample(ids / 4 < PIECE_MAX ? ids / 4 : PIECE_MAX, i ? ", " : "");
        puts("]}");
        fflush(stdout);
    }
    return 0;
}
