/* crowd.h -- many issuers, and a check that no id was issued twice.  Each program has a folder, a tally in shared
 * memory that survives its writers, and processes that are started, killed and awaited by pid. */
#ifndef SPEC_CROWD_H
#define SPEC_CROWD_H

#include "tools.h"
#include "vesta.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Four million ids a second: issuers compete for the word, not for time. */
#define FAST "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
/* Eight ids a millisecond: time units begin and are exhausted all the time. */
#define TIGHT "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"

/* No sequence: one id per microsecond. */
#define MICRO "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z"
/* All 64 bits, and the highest one, which belongs to the time, is set. */
#define WIDE "time:41 worker:19 seq:4 unit=1ms epoch=1980-01-01T00:00:00Z"

/* ------------------------------------------------------------------ the folder */

static char folder[64]; /* also $VESTA_STATE */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

__attribute__((unused)) static void empty_folder(void) {
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (mkdir(folder, 0755) != 0) abort();
}

__attribute__((unused)) static int run_in_folder(const struct check_case *cases, size_t count, const char *part) {
    /* in memory if possible, because thousands of fsyncs are not what is tested here */
    snprintf(folder, sizeof folder, "%s/vesta-spec-XXXXXX", access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) abort();
    setenv("VESTA_STATE", folder, 1);
    int rc = check_main(cases, count, part);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return rc;
}

#define CHECK_MAIN_IN_FOLDER(cases)                                                                                    \
    int main(int argc, char **argv) {                                                                                  \
        return run_in_folder((cases), sizeof(cases) / sizeof *(cases), argc > 1 ? argv[1] : NULL);                     \
    }

/* Returns a path in the folder, valid until the fourth further call. */
__attribute__((unused)) static const char *in_folder(const char *name) {
    static char paths[4][160];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ------------------------------------------------------------------ the tally */

#define TALLY_MAX (8u << 20)

struct tally {
    _Atomic size_t used;
    _Atomic size_t mark; /* for signals of a case */
    uint64_t ids[TALLY_MAX];
};

static struct tally *tally;

__attribute__((unused)) static void tally_clear(void) {
    if (!tally)
        tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tally == MAP_FAILED) abort();
    size_t used = atomic_load(&tally->used);
    memset(tally->ids, 0, (used < TALLY_MAX ? used : TALLY_MAX) * sizeof *tally->ids);
    atomic_store(&tally->used, 0);
    atomic_store(&tally->mark, 0);
}

__attribute__((unused)) static void tally_add(const uint64_t *ids, size_t n) {
    size_t at = atomic_fetch_add(&tally->used, n);
    CHECK(at + n <= TALLY_MAX); /* the case needs too many */
    if (at + n <= TALLY_MAX) memcpy(tally->ids + at, ids, n * sizeof *ids);
}

static int tally_order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the ids.  Equal neighbours are duplicates.  Zeros are left by writers that were killed, because no id is 0. */
__attribute__((unused)) static void check_tally(size_t at_least) {
    size_t used = atomic_load(&tally->used), repeats = 0, zeros = 0;
    CHECK(used <= TALLY_MAX);
    used = used < TALLY_MAX ? used : TALLY_MAX;
    qsort(tally->ids, used, sizeof *tally->ids, tally_order);
    while (zeros < used && tally->ids[zeros] == 0)
        zeros++;
    for (size_t i = zeros + 1; i < used; i++)
        if (tally->ids[i] == tally->ids[i - 1] && repeats++ == 0)
            CHECK_FAIL("id %" PRIu64 " was given twice", tally->ids[i]);
    CHECK_EQ_U64(repeats, 0);
    if (used - zeros < at_least) CHECK_FAIL("only %zu ids, want %zu", used - zeros, at_least);
}

/* ------------------------------------------------------------------ issuing */

__attribute__((unused)) static struct vesta_gen *must_open(struct vesta_opts opts) {
    opts.size = sizeof opts;
    struct vesta_gen *gen = NULL;
    struct vesta_error err = {.text = ""};
    int rc = vesta_open(&opts, &gen, &err);
    if (rc != VESTA_OK) CHECK_FAIL("vesta_open: %s", err.text);
    return gen;
}

/* Takes a block and computes its ids: up to n, or 0. */
__attribute__((unused)) static size_t take_block(struct vesta_gen *gen, uint64_t *ids, size_t n) {
    struct vesta_pause pause;
    struct vesta_block block;
    if (vesta_next_block(gen, n, &block, &pause) != VESTA_OK) return 0;
    for (uint64_t i = 0; i < block.count; i++)
        ids[i] = vesta_block_id(vesta_gen_layout(gen), &block, i);
    return (size_t)block.count;
}

/* Takes `count` ids with single calls, batches and blocks of random size.  false: none came for ten seconds. */
__attribute__((unused)) static bool issue(struct vesta_gen *gen, size_t count, uint64_t dice) {
    struct vesta_pause pause;
    uint64_t ids[64];
    while (count > 0) {
        size_t want = 1 + roll_below(&dice, 64), got = 1;
        want = want < count ? want : count;
        uint64_t way = roll_below(&dice, 4);
        if (way == 0 && vesta_next_n(gen, ids, want, &got, &pause) == VESTA_OK) {
            tally_add(ids, got);
        } else if (way == 1 && (got = take_block(gen, ids, want)) > 0) {
            tally_add(ids, got);
        } else {
            got = 1;
            if (vesta_next_wait(gen, ids, 10 * 1000000, &pause) != VESTA_OK) {
                char text[256];
                vesta_pause_text(gen, &pause, text, sizeof text);
                CHECK_FAIL("no id for ten seconds: %s", text);
                return false;
            }
            tally_add(ids, 1);
        }
        count -= got;
    }
    return true;
}

/* ------------------------------------------------------------------ processes */

/* Runs in a child: a failed check becomes its exit status. */
__attribute__((unused)) static pid_t spawn(void (*run)(uint64_t), uint64_t argument) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        atomic_store(&check_failures, 0);
        run(argument);
        if (atomic_load(&check_failures)) fprintf(stderr, "%s\n", check_first);
        _exit(atomic_load(&check_failures) ? 9 : 0);
    }
    return pid;
}

/* Waits for one child, and checks that it ended well, or by the -9 that it was sent. */
__attribute__((unused)) static void reap(pid_t pid, bool killed) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
    CHECK(WIFEXITED(status));
    CHECK_EQ_I64(WEXITSTATUS(status), 0);
}

__attribute__((unused)) static int64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

#endif
