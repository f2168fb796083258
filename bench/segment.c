/* segment.c -- the next number of a segment against an atomic add, in the same run, in turn.
 *
 *     bench_segment next|threads SAMPLES      one JSON object per sample, then one with the counts */
#include "bench.h"
#include "os/clock.h"
#include "store/store.h"
#include "vesta_segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTED 1000000
#define STEP ((uint64_t)1 << 31) /* No range ends during the measurement. */

static struct bench {
    _Alignas(VS_LINE) _Atomic uint64_t word; /* the yardstick. bench_add needs it first */
    struct vesta_segment *seg;
    size_t counted;
    uint64_t ids[BENCH_WORKERS_MAX * (COUNTED + BENCH_STRIDE)];
} bench;

static char dir[] = "/tmp/vesta-bench.XXXXXX";

/* ------------------------------------------------------------------ operations */

static uint64_t must_next(struct bench *b) {
    struct vesta_pause pause;
    uint64_t number;
    if (vesta_segment_next(b->seg, &number, &pause) == VESTA_OK) return number;
    errno = 0;
    bench_die("a number was refused");
}

static void op_next(void *arg) {
    for (int i = 0; i < BENCH_STRIDE; i++)
        (void)must_next(arg);
}

static void op_count(void *arg) {
    struct bench *b = arg;
    size_t at = __atomic_fetch_add(&b->counted, BENCH_STRIDE, __ATOMIC_RELAXED);
    if (at + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    for (size_t i = 0; i < BENCH_STRIDE; i++)
        b->ids[at + i] = must_next(b);
}

/* ------------------------------------------------------------------ a counter */

static void add_tag(const char *uri, uint64_t step) {
    struct vs_store_opts opts = {.namespace_ = "default", .group = -1, .clock = vs_clock_system()};
    struct vesta_error err = {.text = ""};
    struct vs_store *store = NULL;
    struct vs_reply reply;
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) bench_die(err.text);
    store->counters->tag_add(store, &(struct vs_counter){NULL, "bench"}, 1, step, &reply);
    if (reply.outcome != VS_STORE_OK) bench_die(reply.text);
    store->backend->close(store);
}

static void open_segment(struct bench *b, uint64_t step) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_error err = {.text = ""};
    struct vesta_pause pause;
    uint64_t number;
    char uri[80];
    setenv("VESTA_STATE", dir, 1);
    snprintf(uri, sizeof uri, "file:%s/counters", dir);
    add_tag(uri, step);
    opts.stores[0] = uri;
    opts.tag = "bench";
    opts.step_max = 1; /* The step remains the row's. */
    if (vesta_segment_open(&opts, &b->seg, &err) != VESTA_OK) bench_die(err.text);
    if (vesta_segment_next_wait(b->seg, &number, 5000000, &pause) != VESTA_OK) bench_die("no number came");
}

static void end_segment(struct bench *b) {
    struct vesta_error err;
    char command[80];
    (void)vesta_segment_release(b->seg, &err);
    vesta_segment_close(b->seg);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0) bench_die("a folder stays");
}

/* ------------------------------------------------------------------ rows */

static void measure_next(struct bench *b, int workers, int samples) {
    open_segment(b, STEP);
    for (; samples > 0; samples--)
        bench_sample(op_next, bench_add, b, workers);
    while (b->counted < (size_t)workers * bench_counted(COUNTED))
        bench_run(op_count, b, workers, false, BENCH_PIECE_NS / 10);
    size_t most = sizeof b->ids / sizeof *b->ids / BENCH_STRIDE * BENCH_STRIDE,
           n = b->counted < most ? b->counted : most;
    printf("{\"ids\": %zu, \"duplicates\": %zu}\n", n, bench_duplicates(b->ids, n));
    end_segment(b);
}

int main(int argc, char **argv) {
    if (argc != 3 || (strcmp(argv[1], "next") != 0 && strcmp(argv[1], "threads") != 0)) {
        fputs("usage: bench_segment next|threads SAMPLES\n", stderr);
        return 2;
    }
    if (!mkdtemp(dir)) bench_die("a folder");
    measure_next(&bench, strcmp(argv[1], "next") == 0 ? 1 : 2, atoi(argv[2]));
    return 0;
}
