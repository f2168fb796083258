/* counted.c [UUIDS] -- eight processes issue that many UUIDs of version 7, and ids of 64 bits from the same file, fork,
 * and are killed with -9, one by one and all at once, while the clock is set back by 60 s.  Each is compared with all
 * others: its time and counter are a bit in memory that the processes share and that outlives them.  A bit that is
 * already set is a duplicate.  A UUID that is not greater than one that any process got before the call is an
 * inversion. */
#include "crowd.h"
#include "vesta_uuid.h"

#include <dlfcn.h>
#include <sys/prctl.h>

#define LAYOUT "snowflake" /* 4,096 UUIDs a millisecond, and the counter is rand_a */
#define COUNTER_BITS 12
#define SPAN ((uint64_t)1200000 << COUNTER_BITS) /* 20 minutes (only issued ticks use memory) */
#define PROCESSES 8
#define PACE_US 20000 /* mean time between two kills */
#define TURN_MAX 100000
#define BACK_S 60
#define BLOCK_US 500000 /* a longer wait for one time unit is a block */

static uint64_t wanted = 2000000;

struct shared {
    _Atomic uint64_t count, twice, inverted, outside, blocked, forks;
    _Atomic uint64_t highest; /* of the first halves of all UUIDs: time, version and counter */
    _Atomic uint64_t ids;
    _Atomic int64_t id_us, waited_us; /* when the last id was issued, and the longest time without one */
    _Atomic int shift_s;              /* how far the clock is set */
    _Atomic bool stop;
    uint64_t from_ms;
};
static struct shared *shared;
static _Atomic uint64_t *bits;

/* The clock of this program, of all its processes at once. */
int clock_gettime(clockid_t clock, struct timespec *ts) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(clock, ts);
    if (shared && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ts->tv_sec += atomic_load(&shared->shift_s);
    return rc;
}

static void *memory_for(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

static void mark(uint64_t unix_ms, uint64_t counter) {
    uint64_t at = (unix_ms - shared->from_ms) << COUNTER_BITS | counter;
    if (at >= SPAN)
        atomic_fetch_add(&shared->outside, 1);
    else if (atomic_fetch_or(&bits[at / 64], (uint64_t)1 << at % 64) >> at % 64 & 1)
        atomic_fetch_add(&shared->twice, 1);
}

static void look_at(const unsigned char *uuid, uint64_t before) {
    uint64_t high = 0;
    for (int i = 0; i < 8; i++)
        high = high << 8 | uuid[i];
    if (high <= before) atomic_fetch_add(&shared->inverted, 1);
    for (uint64_t was = atomic_load(&shared->highest);
         was < high && !atomic_compare_exchange_weak(&shared->highest, &was, high);)
        ;
    mark(high >> 16, high & ((1 << COUNTER_BITS) - 1));
}

static void note_wait(int64_t since_us) {
    int64_t waited_us = now_us() - since_us;
    for (int64_t was = atomic_load(&shared->waited_us);
         was < waited_us && !atomic_compare_exchange_weak(&shared->waited_us, &was, waited_us);)
        ;
}

/* Requests an id of 64 bits, which pauses while the clock is behind. */
static void use_id(struct vesta_gen *gen) {
    struct vesta_pause pause;
    struct vesta_parts parts;
    uint64_t id;
    if (vesta_next(gen, &id, &pause) != VESTA_OK) return;
    note_wait(atomic_exchange(&shared->id_us, now_us()));
    atomic_fetch_add(&shared->ids, 1);
    if (vesta_explain(vesta_gen_layout(gen), id, &parts, NULL) == VESTA_OK) mark((uint64_t)parts.unix_ms, parts.seq);
}

/* Waits for a time unit that is exhausted.  Only the first lease may take longer.  Another pause ends the count. */
static bool waited(struct vesta_gen *gen, unsigned char *uuid, const struct vesta_pause *pause) {
    struct vesta_pause later;
    bool is_short = pause->why == VESTA_FULL && pause->wait_us <= BLOCK_US;
    if ((is_short || atomic_load(&shared->count) == 0) &&
        vesta_next_uuid_wait(gen, VESTA_UUID7, uuid, 10 * 1000000, &later) == VESTA_OK)
        return true;
    if (atomic_fetch_add(&shared->blocked, 1) == 0)
        fprintf(stderr, "# blocked: %s for %" PRId64 " us\n", vesta_why_name(pause->why), pause->wait_us);
    atomic_store(&shared->stop, true);
    return false;
}

static void use(struct vesta_gen *gen, uint64_t count) {
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_pause pause;
    for (uint64_t i = 0; i < count && !atomic_load_explicit(&shared->stop, memory_order_relaxed); i++) {
        uint64_t before = atomic_load(&shared->highest);
        if (vesta_next_uuid(gen, VESTA_UUID7, uuid, &pause) != VESTA_OK && !waited(gen, uuid, &pause)) return;
        look_at(uuid, before);
        if (i % 64 == 0) use_id(gen);
        if (i % 64 == 63 || i == count - 1) atomic_fetch_add(&shared->count, i % 64 + 1);
    }
}

/* A child that issues beside its parent, with the same handle and the same key. */
static void use_with_child(struct vesta_gen *gen, uint64_t count) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        use(gen, count);
        _exit(0);
    }
    use(gen, count);
    atomic_fetch_add(&shared->forks, 1);
    waitpid(child, NULL, 0);
}

static void worker(uint64_t dice) {
    while (!atomic_load(&shared->stop)) {
        struct vesta_gen *gen = must_open((struct vesta_opts){.layout = LAYOUT, .any_worker = 1});
        for (int i = 0; gen && i < 5; i++)
            roll_below(&dice, 4) ? use(gen, roll_below(&dice, TURN_MAX))
                                 : use_with_child(gen, roll_below(&dice, TURN_MAX));
        vesta_close(gen);
    }
}

/* Sets the clock back after a third of the UUIDs.  It remains wrong until the end. */
static void set_clock_back(void) {
    bool is_due = atomic_load(&shared->shift_s) == 0 && atomic_load(&shared->count) > wanted / 3;
    if (is_due) atomic_store(&shared->shift_s, -BACK_S);
}

static void kill_one(pid_t *victim, uint64_t dice) {
    kill(*victim, SIGKILL);
    reap(*victim, true);
    *victim = spawn(worker, dice);
}

static void kill_all(pid_t *pids, uint64_t dice) {
    for (int i = 0; i < PROCESSES; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i], true);
    for (uint64_t i = 0; i < PROCESSES; i++)
        pids[i] = spawn(worker, dice + i);
}

static void counted(void) {
    pid_t pids[PROCESSES];
    struct timespec now;
    uint64_t dice = (uint64_t)now_us(), kills = 0, begun_us = (uint64_t)now_us();
    empty_folder();
    shared = memory_for(sizeof *shared);
    bits = memory_for(SPAN / 8);
    clock_gettime(CLOCK_REALTIME, &now);
    shared->from_ms = (uint64_t)(now.tv_sec - 2 * BACK_S) * 1000;
    atomic_store(&shared->id_us, now_us());
    for (uint64_t i = 0; i < PROCESSES; i++)
        pids[i] = spawn(worker, dice + i);
    for (; atomic_load(&shared->count) < wanted && !atomic_load(&shared->stop); kills++) {
        usleep((useconds_t)roll_below(&dice, 2 * PACE_US));
        set_clock_back();
        kill_one(&pids[roll_below(&dice, PROCESSES)], dice + kills);
        if (kills % 32 == 31) kill_all(pids, dice + kills), kills += PROCESSES;
    }
    atomic_store(&shared->stop, true);
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i], false);
    note_wait(atomic_load(&shared->id_us));
    printf("# %" PRIu64 " UUIDs and %" PRIu64 " ids of %d processes in %.0f s: %" PRIu64 " killed with -9, %" PRIu64
           " forks, clock set back by %d s; %" PRIu64 " duplicates, %" PRIu64 " inversions, %" PRIu64
           " blocked; ids waited for %.1f s\n",
           atomic_load(&shared->count), atomic_load(&shared->ids), PROCESSES,
           (double)((uint64_t)now_us() - begun_us) / 1e6, kills,
           atomic_load(&shared->forks), -atomic_load(&shared->shift_s), atomic_load(&shared->twice),
           atomic_load(&shared->inverted), atomic_load(&shared->blocked), (double)atomic_load(&shared->waited_us) / 1e6);
    CHECK_EQ_U64(atomic_load(&shared->twice), 0);
    CHECK_EQ_U64(atomic_load(&shared->inverted), 0);
    CHECK_EQ_U64(atomic_load(&shared->outside), 0);
    CHECK_EQ_U64(atomic_load(&shared->blocked), 0);
    CHECK(atomic_load(&shared->ids) > 0 && atomic_load(&shared->waited_us) < (2 * BACK_S + 5) * INT64_C(1000000));
    CHECK(kills > 0 && atomic_load(&shared->forks) > 0 && atomic_load(&shared->shift_s) == -BACK_S);
}

static const struct check_case cases[] = {
    {"UUIDs of eight processes, killed and forked, with the clock set back: no duplicate, no inversion", counted}};

int main(int argc, char **argv) {
    if (argc > 1) wanted = strtoull(argv[1], NULL, 10);
    return run_in_folder(cases, 1, NULL);
}
