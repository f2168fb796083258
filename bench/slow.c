/* slow.c -- the latency of the next number of a segment while its database answers slowly, and of an atomic add. A
 * step lasts 400 ms, with one number at each planned instant. Both are timed at each instant, in alternating order,
 * so that a disturbance affects both.
 *
 *     bench_slow STORE SAMPLES      a tag `bench` with a step of 1000; one JSON object per sample, then the counts */
#include "bench.h"
#include "vesta_segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP 1000
#define STEP_NS INT64_C(400000000)
#define EACH (10 * STEP) /* numbers per sample, in four seconds */
#define WARM (2 * STEP)
#define SAMPLES_MAX 30
#define WAIT_US 5000000

static struct vesta_segment *seg;
static uint64_t ids[SAMPLES_MAX * EACH];
static size_t each = EACH, used, waited;
static int64_t ours_ns[EACH], yard_ns[EACH];
static _Alignas(64) _Atomic uint64_t word;

static uint64_t must_next(void) {
    struct vesta_pause pause;
    uint64_t number;
    if (vesta_segment_next(seg, &number, &pause) == VESTA_OK) return number;
    waited++;
    if (vesta_segment_next_wait(seg, &number, WAIT_US, &pause) == VESTA_OK) return number;
    char text[512];
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    errno = 0;
    bench_die(text);
}

static void time_next(size_t i, uint64_t *number) {
    int64_t began_ns = bench_now_ns();
    *number = must_next();
    ours_ns[i] = bench_now_ns() - began_ns;
}

static void time_add(size_t i) {
    int64_t began_ns = bench_now_ns();
    atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel);
    yard_ns[i] = bench_now_ns() - began_ns;
}

/* Times one of each at its instant. If it is late, by a wait or a disturbance, the next one follows at once. */
static void run(size_t count, uint64_t *numbers) {
    int64_t began_ns = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        while (bench_now_ns() < began_ns + (int64_t)i * (STEP_NS / STEP))
            ;
        if (i % 2) time_add(i);
        time_next(i, &numbers[i]);
        if (i % 2 == 0) time_add(i);
    }
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double p999_us(int64_t *ns) {
    qsort(ns, each, sizeof *ns, compare);
    return (double)ns[each - each / 1000 - 1] / 1000;
}

static void sample(void) {
    waited = 0;
    run(each, &ids[used]);
    used += each;
    double ours = p999_us(ours_ns), yard = p999_us(yard_ns);
    printf("{\"ours\": %.3f, \"yard\": %.3f, \"ours_max\": %.3f, \"yard_max\": %.3f, \"waited\": %zu}\n", ours, yard,
           (double)ours_ns[each - 1] / 1000, (double)yard_ns[each - 1] / 1000, waited);
    fflush(stdout);
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/vesta-bench.XXXXXX", command[80];
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_error err = {.text = ""};
    int samples = argc == 3 ? atoi(argv[2]) : 0;
    if (samples < 1 || samples > SAMPLES_MAX) {
        fputs("usage: bench_slow STORE SAMPLES\n", stderr);
        return 2;
    }
    if (bench_tiny()) each = STEP;
    if (!mkdtemp(dir)) bench_die("a folder");
    setenv("VESTA_STATE", dir, 1);
    opts.stores[0] = argv[1];
    opts.tag = "bench";
    opts.step_max = 1; /* The step remains the row's. */
    errno = 0;
    if (vesta_segment_open(&opts, &seg, &err) != VESTA_OK) bench_die(err.text);
    memset(ids, 1, sizeof ids); /* so that no page is touched for the first time during the measurement */
    memset(ours_ns, 1, sizeof ours_ns);
    memset(yard_ns, 1, sizeof yard_ns);
    ids[0] = must_next(); /* The first number opens a connection. */
    run(WARM, ids);
    for (; samples > 0; samples--)
        sample();
    printf("{\"ids\": %zu, \"duplicates\": %zu}\n", used, bench_duplicates(ids, used));
    vesta_segment_close(seg);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 ? 0 : 1;
}
