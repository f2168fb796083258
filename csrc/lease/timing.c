/* timing.c -- the presets of lease timings, and the state of a lease. */
#include "lease/steps.h"
#include "base/array.h"

#include <assert.h>
#include <string.h>

#define BOUND_WINDOW_MS 5000

/* The deadlines are 0.8 L, because the clocks of host and store may drift apart during L.  chrony slews by at most
 * 1/12. */
const struct vs_lease_timing vs_lease_timing_file = {
    .name = "local", .window_ms = 180000, .renew_ms = 1500, .lease_ms = 15000, .skew_ms = 10000, .call_ms = 800};

static const struct vs_lease_timing shared[] = {
    {.name = "strict",
     .window_ms = 5000,
     .renew_ms = 1000,
     .idle_ms = 1000,
     .lease_ms = 15000,
     .deadline_ms = 12000,
     .skew_ms = 10000,
     .call_ms = 3000,
     .is_shared = true},
    {.name = "balanced",
     .window_ms = 600000,
     .renew_ms = 5000,
     .idle_ms = 60000,
     .lease_ms = 720000,
     .deadline_ms = 576000,
     .skew_ms = 10000,
     .call_ms = 4000,
     .is_shared = true},
    /* As in Butterfly, ids are issued for up to a day without the store.  With history pacing, the ids of a window of
     * ten minutes may last a day. */
    {.name = "autonomous",
     .window_ms = 600000,
     .renew_ms = 5000,
     .idle_ms = 60000,
     .lease_ms = 86400000,
     .deadline_ms = 69120000,
     .skew_ms = 10000,
     .call_ms = 4000,
     .is_shared = true},
};

const struct vs_lease_timing *vs_lease_preset(const char *name) {
    if (strcmp(name, vs_lease_timing_file.name) == 0) return &vs_lease_timing_file;
    for (size_t i = 0; i < VS_COUNT(shared); i++)
        if (strcmp(name, shared[i].name) == 0) return &shared[i];
    return NULL;
}

struct vs_lease_timing vs_lease_timing_for(const struct vs_lease_timing *preset, bool has_worker) {
    struct vs_lease_timing timing = *preset;
    if (!has_worker || timing.window_ms <= BOUND_WINDOW_MS) return timing;
    timing.window_ms = BOUND_WINDOW_MS;
    if (timing.renew_ms > BOUND_WINDOW_MS / 3) timing.renew_ms = BOUND_WINDOW_MS / 3;
    return timing;
}

void vs_ns_put_right(struct vs_ns_record *ns, const struct vs_lease_timing *timing, int64_t store_ms,
                     uint64_t incarnation) {
    assert(incarnation); /* 0 means an unknown store */
    int64_t floor_ms = store_ms + timing->skew_ms + 2 * timing->window_ms;
    ns->ver++;
    ns->incarnation = incarnation;
    if (ns->floor_ms < floor_ms) ns->floor_ms = floor_ms;
}

/* ------------------------------------------------------------------ the state of a lease */

uint64_t vs_lease_next(const struct vs_lease *lease, const struct vs_event *ev) {
    uint64_t now = vs_tick_at(&lease->shape, ev->unix_us);
    return ev->cursor > now || lease->is_history ? ev->cursor : now;
}

const char *vs_lease_state_name(enum vs_lease_state state) {
    static const char *const names[] = {"claiming", "active", "renewing", "suspect", "drained", "fenced", "failstop"};
    return (size_t)state < VS_COUNT(names) ? names[state] : "unknown"; /* a damaged map may have any value */
}

enum vs_lease_state vs_lease_state_of(const struct vs_lease *lease, const struct vs_event *ev) {
    bool fails = lease->phase == VS_PH_FAILSTOP || (lease->phase == VS_PH_SLEEP && lease->after == VS_PH_FAILSTOP);
    if (fails) return VS_LEASE_FAILSTOP;
    if (lease->phase == VS_PH_FENCED) return VS_LEASE_FENCED;
    if (!lease->published || lease->leaves) return VS_LEASE_CLAIMING;
    int64_t age_ms = (ev->boot_us - lease->renewed_boot_us) / 1000;
    bool is_over = lease->deadline_us && ev->boot_us >= lease->deadline_us;
    if (is_over || vs_lease_next(lease, ev) >= lease->until) return VS_LEASE_DRAINED;
    if (lease->troubles && age_ms > 2 * lease->timing.renew_ms) return VS_LEASE_SUSPECT;
    bool asks = lease->phase == VS_PH_RENEW || lease->phase == VS_PH_LOOK || lease->phase == VS_PH_RAISE;
    return asks ? VS_LEASE_RENEWING : VS_LEASE_ACTIVE;
}
