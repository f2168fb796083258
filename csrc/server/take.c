/* take.c -- ids for a request: from its generator, where nobody waits for one before it.  Knows no socket and no
 * protocol; never waits. */
#include "server/take.h"
#include "server/resp/multi.h"

#include <assert.h>
#include <string.h>

/* Without memory the ids are lost: spent, not repeated. */
static void keep(struct vs_session *s, const uint64_t *ids, size_t count) {
    if (count == 0 || !vs_session_keep(s, count)) return;
    memcpy(s->waiting.ids, ids, count * sizeof *ids);
    s->waiting.ids_count = count;
}

/* Or those who wait could be passed by again and again.  A session with a deadline is at its turn. */
static bool must_queue(struct vs_request *r) {
    struct vs_session *s = r->session;
    ptrdiff_t at = r->ns - s->app->ns;
    if (s->scratch->queue[at].waiting == 0 || s->waiting.deadline_us != 0) return false;
    r->pause = s->scratch->queue[at].pause;
    return true;
}

enum vs_reply_state vs_take_id(struct vs_request *r, uint64_t *id) {
    if (r->session->multi) {
        enum vs_reply_state state = vs_take_ids(r, 1, NULL);
        *id = r->ids[0];
        return state;
    }
    if (must_queue(r) || vesta_next(r->gen, id, &r->pause) != VESTA_OK) return VS_WAITS;
    vs_count_ids(r, 1);
    return VS_ANSWERED;
}

/* Turns the request to the first of `names`; how many of them in a row mean that namespace. */
static size_t turn_to_run(struct vs_request *r, const struct vs_slice *names, size_t count) {
    size_t run = 1;
    vs_request_turn(r, vs_namespace_named(r->session->app, names->at, names->length));
    while (run < count && names[run].length == names->length && memcmp(names[run].at, names->at, names->length) == 0)
        run++;
    return run;
}

bool vs_take_up_to(struct vs_request *r, uint64_t *ids, size_t *have, size_t n, const struct vs_slice *names) {
    assert(n >= 1 && n <= VESTA_BATCH_MAX && *have <= n);
    while (*have < n) {
        size_t got, run = names ? turn_to_run(r, names + *have, n - *have) : n - *have;
        if (must_queue(r) || vesta_next_n(r->gen, ids + *have, run, &got, &r->pause) != VESTA_OK) return false;
        vs_count_ids(r, got);
        *have += got;
    }
    return true;
}

enum vs_reply_state vs_take_block(struct vs_request *r, uint64_t n, struct vesta_block *block) {
    if (must_queue(r) || vesta_next_block(r->gen, n, block, &r->pause) != VESTA_OK) return VS_WAITS;
    vs_count_ids(r, block->count);
    return VS_ANSWERED;
}

enum vs_reply_state vs_take_ids(struct vs_request *r, size_t n, const struct vs_slice *names) {
    struct vs_session *s = r->session;
    size_t have = s->waiting.ids_count;
    if (vs_multi_hands_out(s)) return vs_multi_take(r, n, names);
    if (have > 0) memcpy(r->ids, s->waiting.ids, have * sizeof *r->ids);
    if (vs_take_up_to(r, r->ids, &have, n, names)) return VS_ANSWERED;
    keep(s, r->ids, have);
    return VS_WAITS;
}
