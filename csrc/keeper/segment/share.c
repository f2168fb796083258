/* share.c -- checks that all hosts list a segment's databases in the same order.  Each database stores its share of the
 * numbers, and rejects a host that assigns it a different share.  Before a process takes its first range, it asks all
 * databases.  If one database rejects its share, no range is taken from any database, because with a wrong order two
 * databases could issue the same numbers.  A database that does not reply does not stop the other databases. */
#include "keeper/segment/counter.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WAIT_US ((int64_t)10000) /* poll interval while another database has not been asked yet */
/* a single database is asked again, because another host may have added databases */
#define AGAIN_US ((int64_t)60000000)
#define REST_US ((int64_t)1000000) /* interval between questions after a rejection, or without a reply */

#define BLOCKED "no range is taken while "

static bool seg_rests(struct vs_segment_part *part, int64_t us) {
    const struct vesta_clock *clock = part->segment->clock;
    vs_part_report(part);
    part->due_us = clock->boot_us(clock->self) + us;
    part->on_want = false;
    return false;
}

static void seg_ask_share(struct vs_segment_part *part, struct vs_store *store, const char *why) {
    const struct vs_share share = {.delta = part->segment->parts_count, .remainder = part->index};
    struct vs_counter counter = vs_part_counter(part);
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    enum vs_share_state state = VS_SHARE_AWAY;
    assert(share.remainder < share.delta);
    if (store) vs_store_share(store, &counter, &share, &reply);
    if (reply.outcome == VS_STORE_OK) state = VS_SHARE_FOUND;
    if (reply.outcome == VS_STORE_REFUSED) state = VS_SHARE_REFUSED;
    atomic_store(&part->share, state);
    atomic_store(&part->is_refused, state == VS_SHARE_REFUSED);
    if (state != VS_SHARE_FOUND) atomic_fetch_add(&part->answers[reply.outcome], 1);
    vs_reply_say(&reply, store ? "" : why, part->refill.said, sizeof part->refill.said);
}

bool vs_share_is_alone(struct vs_segment_part *part, struct vs_store *store, struct vs_reply *reply) {
    static const struct vs_share all = {.delta = 1, .remainder = 0};
    const struct vesta_segment *seg = part->segment;
    struct vs_counter counter = vs_part_counter(part);
    int64_t now_us = seg->clock->boot_us(seg->clock->self);
    assert(store);
    if (seg->parts_count > 1) return true; /* vs_share_is_found asks each database */
    if (atomic_load(&part->share) == VS_SHARE_FOUND && now_us < atomic_load(&part->share_until_us)) return true;
    vs_store_share(store, &counter, &all, reply);
    bool is_alone = reply->outcome == VS_STORE_OK;
    /* The outcome may be unknown, but no number was taken, so the outcome counts as DOWN. */
    if (reply->outcome == VS_STORE_UNKNOWN || reply->outcome == VS_STORE_MOVED) reply->outcome = VS_STORE_DOWN;
    atomic_store(&part->share, is_alone ? VS_SHARE_FOUND : VS_SHARE_UNASKED);
    atomic_store(&part->share_until_us, now_us + AGAIN_US);
    return is_alone;
}

bool vs_share_is_found(struct vs_segment_part *part, struct vs_store *store, const char *why) {
    const struct vesta_segment *seg = part->segment;
    assert(part->index < seg->parts_count);
    if (seg->parts_count == 1) return true;
    if (atomic_load(&part->share) != VS_SHARE_FOUND) seg_ask_share(part, store, why);
    if (atomic_load(&part->share) != VS_SHARE_FOUND) {
        seg_rests(part, REST_US);
        atomic_store(&part->is_troubled, true); /* so that another database gets the turn */
        return false;
    }
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        uint32_t state = atomic_load(&seg->part[i].share);
        if (state == VS_SHARE_UNASKED) return seg_rests(part, WAIT_US);
        if (state != VS_SHARE_REFUSED) continue;
        snprintf(part->refill.said, sizeof part->refill.said, BLOCKED "%.100s rejects its share", seg->part[i].shown);
        atomic_store(&part->is_refused, true);
        return seg_rests(part, REST_US);
    }
    if (strncmp(part->refill.said, BLOCKED, strlen(BLOCKED)) == 0) part->refill.said[0] = '\0';
    return true;
}
