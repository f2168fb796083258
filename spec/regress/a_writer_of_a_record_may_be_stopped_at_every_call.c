/* A process that writes a record of a file: store is stopped after each of its system calls. In the meantime another
 * process writes the record, a copy replaces the folder, or the stopped process is killed. Of two writes over one
 * version exactly one succeeds, and the other process does not wait for the stopped one. */
#include "a_store.h"
#include "crowd.h"
#include "stopper.h"

#define WAIT_US_MAX 3000000 /* the longest permitted wait of another process */

static struct vs_store *store_of(const char *namespace_) {
    return a_store_of("file:", folder, namespace_, 0);
}

static enum vs_outcome claim(struct vs_store *store, uint64_t old_ver, uint64_t epoch, uint64_t owner) {
    struct vs_record record = {
        .ver = old_ver + 1, .epoch = epoch, .until = 100 * owner, .held = true, .owner = {owner, 2}, .lease_ms = 15000};
    store->leases->swap(store, 7, old_ver, &record, &reply);
    return reply.outcome;
}

static void new_store(const char *namespace_) {
    struct vs_store *store = store_of(namespace_);
    begin_namespace(store);
    CHECK(claim(store, 0, 1, 1) == VS_STORE_OK);
    store->backend->close(store);
}

/* The child claims version 2 of record 7. Its outcome is the tally's mark. */
static pid_t child_that_claims(void) {
    fflush(NULL);
    atomic_store(&tally->mark, 99);
    pid_t pid = fork();
    if (pid != 0) return pid;
    struct vs_store *store = store_of("ns");
    store->leases->ns_read(store, &reply);
    stopper_begin();
    enum vs_outcome outcome = claim(store, 1, 2, 8);
    atomic_store(&tally->mark, (size_t)outcome);
    _exit(0);
}

static const char *call_name(const struct stopper *s) {
    static char text[64];
    snprintf(text, sizeof text, "stopped behind call %ld (number %ld)", s->calls, s->last);
    return text;
}

/* The write of another process while the child is stopped. It must not take too long. */
static enum vs_outcome the_other(const struct stopper *s) {
    int64_t begun_us = now_us();
    struct vs_store *store = store_of("ns");
    store->leases->ns_read(store, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    enum vs_outcome outcome = claim(store, 1, 2, 9);
    store->backend->close(store);
    if (outcome != VS_STORE_OK && outcome != VS_STORE_CONFLICT)
        CHECK_FAIL("%s: the other got outcome %d: %s", call_name(s), outcome, reply.text);
    if (now_us() - begun_us > WAIT_US_MAX)
        CHECK_FAIL("%s: the other waited %lld ms", call_name(s), (long long)(now_us() - begun_us) / 1000);
    return outcome;
}

/* Checks the outcomes of both: `mine` is the stopped process's, `theirs` the other's. */
static void check_one_winner(const struct stopper *s, size_t mine, enum vs_outcome theirs) {
    struct vs_store *store = store_of("ns");
    store->leases->read(store, 7, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    uint64_t owner = reply.record.owner[0];
    if (mine == VS_STORE_OK && theirs == VS_STORE_OK) CHECK_FAIL("%s: both wrote version 2", call_name(s));
    if (mine == VS_STORE_OK && owner != 8) CHECK_FAIL("%s: what was acknowledged is not there", call_name(s));
    if (theirs == VS_STORE_OK && owner != 9) CHECK_FAIL("%s: the other's write is not there", call_name(s));
    CHECK_EQ_U64(reply.record.ver, 2);
    CHECK_EQ_U64(reply.record.until, 100 * owner);
    store->backend->close(store);
}

static bool no_tracing; /* ptrace is not permitted here. */

/* One run: the child stops after call n, `meanwhile` runs, and the child continues or is killed. Returns false if
 * the child makes fewer calls. */
static bool stopped_at(long n, void (*meanwhile)(void), bool kills) {
    struct stopper s;
    empty_folder();
    new_store("ns");
    pid_t pid = child_that_claims();
    if (!stopper_met(&s, pid)) {
        no_tracing = true;
        return false;
    }
    if (!stopper_run_to(&s, n)) return false;
    if (meanwhile) meanwhile();
    enum vs_outcome theirs = the_other(&s);
    if (kills)
        kill(pid, SIGKILL);
    else
        stopper_let_go(&s);
    stopper_reap(&s);
    check_one_winner(&s, atomic_load(&tally->mark), theirs);
    return true;
}

static void at_every_call(void (*meanwhile)(void), bool kills) {
    long n = 1;
    tally_clear();
    while (stopped_at(n, meanwhile, kills) && atomic_load(&check_failures) == 0)
        n++;
    if (no_tracing)
        printf("# not shown: this machine lets no process trace another\n");
    else
        CHECK(n > 12 || atomic_load(&check_failures));
}

static void another_writes(void) {
    at_every_call(NULL, false);
}

static void killed(void) {
    at_every_call(NULL, true);
}

static void put_copy_in_place(void) {
    char command[400];
    snprintf(command, sizeof command, "cd %s && cp -a ns copy && mv ns away && mv copy ns", folder);
    CHECK(system(command) == 0);
}

static void a_copy_takes_its_place(void) {
    at_every_call(put_copy_in_place, false);
}

static const struct check_case cases[] = {
    {"if a writer is stopped after any call, another one writes at once, and only one of them "
     "succeeds", another_writes},
    {"if a writer is killed after any call, another one writes at once", killed},
    {"if a writer is stopped after any call and a copy replaces the folder, acknowledged "
     "writes are in the store", a_copy_takes_its_place},
};

CHECK_MAIN_IN_FOLDER(cases)
