/* term.h -- a keeper's term in virtual time: the real term and lease engine over a store in memory.  A spec determines
 * the result and duration of each call, and when requests come. */
#ifndef SPEC_TERM_H
#define SPEC_TERM_H

#include "lease/term.h"
#include "world.h"

#define TERM_LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define TERM_NOON_US INT64_C(1800000000000000)
#define TERM_INCARNATION 55

/* The timings, for vs_lease_preset. */
enum { TERM_LOCAL, TERM_STRICT, TERM_BALANCED, TERM_AUTONOMOUS };
static const char *const term_presets[] = {"local", "strict", "balanced", "autonomous"};

struct term;

/* The result of a call.  A write that is `done` is in the store, whatever its outcome. */
struct term_answer {
    enum vs_outcome outcome;
    bool done;
    int64_t us;
};

/* How often something occurred: in total, and at most within any second. */
#define TERM_RECENT 16
struct term_rate {
    int64_t at_us[TERM_RECENT];
    unsigned count, most;
};

struct term {
    struct world w;
    struct vs_term real;
    struct vs_record stored;
    struct vs_ns_record ns;
    struct term_answer (*answer)(struct term *, const struct vs_action *, bool is_write);
    void (*pass)(struct term *, int64_t until_boot_us); /* called while the keeper sleeps (NULL: nothing happens) */
    int64_t end_boot_us, store_off_ms;
    bool has_connection;
    unsigned calls;
    struct term_rate writes, connections;
};

static struct term term;

static void term_count(struct term_rate *rate) {
    int64_t now_us = term.w.time.boot_us;
    unsigned within = 0;
    rate->at_us[rate->count++ % TERM_RECENT] = now_us;
    for (unsigned i = 0; i < rate->count && i < TERM_RECENT; i++)
        within += now_us - rate->at_us[i] < SECOND;
    if (within > rate->most) rate->most = within;
}

static bool term_ask(struct vs_term *real, const struct vs_action *action, struct vs_event *ev) {
    bool is_write = action->kind == VS_DO_SWAP || action->kind == VS_DO_NS_SWAP;
    struct term_answer answer = {VS_STORE_OK, true, 1 * MS};
    term.calls++;
    if (!term.has_connection) term_count(&term.connections);
    term.has_connection = true;
    if (is_write) term_count(&term.writes);
    if (term.answer) answer = term.answer(&term, action, is_write);
    if (answer.outcome == VS_STORE_UNKNOWN || answer.outcome == VS_STORE_DOWN) term.has_connection = false;
    pass_us(&term.w.time, answer.us);
    bool fits = action->kind == VS_DO_SWAP && action->old_ver == term.stored.ver;
    if (answer.outcome == VS_STORE_OK && action->kind == VS_DO_SWAP && !fits) answer.outcome = VS_STORE_CONFLICT;
    if (answer.done && fits) {
        term.stored = action->record;
        term.stored.written_ms = term.w.time.unix_us / 1000 + term.store_off_ms;
    }
    ev->outcome = answer.outcome;
    ev->store_ms = term.w.time.unix_us / 1000 + term.store_off_ms;
    ev->ns = term.ns;
    ev->record = term.stored;
    if (action->kind == VS_DO_CHOOSE) vs_term_choose(real, (struct vs_listing){.store_ms = ev->store_ms}, ev);
    return true;
}

static bool term_sleep(struct vs_term *real, int64_t until_boot_us, bool on_want) {
    (void)real, (void)on_want;
    int64_t until = until_boot_us < term.end_boot_us ? until_boot_us : term.end_boot_us;
    if (term.pass)
        term.pass(&term, until);
    else if (until > term.w.time.boot_us)
        pass_us(&term.w.time, until - term.w.time.boot_us);
    return true;
}

static enum vs_stop term_stop(struct vs_term *real) {
    (void)real;
    return term.w.time.boot_us >= term.end_boot_us ? VS_HAND_OVER : VS_KEEP_ON;
}

static bool term_random(struct vs_term *real, void *out, size_t size) {
    (void)real;
    memset(out, 7, size);
    return true;
}

static const struct vs_term_ops term_ops = {
    .ask = term_ask, .sleep = term_sleep, .stop = term_stop, .random = term_random};

/* A new file, whose worker id is assigned or drawn.  Nothing is leased yet. */
static void term_begin(const char *layout, enum vesta_pacing pacing, bool has_worker) {
    memset(&term, 0, sizeof term);
    world_open(&term.w, layout, pacing, 0, TERM_NOON_US);
    struct vs_header *header = &term.w.map->header;
    header->has_worker = has_worker;
    header->worker = 7;
    snprintf(header->identity, sizeof header->identity, "here.gen");
    term.ns =
        (struct vs_ns_record){.ver = 1, .fingerprint = term.w.layout.fingerprint, .incarnation = TERM_INCARNATION};
}

/* Runs a term of that length. */
__attribute__((unused)) static void term_serve(const struct vs_lease_timing *timing, int64_t for_us) {
    term.end_boot_us = term.w.time.boot_us + for_us;
    term.real = (struct vs_term){term.w.map, &term.w.clock, &term.w.layout, &term_ops, .pid = 1};
    vs_term_begin(&term.real, "here pid 1", timing);
    CHECK(vs_term_serve(&term.real) == VS_TERM_LEFT);
}

static void term_end(void) {
    world_close(&term.w);
}

#endif
