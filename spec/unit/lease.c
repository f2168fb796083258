/* lease.c -- the lease engine, event by event: claims, renewals, and every answer of a store. */
#include "base/array.h"
#include "engine.h"

/* ------------------------------------------------------------------ claims */

static void a_worker_id_without_a_record(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    ns.ver = 0;
    wake();
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_NS_SWAP);
    CHECK_EQ_U64(did.old_ver, 0);
    CHECK_EQ_U64(did.ns.ver, 1);
    CHECK_EQ_U64(did.ns.fingerprint, layout.fingerprint);
    CHECK(did.ns.incarnation != 0);
    ns = did.ns;
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_NS_READ); /* the namespace is read again, because the stored record counts, not the requested one */
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now());
    CHECK_EQ_I64(did.slot, -1);
    slot(3);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, 0);
    CHECK_EQ_U64(did.worker, 7);
    CHECK_EQ_U64(did.record.ver, 1);
    CHECK_EQ_U64(did.record.epoch, 1);
    CHECK_EQ_U64(did.record.owner[0], 1003);
    CHECK_EQ_U64(did.record.owner[1], 2003);
    CHECK_EQ_U64(did.record.until, tick_now() + TICKS(5000));
    CHECK(did.record.held);
    CHECK_STR(did.record.identity, "/var/lib/vesta/default.gen");
    struct vs_record written = did.record;
    reply(VS_STORE_OK, &written);
    DID(VS_DO_PUBLISH);
    CHECK_EQ_I64(did.slot, 3);
    CHECK_EQ_U64(did.limit, written.until);
    CHECK_EQ_I64(did.deadline_boot_us, 0);
    done();
    DID(VS_DO_SLEEP);
    CHECK(did.on_want);
    CHECK_STR(lease.said, "");
}

/* The claim starts at `until`, or at the clock if that is later.  It replaces the version that was read. */
static void claims_from(const char *identity, bool held, int64_t until_ms, uint64_t from) {
    start_reading();
    struct vs_record r = record_of(identity, held, until_ms);
    reply(VS_STORE_OK, &r);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, from);
    slot(0);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, 9);
    CHECK_EQ_U64(did.record.ver, 10);
    CHECK_EQ_U64(did.record.epoch, 4);
    CHECK(did.record.until >= r.until && did.record.until > from);
}

static void a_free_worker_id(void) {
    start_reading();
    uint64_t now = tick_now();
    claims_from("/other.gen", false, NOON_MS - 1000, now);
    claims_from("/other.gen", false, NOON_MS + 3000, now + TICKS(3000));
    claims_from("/other.gen", false, NOON_MS + 10000, now + TICKS(10000)); /* within the limit S, so still accepted */
}

static void an_expired_worker_id(void) {
    start_reading();
    claims_from("/other.gen", true, NOON_MS + 4000, tick_now() + TICKS(4000));
}

/* The same generator may claim its worker id again as soon as its own last bound has passed, even if the lease has not
 * expired. */
static void our_own_worker_id(void) {
    start_reading();
    struct vs_record r = record_of("/var/lib/vesta/default.gen", true, NOON_MS + 700);
    r.written_ms = NOON_MS - 1;
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(700);
    pass_ms(700);
    wake();
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &r);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, r.until);
}

static void a_worker_id_that_another_holds(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", true, NOON_MS - 1000);
    r.written_ms = NOON_MS - 15000 + 400;
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(401); /* a lease expires when more than lease_ms have passed since its last write */
    CHECK_HAS(lease.said, "worker id 7 is held by elsewhere pid 9");
    pass_ms(400);
    wake();
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(1);
    pass_ms(1);
    wake();
    reply(VS_STORE_OK, &r);
    DID(VS_DO_TAKE);
    start_reading();
    r.written_ms = NOON_MS;
    for (int i = 0; i < 200; i++) { /* the holder keeps renewing, and the engine asks once a second */
        r.written_ms += 1000;
        reply(VS_STORE_OK, &r);
        SLEEPS_MS(1000);
        CHECK_HAS(lease.said, "held by");
        pass_ms(1000);
        wake();
        DID(VS_DO_READ);
    }
}

static void a_worker_id_that_ends_far_ahead(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", false, NOON_MS + 10300);
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(300);
    CHECK_HAS(lease.said, "10.3 s ahead of the clock");
    r = record_of("/other.gen", false, NOON_MS + 3600000);
    pass_ms(300);
    wake();
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(1000);
}

static void a_worker_id_without_ticks(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", false, NOON_MS);
    ev.unix_us = vs_tick_unix_us(&lease.shape, vs_tick_end(&lease.shape) - 1);
    r.until = vs_tick_end(&lease.shape);
    reply(VS_STORE_OK, &r);
    DID(VS_DO_SLEEP);
    CHECK_HAS(lease.said, "every tick of worker id 7 was granted");
}

static void the_namespaces_floor(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    ns.floor_ms = NOON_MS + 60000;
    wake();
    reply(VS_STORE_OK, NULL);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    CHECK_EQ_U64(did.from, tick_now() + TICKS(60000));
}

/* The floor would overflow in microseconds, to a time before 1970. */
static void a_floor_beyond_all_time(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    ns.floor_ms = INT64_MAX;
    wake();
    reply(VS_STORE_OK, NULL);
    reply(VS_STORE_OK, NULL);
    SLEEPS_MS(10000);
    CHECK_HAS(lease.said, "the layout's time has ended");
}

static void a_lost_race_takes_a_fresh_slot_and_reads_again(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", true, NOON_MS + 5000);
    r.written_ms = NOON_MS;
    reply(VS_STORE_OK, NULL);
    slot(0);
    DID(VS_DO_SWAP);
    reply(VS_STORE_CONFLICT, &r);
    DID(VS_DO_READ);
    r.held = false;
    reply(VS_STORE_OK, &r);
    DID(VS_DO_TAKE);
    CHECK_EQ_I64(did.slot, -1); /* a new slot, because a claim that was sent keeps its slot for good */
    slot(1);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, 9);
    CHECK_EQ_U64(did.record.owner[0], 1001);
}

static void many_lost_races_make_a_pause(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", false, NOON_MS);
    for (int i = 0; i < 1000 && did.kind == VS_DO_READ; i++) {
        reply(VS_STORE_OK, &r);
        slot(i);
        r.ver++;
        reply(VS_STORE_CONFLICT, &r);
    }
    SLEEPS_MS(1000);
    CHECK_HAS(lease.said, "other processes won");
}

/* ------------------------------------------------------------------ claims with an unknown outcome */

static void an_unknown_claim_that_arrived(void) {
    start_reading();
    reply(VS_STORE_OK, NULL);
    slot(0);
    struct vs_record written = did.record;
    reply(VS_STORE_UNKNOWN, NULL);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &written);
    DID(VS_DO_SWAP); /* reading adopts nothing: the claim is repeated under the same token */
    CHECK_EQ_U64(did.old_ver, written.ver);
    CHECK_EQ_U64(did.record.ver, written.ver + 1);
    CHECK_EQ_U64(did.record.owner[0], written.owner[0]);
    CHECK(did.record.until >= written.until);
    written = did.record;
    reply(VS_STORE_OK, &written);
    DID(VS_DO_PUBLISH);
    CHECK_EQ_U64(did.limit, written.until);
}

static void an_unknown_claim_that_did_not(void) {
    start_reading();
    struct vs_record r = record_of("/other.gen", false, NOON_MS);
    reply(VS_STORE_OK, &r);
    slot(0);
    struct vs_record asked = did.record;
    for (int i = 0; i < 3; i++) {
        reply(VS_STORE_UNKNOWN, NULL);
        if (i > 0) rest_of_ms(1000);
        DID(VS_DO_READ);
        reply(VS_STORE_OK, &r);
        DID(VS_DO_SWAP); /* under the same token, so that the claim is ours if the first write arrives late */
        CHECK_EQ_U64(did.record.owner[0], asked.owner[0]);
        CHECK_EQ_U64(did.old_ver, 9);
    }
    reply(VS_STORE_CONFLICT, &asked);
    rest_of_ms(1000);
    DID(VS_DO_READ);
    reply(VS_STORE_OK, &asked);
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, asked.ver);
}

static void an_unknown_claim_that_another_won(void) {
    start_reading();
    reply(VS_STORE_OK, NULL);
    slot(0);
    reply(VS_STORE_UNKNOWN, NULL);
    struct vs_record r = record_of("/other.gen", true, NOON_MS + 5000);
    reply(VS_STORE_OK, &r);
    DID(VS_DO_READ); /* starts from the beginning */
    r.held = false;
    reply(VS_STORE_OK, &r);
    DID(VS_DO_TAKE);
    CHECK_EQ_I64(did.slot, -1);
}

/* ------------------------------------------------------------------ stores that reject */

static void a_store_that_is_down_or_refuses(void) {
    static const enum vs_outcome troubles[] = {VS_STORE_DOWN, VS_STORE_REFUSED, VS_STORE_UNKNOWN};
    for (size_t i = 0; i < VS_COUNT(troubles); i++) {
        start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
        wake();
        snprintf(ev.text, sizeof ev.text, "the disk is gone");
        reply(troubles[i], NULL);
        SLEEPS_MS(1000);
        CHECK_STR(lease.said, "the disk is gone");
        wake();
        DID(VS_DO_NS_READ);
        reply(VS_STORE_OK, NULL);
        DID(VS_DO_READ);
        reply(troubles[i], NULL);
        SLEEPS_MS(1000);
        wake();
        DID(VS_DO_READ);
        struct vs_record held = start_renewing();
        if (troubles[i] != VS_STORE_UNKNOWN) {
            reply(troubles[i], NULL);
            SLEEPS_MS(1000);
            CHECK_EQ_U64(lease.until, held.until);
            pass_ms(1000);
            ev.cursor++;
            wake();
            DID(VS_DO_SWAP);
        }
    }
}

/* A full disk must not use up the file's slots: the claim continues in its slot, under its token. */
static void a_refused_claim_keeps_its_slot(void) {
    start_reading();
    reply(VS_STORE_OK, NULL);
    slot(0);
    for (int i = 0; i < 3000; i++) {
        DID(VS_DO_SWAP);
        CHECK_EQ_U64(did.record.owner[0], 1000);
        reply(i % 2 ? VS_STORE_REFUSED : VS_STORE_DOWN, NULL);
        SLEEPS_MS(1000);
        pass_ms(1000);
        wake();
        DID(VS_DO_READ);
        reply(VS_STORE_OK, NULL);
    }
    DID(VS_DO_SWAP);
    CHECK(did.record.until >= tick_now() + TICKS(5000));
}

static void another_layout(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    ns.fingerprint++;
    snprintf(ns.layout, sizeof ns.layout, "their layout");
    wake();
    reply(VS_STORE_OK, NULL);
    SLEEPS_MS(10000);
    CHECK_HAS(lease.said, "another layout: their layout");
    start_reading();
    struct vs_record r = record_of("/other.gen", false, NOON_MS);
    r.fingerprint++;
    reply(VS_STORE_OK, &r);
    SLEEPS_MS(10000);
    CHECK_HAS(lease.said, "worker id 7 is of another layout");
}

/* The test's layout does not fix the sign.  The record has a constant there, or none, or an invalid text. */
static void another_constant(void) {
    struct vesta_layout record;
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    record = layout;
    record.field[0].fixed = 1;
    vesta_layout_text(&record, ns.layout);
    wake();
    for (int i = 0; i < 2; i++) { /* each attempt fails for the same reason */
        reply(VS_STORE_OK, NULL);
        SLEEPS_MS(10000);
        CHECK_HAS(lease.said, "the namespace has sign:1=0, not sign:1: open a new generator file with that constant");
        pass_ms(10000);
        wake();
        DID(VS_DO_NS_READ);
    }
    vesta_layout_text(&layout, ns.layout);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    snprintf(ns.layout, sizeof ns.layout, "a text that no proof believes");
    wake();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
}

/* None of these values overflows (the sanitizers check that) or leads to a claim. */
static void absurd_values(void) {
    static const int64_t odd[] = {0, 1, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < VS_COUNT(odd); i++)
        for (size_t k = 0; k < VS_COUNT(odd); k++) {
            start_reading();
            struct vs_record r = record_of("/other.gen", true, NOON_MS + 3600000);
            if ((i + k) % 2) r.until = ((uint64_t)1 << 62) - 1;
            r.ver = r.epoch = UINT64_MAX;
            r.written_ms = odd[i];
            r.lease_ms = odd[k];
            reply(VS_STORE_OK, &r);
            DID(VS_DO_SLEEP);
            CHECK(did.until_boot_us > ev.boot_us && did.until_boot_us <= ev.boot_us + 10000000);
        }
}

static void no_claim_by_an_untrusted_clock(void) {
    start_reading();
    ev.doubt_us = 41000000;
    reply(VS_STORE_OK, NULL);
    rest_of_ms(250); /* not the whole minute, because the clock may be corrected earlier */
    DID(VS_DO_READ);
    ev.doubt_us = 40000000;
    reply(VS_STORE_OK, NULL);
    rest_of_ms(250);
    ev.doubt_us = 0;
    DID(VS_DO_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
}

static void a_used_up_file(void) {
    start_reading();
    reply(VS_STORE_OK, NULL);
    slot(-1);
    DID(VS_DO_END);
    wake();
    DID(VS_DO_END);
}

static const struct check_case cases[] = {
    {"claim: a worker id that was never held, in a namespace that does not exist", a_worker_id_without_a_record},
    {"claim: a free worker id starts at its until, or now", a_free_worker_id},
    {"claim: an expired worker id", an_expired_worker_id},
    {"claim: the generator's own worker id, as soon as its bound has passed", our_own_worker_id},
    {"claim: a worker id that another process holds is claimed exactly when its lease expires",
     a_worker_id_that_another_holds},
    {"claim: a worker id that ends far ahead of the clock is not claimed", a_worker_id_that_ends_far_ahead},
    {"claim: a worker id whose ticks are all granted", a_worker_id_without_ticks},
    {"claim: no lower than the namespace's floor", the_namespaces_floor},
    {"claim: a floor after the end of all time prevents claims", a_floor_beyond_all_time},
    {"claim: a lost race takes a new slot and reads again", a_lost_race_takes_a_fresh_slot_and_reads_again},
    {"claim: after many lost races the engine pauses", many_lost_races_make_a_pause},
    {"unknown claim: it arrived, and is written again before it is adopted", an_unknown_claim_that_arrived},
    {"unknown claim: it did not arrive, and is sent again under its token", an_unknown_claim_that_did_not},
    {"unknown claim: another won", an_unknown_claim_that_another_won},
    {"a store that is unreachable, rejects or does not answer is asked again after a pause",
     a_store_that_is_down_or_refuses},
    {"a rejected claim keeps its slot", a_refused_claim_keeps_its_slot},
    {"a namespace or a record of another layout is not used", another_layout},
    {"a namespace with another constant is not used, and one without that constant is", another_constant},
    {"absurd values overflow nothing", absurd_values},
    {"no claim while the clock is not trusted", no_claim_by_an_untrusted_clock},
    {"a used-up file ends the keeper", a_used_up_file},
};

CHECK_MAIN(cases)
