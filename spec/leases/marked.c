/* marked.c -- 64 processes issue ids while they are killed, stopped and started again, and a reader reads watermarks.
 * Each process checks each of its ids against the newest watermark that was published before it requested the id.
 *
 *     marked [SECONDS]
 *
 * Every 16th process issues one id and is then idle.  Without an argument it is the short form.  It prints what it
 * counted, and exits with 1 if an id was at or below a watermark, or if the watermark was further behind than a lease
 * takes to expire, or if idle processes held it back. */
#include "os/clock.h"
#include "store/watermark.h"
#include "vesta.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOLDERS 64
#define SECONDS 34
/* The lease of `strict`, the slack for its expiry, the mark's lag and step, and 8 s of a clock that is behind.  The
 * rest is for a machine with load. */
#define BEHIND_MS_MAX 50000
#define LAYOUT "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"

static struct shared { _Atomic uint64_t mark, ids, passed, late_id, late_mark; } * all;
static char folder[64], uri[96];

/* ------------------------------------------------------------------ a holder */

/* Every eighth process has a clock that is 8 s behind. */
static int64_t behind_us;
static int64_t late_unix_us(void *self) {
    (void)self;
    const struct vesta_clock *clock = vs_clock_system();
    return clock->unix_us(clock->self) - behind_us;
}

static void issue(struct vesta_gen *gen, unsigned *dice, bool is_idle) {
    for (int n = 0;; n++) {
        while (is_idle && n > 0)
            pause();
        struct vesta_pause pause;
        uint64_t id, mark = atomic_load(&all->mark);
        if (vesta_next_wait(gen, &id, 200000, &pause) == VESTA_OK) {
            atomic_fetch_add(&all->ids, 1);
            if (id <= mark) {
                atomic_store(&all->late_id, id);
                atomic_store(&all->late_mark, mark);
                atomic_fetch_add(&all->passed, 1);
            }
        }
        if (rand_r(dice) % 4) usleep(1000 + (useconds_t)rand_r(dice) % 120000); /* else another id at once */
    }
}

static pid_t start(int i, unsigned seed) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) return pid;
    char path[96];
    struct vesta_error err;
    struct vesta_gen *gen;
    struct vesta_clock clock = *vs_clock_system();
    struct vesta_opts opts = VESTA_OPTS_INIT;
    behind_us = i % 8 == 7 ? 8000000 : 0;
    clock.unix_us = late_unix_us;
    snprintf(path, sizeof path, "%s/%d.gen", folder, i);
    opts.path = path;
    opts.store = uri;
    opts.namespace_ = "marked";
    opts.layout = LAYOUT;
    opts.lease = "strict";
    opts.clock = &clock;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) {
        fprintf(stderr, "marked: %s\n", err.text);
        _exit(1);
    }
    issue(gen, &seed, i % 16 == 3);
    _exit(0);
}

/* ------------------------------------------------------------------ the parent */

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct holder {
    pid_t pid;
    int64_t resumes_ms, starts_ms; /* 0: it runs */
} holders[HOLDERS];

static unsigned kills, stops, long_stops, readings, none;
static int64_t behind_ms_max, time_ms; /* time_ms: of the last watermark */

static void read_mark(struct vs_store *store, bool starts) {
    struct vs_watermark mark;
    struct vesta_error err;
    int rc = vs_watermark_read(store, "marked", starts, &mark, &err);
    readings++;
    if (rc != VESTA_OK) {
        none++;
        if (getenv("VESTA_MARKED_VERBOSE")) fprintf(stderr, "%s\n", err.text);
        return;
    }
    if (mark.id > atomic_load(&all->mark)) atomic_store(&all->mark, mark.id);
    time_ms = mark.time_us / 1000;
    int64_t behind_ms = mark.store_ms - mark.time_us / 1000;
    if (behind_ms > behind_ms_max) behind_ms_max = behind_ms;
}

static void disturb(struct holder *h, unsigned *dice, int64_t at_ms) {
    if (h->resumes_ms || h->starts_ms) return;
    if (rand_r(dice) % 3 == 0) {
        kill(h->pid, SIGKILL);
        waitpid(h->pid, NULL, 0);
        h->starts_ms = at_ms + rand_r(dice) % 20000;
        kills++;
        return;
    }
    bool is_long = rand_r(dice) % 4 == 0; /* longer than its lease takes to expire */
    kill(h->pid, SIGSTOP);
    h->resumes_ms = at_ms + (is_long ? 27000 + rand_r(dice) % 3000 : 100 + rand_r(dice) % 5000);
    stops++;
    long_stops += is_long;
}

static void go_on(int i, unsigned *dice, int64_t at_ms) {
    struct holder *h = &holders[i];
    if (h->resumes_ms && at_ms >= h->resumes_ms) {
        kill(h->pid, SIGCONT);
        h->resumes_ms = 0;
    }
    if (h->starts_ms && at_ms >= h->starts_ms) {
        h->pid = start(i, (unsigned)rand_r(dice));
        h->starts_ms = 0;
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static struct vs_store *open_store(void) {
    struct vs_store_opts opts = {.namespace_ = "marked", .group = -1, .clock = vs_clock_system(), .call_ms_max = 8000};
    struct vs_store *store;
    struct vesta_error err;
    if (vs_store_open(uri, &opts, &store, &err) == VESTA_OK) return store;
    fprintf(stderr, "marked: %s\n", err.text);
    exit(1);
}

/* Creates the namespace, as `vesta store init` does, because a process with `strict` may not. */
static void create(struct vs_store *store) {
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    struct vesta_layout layout;
    struct vs_ns_record ns = {.ver = 1, .incarnation = 1};
    if (vesta_layout_parse(LAYOUT, &layout, NULL) != VESTA_OK) exit(1);
    ns.fingerprint = layout.fingerprint;
    vesta_layout_text(&layout, ns.layout);
    store->leases->ns_read(store, &reply);
    store->leases->ns_swap(store, 0, &ns, &reply);
    if (reply.outcome == VS_STORE_OK) return;
    fprintf(stderr, "marked: %s\n", reply.text);
    exit(1);
}

static void run(struct vs_store *store, int64_t ms, unsigned *dice) {
    int64_t begun_ms = now_ms(), read_ms = 0, disturb_ms = begun_ms + 3000;
    for (int64_t at_ms; (at_ms = now_ms()) < begun_ms + ms; usleep(20000)) {
        for (int i = 0; i < HOLDERS; i++)
            go_on(i, dice, at_ms);
        if (at_ms >= read_ms) {
            read_mark(store, false);
            read_ms = at_ms + 250;
        }
        if (at_ms >= disturb_ms) {
            disturb(&holders[rand_r(dice) % HOLDERS], dice, at_ms);
            disturb_ms = at_ms + 50 + rand_r(dice) % 500;
        }
    }
}

int main(int argc, char **argv) {
    int64_t ms = 1000 * (argc > 1 ? atoi(argv[1]) : SECONDS);
    unsigned dice = (unsigned)getpid();
    snprintf(folder, sizeof folder, "/dev/shm/vesta-marked-XXXXXX");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || !mkdtemp(folder)) return perror("marked"), 1;
    snprintf(uri, sizeof uri, "file:%s/store", folder);
    struct vs_store *store = open_store();
    create(store);
    for (int i = 0; i < HOLDERS; i++)
        holders[i].pid = start(i, dice + (unsigned)i);
    for (int i = 0; i < 200 && !atomic_load(&all->mark); i++, usleep(100000))
        read_mark(store, true);
    none = readings = 0;
    behind_ms_max = 0;
    int64_t begun_ms = vs_clock_system()->unix_us(vs_clock_system()->self) / 1000;
    run(store, ms, &dice);
    for (int i = 0; i < HOLDERS; i++) {
        if (!holders[i].starts_ms) kill(holders[i].pid, SIGKILL);
        if (!holders[i].starts_ms) waitpid(holders[i].pid, NULL, 0);
    }
    store->backend->close(store);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    uint64_t passed = atomic_load(&all->passed);
    printf("%d processes, %" PRIu64 " ids, %u kills, %u stops (%u longer than a lease), %u readings, %u without a "
           "watermark: %" PRIu64 " ids at or below a watermark, at most %.1f s behind\n",
           HOLDERS, atomic_load(&all->ids), kills, stops, long_stops, readings, none, passed,
           (double)behind_ms_max / 1000);
    if (passed)
        printf("id %" PRIu64 " was issued after watermark %" PRIu64 "\n", atomic_load(&all->late_id),
               atomic_load(&all->late_mark));
    if (time_ms < begun_ms) printf("the watermark has not risen since the beginning\n");
    return passed || time_ms < begun_ms || !atomic_load(&all->mark) || !stops || !kills || none ||
           behind_ms_max > BEHIND_MS_MAX;
}
