/* lease_shared.c -- the lease engine with a shared store: presets, limits of bounds, the state of a lease, and pauses
 * while the store does not answer. */
#include "base/array.h"
#include "engine.h"
#include "lease/steps.h"

static struct vs_record held; /* the record in the store */

static void start_shared(const char *preset, bool has_worker, bool is_history) {
    struct vs_lease_opts opts = {.has_worker = true, .worker = 7, .slot = -1, .is_history = is_history};
    start_with(opts);
    lease.timing = vs_lease_timing_for(vs_lease_preset(preset), has_worker);
}

static void publish(void) {
    wake();
    reply(VS_STORE_OK, NULL);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    slot(0);
    DID(VS_DO_SWAP);
    held = did.record;
    reply(VS_STORE_OK, &held);
    DID(VS_DO_PUBLISH);
    ev.cursor = lease.from;
    done();
    DID(VS_DO_SLEEP);
}

static void renew(void) {
    wake();
    DID(VS_DO_SWAP);
    held = did.record;
    reply(VS_STORE_OK, &held);
    DID(VS_DO_RAISE);
    done();
    DID(VS_DO_SLEEP);
}

/* ------------------------------------------------------------------ presets */

static void presets_have_names(void) {
    static const char *const names[] = {"local", "strict", "balanced", "autonomous"};
    for (size_t i = 0; i < VS_COUNT(names); i++) {
        const struct vs_lease_timing *t = vs_lease_preset(names[i]);
        CHECK(t && strcmp(t->name, names[i]) == 0);
        CHECK(t->renew_ms <= t->lease_ms / 6 && t->renew_ms <= t->window_ms / 3);
        CHECK(t->idle_ms <= t->lease_ms / 6);
        CHECK(t->deadline_ms <= t->lease_ms * 8 / 10);
    }
    CHECK(!vs_lease_preset("") && !vs_lease_preset("Strict") && !vs_lease_preset("balanced "));
}

static void an_assigned_worker_id_has_a_small_window(void) {
    struct vs_lease_timing t = vs_lease_timing_for(vs_lease_preset("balanced"), true);
    CHECK_EQ_I64(t.window_ms, 5000);
    CHECK(t.renew_ms <= t.window_ms / 3);
    CHECK_EQ_I64(t.lease_ms, 720000);
    t = vs_lease_timing_for(vs_lease_preset("balanced"), false);
    CHECK_EQ_I64(t.window_ms, 600000);
}

/* ------------------------------------------------------------------ claiming */

static void a_namespace_is_not_created_automatically(void) {
    start_shared("strict", false, false);
    ns.ver = 0;
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_SLEEP);
    CHECK_HAS(lease.said, "vesta store init");
}

static void a_clock_ahead_of_the_store_claims_nothing(void) {
    start_shared("strict", false, false);
    wake();
    reply(VS_STORE_OK, NULL);
    ev.kind = VS_EV_REPLY, ev.outcome = VS_STORE_OK;
    ev.store_ms = ev.unix_us / 1000 - 10001;
    vs_lease_step(&lease, &ev, &did);
    DID(VS_DO_SLEEP);
    CHECK_HAS(lease.said, "ahead of the store's");
    pass_ms(1000);
    wake();
    DID(VS_DO_READ);
    ev.kind = VS_EV_REPLY;
    ev.store_ms = ev.unix_us / 1000 - 10000;
    vs_lease_step(&lease, &ev, &did);
    DID(VS_DO_TAKE);
}

static void a_store_ahead_of_us_puts_no_id_ahead(void) {
    start_shared("strict", false, false);
    wake();
    reply(VS_STORE_OK, NULL);
    ev.kind = VS_EV_REPLY, ev.outcome = VS_STORE_OK;
    ev.store_ms = ev.unix_us / 1000 + 3600000;
    vs_lease_step(&lease, &ev, &did);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now());
}

/* ------------------------------------------------------------------ limits of bounds */

static void nothing_is_granted_past_the_store_and_two_margins(void) {
    start_shared("strict", false, false);
    publish();
    pass_ms(2000);
    ev.unix_us += INT64_C(9000) * 1000; /* first within the tolerance, then beyond it */
    ev.cursor = tick_now();
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.record.until, tick_now() + TICKS(5000));
    ev.unix_us += INT64_C(8000) * 1000;
    start_shared("strict", false, false);
    publish();
    pass_ms(2000);
    ev.unix_us += INT64_C(17000) * 1000;
    ev.cursor = lease.from + 5;
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.record.until, vs_tick_at(&lease.shape, (NOON_MS + 2000 + 10000) * 1000) + TICKS(5000));
}

static void a_holder_ahead_of_the_store_reports_it(void) {
    start_shared("strict", false, false);
    publish();
    pass_ms(2000);
    ev.cursor = tick_now();
    wake();
    DID(VS_DO_SWAP);
    struct vs_record stored = did.record;
    ev.kind = VS_EV_REPLY, ev.outcome = VS_STORE_OK;
    ev.record = stored;
    ev.store_ms = ev.unix_us / 1000 - 3600000;
    vs_lease_step(&lease, &ev, &did);
    DID(VS_DO_RAISE);
    CHECK_HAS(lease.said, "3600.0 s ahead of the store's");
}

static void a_bound_is_never_lowered_by_the_store(void) {
    start_shared("strict", false, false);
    publish();
    uint64_t until = lease.until;
    pass_ms(1500);
    ev.unix_us -= INT64_C(60000) * 1000;
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.record.until, until);
}

static void history_counts_its_window_in_ids(void) {
    start_shared("autonomous", false, true);
    publish();
    uint64_t first = lease.from;
    pass_ms(INT64_C(3600) * 1000);
    ev.cursor = first + 1000; /* an hour in which few ids were issued */
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.record.until, first + 1000 + TICKS(600000));
}

/* ------------------------------------------------------------------ the writes of a holder */

static void an_idle_holder_writes_seldom(void) {
    start_shared("balanced", false, false);
    publish();
    int writes = 0;
    for (int s = 0; s < 600; s++) {
        pass_ms(1000);
        wake();
        if (did.kind != VS_DO_SWAP) continue;
        writes++;
        held = did.record;
        reply(VS_STORE_OK, &held);
        done();
    }
    CHECK_EQ_I64(writes, 10);
    CHECK(lease.until > tick_now());
}

/* ------------------------------------------------------------------ failures */

static void an_unreachable_store_is_asked_less_often(void) {
    start_shared("balanced", false, false);
    publish();
    pass_ms(6000);
    ev.cursor += 10;
    wake();
    DID(VS_DO_SWAP);
    static const int64_t rests_ms[] = {1000, 2000, 4000, 5000, 5000};
    for (size_t i = 0; i < VS_COUNT(rests_ms); i++) {
        reply(VS_STORE_DOWN, NULL);
        DID(VS_DO_SLEEP);
        CHECK(!did.on_want);
        int64_t ms = (did.until_boot_us - ev.boot_us) / 1000;
        CHECK(ms >= rests_ms[i] && ms <= rests_ms[i] * 3 / 2);
        pass_ms(ms);
        wake();
        DID(VS_DO_SWAP);
    }
    held = did.record;
    reply(VS_STORE_OK, &held);
    DID(VS_DO_RAISE);
    CHECK_EQ_U64(lease.troubles, 0);
}

static void two_holders_come_back_at_different_times(void) {
    int64_t at_ms[2];
    for (int i = 0; i < 2; i++) {
        start_shared("balanced", false, false);
        lease.dice = 1000 + (uint64_t)i;
        wake();
        reply(VS_STORE_DOWN, NULL);
        at_ms[i] = did.until_boot_us / 1000;
    }
    CHECK(at_ms[0] != at_ms[1]);
}

/* ------------------------------------------------------------------ the state of a lease */

#define STANDS(want) CHECK_STR(vs_lease_state_name(vs_lease_state_of(&lease, &ev)), want)

/* The state is read from a map, which another program may have damaged. */
static void a_damaged_state(void) {
    CHECK_STR(vs_lease_state_name(VS_LEASE_FAILSTOP), "failstop");
    CHECK_STR(vs_lease_state_name((enum vs_lease_state)(VS_LEASE_FAILSTOP + 1)), "unknown");
    CHECK_STR(vs_lease_state_name((enum vs_lease_state)INT32_MAX), "unknown");
    CHECK_STR(vs_lease_state_name((enum vs_lease_state)UINT32_MAX), "unknown");
}

static void a_holder_without_its_store(void) {
    start_shared("strict", false, false);
    STANDS("claiming");
    publish();
    STANDS("active");
    pass_ms(1000);
    ev.cursor += 3;
    wake();
    STANDS("renewing");
    reply(VS_STORE_DOWN, NULL);
    STANDS("active"); /* a single failure does not change the state */
    pass_ms(1500);
    STANDS("suspect");
    pass_ms(3000);
    STANDS("drained");
    renew();
    STANDS("active"); /* the store confirmed that no process claimed it in between */
}

static void a_deadline_drains_whatever_the_window(void) {
    start_shared("autonomous", false, true);
    publish();
    pass_ms(INT64_C(69120) * 1000 - 1);
    STANDS("active");
    pass_ms(1);
    STANDS("drained");
}

static void fenced_and_failstop(void) {
    start_shared("strict", false, false);
    publish();
    pass_ms(1000);
    ev.cursor += 3;
    wake();
    struct vs_record other = record_of("/other.gen", true, NOON_MS + 60000);
    other.ver = held.ver + 5;
    reply(VS_STORE_CONFLICT, &other);
    STANDS("fenced");
    start_shared("strict", false, false);
    publish();
    pass_ms(1000);
    ev.cursor += 3;
    wake();
    other.ver = 0;
    reply(VS_STORE_CONFLICT, &other);
    STANDS("failstop");
    done();
    STANDS("failstop");
}

/* ------------------------------------------------------------------ repairing a store */

static void the_floor_lies_above_all_that_was_granted(void) {
    const struct vs_lease_timing *t = vs_lease_preset("strict");
    struct vs_ns_record record = {.ver = 4, .incarnation = 9};
    vs_ns_put_right(&record, t, NOON_MS, 10);
    CHECK_EQ_U64(record.ver, 5);
    CHECK_EQ_U64(record.incarnation, 10);
    CHECK_EQ_I64(record.floor_ms, NOON_MS + t->skew_ms + 2 * t->window_ms);
    vs_ns_put_right(&record, t, NOON_MS - 3600000, 11); /* the floor stays the higher one */
    CHECK_EQ_I64(record.floor_ms, NOON_MS + t->skew_ms + 2 * t->window_ms);
}

static const struct check_case cases[] = {
    {"presets have names and consistent values", presets_have_names},
    {"a worker id set by hand has a small window", an_assigned_worker_id_has_a_small_window},
    {"a namespace is not created automatically in a shared store", a_namespace_is_not_created_automatically},
    {"no claim while the clock is ahead of the store", a_clock_ahead_of_the_store_claims_nothing},
    {"a store that is ahead of our clock moves no id ahead", a_store_ahead_of_us_puts_no_id_ahead},
    {"no bound exceeds the store's clock + S + W", nothing_is_granted_past_the_store_and_two_margins},
    {"a holder whose clock is ahead of the store reports it", a_holder_ahead_of_the_store_reports_it},
    {"a bound is never lowered", a_bound_is_never_lowered_by_the_store},
    {"history pacing counts its window in ids", history_counts_its_window_in_ids},
    {"an idle holder writes rarely", an_idle_holder_writes_seldom},
    {"an unreachable store is asked less and less often", an_unreachable_store_is_asked_less_often},
    {"two holders retry at different times", two_holders_come_back_at_different_times},
    {"a holder without its store: suspect, drained, active again", a_holder_without_its_store},
    {"a damaged state has no name", a_damaged_state},
    {"a deadline drains a lease whatever its window", a_deadline_drains_whatever_the_window},
    {"fenced and failstop", fenced_and_failstop},
    {"the floor is above all leases", the_floor_lies_above_all_that_was_granted},
};

CHECK_MAIN(cases)
