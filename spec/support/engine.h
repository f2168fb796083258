/* engine.h -- the lease engine, controlled by a spec: one event in, one action out, and a manual clock. */
#ifndef SPEC_ENGINE_H
#define SPEC_ENGINE_H

#include "lease/lease.h"
#include "tools.h"

#define LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON_MS INT64_C(1800000000000)
#define BOOT_MS INT64_C(5000000)
#define TICKS(ms) ((uint64_t)(ms) << 12) /* of LAYOUT */

static struct vesta_layout layout;
static struct vs_lease lease;
static struct vs_event ev;
static struct vs_action did; /* the last action */
static struct vs_ns_record ns;

__attribute__((unused)) static void pass_ms(int64_t ms) {
    ev.unix_us += ms * 1000;
    ev.boot_us += ms * 1000;
}

__attribute__((unused)) static uint64_t tick_now(void) {
    return vs_tick_at(&lease.shape, ev.unix_us);
}

static void wake(void) {
    ev.kind = VS_EV_WAKE;
    vs_lease_step(&lease, &ev, &did);
}

static void done(void) {
    ev.kind = VS_EV_DONE;
    vs_lease_step(&lease, &ev, &did);
}

/* The store's answer to a read or a swap (NULL: there is no record). */
static void reply(enum vs_outcome outcome, const struct vs_record *record) {
    ev.kind = VS_EV_REPLY;
    ev.outcome = outcome;
    ev.store_ms = ev.unix_us / 1000;
    ev.record = record ? *record : (struct vs_record){0};
    ev.ns = ns;
    vs_lease_step(&lease, &ev, &did);
}

static void slot(int index) {
    ev.kind = VS_EV_SLOT;
    ev.slot = index;
    ev.owner[0] = 1000 + (uint64_t)index;
    ev.owner[1] = 2000 + (uint64_t)index;
    vs_lease_step(&lease, &ev, &did);
}

__attribute__((unused)) static void closed(bool found, uint64_t cursor) {
    ev.kind = VS_EV_CLOSED;
    ev.found = found;
    if (found) ev.cursor = cursor;
    vs_lease_step(&lease, &ev, &did);
}

#define DID(want)                                                                                                      \
    do {                                                                                                               \
        if (did.kind != (want)) CHECK_FAIL("action %d, want %s; it says: %s", (int)did.kind, #want, lease.said);       \
    } while (0)

#define SLEEPS_MS(ms)                                                                                                  \
    do {                                                                                                               \
        DID(VS_DO_SLEEP);                                                                                              \
        CHECK_EQ_I64(did.until_boot_us - ev.boot_us, (ms)*1000);                                                       \
    } while (0)

/* Sleeps for that time, and wakes. */
__attribute__((unused)) static void rest_of_ms(int64_t ms) {
    SLEEPS_MS(ms);
    pass_ms(ms);
    wake();
}

static void start_with(struct vs_lease_opts opts) {
    layout = parsed(LAYOUT);
    opts.layout = &layout;
    opts.identity = "/var/lib/vesta/default.gen";
    opts.holder = "host pid 1";
    opts.timing = vs_lease_timing_for(&vs_lease_timing_file, true);
    opts.entropy = 77;
    memset(&ev, 0, sizeof ev);
    ev.unix_us = NOON_MS * 1000;
    ev.boot_us = BOOT_MS * 1000;
    vs_lease_init(&lease, &opts);
    ns = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint, .incarnation = 55};
}

/* Runs up to the read of the record of worker id 7. */
__attribute__((unused)) static void start_reading(void) {
    start_with((struct vs_lease_opts){.has_worker = true, .worker = 7, .slot = -1});
    wake();
    DID(VS_DO_NS_READ);
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_READ);
    CHECK_EQ_U64(did.worker, 7);
}

/* Makes a record as another generator would have left it, ending at this instant. */
__attribute__((unused)) static struct vs_record record_of(const char *identity, bool held, int64_t until_ms) {
    struct vs_record r = {.ver = 9, .epoch = 3, .owner = {8, 8}, .held = held, .lease_ms = 15000};
    r.fingerprint = layout.fingerprint;
    r.until = vs_tick_at(&lease.shape, until_ms * 1000);
    r.written_ms = NOON_MS - 20000;
    snprintf(r.identity, sizeof r.identity, "%s", identity);
    snprintf(r.holder, sizeof r.holder, "elsewhere pid 9");
    return r;
}

/* Runs up to a published lease of worker id 7 in slot 0.  Returns the record in the store. */
__attribute__((unused)) static struct vs_record start_held(void) {
    start_reading();
    reply(VS_STORE_OK, NULL);
    DID(VS_DO_TAKE);
    slot(0);
    DID(VS_DO_SWAP);
    struct vs_record written = did.record;
    written.written_ms = ev.unix_us / 1000;
    reply(VS_STORE_OK, &written);
    DID(VS_DO_PUBLISH);
    ev.cursor = lease.from;
    done();
    DID(VS_DO_SLEEP);
    CHECK(did.on_want);
    return written;
}

/* Runs up to a renewal in progress, after ids were issued for two seconds. */
__attribute__((unused)) static struct vs_record start_renewing(void) {
    struct vs_record written = start_held();
    pass_ms(2000);
    ev.cursor = tick_now() + 17;
    wake();
    DID(VS_DO_SWAP);
    CHECK_EQ_U64(did.old_ver, written.ver);
    return written;
}

#endif
