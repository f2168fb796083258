/* text.c -- ids as text against atomic adds, in turn: written as decimal digits, and parsed.
 *
 *     bench_text format|parse SAMPLES      one JSON object per line */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bench {
    _Alignas(VS_LINE) _Atomic uint64_t word; /* the yardstick. bench_add needs it first */
    uint64_t id[BENCH_STRIDE], sum;
    size_t length[BENCH_STRIDE];
    char text[BENCH_STRIDE][VESTA_FORMAT_MAX];
} bench;

static void op_format(void *arg) {
    struct bench *b = arg;
    for (int i = 0; i < BENCH_STRIDE; i++)
        b->length[i] = vesta_format(VESTA_DECIMAL, b->id[i], b->text[i]);
}

static void op_parse(void *arg) {
    struct bench *b = arg;
    uint64_t id;
    for (int i = 0; i < BENCH_STRIDE; i++) {
        if (vesta_parse(VESTA_DECIMAL, b->text[i], b->length[i], &id) != VESTA_OK) bench_die("an id was refused");
        b->sum += id;
    }
}

/* Ids of 18 and 19 digits, like those of most layouts for the next decades. */
static void make_ids(struct bench *b) {
    uint64_t id = UINT64_C(1) << 57;
    for (int i = 0; i < BENCH_STRIDE; i++, id = id * UINT64_C(6364136223846793005) + 1)
        b->id[i] = id % (UINT64_C(9000000000000000000)) + UINT64_C(100000000000000000);
}

int main(int argc, char **argv) {
    bool reads = argc == 3 && strcmp(argv[1], "parse") == 0;
    if (argc != 3 || (!reads && strcmp(argv[1], "format") != 0)) {
        fputs("usage: bench_text format|parse SAMPLES\n", stderr);
        return 2;
    }
    make_ids(&bench);
    op_format(&bench);
    for (int n = atoi(argv[2]); n > 0; n--)
        bench_sample(reads ? op_parse : op_format, bench_add, &bench, 1);
    puts("{}"); /* Nothing is counted. */
    return 0;
}
