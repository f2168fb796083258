/* worker.c -- a lease for a program with its own generator: claims, renewals, releases, and every answer of a store. */
#include "fake.h"

#define SECOND_US INT64_C(1000000)
#define TTL_MS 30000

static struct vesta_layout layout;
static struct fake_host host[3];
static struct vs_worker w[3];
static struct vesta_error err;

static int prepare(int i, int64_t off_us, struct vs_worker_ask ask) {
    const struct vs_lineage at = fake_connect(&host[i], off_us);
    CHECK_EQ_I64(vs_worker_layout(&at, NULL, &layout, &err), VESTA_OK);
    ask.layout = &layout;
    ask.holder = i == 0 ? "host a pid 1" : "host b pid 2";
    ask.ttl_ms = ask.ttl_ms ? ask.ttl_ms : TTL_MS;
    return vs_worker_init(&w[i], &at, &ask, &err);
}

/* Claims worker id 3, for the holder i. */
static enum vs_worker_end claim(int i, int64_t off_us) {
    CHECK_EQ_I64(prepare(i, off_us, (struct vs_worker_ask){.has_worker = true, .worker = 3}), VESTA_OK);
    return vs_worker_claim(&w[i], &err);
}

static void pass_s(double seconds) {
    fake_now_us += (int64_t)(seconds * 1e6);
}

#define ENDS(got, want)                                                                                                \
    do {                                                                                                               \
        if ((got) != (want)) CHECK_FAIL("the result is not %s: %s", #want, err.text);                                  \
    } while (0)

static void limits_of_a_claim(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    CHECK_EQ_U64(w[0].key.worker, 3);
    CHECK_EQ_U64(w[0].fence, 1);
    CHECK_EQ_I64(w[0].starts_ms, fake_store_ms());
    CHECK(w[0].earlier_ms < fake_store_ms() - 365 * INT64_C(86400000)); /* it was never used */
    CHECK_EQ_I64(w[0].expires_ms, fake_store_ms() + TTL_MS);
    CHECK_EQ_I64(w[0].deadline_boot_us, fake_boot_us(NULL) + 24 * SECOND_US);
    CHECK(fake_records[3].held);
    CHECK_STR(fake_records[3].holder, "host a pid 1");
    pass_s(10);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[0].starts_ms, fake_store_ms() - 10000);
    CHECK_EQ_I64(w[0].expires_ms, fake_store_ms() + TTL_MS);
    CHECK_EQ_I64(w[0].deadline_boot_us, fake_boot_us(NULL) + 24 * SECOND_US);
    CHECK_EQ_U64(w[0].fence, 1);
}

static void next_holder_after_a_release(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    pass_s(5);
    int64_t ended_ms = fake_store_ms();
    ENDS(vs_worker_release(&w[0], ended_ms, &err), VS_WORKER_RELEASED);
    ENDS(claim(1, 0), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms, ended_ms + 1); /* the millisecond of the end may have ids */
    CHECK_EQ_I64(w[1].earlier_ms, ended_ms + 1);
    CHECK_EQ_U64(w[1].fence, 2);
}

static void next_holder_after_a_release_without_ids(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    ENDS(vs_worker_release(&w[0], VS_WORKER_UNUSED, &err), VS_WORKER_RELEASED);
    ENDS(claim(1, -60 * SECOND_US), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms, fake_store_ms());
    CHECK(w[1].earlier_ms <= w[1].starts_ms);
}

/* The clock is 9 s behind the store's, and the mark 5 s.  The ids of such a program are above each watermark. */
static void starts_above_watermarks(void) {
    fake_reset();
    fake_ns.mark_ms = fake_store_ms() - 5000;
    ENDS(claim(0, -9 * SECOND_US), VS_WORKER_HELD);
    CHECK_EQ_I64(w[0].earlier_ms, fake_store_ms() - 5000);
    CHECK_EQ_U64(fake_records[3].low, vs_tick_at(&w[0].lease.shape, w[0].earlier_ms * 1000));
    pass_s(10);
    fake_ns.mark_ms = fake_store_ms() - 10000;
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
    CHECK_EQ_U64(fake_records[3].low, vs_tick_at(&w[0].lease.shape, w[0].earlier_ms * 1000));
}

/* `vesta store lower` then permits the claim. */
static void waits_for_a_mark_far_ahead(void) {
    fake_reset();
    fake_ns.mark_ms = fake_store_ms() + 3600000;
    ENDS(claim(0, 0), VS_WORKER_REJECTED);
    CHECK_HAS(err.text, "3600.0 s behind that: correct the clock, or if it is right, run vesta store lower");
    fake_ns.mark_ms = fake_store_ms() - 5000;
    fake_ns.ver++;
    pass_s(2);
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[0].starts_ms, fake_store_ms());
}

/* The end is not known, so the next holder starts at the end of the lease.  A shorter ttl is within the tolerated
 * difference of clocks, so the claim need not wait. */
static void next_holder_after_an_unknown_end(void) {
    fake_reset();
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.has_worker = true, .worker = 3, .ttl_ms = 8000}), VESTA_OK);
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_HELD);
    int64_t expires_ms = w[0].expires_ms;
    ENDS(vs_worker_release(&w[0], VS_WORKER_ENDS_LATE, &err), VS_WORKER_RELEASED);
    ENDS(claim(1, 0), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms, expires_ms);
}

/* An end before the start, for example by a clock that was set back, must not lower the bound of earlier holders. */
static void an_end_before_the_start(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    int64_t starts_ms = w[0].starts_ms;
    ENDS(vs_worker_release(&w[0], 0, &err), VS_WORKER_RELEASED);
    ENDS(claim(1, 0), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms, starts_ms);
}

static void an_end_after_the_limit(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    int64_t expires_ms = w[0].expires_ms;
    ENDS(vs_worker_release(&w[0], expires_ms + 99999, &err), VS_WORKER_RELEASED);
    CHECK_EQ_I64(vs_tick_unix_us(&w[0].lease.shape, fake_records[3].until) / 1000, expires_ms);
}

/* The first holder's clock is 5 s ahead, and the second one's is 55 s behind. */
static void clocks_a_minute_apart(void) {
    fake_reset();
    ENDS(claim(0, 5 * SECOND_US), VS_WORKER_HELD);
    int64_t expires_ms = w[0].expires_ms;
    CHECK_EQ_I64(expires_ms, fake_store_ms() + 5000 + TTL_MS);
    pass_s(TTL_MS / 1000.0);
    ENDS(claim(1, -55 * SECOND_US), VS_WORKER_BUSY); /* until the store's clock has passed the ttl */
    pass_s(0.001);
    ENDS(vs_worker_claim(&w[1], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms, expires_ms);
}

static void a_clock_too_far_ahead(void) {
    fake_reset();
    ENDS(claim(0, 60 * SECOND_US), VS_WORKER_REJECTED);
    CHECK_HAS(err.text, "60.0 s ahead of the store's");
    CHECK_EQ_U64(fake_records[3].ver, 0);
}

/* The holder's clock leaps ahead during the lease: the bound does not follow it. */
static void a_clock_that_leaps_ahead(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    host[0].off_us = 3600 * SECOND_US;
    pass_s(10);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[0].expires_ms, fake_store_ms() + 10000 + TTL_MS); /* long past, by the holder's clock */
}

static void a_held_worker_id(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    ENDS(claim(1, 0), VS_WORKER_BUSY);
    CHECK_HAS(err.text, "worker id 3 is held by host a pid 1 for 30.0 s more");
}

/* The first holder's clock is a minute behind, so its ids may last for another minute after the claim's bound. */
static void the_same_name_waits_for_expiry(void) {
    struct vs_worker_ask ask = {.identity = "billing"};
    fake_reset();
    CHECK_EQ_I64(prepare(0, -60 * SECOND_US, ask), VESTA_OK);
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_HELD);
    uint64_t worker = w[0].key.worker;
    ask = (struct vs_worker_ask){.identity = "billing", .has_worker = true, .worker = worker};
    CHECK_EQ_I64(prepare(1, 0, ask), VESTA_OK);
    ENDS(vs_worker_claim(&w[1], &err), VS_WORKER_BUSY);
    CHECK_EQ_I64(prepare(1, 0, (struct vs_worker_ask){.identity = "billing"}), VESTA_OK);
    ENDS(vs_worker_claim(&w[1], &err), VS_WORKER_HELD);
    CHECK(w[1].key.worker != worker);
    ENDS(vs_worker_release(&w[0], fake_store_ms() - 60000, &err), VS_WORKER_RELEASED);
    CHECK_EQ_I64(prepare(2, 0, (struct vs_worker_ask){.identity = "billing"}), VESTA_OK);
    ENDS(vs_worker_claim(&w[2], &err), VS_WORKER_HELD);
    CHECK_EQ_U64(w[2].key.worker, worker); /* the name's last worker id, which is free now */
}

static void no_worker_id_is_free(void) {
    fake_reset();
    layout = parsed("sign:1 time:50 seq:12 worker:1 unit=1ms epoch=2020-01-01T00:00:00Z");
    vesta_layout_text(&layout, fake_ns.layout);
    fake_ns.fingerprint = layout.fingerprint;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_I64(prepare(i, 0, (struct vs_worker_ask){.ttl_ms = 0}), VESTA_OK);
        ENDS(vs_worker_claim(&w[i], &err), VS_WORKER_HELD);
    }
    CHECK_EQ_I64(prepare(2, 0, (struct vs_worker_ask){.ttl_ms = 0}), VESTA_OK);
    ENDS(vs_worker_claim(&w[2], &err), VS_WORKER_BUSY);
    CHECK_HAS(err.text, "every worker id of the namespace is held");
}

static void assigned_by_hand(void) {
    fake_reset();
    fake_ns.static_first = 0, fake_ns.static_count = 1024;
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.ttl_ms = 0}), VESTA_OK);
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_BUSY);
    ENDS(claim(1, 0), VS_WORKER_HELD); /* by hand */
}

static void requests_that_cannot_be_met(void) {
    fake_reset();
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.ttl_ms = 999}), VESTA_EOPTION);
    CHECK_HAS(err.text, "a ttl of 0.999 s is out of range: use 1 to 1200 s");
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.ttl_ms = 1200001}), VESTA_EOPTION);
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.has_worker = true, .worker = 1024}), VESTA_EFIELD);
    CHECK_HAS(err.text, "use at most 1023");
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.ttl_ms = 0}), VESTA_OK);
    fake_ns = (struct vs_ns_record){.ver = 0};
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_REJECTED);
    CHECK_HAS(err.text, "the namespace is not in the store");
    fake_ns = (struct vs_ns_record){.ver = 2, .fingerprint = layout.fingerprint + 1, .incarnation = 9};
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_REJECTED);
    CHECK_HAS(err.text, "the namespace has another layout");
}

/* ------------------------------------------------------------------ a store that fails */

static void a_claim_without_a_reply(void) {
    fake_reset();
    for (int fate = FAKE_NO_REPLY; fate <= FAKE_LOST; fate++) {
        fake_reset();
        fake_write_fate = (enum fake_fate)fate;
        ENDS(claim(0, 0), VS_WORKER_AWAY);
        CHECK(w[0].retry_boot_us > fake_boot_us(NULL));
        fake_write_fate = FAKE_DONE;
        pass_s(1.5);
        fake_arrive();
        ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_HELD);
        CHECK_EQ_U64(w[0].fence, 1); /* the claim that was sent first */
        CHECK(w[0].deadline_boot_us > fake_boot_us(NULL) + 20 * SECOND_US);
        CHECK_EQ_U64(fake_records[3].owner[0], w[0].key.owner[0]);
    }
}

static void a_renewal_without_a_reply(void) {
    for (int fate = FAKE_NO_REPLY; fate <= FAKE_DOWN; fate++) {
        fake_reset();
        ENDS(claim(0, 0), VS_WORKER_HELD);
        int64_t deadline_us = w[0].deadline_boot_us, expires_ms = w[0].expires_ms;
        pass_s(10);
        fake_write_fate = (enum fake_fate)fate;
        ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_AWAY);
        CHECK_EQ_I64(w[0].deadline_boot_us, deadline_us); /* only an acknowledged renewal counts */
        CHECK_EQ_I64(w[0].expires_ms, expires_ms);
        fake_write_fate = FAKE_DONE;
        pass_s(2);
        fake_arrive();
        ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
        CHECK_EQ_I64(w[0].expires_ms, fake_store_ms() + TTL_MS);
    }
}

static void a_renewal_of_a_lost_lease(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    pass_s(31);
    ENDS(claim(1, 0), VS_WORKER_HELD);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_LOST);
    CHECK_HAS(err.text, "taken over by host b pid 2");
}

static void a_store_that_went_back(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    struct vs_record old = fake_records[3];
    pass_s(10);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
    fake_records[3] = old;
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_LOST);
    CHECK_HAS(err.text, "the store went back");
}

static void a_store_that_was_repaired(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    int64_t expires_ms = w[0].expires_ms;
    vs_ns_put_right(&fake_ns, vs_lease_preset("balanced"), fake_store_ms(), 78);
    pass_s(10);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_LOST);
    memset(fake_records, 0, sizeof fake_records);
    ENDS(claim(1, 0), VS_WORKER_HELD);
    CHECK(w[1].starts_ms >= expires_ms);
}

/* The record of the namespace was changed, but the store is the same. */
static void a_namespace_that_was_edited(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    fake_ns.ver++;
    pass_s(10);
    ENDS(vs_worker_renew(&w[0], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[0].expires_ms, fake_store_ms() + TTL_MS);
}

static void a_release_without_a_reply(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    fake_write_fate = FAKE_NO_REPLY;
    ENDS(vs_worker_release(&w[0], fake_store_ms(), &err), VS_WORKER_RELEASED); /* the record was read afterwards */
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    fake_write_fate = FAKE_DOWN;
    ENDS(vs_worker_release(&w[0], fake_store_ms(), &err), VS_WORKER_AWAY);
    CHECK(fake_records[3].held);
}

static void a_release_without_a_claim(void) {
    fake_reset();
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.ttl_ms = 0}), VESTA_OK);
    ENDS(vs_worker_release(&w[0], VS_WORKER_UNUSED, &err), VS_WORKER_RELEASED);
    for (int i = 0; i < FAKE_WORKERS; i++)
        CHECK_EQ_U64(fake_records[i].ver, 0);
}

/* ------------------------------------------------------------------ by its key */

static void resume(int i, const struct vs_worker_key *key) {
    const struct vs_lineage at = fake_connect(&host[i], 0);
    struct vs_worker_ask ask = {.layout = &layout, .identity = "lease "};
    vs_worker_resume(&w[i], &at, key, &ask);
}

static void a_lease_by_its_key(void) {
    fake_reset();
    CHECK_EQ_I64(prepare(0, 0, (struct vs_worker_ask){.has_worker = true, .worker = 3, .ttl_ms = 12000}), VESTA_OK);
    ENDS(vs_worker_claim(&w[0], &err), VS_WORKER_HELD);
    int64_t starts_ms = w[0].starts_ms;
    pass_s(5);
    resume(1, &w[0].key);
    ENDS(vs_worker_renew(&w[1], &err), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].expires_ms, fake_store_ms() + 12000); /* the ttl is the record's */
    CHECK_EQ_U64(w[1].fence, 1);
    pass_s(5);
    resume(2, &w[0].key);
    ENDS(vs_worker_release(&w[2], 0, &err), VS_WORKER_RELEASED);
    int64_t until_ms = vs_tick_unix_us(&w[2].lease.shape, fake_records[3].until) / 1000;
    CHECK(until_ms >= starts_ms); /* below are ids of earlier holders */
    CHECK_EQ_I64(until_ms, starts_ms + 5000);
    resume(1, &w[0].key);
    ENDS(vs_worker_renew(&w[1], &err), VS_WORKER_LOST);
    CHECK_HAS(err.text, "the store has no such lease");
    resume(1, &w[0].key);
    ENDS(vs_worker_release(&w[1], 0, &err), VS_WORKER_LOST);
}

static void a_key_of_no_lease(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    for (int i = 0; i < 4; i++) {
        struct vs_worker_key key = w[0].key;
        key.worker += i == 0;
        key.owner[0] ^= i == 1;
        key.owner[1] ^= i == 2;
        key.incarnation ^= i == 3;
        struct vs_record before = fake_records[3];
        resume(1, &key);
        ENDS(vs_worker_renew(&w[1], &err), VS_WORKER_LOST);
        resume(1, &key);
        ENDS(vs_worker_release(&w[1], VS_WORKER_ENDS_LATE, &err), VS_WORKER_LOST);
        CHECK(memcmp(&before, &fake_records[3], sizeof before) == 0);
    }
}

static void a_key_while_the_store_is_away(void) {
    fake_reset();
    ENDS(claim(0, 0), VS_WORKER_HELD);
    resume(1, &w[0].key);
    fake_is_down = true;
    ENDS(vs_worker_renew(&w[1], &err), VS_WORKER_AWAY);
    ENDS(vs_worker_release(&w[1], 0, &err), VS_WORKER_AWAY);
    fake_is_down = false;
    pass_s(3);
    ENDS(vs_worker_renew(&w[1], &err), VS_WORKER_HELD);
}

/* ------------------------------------------------------------------ units of other lengths */

/* Units of 1 s.  A vesta generator released the worker id in the middle of a unit, so a foreign one starts after it.
 */
static void a_unit_that_has_begun(void) {
    fake_reset();
    layout = parsed("sign:1 time:31 worker:10 seq:22 unit=1s epoch=2020-01-01T00:00:00Z");
    vesta_layout_text(&layout, fake_ns.layout);
    fake_ns.fingerprint = layout.fingerprint;
    ENDS(claim(0, 0), VS_WORKER_HELD);
    pass_s(0.3);
    ENDS(vs_worker_release(&w[0], fake_store_ms(), &err), VS_WORKER_RELEASED);
    fake_records[3].until -= (1u << 22) - 5; /* the cursor of a vesta generator */
    ENDS(claim(1, 0), VS_WORKER_HELD);
    CHECK_EQ_I64(w[1].starts_ms % 1000, 0);
    CHECK(w[1].starts_ms > fake_store_ms());
    struct vs_worker_key key = w[1].key;
    pass_s(0.1);
    resume(2, &key);
    ENDS(vs_worker_release(&w[2], 0, &err), VS_WORKER_RELEASED);
    CHECK(vs_tick_unix_us(&w[2].lease.shape, fake_records[3].until) / 1000 >= w[1].starts_ms);
}

static const struct check_case cases[] = {
    {"a claim sets the first instant, the last instant and the deadline, and a renewal moves the last two",
     limits_of_a_claim},
    {"after a release, the next holder starts one unit after the end", next_holder_after_a_release},
    {"a release without ids leaves the start where it was", next_holder_after_a_release_without_ids},
    {"after a release at an unknown end, the next holder starts at the end of the lease",
     next_holder_after_an_unknown_end},
    {"a program starts above the mark of watermarks", starts_above_watermarks},
    {"a mark far ahead of the clock permits no claim until it is lowered", waits_for_a_mark_far_ahead},
    {"an end before the start does not lower the bound of earlier holders", an_end_before_the_start},
    {"an end after the limit does not raise the bound", an_end_after_the_limit},
    {"two holders' clocks are a minute apart, and their ids differ", clocks_a_minute_apart},
    {"a clock too far ahead of the store's gets no lease", a_clock_too_far_ahead},
    {"a clock that leaps ahead does not raise the bound beyond the store's clock", a_clock_that_leaps_ahead},
    {"a held worker id is busy, with its holder and the rest of its time", a_held_worker_id},
    {"the same name does not claim a held worker id before it expires", the_same_name_waits_for_expiry},
    {"if every worker id is held, a claim is busy", no_worker_id_is_free},
    {"a worker id assigned by hand is claimed only by its number", assigned_by_hand},
    {"a wrong ttl, worker id, namespace or layout is rejected", requests_that_cannot_be_met},
    {"a claim without a reply goes on with the same claim", a_claim_without_a_reply},
    {"a renewal without a reply does not move the deadline", a_renewal_without_a_reply},
    {"a renewal reports that another holder has the worker id", a_renewal_of_a_lost_lease},
    {"a renewal reports that the store went back", a_store_that_went_back},
    {"after a repair the lease is lost, and the next one starts above it", a_store_that_was_repaired},
    {"a change of the namespace's record does not end the lease", a_namespace_that_was_edited},
    {"a release without a reply is looked up, and may fail", a_release_without_a_reply},
    {"a release before a claim writes nothing", a_release_without_a_claim},
    {"a lease is found again by its key, with its ttl", a_lease_by_its_key},
    {"a wrong key finds no lease, and changes nothing", a_key_of_no_lease},
    {"a key is kept while the store is unreachable", a_key_while_the_store_is_away},
    {"a time unit that an earlier holder has begun is left out", a_unit_that_has_begun},
};

CHECK_MAIN(cases)
