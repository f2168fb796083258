/* generator.c -- section 4 of the design, rule by rule, in virtual time: the ids of a generator, and its pauses. */
#include "world.h"

#include <pthread.h>

/* Eight ids per millisecond, so that a test can exhaust a time unit. */
#define SMALL "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"
#define SECONDS "sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00Z"
#define WIDE "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define EPOCH_US (INT64_C(1577836800) * SECOND)
/* A quarter into a millisecond, so that waits are not whole units. */
#define NOON (EPOCH_US + 1000 * DAY + 250)

/* ------------------------------------------------------------------ rule 1 */

static void closing_gives_the_cursor(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        uint64_t cursor = 1, untouched = 99;
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        int slot = grant_all(&w, 5);
        uint64_t first = next_tick(&w, &pause), second = next_tick(&w, &pause);
        CHECK_EQ_U64(second, first + 1);
        CHECK(vs_slot_close(&w.map->slot[slot], &cursor));
        CHECK_EQ_U64(cursor, second + 1);
        CHECK(!vs_slot_close(&w.map->slot[slot], &untouched));
        CHECK_EQ_U64(untouched, 99);
        CHECK(!vs_slot_cursor(&w.map->slot[slot], &untouched));
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_LEASE, VS_LEASE_POLL_US, 0, 0);
        world_close(&w);
    }
}

static void closing_caps_the_cursor_at_the_limit(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor = 0;
    world_open(&w, SMALL, VESTA_PACING_HISTORY, 0, NOON);
    uint64_t from = now_tick(&w);
    int slot = grant(&w, 5, from, from + 4);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), from + (uint64_t)i);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    CHECK(vs_slot_close(&w.map->slot[slot], &cursor));
    CHECK_EQ_U64(cursor, from + 4);
    world_close(&w);
}

static void closing_a_fresh_slot_releases_nothing(void) {
    struct world w;
    uint64_t cursor = 99, from;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    from = now_tick(&w);
    int slot = vs_slot_take(w.map, &(struct vs_claim){.worker = 5, .owner = {1, 2}, .from = from});
    CHECK(!vs_slot_cursor(&w.map->slot[slot], &cursor));
    CHECK(!vs_slot_close(&w.map->slot[slot], &cursor));
    CHECK_EQ_U64(cursor, 99);
    vs_slot_publish(w.map, slot, from + 8, 0); /* the closed slot stays closed */
    CHECK(!vs_slot_cursor(&w.map->slot[slot], &cursor));
    world_close(&w);
}

/* ------------------------------------------------------------------ rule 2 */

static void a_taken_slot_issues_nothing_until_published(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_HISTORY, 0, NOON);
    uint64_t from = now_tick(&w);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    int slot = vs_slot_take(w.map, &(struct vs_claim){.worker = 5, .owner = {1, 2}, .from = from});
    CHECK_EQ_U64(w.map->slot[slot].owner[0], 1); /* the token is stored before any claim is sent */
    CHECK_EQ_U64(w.map->slot[slot].owner[1], 2);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    vs_slot_publish(w.map, slot, from + 8, 0);
    CHECK_EQ_U64(next_tick(&w, &pause), from);
    world_close(&w);
}

static void an_issuer_goes_on_in_the_newer_slot(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int old = grant_all(&w, 5);
    CHECK(next_tick(&w, &pause) != UINT64_MAX);
    CHECK(vs_slot_close(&w.map->slot[old], &cursor));
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_EQ_U64(pause.slot, old);
    int newer = grant(&w, 6, cursor, cursor + 100);
    CHECK_EQ_I64(newer, old + 1);
    CHECK_EQ_U64(next_tick(&w, &pause), cursor);
    /* A keeper that slept publishes late. The slot is neither reopened nor made active again. */
    vs_slot_publish(w.map, old, cursor + 1000, 0);
    CHECK_EQ_I64(vs_map_active(w.map), newer);
    CHECK(!vs_slot_cursor(&w.map->slot[old], &cursor));
    world_close(&w);
}

static void a_late_publish_does_not_set_the_cursor_back(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int slot = grant_all(&w, 5);
    uint64_t first = next_tick(&w, &pause);
    vs_slot_publish(w.map, slot, first + 100, 0);
    CHECK_EQ_U64(next_tick(&w, &pause), first + 1);
    world_close(&w);
}

static void slots_end_and_are_never_used_twice(void) {
    struct world w;
    uint64_t cursor;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    for (int i = 0; i < VS_SLOTS_MAX; i++) {
        CHECK_EQ_I64(grant_all(&w, 5), i);
        CHECK(vs_slot_close(&w.map->slot[i], &cursor));
    }
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(vs_slot_take(w.map, &(struct vs_claim){.worker = 5, .owner = {7, 7}, .from = 0}), -1);
    atomic_store(&w.map->shared.slots_used, UINT32_MAX); /* as if a keeper had claimed four billion times */
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(vs_slot_take(w.map, &(struct vs_claim){.worker = 5, .owner = {7, 7}, .from = 0}), -1);
    world_close(&w);
}

/* ------------------------------------------------------------------ rule 3 */

static void limit_and_pass_only_rise(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_HISTORY, 0, NOON);
    uint64_t from = now_tick(&w);
    int slot = grant(&w, 5, from, from + 100);
    CHECK_EQ_U64(next_tick(&w, &pause), from);
    CHECK_EQ_U64(atomic_load(&w.map->slot[slot].pass), from + 8); /* the end of the clock's unit, not of the lease */
    vs_slot_raise(&w.map->slot[slot], from + 50, 0);
    CHECK_EQ_U64(atomic_load(&w.map->slot[slot].limit), from + 100);
    pass_us(&w.time, -10 * MS);
    for (int i = 1; i < 8; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), from + (uint64_t)i);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_EQ_U64(atomic_load(&w.map->slot[slot].pass), from + 8);
    vs_slot_raise(&w.map->slot[slot], from + 200, 0);
    CHECK_EQ_U64(atomic_load(&w.map->slot[slot].limit), from + 200);
    world_close(&w);
}

static void the_lease_bounds_both_pacings(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        uint64_t from = now_tick(&w);
        int slot = grant(&w, 5, from, from + 3);
        for (int i = 0; i < 3; i++)
            CHECK_EQ_U64(next_tick(&w, &pause), from + (uint64_t)i);
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_LEASE, VS_LEASE_POLL_US, 0, 0);
        pass_us(&w.time, MINUTE);
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        CHECK_STR(vesta_why_name(pause.why), "lease");
        vs_slot_raise(&w.map->slot[slot], vs_tick_end(&w.gen.shape), 0);
        uint64_t tick = next_tick(&w, &pause);
        CHECK(pacing == VESTA_PACING_CLOCK ? tick == now_tick(&w) : tick >= from + 3 && tick < from + 8);
        world_close(&w);
    }
}

/* ------------------------------------------------------------------ rule 4 */

#define HAMMERS 4

static atomic_bool hammering;

static void *hammer(void *arg) {
    struct vesta_pause pause;
    uint64_t id;
    while (atomic_load(&hammering))
        (void)vesta_next(arg, &id, &pause);
    return NULL;
}

static void refusal_costs_one_tick_a_thread(void) {
    struct world w;
    pthread_t threads[HAMMERS];
    world_open(&w, SMALL, VESTA_PACING_HISTORY, 0, NOON);
    uint64_t from = now_tick(&w);
    int slot = grant_all(&w, 5);
    atomic_store(&hammering, true);
    for (int i = 0; i < HAMMERS; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, &w.gen) == 0);
    usleep(300000);
    atomic_store(&hammering, false);
    for (int i = 0; i < HAMMERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&w.map->slot[slot].tick) <= from + 8 + HAMMERS);
    world_close(&w);
}

static void a_refusal_on_the_clock_moves_nothing(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    uint64_t from = now_tick(&w);
    grant_all(&w, 5);
    for (int i = 0; i < 8; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), from + (uint64_t)i);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_EQ_U64(cursor_of(&w), from + 8);
    world_close(&w);
}

static void history_uses_idle_time(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_HISTORY, 0, NOON);
    uint64_t from = now_tick(&w);
    grant_all(&w, 5);
    pass_us(&w.time, HOUR);
    for (int i = 0; i < 5000; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), from + (uint64_t)i);
    world_close(&w);
}

static void clock_pacing_jumps_to_the_clock(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w));
    pass_us(&w.time, HOUR);
    CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w));
    CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w) + 1);
    world_close(&w);
}

/* ------------------------------------------------------------------ rule 5 */

static void check_ticks(const struct world *w, const uint64_t *ids, size_t n, uint64_t first) {
    for (size_t i = 0; i < n; i++)
        CHECK_EQ_U64(tick_of(&w->layout, ids[i]), first + i);
}

/* Checks that the wait of a pause is exact: one microsecond earlier there is no id, then there is one. */
static uint64_t wait_exactly(struct world *w, const struct vesta_pause *pause) {
    struct vesta_pause again;
    uint64_t before = cursor_of(w), id = 0;
    pass_us(&w->time, pause->wait_us - 1);
    CHECK_EQ_U64(take_n(w, &id, 1, &again), 0);
    CHECK_EQ_U64(cursor_of(w), before);
    pass_us(&w->time, 1);
    CHECK_EQ_U64(take_n(w, &id, 1, &again), 1);
    return tick_of(&w->layout, id);
}

static void batches_stay_inside_the_unit(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[100];
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        uint64_t from = now_tick(&w);
        grant_all(&w, 5);
        CHECK_EQ_U64(take_n(&w, ids, 3, &pause), 3);
        check_ticks(&w, ids, 3, from);
        CHECK_EQ_U64(take_n(&w, ids, 100, &pause), 5);
        check_ticks(&w, ids, 5, from + 3);
        ids[0] = 42;
        CHECK_EQ_U64(take_n(&w, ids, 100, &pause), 0);
        CHECK_EQ_U64(ids[0], 42);
        CHECK_EQ_U64(cursor_of(&w), from + 8);
        check_pause(&pause, VESTA_FULL, 750, 0, 8);
        CHECK_EQ_U64(wait_exactly(&w, &pause), from + 8);
        world_close(&w);
    }
}

static void batches_cross_units_within_ahead(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[100];
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 2, NOON);
        uint64_t from = now_tick(&w);
        grant_all(&w, 5);
        CHECK_EQ_U64(take_n(&w, ids, 100, &pause), 24); /* the ids of this unit and two later ones */
        check_ticks(&w, ids, 24, from);
        CHECK_EQ_U64(take_n(&w, ids, 1, &pause), 0);
        check_pause(&pause, VESTA_FULL, 750, 0, 24);
        CHECK_EQ_U64(wait_exactly(&w, &pause), from + 24);
        world_close(&w);
    }
}

static void batches_stop_at_the_lease(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[100];
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 5, NOON);
        uint64_t from = now_tick(&w);
        grant(&w, 5, from, from + 13);
        CHECK_EQ_U64(take_n(&w, ids, SIZE_MAX, &pause), 13);
        check_ticks(&w, ids, 13, from);
        CHECK_EQ_U64(take_n(&w, ids, SIZE_MAX, &pause), 0);
        check_pause(&pause, VESTA_LEASE, VS_LEASE_POLL_US, 0, 0);
        world_close(&w);
    }
}

static void mixed_calls_only_grow(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[20], dice = 1, last = 0, given = 0;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 1, NOON);
        grant_all(&w, 5);
        last = 0;
        for (int i = 0; i < 20000; i++) {
            if (roll_below(&dice, 3) == 0) pass_us(&w.time, (int64_t)roll_below(&dice, 3000) - 500);
            size_t n = take_n(&w, ids, 1 + roll_below(&dice, 20), &pause);
            for (size_t k = 0; k < n; k++) {
                uint64_t tick = tick_of(&w.layout, ids[k]);
                CHECK(tick > last);
                last = tick;
            }
            uint64_t one = next_tick(&w, &pause);
            CHECK(one == UINT64_MAX || one > last);
            if (one != UINT64_MAX) last = one, given++;
        }
        world_close(&w);
    }
    CHECK(given > 1000);
}

/* ------------------------------------------------------------------ rule 7 */

static void deadline_stops_only_where_time_moves(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        uint64_t from = now_tick(&w);
        int slot = vs_slot_take(w.map, &(struct vs_claim){.worker = 5, .owner = {1, 2}, .from = from});
        vs_slot_publish(w.map, slot, vs_tick_end(&w.gen.shape), WORLD_BOOT_US + 100);
        CHECK_EQ_U64(next_tick(&w, &pause), from);
        pass_us(&w.time, 100); /* past the deadline, but the unit's ids may still be issued */
        CHECK_EQ_U64(next_tick(&w, &pause), from + 1);
        pass_us(&w.time, MS);
        while (cursor_of(&w) < from + 8 && next_tick(&w, &pause) != UINT64_MAX)
            ;
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_LEASE, VS_LEASE_POLL_US, 0, 0);
        vs_slot_raise(&w.map->slot[slot], 0, w.time.boot_us + SECOND); /* the keeper renewed the lease */
        CHECK(next_tick(&w, &pause) != UINT64_MAX);
        world_close(&w);
    }
}

/* ------------------------------------------------------------------ rule 8 */

static void only_this_file_of_this_boot_is_trusted(void) {
    struct vs_file_identity now = {
        .boot_id = "5e0b2e4c-0000-4000-8000-000000000001", .dev = 7, .ino = 1234, .born_ns = 99};
    struct vs_header header = {.dev = 7, .ino = 1234, .born_ns = 99};
    memcpy(header.boot_id, now.boot_id, sizeof header.boot_id);
    CHECK(vs_map_trusted(&header, &now));
    header.dev = 8;
    CHECK(!vs_map_trusted(&header, &now));
    header.dev = 7, header.ino = 1235;
    CHECK(!vs_map_trusted(&header, &now));
    header.ino = 1234, header.born_ns = 98; /* like a restored copy that got the removed file's inode number */
    CHECK(!vs_map_trusted(&header, &now));
    header.born_ns = 99, header.boot_id[35] = '2';
    CHECK(!vs_map_trusted(&header, &now));
}

/* Any process that shares a map may damage its words.  Damaged words must not lead outside an array. */
static void a_damaged_index_finds_no_slot(void) {
    static const uint32_t spoiled[] = {VS_SLOTS_MAX + 1, 1u << 20, INT32_MAX, 1u << 31, UINT32_MAX};
    struct world w;
    struct vesta_pause pause;
    struct vesta_block block;
    uint64_t ids[2];
    world_open(&w, WIDE, VESTA_PACING_CLOCK, 0, NOON);
    w.map->header.incarnation = 55;
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        atomic_store(&w.map->shared.active, spoiled[i]);
        CHECK_EQ_I64(vs_map_active(w.map), -1);
        CHECK_EQ_U64(vs_map_incarnation(w.map), 55);
        CHECK(next_tick(&w, &pause) == UINT64_MAX && pause.why == VESTA_LEASE);
        CHECK(take_n(&w, ids, 2, &pause) == 0 && pause.why == VESTA_LEASE);
        CHECK(vesta_next_block(&w.gen, 2, &block, &pause) == VESTA_EPAUSE && pause.why == VESTA_LEASE);
        CHECK(vesta_peek(&w.gen, &pause) == VESTA_EPAUSE && pause.why == VESTA_LEASE);
    }
    world_close(&w);
}

/* Callers count pauses in an array indexed by their cause. */
static void a_damaged_stop_is_a_failstop(void) {
    static const uint32_t spoiled[] = {VESTA_FULL, VESTA_FAILSTOP, VESTA_FAILSTOP + 1, 1u << 20, UINT32_MAX};
    struct world w;
    struct vesta_pause pause;
    world_open(&w, WIDE, VESTA_PACING_CLOCK, 0, NOON);
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        atomic_store(&w.map->shared.stopped, spoiled[i]);
        CHECK(next_tick(&w, &pause) == UINT64_MAX);
        CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    }
    atomic_store(&w.map->shared.stopped, VESTA_CLOSED);
    CHECK(next_tick(&w, &pause) == UINT64_MAX && pause.why == VESTA_CLOSED);
    world_close(&w);
}

static const struct check_case cases[] = {
    {"rule 1: closing returns the exact cursor, once", closing_gives_the_cursor},
    {"rule 1: the cursor of a closed slot is capped at its limit", closing_caps_the_cursor_at_the_limit},
    {"rule 1: closing a slot that was never published releases nothing", closing_a_fresh_slot_releases_nothing},
    {"rule 2: a taken slot issues nothing until it is published", a_taken_slot_issues_nothing_until_published},
    {"rule 2: an issuer with a closed slot continues in the newer one", an_issuer_goes_on_in_the_newer_slot},
    {"rule 2: a late publish does not set the cursor back", a_late_publish_does_not_set_the_cursor_back},
    {"rule 2: slots end, and are never used twice", slots_end_and_are_never_used_twice},
    {"rule 3: limit and pass only rise", limit_and_pass_only_rise},
    {"rule 3: no id at or past the lease's limit", the_lease_bounds_both_pacings},
    {"rule 4: a pause in history pacing costs at most one tick per thread", refusal_costs_one_tick_a_thread},
    {"rule 4: a pause in clock pacing moves nothing", a_refusal_on_the_clock_moves_nothing},
    {"rule 4: history pacing uses idle time", history_uses_idle_time},
    {"rule 4: clock pacing jumps to the clock", clock_pacing_jumps_to_the_clock},
    {"rule 5: a batch takes min(n, room) contiguous ticks, and a pause moves nothing", batches_stay_inside_the_unit},
    {"rule 5: a batch crosses time units within ahead only", batches_cross_units_within_ahead},
    {"rule 5: a batch stops at the lease's limit", batches_stop_at_the_lease},
    {"rule 5: ticks of single ids and batches only rise", mixed_calls_only_grow},
    {"rule 7: a deadline stops ids only when the time field changes", deadline_stops_only_where_time_moves},
    {"rule 8: only the original file of this boot is trusted", only_this_file_of_this_boot_is_trusted},
    {"a damaged word for the active slot leads to no slot", a_damaged_index_finds_no_slot},
    {"a damaged word for the cause of a stop is a failstop", a_damaged_stop_is_a_failstop},
};

CHECK_MAIN(cases)
