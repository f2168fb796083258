/* mark.c -- a reader of watermarks.  It makes the calls of csrc/store/watermark.c one by one, with pauses, so that
 * claims, renewals and releases come in between.  It draws no random number of the schedule. */
#include "sim.h"

#define MARKED_WORLDS 4 /* one world in this many has a reader */

static enum { MARK_READ, MARK_LIST, MARK_END, MARK_SWAP, MARK_PUBLISH } step;
static bool is_raised;
static int64_t next_us;
static uint64_t dice;
static struct vs_ns_record known;
static struct vs_mark_now now;
static struct vs_listed listed[WORKERS_MAX];
static size_t count, at;

static int64_t mark_between(int64_t from, int64_t until) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return from + (int64_t)((dice >> 33) % (uint64_t)(until - from));
}

void mark_reset(void) {
    sim.is_marked = sim.seed % MARKED_WORLDS == 3;
    dice = sim.seed;
    step = MARK_READ;
    is_raised = false;
    next_us = mark_between(0, 5) ? mark_between(0, 2 * SEC) : mark_between(0, 30 * SEC);
}

int64_t mark_next_us(void) {
    return sim.is_marked ? next_us : NEVER;
}

int64_t mark_behind_us(void) {
    return START_UNIX_US + sim.now_us - vs_tick_unix_us(&sim.shape, sim.marked);
}

static struct vs_listing mark_listing(void) {
    return (struct vs_listing){listed, count, now.store_ms};
}

static void mark_write(void) {
    int64_t to_ms = vs_mark_due_ms(mark_listing(), &sim.shape, sim.layout->fingerprint, known.mark_ms, &now);
    if (!known.mark_ms && !to_ms) to_ms = vs_mark_first_ms(&sim.shape);
    step = is_raised || !to_ms ? MARK_PUBLISH : MARK_READ;
    if (step == MARK_PUBLISH) return;
    known.ver++;
    known.mark_ms = to_ms;
    is_raised = store_mark_swap(&known);
}

static void mark_end(void) {
    while (at < count && !vs_mark_is_over(&listed[at].record, &sim.shape, &now))
        at++;
    step = at < count ? MARK_END : MARK_SWAP;
    if (at == count) return;
    struct vs_record next = listed[at].record;
    vs_mark_end(&next);
    if (store_mark_end(listed[at].worker, &next, &known)) listed[at].record = next;
    at++;
}

static void mark_publish(void) {
    struct vs_lease_mark mark = vs_mark_of(mark_listing(), &sim.shape, sim.layout->fingerprint, known.mark_ms, &now);
    step = MARK_READ;
    is_raised = false;
    if (mark.tick <= sim.marked) return;
    sim.marked = mark.tick;
    sim.counts.marks++;
    TRACE("reader: the watermark is tick %llu", (unsigned long long)mark.tick);
}

void mark_turn(void) {
    if (!sim.is_marked || sim.now_us < next_us) return;
    switch (step) {
    case MARK_READ:
        store_mark_read(&known, &now);
        if (known.ver) step = MARK_LIST;
        break;
    case MARK_LIST:
        count = store_mark_list(listed, &now);
        at = 0;
        step = MARK_END;
        break;
    case MARK_END: mark_end(); break;
    case MARK_SWAP: mark_write(); break;
    case MARK_PUBLISH: mark_publish(); break;
    }
    next_us = sim.now_us + (step == MARK_READ ? mark_between(1, 2 * SEC) : mark_between(1, 300 * MS));
}
