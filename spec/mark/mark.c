/* mark.c -- the rules of watermarks (csrc/lease/mark.h), and what a generator of a namespace with watermarks does. */
#include "lease/mark.h"
#include "world.h"

#define LAYOUT "sign:1=0 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"
#define SECONDS "sign:1=0 time:34 seq:10 worker:19 unit=1s epoch=2020-01-01T00:00:00Z"
#define SPREAD "sign:1=0 time:41 worker:19 seq:3 unit=1ms epoch=2020-01-01T00:00:00Z seq_start=spread:5"
#define NOON (INT64_C(1577836800) * SECOND + 1000 * DAY)

static struct vs_shape shape_of(const char *text) {
    struct vesta_layout layout = parsed(text);
    struct vs_shape shape;
    vs_shape_of(&layout, &shape);
    return shape;
}

/* A record of a holder that renewed at `ms`, by both clocks, and stops 12 s later unless it renews. */
static struct vs_record held_at(int64_t ms, uint64_t low, bool by_boot) {
    return (struct vs_record){.ver = 1,
                              .until = low + 1000,
                              .written_ms = ms,
                              .lease_ms = 15000,
                              .held = true,
                              .has_low = true,
                              .low = low,
                              .stop_ms = by_boot ? ms + 12000 : 0};
}

static struct vs_mark_now at(int64_t ms, bool by_boot) {
    return (struct vs_mark_now){ms, ms, by_boot};
}

/* Returns the record of a claim over `was`. */
static struct vs_record claimed(const struct vs_record *was, int64_t ms, uint64_t from, bool by_boot) {
    struct vs_shape shape = shape_of(LAYOUT);
    struct vs_record r = held_at(ms, from, by_boot);
    struct vs_mark_write write = {.claims = true, .stop_ms = ms + 12000, .cursor = from};
    struct vs_mark_now now = at(ms, by_boot);
    vs_mark_put(&r, was, &shape, &write, &now);
    return r;
}

static void the_earlier_holder_counts(void) {
    for (int by_boot = 0; by_boot <= 1; by_boot++) {
        struct vs_record a = held_at(1000, 100, by_boot), b = claimed(&a, 6000, 2000, by_boot);
        int64_t a_stops_ms = by_boot ? 13000 : 6000 + 15000 + VS_MARK_LAG_MS;
        CHECK_EQ_U64(b.low, 100);
        CHECK_EQ_I64(b.pin_ms, a_stops_ms);
        struct vs_record c = claimed(&b, 9000, 4000, by_boot);
        CHECK_EQ_U64(c.low, 100);
        CHECK(c.pin_ms > a_stops_ms); /* until b has stopped, too */
        struct vs_mark_now now = at(c.pin_ms + 1, by_boot);
        CHECK(!vs_mark_is_pinned(&c, &now));
        struct vs_record late = claimed(&c, c.pin_ms + 1000000, 9000, by_boot);
        CHECK_EQ_U64(late.low, 9000);
        CHECK_EQ_I64(late.pin_ms, 0);
    }
}

/* After `vesta store advance` a claim may start above its bound, and issues ids only after renewals. */
static void low_is_at_most_until(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    struct vs_record was = {0}, r = held_at(1000, 100, false);
    struct vs_mark_write write = {.claims = true, .cursor = r.until + 1};
    struct vs_mark_now now = at(1000, false);
    vs_mark_put(&r, &was, &shape, &write, &now);
    CHECK_EQ_U64(r.low, r.until);
}

static void an_end_needs_both_clocks(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    struct vs_record r = held_at(1000, 100, true);
    CHECK(!vs_mark_is_over(&r, &shape, &(struct vs_mark_now){900000, 5000, true})); /* the clock was set forward */
    CHECK(!vs_mark_is_over(&r, &shape, &(struct vs_mark_now){2000, 900000, true}));
    CHECK(vs_mark_is_over(&r, &shape, &(struct vs_mark_now){900000, 900000, true}));
    r = held_at(1000, 100, false);
    CHECK(!vs_mark_is_over(&r, &shape, &(struct vs_mark_now){16001 + VS_MARK_LAG_MS - 1, 0, false}));
    CHECK(vs_mark_is_over(&r, &shape, &(struct vs_mark_now){16001 + VS_MARK_LAG_MS, 0, false}));
    r.pin_ms = 99999;
    CHECK(!vs_mark_is_over(&r, &shape, &(struct vs_mark_now){50000, 0, false}));
}

/* Its map can issue ids of the lease at any time.  A claim of its worker id need not wait for it any longer. */
static void silent_is_never_passed_by_time(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    for (int by_boot = 0; by_boot <= 1; by_boot++) {
        struct vs_record r = held_at(1000, 0, by_boot);
        struct vs_mark_now later = at(1000 * DAY, by_boot);
        r.has_low = false;
        r.stop_ms = 0;
        CHECK(!vs_mark_is_over(&r, &shape, &later));
        struct vs_record next = claimed(&r, 1000 * DAY, 5000, by_boot);
        CHECK(next.low == 5000 && !next.pin_ms);
    }
}

/* A reboot ends all processes, so their deadlines in the new boot's CLOCK_BOOTTIME mean nothing. */
static void a_reboot_ends_leases(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    struct vs_record r = held_at(8 * HOUR / 1000, 100, true);
    struct vs_mark_now now = {8 * HOUR / 1000 + 20000, 5000, true};
    CHECK(vs_mark_is_over(&r, &shape, &now));
    r.pin_ms = r.stop_ms;
    CHECK(!vs_mark_is_pinned(&r, &now));
    now.boot_ms = r.stop_ms - 180000;
    CHECK(vs_mark_is_pinned(&r, &now));
    r.pin_ms = 0;
    CHECK(!vs_mark_is_over(&r, &shape, &now));
}

static void history_is_never_passed(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    struct vs_record was = {0}, r = held_at(1000, 5, false);
    struct vs_mark_write write = {.claims = true, .is_history = true, .cursor = 5};
    struct vs_mark_now now = at(1000, false), later = at(1000000000, false);
    vs_mark_put(&r, &was, &shape, &write, &now);
    CHECK(!vs_mark_is_over(&r, &shape, &later));
    struct vs_record next = claimed(&r, 1000000000, 7000, false); /* after a crash */
    CHECK_EQ_U64(next.low, VS_LOW_NONE);
    CHECK(vs_mark_is_pinned(&next, &later));
    write = (struct vs_mark_write){.releases = true, .is_history = true, .cursor = 77};
    vs_mark_put(&r, &r, &shape, &write, &later);
    CHECK_EQ_U64(r.low, 77);
    CHECK_EQ_I64(r.pin_ms, 0);
}

static void the_lowest_holds_it_back(void) {
    struct vs_shape shape = shape_of(LAYOUT);
    int64_t mark_ms = NOON / 1000;
    uint64_t mark = vs_tick_at(&shape, NOON);
    struct vs_listed listed[3] = {{1, held_at(mark_ms, mark + 80, false)},
                                  {2, held_at(mark_ms, mark - 800, false)},
                                  {3, held_at(mark_ms, mark - 80, false)}};
    struct vs_listing listing = {listed, 3, mark_ms};
    struct vs_mark_now now = at(mark_ms, false);
    struct vs_lease_mark m = vs_mark_of(listing, &shape, 0, mark_ms, &now);
    CHECK_EQ_U64(m.tick, mark - 800);
    CHECK(m.by == VS_MARK_BY_HOLDER && m.holder == &listed[1]);
    listed[1].record.held = false;
    CHECK_EQ_U64(vs_mark_of(listing, &shape, 0, mark_ms, &now).tick, mark - 80);
    vs_mark_end(&listed[2].record);
    m = vs_mark_of(listing, &shape, 0, mark_ms, &now);
    CHECK(m.tick == mark && m.by == VS_MARK_BY_CLOCK && !m.holder);
    listed[0].record.has_low = false;
    m = vs_mark_of(listing, &shape, 0, mark_ms, &now);
    CHECK(m.tick == 0 && m.by == VS_MARK_BY_SILENT && m.holder == &listed[0]);
    listed[2].record.pin_ms = VS_PIN_EVER;
    CHECK(vs_mark_of(listing, &shape, 0, mark_ms, &now).by == VS_MARK_BY_HISTORY);
}

static void the_deadline_holds_within_a_unit(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SECONDS, VESTA_PACING_CLOCK, 0, NOON);
    int slot = grant_all(&w, 5);
    atomic_store(&w.map->slot[slot].deadline_boot_us, w.time.boot_us + 12 * SECOND);
    CHECK(next_tick(&w, &pause) != UINT64_MAX);
    w.time.boot_us += 13 * SECOND; /* the process was stopped, and the clock was set back into the same second */
    CHECK(next_tick(&w, &pause) != UINT64_MAX); /* without watermarks this is harmless */
    atomic_fetch_or(&w.map->shared.leap, VS_LEAP_MARKED);
    atomic_store(&w.map->shared.offset_us, w.time.unix_us - w.time.boot_us);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    CHECK(atomic_load(&w.map->shared.leap) & VS_LEAP_MARKED);
    world_close(&w);
}

static void skips_up_to_the_limit(void) {
    struct world w;
    uint64_t cursor;
    world_open(&w, LAYOUT, VESTA_PACING_CLOCK, 0, NOON);
    struct vs_slot *slot = &w.map->slot[grant(&w, 5, 1000, 5000)];
    vs_slot_skip(slot, 3000);
    CHECK_EQ_U64(cursor_of(&w), 3000);
    vs_slot_skip(slot, 2000);
    CHECK_EQ_U64(cursor_of(&w), 3000);
    vs_slot_skip(slot, 9000);
    CHECK_EQ_U64(cursor_of(&w), 5000);
    CHECK(vs_slot_close(slot, &cursor));
    vs_slot_skip(slot, 9000);
    CHECK(atomic_load(&slot->tick) == VS_CLOSED);
    world_close(&w);
}

/* A thousand steps of the clock, and as many ids as the room was. */
static void room_is_exact(void) {
    static const char *const layouts[] = {LAYOUT, SECONDS, SPREAD};
    for (size_t i = 0; i < 3; i++)
        for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
            struct world w;
            uint64_t dice = 7 + i, ids[4096];
            struct vesta_pause pause;
            world_open(&w, layouts[i], (enum vesta_pacing)pacing, i, NOON);
            CHECK_EQ_U64(vesta_room(&w.gen), 0); /* no lease */
            grant(&w, 5, now_tick(&w), now_tick(&w) + (uint64_t)(i == 1 ? 9000 : 6000));
            for (int step = 0; step < 1000; step++) {
                w.time.unix_us += (int64_t)roll_below(&dice, 3000) - 1000;
                w.time.boot_us += (int64_t)roll_below(&dice, 1000);
                uint64_t room = vesta_room(&w.gen), taken = 0;
                for (size_t n; (n = take_n(&w, ids, 1 + roll_below(&dice, 4096), &pause)) > 0;)
                    taken += n;
                CHECK_EQ_U64(taken, room);
                CHECK_EQ_U64(vesta_room(&w.gen), 0);
            }
            world_close(&w);
        }
}

static const struct check_case cases[] = {
    {"a worker id that is claimed early follows its earlier holders until each has stopped", the_earlier_holder_counts},
    {"a record can be read if its lease starts above its bound", low_is_at_most_until},
    {"a lease has ended only if CLOCK_BOOTTIME and the store's clock show it", an_end_needs_both_clocks},
    {"a lease without a position is not passed by time", silent_is_never_passed_by_time},
    {"a lease from before a reboot has ended", a_reboot_ends_leases},
    {"no watermark passes history pacing, not even after a crash", history_is_never_passed},
    {"the holder with the lowest position holds the watermark back", the_lowest_holds_it_back},
    {"with watermarks the deadline also holds within a time unit", the_deadline_holds_within_a_unit},
    {"an idle cursor moves up to the limit, and never down", skips_up_to_the_limit},
    {"the room is the number of ids that can be taken now", room_is_exact},
};
CHECK_MAIN(cases)
