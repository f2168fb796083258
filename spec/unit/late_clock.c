/* late_clock.c -- rule 7: a late clock may confirm that a time unit continues, but never begins one. It is used in
 * units of a second, and in shorter units for runs of ids after many ids. */
#include "os/clock.h"
#include "world.h"

#define SECONDS "sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00Z"
#define EPOCH_US (INT64_C(1577836800) * SECOND)
#define MILLIS "sign:1 time:41 seq:10 worker:12 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON (EPOCH_US + 1000 * DAY + 250)

static int64_t late_s;
static int64_t late_us;
static int looks; /* how often the exact clock was read */

static int64_t show_late_s(void *self) {
    (void)self;
    return late_s;
}

static int64_t show_late_us(void *self) {
    (void)self;
    return late_us;
}

static int64_t count_unix_us(void *self) {
    looks++;
    return fake_unix_us(self);
}

static void open_late(struct world *w) {
    world_open(w, SECONDS, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(w, 5);
    w->clock.unix_us = count_unix_us;
    vs_gen_read_late(&w->gen, show_late_s, show_late_us);
    late_s = NOON / SECOND;
}

/* Issues so many ids in one unit that the next id uses the late clock. */
static uint64_t open_burst(struct world *w, uint64_t ahead_units) {
    uint64_t ids[VS_LATE_FROM + 1];
    struct vesta_pause pause;
    world_open(w, MILLIS, VESTA_PACING_CLOCK, ahead_units, NOON);
    grant_all(w, 5);
    w->clock.unix_us = count_unix_us;
    vs_gen_read_late(&w->gen, show_late_s, show_late_us);
    late_us = NOON - NOON % 4000; /* at the kernel's last tick */
    CHECK_EQ_U64(next_tick(w, &pause), now_tick(w));
    CHECK_EQ_U64(take_n(w, ids, VS_LATE_FROM, &pause), VS_LATE_FROM);
    return now_tick(w);
}

/* Returns the tick of the next id. `looked`: whether the exact clock must have been read. */
static uint64_t next_with(struct world *w, bool looked) {
    struct vesta_pause pause;
    looks = 0;
    uint64_t tick = next_tick(w, &pause);
    CHECK_EQ_I64(looks > 0, looked);
    return tick;
}

static void a_second_continues_by_the_late_clock(void) {
    struct world w;
    open_late(&w);
    uint64_t t = now_tick(&w);
    CHECK_EQ_U64(next_with(&w, true), t); /* the exact clock begins the second */
    CHECK_EQ_U64(next_with(&w, false), t + 1);
    pass_us(&w.time, SECOND);
    CHECK_EQ_U64(next_with(&w, false), t + 2); /* the unit has ended, but the late clock does not show it yet */
    late_s++;
    CHECK_EQ_U64(next_with(&w, true), t + 8);
    CHECK_EQ_U64(next_with(&w, false), t + 9);
    world_close(&w);
}

static void a_late_clock_opens_no_second(void) {
    struct world w;
    open_late(&w);
    uint64_t t = now_tick(&w);
    CHECK_EQ_U64(next_with(&w, true), t);
    late_s++; /* ahead, although the next second has not begun */
    CHECK_EQ_U64(next_with(&w, true), t + 1);
    late_s -= 2; /* behind the second that another thread has begun */
    CHECK_EQ_U64(next_with(&w, true), t + 2);
    late_s = -EPOCH_US; /* a time far before the epoch */
    CHECK_EQ_U64(next_with(&w, true), t + 3);
    late_s = INT64_MAX;
    CHECK_EQ_U64(next_with(&w, true), t + 4);
    world_close(&w);
}

static void the_late_clock_detects_a_step_back(void) {
    struct world w;
    struct vesta_pause pause;
    open_late(&w);
    next_with(&w, true);
    w.time.unix_us -= 3 * SECOND;
    late_s -= 3; /* setting the clock also changes the late clock */
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "clock_back");
    world_close(&w);
}

static void few_ids_of_a_unit_read_the_exact_clock(void) {
    struct world w;
    open_burst(&w, 0);
    pass_us(&w.time, 4000);
    late_us += 4000;
    uint64_t t = now_tick(&w);
    CHECK_EQ_U64(next_with(&w, true), t);
    for (uint64_t i = 1; i < VS_LATE_FROM; i++)
        CHECK_EQ_U64(next_with(&w, true), t + i);
    world_close(&w);
}

static void a_burst_continues_by_the_late_clock(void) {
    struct world w;
    uint64_t t = open_burst(&w, 0), run = VS_LATE_RUN;
    for (uint64_t i = VS_LATE_FROM + 1; i < VS_LATE_FROM + 4 * run; i++)
        CHECK_EQ_U64(next_with(&w, i % run == 0), t + i);
    world_close(&w);
}

/* This happens after a suspend, or if the kernel's ticks do not come. */
static void a_stopped_clock_is_trusted_for_a_run(void) {
    struct world w;
    uint64_t t = open_burst(&w, 0), late = 0;
    pass_us(&w.time, 3600 * SECOND);
    for (uint64_t i = VS_LATE_FROM + 1; i % VS_LATE_RUN != 0; i++, late++)
        CHECK_EQ_U64(next_with(&w, false), t + i);
    CHECK_EQ_U64(late, VS_LATE_RUN - 1);
    t = now_tick(&w);
    CHECK_EQ_U64(next_with(&w, true), t);
    CHECK_EQ_U64(next_with(&w, true), t + 1);
    world_close(&w);
}

static void a_late_clock_ends_a_unit_and_opens_none(void) {
    struct world w;
    uint64_t t = open_burst(&w, 0), next = VS_LATE_FROM + 1;
    const int64_t wrong_us[] = {NOON - NOON % 1000 + 1000,
                                NOON + 3600 * SECOND,
                                NOON - VS_LATE_US_MAX - 1000,
                                0,
                                -1,
                                -EPOCH_US,
                                INT64_MAX,
                                INT64_MIN};
    for (size_t i = 0; i < sizeof wrong_us / sizeof *wrong_us; i++) {
        late_us = wrong_us[i];
        CHECK_EQ_U64(next_with(&w, true), t + next++);
    }
    world_close(&w);
}

static void a_burst_ends_where_the_clock_is_set_back(void) {
    struct world w;
    struct vesta_pause pause;
    open_burst(&w, 0);
    w.time.unix_us -= 3 * SECOND;
    late_us -= 3 * SECOND; /* setting the clock also changes the late clock */
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "clock_back");
    world_close(&w);
}

/* A late clock cannot be distinguished from a cursor that is ahead, so the exact clock is read then. */
static void ahead_of_the_clock_the_late_one_is_not_read(void) {
    struct world w;
    uint64_t ids[1024], t = open_burst(&w, 1);
    struct vesta_pause pause;
    take_n(&w, ids, 1023 - VS_LATE_FROM, &pause);    /* uses up the rest of this unit, */
    CHECK_EQ_U64(take_n(&w, ids, 200, &pause), 200); /* and a part of the next unit, which has not begun */
    CHECK_EQ_U64(next_with(&w, true), t + 1024 + 200);
    pass_us(&w.time, 1000);
    CHECK_EQ_U64(next_with(&w, true), t + 1024 + 201); /* no caller has seen yet that the next unit has begun */
    world_close(&w);
}

static bool reads(const char *layout, enum vesta_pacing pacing, bool by_second) {
    struct world w;
    world_open(&w, layout, pacing, 0, NOON);
    vs_gen_read_late(&w.gen, show_late_s, show_late_us);
    bool reads = by_second ? w.gen.late_s == show_late_s : w.gen.late_us == show_late_us;
    CHECK(!w.gen.late_s || !w.gen.late_us);
    world_close(&w);
    return reads;
}

static bool reads_late(const char *layout, enum vesta_pacing pacing) {
    return reads(layout, pacing, true);
}

static void when_the_late_clock_is_read(void) {
    CHECK(reads_late(SECONDS, VESTA_PACING_CLOCK));
    CHECK(reads_late("vesta-second", VESTA_PACING_CLOCK));
    CHECK(!reads_late("vesta-second", VESTA_PACING_HISTORY));
    CHECK(!reads_late("snowflake", VESTA_PACING_CLOCK));
    CHECK(reads("snowflake", VESTA_PACING_CLOCK, false));
    CHECK(!reads("snowflake", VESTA_PACING_HISTORY, false));
    CHECK(!reads("yitter", VESTA_PACING_CLOCK, false)); /* it has only 64 ids per millisecond */
    CHECK(!reads_late("sign:1 time:31 seq:3 worker:29 unit=100ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK));
    /* rejected because its seconds begin within a second of the clock */
    CHECK(!reads_late("sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00.250Z", VESTA_PACING_CLOCK));
    /* rejected because two instants that a clock can show would have the same tick modulo 2^64 */
    CHECK(!reads_late("time:35 seq:25 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK));
}

static void the_late_clock_is_never_ahead(void) {
    const struct vesta_clock *machine = vs_clock_system();
    for (int i = 0; i < 100000; i++) {
        int64_t shown = vs_clock_late_s(NULL), shown_us = vs_clock_late_us(NULL);
        int64_t now_us = machine->unix_us(machine->self);
        CHECK(shown <= now_us / SECOND);
        CHECK(shown_us <= now_us);
    }
}

static struct vesta_gen *opened(const char *layout, const struct vesta_clock *clock) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_gen *gen = NULL;
    struct vesta_error err;
    opts.layout = layout, opts.has_worker = 1, opts.flags = VESTA_UNSAFE_PRIVATE, opts.clock = clock;
    CHECK_EQ_I64(vesta_open(&opts, &gen, &err), VESTA_OK);
    return gen;
}

static void a_callers_clock_is_the_only_one(void) {
    struct fake_time time = {NOON, WORLD_BOOT_US};
    struct vesta_clock clock = {&time, count_unix_us, fake_boot_us, fake_sleep_us};
    struct vesta_gen *own = opened("vesta-second", &clock), *machines = opened("vesta-second", NULL);
    struct vesta_pause pause;
    uint64_t id;
    struct vesta_gen *millis = opened("vesta-milli", NULL);
    CHECK(machines->late_s == vs_clock_late_s);
    CHECK(millis->late_us == vs_clock_late_us);
    for (int i = 0; i < 3; i++) {
        looks = 0;
        CHECK_EQ_I64(vesta_next(own, &id, &pause), VESTA_OK);
        CHECK(looks > 0);
    }
    vesta_close(own);
    vesta_close(machines);
    vesta_close(millis);
}

static const struct check_case cases[] = {
    {"a second continues by the late clock", a_second_continues_by_the_late_clock},
    {"a late clock begins no second, whatever it shows", a_late_clock_opens_no_second},
    {"the late clock also detects a clock that goes back", the_late_clock_detects_a_step_back},
    {"when the late clock is read", when_the_late_clock_is_read},
    {"the first ids of a unit read the exact clock", few_ids_of_a_unit_read_the_exact_clock},
    {"a burst continues by the late clock, and one id of each run reads the exact one",
     a_burst_continues_by_the_late_clock},
    {"a clock that does not move is trusted for one run", a_stopped_clock_is_trusted_for_a_run},
    {"a late clock ends a unit and begins none, whatever it shows", a_late_clock_ends_a_unit_and_opens_none},
    {"a burst ends when the clock is set back", a_burst_ends_where_the_clock_is_set_back},
    {"ahead of the clock the late one is not read", ahead_of_the_clock_the_late_one_is_not_read},
    {"the machine's late clock is never ahead", the_late_clock_is_never_ahead},
    {"a caller's own clock is the only one", a_callers_clock_is_the_only_one},
};

CHECK_MAIN(cases)
