/* refill.c -- the refiller of a counter: converts an event in each phase to an action.  Pure (refill.h). */
#include "segment/refill.h"

#include "base/error.h"
#include "base/rest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONFLICTS_MAX 3 /* number of retries without a sleep */

__attribute__((format(printf, 2, 3))) static void refill_say(struct vs_refill *refill, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(refill->said, sizeof refill->said, format, args);
    va_end(args);
}

static void refill_act(struct vs_refill *refill, struct vs_refill_action *out, enum vs_refill_phase phase,
                       enum vs_refill_do kind) {
    assert(refill->phase != VS_RF_ENDED);
    refill->phase = phase;
    *out = (struct vs_refill_action){.kind = kind};
}

static void act_sleep(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out,
                      int64_t us, bool on_want) {
    refill_act(refill, out, VS_RF_REST, VS_REFILL_SLEEP);
    out->until_boot_us = ev->boot_us + us;
    out->on_want = on_want;
}

/* All failures have the same maximum sleep, because a database that rejects calls may recover as quickly as one that is
 * down. */
static void act_back_off(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out,
                         int64_t us) {
    assert(us > 0);
    refill->dice = refill->dice * 6364136223846793005u + 1442695040888963407u;
    act_sleep(refill, ev, out, vs_rest_us(refill->troubles, us, refill->dice >> 33), false);
    refill->troubles++;
}

static void act_take(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    int64_t since_us = refill->refilled_us < 0 ? -1 : ev->boot_us - refill->refilled_us;
    refill_act(refill, out, VS_RF_TAKE, VS_REFILL_TAKE);
    refill->step =
        vs_step_next(refill->opts.step, refill->refills ? refill->settled : 0, since_us, refill->opts.step_max);
    refill->sent_us = ev->boot_us;
    out->step = refill->step;
}

static void act_untake(struct vs_refill *refill, struct vs_refill_action *out, enum vs_refill_phase phase,
                       struct vs_unused unused) {
    assert(unused.from < unused.until);
    refill_act(refill, out, phase, VS_REFILL_UNTAKE);
    out->unused = unused;
}

/* Returns the newly granted range to the store, because the range is not needed. */
static void act_return(struct vs_refill *refill, struct vs_refill_action *out, bool ends) {
    refill->ends = ends;
    act_untake(
        refill, out, VS_RF_RETURN,
        (struct vs_unused){.from = refill->from, .until = refill->range.until, .database = refill->range.database});
}

/* Makes the refiller the owner of the unused ranges.  With CLOSE, also closes the segment's words.  With CLAIM, the
 * words stay in use. */
static void act_claim(struct vs_refill *refill, struct vs_refill_action *out, enum vs_refill_do how) {
    refill_act(refill, out, VS_RF_CLAIM, how);
}

/* Handles a counter that was rolled back.  Raises it to what this host was granted, so that no other host is granted
 * those numbers again.  Repeats this until an operator has acted, because another restore may lower the counter again.
 * A counter that is high enough is not changed. */
static void stand_still(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    if (ev->granted == 0) {
        act_sleep(refill, ev, out, VS_REFILL_LOOK_US, false);
        return;
    }
    refill_act(refill, out, VS_RF_RAISE, VS_REFILL_RAISE);
    out->floor = ev->granted > ev->answered ? ev->granted : ev->answered;
}

/* ------------------------------------------------------------------ steps */

static void step_rest(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_WAKE);
    if (ev->stop || ev->closed || refill->ends) {
        if (ev->stop) refill_say(refill, "%s", ""); /* from here on, `said` reports only the end */
        act_claim(refill, out, ev->closed || refill->ends ? VS_REFILL_CLOSE : VS_REFILL_CLAIM);
    } else if (ev->stopped) {
        if (!*refill->said) refill_say(refill, "the counter went back: correct it, then run vesta segments resume");
        stand_still(refill, ev, out);
    } else if (!ev->due) {
        act_sleep(refill, ev, out, VS_REFILL_LOOK_US, true);
    } else {
        /* Read both before the request is sent, because the reply need not include later grants to other processes of
         * this host. */
        refill->granted = ev->granted;
        refill->forgone = ev->forgone;
        act_take(refill, ev, out);
    }
}

static void refill_halt(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    refill_say(refill,
               "the counter went back: it grants %" PRIu64 " again, and this host was granted all below %" PRIu64
               ": set it above all numbers that any host was granted",
               ev->from, refill->granted);
    refill_act(refill, out, VS_RF_HALT, VS_REFILL_HALT);
}

/* Discards a granted range.  The counter has been rolled back in the meantime, so the range is neither used nor
 * returned, because other hosts may have it, too. */
static void refill_burn(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out,
                        bool ends) {
    refill->ends = ends;
    if (ends)
        act_claim(refill, out, VS_REFILL_CLOSE);
    else
        stand_still(refill, ev, out);
}

/* Returns whether another process of this host was granted numbers above the start of this range.  They may be the same
 * numbers, if the database lost that grant during the call.  So the range is neither used nor returned.  The next
 * request decides whether the counter went back. */
static bool refill_is_doubtful(const struct vs_refill *refill, const struct vs_refill_event *ev) {
    return refill->from < ev->granted;
}

/* Gives up the newly granted range.  Returns it to the store, unless it is doubtful. */
static void refill_give_up(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out,
                           bool ends) {
    if (!refill_is_doubtful(refill, ev))
        act_return(refill, out, ends);
    else if (ends)
        refill_burn(refill, ev, out, true);
    else
        act_sleep(refill, ev, out, VS_REFILL_LOOK_US, true);
}

/* Handles a grant of [from, until). */
static void take_up(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    const char *why = vs_range_of(ev->from, ev->until, refill->opts.delta, refill->opts.remainder, &refill->range);
    if (why) {
        refill_say(refill, "the counter granted an invalid range, %" PRIu64 " to %" PRIu64 ": %s", ev->from, ev->until,
                   why);
        act_back_off(refill, ev, out, VS_REST_REFUSED_US);
        return;
    }
    refill->from = ev->from;
    refill->step = ev->until - ev->from; /* may differ from the requested step, because the row's step has priority */
    refill->range.database = refill->opts.database;
    if (ev->stopped && ev->from >= refill->granted) {
        refill_burn(refill, ev, out, ev->closed);
        return;
    }
    if (ev->closed) {
        refill_give_up(refill, ev, out, true);
        return;
    }
    if (ev->from < refill->granted && ev->forgone != refill->forgone) {
        /* another process returned a range in the meantime, which may explain the low value, so request again */
        refill_give_up(refill, ev, out, false);
        return;
    }
    if (ev->from < refill->granted) {
        refill_halt(refill, ev, out);
        return;
    }
    if (ev->step > 0 && ev->step <= VS_RANGE_MAX) refill->opts.step = ev->step;
    int64_t used_us = refill->refilled_us < 0 ? 0 : refill->sent_us - refill->refilled_us;
    refill->range.mark = vs_range_mark(refill->range.count, refill->count, used_us, ev->boot_us - refill->sent_us);
    refill_act(refill, out, VS_RF_PUBLISH, VS_REFILL_PUBLISH);
    out->range = refill->range;
}

static void step_take(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_REPLY);
    switch (ev->outcome) {
    case VS_STORE_OK: take_up(refill, ev, out); return;
    case VS_STORE_CONFLICT:
    case VS_STORE_MOVED:
        if (refill->troubles++ < CONFLICTS_MAX) {
            act_take(refill, ev, out);
            return;
        }
        refill_say(refill, "other processes changed the counter during each attempt to raise it");
        break;
    case VS_STORE_DOWN:
        vs_put_said(refill->said, sizeof refill->said, "the counter's store is unreachable", ev->text);
        break;
    case VS_STORE_UNKNOWN:
        /* The database may make the grant now, later or never.  The range that the row shows may also be granted to
         * another host. */
        vs_put_said(refill->said, sizeof refill->said,
                    "no reply from the store: it may have granted a range, which stays unused", ev->text);
        break;
    case VS_STORE_REFUSED:
        vs_put_said(refill->said, sizeof refill->said, "the store rejected raising the counter", ev->text);
        act_back_off(refill, ev, out, VS_REST_REFUSED_US);
        return;
    }
    act_back_off(refill, ev, out, VS_REST_MIN_US);
}

static void step_publish(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_PUBLISHED);
    if (ev->published != VS_PUBLISHED) {
        bool is_spent = ev->published == VS_SEGMENT_SPENT;
        refill->troubles = 0; /* the store granted a range, so it works */
        refill_say(refill, "%s", is_spent ? "the segment's map is used up: it continues in a new map" : "");
        if (ev->stopped)
            refill_burn(refill, ev, out, ev->published != VS_NOT_NEEDED);
        else
            refill_give_up(refill, ev, out, ev->published != VS_NOT_NEEDED);
        return;
    }
    /* The first two ranges are requested in direct succession, so the first range cannot be used to measure the rate.
     */
    if (refill->refills++ > 0) refill->refilled_us = refill->sent_us;
    refill->count = refill->range.count;
    refill->settled = refill->step;
    refill->troubles = 0;
    refill_say(refill, "%s", "");
    act_sleep(refill, ev, out, VS_REFILL_LOOK_US, true);
}

/* Never retries, whatever the outcome.  A retry might find the same counter value again, at the end of another host's
 * range. */
static void step_return(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_REPLY);
    if (refill->ends)
        act_claim(refill, out, VS_REFILL_CLOSE);
    else
        act_sleep(refill, ev, out, VS_REFILL_LOOK_US, true);
}

static void step_raise(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_REPLY);
    if (ev->outcome == VS_STORE_OK)
        act_sleep(refill, ev, out, VS_REFILL_RAISE_US, false);
    else
        act_back_off(refill, ev, out, VS_REST_REFUSED_US);
}

/* Handles the next unused range: sends it to the store, once per range, or puts it back into the segment's words.  The
 * highest is sent first, because the counter is at its end.  The lowest is put back first, because a range is published
 * only above the numbers that this host was granted. */
static void refill_give_back(struct vs_refill *refill, struct vs_refill_action *out, bool may_return) {
    if (refill->unused_at == refill->unused_count) {
        refill_act(refill, out, VS_RF_ENDED, VS_REFILL_END);
        return;
    }
    if (may_return && refill->unused[refill->unused_at].is_last) {
        refill->sent = refill->unused[refill->unused_at++];
        act_untake(refill, out, VS_RF_UNTAKE, refill->sent);
        return;
    }
    refill->sent = refill->unused[--refill->unused_count];
    refill_act(refill, out, VS_RF_PUT_BACK, VS_REFILL_PUT_BACK);
    out->unused = refill->sent;
}

static void step_claim(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_CLAIMED);
    assert(ev->unused_count <= VS_RESTS_MAX);
    memcpy(refill->unused, ev->unused, sizeof refill->unused);
    refill->unused_count = ev->unused_count;
    refill->unused_at = 0;
    /* A counter that was rolled back may have reached the end of this range again, with numbers of other hosts. */
    refill_give_back(refill, out, !ev->stopped);
}

/* If the store does not take a range back, the counter is not at the end of a lower range, either. */
static void step_untake(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_REPLY);
    if (ev->outcome == VS_STORE_OK) {
        refill_give_back(refill, out, true);
        return;
    }
    if (ev->outcome == VS_STORE_UNKNOWN) {
        refill_say(refill,
                   "the store did not reply when the numbers from %" PRIu64 " on were returned, so they stay unused",
                   refill->sent.from);
        refill_give_back(refill, out, false);
        return;
    }
    refill_say(refill,
               "the store did not take back the numbers from %" PRIu64
               " on. They are kept for the next start on this host",
               refill->sent.from);
    /* this is safe, because the store has rejected the range, and will not take it back later */
    refill->unused[--refill->unused_at] = refill->sent;
    refill_give_back(refill, out, false);
}

static void step_put_back(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    assert(ev->kind == VS_REFILL_KEPT);
    if (!ev->is_kept)
        refill_say(refill, "the numbers from %" PRIu64 " on could not be returned or stored, so they stay unused",
                   refill->sent.from);
    refill_give_back(refill, out, false);
}

void vs_refill_init(struct vs_refill *refill, const struct vs_refill_opts *opts) {
    assert(opts->step > 0);
    assert(opts->step <= VS_RANGE_MAX);
    assert(opts->delta > 0);
    assert(opts->remainder < opts->delta);
    *refill = (struct vs_refill){.opts = *opts, .refilled_us = -1, .dice = opts->entropy};
}

void vs_refill_step(struct vs_refill *refill, const struct vs_refill_event *ev, struct vs_refill_action *out) {
    switch (refill->phase) {
    case VS_RF_REST: step_rest(refill, ev, out); return;
    case VS_RF_TAKE: step_take(refill, ev, out); return;
    case VS_RF_PUBLISH: step_publish(refill, ev, out); return;
    case VS_RF_HALT: stand_still(refill, ev, out); return;
    case VS_RF_RAISE: step_raise(refill, ev, out); return;
    case VS_RF_RETURN: step_return(refill, ev, out); return;
    case VS_RF_CLAIM: step_claim(refill, ev, out); return;
    case VS_RF_UNTAKE: step_untake(refill, ev, out); return;
    case VS_RF_PUT_BACK: step_put_back(refill, ev, out); return;
    case VS_RF_ENDED: break;
    }
    assert(!"an event after the end");
}
