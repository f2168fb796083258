/* strict.c -- order `strict`: numbers increase from call to call, across hosts.  There are no ranges.  Callers draw
 * tickets, and the database's thread raises the counter for all open tickets in one transaction.  A ticket that is
 * drawn after the transaction began waits for the next transaction, because another host may have issued a larger
 * number in between. */
#include "base/error.h"
#include "base/rest.h"
#include "keeper/segment/counter.h"
#include "os/lock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define TRIES 4 /* attempts per transaction, in case other processes change the counter at the same time */

/* ------------------------------------------------------------------ tickets */

uint64_t vs_strict_ask(struct vesta_segment *seg, uint64_t n) {
    assert(n > 0 && n <= VESTA_NUMBERS_MAX);
    return atomic_fetch_add(&seg->strict->drawn, n);
}

/* Reads a group.  Returns false if the thread was writing it. */
static bool read_group(const struct vs_group *group, struct vs_group_read *out) {
    uint64_t turn = atomic_load(&group->turn);
    out->first = atomic_load(&group->first);
    out->count = atomic_load(&group->count);
    out->from = atomic_load(&group->from);
    return turn % 2 == 0 && atomic_load(&group->turn) == turn;
}

enum vs_segment_answer vs_strict_answer(const struct vesta_segment *seg, uint64_t ticket, uint64_t *number) {
    const struct vs_strict *strict = seg->strict;
    struct vs_group_read group;
    if (atomic_load(&strict->served) <= ticket) return VS_NOT_YET;
    for (int i = 0; i < VS_GROUPS; i++) {
        if (!read_group(&strict->group[i], &group) || ticket - group.first >= group.count) continue;
        *number = group.from + (ticket - group.first);
        return group.from ? VS_ANSWERED : VS_FAILED;
    }
    return VS_FAILED; /* the group was overwritten because the caller slept too long, so these numbers stay unused */
}

/* ------------------------------------------------------------------ the thread */

/* Answers the tickets from `served` to `until` with the numbers from `from` on.  If `from` is 0, the tickets fail.
 * Only the database's thread calls this. */
static void strict_settle(struct vesta_segment *seg, uint64_t until, uint64_t from) {
    struct vs_strict *strict = seg->strict;
    uint64_t first = atomic_load(&strict->served);
    struct vs_group *group = &strict->group[strict->groups++ % VS_GROUPS];
    assert(until > first);
    atomic_store(&group->turn, atomic_load(&group->turn) | 1);
    atomic_store(&group->first, first);
    atomic_store(&group->count, until - first);
    atomic_store(&group->from, from);
    atomic_fetch_add(&group->turn, 1);
    atomic_store(&strict->served, until);
    atomic_fetch_add(&strict->told, 1);
    vs_futex_wake(&strict->told);
}

/* Checks a grant, and sets `said`.  Returns the grant's first number, or 0 if the grant cannot be used. */
static uint64_t strict_judge(struct vs_segment_part *part, struct vs_segment *words, const struct vs_grant *grant,
                             uint64_t granted) {
    struct vs_range range;
    char *said = part->refill.said;
    const char *why = vs_range_of(grant->from, grant->until, 1, 0, &range);
    if (grant->delta > 1)
        why = "its row has a delta above 1, but order strict needs a single database that issues all numbers";
    if (why) {
        snprintf(said, VS_SAID_MAX, "the counter granted %" PRIu64 " to %" PRIu64 ": %s", grant->from, grant->until,
                 why);
        return 0;
    }
    if (grant->from < granted) {
        snprintf(said, VS_SAID_MAX,
                 "the counter went back: it grants %" PRIu64 " again, and this host was granted all "
                 "below %" PRIu64,
                 grant->from, granted);
        vs_words_stop(words, part->index, grant->from);
        return 0;
    }
    vs_raise_u64(&words->granted[part->index], grant->until);
    said[0] = '\0';
    return grant->from;
}

static void say_outcome(struct vs_segment_part *part, const struct vs_reply *reply) {
    static const char *const what[] = {
        [VS_STORE_CONFLICT] = "other processes changed the counter during each attempt to raise it",
        [VS_STORE_MOVED] = "other processes changed the counter during each attempt to raise it",
        [VS_STORE_REFUSED] = "the store rejected raising the counter",
        [VS_STORE_DOWN] = "the counter's store is unreachable",
        [VS_STORE_UNKNOWN] = "no reply from the store: it may have granted numbers, which stay unused",
    };
    assert(reply->outcome != VS_STORE_OK);
    char text[VS_SAID_MAX];
    vs_put_said(part->refill.said, VS_SAID_MAX, what[reply->outcome], vs_reply_say(reply, "", text, sizeof text));
}

/* Raises a rolled-back counter repeatedly, until an operator has acted.  Returns how long to sleep until
 * the next call. */
static int64_t raise_again(struct vs_segment_part *part, struct vs_segment *words, struct vs_store *store) {
    struct vs_strict *strict = part->segment->strict;
    const struct vesta_clock *clock = part->segment->clock;
    int64_t now_us = clock->boot_us(clock->self);
    uint64_t granted = vs_segment_granted(words, part->index);
    struct vs_reply reply;
    if (granted > 0 && now_us >= strict->raise_at_us) {
        vs_part_raise(part, store, granted, &reply);
        strict->raise_at_us = now_us + (reply.outcome == VS_STORE_OK ? VS_REFILL_RAISE_US : VS_REST_REFUSED_US);
    }
    return strict->raise_at_us > now_us ? strict->raise_at_us - now_us : VS_REFILL_LOOK_US;
}

void vs_strict_run(struct vs_segment_part *part, struct vs_store *store, const char *why) {
    struct vesta_segment *seg = part->segment;
    struct vs_segment *words = atomic_load(&seg->words);
    struct vs_strict *strict = seg->strict;
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    atomic_store(&part->wanted, 0);
    /* Read both values before the store call.  Tickets drawn after this, and grants to other processes of this host,
     * belong to the next call. */
    uint64_t granted = vs_segment_granted(words, part->index), until = atomic_load(&strict->drawn);
    uint64_t n = until - atomic_load(&strict->served);
    int64_t rest_us = VS_REFILL_LOOK_US;
    bool is_stopped = vs_words_are_stopped(words, part->index);
    if (n > 0 && !is_stopped) {
        snprintf(reply.text, sizeof reply.text, "%s", why);
        for (int i = 0; store && n <= VS_RANGE_MAX && i < TRIES && (i == 0 || reply.outcome == VS_STORE_CONFLICT); i++)
            vs_part_take(part, store, n, &reply);
        uint64_t first = reply.outcome == VS_STORE_OK ? strict_judge(part, words, &reply.grant, granted) : 0;
        if (reply.outcome != VS_STORE_OK) say_outcome(part, &reply);
        atomic_store(&part->is_refused, reply.outcome == VS_STORE_REFUSED);
        if (first) strict->troubles = 0;
        if (!first)
            rest_us =
                vs_rest_us(strict->troubles++, reply.outcome == VS_STORE_REFUSED ? VS_REST_REFUSED_US : VS_REST_MIN_US,
                           part->refill.dice);
        strict_settle(seg, until, first);
        if (first && atomic_load(&strict->drawn) != until) rest_us = 0;
    } else if (n > 0) {
        strict_settle(seg, until, 0);
    }
    if (vs_words_are_stopped(words, part->index))
        rest_us = raise_again(part, words, store);
    else
        strict->raise_at_us = 0;
    part->on_want = strict->troubles == 0;
    part->due_us = seg->clock->boot_us(seg->clock->self) + rest_us;
    vs_part_report(part);
}
