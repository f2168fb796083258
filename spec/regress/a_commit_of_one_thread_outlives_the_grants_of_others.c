/* Regression: threads reserved and committed numbers of one dense tag concurrently. A thread that recorded a grant
 * cleared the commits recorded by others, so a restored database could grant those numbers again. */
#include "../segment/counters.h"
#include "keeper/segment/memory.h"

#define THREADS 4
#define ROUNDS 30
#define EACH 5000

static struct vesta_segment *seg;
static _Atomic uint64_t database;

static void *reserve_and_commit(void *unused) {
    for (int i = 0; i < EACH; i++) {
        uint64_t number = atomic_fetch_add(&database, 1);
        vs_memory_grant(seg, number);
        vs_memory_commit(seg, number);
    }
    return unused;
}

static struct vesta_segment *opened(uint64_t first) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *made = NULL;
    struct vesta_error err = {.text = ""};
    empty_folder();
    mkdir(in_folder("maps"), 0700);
    setenv("VESTA_MAPS", in_folder("maps"), 1);
    opts.stores[0] = uri_of("one.db");
    opts.tag = "invoices";
    opts.order = VESTA_STRICT;
    opts.flags = VESTA_NO_KEEPER;
    if (vesta_segment_open(&opts, &made, &err) != VESTA_OK) CHECK_FAIL("vesta_segment_open: %s", err.text);
    atomic_store(&database, first);
    return made;
}

static void count_remembered(uint64_t first) {
    pthread_t thread[THREADS];
    seg = opened(first);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&thread[i], NULL, reserve_and_commit, NULL) == 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        uint64_t granted = vs_memory_granted(seg), forgotten = 0;
        CHECK_EQ_U64(granted, atomic_load(&database));
        for (uint64_t number = granted - VS_REMEMBERED_MAX; number < granted; number++)
            forgotten += !vs_memory_has_committed(seg, number);
        CHECK_EQ_U64(forgotten, 0);
    }
    vesta_segment_close(seg);
}

static void threads_at_a_counters_start(void) {
    count_remembered(1);
}

static void threads_at_large_numbers(void) {
    count_remembered((UINT64_C(1) << 43) - 100000);
}

static void only_what_was_committed(void) {
    seg = opened(1);
    for (uint64_t number = 1; number < 10000; number++) {
        vs_memory_grant(seg, number);
        if (number % 3 == 0) vs_memory_commit(seg, number);
        for (uint64_t old = number > 40 ? number - 40 : 1; old <= number; old++)
            CHECK_EQ_U64(vs_memory_has_committed(seg, old), old % 3 == 0);
    }
    vs_memory_commit(seg, 1002); /* This number is too old, so the bits of newer numbers stay unchanged. */
    CHECK(!vs_memory_has_committed(seg, 9999 - VS_REMEMBERED_MAX));
    for (uint64_t number = 10000 - VS_REMEMBERED_MAX; number < 10000; number++)
        CHECK_EQ_U64(vs_memory_has_committed(seg, number), number % 3 == 0);
    vs_memory_commit(seg, 1000000); /* Another host had all numbers in between. */
    CHECK_EQ_U64(vs_memory_granted(seg), 1000001);
    for (uint64_t number = 1000000 - VS_REMEMBERED_MAX; number < 1000000; number++)
        CHECK(!vs_memory_has_committed(seg, number));
    CHECK(vs_memory_has_committed(seg, 1000000));
    vesta_segment_close(seg);
}

static const struct check_case cases[] = {
    {"of 600,000 numbers that 4 threads reserve and commit, the newest are all "
     "remembered", threads_at_a_counters_start},
    {"they are also remembered if the numbers of blocks start again", threads_at_large_numbers},
    {"no number is remembered that was not committed", only_what_was_committed},
};

CHECK_MAIN_IN_FOLDER(cases)
