/* segment_gone.c -- a database is unreachable for ten minutes, in virtual time. With a settled step no number is
 * rejected, whenever the outage begins. */
#include "check.h"
#include "segment/refill.h"

#define TICK_US INT64_C(50000)
#define MINUTE_US INT64_C(60000000)
#define SETTLED_US (150 * MINUTE_US)
#define PHASES 12 /* outages begin at so many points of the current range */
#define PHASE_US (3 * MINUTE_US / 2)

static struct vs_segment seg;
static struct vs_refill refill;
static struct vs_refill_action did;
static int64_t now_us, gone_us, back_us;
static uint64_t counter;

static void begin(uint64_t step_max) {
    vs_segment_format(&seg);
    vs_refill_init(&refill, &(struct vs_refill_opts){.step = 1000, .step_max = step_max, .delta = 1, .entropy = 7});
    did = (struct vs_refill_action){.kind = VS_REFILL_SLEEP};
    now_us = 0;
    counter = 1;
}

/* Returns the result of the last action. A reply takes a tick, and a failed call a second. */
static struct vs_refill_event outcome(void) {
    struct vs_refill_event ev = {.kind = VS_REFILL_WAKE};
    if (did.kind == VS_REFILL_TAKE && now_us >= gone_us && now_us < back_us) {
        ev.kind = VS_REFILL_REPLY;
        ev.outcome = VS_STORE_DOWN;
    } else if (did.kind == VS_REFILL_TAKE) {
        ev = (struct vs_refill_event){.kind = VS_REFILL_REPLY, .from = counter, .until = counter + did.step};
        ev.outcome = VS_STORE_OK;
        counter += did.step;
    } else if (did.kind == VS_REFILL_PUBLISH) {
        ev.kind = VS_REFILL_PUBLISHED;
        ev.published = vs_segment_publish(&seg, &did.range);
        CHECK_EQ_I64(ev.published, VS_PUBLISHED);
    }
    return ev;
}

static void run_refiller(void) {
    bool due = vs_segment_is_due(&seg);
    if (did.kind == VS_REFILL_SLEEP && now_us < did.until_boot_us && !(did.on_want && due)) return;
    struct vs_refill_event ev = outcome();
    ev.boot_us = now_us;
    ev.due = vs_segment_is_due(&seg);
    ev.granted = atomic_load(&seg.granted[0]);
    vs_refill_step(&refill, &ev, &did);
}

/* Returns how many numbers were rejected until `until_us`, at `a_tick` requested numbers per tick. */
static uint64_t refused_until(int64_t until_us, uint64_t a_tick) {
    uint64_t refused = 0;
    for (; now_us < until_us; now_us += TICK_US) {
        run_refiller();
        for (uint64_t left = a_tick; left > 0;) {
            struct vs_taken taken;
            if (vs_segment_take(&seg, left, &taken) != VESTA_OK) {
                refused += left;
                break;
            }
            left -= taken.count;
        }
    }
    return refused;
}

static uint64_t refused_over(uint64_t a_second, uint64_t step_max, int phase) {
    uint64_t a_tick = a_second * (uint64_t)TICK_US / 1000000;
    begin(step_max);
    gone_us = SETTLED_US + phase * PHASE_US;
    back_us = gone_us + 10 * MINUTE_US;
    refused_until(gone_us, a_tick);
    return refused_until(back_us + 30 * MINUTE_US, a_tick); /* also counts while the database comes back */
}

static void by_default(void) {
    for (int phase = 0; phase < PHASES; phase++)
        CHECK_EQ_U64(refused_over(500, VS_STEP_MAX, phase), 0);
}

static void with_a_larger_step(void) {
    for (int phase = 0; phase < PHASES; phase++)
        CHECK_EQ_U64(refused_over(10000, 20000000, phase), 0);
}

/* Shows that the cases above are strict: with a smaller maximum of the step some numbers are rejected. */
static void a_small_step_is_not_enough(void) {
    CHECK(refused_over(10000, VS_STEP_MAX, 0) > 0);
    CHECK(refused_over(500, 100000, 0) > 0);
}

static const struct check_case cases[] = {
    {"500 ids a second with the default step_max: none is rejected", by_default},
    {"10,000 ids a second with a step_max of 20,000,000: none is rejected", with_a_larger_step},
    {"with a smaller step_max some are rejected", a_small_step_is_not_enough},
};
CHECK_MAIN(cases)
