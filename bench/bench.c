/* bench.c -- see bench.h. */
#include "bench.h"
#include "mapping/mapping.h"
#include "os/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t read_ns(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t bench_now_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

int64_t bench_cpu_ns(bool whole_process) {
    return read_ns(whole_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID);
}

_Noreturn void bench_die(const char *what) {
    fprintf(stderr, "bench: %s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

bool bench_tiny(void) {
    return getenv("BENCH_TINY") != NULL;
}

size_t bench_counted(size_t n) {
    if (getenv("BENCH_UNCOUNTED")) return 0;
    return bench_tiny() ? n / 100 : n;
}

/* ------------------------------------------------------------------ generators */

struct vs_map *bench_map(const char *path, const char *layout_text, enum vesta_pacing pacing, int64_t behind_us) {
    struct vs_header header = {.pacing = pacing, .worker = 1, .has_worker = 1, .group = -1};
    struct vs_mapping mapping;
    struct vs_anchor anchor;
    struct vesta_layout layout;
    struct vesta_error err;
    char why[VS_WHY_MAX];
    const struct vesta_clock *clock = vs_clock_system();
    if (vesta_layout_parse(layout_text, &layout, &err) != VESTA_OK) bench_die(err.text);
    vesta_layout_text(&layout, header.layout);
    header.fingerprint = layout.fingerprint;
    if (vs_maps_dir(header.maps) != 0) bench_die("VESTA_MAPS");
    if (vs_anchor_make(path, &header, &anchor, &err) != VESTA_OK) bench_die(err.text);
    if (vs_mapping_open(&anchor, clock, &mapping, why, &err) != VESTA_OK) bench_die(err.text);
    if (vs_map_active(mapping.map) >= 0) return mapping.map; /* another process was first */
    struct vs_shape shape;
    vs_shape_of(&layout, &shape);
    uint64_t from = vs_tick_at(&shape, clock->unix_us(clock->self) - behind_us);
    int slot = vs_slot_take(mapping.map, &(struct vs_claim){.worker = header.worker, .owner = {1, 1}, .from = from});
    vs_slot_publish(mapping.map, slot, vs_tick_end(&shape), 0);
    return mapping.map;
}

void bench_gen(struct vesta_gen *gen, struct vs_map *map) {
    struct vesta_layout layout;
    struct vesta_error err;
    if (vesta_layout_parse(map->header.layout, &layout, &err) != VESTA_OK) bench_die(err.text);
    vs_gen_init(gen, map, &layout, 0, vs_clock_system());
    vs_gen_read_late(gen, vs_clock_late_s, vs_clock_late_us);
}

/* ------------------------------------------------------------------ workers */

/* In shared memory, so that workers can also be processes. */
struct race {
    _Atomic int ready;
    int workers;
    int64_t ns;
    void (*op)(void *);
    void *arg;
    struct {
        _Alignas(256) uint64_t done;
        int64_t cpu_ns, wall_ns;
    } worker[BENCH_WORKERS_MAX];
};

/* Each worker reads the clock itself, so that no other thread needs a core to end the race. */
static void work(struct race *race, int i) {
    uint64_t done = 0;
    int64_t now, begin;
    race->op(race->arg); /* Warm up pages and caches before the clock starts. */
    atomic_fetch_add(&race->ready, 1);
    while (atomic_load_explicit(&race->ready, memory_order_acquire) < race->workers)
        ;
    int64_t cpu_ns = bench_cpu_ns(false);
    begin = bench_now_ns();
    do {
        race->op(race->arg);
        done += BENCH_STRIDE;
        now = bench_now_ns();
    } while (now - begin < race->ns);
    race->worker[i].wall_ns = now - begin;
    race->worker[i].cpu_ns = bench_cpu_ns(false) - cpu_ns;
    race->worker[i].done = done;
}

struct start {
    struct race *race;
    int i;
};

static void *thread_main(void *arg) {
    struct start *start = arg;
    work(start->race, start->i);
    return NULL;
}

static void race_threads(struct race *race) {
    pthread_t thread[BENCH_WORKERS_MAX];
    struct start start[BENCH_WORKERS_MAX];
    for (int i = 0; i < race->workers; i++) {
        start[i] = (struct start){race, i};
        if ((errno = pthread_create(&thread[i], NULL, thread_main, &start[i])) != 0) bench_die("a thread");
    }
    for (int i = 0; i < race->workers; i++)
        pthread_join(thread[i], NULL);
}

static void race_processes(struct race *race) {
    for (int i = 0; i < race->workers; i++) {
        pid_t pid = fork();
        if (pid < 0) bench_die("fork");
        if (pid == 0) {
            work(race, i);
            _exit(0);
        }
    }
    for (int i = 0; i < race->workers; i++)
        wait(NULL);
}

struct bench_rate bench_run(void (*op)(void *), void *arg, int workers, bool processes, int64_t ns) {
    struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (race == MAP_FAILED) bench_die("memory");
    race->op = op;
    race->arg = arg;
    race->workers = workers;
    race->ns = bench_tiny() ? ns / 20 : ns;
    (processes ? race_processes : race_threads)(race);
    struct bench_rate rate = {0, 1};
    for (int i = 0; i < workers; i++) {
        double wall_ns = (double)race->worker[i].wall_ns, share = (double)race->worker[i].cpu_ns / wall_ns;
        rate.per_second += (double)race->worker[i].done * 1e9 / wall_ns;
        rate.share = share < rate.share ? share : rate.share;
    }
    munmap(race, sizeof *race);
    return rate;
}

void bench_add(void *word) {
    for (int i = 0; i < BENCH_STRIDE; i++)
        atomic_fetch_add_explicit((_Atomic uint64_t *)word, 1, memory_order_acq_rel);
}

void bench_sample(void (*ours)(void *), void (*yard)(void *), void *arg, int workers) {
    struct bench_rate sum[2] = {{0, 1}, {0, 1}};
    for (int i = 0; i < 2 * BENCH_PIECES; i++) {
        struct bench_rate piece = bench_run(i % 2 ? ours : yard, arg, workers, false, BENCH_PIECE_NS),
                          *of = &sum[i % 2];
        of->per_second += piece.per_second / BENCH_PIECES;
        if (piece.share < of->share) of->share = piece.share;
    }
    printf("{\"ours\": %.4f, \"yard\": %.4f, \"share\": %.3f}\n", 1e9 / sum[1].per_second, 1e9 / sum[0].per_second,
           sum[0].share < sum[1].share ? sum[0].share : sum[1].share);
    fflush(stdout);
}

/* ------------------------------------------------------------------ duplicates */

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

size_t bench_duplicates(uint64_t *ids, size_t n) {
    size_t duplicates = 0;
    qsort(ids, n, sizeof *ids, compare);
    for (size_t i = 1; i < n; i++)
        duplicates += ids[i] == ids[i - 1];
    return duplicates;
}
