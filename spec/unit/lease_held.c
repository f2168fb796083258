/* lease_held.c -- the lease engine with a lease: renewing, losing it to another process, a store that went back, a
 * predecessor's lease, releasing. */
#include "engine.h"

static struct vs_record taken_over(const struct vs_record *from) {
    struct vs_record r = *from;
    r.ver += 5, r.epoch++;
    r.owner[0] = 4, r.owner[1] = 4;
    r.until += TICKS(60000);
    snprintf(r.holder, sizeof r.holder, "elsewhere pid 9");
    return r;
}

/* ------------------------------------------------------------------ renewing */

/* Returns the number of writes in `periods` renewal periods without an issued id. */
static int writes_at_rest(int periods) {
    int writes = 0;
    for (int i = 0; i < periods; i++) {
        pass_ms(lease.timing.renew_ms);
        CHECK(lease.until > tick_now());
        wake();
        if (did.kind != VS_DO_SWAP) continue;
        struct vs_record written = did.record;
        writes++;
        reply(VS_STORE_OK, &written);
        DID(VS_DO_RAISE);
        done();
        DID(VS_DO_SLEEP);
    }
    return writes;
}

static void an_idle_holder_keeps_its_window(void) {
    /* A worker id that is assigned by hand has a window of 5 s. A third of it has passed after two periods of 1.5 s. */
    start_held();
    CHECK_EQ_I64(writes_at_rest(1000), 500);
    start_held();
    lease.timing = vs_lease_timing_file;
    CHECK(writes_at_rest(2) == 1);             /* its renewal period is long */
    CHECK_EQ_I64(writes_at_rest(40 * 60), 58); /* writes per hour */
}

static void a_busy_holder_renews_ahead_of_need(void) {
    struct vs_record record = start_held();
    for (int i = 0; i < 1000; i++) {
        pass_ms(1500);
        ev.cursor = tick_now() + 5;
        CHECK(record.until > ev.cursor); /* the window did not end in between */
        wake();
        DID(VS_DO_SWAP);
        CHECK_EQ_U64(did.old_ver, record.ver);
        CHECK_EQ_U64(did.record.epoch, 1);
        CHECK(did.record.until >= ev.cursor + TICKS(4999));
        record = did.record;
        reply(VS_STORE_OK, &record);
        DID(VS_DO_RAISE);
        CHECK_EQ_U64(did.limit, record.until);
        done();
        SLEEPS_MS(1500);
    }
}

static void renewing_waits_its_turn(void) {
    start_held();
    pass_ms(700);
    ev.cursor = tick_now();
    wake();
    SLEEPS_MS(800);
}

static void a_bound_is_never_lowered(void) {
    struct vs_record record = start_held();
    pass_ms(2000);
    ev.cursor = lease.from + 1;
    ev.unix_us -= 3600 * INT64_C(1000000);
    wake();
    DID(VS_DO_SWAP);
    CHECK(did.record.until >= record.until);
    /* counted from the cursor, because the clock is behind it */
    CHECK_EQ_U64(did.record.until, lease.from + 1 + TICKS(5000));
}

static void nothing_past_the_layouts_end(void) {
    start_reading();
    uint64_t end = vs_tick_end(&lease.shape);
    ev.unix_us = vs_tick_unix_us(&lease.shape, end) - 2000000;
    reply(VS_STORE_OK, NULL);
    slot(0);
    CHECK_EQ_U64(did.record.until, end);
    struct vs_record record = did.record;
    reply(VS_STORE_OK, &record);
    done();
    for (int i = 0; i < 10; i++) {
        pass_ms(2000);
        ev.cursor = tick_now() < end ? tick_now() : end;
        ev.wanted = true;
        wake();
        DID(VS_DO_SLEEP);
    }
}

static void no_renewal_by_an_untrusted_clock(void) {
    start_held();
    pass_ms(600000);
    ev.cursor = tick_now();
    ev.doubt_us = 30000000;
    wake();
    rest_of_ms(250); /* not the whole minute, because the clock may be corrected earlier */
    SLEEPS_MS(250);
    ev.doubt_us = 0;
    wake();
    DID(VS_DO_SWAP);
}

static void a_late_write_of_our_own(void) {
    struct vs_record record = start_renewing();
    uint64_t asked = did.record.until;
    reply(VS_STORE_UNKNOWN, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &record); /* the write has not arrived yet */
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, record.ver);
    record.ver++, record.until = asked;
    reply(VS_STORE_CONFLICT, &record); /* the write has arrived and is our own, so nothing is lost */
    rest_of_ms(1000);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &record);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, record.ver);
    struct vs_record written = did.record;
    reply(VS_STORE_OK, &written);
    DID(VS_DO_RAISE);
    CHECK_EQ_U64(did.limit, written.until);
}

static void an_unknown_renewal_adopts_nothing(void) {
    struct vs_record record = start_renewing(), asked = did.record;
    reply(VS_STORE_UNKNOWN, NULL);
    DID(VS_DO_READ);
    CHECK_EQ_U64(lease.until, record.until);
    reply(VS_STORE_OK, &asked); /* the write is stored, but only an acknowledged write counts */
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, asked.ver);
    CHECK_EQ_U64(lease.until, record.until);
}

/* ------------------------------------------------------------------ losing */

static void a_lease_that_another_took(void) {
    struct vs_record record = start_renewing(), theirs = taken_over(&record);
    reply(VS_STORE_CONFLICT, &theirs);
    DID(VS_DO_CLOSE);
    CHECK_EQ_I64(did.slot, 0);
    CHECK_HAS(lease.said, "taken over by elsewhere pid 9");
    closed(true, ev.cursor);
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &theirs);
    DID(VS_DO_SLEEP);
    record = start_renewing(), theirs = taken_over(&record);
    reply(VS_STORE_UNKNOWN, NULL);
    reply(VS_STORE_OK, &theirs);
    DID(VS_DO_CLOSE);
}

/* Another keeper of the file closed the slot, so renewing is useless. */
static void a_slot_that_was_closed_under_us(void) {
    start_held();
    pass_ms(2000);
    ev.lost = true;
    ev.wanted = true;
    wake();
    DID(VS_DO_NS_READ);
    ev.lost = false;
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_I64(did.slot, -1);
}

static void stops(const char *because) {
    DID(VS_DO_FAILSTOP);
    CHECK_HAS(lease.said, because);
    done();
    for (int i = 0; i < 10; i++) {
        SLEEPS_MS(10000);
        pass_ms(10000);
        ev.wanted = true;
        wake();
        DID(VS_DO_NS_READ); /* checks whether the store was repaired */
        reply(VS_STORE_OK, NULL);
    }
    wake();
    reply(VS_STORE_DOWN, NULL);
    DID(VS_DO_SLEEP);
    ev.stop = true;
    wake();
    CHECK(did.kind == VS_DO_CLOSE || did.kind == VS_DO_END);
    if (did.kind == VS_DO_CLOSE) closed(false, 0);
    DID(VS_DO_END);
}

static void a_store_that_went_back(void) {
    struct vs_record record = start_renewing();
    record.ver = 0;
    reply(VS_STORE_CONFLICT, &record);
    stops("went back");
    record = start_renewing();
    record.ver += 3, record.until--;
    reply(VS_STORE_CONFLICT, &record);
    stops("went back");
    record = start_renewing();
    reply(VS_STORE_UNKNOWN, NULL);
    reply(VS_STORE_OK, NULL); /* the record is missing */
    stops("went back");
    start_reading(); /* this is also detected between reading and claiming */
    record = record_of("/other.gen", false, NOON_MS);
    reply(VS_STORE_OK, &record);
    slot(0);
    record.ver--;
    reply(VS_STORE_CONFLICT, &record);
    stops("went back");
}

static void a_store_that_was_replaced(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1, .incarnation = 54});
    wake();
    reply(VS_STORE_OK, NULL);
    stops("the store was replaced");
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1, .incarnation = 54});
    ns.ver = 0;
    wake();
    reply(VS_STORE_OK, NULL);
    stops("the store was emptied, so the leases that it granted are not in it. Restore its data if you can, then run: "
          "vesta store advance. Or use a new namespace");
}

/* Does the same as `vesta store advance`: the namespace gets another incarnation and a floor. */
static void put_right(int64_t floor_ms) {
    ns = (struct vs_ns_record){.ver = 2, .fingerprint = layout.fingerprint, .incarnation = 99, .floor_ms = floor_ms};
}

static void a_repaired_store(void) {
    struct vs_record record = start_renewing();
    uint64_t granted = lease.granted;
    record.ver = 0;
    reply(VS_STORE_CONFLICT, &record);
    DID(VS_DO_FAILSTOP);
    done();
    put_right(vs_tick_unix_us(&lease.shape, granted) / 1000 - 1); /* below our bound, so the store is not accepted */
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_SLEEP);
    CHECK_HAS(lease.said, "its floor is 1 s too low");
    CHECK_HAS(lease.said, "(default: balanced)");
    put_right(vs_tick_unix_us(&lease.shape, granted) / 1000 + 1);
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_RECOVER);
    done();
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, vs_tick_at(&lease.shape, ns.floor_ms * 1000));
    CHECK(did.from > granted);
}

static void a_store_repaired_before_a_failstop(void) {
    start_renewing();
    put_right(NOON_MS + 60000);
    reply(VS_STORE_MOVED, NULL);
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_CLOSE); /* Ids in the rest of the window would be unique, but no keeper would renew the lease. */
    closed(true, lease.from);
    DID(VS_DO_NS_READ);
}

static void a_successor_ends_a_failstop(void) {
    start_with((struct vs_lease_opts){
        .has_worker = true, .worker = 7, .slot = -1, .incarnation = 54, .granted = TICKS(6000), .failed_in = 54});
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_SLEEP);
    put_right(NOON_MS);
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_RECOVER);
    done();
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
}

/* A version is one write.  If another process wrote our version, our write was lost. */
static void the_same_version_of_another(void) {
    struct vs_record r = start_renewing();
    r.owner[0]++;
    r.until += TICKS(60000);
    reply(VS_STORE_CONFLICT, &r);
    DID(VS_DO_FAILSTOP);
    CHECK_HAS(lease.said, "the store went back");
}

/* ------------------------------------------------------------------ the lease of a predecessor */

static struct vs_lease_opts left(bool published) {
    return (struct vs_lease_opts){.has_worker = true,
                                  .worker = 7,
                                  .slot = 4,
                                  .published = published,
                                  .slot_worker = 7,
                                  .slot_owner = {1004, 2004},
                                  .slot_from = TICKS(1000),
                                  .slot_limit = published ? TICKS(6000) : 0,
                                  .incarnation = 55};
}

static struct vs_record its_record(uint64_t until) {
    return (struct vs_record){.ver = 6,
                              .epoch = 2,
                              .owner = {1004, 2004},
                              .held = true,
                              .until = until,
                              .fingerprint = layout.fingerprint,
                              .lease_ms = 15000};
}

static void an_open_lease_is_resumed(void) {
    start_with(left(true));
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    struct vs_record record = its_record(TICKS(7000));
    ev.cursor = TICKS(5900);
    reply(VS_STORE_OK, &record);
    DID(VS_DO_SLEEP);
    CHECK(did.on_want);
    ev.wanted = true;
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, 6);
    CHECK_EQ_U64(did.record.owner[1], 2004);
}

/* A store was restored to the moment after that claim.  Another process may have taken the worker id after it, and may
 * continue with its lost lease.  The floor is above that lease, so a resumed claim must be, too. */
static void a_claim_from_before_the_floor_is_not_taken_up(void) {
    struct vs_lease_opts opts = left(false);
    opts.incarnation = 0; /* the file's first claim, so it has no incarnation of a store */
    start_with(opts);
    ns.floor_ms = NOON_MS + 20000;
    wake();
    reply(VS_STORE_OK, NULL);
    struct vs_record record = its_record(TICKS(6000));
    reply(VS_STORE_OK, &record);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &record);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now() + TICKS(20000));
}

/* A process was suspended in the write of the claim to a file: store, while a reader raised the mark. */
static void a_claim_below_the_mark_is_not_taken_up(void) {
    start_with(left(false));
    ns.mark_ms = NOON_MS + 5000;
    wake();
    reply(VS_STORE_OK, NULL);
    struct vs_record record = its_record(TICKS(6000));
    reply(VS_STORE_OK, &record);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &record);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now() + TICKS(5000));
}

static void a_claim_that_arrived_is_adopted_by_a_write(void) {
    start_with(left(false));
    wake();
    reply(VS_STORE_OK, NULL);
    struct vs_record record = its_record(TICKS(6000));
    reply(VS_STORE_OK, &record);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, 6);
    record = did.record;
    reply(VS_STORE_OK, &record);
    DID(VS_DO_PUBLISH);
    CHECK_EQ_I64(did.slot, 4);
    CHECK(did.limit >= TICKS(6000));
}

static void a_claim_that_never_arrived_is_left(void) {
    start_with(left(false));
    wake();
    reply(VS_STORE_OK, NULL);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_I64(did.slot, -1);
}

static void an_open_lease_that_was_lost(void) {
    start_with(left(true));
    wake();
    reply(VS_STORE_OK, NULL);
    struct vs_record record = its_record(TICKS(7000)), theirs = taken_over(&record);
    reply(VS_STORE_OK, &theirs);
    DID(VS_DO_CLOSE);
    start_with(left(true));
    wake();
    reply(VS_STORE_OK, NULL);
    record = its_record(TICKS(5999)); /* below the bound in the map */
    reply(VS_STORE_OK, &record);
    stops("went back");
    start_with(left(true));
    wake();
    reply(VS_STORE_OK, NULL);
    record = its_record(TICKS(3000)); /* a slow predecessor released it, so the store did not go back */
    record.held = false;
    reply(VS_STORE_OK, &record);
    DID(VS_DO_CLOSE);
    closed(false, 0);
    DID(VS_DO_NS_READ);
}

/* ------------------------------------------------------------------ releasing */

static struct vs_record start_releasing(void) {
    struct vs_record record = start_held();
    ev.stop = true;
    wake();
    DID(VS_DO_CLOSE);
    closed(true, lease.from + 99);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, record.ver);
    CHECK_EQ_U64(did.record.until, lease.from + 99);
    CHECK(!did.record.held);
    return record;
}

static void giving_back(void) {
    struct vs_record record = start_releasing(), freed = did.record;
    reply(VS_STORE_OK, &freed);
    DID(VS_DO_END);
    start_releasing();
    reply(VS_STORE_REFUSED, NULL);
    DID(VS_DO_END);
    record = start_held();
    ev.stop = true;
    wake();
    closed(false, 0); /* another process closed the slot and has its cursor */
    DID(VS_DO_END);
    (void)record;
}

static void giving_back_with_an_unknown_outcome(void) {
    struct vs_record record = start_releasing(), freed = did.record;
    reply(VS_STORE_UNKNOWN, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &freed); /* the release was applied */
    DID(VS_DO_END);
    record = start_releasing();
    record.ver++; /* an earlier renewal arrived before the release */
    reply(VS_STORE_CONFLICT, &record);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &record);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, record.ver);
    CHECK_EQ_U64(did.record.until, lease.from + 99);
    for (int i = 0; i < 10 && did.kind != VS_DO_END; i++)
        reply(did.kind == VS_DO_SWAP ? VS_STORE_UNKNOWN : VS_STORE_OK, &record);
    DID(VS_DO_END); /* after a few attempts the record is left to expire */
    record = start_releasing();
    struct vs_record theirs = taken_over(&record);
    reply(VS_STORE_CONFLICT, &theirs);
    DID(VS_DO_END);
}

static const struct check_case cases[] = {
    {"an idle holder writes only to extend its window", an_idle_holder_keeps_its_window},
    {"a busy holder renews in advance", a_busy_holder_renews_ahead_of_need},
    {"a renewal waits for its turn", renewing_waits_its_turn},
    {"a bound is never lowered, even by a clock that goes back", a_bound_is_never_lowered},
    {"nothing is leased past the layout's end", nothing_past_the_layouts_end},
    {"no renewal while the clock is not trusted", no_renewal_by_an_untrusted_clock},
    {"a late write of the same engine is no conflict", a_late_write_of_our_own},
    {"our version with another owner means that the store went back", the_same_version_of_another},
    {"an unknown renewal adopts nothing", an_unknown_renewal_adopts_nothing},
    {"a lease that another process took is closed, then claimed again", a_lease_that_another_took},
    {"a slot that another keeper closed is replaced by a new one", a_slot_that_was_closed_under_us},
    {"a store that went back stops the generator", a_store_that_went_back},
    {"a store that was replaced or emptied stops the generator", a_store_that_was_replaced},
    {"a store that was repaired with a floor above all leases is used again", a_repaired_store},
    {"a lease moves on if the store was repaired in the meantime", a_store_repaired_before_a_failstop},
    {"a successor ends a failstop after the store was repaired", a_successor_ends_a_failstop},
    {"a predecessor's open lease is resumed", an_open_lease_is_resumed},
    {"a predecessor's claim from before the floor is not resumed", a_claim_from_before_the_floor_is_not_taken_up},
    {"a claim below the mark of watermarks is not taken up", a_claim_below_the_mark_is_not_taken_up},
    {"a predecessor's claim that arrived is adopted by a write", a_claim_that_arrived_is_adopted_by_a_write},
    {"a predecessor's claim that never arrived is dropped", a_claim_that_never_arrived_is_left},
    {"a predecessor's lease that was taken over, lost by the store, or released", an_open_lease_that_was_lost},
    {"releasing writes the exact cursor", giving_back},
    {"releasing with an unknown outcome", giving_back_with_an_unknown_outcome},
};

CHECK_MAIN(cases)
