/* Regression: a keeper that waited for the store of one namespace held the process lock. Another namespace had a gap
 * of 12 s, fork() in the host program took 6 s, and vesta_open of a third namespace took 8.9 s.
 *
 * In this spec the disk of one store hangs in the keeper's own call, and all other work must finish before the disk
 * continues. */
#include "check.h"
#include "opened.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:4 worker:18 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 10000000
#define HANG_US_MAX 40000000 /* A longer wait is a failure. Reclaiming a dropped worker id alone takes 5 s. */

static _Atomic int hangs, hung; /* whether the disk hangs, and how many calls wait in it */

static int sync_of(int fd, long number) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (strstr(path, "/slow") && atomic_load(&hangs)) {
        atomic_fetch_add(&hung, 1);
        while (atomic_load(&hangs))
            usleep(1000);
    }
    return (int)syscall(number, fd);
}

__attribute__((visibility("default"))) int fsync(int fd) {
    return sync_of(fd, SYS_fsync);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
    return sync_of(fd, SYS_fdatasync);
}

/* Ends the hang after the limit, so that the spec can fail with a message. */
static void *end_of_hang(void *unused) {
    for (int64_t us = 0; us < HANG_US_MAX && atomic_load(&hangs); us += 10000)
        usleep(10000);
    atomic_store(&hangs, 0);
    return unused;
}

static struct vesta_gen *open_on(const char *name, const char *store, const char *ns, uint64_t worker) {
    char uri[256];
    snprintf(uri, sizeof uri, store, state);
    struct vesta_opts opts = {.size = sizeof opts, .store = uri, .namespace_ = ns, .has_worker = 1, .worker = worker};
    return open_in_state(name, LAYOUT, opts);
}

static void is_still_in_it(const char *what) {
    if (!atomic_load(&hangs)) CHECK_FAIL("%s waited for the disk of another", what);
}

static void beside_a_hanging_disk(const char *store) {
    struct vesta_pause pause;
    pthread_t ends;
    uint64_t id;
    int status;
    atomic_store(&hung, 0);
    struct vesta_gen *slow = open_on("one.gen", store, "slow", 1),
                     *well = open_on("two.gen", "file:%s/well", "well", 2);
    CHECK(slow && well && vesta_next_wait(slow, &id, LONG_US, &pause) == VESTA_OK);
    CHECK(vesta_next_wait(well, &id, LONG_US, &pause) == VESTA_OK);
    atomic_store(&hangs, 1);
    CHECK(pthread_create(&ends, NULL, end_of_hang, NULL) == 0);
    while (!atomic_load(&hung) && atomic_load(&hangs)) { /* Wait until its keeper renews. */
        CHECK(vesta_next_wait(slow, &id, LONG_US, &pause) == VESTA_OK);
        usleep(10000);
    }
    CHECK(atomic_load(&hung) > 0);
    pid_t child = fork();
    if (child == 0) _exit(0);
    CHECK(waitpid(child, &status, 0) == child);
    is_still_in_it("fork()");
    vesta_drop(well); /* The next id needs a claim, so its keeper must call its store. */
    CHECK(vesta_next_wait(well, &id, LONG_US, &pause) == VESTA_OK);
    is_still_in_it("another namespace");
    struct vesta_gen *third = open_on("three.gen", "file:%s/well", "third", 3);
    CHECK(third && vesta_next_wait(third, &id, LONG_US, &pause) == VESTA_OK);
    is_still_in_it("vesta_open of a third");
    atomic_store(&hangs, 0);
    pthread_join(ends, NULL);
    vesta_close(third);
    vesta_close(well);
    vesta_close(slow);
}

static void a_file_store_that_hangs(void) {
    beside_a_hanging_disk("file:%s/store");
}

static void a_database_that_hangs(void) {
    beside_a_hanging_disk("sqlite:%s/slow.db");
}

IN_NEW_STATE(a_file_store_that_hangs)
IN_NEW_STATE(a_database_that_hangs)

static const struct check_case cases[] = {
    {"a hanging disk of a file: store delays no fork, no other namespace and no vesta_open", a_file_store_that_hangs_},
    {"a hanging disk of a sqlite: store delays no fork, no other namespace and no vesta_open", a_database_that_hangs_},
};

CHECK_MAIN(cases)
