/* opened.h -- generators in the state folder of a claim, and a clock that is the machine's plus an offset. */
#ifndef SPEC_OPENED_H
#define SPEC_OPENED_H

#include "os/clock.h"
#include "state.h"
#include "store/store.h"

#include <stdatomic.h>
#include <unistd.h>

static struct vesta_gen *open_in_state(const char *name, const char *layout, struct vesta_opts opts) {
    opts.size = sizeof opts;
    char path[128];
    struct vesta_gen *gen = NULL;
    struct vesta_error err = {0};
    snprintf(path, sizeof path, "%s/%s", state, name);
    opts.layout = layout;
    opts.path = path;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return gen;
}

/* Another process takes over a worker id in the store of the state folder, as after an expired lease. */
__attribute__((unused)) static void take_over(uint64_t worker, const struct vesta_clock *clock) {
    struct vs_store *store;
    struct vs_reply reply;
    char uri[128];
    snprintf(uri, sizeof uri, "file:%s", state);
    NEED(vs_store_open(uri, &(struct vs_store_opts){.namespace_ = "default", .group = -1, .clock = clock}, &store,
                       NULL) == VESTA_OK);
    do {
        store->leases->ns_read(store, &reply);
        store->leases->read(store, worker, &reply);
        struct vs_record r = reply.record;
        r.ver++, r.epoch++, r.owner[0]++, r.until += (uint64_t)600000 << 12;
        snprintf(r.identity, sizeof r.identity, "elsewhere");
        store->leases->swap(store, worker, r.ver - 1, &r, &reply);
    } while (reply.outcome == VS_STORE_CONFLICT); /* a renewal came in between */
    CHECK(reply.outcome == VS_STORE_OK);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ a clock that may be ahead of the machine's */

__attribute__((unused)) static _Atomic int64_t passed_us;

static int64_t ahead_unix_us(void *self) {
    (void)self;
    return vs_clock_system()->unix_us(NULL) + atomic_load(&passed_us);
}

static int64_t ahead_boot_us(void *self) {
    (void)self;
    return vs_clock_system()->boot_us(NULL) + atomic_load(&passed_us);
}

static void ahead_sleep_us(void *self, int64_t us) {
    (void)self;
    usleep((useconds_t)us);
}

__attribute__((unused)) static const struct vesta_clock ahead_clock = {NULL, ahead_unix_us, ahead_boot_us,
                                                                       ahead_sleep_us};

#endif
