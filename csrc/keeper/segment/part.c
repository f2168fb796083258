/* part.c -- a segment in one of its databases: carries out what its refiller decides, against the store, the shared
 * words and the clock.  Called by the database's thread alone. */
#include "keeper/segment/counter.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEP_DEFAULT 1000
/* How long the others of a host leave a refiller alone that shows no sign of life: a call of its only database takes no
 * longer; where there are several, another one is asked before anybody waits for the first. */
#define PULSE_US ((int64_t)(VS_STORE_CALL_MS + 200) * 1000)
#define TURN_US ((int64_t)100000)
#define AGAIN_US ((int64_t)10000) /* another one asks just now: whether it does is looked at so often */
/* A range that is used up within this time is watched for: a wake-up would hold up one in so few takers. */
#define WATCHED_US ((int64_t)10000000)
#define WATCH_PARTS 32 /* of that time passes at the most from the want to the question */
#define WATCH_MIN_US ((int64_t)500)
#define WATCH_LOOKS 6 /* so many looks in vain, and who wants a range wakes the thread again */

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
    (void)vs_random(random, sizeof random); /* without any, retries are not spread, and the host's processes may ask
                                               for a range at the same time */
    struct vs_refill_opts opts = {.step = seg->step ? seg->step : STEP_DEFAULT,
                                  .step_max = part->step_max,
                                  .delta = seg->parts_count,
                                  .remainder = part->index,
                                  .database = part->index,
                                  .entropy = random[0]};
    assert(!atomic_load(&part->is_handed) || part->refill.phase == VS_RF_ENDED); /* else its thread is at work on it */
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

/* ------------------------------------------------------------------ whose turn it is */

static bool is_well(const struct vs_segment_part *part, const struct vs_segment *words) {
    return !atomic_load(&part->is_troubled) && !vs_words_are_stopped(words, part->index);
}

/* The databases take turns, by generation: how many of those that are well come before this one. */
static int64_t rank_of(const struct vs_segment_part *part, const struct vs_segment *words, uint64_t generation) {
    const struct vesta_segment *seg = part->segment;
    int64_t rank = 0;
    assert(part->index < seg->parts_count);
    for (uint32_t i = (uint32_t)(generation % seg->parts_count); i != part->index; i = (i + 1) % seg->parts_count)
        rank += is_well(&seg->part[i], words);
    return rank;
}

/* Whether this part asks for the range that is due; the token, if it has it then, is to be given back.  One that is in
 * trouble asks beside the others, in nobody's way: so it is found well again. */
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

/* ------------------------------------------------------------------ what a refiller asks of the world */

/* Who is asked; NULL: nobody, and why. */
struct asked {
    struct vs_store *store;
    const char *why;
};

/* The row's own share of the numbers, where it has one; with several databases it must be the one that their order
 * says, or two of them give the same numbers. */
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
             " databases: name all of them, in the order of their remainders",
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
    /* the row's own, as long as it is not known */
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

/* How fast the range before was used up. */
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

/* Makes what was taken out of the map in this process, of this database, the refiller's own. */
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

/* What it came to is the next event. */
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

/* From its rest to its rest, or to its end. */
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
    if (part->on_want) part->due_us -= part->due_us % VS_REFILL_LOOK_US; /* those at rest are looked at in one go */
    return action.kind;
}

/* Around the instant at which the next range will be wanted, if numbers go on as they went, it looks by itself. */
static void part_watch(struct vs_segment_part *part) {
    int64_t look_us = part->used_us / WATCH_PARTS, now = part_now_us(part);
    int64_t from_us = part->refill.refilled_us + part->used_us - look_us;
    bool is_ahead = part->on_want && look_us >= WATCH_MIN_US && part->used_us <= WATCHED_US &&
                    now < from_us + WATCH_LOOKS * look_us;
    bool watches = is_ahead && now >= from_us;
    int64_t next_us = watches ? now + look_us : from_us;
    if (is_ahead && next_us < part->due_us) part->due_us = next_us;
    atomic_store(&part->watches, watches);
    /* Who wanted one saw it watch still, and woke nobody; or sees it from here on. */
    if (!watches && part->on_want && atomic_load(&part->wanted)) part->due_us = 0;
}

bool vs_part_run(struct vs_segment_part *part, struct vs_store *store, const char *why) {
    vs_segment_see(part->segment);
    if (part->segment->strict) {
        if (atomic_load(&part->leave) != VS_LEAVE_NOT) return false; /* it has nothing to give back */
        vs_strict_run(part, store, why);
        return true;
    }
    struct vs_live *live = atomic_load(&part->segment->live);
    bool leaves = atomic_load(&part->leave) == VS_LEAVE_AND_GIVE_BACK;
    assert(part->refill.phase == VS_RF_REST); /* each run ends there, or is followed by a reset */
    atomic_store(&part->watches, false);
    if (!leaves && !vs_share_is_found(part, store, why)) return true;
    atomic_exchange(&part->wanted, 0); /* before it is looked at: what comes later wakes it again */
    bool due = !leaves && vs_segment_is_due(live->words), is_mine = due && part_may_ask(part, live->words);
    enum vs_refill_do last = part_run(part, live, &(struct asked){store, why}, is_mine);
    vs_segment_end_refill(live->words, part->token);
    vs_part_report(part);
    if (last == VS_REFILL_END) return false;
    if (is_mine && part->on_want && vs_segment_is_due(live->words)) part->due_us = 0; /* used up meanwhile */
    if (due && !is_mine) {
        part->due_us = part_now_us(part) + AGAIN_US;
        part->on_want = false;
    }
    part_watch(part);
    return true;
}
