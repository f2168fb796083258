/* fake.h -- a shared store in memory, and clocks that a spec sets.  Each holder has its own connection and clock. */
#ifndef SPEC_WORKER_FAKE_H
#define SPEC_WORKER_FAKE_H

#include "store/reply.h"
#include "tools.h"
#include "worker/worker.h"

#include <stddef.h>

#define FAKE_LAYOUT "sign:1 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"
#ifndef FAKE_WORKERS
#define FAKE_WORKERS 1024
#endif
#define FAKE_LATE_MAX 16
#define FAKE_NOON_US (INT64_C(1800000000) * 1000000)

/* What happens to a write. */
enum fake_fate {
    FAKE_DONE,
    FAKE_NO_REPLY, /* done, and the reply is lost */
    FAKE_LATE,     /* the reply is lost, and the write is done only later (fake_arrive) */
    FAKE_LOST,     /* never done, which the caller cannot know */
    FAKE_DOWN      /* not sent */
};

struct fake_write {
    uint64_t worker, old_ver;
    struct vs_record record;
    struct vs_met met;
};

static struct vs_record fake_records[FAKE_WORKERS];
static struct vs_ns_record fake_ns;
static int64_t fake_now_us; /* true time since the start */
static enum fake_fate fake_write_fate;
static bool fake_is_down;                          /* for reads and lists */
static struct fake_write fake_late[FAKE_LATE_MAX]; /* writes that have not arrived yet */
static int fake_late_count;
static int64_t (*fake_pass)(void *on); /* called before each call: time passes, and a fate is set */

struct fake_host {
    struct vs_store store; /* first, for the backend's functions */
    struct vesta_clock clock;
    struct vs_met met;
    int64_t off_us; /* of the wall clock */
};
_Static_assert(offsetof(struct fake_host, store) == 0, "a store is cast to its host");

static int64_t fake_store_ms(void) {
    return (FAKE_NOON_US + fake_now_us) / 1000;
}

static int64_t fake_unix_us(void *self) {
    return FAKE_NOON_US + fake_now_us + ((struct fake_host *)self)->off_us;
}

static int64_t fake_boot_us(void *self) {
    (void)self;
    return fake_now_us + 5000000;
}

static struct fake_host *fake_begin(struct vs_store *store, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (fake_pass) fake_pass(store);
    reply->store_ms = fake_store_ms();
    return (struct fake_host *)store;
}

static void fake_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    fake_begin(store, reply);
    struct vs_growing_list list = {listed, count, 0};
    *listed = NULL, *count = 0;
    for (uint64_t i = 0; i < FAKE_WORKERS && !fake_is_down; i++) {
        reply->record = fake_records[i];
        if (fake_records[i].ver) vs_list_add(&list, i, reply);
    }
    if (!fake_is_down) vs_done(reply);
}

static void fake_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    fake_begin(store, reply);
    if (fake_is_down) return;
    reply->record = fake_records[worker];
    vs_done(reply);
}

static void fake_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct fake_host *host = fake_begin(store, reply);
    if (fake_is_down) return;
    reply->ns = fake_ns;
    vs_meet(&host->met, reply);
    vs_done(reply);
}

/* Does a write, or not. */
static void fake_apply(const struct fake_write *w, struct vs_reply *reply) {
    struct vs_met met = w->met;
    reply->ns = fake_ns;
    if (!vs_is_met(&met, reply)) return;
    reply->record = fake_records[w->worker];
    if (!vs_follows(&w->record, &fake_records[w->worker], w->old_ver)) {
        vs_not_first(reply);
        return;
    }
    fake_records[w->worker] = w->record;
    fake_records[w->worker].written_ms = fake_store_ms();
    reply->record = fake_records[w->worker];
    vs_sent(reply);
    vs_done(reply);
}

__attribute__((unused)) static void fake_arrive(void) {
    struct vs_reply reply;
    for (int i = 0; i < fake_late_count; i++) {
        vs_reply_clear(&reply);
        fake_apply(&fake_late[i], &reply);
    }
    fake_late_count = 0;
}

static void fake_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                      struct vs_reply *reply) {
    struct fake_host *host = fake_begin(store, reply);
    struct fake_write write = {worker, old_ver, *record, host->met};
    enum fake_fate fate = fake_write_fate;
    if (fate == FAKE_DONE || fate == FAKE_NO_REPLY) fake_apply(&write, reply);
    if (fate == FAKE_LATE && fake_late_count < FAKE_LATE_MAX) fake_late[fake_late_count++] = write;
    if (fake_pass) fake_pass(store); /* the reply takes time, too */
    if (fate == FAKE_DONE || fate == FAKE_DOWN) return;
    vs_reply_clear(reply);
    vs_sent(reply);
}

static void fake_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *ns,
                         struct vs_reply *reply) {
    (void)old_ver, (void)ns;
    fake_begin(store, reply);
    vs_answer(reply, VS_STORE_REFUSED, "a person creates this namespace");
}

static const struct vs_store_leases fake_leases = {
    .list = fake_list, .read = fake_read, .swap = fake_swap, .ns_read = fake_ns_read, .ns_swap = fake_ns_swap};
static const struct vs_backend fake_backend = {.scheme = "fake", .leases = &fake_leases};

static void fake_reset(void) {
    struct vesta_layout layout = parsed(FAKE_LAYOUT);
    memset(fake_records, 0, sizeof fake_records);
    fake_ns = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint, .incarnation = 77};
    vesta_layout_text(&layout, fake_ns.layout);
    fake_now_us = 0;
    fake_write_fate = FAKE_DONE;
    fake_is_down = false;
    fake_late_count = 0;
    fake_pass = NULL;
}

static struct vs_lineage fake_connect(struct fake_host *host, int64_t off_us) {
    *host = (struct fake_host){.store = {.backend = &fake_backend, .leases = &fake_leases}, .off_us = off_us};
    host->clock = (struct vesta_clock){.unix_us = fake_unix_us, .boot_us = fake_boot_us, .self = host};
    host->store.clock = &host->clock;
    return (struct vs_lineage){.uri = "fake:", .name = "orders", .clock = &host->clock, .store = &host->store};
}

#endif
