/* past.c -- leases of past ticks: which worker id a range gets, every answer of the store, and the ids of a range. */
#include "../worker/fake.h"
#include "past/past.h"

#define DAY_MS INT64_C(86400000)
#define YEAR_2021_MS INT64_C(1609459200000)
#define YEAR_2022_MS INT64_C(1640995200000)

static struct fake_host host[3];
static struct vs_past_range range[3];
static struct vesta_error err;

static uint64_t tick_of(int64_t unix_ms) {
    struct vesta_layout layout = parsed(FAKE_LAYOUT);
    struct vs_shape shape;
    vs_shape_of(&layout, &shape);
    return vs_tick_at(&shape, unix_ms * 1000);
}

static int ask(int i, struct vs_past_ask ask) {
    const struct vs_lineage at = fake_connect(&host[i], 0);
    if (!ask.span.from_ms) ask.span.from_ms = YEAR_2021_MS;
    if (!ask.span.until_ms) ask.span.until_ms = YEAR_2022_MS;
    ask.holder = "host a pid 1";
    return vs_past_claim(&at, &ask, &range[i], &err);
}

static int claim(int i, int64_t from_ms, int64_t until_ms) {
    return ask(i, (struct vs_past_ask){.span = {from_ms, until_ms, 0}});
}

/* Leaves only the worker ids 0 to count - 1 to be chosen. */
static void leave(uint64_t count) {
    fake_reset();
    fake_ns.static_first = count;
    fake_ns.static_count = FAKE_WORKERS - count;
}

#define FAILS(call, want, part)                                                                                        \
    do {                                                                                                               \
        CHECK_EQ_I64((call), (want));                                                                                  \
        CHECK_HAS(err.text, part);                                                                                     \
    } while (0)

/* Puts a record of a generator: its ids end at that time. */
static void use(uint64_t worker, int64_t until_ms, bool held) {
    fake_records[worker] = (struct vs_record){.ver = 5,
                                              .epoch = 2,
                                              .owner = {worker + 1, 9},
                                              .until = tick_of(until_ms),
                                              .fingerprint = fake_ns.fingerprint,
                                              .written_ms = fake_store_ms(),
                                              .lease_ms = 15000,
                                              .held = held,
                                              .identity = "/var/lib/vesta/orders.gen",
                                              .holder = "host b pid 2"};
}

/* ------------------------------------------------------------------ claims */

static void record_of_a_range(void) {
    leave(1);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    const struct vs_record *r = &fake_records[0];
    CHECK_EQ_U64(range[0].from, tick_of(YEAR_2021_MS));
    CHECK_EQ_U64(range[0].until, tick_of(YEAR_2022_MS));
    CHECK_EQ_U64(r->until, tick_of(YEAR_2022_MS));
    CHECK(!r->held);
    CHECK_STR(r->identity, "past 2021-01-01T00:00:00Z to 2022-01-01T00:00:00Z");
    CHECK_STR(r->holder, "host a pid 1");
    CHECK_EQ_U64(r->epoch, 1);
}

static void a_live_lease_after_a_range_starts_at_the_present(void) {
    struct vesta_layout layout = parsed(FAKE_LAYOUT);
    struct vs_worker w;
    leave(1);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    const struct vs_lineage at = fake_connect(&host[1], 0);
    const struct vs_worker_ask live = {.layout = &layout, .ttl_ms = 30000, .holder = "host b"};
    CHECK_EQ_I64(vs_worker_init(&w, &at, &live, &err), VESTA_OK);
    CHECK_EQ_I64(vs_worker_claim(&w, &err), VS_WORKER_HELD); /* at once, because a range is not held */
    CHECK_EQ_U64(w.key.worker, 0);
    CHECK_EQ_I64(w.starts_ms, fake_store_ms());
}

static void two_importers_of_the_same_dates(void) {
    leave(2);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_U64(range[0].others, 1);
    CHECK_EQ_I64(claim(1, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK(range[0].worker != range[1].worker);
    CHECK_EQ_U64(range[1].others, 0);
    FAILS(claim(2, YEAR_2022_MS - 1, YEAR_2022_MS), VESTA_EFULL, "no worker id is free for these dates");
    CHECK_EQ_I64(claim(2, YEAR_2022_MS, YEAR_2022_MS + DAY_MS), VESTA_OK);
}

/* The second importer's list is read before the first one's write. */
static int64_t first_takes_it(void *on) {
    static bool is_inside;
    if (on != &host[1].store || is_inside || range[0].until) return 0;
    is_inside = true;
    static int calls;
    if (calls++ == 3) CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK); /* namespace, list, read, write */
    is_inside = false;
    return 0;
}

static void an_importer_in_between(void) {
    leave(2);
    memset(range, 0, sizeof range);
    fake_pass = first_takes_it;
    CHECK_EQ_I64(claim(1, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK(range[0].until > 0);
    CHECK(range[0].worker != range[1].worker);
}

static void worker_ids_are_used_sparingly(void) {
    leave(4);
    use(1, YEAR_2021_MS - DAY_MS, false); /* a generator's */
    CHECK_EQ_I64(claim(0, YEAR_2021_MS - 9 * DAY_MS, YEAR_2021_MS - 5 * DAY_MS), VESTA_OK);
    CHECK(range[0].worker != 1); /* it was used after the start */
    CHECK_EQ_I64(claim(1, YEAR_2021_MS - 9 * DAY_MS, YEAR_2021_MS - 3 * DAY_MS), VESTA_OK);
    CHECK_EQ_I64(claim(2, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_U64(range[2].worker, range[1].worker); /* the import that ended last before the start */
    CHECK_EQ_U64(range[2].others, 3);
}

static void a_generators_worker_id_comes_last(void) {
    leave(2);
    use(0, YEAR_2021_MS, false);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_U64(range[0].worker, 1); /* never used */
    CHECK_EQ_I64(claim(1, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_U64(range[1].worker, 0);
    CHECK_EQ_U64(fake_records[0].epoch, 3);
}

static void worker_ids_that_do_not_fit(void) {
    leave(4);
    use(0, YEAR_2021_MS - DAY_MS, true);
    use(1, YEAR_2021_MS + 1, false);
    use(2, YEAR_2021_MS - DAY_MS, false);
    fake_records[2].fingerprint++;
    use(3, fake_store_ms() + 60000, true);
    FAILS(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_EFULL, "no worker id is free for these dates");
    fake_now_us += INT64_C(200) * 1000000; /* the lease of worker id 0 has expired, but its holder may return */
    FAILS(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_EFULL, "no worker id is free for these dates");
    fake_records[0].held = false;
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_U64(range[0].worker, 0);
}

static void an_assigned_worker_id(void) {
    const struct vs_past_ask assigned = {.has_worker = true, .worker = 9};
    leave(4);
    CHECK_EQ_I64(ask(0, assigned), VESTA_OK); /* also one that is reserved for assignment */
    CHECK_EQ_U64(range[0].worker, 9);
    FAILS(ask(1, assigned), VESTA_EFULL, "worker id 9 was used until 2022-01-01T00:00:00Z");
    use(9, YEAR_2021_MS, true);
    FAILS(ask(1, assigned), VESTA_EFULL, "worker id 9 is held by host b pid 2");
    FAILS(ask(1, (struct vs_past_ask){.has_worker = true, .worker = 1024}), VESTA_EFIELD, "use at most 1023");
}

/* ------------------------------------------------------------------ bad input */

static void wrong_dates(void) {
    char now[VESTA_ISO_MAX];
    leave(4);
    vesta_iso(fake_store_ms(), now);
    FAILS(claim(0, YEAR_2022_MS, YEAR_2021_MS), VESTA_EOPTION, "which is not after its start 2022-01-01T00:00:00Z");
    FAILS(claim(0, YEAR_2021_MS, YEAR_2021_MS), VESTA_EOPTION, "put the earlier time first");
    FAILS(claim(0, YEAR_2021_MS, fake_store_ms() + 1), VESTA_EOPTION, "is not in the past");
    FAILS(claim(0, YEAR_2021_MS, fake_store_ms() + 1), VESTA_EOPTION, now);
    FAILS(claim(0, YEAR_2021_MS - 800 * DAY_MS, YEAR_2021_MS), VESTA_EEPOCH, "start it at 2020-01-01T00:00:00Z");
    FAILS(claim(0, YEAR_2021_MS - 800 * DAY_MS, YEAR_2021_MS - 700 * DAY_MS), VESTA_EEPOCH,
          "before the layout's epoch");
    FAILS(claim(0, INT64_MIN, INT64_MAX), VESTA_EOPTION, "use Unix milliseconds");
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, fake_store_ms()), VESTA_OK);
}

/* The host's clock is a day ahead of the store's: only the earlier clock counts. */
static void a_clock_that_is_ahead(void) {
    const struct vs_lineage at = (leave(4), fake_connect(&host[0], DAY_MS * 1000));
    const struct vs_past_ask what = {.span = {YEAR_2021_MS, fake_store_ms() + 1, 0}};
    FAILS(vs_past_claim(&at, &what, &range[0], &err), VESTA_EOPTION, "is not in the past");
    host[0].off_us = -DAY_MS * 1000;
    const struct vs_past_ask now = {.span = {YEAR_2021_MS, fake_store_ms(), 0}};
    FAILS(vs_past_claim(&at, &now, &range[0], &err), VESTA_EOPTION, "is not in the past");
}

static void too_many_ids(void) {
    leave(4);
    struct vs_past_ask what = {.span = {YEAR_2021_MS, YEAR_2021_MS + 10, 40960}};
    CHECK_EQ_I64(ask(0, what), VESTA_OK); /* 10 ms of 4,096 ids */
    what.span.count++;
    FAILS(ask(1, what), VESTA_EFULL, "the range has 40960 ids, and 40961 are needed");
}

static void after_an_advance(void) {
    leave(4);
    fake_ns.floor_ms = YEAR_2021_MS + 1;
    FAILS(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_EOPTION, "the store once lost data");
    CHECK_EQ_I64(claim(0, YEAR_2021_MS + 1, YEAR_2022_MS), VESTA_OK);
}

static void another_layout(void) {
    struct vesta_layout other = parsed("sign:1 time:41 worker:11 seq:11 unit=1ms epoch=2020-01-01T00:00:00Z");
    leave(4);
    FAILS(ask(0, (struct vs_past_ask){.layout = &other}), VESTA_EMISMATCH, "has another layout");
    fake_ns = (struct vs_ns_record){.ver = 0};
    FAILS(ask(0, (struct vs_past_ask){.fallback = &other}), VESTA_ENOGEN, "is not in the store");
    fake_is_down = true;
    FAILS(ask(0, (struct vs_past_ask){0}), VESTA_EIO, "did not answer");
}

static void fields_are_checked_before_the_claim(void) {
    leave(4);
    CHECK_EQ_I64(ask(0, (struct vs_past_ask){.fields = "region=1"}), VESTA_EFIELD);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_U64(fake_records[i].ver, 0);
}

/* ------------------------------------------------------------------ writes without an answer */

static int after_fate(enum fake_fate fate) {
    leave(4);
    memset(range, 0, sizeof range);
    fake_write_fate = fate;
    return claim(0, YEAR_2021_MS, YEAR_2022_MS);
}

static void writes_without_an_answer(void) {
    FAILS(after_fate(FAKE_NO_REPLY), VESTA_EIO, "did not confirm");
    FAILS(after_fate(FAKE_LATE), VESTA_EIO, "did not confirm");
    FAILS(after_fate(FAKE_DOWN), VESTA_EIO, "did not confirm");
    fake_write_fate = FAKE_DONE;
    FAILS(after_fate(FAKE_LOST), VESTA_EIO, "did not confirm");
}

static int64_t heal(void *on) {
    (void)on;
    static int calls;
    if (++calls == 5) fake_write_fate = FAKE_DONE; /* namespace, list, read, write and its reply */
    return 0;
}

/* The first write arrives after the range was leased again. */
static void a_write_that_arrives_late(void) {
    leave(1);
    fake_write_fate = FAKE_LATE;
    fake_pass = heal;
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    CHECK_EQ_I64(fake_late_count, 1);
    fake_arrive();
    CHECK_EQ_U64(fake_records[0].owner[0], range[0].owner[0]);
    CHECK_EQ_U64(fake_records[0].ver, 1);
}

/* ------------------------------------------------------------------ returning a range */

static void the_end_of_a_range_is_returned(void) {
    leave(1);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    uint64_t next = range[0].from + 7;
    CHECK_EQ_I64(vs_past_give_back(&host[0].store, &range[0], next, &err), VESTA_OK);
    CHECK_EQ_U64(fake_records[0].until, next);
    CHECK_EQ_I64(vs_past_give_back(&host[0].store, &range[0], next, &err), VESTA_OK); /* again */
    FAILS(vs_past_give_back(&host[0].store, &range[0], next + 1, &err), VESTA_ENOTNOW, "already returned");
    FAILS(claim(1, YEAR_2021_MS, YEAR_2022_MS), VESTA_EFULL, "no worker id is free");
    CHECK_EQ_I64(claim(1, YEAR_2021_MS + 1, YEAR_2022_MS), VESTA_OK);
    FAILS(vs_past_give_back(&host[0].store, &range[0], next, &err), VESTA_ENOTNOW, "was leased again");
    CHECK_EQ_U64(fake_records[0].until, tick_of(YEAR_2022_MS));
}

static void a_return_without_an_answer(void) {
    leave(1);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    fake_write_fate = FAKE_LOST;
    FAILS(vs_past_give_back(&host[0].store, &range[0], range[0].from, &err), VESTA_EIO, "did not confirm");
    fake_write_fate = FAKE_NO_REPLY;
    CHECK_EQ_I64(vs_past_give_back(&host[0].store, &range[0], range[0].from, &err), VESTA_OK);
}

static void a_store_that_lost_the_lease(void) {
    leave(1);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    memset(&fake_records[0], 0, sizeof fake_records[0]);
    FAILS(vs_past_give_back(&host[0].store, &range[0], range[0].from, &err), VESTA_EMISMATCH, "has lost this lease");
    use(0, YEAR_2021_MS, false);
    FAILS(vs_past_give_back(&host[0].store, &range[0], range[0].from, &err), VESTA_EMISMATCH, "vesta store advance");
}

static void texts_of_ranges(void) {
    char text[VESTA_PAST_TEXT_MAX];
    struct vs_past_range back = {.worker = 0};
    leave(4);
    CHECK_EQ_I64(claim(0, YEAR_2021_MS, YEAR_2022_MS), VESTA_OK);
    vs_past_text(&range[0], text);
    CHECK(vs_past_read(text, &back));
    CHECK_EQ_U64(back.worker, range[0].worker);
    CHECK_EQ_U64(back.from, range[0].from);
    CHECK_EQ_U64(back.until, range[0].until);
    CHECK_EQ_U64(back.owner[0], range[0].owner[0]);
    CHECK_EQ_U64(back.owner[1], range[0].owner[1]);
    static const char *const bad[] = {"",
                                      "1",
                                      "1.2.3",
                                      "1.2.3.",
                                      "1.2.3.00",
                                      "1.3.2.00000000000000010000000000000002",
                                      "1.2.2.00000000000000010000000000000002",
                                      "x.2.3.00000000000000010000000000000002",
                                      "1.2.3.0000000000000001000000000000000g",
                                      "1.2.3.000000000000000100000000000000020"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (vs_past_read(bad[i], &back)) CHECK_FAIL("accepted: %s", bad[i]);
}

static const struct check_case cases[] = {
    {"the record of a past range is free, ends where the range ends, and names its dates", record_of_a_range},
    {"a live lease after a past range starts at the present, without a wait",
     a_live_lease_after_a_range_starts_at_the_present},
    {"two importers of the same dates get two worker ids, and a third one none", two_importers_of_the_same_dates},
    {"an importer that was faster gets the worker id, and the other one claims again", an_importer_in_between},
    {"a range takes the worker id of the import that ended last before it", worker_ids_are_used_sparingly},
    {"a generator's released worker id is used only if no other is left", a_generators_worker_id_comes_last},
    {"worker ids that are held, were used later, or are of another layout get no range", worker_ids_that_do_not_fit},
    {"an assigned worker id is leased or rejected, and no other one is used", an_assigned_worker_id},
    {"ranges that end before they start, after the present or before the epoch are rejected", wrong_dates},
    {"the earlier one of two clocks decides what is past", a_clock_that_is_ahead},
    {"a range with too few ids is rejected", too_many_ids},
    {"dates from before a data loss are rejected", after_an_advance},
    {"another layout, a missing namespace and an unreachable store are errors", another_layout},
    {"wrong fields use up no worker id", fields_are_checked_before_the_claim},
    {"a range that the store does not confirm is not issued", writes_without_an_answer},
    {"a write that arrives late changes nothing after a new claim", a_write_that_arrives_late},
    {"the end of a range is returned, unless the worker id was leased again", the_end_of_a_range_is_returned},
    {"a return without an answer is repeated", a_return_without_an_answer},
    {"a return finds that the store lost the lease", a_store_that_lost_the_lease},
    {"the text of a range is read back, and no other text is", texts_of_ranges},
};
CHECK_MAIN(cases)
