/* core.c -- the rows inside a process: ids against atomic adds, in the same run. Each sample alternates short pieces
 * of the yardstick and of ours, so that a disturbance slows both.
 *
 *     bench_core ROW SAMPLES      one JSON object per line; the rows are listed below
 *     bench_core yard             nanoseconds per atomic add, for other rows */
#include "bench.h"
#include "vesta_lane.h"
#include "vesta_past.h"
#include "vesta_uuid.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_PIECE_NS 1500000
/* With clock pacing, vesta-second issues at most 1,048,576 ids per second, and a sample must need fewer. */
/* Snowflake's unit, with more ids per millisecond than a sample makes. snowflake itself has 4096. */
#define MILLI "sign:1 time:41 worker:2 seq:20 unit=1ms epoch=2020-01-01T00:00:00Z"
#define COUNTED 1000000 /* ids per worker, sorted to find duplicates, after the samples */
#define BATCH 256
#define LANE 64
#define PAST_MS INT64_C(1609459200000) /* the rows of the import begin in 2021 */
#define PAST_ROWS 8                    /* rows of each millisecond */

/* Everything that a worker uses, in shared memory, so that two processes also share the yardstick's word. */
struct bench {
    _Alignas(VS_LINE) _Atomic uint64_t word;       /* the yardstick. bench_add needs it first */
    _Alignas(VS_LINE) struct vesta_gen gen, local; /* local: the yardstick of a shared lease is a local lease */
    struct vesta_past *past;                       /* of the row `past` */
    uint64_t past_rows;
    size_t counted;
    uint64_t ids[BENCH_WORKERS_MAX * (COUNTED + BENCH_STRIDE)];
};

static void must(int rc) {
    if (rc != VESTA_OK) {
        errno = 0;
        bench_die("an id was refused");
    }
}

/* ------------------------------------------------------------------ operations */

static void next_stride(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    for (int i = 0; i < BENCH_STRIDE; i++)
        must(vesta_next(gen, &id, &pause));
}

static void op_next(void *arg) {
    next_stride(&((struct bench *)arg)->gen);
}

static void op_local(void *arg) {
    next_stride(&((struct bench *)arg)->local);
}

static void op_batch(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    uint64_t ids[BATCH];
    size_t got;
    for (int i = 0; i < BENCH_STRIDE; i += (int)got)
        must(vesta_next_n(&b->gen, ids, BATCH, &got, &pause));
}

/* Returns the calling thread's lane, which ends with its piece. */
static struct vesta_lane *own_lane(struct bench *b) {
    static _Thread_local struct vesta_lane *lane;
    if (!lane) must(vesta_lane_open(&b->gen, LANE, &lane, NULL));
    return lane;
}

static void op_lane(void *arg) {
    struct vesta_lane *lane = own_lane(arg);
    struct vesta_pause pause;
    uint64_t id;
    for (int i = 0; i < BENCH_STRIDE; i++)
        must(vesta_lane_next(lane, &id, &pause));
}

static void op_uuid7(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    unsigned char uuid[VESTA_UUID_BYTES];
    for (int i = 0; i < BENCH_STRIDE; i++)
        must(vesta_next_uuid(&b->gen, VESTA_UUID7, uuid, &pause));
}

static void op_uuid7_batch(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    unsigned char uuids[BATCH * VESTA_UUID_BYTES];
    size_t got;
    for (int i = 0; i < BENCH_STRIDE; i += (int)got)
        must(vesta_next_uuid_n(&b->gen, VESTA_UUID7, uuids, BATCH, &got, &pause));
}

/* Numbers sorted rows of the past, as an import does. */
static void past_stride(struct bench *b, uint64_t *ids) {
    for (int i = 0; i < BENCH_STRIDE; i++)
        must(vesta_past_next(b->past, PAST_MS + (int64_t)(b->past_rows++ / PAST_ROWS), &ids[i], NULL));
}

static void op_past(void *arg) {
    uint64_t ids[BENCH_STRIDE];
    past_stride(arg, ids);
}

static void op_clock(void *arg) {
    (void)arg;
    struct timespec ts;
    for (int i = 0; i < BENCH_STRIDE; i++)
        clock_gettime(CLOCK_REALTIME, &ts);
}

/* Stores ids for the count. Each worker uses its own part of the array. */
static void op_count(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    size_t at = __atomic_fetch_add(&b->counted, BENCH_STRIDE, __ATOMIC_RELAXED);
    if (at + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    for (size_t i = 0; i < BENCH_STRIDE; i++)
        must(vesta_next(&b->gen, &b->ids[at + i], &pause));
}

static void op_count_lane(void *arg) {
    struct bench *b = arg;
    struct vesta_lane *lane = own_lane(b);
    struct vesta_pause pause;
    size_t at = __atomic_fetch_add(&b->counted, BENCH_STRIDE, __ATOMIC_RELAXED);
    if (at + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    for (size_t i = 0; i < BENCH_STRIDE; i++)
        must(vesta_lane_next(lane, &b->ids[at + i], &pause));
}

static void op_count_batch(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    size_t at = __atomic_fetch_add(&b->counted, BENCH_STRIDE, __ATOMIC_RELAXED), got;
    if (at + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    for (size_t i = 0; i < BENCH_STRIDE; i += got)
        must(vesta_next_n(&b->gen, &b->ids[at + i], BENCH_STRIDE - i < BATCH ? BENCH_STRIDE - i : BATCH, &got, &pause));
}

static void op_count_past(void *arg) {
    struct bench *b = arg;
    if (b->counted + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    past_stride(b, &b->ids[b->counted]);
    b->counted += BENCH_STRIDE;
}

/* Stores the tick of each UUID, which its time and counter contain. */
static void op_count_uuid7(void *arg) {
    struct bench *b = arg;
    struct vesta_pause pause;
    struct vesta_uuid_parts parts;
    unsigned char uuid[VESTA_UUID_BYTES];
    size_t at = __atomic_fetch_add(&b->counted, BENCH_STRIDE, __ATOMIC_RELAXED);
    if (at + BENCH_STRIDE > sizeof b->ids / sizeof *b->ids) return;
    for (size_t i = 0; i < BENCH_STRIDE; i++) {
        must(vesta_next_uuid(&b->gen, VESTA_UUID7, uuid, &pause));
        must(vesta_uuid_explain(&b->gen.layout, VESTA_UUID7, uuid, &parts, NULL));
        b->ids[at + i] = parts.tick;
    }
}

/* ------------------------------------------------------------------ rows */

static const struct row {
    const char *name, *layout;
    enum vesta_pacing pacing;
    int64_t behind_us;
    int workers;
    bool processes, clock; /* clock: a bare read of the clock is measured as well */
    bool shared;           /* the lease has a deadline, like leases of shared stores, and op_local is the yardstick */
    void (*op)(void *), (*count)(void *);
} rows[] = {
    {"history", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, false, op_next, op_count},
    {"threads", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 2, false, false, false, op_next, op_count},
    {"processes", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 2, true, false, false, op_next, op_count},
    {"lane", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, false, op_lane, op_count_lane},
    {"lanes", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 2, false, false, false, op_lane, op_count_lane},
    {"clock", BENCH_W, VESTA_PACING_CLOCK, 0, 1, false, true, false, op_next, op_count},
    {"clock_second", "vesta-second", VESTA_PACING_CLOCK, 0, 1, false, true, false, op_next, op_count},
    {"clock_milli", MILLI, VESTA_PACING_CLOCK, 0, 1, false, true, false, op_next, op_count},
    {"uuid7", MILLI, VESTA_PACING_CLOCK, 0, 1, false, true, false, op_uuid7, op_count_uuid7},
    {"uuid7_batch", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, false, op_uuid7_batch,
     op_count_uuid7},
    {"batch", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, false, op_batch, op_count_batch},
    {"past", MILLI, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, false, op_past, op_count_past},
    {"lease", BENCH_W, VESTA_PACING_HISTORY, BENCH_DAY_US, 1, false, false, true, op_next, op_count},
    {"lease_clock", BENCH_W, VESTA_PACING_CLOCK, 0, 1, false, true, true, op_next, op_count},
};

/* Adds the rate of a piece. A worker without its own core makes the sample's share small. */
static void piece(struct bench *b, const struct row *row, void (*op)(void *), double *rate, double *share) {
    struct bench_rate r = bench_run(op, b, row->workers, row->processes, row->clock ? CLOCK_PIECE_NS : BENCH_PIECE_NS);
    *rate += r.per_second / BENCH_PIECES;
    *share = r.share < *share ? r.share : *share;
}

/* With clock pacing the ids of a second can be exhausted, so each sample starts in a new second, after its first
 * milliseconds, when the kernel's coarse clock shows it. */
static void fresh_second(void) {
    struct timespec now;
    if (bench_tiny()) return; /* A tiny run does not exhaust a second. */
    clock_gettime(CLOCK_REALTIME, &now);
    now = (struct timespec){.tv_sec = now.tv_sec + 1, .tv_nsec = 20000000};
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &now, NULL);
}

static void sample(struct bench *b, const struct row *row) {
    double ours = 0, yard = 0, clock = 0, share = 1;
    if (row->clock) fresh_second();
    for (int i = 0; i < BENCH_PIECES; i++) {
        piece(b, row, row->shared ? op_local : bench_add, &yard, &share);
        piece(b, row, row->op, &ours, &share);
        if (row->clock) piece(b, row, op_clock, &clock, &share);
    }
    printf("{\"ours\": %.4f, \"yard\": %.4f, \"share\": %.3f", 1e9 / ours, 1e9 / yard, share);
    if (row->clock) printf(", \"clock_read\": %.4f", 1e9 / clock);
    puts("}");
    fflush(stdout);
}

static void count(struct bench *b, const struct row *row) {
    while (b->counted < (size_t)row->workers * bench_counted(COUNTED)) {
        if (row->clock) fresh_second();
        bench_run(row->count, b, row->workers, row->processes, row->clock ? BENCH_PIECE_NS / 5 : BENCH_PIECE_NS / 10);
    }
    size_t most = sizeof b->ids / sizeof *b->ids / BENCH_STRIDE * BENCH_STRIDE,
           n = b->counted < most ? b->counted : most;
    printf("{\"ids\": %zu, \"duplicates\": %zu}\n", n, bench_duplicates(b->ids, n));
}

static int yard(struct bench *b) {
    printf("%.4f\n", 1e9 / bench_run(bench_add, b, 1, false, BENCH_PIECE_NS / 2).per_second);
    return 0;
}

/* Opens a generator in a file that is deleted as soon as it is mapped. */
static void open_gen(const char *dir, const struct row *row, bool shared, struct vesta_gen *gen) {
    char path[64];
    snprintf(path, sizeof path, "%s/w.gen", dir);
    struct vs_map *map = bench_map(path, row->layout, row->pacing, row->behind_us);
    if (shared) vs_slot_raise(&map->slot[0], 0, INT64_MAX); /* a distant deadline that is checked but never reached */
    bench_gen(gen, map);
    unlink(path);
    strcat(path, ".lock");
    unlink(path);
}

/* Leases the past range from a store in the folder. */
static void open_past(const char *dir, struct bench *b) {
    char path[64], store[64];
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_past_span span = {.from_ms = PAST_MS, .until_ms = PAST_MS + 2 * 365 * BENCH_DAY_US / 1000};
    struct vesta_error err;
    snprintf(path, sizeof path, "%s/past.gen", dir); /* it does not exist, so no user's file is read */
    snprintf(store, sizeof store, "file:%s/store", dir);
    opts.path = path;
    opts.store = store;
    opts.layout = MILLI;
    if (vesta_past_open(&opts, &span, &b->past, &err) != VESTA_OK) bench_die(err.text);
}

static int remove_file(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/vesta-bench.XXXXXX";
    const struct row *row = rows, *end = rows + sizeof rows / sizeof *rows;
    struct bench *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) bench_die("memory");
    if (argc == 2 && strcmp(argv[1], "yard") == 0) return yard(b);
    while (argc == 3 && row < end && strcmp(row->name, argv[1]) != 0)
        row++;
    if (argc != 3 || row == end) {
        fputs("usage: bench_core ROW SAMPLES (see the head of core.c), or bench_core yard\n", stderr);
        return 2;
    }
    if (!mkdtemp(dir)) bench_die("a folder");
    open_gen(dir, row, row->shared, &b->gen);
    open_gen(dir, row, false, &b->local);
    if (row->op == op_past) open_past(dir, b);
    for (int i = atoi(argv[2]); i > 0; i--)
        sample(b, row);
    count(b, row);
    vesta_past_close(b->past);
    nftw(dir, remove_file, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
