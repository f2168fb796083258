/* late_clock.c -- rule 7: a clock that may be late says whether a second goes on, opens none, and is read only where a
 * layout counts whole ones. */
#include "os/clock.h"
#include "world.h"

#define SECONDS "sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00Z"
#define EPOCH_US (INT64_C(1577836800) * SECOND)
#define NOON (EPOCH_US + 1000 * DAY + 250)

static int64_t late_s; /* what the late clock shows */
static int looks;      /* how often the right one was read */

static int64_t show_late_s(void *self) {
    (void)self;
    return late_s;
}

static int64_t count_unix_us(void *self) {
    looks++;
    return fake_unix_us(self);
}

static void open_late(struct world *w) {
    world_open(w, SECONDS, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(w, 5);
    w->clock.unix_us = count_unix_us;
    vs_gen_read_late(&w->gen, show_late_s);
    late_s = NOON / SECOND;
}

/* The tick of the next id, which may or must not have cost a look at the right clock. */
static uint64_t next_with(struct world *w, bool looked) {
    struct vesta_pause pause;
    looks = 0;
    uint64_t tick = next_tick(w, &pause);
    CHECK_EQ_I64(looks > 0, looked);
    return tick;
}

static void a_second_goes_on_by_the_late_clock(void) {
    struct world w;
    open_late(&w);
    uint64_t t = now_tick(&w);
    CHECK_EQ_U64(next_with(&w, true), t); /* a second is opened by the right clock */
    CHECK_EQ_U64(next_with(&w, false), t + 1);
    pass_us(&w.time, SECOND);
    CHECK_EQ_U64(next_with(&w, false), t + 2); /* it has ended, which the late clock has not shown yet */
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
    late_s++; /* wrong: the next second has not begun */
    CHECK_EQ_U64(next_with(&w, true), t + 1);
    late_s -= 2; /* behind, as long as the tick has not told of a second that another thread has opened */
    CHECK_EQ_U64(next_with(&w, true), t + 2);
    late_s = -EPOCH_US; /* far before the epoch */
    CHECK_EQ_U64(next_with(&w, true), t + 3);
    late_s = INT64_MAX;
    CHECK_EQ_U64(next_with(&w, true), t + 4);
    world_close(&w);
}

static void a_step_back_is_met_by_the_late_clock(void) {
    struct world w;
    struct vesta_pause pause;
    open_late(&w);
    next_with(&w, true);
    w.time.unix_us -= 3 * SECOND;
    late_s -= 3; /* who sets the clock writes both */
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "clock_back");
    world_close(&w);
}

static bool reads_late(const char *layout, enum vesta_pacing pacing) {
    struct world w;
    world_open(&w, layout, pacing, 0, NOON);
    vs_gen_read_late(&w.gen, show_late_s);
    bool reads = w.gen.late_s == show_late_s;
    world_close(&w);
    return reads;
}

static void where_the_late_clock_is_read(void) {
    CHECK(reads_late(SECONDS, VESTA_PACING_CLOCK));
    CHECK(reads_late("vesta-second", VESTA_PACING_CLOCK));
    CHECK(!reads_late("vesta-second", VESTA_PACING_HISTORY));
    CHECK(!reads_late("snowflake", VESTA_PACING_CLOCK));
    CHECK(!reads_late("sign:1 time:31 seq:3 worker:29 unit=100ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK));
    /* its seconds begin within one of the clock's */
    CHECK(!reads_late("sign:1 time:31 seq:3 worker:29 unit=1s epoch=2020-01-01T00:00:00.250Z", VESTA_PACING_CLOCK));
    /* ticks so wide that those of two seconds which a clock can show would be equal, modulo 2^64 */
    CHECK(!reads_late("time:35 seq:25 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK));
}

/* The machine's. */
static void the_late_second_is_of_the_past(void) {
    const struct vesta_clock *machine = vs_clock_system();
    for (int i = 0; i < 100000; i++) {
        int64_t shown = vs_clock_late_s(NULL), now_us = machine->unix_us(machine->self);
        CHECK(shown <= now_us / SECOND);
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

static void a_clock_of_ones_own_is_the_only_one(void) {
    struct fake_time time = {NOON, WORLD_BOOT_US};
    struct vesta_clock clock = {&time, count_unix_us, fake_boot_us, fake_sleep_us};
    struct vesta_gen *own = opened("vesta-second", &clock), *machines = opened("vesta-second", NULL);
    struct vesta_pause pause;
    uint64_t id;
    CHECK(machines->late_s == vs_clock_late_s);
    for (int i = 0; i < 3; i++) {
        looks = 0;
        CHECK_EQ_I64(vesta_next(own, &id, &pause), VESTA_OK);
        CHECK(looks > 0);
    }
    vesta_close(own);
    vesta_close(machines);
}

static const struct check_case cases[] = {
    {"a second goes on by the late clock", a_second_goes_on_by_the_late_clock},
    {"a late clock opens no second, wherever it stands", a_late_clock_opens_no_second},
    {"a step back is met by the late clock, too", a_step_back_is_met_by_the_late_clock},
    {"where the late clock is read", where_the_late_clock_is_read},
    {"the machine's late clock is never ahead", the_late_second_is_of_the_past},
    {"a clock of one's own is the only one", a_clock_of_ones_own_is_the_only_one},
};

CHECK_MAIN(cases)
