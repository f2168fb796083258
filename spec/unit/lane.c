/* lane.c -- lanes in virtual time: which ids a lane issues, what remains of its run, and which thread may use it. */
#include "generator/lane.h"
#include "os/process.h"
#include "vesta_lane.h"
#include "world.h"

#include <pthread.h>

#define NOON (INT64_C(1800000000) * SECOND + 250)
#define UNITS_AHEAD 40
#define PLAIN "sign:1 time:41 seq:6 worker:16 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOBODYS_UNIT 64 /* the ids in a time unit of PLAIN */

static struct vesta_lane *opened(struct world *w, uint64_t n) {
    struct vesta_lane *lane = NULL;
    struct vesta_error err = {.text = ""};
    if (vesta_lane_open(&w->gen, n, &lane, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return lane;
}

static void open_plain(struct world *w) {
    world_open(w, PLAIN, VESTA_PACING_HISTORY, UNITS_AHEAD, NOON);
    grant_all(w, 5);
}

/* Returns the tick of a lane's next id, or UINT64_MAX and the pause. */
static uint64_t lane_tick(struct world *w, struct vesta_lane *lane, struct vesta_pause *pause) {
    const uint64_t untouched = 0x5eed;
    uint64_t id = untouched;
    if (vesta_lane_next(lane, &id, pause) == VESTA_OK) return tick_of(&w->layout, id);
    CHECK_EQ_U64(id, untouched);
    return UINT64_MAX;
}

/* ------------------------------------------------------------------ the ids */

static bool may_issue(const char *text) {
    struct vesta_layout layout = parsed(text);
    return !layout.read_only && vesta_layout_end_ms(&layout) > NOON / 1000;
}

/* Compares a lane with an equal generator that issues batches of one. The ids must be equal for every length of
 * runs. */
static void compare_twins(const char *text, uint64_t n) {
    struct world twin, w;
    struct vesta_pause pause;
    world_open(&w, text, VESTA_PACING_HISTORY, UNITS_AHEAD, NOON);
    world_open(&twin, text, VESTA_PACING_HISTORY, UNITS_AHEAD, NOON);
    grant_all(&w, 1);
    grant_all(&twin, 1);
    n = n < vs_lane_max(&w.gen.shape) ? n : vs_lane_max(&w.gen.shape);
    struct vesta_lane *lane = opened(&w, n);
    for (int i = 0; i < 3000 && lane; i++) {
        uint64_t by_lane = 0, by_next = 0;
        bool is_given = take_n(&twin, &by_next, 1, &pause) == 1;
        CHECK_EQ_I64(vesta_lane_next(lane, &by_lane, &pause), is_given ? VESTA_OK : VESTA_EPAUSE);
        CHECK_EQ_U64(by_lane, by_next);
        if (is_given) continue;
        CHECK_STR(vesta_why_name(pause.why), "full");
        pass_us(&w.time, SECOND);
        pass_us(&twin.time, SECOND);
    }
    vesta_lane_close(lane);
    world_close(&w);
    world_close(&twin);
}

static void issues_the_ids_of_a_batch(void) {
    static const char *const odd[] = {
        "seq:6 time:41 worker:17 unit=1ms epoch=2020-01-01T00:00:00Z", /* a unit's ids wrap around 2^64 once */
        "sign:1 time:41 seq:8 worker:13 seq:1 unit=1ms epoch=2020-01-01T00:00:00Z",
        "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z"};
    static const uint64_t lengths[] = {1, 2, 7, 64, VESTA_LANE_MAX};
    const struct vesta_preset *preset;
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
            compare_twins(odd[i], lengths[n]);
        for (int i = 0; (preset = vesta_preset_at(i)); i++)
            if (preset->may_issue && may_issue(preset->text)) compare_twins(preset->text, lengths[n]);
    }
}

static void lanes_interleave(void) {
    struct world w;
    struct vesta_pause pause;
    open_plain(&w);
    struct vesta_lane *a = opened(&w, 4), *b = opened(&w, 4);
    uint64_t first = lane_tick(&w, a, &pause);
    CHECK_EQ_U64(lane_tick(&w, b, &pause), first + 4);
    CHECK_EQ_U64(next_tick(&w, &pause), first + 8);
    /* these ids are smaller than those issued before, but the lane's own ids ascend */
    for (uint64_t i = 1; i < 4; i++) {
        CHECK_EQ_U64(lane_tick(&w, a, &pause), first + i);
        CHECK_EQ_U64(lane_tick(&w, b, &pause), first + 4 + i);
    }
    CHECK_EQ_U64(lane_tick(&w, a, &pause), first + 9);
    vesta_lane_close(a);
    vesta_lane_close(b);
    world_close(&w);
}

static void refused(struct world *w, uint64_t n, const char *why) {
    struct vesta_lane *lane = NULL;
    struct vesta_error err = {.text = ""};
    CHECK_EQ_I64(vesta_lane_open(&w->gen, n, &lane, &err), VESTA_EOPTION);
    if (!strstr(err.text, why)) CHECK_FAIL("'%s' does not contain '%s'", err.text, why);
    CHECK(!lane);
    CHECK_EQ_I64(vesta_lane_open(&w->gen, n, &lane, NULL), VESTA_EOPTION);
}

static void a_lane_that_cannot_be_is_refused_by_name(void) {
    struct world w;
    open_plain(&w);
    refused(&w, 0, "a lane's run is 0 ids, which must be 1 to 64, as many as the layout has for a time unit");
    refused(&w, 65, "a lane's run is 65 ids, which must be 1 to 64");
    world_close(&w);
    world_open(&w, "vesta-second", VESTA_PACING_HISTORY, 0, NOON);
    refused(&w, VESTA_LANE_MAX + 1, "4097 ids, which must be 1 to 4096");
    world_close(&w);
    world_open(&w, PLAIN, VESTA_PACING_CLOCK, 0, NOON);
    refused(&w, 4, "needs history pacing: with clock pacing an id has the time of its call. Use vesta_next");
    world_close(&w);
    vesta_lane_close(NULL);
}

/* ------------------------------------------------------------------ the rest of a run */

static void the_rest_of_a_run_is_returned(void) {
    struct world w;
    struct vesta_pause pause;
    open_plain(&w);
    struct vesta_lane *lane = opened(&w, 20);
    uint64_t first = lane_tick(&w, lane, &pause);
    for (uint64_t i = 1; i < 7; i++)
        CHECK_EQ_U64(lane_tick(&w, lane, &pause), first + i);
    vesta_lane_close(lane);
    CHECK_EQ_U64(next_tick(&w, &pause), first + 7); /* the cursor is back, so there is no hole */
    lane = opened(&w, 20);
    vesta_lane_close(lane); /* no id was taken from its run */
    CHECK_EQ_U64(next_tick(&w, &pause), first + 8);
    world_close(&w);
}

static void not_if_the_cursor_has_moved_on(void) {
    struct world w;
    struct vesta_pause pause;
    open_plain(&w);
    struct vesta_lane *lane = opened(&w, 20), *other = opened(&w, 20);
    uint64_t first = lane_tick(&w, lane, &pause);
    CHECK_EQ_U64(lane_tick(&w, other, &pause), first + 20);
    vesta_lane_close(lane); /* leaves 19 holes */
    CHECK_EQ_U64(cursor_of(&w), first + 40);
    vesta_lane_close(other);
    CHECK_EQ_U64(cursor_of(&w), first + 21);
    world_close(&w);
}

/* The last lane is closed first, so each finds the cursor at its own end. */
static void lanes_that_end_one_by_one_leave_no_hole(void) {
    struct world w;
    struct vesta_pause pause;
    open_plain(&w);
    struct vesta_lane *lanes[5];
    uint64_t cursor = cursor_of(&w);
    for (int i = 0; i < 5; i++) {
        lanes[i] = opened(&w, 8);
        lane_tick(&w, lanes[i], &pause);
    }
    for (int i = 5; i-- > 0;) {
        for (int more = 0; more < (i ? 7 : 0); more++) /* uses up the run of every lane but the first */
            lane_tick(&w, lanes[i], &pause);
        vesta_lane_close(lanes[i]);
    }
    CHECK_EQ_U64(cursor_of(&w), cursor + 40);
    world_close(&w);
}

/* ------------------------------------------------------------------ leases that end */

static void a_run_ends_with_its_lease(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    open_plain(&w);
    struct vesta_lane *lane = opened(&w, 10);
    uint64_t first = lane_tick(&w, lane, &pause);
    CHECK(vs_slot_close(&w.map->slot[0], &cursor));
    CHECK_EQ_U64(cursor, first + 10); /* the cursor is after the run that the lane holds */
    CHECK_EQ_U64(lane_tick(&w, lane, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    grant(&w, 6, cursor, vs_tick_end(&w.gen.shape));
    CHECK_EQ_U64(lane_tick(&w, lane, &pause), first + 10);
    vesta_lane_close(lane);
    CHECK_EQ_U64(cursor_of(&w), first + 11);
    CHECK_EQ_U64(atomic_load(&w.map->slot[0].tick), VS_CLOSED);
    world_close(&w);
}

static void a_closed_slot_takes_nothing_back(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    open_plain(&w);
    struct vesta_lane *lane = opened(&w, 10);
    lane_tick(&w, lane, &pause);
    CHECK(vs_slot_close(&w.map->slot[0], &cursor));
    vesta_lane_close(lane);
    CHECK_EQ_U64(atomic_load(&w.map->slot[0].tick), VS_CLOSED);
    world_close(&w);
}

/* The closing process was killed, so the slot is still open and issues single ids. */
static void a_slot_that_is_about_to_close(void) {
    struct world w;
    struct vesta_pause pause;
    open_plain(&w);
    struct vesta_lane *lane = opened(&w, 10);
    uint64_t first = lane_tick(&w, lane, &pause);
    atomic_store(&w.map->slot[0].ended, 1);
    for (uint64_t i = 0; i < 25; i++)
        CHECK_EQ_U64(lane_tick(&w, lane, &pause), first + 10 + i);
    CHECK_EQ_U64(cursor_of(&w), first + 35);
    vesta_lane_close(lane);
    world_close(&w);
}

static void a_run_is_no_longer_than_there_is_room(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, PLAIN, VESTA_PACING_HISTORY, 0, NOON);
    grant_all(&w, 5);
    struct vesta_lane *lane = opened(&w, 60);
    uint64_t first = lane_tick(&w, lane, &pause);
    for (uint64_t i = 1; i < NOBODYS_UNIT; i++)
        CHECK_EQ_U64(lane_tick(&w, lane, &pause), first + i);
    CHECK_EQ_U64(lane_tick(&w, lane, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "full");
    pass_us(&w.time, MS);
    CHECK_EQ_U64(lane_tick(&w, lane, &pause), first + NOBODYS_UNIT);
    vesta_lane_close(lane);
    world_close(&w);
}

/* ------------------------------------------------------------------ the owner */

struct asked {
    struct vesta_lane *lane;
    int rc;
    uint64_t id;
};

static void *ask(void *arg) {
    struct asked *asked = arg;
    struct vesta_pause pause;
    asked->rc = vesta_lane_next(asked->lane, &asked->id, &pause);
    return NULL;
}

static int by_another_thread(struct vesta_lane *lane, uint64_t *id) {
    struct asked asked = {.lane = lane, .id = 0x5eed};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask, &asked) == 0);
    pthread_join(thread, NULL);
    *id = asked.id;
    return asked.rc;
}

static void another_thread_is_refused(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t id;
    open_plain(&w);
    for (uint64_t n = 1; n <= 8; n += 7) {
        struct vesta_lane *lane = opened(&w, n);
        CHECK(lane_tick(&w, lane, &pause) != UINT64_MAX);
        CHECK_EQ_I64(by_another_thread(lane, &id), VESTA_EOPTION);
        CHECK_EQ_U64(id, 0x5eed);
        CHECK(lane_tick(&w, lane, &pause) != UINT64_MAX);
        vesta_lane_close(lane);
    }
    struct vesta_lane *lane = opened(&w, 8); /* created in this thread, first used in the other one */
    CHECK_EQ_I64(by_another_thread(lane, &id), VESTA_OK);
    CHECK_EQ_I64(vesta_lane_next(lane, &id, &pause), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_lane_next_wait(lane, &id, SECOND, &pause), VESTA_EOPTION);
    vesta_lane_close(lane);
    world_close(&w);
}

static const struct check_case cases[] = {
    {"a lane issues the ids of a batch, for every layout and length", issues_the_ids_of_a_batch},
    {"ids of several lanes interleave, and those of each lane ascend", lanes_interleave},
    {"an invalid length and clock pacing are rejected by name", a_lane_that_cannot_be_is_refused_by_name},
    {"the rest of a run is returned when its lane is closed", the_rest_of_a_run_is_returned},
    {"not if the cursor has moved on: the rest becomes holes", not_if_the_cursor_has_moved_on},
    {"lanes that end one by one leave no hole", lanes_that_end_one_by_one_leave_no_hole},
    {"a run ends with its lease, and the lane continues in the next lease", a_run_ends_with_its_lease},
    {"a closed slot takes nothing back", a_closed_slot_takes_nothing_back},
    {"a slot whose closing process was killed issues single ids", a_slot_that_is_about_to_close},
    {"a run is at most as long as there is room", a_run_is_no_longer_than_there_is_room},
    {"every thread but the first is rejected", another_thread_is_refused},
};

CHECK_MAIN(cases)
