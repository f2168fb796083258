/* clock.c -- rule 6 of section 4: a generator whose clock goes back, leaps, alternates or ends. Also the first ids of a
 * time unit. */
#include "base/array.h"
#include "world.h"

#define SMALL "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"
#define SECONDS "sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00Z"
#define EPOCH_US (INT64_C(1577836800) * SECOND)
#define NOON (EPOCH_US + 1000 * DAY + 250)

/* One microsecond before the wait ends there is no id.  Then there is a new one. */
static void wait_exactly(struct world *w, const struct vesta_pause *pause, uint64_t last) {
    struct vesta_pause again;
    pass_us(&w->time, pause->wait_us - 1);
    CHECK_EQ_U64(next_tick(w, &again), UINT64_MAX);
    pass_us(&w->time, 1);
    uint64_t tick = next_tick(w, &again);
    CHECK(tick != UINT64_MAX && tick > last);
}

static void step(struct world *w, int64_t us) {
    w->time.unix_us += us;
}

/* Issues the rest of the unit's ids and returns the last tick. */
static uint64_t drain(struct world *w, uint64_t last) {
    struct vesta_pause pause;
    for (uint64_t tick; (tick = next_tick(w, &pause)) != UINT64_MAX; last = tick)
        CHECK(tick > last);
    return last;
}

/* ------------------------------------------------------------------ back */

static void back_by(enum vesta_pacing pacing, int64_t us) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, pacing, 0, NOON);
    grant_all(&w, 5);
    uint64_t last = next_tick(&w, &pause);
    if (pacing == VESTA_PACING_HISTORY) last = drain(&w, last); /* below `pass` no clock is read */
    uint64_t start = pacing == VESTA_PACING_HISTORY ? atomic_load(&w.map->slot[0].tick) : last + 1;
    step(&w, -us);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    int64_t begins = pacing == VESTA_PACING_HISTORY ? NOON - 250 + MS : NOON - 250;
    check_pause(&pause, VESTA_CLOCK_BACK, begins - (NOON - us), us, start - now_tick(&w));
    CHECK_EQ_U64(atomic_load(&w.map->slot[0].tick), start);
    wait_exactly(&w, &pause, last);
    world_close(&w);
}

static void a_clock_that_goes_back(void) {
    static const int64_t steps[] = {SECOND, 3 * SECOND, 288 * SECOND, HOUR};
    for (size_t i = 0; i < VS_COUNT(steps); i++) {
        back_by(VESTA_PACING_CLOCK, steps[i]);
        back_by(VESTA_PACING_HISTORY, steps[i]);
    }
}

/* Layouts of seconds may run one unit ahead, so a leap second causes no pause. */
static void a_leap_second(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SECONDS, VESTA_PACING_CLOCK, 1, NOON);
    grant_all(&w, 5);
    uint64_t last = next_tick(&w, &pause);
    step(&w, -SECOND);
    uint64_t tick = next_tick(&w, &pause);
    CHECK_EQ_U64(tick, last + 1);
    world_close(&w);

    world_open(&w, SECONDS, VESTA_PACING_CLOCK, 0, NOON); /* without it, the wait is as long as the step */
    grant_all(&w, 5);
    last = next_tick(&w, &pause);
    step(&w, -SECOND);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_BACK, SECOND - 250, SECOND, 8 + 1);
    wait_exactly(&w, &pause, last);
    world_close(&w);
}

/* 11.6 ppm: a second more or less over a day, like smeared leap seconds. */
static void a_smear_causes_no_pause(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    for (int second = 0; second < 86400; second += 10) {
        CHECK(next_tick(&w, &pause) != UINT64_MAX);
        pass_us(&w.time, 10 * SECOND);
        step(&w, -116);
        vs_clock_anchor(w.map, vs_instant_now(&w.clock));
    }
    world_close(&w);
}

/* ------------------------------------------------------------------ ahead */

static void small_leaps_are_followed(void) {
    struct world w;
    struct vesta_pause pause;
    static const int64_t steps[] = {2 * SECOND, 9 * SECOND, VS_CLOCK_LEAP_US};
    for (size_t i = 0; i < VS_COUNT(steps); i++)
        for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
            world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
            grant_all(&w, 5);
            CHECK(drain(&w, 0) != 0);
            step(&w, steps[i]);
            uint64_t tick = next_tick(&w, &pause);
            CHECK(tick != UINT64_MAX && (pacing == VESTA_PACING_HISTORY || tick == now_tick(&w)));
            world_close(&w);
        }
}

static void leap_confirmed(enum vesta_pacing pacing, int64_t us) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, pacing, 0, NOON);
    grant_all(&w, 5);
    uint64_t last = drain(&w, 0), cursor = cursor_of(&w);
    step(&w, us);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_AHEAD, MINUTE, 0, 0);
    pass_us(&w.time, 20 * SECOND);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_AHEAD, 40 * SECOND, 0, 0);
    CHECK_EQ_U64(cursor_of(&w), cursor);
    wait_exactly(&w, &pause, last);
    world_close(&w);
}

static void leap_corrected(enum vesta_pacing pacing, int64_t us) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, pacing, 0, NOON);
    grant_all(&w, 5);
    uint64_t last = drain(&w, 0);
    step(&w, us);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "clock_ahead");
    pass_us(&w.time, 30 * SECOND);
    step(&w, -us); /* corrected: no future time was used, so ids continue at once */
    uint64_t tick = next_tick(&w, &pause);
    CHECK(tick > last && tick <= now_tick(&w));
    step(&w, us); /* a second leap must last its own minute */
    while (next_tick(&w, &pause) != UINT64_MAX)
        ;
    CHECK_STR(vesta_why_name(pause.why), "clock_ahead");
    CHECK_EQ_I64(pause.wait_us, MINUTE);
    world_close(&w);
}

static const int64_t leaps[] = {11 * SECOND, 10 * MINUTE, DAY, 365 * DAY};

static void a_leap_is_trusted_after_a_minute(void) {
    for (size_t i = 0; i < VS_COUNT(leaps); i++) {
        leap_confirmed(VESTA_PACING_CLOCK, leaps[i]);
        leap_confirmed(VESTA_PACING_HISTORY, leaps[i]);
    }
}

static void a_leap_that_is_corrected_leaves_no_trace(void) {
    for (size_t i = 0; i < VS_COUNT(leaps); i++) {
        leap_corrected(VESTA_PACING_CLOCK, leaps[i]);
        leap_corrected(VESTA_PACING_HISTORY, leaps[i]);
    }
}

/* At full rate every unit is used to its last tick, and the cursor is at the start of the next one.  The clock must
 * still be checked.  The lease began ahead of a clock that was behind and then leapt to it. */
static void a_full_unit_hides_no_leap(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    uint64_t from = now_tick(&w) + (30000 << 3); /* half a minute ahead */
    grant(&w, 5, from, vs_tick_end(&w.gen.shape));
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    step(&w, 30 * SECOND);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "clock_ahead");
    pass_us(&w.time, MINUTE); /* the leap is trusted now, and the clock is in the middle of the skipped time */
    uint64_t last = drain(&w, 0);
    CHECK_EQ_U64(last, now_tick(&w) + 7);
    pass_us(&w.time, MS);
    CHECK_EQ_U64(next_tick(&w, &pause), last + 1);
    CHECK_EQ_I64(atomic_load(&w.map->shared.seen_us), w.time.unix_us); /* the start of each unit was recorded */
    world_close(&w);
}

/* A clock that alternates by 20 s is never trusted: no id may have a time that was not real. */
static void an_alternating_clock_is_never_trusted(void) {
    struct world w;
    struct vesta_pause pause;
    int64_t away = 0;
    int given = 0;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    for (int i = 0; i < 3000; i++) {
        pass_us(&w.time, 100 * MS);
        away = 20 * SECOND - away;
        step(&w, away ? 20 * SECOND : -20 * SECOND);
        uint64_t tick = next_tick(&w, &pause);
        if (tick == UINT64_MAX) continue;
        given++;
        CHECK(tick <= vs_tick_at(&w.gen.shape, w.time.unix_us - away) + 8);
    }
    CHECK_EQ_I64(given, 1500);
    world_close(&w);
}

static void the_first_day_of_1970(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    uint64_t last = next_tick(&w, &pause);
    step(&w, -NOON);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_BACK, NOON - 250, NOON, last + 1);
    world_close(&w);
}

static void a_clock_past_the_layouts_end(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    CHECK(next_tick(&w, &pause) != UINT64_MAX);
    uint64_t cursor = cursor_of(&w);
    step(&w, (INT64_C(1) << 32) * SECOND - w.time.unix_us); /* 2106: the time field ends in 2089 */
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_AHEAD, MINUTE, 0, 0);
    pass_us(&w.time, MINUTE);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_END, -1, 0, 0);
    CHECK_EQ_U64(cursor_of(&w), cursor);
    world_close(&w);
}

/* Suspend moves both clocks, and a virtual machine's BOOTTIME may leap alone.  Neither repeats or blocks an id. */
static void boottime_that_leaps(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    uint64_t last = drain(&w, 0);
    w.time.boot_us += DAY;
    for (int i = 0; i < 120; i++) {
        pass_us(&w.time, SECOND);
        uint64_t tick = next_tick(&w, &pause);
        CHECK(tick != UINT64_MAX && tick > last);
        last = tick;
    }
    pass_us(&w.time, DAY); /* as after a suspend */
    CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w));
    world_close(&w);
}

/* ------------------------------------------------------------------ pauses without a fault of the clock */

static void a_lease_that_starts_ahead(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        uint64_t from = now_tick(&w) + 40 + 3; /* five units and 3 ticks */
        grant(&w, 5, from, vs_tick_end(&w.gen.shape));
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_AHEAD, 5 * MS - 250, 0, 43);
        wait_exactly(&w, &pause, from - 1);
        world_close(&w);
    }
}

static void the_last_tick_of_the_layout(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[64];
    int64_t end_us = EPOCH_US + (INT64_C(1) << 41) * MS;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 3, end_us - 2 * MS);
        grant_all(&w, 5);
        size_t got = 0;
        CHECK(vesta_next_n(&w.gen, ids, 10, &got, &pause) == VESTA_OK);
        CHECK_EQ_U64(got, 10);
        /* `ahead` would permit more ticks, but the layout ends */
        CHECK(vesta_next_n(&w.gen, ids, 64, &got, &pause) == VESTA_OK);
        CHECK_EQ_U64(got, 6);
        CHECK_EQ_U64(tick_of(&w.layout, ids[5]), vs_tick_end(&w.gen.shape) - 1);
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_END, -1, 0, 0);
        pass_us(&w.time, MINUTE);
        CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
        check_pause(&pause, VESTA_END, -1, 0, 0);
        world_close(&w);
    }
}

/* A layout may have more time than fits into microseconds: no wait and no date overflows. */
static void the_widest_time_field(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, "sign:1 time:53 seq:4 worker:6 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK, 0, NOON);
    uint64_t end = vs_tick_end(&w.gen.shape);
    CHECK(vs_tick_unix_us(&w.gen.shape, end) > 0);
    grant(&w, 5, end - 1, end);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "ahead");
    CHECK(pause.wait_us > 200 * 365 * DAY);
    world_close(&w);
}

/* ------------------------------------------------------------------ the start of a time unit */

static void spread_starts(struct world *w, uint64_t worker, int units, uint32_t *counts, uint64_t *sequence) {
    struct vesta_pause pause;
    world_open(w, "leaf", VESTA_PACING_CLOCK, 0, NOON);
    grant_all(w, worker);
    for (int i = 0; i < units; i++) {
        pass_us(&w->time, MS);
        uint64_t tick = next_tick(w, &pause);
        CHECK(tick >> 12 == now_tick(w) >> 12 && (tick & 4095) < 100);
        CHECK_EQ_U64(next_tick(w, &pause), tick + 1);
        counts[tick % 4096 % 100]++;
        sequence[i] = tick;
    }
    world_close(w);
}

static void spread_is_even_and_the_same_in_every_process(void) {
    enum { UNITS = 20000 };
    static uint32_t counts[100], again[100], other[100];
    static uint64_t one[UNITS], two[UNITS], three[UNITS];
    struct world w;
    int same = 0;
    spread_starts(&w, 7, UNITS, counts, one);
    spread_starts(&w, 7, UNITS, again, two);
    spread_starts(&w, 8, UNITS, other, three);
    for (int i = 0; i < 100; i++) /* each expects 200, and six standard deviations are 84 */
        CHECK(counts[i] > 116 && counts[i] < 284);
    CHECK(memcmp(one, two, sizeof one) == 0);
    for (int i = 0; i < UNITS; i++)
        same += one[i] == three[i];
    CHECK(same < UNITS / 50); /* a hundredth is equal by chance */
}

/* tsid-creator draws a random counter for each new millisecond, and carries an overflow into the next one. */
static void tsid_starts_anywhere_and_counts_on_after_an_overflow(void) {
    enum { UNITS = 20000 };
    static uint32_t counts[16];
    struct world w;
    struct vesta_pause pause;
    static uint64_t ids[4096];
    world_open(&w, "tsid", VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 7);
    for (int i = 0; i < UNITS; i++) {
        pass_us(&w.time, 3 * MS);
        counts[next_tick(&w, &pause) % 4096 / 256]++;
    }
    for (int i = 0; i < 16; i++) /* each expects 1,250, and six standard deviations are 205 */
        CHECK(counts[i] > 1045 && counts[i] < 1455);
    while (next_tick(&w, &pause) != UINT64_MAX)
        ;
    pass_us(&w.time, MS); /* the unit before was exhausted, so no tick is skipped */
    CHECK_EQ_U64(take_n(&w, ids, 4096, &pause), 4096);
    CHECK_EQ_U64(tick_of(&w.layout, ids[0]), now_tick(&w));
    world_close(&w);
}

/* ShardingSphere: sequenceOffset = sequenceOffset >= max-vibration-offset ? 0 : sequenceOffset + 1, from -1. */
static void rotation_is_that_of_shardingsphere(void) {
    static const char *const layouts[] = {"shardingsphere", "shardingsphere seq_start=rotate:13"};
    static const int64_t max_offset[] = {1, 12};
    struct world w;
    struct vesta_pause pause;
    for (int l = 0; l < 2; l++) {
        int64_t offset = -1;
        world_open(&w, layouts[l], VESTA_PACING_CLOCK, 0, NOON);
        grant_all(&w, 7);
        for (int i = 0; i < 1000; i++) {
            pass_us(&w.time, (1 + i % 7 * 1000) * MS);
            offset = offset >= max_offset[l] ? 0 : offset + 1;
            for (int k = 0; k <= i % 3; k++) /* one to three ids in a millisecond */
                CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w) + (uint64_t)(offset + k));
        }
        while (next_tick(&w, &pause) != UINT64_MAX)
            ;
        pass_us(&w.time, MS);
        CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w)); /* after an overflow, its sequence is 0 */
        pass_us(&w.time, MS);
        CHECK_EQ_U64(next_tick(&w, &pause), now_tick(&w) + (uint64_t)(offset >= max_offset[l] ? 0 : offset + 1));
        world_close(&w);
    }
}

/* The state of the rotation is in the map, so that forks and other processes continue it. */
static void processes_share_a_rotation(void) {
    struct world w;
    struct vesta_gen other;
    struct vesta_pause pause;
    struct vs_room room;
    uint64_t id;
    world_open(&w, "discord", VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 7);
    vs_gen_init(&other, w.map, &w.layout, 0, &w.clock);
    for (uint64_t i = 0; i < 5000; i++) {
        pass_us(&w.time, SECOND);
        CHECK_EQ_I64(vesta_peek(&other, &pause), VESTA_OK);
        CHECK(vs_gen_room(&other, &room) && room.ids == 4096 - i % 4096); /* without the ticks that are skipped */
        CHECK_EQ_I64(vesta_next(i % 2 ? &other : &w.gen, &id, &pause), VESTA_OK);
        CHECK_EQ_U64(tick_of(&w.layout, id), now_tick(&w) + i % 4096);
    }
    world_close(&w);
}

/* Leaf: a new millisecond begins below 100.  After 4095 comes the next millisecond, also below 100. */
static void as_leaf(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, "leaf", VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 7);
    pass_us(&w.time, MS);
    uint64_t first = next_tick(&w, &pause), last = drain(&w, first);
    CHECK((first & 4095) < 100);
    CHECK_EQ_U64(last, first | 4095);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "full");
    pass_us(&w.time, MS);
    uint64_t next = next_tick(&w, &pause);
    CHECK_EQ_U64(next >> 12, (first >> 12) + 1);
    CHECK((next & 4095) < 100);
    world_close(&w);
}

/* Twitter: a clock of 1, 1, 0, 1 gives sequence 0, 1, an error, and 2 at tick 1. */
static void as_twitter(void) {
    struct world w;
    struct vesta_pause pause;
    int64_t epoch_us = INT64_C(1288834974657) * 1000;
    world_open(&w, "twitter", VESTA_PACING_CLOCK, 0, epoch_us + MS);
    grant_all(&w, 0);
    CHECK_EQ_U64(next_tick(&w, &pause), 4096);
    CHECK_EQ_U64(next_tick(&w, &pause), 4096 + 1);
    w.time.unix_us = epoch_us;
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOCK_BACK, MS, MS, 4096 + 2);
    w.time.unix_us = epoch_us + MS;
    CHECK_EQ_U64(next_tick(&w, &pause), 4096 + 2);
    world_close(&w);
}

/* The populator of Vesta (Java), without its repetition of (t+1, 0) after an exhausted unit. */
static void as_vesta(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, "vesta-milli", VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 7);
    uint64_t t = now_tick(&w);
    for (uint64_t i = 0; i < 1024; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), t + i);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_FULL, 750, 0, 1024);
    pass_us(&w.time, pause.wait_us);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), t + 1024 + i);
    world_close(&w);
}

/* Butterfly: after the 512 ids of a millisecond comes (T+1, 0), whatever the clock shows by then. */
static void as_butterfly(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, "butterfly", VESTA_PACING_HISTORY, 0, NOON);
    grant_all(&w, 7);
    uint64_t t = now_tick(&w);
    pass_us(&w.time, HOUR);
    for (uint64_t i = 0; i < 512; i++)
        CHECK_EQ_U64(next_tick(&w, &pause), t + i);
    uint64_t next = next_tick(&w, &pause);
    CHECK_EQ_U64(next >> 9, (t >> 9) + 1);
    CHECK_EQ_U64(next & 511, 0);
    world_close(&w);
}

static const struct check_case cases[] = {
    {"rule 6: a clock that goes back 1 s, 3 s, 288 s, 1 h: clock_back, with the exact wait", a_clock_that_goes_back},
    {"rule 6: a leap second", a_leap_second},
    {"rule 6: a smeared leap second causes no pause", a_smear_causes_no_pause},
    {"rule 6: leaps of 2, 9 and 10 s are followed", small_leaps_are_followed},
    {"rule 6: a leap of 11 s, 10 min, a day, a year is trusted after a minute", a_leap_is_trusted_after_a_minute},
    {"rule 6: a leap that is corrected before its minute leaves no trace", a_leap_that_is_corrected_leaves_no_trace},
    {"rule 6: a unit that was used to its last tick hides no leap", a_full_unit_hides_no_leap},
    {"rule 6: a clock that alternates is never trusted", an_alternating_clock_is_never_trusted},
    {"rule 6: 1970", the_first_day_of_1970},
    {"rule 6: 2106, past the layout's end", a_clock_past_the_layouts_end},
    {"rule 6: BOOTTIME that leaps alone, and suspend", boottime_that_leaps},
    {"a lease that starts ahead of the clock: ahead, with the exact wait", a_lease_that_starts_ahead},
    {"the layout ends exactly after its last tick", the_last_tick_of_the_layout},
    {"the widest time field overflows nothing", the_widest_time_field},
    {"seq_start=spread is even, and the same in every process", spread_is_even_and_the_same_in_every_process},
    {"tsid starts at any sequence, and counts on after an overflow",
     tsid_starts_anywhere_and_counts_on_after_an_overflow},
    {"seq_start=rotate:N is ShardingSphere's max-vibration-offset N - 1", rotation_is_that_of_shardingsphere},
    {"processes share a rotation, and the ids that it skips are not counted as room", processes_share_a_rotation},
    {"sequence vector: Leaf", as_leaf},
    {"sequence vector: Twitter", as_twitter},
    {"sequence vector: Vesta (Java)", as_vesta},
    {"sequence vector: Butterfly", as_butterfly},
};

CHECK_MAIN(cases)
