/* choose.c -- the default choice of a worker id from a store's list. */
#include "engine.h"

static struct vs_listed listed[64];
static size_t count;

static void add(uint64_t worker, const char *identity, bool held, int64_t until_ms, int64_t written_ms) {
    struct vs_record r = record_of(identity, held, until_ms);
    r.written_ms = written_ms;
    listed[count++] = (struct vs_listed){worker, r};
}

#define OWN "/var/lib/vesta/default.gen"

/* Returns the chosen worker id, or -1 if every worker id is held. */
static int64_t choice(uint64_t max, uint64_t random) {
    uint64_t worker = 99;
    struct vs_listing listing = {listed, count, NOON_MS};
    return vs_choose_any(&lease, listing, max, random, &worker) ? (int64_t)worker : -1;
}

static void begin(void) {
    start_with((struct vs_lease_opts){.slot = -1});
    count = 0;
}

/* Compares the choice with a list in which all reserved worker ids are held. */
static void never_a_reserved_worker_id(void) {
    for (uint64_t first = 0; first < 16; first++)
        for (uint64_t many = 1; many < 16; many++) {
            bool seen[16] = {false};
            unsigned distinct = 0, left = 0;
            begin();
            lease.ns.static_first = first;
            lease.ns.static_count = many;
            add(3, OWN, false, NOON_MS, NOON_MS - 60000);
            add(4, "/other.gen", true, NOON_MS, NOON_MS);
            add(9, "/other.gen", false, NOON_MS, NOON_MS - 60000);
            if (!vs_is_static(&lease.ns, 3)) {
                CHECK_EQ_I64(choice(15, first), 3);
                continue;
            }
            for (uint64_t worker = 0; worker < 16; worker++)
                left += !vs_is_static(&lease.ns, worker) && worker != 3 && worker != 4 && worker != 9;
            for (uint64_t random = 0; random < 64; random++) {
                int64_t worker = choice(15, random);
                if (left == 0) {
                    CHECK_EQ_I64(worker, vs_is_static(&lease.ns, 9) ? -1 : 9);
                    continue;
                }
                CHECK(worker >= 0 && worker < 16 && !vs_is_static(&lease.ns, (uint64_t)worker));
                CHECK(worker != 3 && worker != 4 && worker != 9);
                distinct += !seen[worker];
                seen[worker] = true;
            }
            CHECK_EQ_U64(distinct, left);
        }
    lease.ns = (struct vs_ns_record){0};
}

static void own_worker_id_first(void) {
    begin();
    add(2, "/other.gen", false, NOON_MS - 9000, NOON_MS - 9000);
    add(5, OWN, true, NOON_MS, NOON_MS - 50000);
    add(6, OWN, false, NOON_MS, NOON_MS - 60000);
    for (uint64_t random = 0; random < 100; random++)
        CHECK_EQ_I64(choice(1023, random), 5); /* its record was written last */
}

static void own_worker_id_far_ahead(void) {
    begin();
    add(0, "/other.gen", false, NOON_MS - 9000, NOON_MS - 9000);
    add(1, OWN, false, NOON_MS + 3600000, NOON_MS - 1000);
    CHECK_EQ_I64(choice(1, 5), 0);
    CHECK_EQ_I64(choice(2, 5), 2);
    listed[1].record.until = vs_tick_at(&lease.shape, (NOON_MS + 10000) * 1000);
    CHECK_EQ_I64(choice(2, 5), 1);
}

/* Processes that have a removed file of this path open still renew it. */
static void own_worker_id_still_held(void) {
    begin();
    add(0, "/other.gen", true, NOON_MS, NOON_MS);
    add(1, OWN, true, NOON_MS + 3000, NOON_MS - 1000);
    CHECK_EQ_I64(choice(2, 5), 2);
    CHECK_EQ_I64(choice(1, 5), 1); /* another process holds it, but no other worker id is left */
    listed[1].record.until = listed[0].record.until;
    CHECK_EQ_I64(choice(2, 5), 1);
}

static void then_one_never_used(void) {
    bool seen[16] = {false};
    begin();
    add(0, "/other.gen", false, NOON_MS, NOON_MS - 60000);
    add(3, "/other.gen", true, NOON_MS, NOON_MS);
    add(15, "/other.gen", true, NOON_MS, NOON_MS);
    for (uint64_t random = 0; random < 1000; random++) {
        int64_t worker = choice(15, random * 7919);
        CHECK(worker >= 0 && worker <= 15 && worker != 0 && worker != 3 && worker != 15);
        if (worker >= 0 && worker <= 15) seen[worker] = true;
    }
    for (int i = 0; i < 16; i++)
        CHECK(seen[i] == (i != 0 && i != 3 && i != 15)); /* each free worker id is chosen at some time */
}

static void then_the_one_free_for_longest(void) {
    begin();
    add(0, "/other.gen", true, NOON_MS - 90000, NOON_MS);
    add(1, "/other.gen", false, NOON_MS + 3600000, NOON_MS - 5000); /* free, but its time ends far ahead */
    add(2, "/other.gen", false, NOON_MS - 5000, NOON_MS - 5000);
    add(3, "/other.gen", true, NOON_MS - 20000, NOON_MS - 15001); /* expired by 1 ms */
    CHECK_EQ_I64(choice(3, 12345), 3);
    listed[3].record.written_ms = NOON_MS - 15000; /* does not expire yet */
    CHECK_EQ_I64(choice(3, 12345), 2);
}

static void none_if_all_are_held(void) {
    begin();
    for (uint64_t i = 0; i < 4; i++)
        add(i, "/other.gen", true, NOON_MS, NOON_MS);
    CHECK_EQ_I64(choice(3, 1), -1);
    CHECK_EQ_I64(choice(4, 1), 4);
    begin();
    CHECK_EQ_I64(choice(0, UINT64_MAX), 0); /* a layout without a worker field */
    add(0, "/other.gen", true, NOON_MS, NOON_MS);
    CHECK_EQ_I64(choice(0, UINT64_MAX), -1);
}

static void foreign_worker_ids_are_not_chosen(void) {
    begin();
    for (uint64_t i = 0; i < 3; i++)
        add(i, "/other.gen", true, NOON_MS, NOON_MS);
    add(100, OWN, false, NOON_MS, NOON_MS); /* the layout has no such worker id, although a record exists */
    add(UINT64_MAX, "/other.gen", false, NOON_MS, NOON_MS);
    for (uint64_t random = 0; random < 100; random++)
        CHECK_EQ_I64(choice(3, random), 3);
}

static void damaged_times(void) {
    begin();
    add(0, "/other.gen", true, NOON_MS, INT64_MAX);
    listed[0].record.lease_ms = INT64_MAX;
    CHECK_EQ_I64(choice(0, 1), -1);
    listed[0].record.written_ms = 0, listed[0].record.lease_ms = 0;
    CHECK_EQ_I64(choice(0, 1), 0);
}

static const struct check_case cases[] = {
    {"the generator's own worker id first", own_worker_id_first},
    {"never a worker id that is reserved for assignment by hand", never_a_reserved_worker_id},
    {"not its own worker id if that one ends far ahead of the clock", own_worker_id_far_ahead},
    {"not its own worker id if another process still renews it", own_worker_id_still_held},
    {"then a worker id that was never used, each of them over time", then_one_never_used},
    {"then the worker id whose ticks ended first", then_the_one_free_for_longest},
    {"none if all are held", none_if_all_are_held},
    {"worker ids that the layout does not have are not chosen", foreign_worker_ids_are_not_chosen},
    {"damaged times overflow nothing", damaged_times},
};

CHECK_MAIN(cases)
