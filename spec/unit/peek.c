/* peek.c -- vesta_peek returns the same as vesta_next, and moves nothing. */
#include "world.h"

#define SMALL "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON (INT64_C(1577836800) * SECOND + 1000 * DAY + 250)

/* Returns the result of a peek: "ok", or the cause of the pause. */
static const char *peek(struct world *w) {
    struct vesta_pause pause = {.why = VESTA_CLOSED};
    return vesta_peek(&w->gen, &pause) == VESTA_OK ? "ok" : vesta_why_name(pause.why);
}

static void returns_the_pause_of_an_id(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        CHECK_STR(peek(&w), "lease");
        int slot = grant_all(&w, 5);
        CHECK_STR(peek(&w), "ok");
        while (next_tick(&w, &pause) != UINT64_MAX)
            ;
        CHECK_STR(peek(&w), "full");
        w.time.unix_us -= 3 * SECOND;
        CHECK_STR(peek(&w), "clock_back");
        w.time.unix_us += HOUR;
        CHECK_STR(peek(&w), "clock_ahead");
        w.time.unix_us += 3 * SECOND - HOUR;
        pass_us(&w.time, MS);
        CHECK_STR(peek(&w), "ok");
        CHECK(vs_slot_close(&w.map->slot[slot], &cursor));
        CHECK_STR(peek(&w), "lease");
        atomic_store(&w.map->shared.stopped, VESTA_FAILSTOP);
        CHECK_STR(peek(&w), "failstop");
        world_close(&w);
    }
}

static void reports_the_end(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    w.time.unix_us = vesta_layout_end_ms(&w.layout) * 1000 - MS;
    vs_map_format(w.map, &w.clock);
    grant(&w, 5, now_tick(&w), vs_tick_end(&w.gen.shape));
    CHECK_STR(peek(&w), "ok");
    pass_us(&w.time, MS);
    CHECK_STR(peek(&w), "epoch_end");
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    world_close(&w);
}

/* Moves the clock by a thousand small steps, forward and back, and requests an id after each peek. */
static void agrees_with_the_next_id_and_moves_nothing(void) {
    struct world w;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        grant_all(&w, 5);
        uint64_t dice = 7, refused = 0;
        for (int i = 0; i < 1000; i++) {
            struct vesta_pause seen = {.why = VESTA_CLOSED}, met = {.why = VESTA_CLOSED};
            pass_us(&w.time, (int64_t)roll_below(&dice, 400));
            w.time.unix_us -= (int64_t)roll_below(&dice, 120);
            uint64_t cursor = cursor_of(&w), seen_us = (uint64_t)atomic_load(&w.map->shared.seen_us);
            bool there_is = vesta_peek(&w.gen, &seen) == VESTA_OK;
            CHECK_EQ_U64(cursor_of(&w), cursor);
            CHECK_EQ_U64((uint64_t)atomic_load(&w.map->shared.seen_us), seen_us);
            CHECK(there_is == (next_tick(&w, &met) != UINT64_MAX));
            if (!there_is) CHECK_STR(vesta_why_name(seen.why), vesta_why_name(met.why));
            refused += !there_is;
            for (int n = 0; n < (int)roll_below(&dice, 8); n++)
                next_tick(&w, &met);
        }
        CHECK(refused > 20 && refused < 980);
        world_close(&w);
    }
}

static const struct check_case cases[] = {
    {"peek returns the pause that an id would get", returns_the_pause_of_an_id},
    {"peek reports the end of the layout's time", reports_the_end},
    {"peek agrees with the next id, and moves nothing", agrees_with_the_next_id_and_moves_nothing},
};

CHECK_MAIN(cases)
