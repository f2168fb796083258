/* unique_threads.c -- threads share a generator, and all ids are counted: both pacings, single ids and batches, leases
 * that end and begin in the meantime, and handles that are opened, kept, released and closed in parallel. */
#include "crowd.h"
#include "generator/generator.h"
#include "mapping/mapping.h"
#include "os/clock.h"

#define THREADS 4
#define IDS_EACH 60000
#define LEASES 8000

struct issuer {
    pthread_t thread;
    struct vesta_gen *gen;
    uint64_t dice;
    size_t count;
};

/* Issues `count` ids, and then more until the tally is marked. */
static void *issue_thread(void *arg) {
    struct issuer *self = arg;
    bool more = issue(self->gen, self->count, self->dice);
    while (more && atomic_load(&tally->mark) == 0) {
        more = issue(self->gen, 64, self->dice++);
        usleep(1000);
    }
    return NULL;
}

static void start_issuers(struct issuer *issuers, struct vesta_gen *gen, size_t each) {
    for (int i = 0; i < THREADS; i++) {
        issuers[i] = (struct issuer){.gen = gen, .dice = (uint64_t)i, .count = each};
        CHECK(pthread_create(&issuers[i].thread, NULL, issue_thread, &issuers[i]) == 0);
    }
}

static void join_issuers(struct issuer *issuers) {
    atomic_store(&tally->mark, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(issuers[i].thread, NULL);
}

static void threads_on_one_generator(const char *layout, enum vesta_pacing pacing, size_t each) {
    struct issuer issuers[THREADS];
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = layout, .pacing = pacing, .any_worker = 1});
    NEED(gen != NULL);
    start_issuers(issuers, gen, each);
    join_issuers(issuers);
    check_tally(THREADS * each);
    vesta_close(gen);
}

static void on_the_clock(void) {
    threads_on_one_generator(FAST, VESTA_PACING_CLOCK, IDS_EACH);
    threads_on_one_generator(TIGHT, VESTA_PACING_CLOCK, 3000);
    threads_on_one_generator(MICRO, VESTA_PACING_CLOCK, 3000);
    threads_on_one_generator(WIDE, VESTA_PACING_CLOCK, 3000);
}

static void in_history(void) {
    threads_on_one_generator(FAST, VESTA_PACING_HISTORY, IDS_EACH);
    threads_on_one_generator(TIGHT, VESTA_PACING_HISTORY, 3000);
    threads_on_one_generator(MICRO, VESTA_PACING_HISTORY, 3000);
    threads_on_one_generator(WIDE, VESTA_PACING_HISTORY, 3000);
}

/* ------------------------------------------------------------------ leases that end while ids are issued */

struct churn {
    struct vesta_gen gen;
    atomic_bool stop;
};

static void *issue_until_stopped(void *arg) {
    struct churn *churn = arg;
    struct vesta_pause pause;
    uint64_t ids[8];
    size_t got;
    for (uint64_t dice = (uint64_t)(uintptr_t)&got; !atomic_load(&churn->stop);) {
        bool one = roll_below(&dice, 3) > 0;
        got = 1;
        if ((one ? vesta_next(&churn->gen, ids, &pause) : vesta_next_n(&churn->gen, ids, 8, &got, &pause)) == VESTA_OK)
            tally_add(ids, got);
        else
            sched_yield(); /* lets the thread that opens the next slot run */
    }
    return NULL;
}

/* Thousands of releases and claims: the next slot starts at the closed slot's cursor.  Leases are short, so issuers are
 * often at their end. */
static void slots_close_and_open(enum vesta_pacing pacing) {
    static struct churn churn;
    pthread_t threads[THREADS];
    struct vesta_layout layout = parsed(FAST);
    uint64_t cursor, dice = 5;
    tally_clear();
    /* at least one id per lease: if issuers get no processor time, some leases have none */
    for (int round = 0; round < LEASES / VS_SLOTS_MAX || atomic_load(&tally->used) < LEASES; round++) {
        struct vs_map *map = vs_mapping_private();
        NEED(map != NULL);
        map->header.pacing = pacing;
        map->header.ahead_ticks_max = (uint64_t)3600 << 22; /* large, so that only the lease stops an issuer */
        vs_map_format(map, vs_clock_system());
        vs_gen_init(&churn.gen, map, &layout, 0, vs_clock_system());
        cursor = 0;
        atomic_store(&churn.stop, false);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, issue_until_stopped, &churn) == 0);
        for (int i = 0; i < VS_SLOTS_MAX; i++) {
            uint64_t now = vs_tick_at(&churn.gen.shape, churn.gen.clock->unix_us(NULL)), at;
            cursor = cursor > now ? cursor : now;
            int slot = vs_slot_take(
                map, &(struct vs_claim){.worker = (uint64_t)round, .owner = {1, (uint64_t)i}, .from = cursor});
            vs_slot_publish(map, slot, cursor + 1 + roll_below(&dice, 300), 0);
            uint64_t enough = cursor + roll_below(&dice, 200);
            for (int spin = 0; spin < 5000 && vs_slot_cursor(&map->slot[slot], &at) && at < enough; spin++)
                if (spin % 256 == 0) vs_slot_raise(&map->slot[slot], atomic_load(&map->slot[slot].limit) + 10, 0);
            CHECK(vs_slot_close(&map->slot[slot], &cursor));
        }
        atomic_store(&churn.stop, true);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        vs_mapping_unmap(map);
    }
    check_tally(LEASES);
}

static void slots_close_on_the_clock(void) {
    slots_close_and_open(VESTA_PACING_CLOCK);
}

static void slots_close_in_history(void) {
    slots_close_and_open(VESTA_PACING_HISTORY);
}

/* ------------------------------------------------------------------ handles */

static void released_while_others_issue(void) {
    struct issuer issuers[THREADS];
    struct vesta_error err;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        struct vesta_gen *gen =
            must_open((struct vesta_opts){.layout = FAST, .pacing = (enum vesta_pacing)pacing, .any_worker = 1});
        NEED(gen != NULL);
        start_issuers(issuers, gen, IDS_EACH);
        for (int i = 0; i < 100; i++) {
            size_t before = atomic_load(&tally->used);
            CHECK(vesta_release(gen, &err) == VESTA_OK);
            for (int wait = 0; wait < 5000 && atomic_load(&tally->used) == before; wait++)
                usleep(1000);
        }
        join_issuers(issuers);
        check_tally(THREADS * IDS_EACH);
        struct vesta_info info;
        vesta_get_info(gen, &info);
        CHECK(info.slots_used > 5); /* several leases ended and began */
        vesta_close(gen);
    }
}

static void *live_and_die(void *arg) {
    struct vesta_error err;
    uint64_t dice = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 25; i++) {
        struct vesta_gen *gen = must_open((struct vesta_opts){.any_worker = 1, .layout = FAST});
        if (!gen) return NULL;
        issue(gen, 200, dice + (uint64_t)i);
        if (roll_below(&dice, 3) == 0) CHECK(vesta_keep(gen) == VESTA_OK);
        if (roll_below(&dice, 2) == 0) CHECK(vesta_release(gen, &err) == VESTA_OK);
        vesta_close(gen);
    }
    return NULL;
}

static void handles_come_and_go(void) {
    pthread_t threads[THREADS];
    empty_folder();
    tally_clear();
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, live_and_die, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_tally(THREADS * 25 * 200);
}

static const struct check_case cases[] = {
    {"threads x ids, clock pacing: no duplicate", on_the_clock},
    {"threads x ids, history pacing: no duplicate", in_history},
    {"slots close and open while ids are issued, clock pacing: no duplicate", slots_close_on_the_clock},
    {"slots close and open while ids are issued, history pacing: no duplicate", slots_close_in_history},
    {"vesta_release while others issue: no duplicate", released_while_others_issue},
    {"handles are opened, kept, released and closed in parallel: no duplicate", handles_come_and_go},
};

CHECK_MAIN_IN_FOLDER(cases)
