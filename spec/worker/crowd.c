/* crowd.c -- many processes claim, hold, renew and release few worker ids of a real store, and some are killed while
 * they hold one.  Counted: two processes with one worker id at one time, and times of ids that two leases share. */
#include "crowd.h"

#include "os/clock.h"
#include "worker/worker.h"

#define CROWD 16
#define IDS_OF_WORKERS 8
#define TERMS_MAX 65536
#define LAYOUT_8 "sign:1 time:41 worker:3 seq:19 unit=1ms epoch=2020-01-01T00:00:00Z"

struct term {
    uint64_t worker, fence;
    int64_t from_ms, until_ms; /* the times of its ids */
};

static struct shared {
    _Atomic int holder[IDS_OF_WORKERS]; /* the pid of the process that has the worker id.  0: none */
    _Atomic int doubled, kills, waits;
    _Atomic size_t count;
    struct term term[TERMS_MAX];
} * shared;

static const char *scheme;

static int64_t wall_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->unix_us(clock->self) / 1000;
}

static void hold(struct vs_worker *w, uint64_t *dice) {
    struct vesta_error err;
    uint64_t worker = w->key.worker;
    enum vs_worker_end end = VS_WORKER_HELD;
    int none = 0;
    while (wall_ms() < w->starts_ms)
        usleep(200);
    if (wall_ms() >= w->expires_ms) { /* this process was not scheduled for the whole ttl */
        vs_worker_release(w, VS_WORKER_UNUSED, &err);
        return;
    }
    struct term term = {.worker = worker, .fence = w->fence, .from_ms = wall_ms()};
    if (!atomic_compare_exchange_strong(&shared->holder[worker], &none, (int)getpid()))
        atomic_fetch_add(&shared->doubled, 1);
    for (uint64_t i = roll_below(dice, 4); i > 0 && end == VS_WORKER_HELD; i--) {
        usleep((useconds_t)roll_below(dice, 4000));
        end = vs_worker_renew(w, &err);
    }
    int64_t now_ms = wall_ms();
    term.until_ms = now_ms < w->expires_ms ? now_ms : w->expires_ms - 1;
    bool is_in_time = vs_clock_system()->boot_us(NULL) < w->deadline_boot_us;
    if (is_in_time) atomic_store(&shared->holder[worker], 0);
    size_t at = atomic_fetch_add(&shared->count, 1);
    if (at < TERMS_MAX) shared->term[at] = term;
    if (!is_in_time) atomic_store(&shared->holder[worker], 0); /* the machine was too slow, so nothing is counted */
    if (roll_below(dice, 40) == 0) {
        atomic_fetch_add(&shared->kills, 1);
        _exit(0);
    }
    if (end != VS_WORKER_LOST) vs_worker_release(w, term.until_ms, &err);
}

static void member(uint64_t seed, int64_t until_ms) {
    char uri[160];
    uint64_t dice = seed;
    struct vs_store *store;
    struct vesta_error err;
    struct vesta_layout layout = parsed(LAYOUT_8);
    struct vs_worker w;
    snprintf(uri, sizeof uri, "%s:%s", scheme, in_folder("store"));
    const struct vs_store_opts opts = {.namespace_ = "crowd", .group = -1, .clock = vs_clock_system()};
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) _exit(3);
    const struct vs_lineage at = {.uri = uri, .name = "crowd", .clock = vs_clock_system(), .store = store};
    while (check_now_ms() < until_ms) {
        struct vs_worker_ask ask = {.layout = &layout, .ttl_ms = 1000, .holder = "a member"};
        if (vs_worker_init(&w, &at, &ask, &err) != VESTA_OK) _exit(3);
        if (vs_worker_claim(&w, &err) == VS_WORKER_HELD)
            hold(&w, &dice);
        else
            atomic_fetch_add(&shared->waits, 1), usleep((useconds_t)roll_below(&dice, 5000));
    }
    _exit(0);
}

static int by_worker_and_time(const void *a, const void *b) {
    const struct term *x = a, *y = b;
    if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
    return x->fence < y->fence ? -1 : x->fence > y->fence;
}

static void many_processes(void) {
    int64_t until_ms = check_now_ms() + 2500;
    pid_t pid[CROWD];
    uint64_t shared_times = 0;
    empty_folder();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(shared != MAP_FAILED);
    memset(shared, 0, sizeof *shared);
    for (int i = 0; i < CROWD; i++)
        if ((pid[i] = fork()) == 0) member((uint64_t)i + 1, until_ms);
    for (uint64_t seed = 100, status; check_now_ms() < until_ms; seed++) { /* another one for each that was killed */
        int code;
        pid_t ended = waitpid(-1, &code, 0);
        status = (uint64_t)code;
        CHECK_EQ_U64(status, 0);
        if (ended <= 0) break;
        if (check_now_ms() < until_ms && fork() == 0) member(seed, until_ms);
    }
    while (wait(NULL) > 0)
        ;
    size_t count = atomic_load(&shared->count);
    NEED(count <= TERMS_MAX);
    qsort(shared->term, count, sizeof *shared->term, by_worker_and_time);
    for (size_t i = 1; i < count; i++) {
        const struct term *was = &shared->term[i - 1], *is = &shared->term[i];
        if (was->worker == is->worker) shared_times += is->from_ms <= was->until_ms || is->fence == was->fence;
    }
    printf("# %s: %d processes, %zu leases of %d worker ids, %d killed, %d claims that had to wait: %d held twice, "
           "%" PRIu64 " with a shared time\n",
           scheme, CROWD, count, IDS_OF_WORKERS, atomic_load(&shared->kills), atomic_load(&shared->waits),
           atomic_load(&shared->doubled), shared_times);
    CHECK(count > 20);
    CHECK(atomic_load(&shared->kills) > 0);
    CHECK_EQ_I64(atomic_load(&shared->doubled), 0);
    CHECK_EQ_U64(shared_times, 0);
    munmap(shared, sizeof *shared);
}

static void on_file(void) {
    scheme = "file";
    many_processes();
}

static void on_sqlite(void) {
    struct vesta_error err;
    scheme = "sqlite";
    if (vs_store_of("sqlite:/x", &err)) many_processes();
}

static const struct check_case cases[] = {
    {"of many processes on file:, no two hold one worker id at one time, and no two leases share a time", on_file},
    {"of many processes on sqlite:, no two hold one worker id at one time, and no two leases share a time", on_sqlite},
};

CHECK_MAIN_IN_FOLDER(cases)
