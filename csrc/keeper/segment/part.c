/* part.c -- a segment's part in one database.  Carries out the refiller's actions, with the store, the shared words and
 * the clock. Only the database's thread calls these functions. */
#include "keeper/segment/counter.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEP_DEFAULT 1000
/* Time after which another process of the host replaces an unresponsive refiller.  A call to a segment's only database
 * takes at most PULSE_US. With several databases, the next database gets its turn after TURN_US, so that no caller
 * waits for a slow database. */
#define PULSE_US ((int64_t)(VS_STORE_CALL_MS + 200) * 1000)
#define TURN_US ((int64_t)100000)
#define AGAIN_US ((int64_t)10000) /* poll interval while another process is the refiller */
/* If a range lasts less than WATCHED_US, the thread polls until the mark is reached, so that takers need not wake the
 * thread.  A wake-up delays the taker that makes it. */
#define WATCHED_US ((int64_t)10000000)
#define WATCH_PARTS 32 /* the poll interval is the time that the range lasts, divided by this */
#define WATCH_MIN_US ((int64_t)500)
#define WATCH_LOOKS 6 /* after this many polls without a result, takers wake the thread again */

static void part_say(struct vs_segment_part *part, const char *text) {
    size_t i = 0;
    for (; text[i] && i + 1 < VS_SAID_MAX; i++)
        atomic_store(&part->said[i], text[i]);
    atomic_store(&part->said[i], '\0');
}

void vs_part_said(const struct vs_segment_part *part, char out[VS_SAID_MAX]) {
    for (size_t i = 0; i < VS_SAID_MAX; i++)
        out[i] = atomic_load(&part->said[i]);
    out[VS_SAID_MAX - 1] = '\0';
}

void vs_part_reset(struct vs_segment_part *part) {
    const struct vesta_segment *seg = part->segment;
    uint64_t random[2] = {0};
    /* if this fails, retries are not spread, and several processes may request a range at the same time */
    (void)vs_random(random, sizeof random);
    struct vs_refill_opts opts = {.step = seg->step ? seg->step : STEP_DEFAULT,
                                  .step_max = part->step_max,
                                  .delta = seg->parts_count,
                                  .remainder = part->index,
                                  .database = part->index,
                                  .entropy = random[0]};
    /* otherwise the thread may be using the part */
    assert(!atomic_load(&part->is_handed) || part->refill.phase == VS_RF_ENDED);
    vs_refill_init(&part->refill, &opts);
    part->token = random[1] | 1;
    part->due_us = 0;
    part->on_want = true;
    part->used_us = 0;
    atomic_store(&part->watches, false);
    atomic_store(&part->share, VS_SHARE_UNASKED);
    atomic_store(&part->is_refused, false);
    part->turn = 0;
    atomic_store(&part->is_troubled, false);
    atomic_store(&part->wanted, 1);
    atomic_store(&part->step, opts.step);
    part_say(part, "");
}

static int64_t part_now_us(const struct vs_segment_part *part) {
    const struct vesta_clock *clock = part->segment->clock;
    return clock->boot_us(clock->self);
}

/* ------------------------------------------------------------------ turns of the databases */

static bool is_well(const struct vs_segment_part *part, const struct vs_segment *words) {
    return !atomic_load(&part->is_troubled) && !vs_words_are_stopped(words, part->index);
}

/* The databases take turns, one per generation.  Returns how many working databases have their turn before this one. */
static int64_t rank_of(const struct vs_segment_part *part, const struct vs_segment *words, uint64_t generation) {
    const struct vesta_segment *seg = part->segment;
    int64_t rank = 0;
    assert(part->index < seg->parts_count);
    for (uint32_t i = (uint32_t)(generation % seg->parts_count); i != part->index; i = (i + 1) % seg->parts_count)
        rank += is_well(&seg->part[i], words);
    return rank;
}

/* Returns true if this part may request the range that is due.  The caller must then call vs_segment_end_refill.  A
 * failed database is called even if another database has the turn, to detect that the failed one works again. */
static bool part_may_ask(struct vs_segment_part *part, struct vs_segment *words) {
    int64_t now = part_now_us(part);
    assert(part->token);
    if (part->segment->parts_count == 1) return vs_segment_begin_refill(words, part->token, now, now + PULSE_US);
    if (!is_well(part, words)) return true;
    uint64_t generation = atomic_load(&words->next);
    if (part->turn != generation) {
        part->turn = generation;
        part->turn_from_us = now;
    }
    if (now < part->turn_from_us + rank_of(part, words, generation) * TURN_US) return false;
    return vs_segment_begin_refill(words, part->token, now, now + TURN_US);
}

/* ------------------------------------------------------------------ a refiller's actions */

/* The store to call, or NULL with the reason in `why`. */
struct asked {
    struct vs_store *store;
    const char *why;
};

/* Applies the share of the numbers that the counter's row specifies, if any.  With several databases, the share must
 * match the order of the databases on this host, because otherwise two databases could issue the same numbers. */
static void take_share(struct vs_segment_part *part, const struct vs_grant *grant, struct vs_refill_event *ev) {
    uint32_t count = part->segment->parts_count;
    if (grant->delta <= 1 || (grant->delta == count && grant->remainder == part->index)) return;
    if (count == 1 && grant->remainder < grant->delta) {
        part->refill.opts.delta = grant->delta;
        part->refill.opts.remainder = grant->remainder;
        return;
    }
    ev->outcome = VS_STORE_REFUSED;
    snprintf(ev->text, sizeof ev->text,
             "its row has delta %" PRIu64 " and remainder %" PRIu64 ", but it is number %" PRIu32 " of %" PRIu32
             " databases: name all databases, in the order of their remainders",
             grant->delta, grant->remainder, part->index, count);
}

struct vs_counter vs_part_counter(const struct vs_segment_part *part) {
    const struct vesta_segment *seg = part->segment;
    return (struct vs_counter){seg->table[0] ? seg->table : NULL, seg->tag};
}

void vs_part_take(struct vs_segment_part *part, struct vs_store *store, uint64_t step, struct vs_reply *reply) {
    const struct vesta_segment *seg = part->segment;
    struct vs_counter counter = vs_part_counter(part);
    int64_t from_us = part_now_us(part);
    if (seg->nothing)
        vs_form_refuse(seg->tag, reply);
    else if (vs_share_is_alone(part, store, reply))
        vs_store_take(store, &counter, step, &seg->floor, reply);
    atomic_store(&part->fetch_us, part_now_us(part) - from_us);
    atomic_fetch_add(&part->answers[reply->outcome], 1);
    if (reply->outcome != VS_STORE_OK) return;
    atomic_fetch_add(&part->ranges, 1);
    atomic_store(&part->forgets_form, reply->forgets_form);
}

static void do_take(struct vs_segment_part *part, const struct asked *asked, const struct vs_refill_action *action,
                    struct vs_refill_event *ev) {
    struct vs_store *store = asked->store;
    const struct vesta_segment *seg = part->segment;
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    /* The first range uses the row's step, unless the database rejected the last call and the options have a step. */
    bool by_row = part->refill.refills == 0 && !(atomic_load(&part->is_refused) && seg->step);
    assert(action->step > 0);
    if (store)
        vs_part_take(part, store, by_row ? 0 : action->step, &reply);
    else
        atomic_fetch_add(&part->answers[reply.outcome], 1);
    ev->outcome = reply.outcome;
    ev->from = reply.grant.from;
    ev->until = reply.grant.until;
    ev->step = reply.grant.step;
    vs_reply_say(&reply, store ? "" : asked->why, ev->text, sizeof ev->text);
    if (reply.outcome == VS_STORE_OK) {
        vs_raise_u64(&atomic_load(&part->segment->words)->answered[part->index], reply.grant.until);
        take_share(part, &reply.grant, ev);
    }
    atomic_store(&part->is_refused, ev->outcome == VS_STORE_REFUSED);
}

static void do_untake(struct vs_segment_part *part, struct vs_store *store, const struct vs_refill_action *action,
                      struct vs_refill_event *ev) {
    struct vs_counter counter = vs_part_counter(part);
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    assert(action->unused.from < action->unused.until);
    if (store) store->counters->untake(store, &counter, action->unused.from, action->unused.until, &reply);
    ev->outcome = reply.outcome;
}

/* Measures how long the previous range lasted. */
static void part_measure(struct vs_segment_part *part, const struct vs_refill *before) {
    int64_t used_us = before->refilled_us < 0 ? 0 : part->refill.refilled_us - before->refilled_us;
    part->used_us = used_us;
    if (used_us > 0) atomic_store(&part->per_1000_s, (uint64_t)((double)before->count * 1e9 / (double)used_us));
}

static void do_publish(struct vs_segment_part *part, struct vs_live *live, const struct vs_refill_action *action,
                       struct vs_refill_event *ev) {
    assert(action->range.database == part->index);
    ev->published = vs_segment_publish(live->words, &action->range);
    if (ev->published == VS_PUBLISHED) vs_words_tell(live->words);
}

/* Claims this database's unused ranges that this process took out of the map. */
static void do_claim(struct vs_segment_part *part, struct vs_live *live, bool ends, struct vs_refill_event *ev) {
    if (ends) {
        vs_process_lock();
        vs_live_take_rest(live, true);
        vs_process_unlock();
        assert(vs_words_are_closed(live->words));
    }
    ev->unused_count = vs_rest_claim(live->rest, vs_process_token(), part->index, ev->unused);
}

void vs_part_raise(struct vs_segment_part *part, struct vs_store *store, uint64_t floor, struct vs_reply *reply) {
    struct vs_counter counter = vs_part_counter(part);
    *reply = (struct vs_reply){.outcome = VS_STORE_DOWN};
    if (store) store->counters->lift(store, &counter, floor, reply);
}

/* ------------------------------------------------------------------ running */

static void part_observe(const struct vs_segment_part *part, const struct vs_live *live, struct vs_refill_event *ev) {
    ev->boot_us = part_now_us(part);
    ev->stop = atomic_load(&part->leave) == VS_LEAVE_AND_GIVE_BACK;
    ev->stopped = vs_words_are_stopped(live->words, part->index);
    ev->closed = vs_words_are_closed(live->words);
    ev->forgone = atomic_load(&live->words->forgone);
    ev->granted = vs_segment_granted(live->words, part->index);
    ev->answered = atomic_load(&live->words->answered[part->index]);
}

/* Carries out an action, and sets *ev to its result. */
static void part_carry_out(struct vs_segment_part *part, struct vs_live *live, const struct asked *asked,
                           const struct vs_refill_action *action, struct vs_refill_event *ev) {
    uint64_t from = ev->from;
    struct vs_reply reply;
    *ev = (struct vs_refill_event){.kind = VS_REFILL_REPLY};
    switch (action->kind) {
    case VS_REFILL_TAKE: do_take(part, asked, action, ev); break;
    case VS_REFILL_UNTAKE: do_untake(part, asked->store, action, ev); break;
    case VS_REFILL_PUBLISH:
        ev->kind = VS_REFILL_PUBLISHED;
        do_publish(part, live, action, ev);
        break;
    case VS_REFILL_RAISE:
        vs_part_raise(part, asked->store, action->floor, &reply);
        ev->outcome = reply.outcome;
        break;
    case VS_REFILL_CLOSE:
    case VS_REFILL_CLAIM:
        ev->kind = VS_REFILL_CLAIMED;
        do_claim(part, live, action->kind == VS_REFILL_CLOSE, ev);
        break;
    case VS_REFILL_PUT_BACK:
        ev->kind = VS_REFILL_KEPT;
        ev->is_kept = vs_segment_put_back(live->words, &action->unused);
        if (ev->is_kept) vs_words_tell(live->words);
        break;
    case VS_REFILL_HALT:
        ev->kind = VS_REFILL_WAKE;
        vs_words_stop(live->words, part->index, from);
        break;
    case VS_REFILL_SLEEP:
    case VS_REFILL_END: assert(!"nothing to carry out");
    }
}

void vs_part_report(struct vs_segment_part *part) {
    char said[VS_SAID_MAX];
    vs_part_said(part, said);
    if (strcmp(said, part->refill.said) != 0) part_say(part, part->refill.said);
    atomic_store(&part->is_troubled, part->refill.troubles > 0);
    if (part->refill.step) atomic_store(&part->step, part->refill.step);
}

/* Runs the refiller until it sleeps or ends. */
static enum vs_refill_do part_run(struct vs_segment_part *part, struct vs_live *live, const struct asked *asked,
                                  bool due) {
    struct vs_refill_event ev = {.kind = VS_REFILL_WAKE, .due = due};
    struct vs_refill_action action;
    struct vs_refill before = part->refill;
    for (;;) {
        part_observe(part, live, &ev);
        vs_refill_step(&part->refill, &ev, &action);
        if (action.kind == VS_REFILL_SLEEP || action.kind == VS_REFILL_END) break;
        part_carry_out(part, live, asked, &action, &ev);
    }
    if (part->refill.refilled_us != before.refilled_us) part_measure(part, &before);
    part->on_want = action.on_want;
    part->due_us = action.until_boot_us;
    /* align the time, so that idle parts are due together */
    if (part->on_want) part->due_us -= part->due_us % VS_REFILL_LOOK_US;
    return action.kind;
}

/* Schedules polls around the time at which the next range will be wanted, assuming that callers continue at the same
 * rate. */
static void part_watch(struct vs_segment_part *part) {
    int64_t look_us = part->used_us / WATCH_PARTS, now = part_now_us(part);
    int64_t from_us = part->refill.refilled_us + part->used_us - look_us;
    bool is_ahead = part->on_want && look_us >= WATCH_MIN_US && part->used_us <= WATCHED_US &&
                    now < from_us + WATCH_LOOKS * look_us;
    bool watches = is_ahead && now >= from_us;
    int64_t next_us = watches ? now + look_us : from_us;
    if (is_ahead && next_us < part->due_us) part->due_us = next_us;
    atomic_store(&part->watches, watches);
    /* A taker that saw `watches` before this store did not wake the thread, but has set `wanted`. */
    if (!watches && part->on_want && atomic_load(&part->wanted)) part->due_us = 0;
}

bool vs_part_run(struct vs_segment_part *part, struct vs_store *store, const char *why) {
    vs_segment_see(part->segment);
    if (part->segment->strict) {
        if (atomic_load(&part->leave) != VS_LEAVE_NOT) return false; /* the part has no unused ranges */
        vs_strict_run(part, store, why);
        return true;
    }
    struct vs_live *live = atomic_load(&part->segment->live);
    bool leaves = atomic_load(&part->leave) == VS_LEAVE_AND_GIVE_BACK;
    assert(part->refill.phase == VS_RF_REST); /* each run ends in this phase, or a reset follows */
    atomic_store(&part->watches, false);
    if (!leaves && !vs_share_is_found(part, store, why)) return true;
    atomic_exchange(&part->wanted, 0); /* clear this before the check, so that a later request wakes the thread again */
    bool due = !leaves && vs_segment_is_due(live->words), is_mine = due && part_may_ask(part, live->words);
    enum vs_refill_do last = part_run(part, live, &(struct asked){store, why}, is_mine);
    vs_segment_end_refill(live->words, part->token);
    vs_part_report(part);
    if (last == VS_REFILL_END) return false;
    /* takers have already passed the mark of the new range */
    if (is_mine && part->on_want && vs_segment_is_due(live->words)) part->due_us = 0;
    if (due && !is_mine) {
        part->due_us = part_now_us(part) + AGAIN_US;
        part->on_want = false;
    }
    part_watch(part);
    return true;
}
