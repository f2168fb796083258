/* bench.c -- `bench`: what an id costs on this machine, against the least that any shared counter costs, one atomic
 * add, measured in the same rounds.  Uses a private generator: no state is touched, no worker number taken. */
#include "cli/cli.h"
#include "command/options.h"
#include "os/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define ROUNDS 5
#define THREADS_MAX 2
#define CHUNK 4096 /* operations between two looks at the clock */
#define BATCH 256
#define NOISE_PERCENT 15 /* a plain add that varies by more says that others are at work here */
#define CPU_PERCENT 95   /* with less of its CPU time than this the bench was disturbed */
#define MS_DEFAULT 100
#define LINE 128 /* two cache lines: the adjacent-line prefetcher pairs them */

struct bench {
    struct vesta_gen *gen;
    const struct vesta_clock *machine;
    _Atomic int64_t ahead_us; /* how far the bench's clock runs ahead of the machine's */
    atomic_bool is_over;      /* the layout has no more time */
    int64_t span_us;          /* of one measurement */
    _Alignas(LINE) _Atomic uint64_t word;
};

/* ------------------------------------------------------------------ a clock that may be set forward
 *
 * A fast generator spends its time unit in a moment and would then be measured waiting.  So where a unit is used up
 * the next one begins at once; every id still pays for its reading of the real clock. */

static int64_t bench_unix_us(void *self) {
    struct bench *bench = self;
    return bench->machine->unix_us(bench->machine->self) + atomic_load_explicit(&bench->ahead_us, memory_order_relaxed);
}

static int64_t bench_boot_us(void *self) {
    struct bench *bench = self;
    return bench->machine->boot_us(bench->machine->self) + atomic_load_explicit(&bench->ahead_us, memory_order_relaxed);
}

static void bench_sleep_us(void *self, int64_t us) {
    atomic_fetch_add_explicit(&((struct bench *)self)->ahead_us, us, memory_order_relaxed);
}

/* False when waiting is of no use. */
static bool set_forward(struct bench *bench, const struct vesta_pause *pause) {
    if (pause->wait_us < 0) {
        atomic_store(&bench->is_over, true);
        return false;
    }
    bench_sleep_us(bench, pause->wait_us);
    return true;
}

/* ------------------------------------------------------------------ what is measured: a chunk of each */

static void add_chunk(struct bench *bench) {
    uint64_t sum = 0;
    for (int i = 0; i < CHUNK; i++)
        sum ^= atomic_fetch_add_explicit(&bench->word, 1, memory_order_relaxed);
    __asm__ volatile("" ::"r"(sum)); /* the value is used, as an id would be */
}

static void next_chunk(struct bench *bench) {
    struct vesta_pause pause;
    uint64_t id;
    for (int done = 0; done < CHUNK;) {
        if (vesta_next(bench->gen, &id, &pause) == VESTA_OK)
            done++;
        else if (!set_forward(bench, &pause))
            return;
    }
}

static void next_n_chunk(struct bench *bench) {
    struct vesta_pause pause;
    uint64_t ids[BATCH];
    for (size_t done = 0, got; done < CHUNK;) {
        size_t want = CHUNK - done < BATCH ? CHUNK - done : BATCH;
        if (vesta_next_n(bench->gen, ids, want, &got, &pause) == VESTA_OK)
            done += got;
        else if (!set_forward(bench, &pause))
            return;
    }
}

static const struct subject {
    const char *name, *key;
    void (*chunk)(struct bench *);
    int threads;
    int yard; /* the row it is compared with, or -1 */
} subjects[] = {
    {"atomic add, 1 thread", "add_1", add_chunk, 1, -1},
    {"next, 1 thread", "next_1", next_chunk, 1, 0},
    {"next_n of 256, 1 thread", "next_n_1", next_n_chunk, 1, 0},
    {"atomic add, 2 threads", "add_2", add_chunk, 2, -1},
    {"next, 2 threads", "next_2", next_chunk, 2, 3},
};
#define SUBJECTS (sizeof subjects / sizeof *subjects)

/* ------------------------------------------------------------------ measuring */

struct runner {
    struct bench *bench;
    const struct subject *subject;
    pthread_barrier_t *start;
    int64_t us;
    uint64_t done;
};

static int64_t now_us(const struct bench *bench) {
    return bench->machine->boot_us(bench->machine->self);
}

static void *run(void *arg) {
    struct runner *r = arg;
    r->subject->chunk(r->bench); /* warm */
    pthread_barrier_wait(r->start);
    int64_t start = now_us(r->bench), end = start + r->bench->span_us, now;
    do {
        r->subject->chunk(r->bench);
        r->done += CHUNK;
    } while ((now = now_us(r->bench)) < end && !atomic_load_explicit(&r->bench->is_over, memory_order_relaxed));
    r->us = now - start;
    return NULL;
}

/* Nanoseconds for one operation, all threads together; 0 where it could not be measured. */
static double measure(struct bench *bench, const struct subject *subject) {
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;
    struct runner runners[THREADS_MAX];
    double per_us = 0;
    int others = subject->threads - 1;
    pthread_barrier_init(&start, NULL, (unsigned)subject->threads);
    for (int i = 0; i < subject->threads; i++)
        runners[i] = (struct runner){bench, subject, &start, 0, 0};
    for (int i = 0; i < others; i++)
        if (pthread_create(&threads[i], NULL, run, &runners[i + 1]) != 0) abort(); /* would wait for ever */
    run(&runners[0]);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < subject->threads; i++)
        per_us += (double)runners[i].done / (double)(runners[i].us ? runners[i].us : 1);
    return atomic_load(&bench->is_over) ? 0 : 1000 / per_us;
}

/* ------------------------------------------------------------------ medians */

struct result {
    double ns, spread_percent, ratio; /* ratio: yard / subject of the same round; 0 where there is none */
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *values, double *spread_percent) {
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, by_value);
    if (spread_percent) *spread_percent = 100 * (sorted[ROUNDS - 1] - sorted[0]) / sorted[ROUNDS / 2];
    return sorted[ROUNDS / 2];
}

static void conclude(double ns[SUBJECTS][ROUNDS], struct result *results) {
    double ratios[ROUNDS];
    for (size_t s = 0; s < SUBJECTS; s++) {
        results[s].ns = median(ns[s], &results[s].spread_percent);
        results[s].ratio = 0;
        if (subjects[s].yard < 0) continue;
        for (int r = 0; r < ROUNDS; r++)
            ratios[r] = ns[subjects[s].yard][r] / ns[s][r];
        results[s].ratio = median(ratios, NULL);
    }
}

static int measure_all(struct bench *bench, struct result *results) {
    double ns[SUBJECTS][ROUNDS];
    struct vs_progress progress = {.began_us = 0};
    for (int r = 0; r < ROUNDS; r++)
        for (size_t s = 0; s < SUBJECTS; s++) {
            ns[s][r] = measure(bench, &subjects[s]);
            vs_progress_show(&progress, "measurements", (uint64_t)r * SUBJECTS + s + 1, ROUNDS * SUBJECTS);
            if (ns[s][r] > 0) continue;
            vs_say("the layout's time ran out; it is too short for a benchmark");
            return VS_FAILED;
        }
    vs_progress_end();
    conclude(ns, results);
    return VS_DONE;
}

/* ------------------------------------------------------------------ the report */

static void print_report(const struct vesta_info *info, const char *name, const struct result *results, uint64_t ms) {
    char grouped[VS_GROUPED_MAX];
    vs_outf("%s, %s pacing, %d rounds of %" PRIu64 " ms: medians, and ratios within a round\n\n", name,
            info->pacing == VESTA_PACING_HISTORY ? "history" : "clock", ROUNDS, ms);
    vs_outf("  %-26s %8s  %14s  %6s  %10s\n", "", "ns each", "a second", "spread", "to the add");
    for (size_t s = 0; s < SUBJECTS; s++) {
        const struct result *r = &results[s];
        vs_outf("  %-26s %8.2f  %14s  %4.0f %%", subjects[s].name, r->ns, vs_grouped((uint64_t)(1e9 / r->ns), grouped),
                r->spread_percent);
        if (r->ratio > 0) vs_outf("  %10.2f", r->ratio);
        vs_outf("\n");
    }
    vs_outf("\nThis layout gives one worker %s ids per second.  When they are used up, the bench\n"
            "sets its clock forward, so that the figures measure the code and not waiting.\n",
            vs_grouped(vs_per_second(&info->layout), grouped));
}

static void print_json(const struct vesta_info *info, const struct result *results) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    vesta_layout_text(&info->layout, text);
    vs_outf("{\"layout\":\"%s\",\"pacing\":\"%s\",\"per_second_max\":%" PRIu64, text,
            info->pacing == VESTA_PACING_HISTORY ? "history" : "clock", vs_per_second(&info->layout));
    for (size_t s = 0; s < SUBJECTS; s++) {
        const struct result *r = &results[s];
        vs_outf(",\"%s\":{\"ns\":%.3f,\"spread_percent\":%.1f", subjects[s].key, r->ns, r->spread_percent);
        if (r->ratio > 0) vs_outf(",\"to_add\":%.3f", r->ratio);
        vs_outf("}");
    }
    vs_outf("}\n");
}

/* Of the CPU time that the threads should have had, what they got; a stolen share spoils the rows of two threads
 * most, which then hardly meet. */
static double percent_of_cpu(const struct bench *bench) {
    struct rusage used;
    double threads = 0;
    for (size_t s = 0; s < SUBJECTS; s++)
        threads += subjects[s].threads;
    getrusage(RUSAGE_SELF, &used);
    double used_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
                     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return 100 * used_us / (threads * ROUNDS * (double)bench->span_us);
}

static void warn_of_noise(const struct bench *bench, const struct result *results) {
    double cpu = percent_of_cpu(bench), spread = results[0].spread_percent;
#ifndef __OPTIMIZE__
    vs_say("warning: this program was built without optimisation; its figures mean nothing");
#endif
    if (cpu < CPU_PERCENT || spread > NOISE_PERCENT)
        vs_say("warning: this machine is busy (the bench had %.0f %% of its CPU time, a plain add varied by "
               "%.0f %%): these figures mean little",
               cpu < 100 ? cpu : 100, spread);
}

static int run_bench(int argc, char **argv) {
    static struct bench bench;
    const struct vesta_clock clock = {&bench, bench_unix_us, bench_boot_us, bench_sleep_us};
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = VS_LAYOUT_DEFAULT,
                              .has_worker = 1,
                              .flags = VESTA_UNSAFE_PRIVATE,
                              .clock = &clock};
    struct result results[SUBJECTS];
    struct vesta_error err;
    struct vesta_info info;
    uint64_t ms = MS_DEFAULT;
    int json = 0;
    bench.machine = vs_clock_system();
    const struct vs_option table[] = {
        VS_TEXT("layout", &opts.layout, "TEXT|PRESET", "the layout (default: vesta-second)"),
        VS_ENUM("pacing", &opts.pacing, "clock|history", "follow the clock, or count up (default: clock)"),
        {"ms", 0, VS_OPT_COUNT, &ms, "MS", "length of one measurement; there are 25 (default: 100)", 1, 10000, NULL},
        VS_SWITCH("json", &json, "print a JSON object"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s; bench takes only options", vs_shown_text(argv[0]));
    if (vesta_open(&opts, &bench.gen, &err) != VESTA_OK) return vs_report(&err);
    bench.span_us = (int64_t)ms * 1000;
    vesta_get_info(bench.gen, &info);
    rc = measure_all(&bench, results);
    vesta_close(bench.gen);
    if (rc != VS_DONE) return rc;
    if (json)
        print_json(&info, results);
    else
        print_report(&info, opts.layout, results, ms);
    warn_of_noise(&bench, results);
    return VS_DONE;
}

const struct vs_command vs_bench_command = {
    "bench", run_bench, "measure what an id costs on this machine", "bench [OPTION...]",
    "Measures what one id costs in a program that uses the library, next to the least that any shared\n"
    "counter can cost: one atomic add, in the same rounds.  Touches no state and takes no worker number;\n"
    "its ids are thrown away.  Takes a few seconds.\n"
    "\n"
    "  $ vesta bench\n"
    "  vesta-second, clock pacing, 5 rounds of 100 ms: medians, and ratios ...\n"
    "  ...\n"
    "  $ vesta bench --pacing history \\\n"
    "    --layout \"time:31 seq:22 worker:10 unit=1s epoch=2026-01-01T00:00:00Z\"\n"
    "  ...\n"};
