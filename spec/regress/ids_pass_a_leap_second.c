/* ids_pass_a_leap_second.c -- a leap second inserted, deleted and smeared, as by Linux and time servers: the clock
 * steps at midnight, or differs by 11.6 ppm for a day. No duplicate, ascending ids, and only the pauses that
 * docs/leases.md names. */
#include "base/array.h"
#include "world.h"

#define MIDNIGHT (INT64_C(1798761600) * SECOND) /* 2027-01-01T00:00:00Z */
#define RATE_US (997 * 1)                       /* an id about every millisecond, out of step with the clock */

/* Default settings of generators: with a unit of a second, ids may run one unit ahead. */
static const struct kind {
    const char *layout;
    uint64_t ahead_units;
} kinds[] = {
    {"vesta-second", 1}, {"vesta-milli", 0}, {"snowflake", 0}, {"leaf", 0},
    {"butterfly", 0},    {"sonyflake", 0},   {"js53", 1},
};

struct day {
    uint64_t given, refused;
    int64_t refused_us_max; /* the longest time without an id */
};

/* Requests ids from `before` microseconds before midnight until as long after it. `shift` then changes the clock. */
static struct day live(const struct kind *kind, enum vesta_pacing pacing, int64_t before, int64_t every_us,
                       void (*shift)(struct world *, int64_t to_midnight_us)) {
    struct world w;
    struct vesta_pause pause;
    struct day day = {0, 0, 0};
    int64_t since = 0, until;
    uint64_t last = 0;
    world_open(&w, kind->layout, pacing, kind->ahead_units, MIDNIGHT - before);
    grant_all(&w, 5);
    until = w.time.boot_us + 2 * before;
    for (; w.time.boot_us < until; pass_us(&w.time, every_us)) {
        shift(&w, until - before - w.time.boot_us);
        uint64_t tick = next_tick(&w, &pause);
        if (tick == UINT64_MAX) {
            CHECK(pause.why == VESTA_CLOCK_BACK && pause.wait_us > 0 && pause.wait_us <= SECOND + w.layout.unit_us);
            if (day.refused++ == 0 || since == 0) since = w.time.boot_us;
            continue;
        }
        if (since) day.refused_us_max = w.time.boot_us - since, since = 0;
        if (day.given++ && tick <= last) CHECK_FAIL("%s: tick %" PRIu64 " after %" PRIu64, kind->layout, tick, last);
        last = tick;
        vs_clock_anchor(w.map, vs_instant_now(&w.clock));
    }
    CHECK(since == 0);
    world_close(&w);
    return day;
}

/* 23:59:59 occurs twice: at its end the kernel sets the clock back by a second. */
static void inserted(struct world *w, int64_t to_midnight_us) {
    if (to_midnight_us <= 0 && to_midnight_us > -RATE_US) w->time.unix_us -= SECOND;
}

/* 23:59:58 is the last second of the day. */
static void deleted(struct world *w, int64_t to_midnight_us) {
    if (to_midnight_us <= SECOND && to_midnight_us > SECOND - RATE_US) w->time.unix_us += SECOND;
}

static void inserted_waits_a_second_at_most(void) {
    for (size_t i = 0; i < VS_COUNT(kinds); i++) {
        struct day clock = live(&kinds[i], VESTA_PACING_CLOCK, 5 * SECOND, RATE_US, inserted),
                   history = live(&kinds[i], VESTA_PACING_HISTORY, 5 * SECOND, RATE_US, inserted);
        CHECK_EQ_U64(history.refused, 0);
        if (kinds[i].ahead_units) CHECK_EQ_U64(clock.refused, 0);
        CHECK(clock.refused_us_max <= SECOND + 10 * MS + RATE_US);
        CHECK(kinds[i].ahead_units || clock.refused > 0); /* The leap second did occur. */
    }
}

static void deleted_refuses_nothing(void) {
    for (size_t i = 0; i < VS_COUNT(kinds); i++) {
        CHECK_EQ_U64(live(&kinds[i], VESTA_PACING_CLOCK, 5 * SECOND, RATE_US, deleted).refused, 0);
        CHECK_EQ_U64(live(&kinds[i], VESTA_PACING_HISTORY, 5 * SECOND, RATE_US, deleted).refused, 0);
    }
}

/* A smear of 1 s in 86,400 s from noon to noon, as on public time servers, in steps of 9.97 s. */
#define SMEAR_STEP_US (9970 * MS)
static void smeared_in(struct world *w, int64_t to_midnight_us) {
    if (to_midnight_us <= 12 * HOUR && to_midnight_us > -12 * HOUR) w->time.unix_us -= SMEAR_STEP_US / 86400;
}

static void smeared_out(struct world *w, int64_t to_midnight_us) {
    if (to_midnight_us <= 12 * HOUR && to_midnight_us > -12 * HOUR) w->time.unix_us += SMEAR_STEP_US / 86400;
}

static void smeared_refuses_nothing(void) {
    for (size_t i = 0; i < VS_COUNT(kinds); i++)
        for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
            CHECK_EQ_U64(live(&kinds[i], (enum vesta_pacing)pacing, 13 * HOUR, SMEAR_STEP_US, smeared_in).refused, 0);
            CHECK_EQ_U64(live(&kinds[i], (enum vesta_pacing)pacing, 13 * HOUR, SMEAR_STEP_US, smeared_out).refused, 0);
        }
}

static const struct check_case cases[] = {
    {"an inserted leap second: no duplicate, and a pause of at most a second, or none if ids may run a second ahead",
     inserted_waits_a_second_at_most},
    {"a deleted leap second: no duplicate and no pause", deleted_refuses_nothing},
    {"a leap second smeared over a day in either direction: no duplicate and no pause", smeared_refuses_nothing},
};
CHECK_MAIN(cases)
