/* keeper_term.c -- a keeper while another keeper of the same file writes into the map during its request to the
 * store. */
#include "lease/term.h"
#include "world.h"

#define LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define NOON_US INT64_C(1800000000000000)
#define INCARNATION 55
#define STEPS_MAX 16

static struct world w;
static struct vs_term term;
static struct vs_record stored;
static void (*other_keeper)(struct vs_shared *); /* runs when the record is read */
/* whether the store is replaced after the first lease, so that another store answers a renewal */
static bool is_replaced;
static bool has_stopped;
static char why_at_stop[VS_SAID_MAX]; /* the message in the map when the failstop is first visible */
static int steps;

/* A store that accepts everything. */
static bool ask(struct vs_term *self, const struct vs_action *action, struct vs_event *ev) {
    pass_us(&w.time, 1 * MS);
    ev->outcome = VS_STORE_OK;
    ev->store_ms = w.time.unix_us / 1000;
    ev->ns = (struct vs_ns_record){.ver = 1, .fingerprint = w.layout.fingerprint, .incarnation = INCARNATION};
    if (is_replaced && stored.ver > 0) {
        if (action->kind == VS_DO_SWAP) ev->outcome = VS_STORE_MOVED;
        ev->ns.incarnation++;
        return true;
    }
    if (action->kind == VS_DO_SWAP) stored = action->record;
    ev->record = stored;
    if (action->kind == VS_DO_READ && other_keeper) other_keeper(&self->map->shared);
    return true;
}

static bool sleep_until(struct vs_term *self, int64_t until_boot_us, bool on_want) {
    (void)self, (void)on_want;
    pass_us(&w.time, until_boot_us - w.time.boot_us);
    return true;
}

static enum vs_stop stop(struct vs_term *self) {
    const struct vs_shared *shared = &self->map->shared;
    if (!has_stopped && atomic_load(&shared->stopped) == VESTA_FAILSTOP) {
        has_stopped = true;
        for (size_t i = 0; i < VS_SAID_MAX; i++)
            why_at_stop[i] = atomic_load(&shared->keeper[i]);
    }
    return ++steps > STEPS_MAX ? VS_HAND_OVER : VS_KEEP_ON;
}

static bool random_bits(struct vs_term *self, void *out, size_t size) {
    (void)self;
    memset(out, 7, size);
    return true;
}

static const struct vs_term_ops ops = {.ask = ask, .sleep = sleep_until, .stop = stop, .random = random_bits};

static void serve_beside(void (*other)(struct vs_shared *)) {
    world_open(&w, LAYOUT, VESTA_PACING_CLOCK, 0, NOON_US);
    w.map->header.has_worker = 1;
    w.map->header.worker = 7;
    snprintf(w.map->header.identity, sizeof w.map->header.identity, "here.gen");
    stored = (struct vs_record){0};
    steps = 0;
    has_stopped = false;
    other_keeper = other;
    term = (struct vs_term){w.map, &w.clock, &w.layout, &ops, .pid = 1};
    vs_term_begin(&term, "here pid 1", &vs_lease_timing_file);
    CHECK(vs_term_serve(&term) == VS_TERM_LEFT);
}

static void a_single_keeper_gets_a_lease(void) {
    struct vesta_pause pause;
    serve_beside(NULL);
    CHECK(steps > STEPS_MAX);
    CHECK_EQ_I64(vs_map_active(w.map), 0);
    CHECK(next_tick(&w, &pause) != UINT64_MAX);
    world_close(&w);
}

static void stop_all(struct vs_shared *shared) {
    atomic_store(&shared->failed_in, INCARNATION);
    atomic_store(&shared->stopped, VESTA_FAILSTOP);
}

static void lay_down(struct vs_shared *shared) {
    atomic_store(&shared->rest, VS_RESTING);
}

static void leaves_without_a_lease(void (*other)(struct vs_shared *), enum vesta_why why) {
    struct vesta_pause pause = {.why = VESTA_FULL};
    serve_beside(other);
    CHECK(steps <= STEPS_MAX);
    CHECK_EQ_U64(stored.ver, 0);
    CHECK(next_tick(&w, &pause) == UINT64_MAX);
    CHECK_STR(vesta_why_name(pause.why), vesta_why_name(why));
    world_close(&w);
}

static void a_failstop_applies_to_all_keepers(void) {
    leaves_without_a_lease(stop_all, VESTA_FAILSTOP);
}

static void a_rest_applies_to_all_keepers(void) {
    leaves_without_a_lease(lay_down, VESTA_LEASE);
}

static void a_failstop_comes_with_its_reason(void) {
    is_replaced = true;
    serve_beside(NULL);
    is_replaced = false;
    CHECK(has_stopped);
    CHECK(strstr(why_at_stop, "the store was replaced"));
    world_close(&w);
}

static const struct check_case cases[] = {
    {"a single keeper gets a lease", a_single_keeper_gets_a_lease},
    {"a failstop by another keeper during the request: nothing is claimed", a_failstop_applies_to_all_keepers},
    {"a rest begun by another keeper during the request: nothing is claimed", a_rest_applies_to_all_keepers},
    {"the reason of a failstop is visible together with it", a_failstop_comes_with_its_reason},
};

CHECK_MAIN(cases)
