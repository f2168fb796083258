/* importers.c -- importers of past dates beside live issue, on a real store, with kill -9.  Counted: equal ids.
 *
 *     past_importers [SCHEME [IDS]]      in a test: file and sqlite, 1,000,000 ids.  The long form: 10,000,000 */
#include "crowd.h"

#include "vesta_past.h"

#define IMPORTERS 8
#define LIVE 2
#define WORKERS_8192 "sign:1 time:41 worker:13 seq:9 unit=1ms epoch=2015-01-01T00:00:00Z"
#define YEAR_2019_MS INT64_C(1546300800000)
#define DAY_MS INT64_C(86400000)
#define QUARTER_MS (DAY_MS / 4)
#define ROWS_MAX 4000
#define BATCH 128

static struct counted {
    _Atomic size_t used, live, leases, full;
    uint64_t ids[];
} * counted;

static const char *scheme = "file";
static size_t goal = 1000000;

static size_t bytes(void) {
    return sizeof *counted + (2 * goal + BATCH * (IMPORTERS + LIVE) * 4000) * sizeof(uint64_t);
}

static void count_ids(const uint64_t *ids, size_t n) {
    size_t at = atomic_fetch_add(&counted->used, n);
    memcpy(counted->ids + at, ids, n * sizeof *ids);
}

static bool is_done(void) {
    return atomic_load(&counted->used) >= goal;
}

static struct vesta_opts options(char uri[200]) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    snprintf(uri, 200, "%s:%s", scheme, in_folder("store"));
    opts.store = uri;
    opts.namespace_ = "import";
    opts.layout = WORKERS_8192;
    return opts;
}

/* Imports rows at random times, sorted.  Many rows have one time, so that their ids continue in the next units.  Starts
 * and times are round, so that importers with one worker id would issue equal ids. */
static void import(struct vesta_past *past, struct vesta_past_span span, uint64_t *dice) {
    struct vesta_error err;
    uint64_t ids[BATCH];
    int64_t at_ms = span.from_ms;
    for (uint64_t rows = roll_below(dice, ROWS_MAX) / BATCH; rows > 0 && !is_done(); rows--) {
        size_t got = 0;
        if (roll_below(dice, 4) == 0) at_ms += 1000 * (int64_t)roll_below(dice, 300);
        while (got < BATCH && at_ms < span.until_ms && vesta_past_next(past, at_ms, &ids[got], &err) == VESTA_OK)
            got++;
        count_ids(ids, got);
        if (got < BATCH) return;
    }
}

static void importer(uint64_t dice) {
    char uri[200];
    const struct vesta_opts opts = options(uri);
    struct vesta_error err;
    while (!is_done()) {
        int64_t days = (int64_t)(atomic_load(&counted->used) * 365 / goal);
        struct vesta_past_span span = {.from_ms =
                                           YEAR_2019_MS + days * DAY_MS + (int64_t)roll_below(&dice, 12) * QUARTER_MS};
        span.until_ms = span.from_ms + 1 + (int64_t)roll_below(&dice, 5 * 86400000);
        struct vesta_past *past;
        int rc = vesta_past_open(&opts, &span, &past, &err);
        if (rc != VESTA_OK) {
            CHECK(rc == VESTA_EFULL || rc == VESTA_EIO); /* used up, or the store is locked for too long */
            atomic_fetch_add(&counted->full, 1);
            continue;
        }
        atomic_fetch_add(&counted->leases, 1);
        import(past, span, &dice);
        if (roll_below(&dice, 2)) {
            rc = vesta_past_release(past, &err);
            CHECK(rc == VESTA_OK || rc == VESTA_ENOTNOW || rc == VESTA_EIO);
        }
        vesta_past_close(past);
    }
}

static void live(uint64_t dice) {
    char uri[200];
    struct vesta_opts opts = options(uri);
    struct vesta_pause pause;
    uint64_t ids[BATCH];
    opts.any_worker = 1;
    opts.path = in_folder(dice & 1 ? "a.gen" : "b.gen");
    struct vesta_gen *gen = must_open(opts);
    while (gen && !is_done()) {
        size_t n = 1 + (size_t)roll_below(&dice, BATCH), got;
        if (vesta_next_wait(gen, ids, 1000000, &pause) != VESTA_OK) continue;
        count_ids(ids, 1);
        atomic_fetch_add(&counted->live, 1);
        if (vesta_next_n(gen, ids, n, &got, &pause) == VESTA_OK) {
            count_ids(ids, got);
            atomic_fetch_add(&counted->live, got);
        }
        usleep((useconds_t)roll_below(&dice, 4000));
    }
}

static int id_order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t count_equal(size_t *count) {
    size_t used = atomic_load(&counted->used), equal = 0, zeros = 0;
    qsort(counted->ids, used, sizeof *counted->ids, id_order);
    while (zeros < used && counted->ids[zeros] == 0) /* of processes that were killed while they wrote */
        zeros++;
    for (size_t i = zeros + 1; i < used; i++)
        equal += counted->ids[i] == counted->ids[i - 1];
    *count = used - zeros;
    return equal;
}

static void importers_beside_live_issue(void) {
    pid_t pid[IMPORTERS + LIVE];
    uint64_t dice = (uint64_t)getpid(), kills = 0;
    size_t count;
    empty_folder();
    counted = mmap(NULL, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(counted != MAP_FAILED);
    for (int i = 0; i < IMPORTERS + LIVE; i++)
        pid[i] = spawn(i < IMPORTERS ? importer : live, (roll(&dice) & ~UINT64_C(1)) | (unsigned)(i & 1));
    for (int64_t since_ms = check_now_ms(); !is_done();) {
        usleep(3000);
        if (check_now_ms() - since_ms > CHECK_PATIENCE_MS * 30) check_give_up(__FILE__, __LINE__, "is_done()");
        if (roll_below(&dice, 2) || kills >= 3000) continue;
        int i = (int)roll_below(&dice, IMPORTERS + LIVE);
        kill(pid[i], SIGKILL);
        reap(pid[i], true);
        kills++;
        pid[i] = spawn(i < IMPORTERS ? importer : live, (roll(&dice) & ~UINT64_C(1)) | (unsigned)(i & 1));
    }
    for (int i = 0; i < IMPORTERS + LIVE; i++)
        reap(pid[i], false);
    size_t equal = count_equal(&count);
    CHECK_EQ_U64(equal, 0);
    CHECK(atomic_load(&counted->live) > 0);
    CHECK(kills > 0);
    printf("# %s: %zu ids, %zu of them live, %zu leases of past ranges, %zu attempts without a free worker id, %" PRIu64
           " kill -9: %zu equal\n",
           scheme, count, atomic_load(&counted->live), atomic_load(&counted->leases), atomic_load(&counted->full),
           kills, equal);
}

static const struct check_case cases[] = {
    {"ids of eight importers and live ids never equal, with kill -9", importers_beside_live_issue},
};

int main(int argc, char **argv) {
    if (argc > 1) scheme = argv[1];
    if (argc > 2) goal = (size_t)strtoull(argv[2], NULL, 10);
    return run_in_folder(cases, 1, NULL);
}
