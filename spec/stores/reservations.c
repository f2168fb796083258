/* reservations.c -- tests a store's reservations against the contract in store.h: store_reservations URI [TABLE [PART
 * OF A CLAIM]].  TABLE "-" is the store's default table.  Each case uses its own tag. */
#include "os/random.h"
#include "tagged.h"

#define LONG_MS 3600000

static struct vs_reservation drawn(void) {
    struct vs_reservation one = {.number = 0};
    if (vs_random(one.token, sizeof one.token) != 0) abort();
    one.token[0] |= 1;
    return one;
}

/* Repeats a call that conflicted with another write. */
static enum vs_outcome reserve(struct vs_store *store, struct vs_reservation *one, int64_t hold_ms) {
    one->hold_ms = hold_ms;
    do
        store->counters->reserve(store, &(struct vs_counter){table, tag_name}, one, &reply);
    while (reply.outcome != VS_STORE_OK && reply.outcome != VS_STORE_REFUSED);
    if (reply.outcome == VS_STORE_OK) one->number = reply.grant.from;
    return reply.outcome;
}

static bool was_unknown; /* the last settle was repeated after UNKNOWN, so a refusal may mean that the first attempt was
                            done */

static enum vs_outcome settle(struct vs_store *store, const struct vs_reservation *one, bool commit) {
    was_unknown = false;
    for (;;) {
        store->counters->settle(store, &(struct vs_counter){table, tag_name}, one, commit, &reply);
        if (reply.outcome == VS_STORE_OK || reply.outcome == VS_STORE_REFUSED) return reply.outcome;
        was_unknown |= reply.outcome == VS_STORE_UNKNOWN;
    }
}

/* Reserves under a new token, and requires this number. */
#define RESERVES(one, hold_ms, want)                                                                                   \
    do {                                                                                                               \
        (one) = drawn();                                                                                               \
        IS(reserve(store, &(one), (hold_ms)), VS_STORE_OK);                                                            \
        CHECK_EQ_U64((one).number, (want));                                                                            \
    } while (0)

/* ------------------------------------------------------------------ one caller */

static void the_lowest_that_is_free_comes_first(void) {
    struct vs_store *store = fresh(1);
    struct vs_reservation a, b, c, d;
    RESERVES(a, LONG_MS, 1);
    CHECK_EQ_U64(reply.grant.until, 2);
    CHECK(reply.grant.held_until_ms > reply.store_ms && reply.grant.held_until_ms <= reply.store_ms + LONG_MS);
    RESERVES(b, LONG_MS, 2);
    RESERVES(c, LONG_MS, 3);
    IS(settle(store, &b, false), VS_STORE_OK);
    IS(settle(store, &a, false), VS_STORE_OK);
    RESERVES(a, LONG_MS, 1);
    RESERVES(b, LONG_MS, 2);
    RESERVES(d, LONG_MS, 4);
    IS(settle(store, &a, true), VS_STORE_OK);
    IS(settle(store, &b, true), VS_STORE_OK);
    IS(settle(store, &c, false), VS_STORE_OK);
    RESERVES(c, LONG_MS, 3);
    RESERVES(a, LONG_MS, 5); /* a committed number is never reserved again */
    store->backend->close(store);
}

static void what_ran_out_is_given_again(void) {
    struct vs_store *store = fresh(10);
    struct vs_reservation a, b;
    RESERVES(a, 1, 10);
    usleep(20000);
    IS(settle(store, &a, true), VS_STORE_OK); /* no other token has reserved it since */
    RESERVES(a, 1, 11);
    usleep(20000);
    RESERVES(b, LONG_MS, 11);
    for (int commit = 0; commit < 2; commit++) {
        IS(settle(store, &a, commit), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "number 11 of tag");
        CHECK_HAS(reply.text, "reserved again");
    }
    IS(settle(store, &b, true), VS_STORE_OK);
    IS(settle(store, &a, true), VS_STORE_REFUSED);
    store->backend->close(store);
}

static void asked_again_it_is_the_same(void) {
    struct vs_store *store = fresh(1);
    struct vs_reservation a, b;
    RESERVES(a, LONG_MS, 1);
    IS(reserve(store, &a, LONG_MS), VS_STORE_OK);
    CHECK_EQ_U64(a.number, 1);
    RESERVES(b, LONG_MS, 2);
    for (int i = 0; i < 2; i++)
        IS(settle(store, &a, true), VS_STORE_OK);
    for (int i = 0; i < 2; i++)
        IS(settle(store, &b, false), VS_STORE_OK);
    IS(settle(store, &a, false), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "number 1 of tag");
    CHECK_HAS(reply.text, "is committed and cannot be cancelled");
    IS(settle(store, &b, true), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "was cancelled and cannot be committed: reserve another number");
    IS(reserve(store, &a, LONG_MS), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "committed under this token");
    IS(reserve(store, &b, LONG_MS), VS_STORE_REFUSED);
    struct vs_reservation again;
    RESERVES(again, LONG_MS, b.number); /* it was cancelled, so another caller gets it */
    IS(settle(store, &b, false), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "cancelled or expired since");
    store->backend->close(store);
}

static void a_stranger_settles_nothing(void) {
    struct vs_store *store = fresh(1);
    struct vs_reservation a, stranger = drawn();
    for (int commit = 0; commit < 2; commit++) {
        static const uint64_t numbers[] = {0, 1, 2, VS_NUMBER_MAX, UINT64_MAX};
        for (size_t i = 0; i < VS_COUNT(numbers); i++) {
            stranger.number = numbers[i];
            IS(settle(store, &stranger, commit), VS_STORE_REFUSED);
            CHECK_HAS(reply.text, "was never reserved");
        }
    }
    RESERVES(a, LONG_MS, 1);
    stranger.number = 1;
    for (int commit = 0; commit < 2; commit++) {
        IS(settle(store, &stranger, commit), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "not reserved under this token");
    }
    IS(settle(store, &a, true), VS_STORE_OK);
    IS(settle(store, &stranger, true), VS_STORE_REFUSED);
    store->backend->close(store);
}

static void tags_are_apart(void) {
    struct vs_store *store = fresh(1);
    struct vs_reservation a, same;
    RESERVES(a, LONG_MS, 1);
    store->backend->close(store);
    store = fresh(100);
    same = (struct vs_reservation){.token = {a.token[0], a.token[1]}};
    IS(reserve(store, &same, LONG_MS), VS_STORE_OK); /* the same token under another tag is independent */
    CHECK_EQ_U64(same.number, 100);
    IS(settle(store, &a, true), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "was never reserved");
    IS(settle(store, &same, true), VS_STORE_OK);
    snprintf(tag_name, sizeof tag_name, "nobody-made-this");
    a = drawn();
    IS(reserve(store, &a, LONG_MS), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "vesta segments add nobody-made-this");
    snprintf(tag_name, sizeof tag_name, "it's");
    IS(reserve(store, &a, LONG_MS), VS_STORE_REFUSED);
    IS(settle(store, &a, true), VS_STORE_REFUSED);
    store->backend->close(store);
}

static void the_end_is_an_end(void) {
    struct vs_store *store = fresh(VS_NUMBER_MAX - 1);
    struct vs_reservation a, b = drawn();
    RESERVES(a, LONG_MS, VS_NUMBER_MAX - 1);
    IS(reserve(store, &b, LONG_MS), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "2^63 - 1");
    IS(settle(store, &a, false), VS_STORE_OK);
    RESERVES(a, LONG_MS, VS_NUMBER_MAX - 1);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ a crowd that is killed */

#define KEEPERS 4
#define ROUNDS 10
#define ATTEMPTS_MAX 100000

static struct crowd {
    _Atomic size_t used;
    struct attempt {
        struct vs_reservation one;
        _Atomic int how; /* 0: being reserved, else one of: */
#define HELD 1
#define COMMITTING 2
#define COMMITTED 3
    } attempt[ATTEMPTS_MAX];
} * crowd;

/* Commits a third of the numbers, cancels a third, and leaves the rest.  Notes each step before it is requested. */
static void reserve_until_killed(uint64_t dice) {
    struct vs_store *store = opened();
    for (size_t at; (at = atomic_fetch_add(&crowd->used, 1)) < ATTEMPTS_MAX;) {
        struct attempt *attempt = &crowd->attempt[at];
        attempt->one = drawn();
        if (reserve(store, &attempt->one, 300) != VS_STORE_OK) CHECK_FAIL("reserve: %s", reply.text);
        int64_t held_until_ms = reply.grant.held_until_ms;
        atomic_store(&attempt->how, HELD);
        uint64_t way = roll_below(&dice, 3);
        if (way == 0) atomic_store(&attempt->how, COMMITTING);
        if (way < 2 && settle(store, &attempt->one, way == 0) == VS_STORE_OK) {
            if (way == 0) atomic_store(&attempt->how, COMMITTED);
        } else if (way < 2) {
            CHECK_HAS(reply.text, "reserved again");
            CHECK(was_unknown || reply.store_ms >= held_until_ms); /* on a slow machine, the reservation may have
                                                                      expired */
        }
        if (atomic_load(&check_failures)) return;
    }
}

/* Repeats the last request of a killed process under its token, so that the state of its number becomes known. */
static void count_committed(struct vs_store *store) {
    size_t used = atomic_load(&crowd->used);
    for (size_t i = 0; i < used && i < ATTEMPTS_MAX; i++) {
        struct attempt *attempt = &crowd->attempt[i];
        int how = atomic_load(&attempt->how);
        if (how == COMMITTING && settle(store, &attempt->one, true) == VS_STORE_OK) how = COMMITTED;
        if (how == COMMITTED) {
            IS(settle(store, &attempt->one, true), VS_STORE_OK);
            tally_add(&attempt->one.number, 1);
        }
    }
}

/* Reserves all free numbers, and then a new one. */
static void commit_the_rest(struct vs_store *store, uint64_t first_new) {
    for (;;) {
        struct vs_reservation one = drawn();
        IS(reserve(store, &one, LONG_MS), VS_STORE_OK);
        IS(settle(store, &one, true), VS_STORE_OK);
        tally_add(&one.number, 1);
        if (one.number >= first_new || atomic_load(&check_failures)) return;
    }
}

static uint64_t next_of_counter(struct vs_store *store) {
    struct vs_tag_list list = {.rows = NULL};
    uint64_t next = 0;
    store->counters->tags(store, table, &list, &reply);
    for (size_t i = 0; i < list.count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list.rows[i], &why);
        if (row && strcmp(row->tag, tag_name) == 0) next = (uint64_t)row->max;
    }
    free(list.rows);
    return next;
}

static void no_gap_and_none_twice(void) {
    uint64_t dice = 5;
    struct vs_store *store = fresh(1);
    tally_clear();
    crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(crowd != MAP_FAILED);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pids[KEEPERS];
        size_t was = atomic_load(&crowd->used);
        for (uint64_t i = 0; i < KEEPERS; i++)
            pids[i] = spawn(reserve_until_killed, roll(&dice));
        for (int ms = 0; ms < 20000 && atomic_load(&crowd->used) < was + 4 * KEEPERS; ms++)
            usleep(1000);
        usleep((useconds_t)roll_below(&dice, 10000));
        for (int i = 0; i < KEEPERS; i++)
            kill(pids[i], SIGKILL);
        for (int i = 0; i < KEEPERS; i++)
            reap(pids[i], true);
    }
    count_committed(store);
    size_t before = atomic_load(&tally->used);
    uint64_t next;
    int rounds = 0;
    do { /* The server may still reserve numbers for killed processes.  They expire within 350 ms. */
        usleep(350000);
        next = next_of_counter(store);
        commit_the_rest(store, next);
    } while (atomic_load(&tally->used) < next && ++rounds < 20 && !atomic_load(&check_failures));
    printf("# %zu attempts, %zu committed by the killed, %" PRIu64 " numbers\n", atomic_load(&crowd->used), before,
           next);
    check_tally(10); /* no number twice */
    CHECK_EQ_U64(atomic_load(&tally->used), next);
    CHECK_EQ_U64(tally->ids[0], 1);
    CHECK_EQ_U64(tally->ids[next - 1], next); /* and no number is missing */
    munmap(crowd, sizeof *crowd);
    store->backend->close(store);
}

static const struct check_case cases[] = {
    {"the lowest free number is reserved first, else the counter's next", the_lowest_that_is_free_comes_first},
    {"an expired reservation can be committed until its number is reserved again, and then is refused",
     what_ran_out_is_given_again},
    {"a repeated request under the same token returns the same number and the same result", asked_again_it_is_the_same},
    {"an unknown token settles nothing, and neither does a number that was never reserved", a_stranger_settles_nothing},
    {"tags are independent, even under the same token", tags_are_apart},
    {"after 2^63 - 1 there is no next number", the_end_is_an_end},
    {"after reservers were killed, committed numbers have no gap and no duplicate", no_gap_and_none_twice},
};

int main(int argc, char **argv) {
    return tagged_main(argc, argv, cases, VS_COUNT(cases));
}
