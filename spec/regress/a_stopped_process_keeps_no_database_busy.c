/* A process is stopped or killed after each system call with which it writes a row of a sqlite: store. No other
 * process can break its lock. They get its pid at their deadline, and the other threads of a waiting process
 * continue: neither fork() nor another store waits. */
#include "a_store.h"
#include "crowd.h"
#include "stopper.h"

#include <stdatomic.h>

#define CALL_MS 100

static struct vs_store *database(int64_t call_ms_max) {
    return a_store_of("sqlite:", in_folder("db/vesta.db"), "ns", call_ms_max);
}

static struct vs_store *files(void) {
    return a_store("file:", folder);
}

static enum vs_outcome claim(struct vs_store *store, uint64_t old_ver, uint64_t owner) {
    struct vs_record record = {
        .ver = old_ver + 1, .epoch = old_ver + 1, .until = 100 * owner, .held = true, .owner = {owner, 2}};
    store->leases->ns_read(store, &reply);
    if (reply.outcome == VS_STORE_OK) store->leases->swap(store, 7, old_ver, &record, &reply);
    return reply.outcome;
}

static void begin_with(struct vs_store *store) {
    begin_namespace(store);
    CHECK(claim(store, 0, 1) == VS_STORE_OK);
    store->backend->close(store);
}

/* The child claims version 2 of record 7. Its outcome is the tally's mark. */
static pid_t child_that_claims(void) {
    fflush(NULL);
    atomic_store(&tally->mark, 99);
    pid_t pid = fork();
    if (pid != 0) return pid;
    struct vs_store *store = database(CALL_MS);
    stopper_begin();
    enum vs_outcome outcome = claim(store, 1, 8);
    atomic_store(&tally->mark, (size_t)outcome);
    _exit(0);
}

/* While the child is stopped, the call is done, or it is not and names the process that holds the lock. */
static enum vs_outcome the_other(const struct stopper *s) {
    char who[64];
    struct vs_store *store = database(CALL_MS);
    enum vs_outcome outcome = claim(store, 1, 9);
    store->backend->close(store);
    snprintf(who, sizeof who, "process %d has locked ", (int)s->pid);
    if (outcome == VS_STORE_DOWN) CHECK_HAS(reply.text, who);
    CHECK(outcome == VS_STORE_OK || outcome == VS_STORE_CONFLICT || outcome == VS_STORE_DOWN);
    return outcome;
}

static void check_one_winner(const struct stopper *s, size_t mine, enum vs_outcome theirs) {
    struct vs_store *store = database(0);
    store->leases->read(store, 7, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("behind call %ld: %s", s->calls, reply.text);
    uint64_t owner = reply.record.owner[0];
    if (mine == VS_STORE_OK && theirs == VS_STORE_OK) CHECK_FAIL("behind call %ld: both wrote version 2", s->calls);
    if ((mine == VS_STORE_OK && owner != 8) || (theirs == VS_STORE_OK && owner != 9))
        CHECK_FAIL("behind call %ld: what was acknowledged is not there", s->calls);
    store->backend->close(store);
}

static bool no_tracing; /* ptrace is not permitted here. */

static bool stopped_at(long n, bool kills, size_t *downs) {
    struct stopper s;
    empty_folder();
    begin_with(database(0));
    pid_t pid = child_that_claims();
    if (!stopper_met(&s, pid)) {
        no_tracing = true;
        return false;
    }
    if (!stopper_run_to(&s, n)) return false;
    if (kills) {
        kill(pid, SIGKILL);
        stopper_reap(&s);
    }
    enum vs_outcome theirs = the_other(&s);
    if (!kills) {
        stopper_let_go(&s);
        stopper_reap(&s);
    }
    *downs += theirs == VS_STORE_DOWN;
    check_one_winner(&s, atomic_load(&tally->mark), theirs);
    return true;
}

static void at_every_call(bool kills) {
    long n = 1;
    size_t downs = 0;
    tally_clear();
    while (stopped_at(n, kills, &downs) && atomic_load(&check_failures) == 0)
        n++;
    if (no_tracing)
        printf("# not shown: this machine lets no process trace another\n");
    else if (atomic_load(&check_failures) == 0)
        CHECK(n > 40 && (kills ? downs == 0 : downs > 10));
}

static void stopped(void) {
    at_every_call(false);
}

static void killed(void) {
    at_every_call(true);
}

/* ------------------------------------------------------------------ other threads of a waiting process */

#define FORKS 10
#define GIVE_UP_US INT64_C(60000000) /* After this time it is stuck. */

static _Atomic int waiting; /* 1: a thread waits for the database, 2: its call has returned */
/* Reads of the clock, which stands still until released. Without reads, the thread is stuck elsewhere. */
static _Atomic int looks;
static atomic_bool is_late;
static int64_t begun_us;

static int64_t standing_us(void *unused) {
    (void)unused;
    atomic_fetch_add(&looks, 1);
    return atomic_load(&is_late) || now_us() - begun_us > GIVE_UP_US ? INT64_C(1) << 50 : 1;
}

static void *wait_for_database(void *unused) {
    struct vs_reply own;
    struct vesta_clock clock = *vs_clock_system();
    struct vs_store *store = database(3000);
    (void)unused;
    clock.boot_us = standing_us;
    store->clock = &clock;
    atomic_store(&waiting, 1);
    store->leases->ns_read(store, &own);
    atomic_store(&waiting, 2);
    CHECK(own.outcome == VS_STORE_DOWN);
    store->backend->close(store);
    return NULL;
}

/* Returns whether a child may use databases. It may not if it was forked while its parent was inside one. */
static bool fork_is_whole(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct vs_store *store = database(1);
        store->leases->ns_read(store, &reply);
        _exit(strstr(reply.text, "was forked") != NULL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The child is stopped while it holds the database lock. */
static bool child_that_locks(struct stopper *s) {
    for (long n = 20;; n += 5) {
        if (!stopper_met(s, child_that_claims()) || !stopper_run_to(s, n)) return false;
        struct vs_store *store = database(1);
        store->leases->read(store, 7, &reply);
        store->backend->close(store);
        if (reply.outcome == VS_STORE_DOWN) return true;
        kill(s->pid, SIGKILL);
        stopper_reap(s);
    }
}

static void nobody_else_waits(void) {
    struct stopper s;
    pthread_t thread;
    tally_clear();
    empty_folder();
    begin_with(database(0));
    begin_with(files());
    if (!child_that_locks(&s)) {
        printf("# not shown: this machine lets no process trace another\n");
        return;
    }
    begun_us = now_us();
    CHECK(pthread_create(&thread, NULL, wait_for_database, NULL) == 0);
    /* Once when its call began, and twice after failed attempts. */
    while (atomic_load(&looks) < 3 && atomic_load(&waiting) < 2)
        usleep(1000);
    int whole = 0; /* Not every fork: on a busy machine the thread may be suspended inside the database. */
    AWAIT((whole += fork_is_whole()) == FORKS);
    struct vs_store *store = files();
    for (uint64_t ver = 1; ver < 20; ver++)
        CHECK(claim(store, ver, 9) == VS_STORE_OK);
    store->backend->close(store);
    CHECK_EQ_I64(atomic_load(&waiting), 1); /* All of this was done while the other thread still waited. */
    atomic_store(&is_late, true);
    pthread_join(thread, NULL);
    kill(s.pid, SIGKILL);
    stopper_reap(&s);
}

static const struct check_case cases[] = {
    {"if a process is stopped after any call of a write to a database, the others get its pid", stopped},
    {"if a process is killed after any call of a write to a database, the others continue", killed},
    {"a thread that waits for a locked database delays no fork and no other store", nobody_else_waits},
};

CHECK_MAIN_IN_FOLDER(cases)
