/* Regression: if time and sequence have all 62 bits, the end of the layout is one tick more than 62 bits can hold. A
 * lease up to that end was written, but its record was rejected as damaged, so the worker id was not released and
 * was lost. */
#include "check.h"
#include "opened.h"

#define LONGEST "sign:1 time:41 seq:21 worker:1 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 20000000

static bool gives_an_id(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_OK;
}

static struct vs_record in_the_store(struct vesta_gen *gen) {
    struct vs_store *store = NULL;
    struct vesta_info info;
    struct vs_reply reply = {.outcome = VS_STORE_UNKNOWN};
    struct vs_store_opts opts = {.namespace_ = "default", .group = -1, .clock = &ahead_clock};
    char uri[128];
    vesta_get_info(gen, &info);
    snprintf(uri, sizeof uri, "file:%s", state);
    if (vs_store_open(uri, &opts, &store, NULL) == VESTA_OK) {
        store->leases->ns_read(store, &reply);
        store->leases->read(store, info.worker, &reply);
        store->backend->close(store);
    }
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("%s", reply.text);
    return reply.record;
}

/* 100 s before the layout ends, a local lease of any worker id lasts to its end. */
static void the_last_lease(void) {
    struct vesta_layout layout;
    struct vesta_error err = {.text = ""};
    struct vesta_opts opts = {.any_worker = 1, .clock = &ahead_clock};
    CHECK(vesta_layout_parse(LONGEST, &layout, NULL) == VESTA_OK);
    atomic_store(&passed_us, (vesta_layout_end_ms(&layout) - 100000) * 1000 - vs_clock_system()->unix_us(NULL));
    struct vesta_gen *gen = open_in_state("a.gen", LONGEST, opts);
    NEED(gen);
    CHECK(gives_an_id(gen));
    struct vs_record r = in_the_store(gen);
    CHECK(r.held && r.until == (uint64_t)1 << 62);
    if (vesta_release(gen, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    r = in_the_store(gen);
    CHECK(!r.held && r.until < (uint64_t)1 << 62);
    CHECK(gives_an_id(gen));
    vesta_close(gen);
}

IN_NEW_STATE(the_last_lease)

static const struct check_case cases[] = {
    {"a lease up to the end of the longest layout is read back, released and granted again", the_last_lease_},
};

CHECK_MAIN(cases)
