/* forks.c -- a process that forks while it uses a client.  Every process takes ids without duplicates, and no process
 * uses another one's connections.  All ids are counted in shared memory. */
#include "check.h"
#include "fault_server.h"
#include "vesta_client.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ALL 2000000
#define EACH 3000
#define TURNS 4000 /* of a hundred ids per thread.  The tally has room for all */
#define PATIENCE_US INT64_C(60000000)

struct tally {
    _Atomic uint64_t count, stop;
    uint64_t ids[ALL];
};
static struct tally *tally;
static _Atomic uint64_t *ticks; /* shared, because the server grants to all processes */
static struct fault_server server;
static struct vesta_client *client;

static void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

/* Returns whether all ids came in time. */
static bool take(uint64_t n) {
    struct vesta_pause pause;
    uint64_t at = atomic_fetch_add(&tally->count, n);
    if (at + n > ALL) return false;
    for (uint64_t i = 0; i < n; i++)
        if (vesta_client_next_wait(client, &tally->ids[at + i], PATIENCE_US, &pause) != VESTA_OK) return false;
    return true;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void none_twice(void) {
    uint64_t n = atomic_load(&tally->count), twice = 0;
    NEED(n <= ALL);
    qsort(tally->ids, n, sizeof *tally->ids, by_value);
    for (uint64_t i = 1; i < n; i++)
        twice += tally->ids[i] == tally->ids[i - 1];
    CHECK_EQ_U64(twice, 0);
    CHECK(n == 0 || tally->ids[0] > 0);
}

static void begin(int64_t block_max) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    if (!tally) tally = shared_memory(sizeof *tally), ticks = shared_memory(sizeof *ticks);
    atomic_store(&tally->count, 0);
    atomic_store(&tally->stop, 0);
    fault_server_begin(&server, ticks, 1);
    opts.servers = server.address;
    opts.name = "orders";
    opts.timeout_ms = 30000;
    opts.block_max = block_max;
    NEED(vesta_client_open(&opts, &client, NULL) == VESTA_OK);
}

static void end(void) {
    vesta_client_close(client);
    fault_server_end(&server);
    none_twice();
}

static void reap(pid_t pid) {
    int status = -1;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    CHECK_EQ_I64(status, 0);
}

static void *take_some(void *arg) {
    *(bool *)arg = take(100);
    return NULL;
}

/* In the child, another thread takes ids first.  Ids that this thread held at the fork must not be used later either.
 * The child closes its own client. */
static void be_a_child(void) {
    pthread_t thread;
    bool is_well = false;
    if (pthread_create(&thread, NULL, take_some, &is_well) != 0) _exit(7);
    pthread_join(thread, NULL);
    is_well &= take(EACH);
    vesta_client_close(client);
    _exit(is_well ? 0 : 9);
}

/* ------------------------------------------------------------------ forks while threads take */

static void *take_on(void *arg) {
    (void)arg;
    for (int i = 0; !atomic_load(&tally->stop); i++) {
        if (i < TURNS && !take(100)) break;
        usleep(200);
    }
    return NULL;
}

static void in_the_midst(void) {
    enum { THREADS = 3, CHILDREN = 24 };
    pthread_t threads[THREADS];
    pid_t pids[CHILDREN];
    begin(500);
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&threads[i], NULL, take_on, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(take(37)); /* this thread holds some more */
        if ((pids[i] = fork()) == 0) be_a_child();
        CHECK(take(37));
    }
    for (int i = 0; i < CHILDREN; i++)
        reap(pids[i]);
    atomic_store(&tally->stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end();
}

/* Each generation holds ids when it forks the next one. */
static void generations(void) {
    int depth = 0;
    begin(0);
    CHECK(take(5));
    pid_t pid;
    while ((pid = fork()) == 0 && depth++ < 5)
        if (!take(5)) _exit(9);
    if (pid != 0) {
        bool is_well = take(500);
        int status = -1;
        waitpid(pid, &status, 0);
        if (depth > 0) _exit(status == 0 && is_well ? 0 : 9);
        CHECK(status == 0 && is_well);
    } else {
        be_a_child();
    }
    end();
}

/* clone(2) without libc: no fork handler runs.  All other threads are idle, because a lock of malloc or of libc's
 * threads would stay locked in the child. */
static void raw_clones(void) {
    struct vesta_client_info info;
    begin(2000);
    for (int i = 0; i < 6; i++) {
        CHECK(take(40));
        AWAIT((vesta_client_get_info(client, &info), info.requests == info.blocks && atomic_load(&server.live) == 1));
        usleep(20000);
        long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0) {
            bool is_well = take(EACH);
            syscall(SYS_exit_group, is_well ? 0 : 9);
        }
        CHECK(take(40));
        reap((pid_t)pid);
    }
    end();
}

/* The parent continues with its connection, and a child opens its own. */
static void own_connections(void) {
    struct vesta_client_info info;
    begin(0);
    CHECK(take(1000));
    CHECK_EQ_U64(atomic_load(&server.connections), 1);
    pid_t pid = fork();
    if (pid == 0) {
        vesta_client_get_info(client, &info);
        bool is_new = info.blocks == 0 && info.ids == 0 && info.left == 0;
        if (!is_new) _exit(8);
        be_a_child();
    }
    reap(pid);
    CHECK_EQ_U64(atomic_load(&server.connections), 2);
    CHECK(take(20000));
    CHECK_EQ_U64(atomic_load(&server.connections), 2);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.errors, 0);
    end();
}

/* A child that only closes the inherited client starts nothing. */
static void unused(void) {
    begin(0);
    CHECK(take(10));
    pid_t pid = fork();
    if (pid == 0) {
        vesta_client_close(client);
        _exit(0);
    }
    reap(pid);
    CHECK(take(10));
    CHECK_EQ_U64(atomic_load(&server.connections), 1);
    end();
}

static const struct check_case cases[] = {
    {"24 forks while four threads take ids: no duplicates", in_the_midst},
    {"a child's child's child takes its own ids", generations},
    {"a child by clone(2) takes its own ids", raw_clones},
    {"a child opens its own connections and does not use its parent's", own_connections},
    {"a child that only closes its client starts nothing", unused},
};
CHECK_MAIN(cases)
