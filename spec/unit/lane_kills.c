/* lane_kills.c [IDS] -- eight processes issue that many ids by lanes, are killed with -9, fork, and end leases and
 * lanes at random.  Each id is compared with all others: its tick is a bit in memory that the processes share and that
 * outlives them.  A bit that is already set is a duplicate. */
#include "crowd.h"
#include "vesta_lane.h"

#include <sys/prctl.h>

/* An id is a tick and, below it, the worker id.  2^26 ticks a second, so that no caller waits for the clock. */
#define LAYOUT "sign:1=0 time:31 seq:26 worker:6 unit=1s epoch=2020-01-01T00:00:00Z"
#define SEQ_BITS 26
#define WORKER_BITS 6
#define SPAN ((uint64_t)1 << 36) /* ticks of a worker id in a quarter of an hour (only issued ticks use memory) */
#define BITS (SPAN << WORKER_BITS)
#define DROPS_MAX 40 /* each drop leaves its worker id unused for a while, and there are 64 */
#define AHEAD_MS 360000
#define PROCESSES 8
#define PACE_US 50000 /* mean time between two kills */
#define TURN_MAX 200000

static uint64_t wanted = 30000000;

struct shared {
    _Atomic uint64_t distinct, twice, outside, disordered, forks, drops, lanes;
    _Atomic bool stop;
    uint64_t from; /* the tick of the first bit */
};
static struct shared *shared;
static _Atomic uint64_t *bits;

static void *memory_for(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

/* Collects ids with bits in the same word. */
struct sheaf {
    uint64_t word, mask, last, number;
};

static void put_down(struct sheaf *sheaf) {
    if (!sheaf->mask) return;
    uint64_t was = atomic_fetch_or(&bits[sheaf->word], sheaf->mask);
    atomic_fetch_add(&shared->distinct, (uint64_t)__builtin_popcountll(sheaf->mask & ~was));
    if (was & sheaf->mask) atomic_fetch_add(&shared->twice, (uint64_t)__builtin_popcountll(was & sheaf->mask));
    sheaf->mask = 0;
}

static void look_at(struct sheaf *sheaf, uint64_t id) {
    uint64_t number = id & ((1 << WORKER_BITS) - 1), at = (id >> WORKER_BITS) - shared->from;
    if (at >= SPAN) {
        atomic_fetch_add(&shared->outside, 1);
        return;
    }
    if (id >> WORKER_BITS <= sheaf->last && number == sheaf->number) atomic_fetch_add(&shared->disordered, 1);
    sheaf->last = id >> WORKER_BITS;
    sheaf->number = number;
    at += number * SPAN;
    if (at / 64 != sheaf->word || sheaf->mask >> at % 64 & 1)
        put_down(sheaf); /* put down first, so that a repeated id is counted as a duplicate */
    sheaf->word = at / 64;
    sheaf->mask |= (uint64_t)1 << at % 64;
}

static void use(struct vesta_lane *lane, uint64_t count) {
    struct sheaf sheaf = {.word = 0};
    struct vesta_pause pause;
    uint64_t id;
    for (; count > 0 && !atomic_load_explicit(&shared->stop, memory_order_relaxed); count--) {
        if (vesta_lane_next(lane, &id, &pause) != VESTA_OK &&
            vesta_lane_next_wait(lane, &id, 1000000, &pause) != VESTA_OK)
            break;
        look_at(&sheaf, id);
    }
    put_down(&sheaf);
}

/* A child that uses the lane in parallel with its parent, and ends with it. */
static pid_t leave_child(struct vesta_lane *lane, uint64_t count) {
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    use(lane, count);
    _exit(0);
}

static void worker(uint64_t dice) {
    struct vesta_gen *gen = must_open((struct vesta_opts){
        .layout = LAYOUT, .pacing = VESTA_PACING_HISTORY, .ahead_ms_max = AHEAD_MS, .any_worker = 1});
    while (gen && !atomic_load(&shared->stop)) {
        struct vesta_lane *lane = NULL;
        uint64_t n = 1 + roll_below(&dice, roll_below(&dice, 8) ? 128 : VESTA_LANE_MAX);
        CHECK(vesta_lane_open(gen, n, &lane, NULL) == VESTA_OK);
        atomic_fetch_add(&shared->lanes, 1);
        use(lane, roll_below(&dice, TURN_MAX));
        pid_t child = roll_below(&dice, 50) == 0 ? leave_child(lane, roll_below(&dice, TURN_MAX)) : -1;
        use(lane, roll_below(&dice, TURN_MAX));
        if (child > 0) {
            atomic_fetch_add(&shared->forks, 1);
            waitpid(child, NULL, 0);
        }
        if (roll_below(&dice, 100) == 0 && atomic_fetch_add(&shared->drops, 1) < DROPS_MAX)
            CHECK(vesta_drop(gen) == VESTA_OK);
        vesta_lane_close(lane);
    }
    vesta_close(gen);
}

static uint64_t start(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec - 1577836800 - 60) << SEQ_BITS; /* a minute ago, counted from the layout's epoch */
}

static void counted(void) {
    pid_t pids[PROCESSES];
    uint64_t dice = (uint64_t)now_us(), kills = 0, begun_us = (uint64_t)now_us();
    empty_folder();
    shared = memory_for(sizeof *shared);
    bits = memory_for(BITS / 8);
    shared->from = start();
    for (uint64_t i = 0; i < PROCESSES; i++)
        pids[i] = spawn(worker, dice + i);
    for (; atomic_load(&shared->distinct) < wanted && !atomic_load(&check_failures); kills++) {
        usleep((useconds_t)roll_below(&dice, 2 * PACE_US));
        pid_t *victim = &pids[roll_below(&dice, PROCESSES)];
        kill(*victim, SIGKILL);
        reap(*victim, true);
        *victim = spawn(worker, dice + kills);
    }
    atomic_store(&shared->stop, true);
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i], false);
    printf("# %" PRIu64 " ids by %" PRIu64 " lanes of %d processes in %.0f s: %" PRIu64 " killed with -9, %" PRIu64
           " forks, %" PRIu64 " leases ended; %" PRIu64 " duplicates\n",
           atomic_load(&shared->distinct), atomic_load(&shared->lanes), PROCESSES,
           (double)((uint64_t)now_us() - begun_us) / 1e6, kills, atomic_load(&shared->forks),
           atomic_load(&shared->drops) < DROPS_MAX ? atomic_load(&shared->drops) : DROPS_MAX,
           atomic_load(&shared->twice));
    CHECK_EQ_U64(atomic_load(&shared->twice), 0);
    CHECK_EQ_U64(atomic_load(&shared->outside), 0);
    CHECK_EQ_U64(atomic_load(&shared->disordered), 0);
    CHECK(kills > 0);
    munmap((void *)bits, BITS / 8);
}

static const struct check_case cases[] = {{"ids by lanes of eight processes that are killed: no duplicate", counted}};

int main(int argc, char **argv) {
    if (argc > 1) wanted = strtoull(argv[1], NULL, 10);
    return run_in_folder(cases, 1, NULL);
}
