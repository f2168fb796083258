/* contract.c -- tests a store's leases against the contract in store.h: store_contract URI [PART OF A CLAIM].  Each
 * case uses its own namespace, so all cases can use one server. */
#include "base/array.h"
#include "forged.h"
#include "stores.h"
#include "store/watermark.h"

#include <limits.h>
#include <sched.h>

static const char *uri;
static char ns_name[64];

/* Creates a new namespace with its record. */
static struct vs_store *fresh(void) {
    static int turn;
    snprintf(ns_name, sizeof ns_name, "case.%d-%d", (int)getpid(), turn++);
    struct vs_store *store = open_store(uri, ns_name, PATIENT_MS);
    vs_store_init(store, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("init: %s", reply.text);
    if (ns_swap_of(store, 0, 5, INCARNATION) != VS_STORE_OK) CHECK_FAIL("ns_swap: %s", reply.text);
    return store;
}

static uint64_t incarnation_of(struct vs_store *store) {
    for (int tries = 0; tries == 0 || (reply.outcome == VS_STORE_DOWN && tries < 10); tries++)
        store->leases->ns_read(store, &reply); /* with several processes, the lock of a file may time out */
    if (reply.outcome != VS_STORE_OK || reply.ns.ver == 0) CHECK_FAIL("ns_read: %s", reply.text);
    return reply.ns.incarnation;
}

#define IS(call, want)                                                                                                 \
    do {                                                                                                               \
        enum vs_outcome got_ = (call);                                                                                 \
        if (got_ != (want)) CHECK_FAIL("%s: %s, want %s: %s", #call, outcome_name(got_), #want, reply.text);           \
    } while (0)

/* ------------------------------------------------------------------ compare and set */

static void a_swap_needs_the_version(void) {
    struct vs_store *store = fresh();
    IS(read_of(store, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 0);
    IS(swap_of(store, 7, 1, 10), VS_STORE_CONFLICT);
    CHECK_EQ_U64(reply.record.ver, 0);
    IS(swap_of(store, 7, 0, 10), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 1);
    int64_t written_ms = reply.record.written_ms;
    IS(swap_of(store, 7, 0, 99), VS_STORE_CONFLICT);
    CHECK_EQ_U64(reply.record.until, 10); /* a conflict returns the stored record */
    CHECK_EQ_U64(reply.record.ver, 1);
    CHECK_EQ_I64(reply.record.written_ms, written_ms);
    IS(swap_of(store, 7, 2, 99), VS_STORE_CONFLICT);
    IS(swap_of(store, 7, 1, 10), VS_STORE_OK); /* only the version differs, but it is a write */
    CHECK_EQ_U64(reply.record.ver, 2);
    IS(swap_of(store, 7, 2, 20), VS_STORE_OK);
    IS(read_of(store, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 20);
    CHECK_EQ_U64(reply.record.ver, 3);
    store->backend->close(store);
}

static enum vs_outcome claim_of(struct vs_store *store, uint64_t old_ver, uint64_t epoch, uint64_t owner) {
    struct vs_record record = {.ver = old_ver + 1, .epoch = epoch, .owner = {owner, 5}, .held = true, .until = 10};
    store->leases->swap(store, 7, old_ver, &record, &reply);
    return reply.outcome;
}

/* A store that lost writes may have another claim with the same version. */
static void a_version_is_not_enough(void) {
    struct vs_store *store = fresh();
    IS(claim_of(store, 0, 4, 1), VS_STORE_OK);
    IS(claim_of(store, 1, 4, 1), VS_STORE_OK);       /* continues the claim */
    IS(claim_of(store, 2, 4, 2), VS_STORE_CONFLICT); /* another claim of the same epoch */
    CHECK_EQ_U64(reply.record.ver, 2);
    CHECK_EQ_U64(reply.record.owner[0], 1);
    IS(claim_of(store, 2, 3, 1), VS_STORE_CONFLICT);
    IS(claim_of(store, 2, 6, 1), VS_STORE_CONFLICT);
    IS(claim_of(store, 2, 5, 2), VS_STORE_OK); /* the next claim */
    IS(claim_of(store, 3, 4, 1), VS_STORE_CONFLICT);
    IS(claim_of(store, 3, 5, 2), VS_STORE_OK);
    store->backend->close(store);
}

static void every_field_comes_back(void) {
    struct vs_store *store = fresh();
    struct vs_record record = {.ver = 1,
                               .epoch = UINT64_MAX,
                               .owner = {0xfedcba9876543210u, 1},
                               .until = (UINT64_C(1) << 62) - 1,
                               .fingerprint = UINT64_MAX - 1,
                               .lease_ms = INT64_MAX,
                               .seen_ms = 1800000000123,
                               .held = true};
    snprintf(record.identity, sizeof record.identity, "/var/lib/%%s '; DROP TABLE vesta_lease; -- \\ \" \xc3\xa4");
    memset(record.holder, 'h', sizeof record.holder - 1);
    store->leases->swap(store, 3, 0, &record, &reply);
    IS(reply.outcome, VS_STORE_OK);
    struct vs_record wrote = reply.record;
    IS(read_of(store, 3), VS_STORE_OK);
    const struct vs_record *got = &reply.record;
    CHECK(got->epoch == record.epoch && got->owner[0] == record.owner[0] && got->owner[1] == record.owner[1]);
    CHECK(got->until == record.until && got->fingerprint == record.fingerprint && got->held);
    CHECK(got->lease_ms == record.lease_ms && got->seen_ms == record.seen_ms);
    CHECK_STR(got->identity, record.identity);
    CHECK_STR(got->holder, record.holder);
    CHECK_EQ_I64(got->written_ms, wrote.written_ms);
    store->backend->close(store);
}

#define MARKED "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"

/* Gives the new namespace a layout, because watermarks need it. */
static void set_layout(struct vs_store *store, struct vesta_layout *layout) {
    (void)incarnation_of(store);
    struct vs_ns_record ns = reply.ns;
    CHECK(vesta_layout_parse(MARKED, layout, NULL) == VESTA_OK);
    vesta_layout_text(layout, ns.layout);
    ns.fingerprint = layout->fingerprint;
    ns.ver++;
    store->leases->ns_swap(store, ns.ver - 1, &ns, &reply);
    IS(reply.outcome, VS_STORE_OK);
}

/* A holder that has not read the mark cannot write.  One that has read it holds the watermark at its position. */
static void a_watermark_follows_the_leases(void) {
    struct vs_store *store = fresh(), *holder = open_store(uri, ns_name, PATIENT_MS);
    struct vs_watermark mark;
    struct vesta_error err;
    struct vesta_layout layout;
    set_layout(store, &layout);
    (void)incarnation_of(holder);
    CHECK(vs_watermark_read(store, ns_name, false, &mark, &err) == VESTA_EOPTION);
    CHECK(vs_watermark_read(store, ns_name, true, &mark, &err) == VESTA_OK);
    CHECK(mark.sorts && mark.by == VS_MARK_BY_NONE);
    CHECK_EQ_U64(mark.id, (UINT64_C(1) << 22) - 1); /* no lease was ever claimed */
    struct vs_record r = {.ver = 1, .epoch = 1, .owner = {7, 8}, .fingerprint = layout.fingerprint, .held = true};
    r.lease_ms = 60000;
    int64_t end_ms = mark.store_ms - 20000; /* more than the lag ago */
    r.until = (uint64_t)(end_ms - layout.epoch_ms) << 12;
    holder->leases->swap(holder, 3, 0, &r, &reply);
    IS(reply.outcome, VS_STORE_MOVED);
    CHECK((incarnation_of(holder), reply.ns.mark_ms) > 0);
    holder->leases->swap(holder, 3, 0, &r, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK(vs_watermark_read(store, ns_name, false, &mark, &err) == VESTA_ENOTNOW); /* it has no position */
    CHECK(mark.by == VS_MARK_BY_SILENT && mark.holder.worker == 3);
    r.ver = 2;
    r.has_low = true;
    r.low = (UINT64_C(50000) << 12) + 77;
    r.pin_ms = 123;
    holder->leases->swap(holder, 3, 1, &r, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK(vs_watermark_read(store, ns_name, false, &mark, &err) == VESTA_OK);
    CHECK(mark.by == VS_MARK_BY_HOLDER && mark.holder.worker == 3);
    CHECK_EQ_U64(mark.id, (UINT64_C(50000) << 22) - 1);
    CHECK_EQ_I64(mark.time_us, layout.epoch_ms * 1000 + 50000000);
    vs_mark_end(&r); /* as a reader does after the lease has expired */
    store->leases->swap(store, 3, 2, &r, &reply);
    IS(reply.outcome, VS_STORE_OK);
    r.held = true;
    (void)incarnation_of(holder); /* the reading has raised the mark */
    holder->leases->swap(holder, 3, 2, &r, &reply); /* the holder's renewal comes too late */
    IS(reply.outcome, VS_STORE_CONFLICT);
    CHECK(!reply.record.held && reply.record.has_low && reply.record.low == r.until);
    CHECK(vs_watermark_read(store, ns_name, false, &mark, &err) == VESTA_OK && mark.by == VS_MARK_BY_NONE);
    CHECK_EQ_I64(mark.time_us / 1000, end_ms); /* the end of the last lease */
    holder->backend->close(holder);
    store->backend->close(store);
}

/* The store sets the time, and it rises.  These stores use this machine's clock. */
static void the_store_stamps_its_time(void) {
    struct vs_store *store = fresh();
    int64_t last_ms = 0;
    for (uint64_t ver = 0; ver < 20; ver++) {
        int64_t before_ms = vs_clock_system()->unix_us(NULL) / 1000;
        IS(swap_of(store, 1, ver, 1), VS_STORE_OK);
        int64_t after_ms = vs_clock_system()->unix_us(NULL) / 1000;
        CHECK(reply.record.written_ms >= before_ms - 2 && reply.record.written_ms <= after_ms + 2);
        CHECK_EQ_I64(reply.store_ms, reply.record.written_ms);
        CHECK(reply.store_ms >= last_ms);
        last_ms = reply.store_ms;
        IS(read_of(store, 1), VS_STORE_OK);
        CHECK(reply.store_ms >= last_ms - 2);
    }
    store->backend->close(store);
}

static void numbers_may_be_large(void) {
    static const uint64_t workers[] = {0, 1, 127, 128, 8191, 4194303, (UINT64_C(1) << 53) - 1};
    struct vs_store *store = fresh();
    for (size_t i = 0; i < VS_COUNT(workers); i++)
        IS(swap_of(store, workers[i], 0, workers[i] + 1), VS_STORE_OK);
    for (size_t i = 0; i < VS_COUNT(workers); i++) {
        IS(read_of(store, workers[i]), VS_STORE_OK);
        CHECK_EQ_U64(reply.record.until, workers[i] + 1);
    }
    store->backend->close(store);
}

static void a_list_is_in_order(void) {
    struct vs_store *store = fresh();
    struct vs_listed *listed;
    size_t count;
    uint64_t dice = 4, sum = 0;
    store->leases->list(store, &listed, &count, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK_EQ_U64(count, 0);
    free(listed);
    for (int i = 0; i < 300; i++) {
        uint64_t worker = roll_below(&dice, 8192);
        if (swap_of(store, worker, 0, worker + 1) == VS_STORE_OK) sum++;
    }
    store->leases->list(store, &listed, &count, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK(reply.store_ms > 0);
    CHECK_EQ_U64(count, sum);
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || listed[i].worker > listed[i - 1].worker);
        CHECK_EQ_U64(listed[i].record.until, listed[i].worker + 1);
        CHECK(listed[i].record.written_ms > 0);
    }
    free(listed);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ namespaces */

static void the_namespace_too(void) {
    struct vs_store *store = fresh();
    uint64_t inc = incarnation_of(store);
    CHECK(inc != 0);
    CHECK_EQ_U64(reply.ns.ver, 1);
    CHECK_EQ_U64(reply.ns.fingerprint, 5);
    CHECK_STR(reply.ns.layout, "a layout");
    IS(ns_swap_of(store, 0, 6, 77), VS_STORE_CONFLICT);
    CHECK(reply.ns.ver == 1 && reply.ns.fingerprint == 5 && reply.ns.incarnation == inc);
    IS(ns_swap_of(store, 2, 6, 77), VS_STORE_CONFLICT);
    IS(ns_swap_of(store, 1, 6, inc), VS_STORE_OK); /* keeps its incarnation */
    CHECK_EQ_U64(reply.ns.incarnation, inc);
    CHECK_EQ_U64(incarnation_of(store), inc);
    CHECK(reply.ns.ver == 2 && reply.ns.fingerprint == 6);
    store->backend->close(store);
}

static void a_namespace_that_is_not_there(void) {
    struct vs_store *store = fresh();
    struct vs_store *other = open_store(uri, "nobody-made-this", PATIENT_MS);
    struct vs_listed *listed;
    size_t count;
    other->leases->ns_read(other, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK_EQ_U64(reply.ns.ver, 0);
    IS(read_of(other, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 0);
    IS(swap_of(other, 7, 0, 10), VS_STORE_MOVED);
    other->leases->list(other, &listed, &count, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK_EQ_U64(count, 0);
    free(listed);
    other->backend->close(other);
    store->backend->close(store);
}

static void names_that_look_alike(void) {
    static const char *const tails[] = {"", "A", "a", ".", "_", "-", "00", "0"};
    char first[64];
    struct vs_store *store = fresh();
    snprintf(first, sizeof first, "%s", ns_name);
    for (uint64_t i = 1; i < VS_COUNT(tails); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", first, tails[i]);
        struct vs_store *other = open_store(uri, name, PATIENT_MS);
        other->leases->ns_read(other, &reply);
        CHECK(reply.outcome == VS_STORE_OK && reply.ns.ver == 0);
        IS(ns_swap_of(other, 0, 100 + i, INCARNATION + 2 * i), VS_STORE_OK);
        IS(swap_of(other, 7, 0, 1000 + i), VS_STORE_OK);
        other->backend->close(other);
    }
    IS(read_of(store, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 0);
    store->backend->close(store);
}

/* The next version, or one after a few writes, would wrap to 0, which means that there is no record. */
static void no_version_leads_on_to_0(void) {
    static const char why[] = "its version is higher than writes can have counted";
    struct vs_store *store = fresh();
    struct vs_listed *listed;
    size_t count;
    IS(swap_of(store, 8, 0, 10), VS_STORE_OK);
    forged_ver = UINT64_MAX;
    swap_of(store, 7, 0, 10); /* the outcome is checked below */
    forged_ver = 0;
    IS(read_of(store, 7), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, why);
    static const uint64_t vers[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < VS_COUNT(vers); i++) {
        IS(swap_of(store, 7, vers[i], 20), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, why);
    }
    store->leases->list(store, &listed, &count, &reply);
    free(listed);
    IS(reply.outcome, VS_STORE_REFUSED);
    forged_ver = VS_VER_MAX + 1;
    ns_swap_of(store, 1, 5, INCARNATION);
    forged_ver = 0;
    store->leases->ns_read(store, &reply);
    IS(reply.outcome, VS_STORE_REFUSED);
    CHECK_HAS(reply.text, why);
    IS(swap_of(store, 8, 1, 20), VS_STORE_REFUSED);
    IS(ns_swap_of(store, VS_VER_MAX + 1, 5, INCARNATION), VS_STORE_REFUSED);
    store->backend->close(store);
}

/* The namespace may be repaired after another store object has read it. */
static void a_swap_needs_the_namespace_it_met(void) {
    struct vs_store *store = fresh(), *person = open_store(uri, ns_name, PATIENT_MS);
    uint64_t inc = incarnation_of(store);
    IS(swap_of(store, 7, 0, 10), VS_STORE_OK);
    struct vs_ns_record next = {.incarnation = INCARNATION + 20};
    int64_t now_ms = vs_clock_system()->unix_us(NULL) / 1000;
    const struct vs_lease_timing *timing = vs_lease_preset("balanced");
    vs_store_advance(person, &next, timing, &reply);
    IS(reply.outcome, VS_STORE_OK);
    IS(swap_of(store, 7, 1, 20), VS_STORE_MOVED);
    IS(swap_of(store, 8, 0, 20), VS_STORE_MOVED);
    IS(swap_of(store, 7, 9, 20), VS_STORE_MOVED); /* the namespace is checked before the record's version */
    IS(read_of(store, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 10);
    IS(read_of(store, 8), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 0);
    CHECK(incarnation_of(store) != inc);
    CHECK(reply.ns.ver == 2 && reply.ns.fingerprint == 5); /* the layout is unchanged */
    int64_t floor_ms = reply.ns.floor_ms;
    CHECK(floor_ms > now_ms + timing->window_ms);
    IS(swap_of(store, 7, 1, 20), VS_STORE_OK); /* it has read the namespace now */
    vs_store_advance(person, &next, vs_lease_preset("strict"), &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK_EQ_I64(reply.ns.floor_ms, floor_ms); /* a floor only rises */
    person->backend->close(person);
    person = open_store(uri, ns_name, PATIENT_MS);
    IS(swap_of(person, 9, 0, 20), VS_STORE_OK); /* the first swap reads the namespace */
    person->backend->close(person);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ a crowd */

#define RACERS 8
#define ROUNDS 60

static struct race {
    _Atomic uint32_t won[RACERS * ROUNDS + 1]; /* by version */
    _Atomic uint32_t conflicts, ready;
} * race;

/* All processes write over the version that all have just read. */
static void race_on(uint64_t racer) {
    struct vs_store *store = open_store(uri, ns_name, PATIENT_MS);
    uint64_t dice = racer;
    atomic_fetch_add(&race->ready, 1);
    while (atomic_load(&race->ready) < RACERS)
        sched_yield();
    for (int i = 0; i < ROUNDS;) {
        if (read_of(store, 7) == VS_STORE_DOWN) continue;
        IS(reply.outcome, VS_STORE_OK);
        uint64_t ver = reply.record.ver, until = reply.record.until;
        usleep((useconds_t)roll_below(&dice, 300)); /* let other processes run, because the next one to wake gets the
                                                       lock */
        enum vs_outcome outcome = swap_of(store, 7, ver, until + 1);
        if (outcome == VS_STORE_OK) {
            atomic_fetch_add(&race->won[ver], 1);
            i++;
        } else if (outcome == VS_STORE_CONFLICT) {
            atomic_fetch_add(&race->conflicts, 1);
            CHECK(reply.record.ver > ver);
        } else if (outcome != VS_STORE_DOWN) { /* a lock timeout: the write was not done */
            CHECK_FAIL("racer %d: %s: %s", (int)racer, outcome_name(outcome), reply.text);
            return;
        }
    }
    store->backend->close(store);
}

static void one_winner_a_version(void) {
    pid_t pids[RACERS];
    struct vs_store *store = fresh();
    race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(race != MAP_FAILED);
    for (uint64_t i = 0; i < RACERS; i++)
        pids[i] = spawn(race_on, i);
    for (int i = 0; i < RACERS; i++)
        reap(pids[i], false);
    for (int ver = 0; ver < RACERS * ROUNDS; ver++)
        CHECK_EQ_U64(atomic_load(&race->won[ver]), 1);
    IS(read_of(store, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, RACERS * ROUNDS);
    CHECK_EQ_U64(reply.record.until, RACERS * ROUNDS);
    printf("# %u conflicts\n", atomic_load(&race->conflicts));
    CHECK(atomic_load(&race->conflicts) > 0); /* otherwise there was no race */
    munmap(race, sizeof *race);
    store->backend->close(store);
}

/* The tally's mark is the highest acknowledged `until`. */
static void raise_until_killed(uint64_t unused) {
    (void)unused;
    struct vs_store *store = open_store(uri, ns_name, PATIENT_MS);
    for (;;) {
        if (read_of(store, 7) != VS_STORE_OK) continue;
        uint64_t ver = reply.record.ver, until = reply.record.until + 1;
        if (swap_of(store, 7, ver, until) == VS_STORE_OK) atomic_store(&tally->mark, until);
    }
}

static void killed_while_writing(void) {
    uint64_t dice = 21, worst = 0;
    struct vs_store *store = fresh();
    tally_clear();
    for (int i = 0; i < 40; i++) {
        pid_t pid = spawn(raise_until_killed, 0);
        size_t was = atomic_load(&tally->mark);
        for (int ms = 0; ms < 10000 && atomic_load(&tally->mark) == was; ms++)
            usleep(1000);
        usleep((useconds_t)roll_below(&dice, 10000));
        kill(pid, SIGKILL);
        reap(pid, true);
        do
            read_of(store, 7);
        while (reply.outcome == VS_STORE_DOWN); /* the killed process's locks disappear soon */
        IS(reply.outcome, VS_STORE_OK);
        CHECK(reply.record.until >= atomic_load(&tally->mark)); /* acknowledged writes are stored */
        CHECK(reply.record.until >= worst && reply.record.until == reply.record.ver);
        worst = reply.record.until;
    }
    CHECK(worst >= 40);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ fork */

static struct vs_store *inherited;

static void use_inherited(uint64_t unused) {
    (void)unused;
    IS(read_of(inherited, 7), VS_STORE_OK);
    for (int i = 0; i < 5; i++)
        IS(swap_of(inherited, 7, reply.record.ver, 50), VS_STORE_OK);
    inherited->backend->close(inherited);
}

static void leave_at_once(uint64_t unused) {
    (void)unused;
    inherited->backend->close(inherited);
}

static void a_child_leaves_the_connection_alone(void) {
    inherited = fresh();
    uint64_t ver = 0;
    for (int i = 0; i < 5; i++) {
        IS(swap_of(inherited, 7, ver, 10), VS_STORE_OK);
        reap(spawn(use_inherited, 0), false);
        reap(spawn(leave_at_once, 0), false);
        ver += 6;
    }
    IS(read_of(inherited, 7), VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, ver);
    inherited->backend->close(inherited);
}

/* ------------------------------------------------------------------ the one free number of 1024 */

#define MANY 1024 /* the worker ids of the default layouts, in eight of ZooKeeper's groups */
#define FREE 555

static void fill_part(uint64_t part) {
    struct vs_store *store = open_store(uri, ns_name, PATIENT_MS);
    for (uint64_t worker = part; worker < MANY; worker += RACERS) {
        if (worker == FREE) continue;
        while (swap_of(store, worker, 0, 10) == VS_STORE_DOWN)
            ;
        if (reply.outcome != VS_STORE_OK) CHECK_FAIL("%s", reply.text);
    }
    store->backend->close(store);
}

static void the_one_free_number(void) {
    pid_t pids[RACERS];
    struct vs_store *store = fresh();
    struct vs_listed *listed;
    size_t count;
    for (uint64_t i = 0; i < RACERS; i++)
        pids[i] = spawn(fill_part, i);
    for (int i = 0; i < RACERS; i++)
        reap(pids[i], false);
    int64_t begun_us = now_us();
    uint64_t worker = 0;
    store->leases->list(store, &listed, &count, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("%s", reply.text);
    CHECK_EQ_U64(count, MANY - 1);
    struct vesta_layout layout = parsed("sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z");
    struct vs_lease lease;
    vs_lease_init(&lease, &(struct vs_lease_opts){.layout = &layout,
                                                  .identity = "somebody else",
                                                  .holder = "here",
                                                  .timing = vs_lease_timing_file,
                                                  .slot = -1});
    CHECK(vs_choose_any(&lease, (struct vs_listing){listed, count, reply.store_ms}, MANY - 1, 4711, &worker));
    free(listed);
    CHECK_EQ_U64(worker, FREE);
    IS(swap_of(store, worker, 0, 10), VS_STORE_OK);
    printf("# the one free number of %d: one listing, one swap, %.1f ms\n", MANY, (double)(now_us() - begun_us) / 1e3);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ what a call costs */

static unsigned readings;

static int64_t counted_boot_us(void *self) {
    readings++;
    return vs_clock_system()->boot_us(self);
}

/* The minimum of several writes, because a slow server is waited for in slices. */
static void a_write_reads_the_clock_seldom(void) {
    struct vesta_clock counted = *vs_clock_system();
    unsigned least = UINT_MAX;
    counted.boot_us = counted_boot_us;
    struct vs_store *store = fresh();
    store->clock = &counted;
    for (uint64_t ver = 0; ver < 8; ver++) {
        int64_t boot_us = vs_clock_system()->boot_us(NULL);
        if (store->leases->idle) store->leases->idle(store, boot_us, boot_us);
        readings = 0;
        IS(swap_of(store, 7, ver, 10 + ver), VS_STORE_OK);
        if (ver && readings < least) least = readings;
    }
    CHECK(least <= (strncmp(uri, "zk:", 3) == 0 ? 10 : 2)); /* a write to ZooKeeper takes several requests */
    printf("# %u readings of the clock\n", least);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ its row */

static void the_row_says_what_people_are_told(void) {
    const struct vs_backend *backend = vs_store_of(uri, NULL);
    size_t length = strcspn(uri, ":");
    CHECK(backend && strlen(backend->scheme) == length && strncmp(uri, backend->scheme, length) == 0);
    CHECK(strncmp(backend->form, uri, length + 1) == 0 && vs_store_is_formed(uri));
    CHECK(backend->made && *backend->made && backend->rights && *backend->rights);
    CHECK(!backend->is_folder || backend->is_local);
    CHECK_HAS(VS_STORE_FORMS, backend->form);
}

static const struct check_case cases[] = {
    {"a swap needs the stored version", a_swap_needs_the_version},
    {"a swap must continue the stored claim or be the next claim", a_version_is_not_enough},
    {"every field is read back as it was written", every_field_comes_back},
    {"the store sets the time of a write", the_store_stamps_its_time},
    {"worker ids may have 53 bits", numbers_may_be_large},
    {"a list is in ascending order", a_list_is_in_order},
    {"a watermark follows the leases, and a holder that has not read the mark cannot write",
     a_watermark_follows_the_leases},
    {"the namespace's record is swapped by version, too", the_namespace_too},
    {"a namespace that does not exist reads as empty and accepts no record", a_namespace_that_is_not_there},
    {"names that look alike are different namespaces", names_that_look_alike},
    {"a version that is too high to be real is refused, because later versions would wrap to 0",
     no_version_leads_on_to_0},
    {"a swap is rejected after the namespace was repaired", a_swap_needs_the_namespace_it_met},
    {"eight processes race: each version has one winner", one_winner_a_version},
    {"after writers were killed, the record is complete and its bound is not below an acknowledged one",
     killed_while_writing},
    {"a forked child leaves its parent's connection alone", a_child_leaves_the_connection_alone},
    {"a write reads the clock at its start and once per wait", a_write_reads_the_clock_seldom},
    {"the backend's texts for people are complete", the_row_says_what_people_are_told},
    {"finding the one free worker id of 1,024 takes one listing and one swap", the_one_free_number},
};

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "store_contract URI [PART OF A CLAIM]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    uri = argv[1];
    return check_main(cases, VS_COUNT(cases), argc > 2 ? argv[2] : NULL);
}
