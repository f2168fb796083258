/* reading.c -- readings of watermarks (csrc/store/watermark.h) while a clock is wrong, on a file store with a manual
 * clock. */
#include "a_store.h"
#include "store/watermark.h"
#include "world.h"

#include <ftw.h>

#define LAYOUT "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON_MS INT64_C(1800000000000)
#define MONTH_MS (30 * DAY / 1000)

static struct fake_time now;
static struct vesta_clock hand = {&now, fake_unix_us, fake_boot_us, fake_sleep_us};
static struct vesta_layout layout;
static struct vs_shape shape;
static char folder[64];
static struct vs_store *store;
static struct vs_watermark mark;
static char text[VS_WATERMARK_TEXT_MAX];

static uint64_t tick_at_ms(int64_t ms) {
    return vs_tick_at(&shape, ms * 1000);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void close_it(void) {
    store->backend->close(store);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Opens an empty store with a namespace, at noon. */
static void open_it(int64_t mark_ms) {
    char uri[96];
    struct vesta_error err;
    struct vs_ns_record ns = {.ver = 1, .incarnation = 7, .mark_ms = mark_ms};
    struct vs_store_opts opts = {.namespace_ = "ns", .group = -1, .clock = &hand};
    now = (struct fake_time){NOON_MS * 1000, 777 * SECOND};
    layout = parsed(LAYOUT);
    vs_shape_of(&layout, &shape);
    ns.fingerprint = layout.fingerprint;
    vesta_layout_text(&layout, ns.layout);
    snprintf(folder, sizeof folder, "/dev/shm/vesta-reading-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(uri, sizeof uri, "file:%s/store", folder);
    CHECK(vs_store_open(uri, &opts, &store, &err) == VESTA_OK);
    store->leases->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    store->leases->ns_read(store, &reply);
}

/* Writes a record of a process that is at `low_ms`, and that stops in a minute unless it renews. */
static void write_record(uint64_t worker, bool is_held, int64_t low_ms, int64_t until_ms) {
    struct vs_record r = {.ver = 1, .epoch = 1, .owner = {7, worker}, .fingerprint = layout.fingerprint, .has_low = true};
    r.held = is_held;
    r.low = tick_at_ms(low_ms);
    r.until = tick_at_ms(until_ms);
    r.lease_ms = 15000;
    r.stop_ms = now.boot_us / 1000 + 60000;
    store->leases->swap(store, worker, 0, &r, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
}

/* Reads a watermark, and returns the mark in the store. */
static int64_t reads(bool starts) {
    struct vesta_error err = {.text = ""};
    if (vs_watermark_read(store, "ns", starts, &mark, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    vs_watermark_text(&mark, text);
    store->leases->ns_read(store, &reply);
    CHECK(mark.time_us / 1000 <= reply.ns.mark_ms);
    return reply.ns.mark_ms;
}

static void a_wrong_clock_raises_no_mark(void) {
    open_it(NOON_MS - 60000);
    write_record(3, true, NOON_MS - 5000, NOON_MS + 180000);
    now.unix_us += MONTH_MS * 1000;
    CHECK_EQ_I64(reads(false), NOON_MS - 5000);
    CHECK(mark.by == VS_MARK_BY_HOLDER || mark.by == VS_MARK_BY_CLOCK);
    CHECK_EQ_I64(mark.time_us / 1000, NOON_MS - 5000);
    read_of(store, 3);
    CHECK(reply.record.held);
    now.unix_us -= 2 * MONTH_MS * 1000; /* nor does it lower one */
    CHECK_EQ_I64(reads(false), NOON_MS - 5000);
    CHECK_EQ_I64(mark.time_us / 1000, NOON_MS - 5000);
    close_it();
}

/* If no worker id is held, no process could confirm the clock. */
static void a_wrong_clock_passes_no_lease(void) {
    open_it(NOON_MS - 60000);
    write_record(3, false, NOON_MS - 7000, NOON_MS - 7000);
    write_record(4, true, NOON_MS - 30000, NOON_MS + 5000); /* a killed process */
    write_record(5, false, 0, vs_tick_unix_us(&shape, vs_tick_end(&shape)) / 1000); /* all ticks were reserved */
    now.unix_us += MONTH_MS * 1000;
    CHECK_EQ_I64(reads(false), NOON_MS - 30000);
    CHECK_EQ_I64(mark.time_us / 1000, NOON_MS - 30000);
    CHECK(mark.by == VS_MARK_BY_HOLDER && mark.holder.worker == 4);
    now.boot_us += 61 * SECOND;
    CHECK_EQ_I64(reads(false), NOON_MS + 5000); /* the end of the last lease, which has passed */
    CHECK(mark.by == VS_MARK_BY_NONE);
    CHECK_HAS(text, "No worker id is held");
    read_of(store, 4);
    CHECK(!reply.record.held);
    CHECK_EQ_I64(reads(false), NOON_MS + 5000);
    close_it();
}

/* The last ids are covered as soon as they are older than the lag. */
static void without_holders_it_follows_the_last_id(void) {
    open_it(NOON_MS - 60000);
    write_record(3, false, NOON_MS - 7000, NOON_MS - 7000);
    CHECK_EQ_I64(reads(false), NOON_MS - VS_MARK_LAG_MS);
    now.unix_us += SECOND;
    CHECK_EQ_I64(reads(false), NOON_MS - VS_MARK_LAG_MS + 1000);
    now.unix_us += HOUR;
    CHECK_EQ_I64(reads(false), NOON_MS - 7000);
    CHECK_EQ_U64(mark.id, ((uint64_t)(NOON_MS - 7000 - layout.epoch_ms) << 22) - 1);
    close_it();
}

/* A process whose clock was wrong reported a position that is far ahead. */
static void the_lowest_position_limits_the_mark(void) {
    open_it(NOON_MS - 60000);
    write_record(3, true, NOON_MS - 20000, NOON_MS + 180000);
    write_record(4, true, NOON_MS + MONTH_MS, NOON_MS + MONTH_MS + 180000);
    write_record(5, false, NOON_MS + 13 * MONTH_MS, NOON_MS + 13 * MONTH_MS);
    now.unix_us += MONTH_MS * 1000;
    CHECK_EQ_I64(reads(false), NOON_MS - 20000);
    close_it();
}

static void an_end_far_ahead_raises_no_mark(void) {
    open_it(NOON_MS - 60000);
    write_record(3, false, NOON_MS - 20000, NOON_MS - 20000);
    write_record(5, false, NOON_MS + 13 * MONTH_MS, NOON_MS + 13 * MONTH_MS);
    now.unix_us += MONTH_MS * 1000;
    CHECK_EQ_I64(reads(false), NOON_MS - 20000);
    close_it();
}

static void a_start_needs_no_clock(void) {
    open_it(0);
    now.unix_us += MONTH_MS * 1000;
    CHECK_EQ_I64(reads(true), layout.epoch_ms + 1);
    CHECK_EQ_U64(mark.id, (UINT64_C(1) << 22) - 1);
    close_it();
}

/* A store whose clock is ahead, as a reader with a right clock sees it. */
static void ns_read_ahead(struct vs_store *self, struct vs_reply *out) {
    vs_store_file.leases->ns_read(self, out);
    out->store_ms += MONTH_MS;
}

static void clocks_that_differ_end_no_lease(void) {
    struct vs_store_leases leases = *vs_store_file.leases;
    open_it(NOON_MS - 60000);
    const struct vs_store_leases *were = store->leases;
    write_record(3, true, NOON_MS - 5000, NOON_MS + 180000);
    leases.ns_read = ns_read_ahead;
    store->leases = &leases;
    now.boot_us += 61 * SECOND;
    CHECK_EQ_I64(reads(false), NOON_MS - 60000);
    CHECK_EQ_I64(mark.time_us / 1000, NOON_MS - 60000);
    CHECK_EQ_I64(mark.off_ms, -MONTH_MS);
    CHECK_HAS(text, "clock and the store's differ by -2592000.0 s");
    read_of(store, 3);
    CHECK(reply.record.held);
    store->leases = were;
    close_it();
}

static const struct check_case cases[] = {
    {"a clock that is wrong raises no mark, and lowers none", a_wrong_clock_raises_no_mark},
    {"a clock that is wrong raises the mark beyond no lease", a_wrong_clock_passes_no_lease},
    {"without holders the watermark follows the last id", without_holders_it_follows_the_last_id},
    {"one holder with a wrong clock does not raise the mark for the others", the_lowest_position_limits_the_mark},
    {"a lease that ended far ahead of the clock does not raise the mark", an_end_far_ahead_raises_no_mark},
    {"watermarks start at the lowest id, whatever the clock shows", a_start_needs_no_clock},
    {"a reader whose clock differs from the store's ends no lease", clocks_that_differ_end_no_lease},
};
CHECK_MAIN(cases)
