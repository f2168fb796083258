/* segment_counted.c -- counts the numbers of one counter: threads and processes take, refill and close in parallel, and
 * processes are killed at any moment. The counter is a word in shared memory that grants and takes back ranges like a
 * database. */
#include "crowd.h"
#include "segment/segment.h"

#define TAKERS 3
#define ENOUGH 400000

/* The shared memory of a host: two segments on one counter, as if two servers had them. */
struct host {
    _Atomic uint64_t counter;
    _Atomic int stop;
    _Atomic uint64_t tokens;
    struct vs_segment seg[2];
};
static struct host *host;

static void start_host(void) {
    if (!host) host = mmap(NULL, sizeof *host, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED) abort();
    memset(host, 0, sizeof *host);
    atomic_store(&host->counter, 1); /* the tally treats 0 as missing, so numbers start at 1 */
    vs_segment_format(&host->seg[0]);
    vs_segment_format(&host->seg[1]);
    tally_clear();
}

static void give_back(uint64_t from, uint64_t until) {
    atomic_compare_exchange_strong(&host->counter, &until, from);
}

/* Refills once with `step` numbers. Some of a hundred ranges are lost, as if the reply to a commit was lost. */
static void refill(struct vs_segment *seg, uint64_t *dice) {
    uint64_t step = 1 + roll_below(dice, 200), from = atomic_fetch_add(&host->counter, step);
    struct vs_range range;
    if (roll_below(dice, 100) < 3) return;
    CHECK(vs_range_of(from, from + step, 1, 0, &range) == NULL);
    range.mark = roll_below(dice, 2) ? range.mark : 0;
    if (vs_segment_publish(seg, &range) != VS_PUBLISHED) give_back(from, from + step);
}

static void tally_taken(const struct vs_taken *taken) {
    uint64_t ids[64];
    for (uint64_t i = 0; i < taken->count; i++)
        ids[i] = taken->first + i * taken->stride;
    tally_add(ids, (size_t)taken->count);
}

/* Takes numbers, and refills on request, until there are enough or the crowd is stopped. */
static void take_and_refill(uint64_t dice) {
    struct vs_taken taken;
    while (!atomic_load(&host->stop) && atomic_load(&tally->used) < ENOUGH) {
        struct vs_segment *seg = &host->seg[roll_below(&dice, 2)];
        taken = (struct vs_taken){.count = 1, .stride = 1};
        int rc = roll_below(&dice, 2) ? vs_segment_next(seg, &taken.first, &taken.wanted)
                                      : vs_segment_take(seg, 1 + roll_below(&dice, 60), &taken);
        if (rc == VESTA_OK) tally_taken(&taken);
        if (taken.wanted || (rc == VESTA_EPAUSE && vs_segment_is_due(seg))) refill(seg, &dice);
        if (rc == VESTA_EPAUSE) sched_yield();
    }
}

/* ------------------------------------------------------------------ threads */

static void *taker_thread(void *arg) {
    take_and_refill((uint64_t)(uintptr_t)arg);
    return NULL;
}

static void threads_take_and_refill(void) {
    pthread_t threads[TAKERS];
    start_host();
    for (uintptr_t i = 0; i < TAKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, taker_thread, (void *)(i + 1)) == 0);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    check_tally(ENOUGH);
}

/* Segments are closed under the takers, return their ranges, and start again with the same numbers. */
static void threads_close_and_begin(void) {
    pthread_t threads[TAKERS];
    struct vs_unused unused[2];
    uint64_t dice = 3, rest = 0;
    int count = 0;
    start_host();
    uint64_t counter = 1;
    /* repeats until there are numbers to count, because a round on a loaded machine may have none */
    for (int round = 0; round < 300 || rest == 0 || atomic_load(&tally->used) < 300; round++) {
        vs_segment_format(&host->seg[0]);
        vs_segment_format(&host->seg[1]);
        atomic_store(&host->stop, 0);
        for (uintptr_t i = 0; i < TAKERS; i++)
            CHECK(pthread_create(&threads[i], NULL, taker_thread, (void *)(i + 7 * (uintptr_t)round)) == 0);
        usleep((useconds_t)roll_below(&dice, 2000));
        for (int i = 0; i < 2; i++) {
            CHECK(vs_segment_close(&host->seg[i], unused, &count));
            for (int j = 0; j < count; j++)
                rest += unused[j].until - unused[j].from, give_back(unused[j].from, unused[j].until);
        }
        atomic_store(&host->stop, 1);
        for (int i = 0; i < TAKERS; i++)
            pthread_join(threads[i], NULL);
        counter = atomic_load(&host->counter);
    }
    size_t used = atomic_load(&tally->used);
    CHECK(used < counter);
    check_tally(300);
}

/* ------------------------------------------------------------------ claimed rests */

#define RESTS 400000
#define RESTS_US 4000000 /* on a loaded machine, each sched_yield can last for 100 ms, and four rests need one */
#define REST_NUMBERS 5

static struct vs_unclaimed rests[VS_RESTS_MAX];

/* A torn rest would contain other numbers, so those are counted too. */
static void *claimer_thread(void *arg) {
    struct vs_unused unused[VS_RESTS_MAX];
    bool is_over = false;
    while (!is_over) {
        is_over = atomic_load(&host->stop);
        int count = vs_rest_claim(rests, 7, *(const uint32_t *)arg, unused);
        if (count == 0) sched_yield();
        for (int i = count; i-- > 0;) {
            CHECK_EQ_U64(unused[i].until, unused[i].from + REST_NUMBERS);
            CHECK_EQ_U64(unused[i].database, *(const uint32_t *)arg);
            tally_add(&unused[i].from, 1);
        }
    }
    return NULL;
}

static void threads_keep_and_claim(void) {
    static const uint32_t databases[TAKERS] = {0, 0, 1};
    pthread_t threads[TAKERS];
    uint64_t kept = 0;
    start_host();
    memset(rests, 0, sizeof rests);
    for (int i = 0; i < TAKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, claimer_thread, (void *)(uintptr_t)&databases[i]) == 0);
    for (int64_t end_us = now_us() + RESTS_US; kept < RESTS && (kept < 100 || now_us() < end_us);) {
        struct vs_unused unused = {.from = 1 + kept, .until = 1 + kept + REST_NUMBERS, .database = kept % 3 == 0};
        if (vs_rest_keep(rests, 7, &unused))
            kept++;
        else
            sched_yield();
    }
    atomic_store(&host->stop, 1);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    check_tally(kept);
    CHECK_EQ_U64(atomic_load(&tally->used), kept);
}

/* ------------------------------------------------------------------ processes */

static void forget_stop(uint64_t dice) {
    take_and_refill(dice * 977 + 5);
}

static void processes_take_and_refill(void) {
    pid_t pids[4];
    start_host();
    for (uint64_t i = 0; i < 4; i++)
        pids[i] = spawn(forget_stop, i);
    for (int i = 0; i < 4; i++)
        reap(pids[i], false);
    check_tally(ENOUGH);
}

/* Killed at any moment: after taking numbers, in the middle of publishing a range, or before a refill that only this
 * process was asked for. */
static void processes_are_killed(void) {
    pid_t pids[3];
    uint64_t dice = 9;
    start_host();
    pid_t survivor = spawn(forget_stop, 1000);
    for (int round = 0; round < 60; round++) {
        for (uint64_t i = 0; i < 3; i++)
            pids[i] = spawn(forget_stop, (uint64_t)round * 10 + i);
        usleep((useconds_t)roll_below(&dice, 8000));
        for (int i = 0; i < 3; i++)
            kill(pids[i], SIGKILL);
        for (int i = 0; i < 3; i++)
            reap(pids[i], true);
    }
    reap(survivor, false);
    check_tally(ENOUGH / 2);
}

static const struct check_case cases[] = {
    {"threads take and refill two segments: no duplicate", threads_take_and_refill},
    {"segments close under their takers and reuse what they returned: no duplicate", threads_close_and_begin},
    {"threads claim rests while others are kept: none is duplicated, torn or lost", threads_keep_and_claim},
    {"processes take and refill: no duplicate", processes_take_and_refill},
    {"180 processes are killed next to a survivor: no duplicate, and the survivor continues", processes_are_killed},
};

CHECK_MAIN(cases)
