/* verdict.c -- what a policy may permit, which ids a stop blocks, and the constant fields in every id. */
#include "base/array.h"
#include "world.h"

#define SMALL "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON (INT64_C(1577836800) * SECOND + 1000 * DAY + 250)

/* ------------------------------------------------------------------ verdicts */

static void a_verdict_runs_ahead_but_never_past_the_lease(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        uint64_t from = now_tick(&w), tick;
        int slot = grant(&w, 5, from, from + 20);
        while (next_tick(&w, &pause) != UINT64_MAX)
            ;
        CHECK_STR(vesta_why_name(pause.why), "full");
        uint64_t start = cursor_of(&w);
        CHECK(vesta_allow_ahead(&w.gen, &pause, start + 3) == VESTA_OK);
        for (uint64_t i = 0; i < 3; i++) {
            tick = next_tick(&w, &pause);
            CHECK(tick >= start && tick < start + 4);
        }
        while (next_tick(&w, &pause) != UINT64_MAX)
            ;
        CHECK_STR(vesta_why_name(pause.why), "full");
        CHECK(vesta_allow_ahead(&w.gen, &pause, UINT64_MAX) == VESTA_OK);
        while ((tick = next_tick(&w, &pause)) != UINT64_MAX)
            CHECK(tick < from + 20);
        CHECK_STR(vesta_why_name(pause.why), "lease"); /* the verdict permits more, but the lease has ended */
        CHECK(atomic_load(&w.map->slot[slot].pass) <= from + 20);
        world_close(&w);
    }
}

static void a_verdict_about_another_slot_is_ignored(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int old = grant_all(&w, 5);
    while (next_tick(&w, &pause) != UINT64_MAX)
        ;
    struct vesta_pause stale = pause;
    CHECK(vs_slot_close(&w.map->slot[old], &cursor));
    int newer = grant(&w, 6, cursor, vs_tick_end(&w.gen.shape));
    CHECK(vesta_allow_ahead(&w.gen, &stale, UINT64_MAX) == VESTA_OK);
    CHECK_EQ_U64(atomic_load(&w.map->slot[old].allowed), 0);
    CHECK_EQ_U64(atomic_load(&w.map->slot[newer].allowed), 0);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    stale.slot = VS_SLOTS_MAX;
    CHECK(vesta_allow_ahead(&w.gen, &stale, UINT64_MAX) == VESTA_ENOTNOW);
    stale.slot = UINT32_MAX;
    CHECK(vesta_allow_ahead(&w.gen, &stale, UINT64_MAX) == VESTA_ENOTNOW);
    world_close(&w);
}

/* ------------------------------------------------------------------ borrowing */

/* Issues all available ids. Returns their number, and the last pause. */
static uint64_t drain(struct world *w, struct vesta_pause *pause) {
    uint64_t count = 0;
    while (next_tick(w, pause) != UINT64_MAX)
        count++;
    return count;
}

/* Returns how many of the borrowed ticks become ids. History pacing opens them unit by unit, and loses one tick at each
 * unit's end. */
static uint64_t lent(uint64_t ticks, int pacing) {
    return ticks - (pacing == VESTA_PACING_HISTORY ? (ticks + 8) / 9 : 0);
}

static void ids_are_borrowed_from_the_latest_instant_that_was_seen(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        grant_all(&w, 5);
        CHECK_EQ_U64(drain(&w, &pause), 8);
        w.time.unix_us -= 3 * SECOND;
        CHECK_EQ_U64(drain(&w, &pause), 0);
        CHECK_STR(vesta_why_name(pause.why), "clock_back");
        CHECK(vesta_borrow(&w.gen, &pause, 5) == VESTA_OK);
        CHECK_EQ_U64(drain(&w, &pause), lent(5 * 8, pacing));
        CHECK_STR(vesta_why_name(pause.why), "clock_back");
        CHECK(vesta_borrow(&w.gen, &pause, 5) == VESTA_OK); /* the same loan twice counts once */
        CHECK_EQ_U64(drain(&w, &pause), 0);
        CHECK(vesta_borrow(&w.gen, &pause, 0) == VESTA_OK); /* a smaller loan changes nothing */
        CHECK_EQ_U64(drain(&w, &pause), 0);
        CHECK(vesta_borrow(&w.gen, &pause, -1) == VESTA_OK); /* borrows the 3 s and one more unit */
        CHECK_EQ_U64(drain(&w, &pause), lent((3001 - 5) * 8, pacing));
        world_close(&w);
    }
}

/* The clock goes back further while borrowed ids are left. The policy must be asked about that. */
static void a_loan_expires_however_much_of_it_is_left(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        uint64_t unit = pacing == VESTA_PACING_HISTORY ? 8 : 0; /* below `pass` no clock is read */
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        grant_all(&w, 5);
        drain(&w, &pause);
        w.time.unix_us -= 3 * SECOND;
        CHECK_EQ_U64(drain(&w, &pause), 0);
        CHECK(vesta_borrow(&w.gen, &pause, VESTA_BORROW_MS_MAX) == VESTA_OK);
        CHECK(next_tick(&w, &pause) != UINT64_MAX);
        pass_us(&w.time, VESTA_VERDICT_MS * MS - 1);
        w.time.unix_us -= 600 * SECOND;
        CHECK(next_tick(&w, &pause) != UINT64_MAX); /* the loan has not expired yet */
        pass_us(&w.time, 1);
        CHECK(drain(&w, &pause) <= unit);
        CHECK_STR(vesta_why_name(pause.why), "clock_back");
        CHECK(pause.back_us > 600 * SECOND);
        CHECK_EQ_U64(drain(&w, &pause), 0);
        world_close(&w);
    }
}

static void a_verdict_that_expired_is_replaced_not_revived(void) {
    struct world w;
    struct vesta_pause pause;
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        world_open(&w, SMALL, (enum vesta_pacing)pacing, 0, NOON);
        int slot = grant_all(&w, 5);
        drain(&w, &pause);
        w.time.unix_us -= 3 * SECOND;
        drain(&w, &pause);
        CHECK(vesta_borrow(&w.gen, &pause, 5000) == VESTA_OK);
        uint64_t more = atomic_load(&w.map->slot[slot].allowed);
        CHECK(vesta_borrow(&w.gen, &pause, 2) == VESTA_OK); /* it is in force, so a smaller loan takes nothing back */
        CHECK_EQ_U64(atomic_load(&w.map->slot[slot].allowed), more);
        pass_us(&w.time, VESTA_VERDICT_MS * MS);
        CHECK(vesta_borrow(&w.gen, &pause, 2) == VESTA_OK);
        CHECK(atomic_load(&w.map->slot[slot].allowed) < more);
        CHECK(drain(&w, &pause) <= 3 * 8);
        world_close(&w);
    }
}

static void a_verdict_given_again_extends_itself(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    drain(&w, &pause);
    w.time.unix_us -= 60 * SECOND;
    drain(&w, &pause);
    for (int i = 0; i < 5; i++) {
        CHECK(vesta_borrow(&w.gen, &pause, 5000) == VESTA_OK);
        pass_us(&w.time, VESTA_VERDICT_MS * MS - 1);
        CHECK(next_tick(&w, &pause) != UINT64_MAX);
    }
    pass_us(&w.time, 1);
    CHECK_EQ_U64(drain(&w, &pause), 0);
    world_close(&w);
}

static void a_full_unit_borrows_the_next_one_and_no_more(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 5);
    CHECK_EQ_U64(drain(&w, &pause), 8);
    CHECK_STR(vesta_why_name(pause.why), "full");
    for (int i = 0; i < 3; i++) {
        CHECK(vesta_borrow(&w.gen, &pause, -1) == VESTA_OK);
        CHECK_EQ_U64(drain(&w, &pause), i == 0 ? 8 : 0);
    }
    pass_us(&w.time, 2 * MS);
    CHECK_EQ_U64(drain(&w, &pause), 8); /* the unit in between was borrowed */
    world_close(&w);
}

static void a_loan_is_cut_to_the_lease_to_its_maximum_and_to_the_layout(void) {
    static const int64_t hostile[] = {VESTA_BORROW_MS_MAX, VESTA_BORROW_MS_MAX + 1, INT64_MAX / 1000, INT64_MAX};
    struct world w;
    struct vesta_pause pause;
    for (size_t i = 0; i < VS_COUNT(hostile); i++) {
        world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
        int slot = grant_all(&w, 5);
        uint64_t from = now_tick(&w);
        CHECK_EQ_U64(drain(&w, &pause), 8);
        CHECK(vesta_borrow(&w.gen, &pause, hostile[i]) == VESTA_OK);
        CHECK_EQ_U64(atomic_load(&w.map->slot[slot].allowed), from + (VESTA_BORROW_MS_MAX + 1) * 8);
        world_close(&w);
    }
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    grant(&w, 5, now_tick(&w), now_tick(&w) + 20);
    CHECK_EQ_U64(drain(&w, &pause), 8);
    CHECK(vesta_borrow(&w.gen, &pause, 1000) == VESTA_OK);
    CHECK_EQ_U64(drain(&w, &pause), 12);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    world_close(&w);
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    w.time.unix_us = vs_tick_unix_us(&w.gen.shape, vs_tick_end(&w.gen.shape) - 1);
    w.map->shared.offset_us = w.time.unix_us - w.time.boot_us;
    int last = grant_all(&w, 5);
    CHECK_EQ_U64(drain(&w, &pause), 8);
    CHECK_STR(vesta_why_name(pause.why), "epoch_end");
    CHECK(vesta_borrow(&w.gen, &pause, 1000) == VESTA_OK);
    CHECK_EQ_U64(atomic_load(&w.map->slot[last].allowed), vs_tick_end(&w.gen.shape));
    CHECK_EQ_U64(drain(&w, &pause), 0);
    world_close(&w);
}

static void no_borrowing_from_an_unconfirmed_leap(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int slot = grant_all(&w, 5);
    uint64_t from = now_tick(&w);
    CHECK_EQ_U64(drain(&w, &pause), 8);
    w.time.unix_us += HOUR;
    CHECK_EQ_U64(drain(&w, &pause), 0);
    CHECK_STR(vesta_why_name(pause.why), "clock_ahead");
    CHECK(vesta_borrow(&w.gen, &pause, 5) == VESTA_OK);
    CHECK_EQ_U64(atomic_load(&w.map->slot[slot].allowed), from + 6 * 8);
    CHECK_EQ_U64(drain(&w, &pause), 0);
    world_close(&w);
}

static void a_loan_to_another_slot_is_ignored(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int old = grant_all(&w, 5);
    drain(&w, &pause);
    struct vesta_pause stale = pause;
    CHECK(vs_slot_close(&w.map->slot[old], &cursor));
    int newer = grant(&w, 6, cursor, vs_tick_end(&w.gen.shape));
    CHECK(vesta_borrow(&w.gen, &stale, 1000) == VESTA_OK);
    CHECK_EQ_U64(atomic_load(&w.map->slot[old].allowed), 0);
    CHECK_EQ_U64(atomic_load(&w.map->slot[newer].allowed), 0);
    stale.slot = UINT32_MAX;
    CHECK(vesta_borrow(&w.gen, &stale, 1000) == VESTA_ENOTNOW);
    world_close(&w);
}

/* ------------------------------------------------------------------ other pauses, fields */

static void a_stop_reaches_every_issuer(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t cursor;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    int slot = grant_all(&w, 5);
    vs_slot_close(&w.map->slot[slot], &cursor);
    atomic_store(&w.map->shared.stopped, VESTA_FAILSTOP);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_FAILSTOP, -1, 0, 0);
    atomic_store(&w.map->shared.stopped, VESTA_CLOSED);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_CLOSED, -1, 0, 0);
    world_close(&w);
}

static void a_lease_pause_has_the_time_of_the_next_try(void) {
    struct world w;
    struct vesta_pause pause;
    world_open(&w, SMALL, VESTA_PACING_CLOCK, 0, NOON);
    atomic_store(&w.map->shared.retry_boot_us, WORLD_BOOT_US + 3 * SECOND);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_LEASE, 3 * SECOND, 0, 0);
    pass_us(&w.time, 5 * SECOND);
    CHECK_EQ_U64(next_tick(&w, &pause), UINT64_MAX);
    check_pause(&pause, VESTA_LEASE, VS_LEASE_POLL_US, 0, 0);
    world_close(&w);
}

static void constant_fields_stand_in_every_id(void) {
    struct world w;
    struct vesta_pause pause;
    struct vesta_parts parts;
    uint64_t values[VESTA_FIELDS_MAX], ids[50];
    world_open(&w, "version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2020-01-01T00:00:00Z",
               VESTA_PACING_CLOCK, 0, NOON);
    CHECK(vs_fields_parse(&w.layout, "method=2 version=1", NULL, values, NULL) == VESTA_OK);
    w.gen.base = vs_layout_base(&w.layout, 0, values);
    grant_all(&w, 1023);
    size_t got = take_n(&w, ids, 50, &pause);
    CHECK_EQ_U64(got, 50);
    for (size_t i = 0; i < got; i++) {
        CHECK(vesta_explain(&w.layout, ids[i], &parts, NULL) == VESTA_OK);
        CHECK_EQ_U64(parts.values[0], 1);
        CHECK_EQ_U64(parts.values[1], 1);
        CHECK_EQ_U64(parts.values[2], 2);
        CHECK_EQ_U64(parts.worker, 1023);
        CHECK_EQ_U64(parts.seq, i);
    }
    world_close(&w);
}

static const struct check_case cases[] = {
    {"a verdict lets ids run ahead, never past the lease", a_verdict_runs_ahead_but_never_past_the_lease},
    {"a verdict about another slot is ignored", a_verdict_about_another_slot_is_ignored},
    {"ids are borrowed from the latest instant that was seen", ids_are_borrowed_from_the_latest_instant_that_was_seen},
    {"a loan expires, however much of it is left", a_loan_expires_however_much_of_it_is_left},
    {"a verdict that expired is replaced, not revived", a_verdict_that_expired_is_replaced_not_revived},
    {"a verdict that is given again is extended", a_verdict_given_again_extends_itself},
    {"a full unit borrows the next one and no more", a_full_unit_borrows_the_next_one_and_no_more},
    {"a loan is cut to the lease, to its maximum and to the layout's end",
     a_loan_is_cut_to_the_lease_to_its_maximum_and_to_the_layout},
    {"no ids are borrowed from a leap that is not confirmed", no_borrowing_from_an_unconfirmed_leap},
    {"a loan to another slot is ignored", a_loan_to_another_slot_is_ignored},
    {"a stop reaches every issuer", a_stop_reaches_every_issuer},
    {"a lease pause reports when the keeper tries again", a_lease_pause_has_the_time_of_the_next_try},
    {"constant fields are in every id", constant_fields_stand_in_every_id},
};

CHECK_MAIN(cases)
