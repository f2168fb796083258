/* take.c -- takes ids for a request from its generator or its tag's segment, unless other requests already wait for
 * them.  Contains no socket or protocol code.  Never blocks. */
#include "server/take.h"
#include "generator/generator.h"
#include "server/resp/multi.h"
#include "server/shares.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Stores ids until the request resumes.  If there is no memory, the ids are lost and never issued. */
static void take_keep(struct vs_session *s, const uint64_t *ids, size_t count, size_t n) {
    if (count == 0 || !vs_session_keep(s, n)) return;
    if (ids != s->waiting.ids) memcpy(s->waiting.ids, ids, count * sizeof *ids);
    s->waiting.ids_count = count;
}

/* Returns whether the request must wait behind requests that already wait.  A request that already waits in that queue
 * only runs when it is its turn. */
static bool must_queue(struct vs_request *r) {
    struct vs_session *s = r->session;
    int at = vs_request_queue(r);
    if (r->tag && r->tag->desk) return false; /* the desk serves simultaneous requests in one database transaction */
    bool was_there = s->waiting.deadline_us != 0 && s->waiting.queue == at;
    if (s->scratch->queue[at].waiting == 0 || was_there) return false;
    r->pause = s->scratch->queue[at].pause;
    return true;
}

enum vs_reply_state vs_take_wait(struct vs_request *r, vs_handler *stage) {
    enum vs_waits_for ids = r->session->waiting.job ? VS_FOR_JOB : VS_FOR_IDS;
    return vs_wait_for(r, r->held ? VS_FOR_SHARE : ids, stage);
}

/* ------------------------------------------------------------------ from the tag's desk */

/* Queues a job at the tag's desk and sets session->waiting.job.  Returns false if too many jobs wait, or if there is no
 * memory. */
static bool ask_desk(struct vs_request *r, const struct vs_desk_job *what) {
    const struct vesta_clock *clock = r->session->server->clock;
    struct vs_desk_job *job = vs_desk_job_new(what);
    if (!job) return false;
    snprintf(job->tag, sizeof job->tag, "%s", r->tag->name);
    job->asked_us = clock->boot_us(clock->self);
    job->until_us = job->asked_us + r->tag->wait_us_max;
    job->seg = r->tag->seg;
    job->memory = r->tag->memory;
    job->tags = vs_request_tags(r);
    vs_tags_hold(job->tags);
    if (r->tag->desk->take(r->tag->desk, job)) {
        r->session->waiting.job = job;
        return true;
    }
    vs_tags_let(job->tags);
    vs_desk_job_let(job);
    vs_desk_job_let(job);
    return false;
}

/* Takes n numbers in strict order from the desk.  The first call queues a job for them. */
static int numbers_of_desk(struct vs_request *r, uint64_t n, struct vesta_numbers *numbers) {
    struct vs_waiting *waiting = &r->session->waiting;
    r->pause = (struct vesta_pause){.why = VESTA_RANGE, .wait_us = 0};
    if (!waiting->job) { /* if the desk rejects the job, the request waits and tries again */
        (void)ask_desk(r, &(struct vs_desk_job){.ask = VS_DESK_NUMBERS, .count = n});
        return VESTA_EPAUSE;
    }
    if (!atomic_load(&waiting->job->is_done)) return VESTA_EPAUSE;
    struct vs_desk_job *job = waiting->job;
    int rc = job->answer == VS_DESK_DONE ? VESTA_OK : VESTA_EPAUSE;
    if (rc == VESTA_OK)
        *numbers = job->numbers;
    else
        r->pause = job->pause;
    if (numbers->count > n) numbers->count = n; /* a reload reduced the client's rate, so some numbers stay unused */
    waiting->job = NULL;
    vs_desk_job_let(job);
    return rc;
}

static enum vs_reply_state job_done(struct vs_request *r) {
    r->pause = (struct vesta_pause){.why = VESTA_RANGE, .wait_us = 0};
    return atomic_load(&r->session->waiting.job->is_done) ? r->then(r) : vs_wait_for(r, VS_FOR_JOB, job_done);
}

enum vs_reply_state vs_take_job(struct vs_request *r, const struct vs_desk_job *what, vs_handler *done) {
    r->then = done;
    if (ask_desk(r, what)) return job_done(r);
    return vs_refuse(r, "range", "too many requests wait for '%s': try again later", r->tag->name);
}

/* ------------------------------------------------------------------ ids */

static int next_numbers(struct vs_request *r, uint64_t n, struct vesta_numbers *numbers) {
    return r->tag->desk ? numbers_of_desk(r, n, numbers) : vesta_segment_next_n(r->tag->seg, n, numbers, &r->pause);
}

/* next_id takes one id from a namespace or a tag.  next_ids takes up to n ids. */
static int next_id(struct vs_request *r, uint64_t *id) {
    struct vesta_numbers numbers;
    if (!r->tag) return vesta_next(r->gen, id, &r->pause);
    if (!r->tag->desk) return vesta_segment_next(r->tag->seg, id, &r->pause);
    int rc = numbers_of_desk(r, 1, &numbers);
    if (rc == VESTA_OK) *id = numbers.first;
    return rc;
}

/* Takes ids that become ids of 128 bits.  If the clock goes back, these need not wait. */
static int next_ids_ahead(struct vs_request *r, uint64_t *ids, size_t n, size_t *got) {
    struct vesta_block block;
    int rc = vs_gen_take_lead(r->gen, n, &block, &r->pause);
    if (rc != VESTA_OK) return rc;
    for (uint64_t i = 0; i < block.count; i++)
        ids[i] = vesta_block_id(r->ns->layout, &block, i);
    *got = block.count;
    return VESTA_OK;
}

static int next_ids(struct vs_request *r, uint64_t *ids, size_t n, size_t *got) {
    struct vesta_numbers numbers;
    if (r->shape) return next_ids_ahead(r, ids, n, got);
    if (!r->tag) return vesta_next_n(r->gen, ids, n, got, &r->pause);
    int rc = next_numbers(r, n, &numbers);
    if (rc != VESTA_OK) return rc;
    for (uint64_t i = 0; i < numbers.count; i++)
        ids[i] = numbers.first + i * numbers.stride;
    *got = numbers.count;
    return VESTA_OK;
}

/* Sets *may to how many ids the request may take now under its rate limits and fair share.  Returns false if it must
 * wait.  If no rate limit applies and there are enough ids for all clients, only reads two flags. */
static inline bool may_take(struct vs_request *r, uint64_t want, bool exact, uint64_t *may) {
    bool is_shared = !r->tag && (want >= VS_SHARES_FROM || access_pool_is_shared(&r->ns->pool));
    *may = want;
    return ((!is_shared && !r->session->is_metered) || vs_shares_ask(r, want, exact, may)) && !must_queue(r);
}

static enum vs_reply_state take_begin(struct vs_request *r, uint64_t n, vs_handler *done, vs_handler *stage) {
    r->n = n;
    r->then = done;
    return stage(r);
}

static enum vs_reply_state stage_one(struct vs_request *r) {
    uint64_t may;
    if (!may_take(r, 1, true, &may) || next_id(r, r->ids) != VESTA_OK) return vs_take_wait(r, stage_one);
    vs_count_ids(r, 1);
    return r->then(r);
}

enum vs_reply_state vs_take_id(struct vs_request *r, vs_handler *done) {
    return r->session->multi ? vs_take_ids(r, 1, done) : take_begin(r, 1, done, stage_one);
}

/* If the request must wait, it no longer answers the identical requests after it (n = 1). */
static enum vs_reply_state stage_some(struct vs_request *r) {
    size_t got;
    uint64_t may, n = r->n;
    r->n = 1;
    if (!may_take(r, n, false, &may) || next_ids(r, r->ids, may, &got) != VESTA_OK) return vs_take_wait(r, stage_some);
    vs_count_ids(r, got);
    r->n = got;
    return r->then(r);
}

enum vs_reply_state vs_take_some(struct vs_request *r, size_t n, vs_handler *done) {
    return take_begin(r, n, done, stage_some);
}

/* Sets the request's namespace or tag to the i-th name, which was found before.  Returns how many names, from the i-th
 * on, are equal. */
static size_t turn_to_run(struct vs_request *r, size_t i, size_t n) {
    size_t run = 1;
    const struct vs_slice *name = &r->arg[i];
    bool found = vs_request_find(r, *name);
    assert(found);
    (void)found;
    while (i + run < n && name[run].length == name->length && memcmp(name[run].at, name->at, name->length) == 0)
        run++;
    return run;
}

bool vs_take_up_to(struct vs_request *r, uint64_t *ids, size_t *have, size_t n) {
    assert(n >= 1 && n <= VESTA_BATCH_MAX && *have <= n);
    while (*have < n) {
        size_t got, run = r->names > 1 ? turn_to_run(r, *have, n) : n - *have;
        uint64_t may;
        if (!may_take(r, run, true, &may) || next_ids(r, ids + *have, may, &got) != VESTA_OK) return false;
        vs_count_ids(r, got);
        *have += got;
    }
    return true;
}

static enum vs_reply_state stage_ids(struct vs_request *r) {
    struct vs_session *s = r->session;
    size_t have = s->waiting.ids_count, n = r->n;
    uint64_t *ids = have > 0 ? s->waiting.ids : r->ids; /* a request that waited stores its ids in waiting.ids */
    if (!vs_take_up_to(r, ids, &have, n)) {
        take_keep(s, ids, have, n);
        return vs_take_wait(r, stage_ids);
    }
    if (ids != r->ids) memcpy(r->ids, ids, n * sizeof *ids);
    return r->then(r);
}

/* Takes ids for a command of a transaction.  While the command is being queued, only declares its ids.  When it runs,
 * EXEC has already taken them. */
static enum vs_reply_state take_of_transaction(struct vs_request *r, uint64_t run) {
    size_t n = run > 1 ? 1 : r->n;
    if (!vs_multi_is_counting(r->session)) {
        memcpy(r->ids, vs_multi_hand_out(r->session, n), n * sizeof *r->ids);
        return r->then(r);
    }
    for (size_t i = 0; i < n; i++) {
        if (r->names > 1) vs_request_find(r, r->arg[i]);
        (void)vs_multi_want(r, run);
    }
    return VS_WAITS;
}

enum vs_reply_state vs_take_ids(struct vs_request *r, size_t n, vs_handler *done) {
    r->n = n;
    r->then = done;
    return vs_multi_hands_out(r->session) ? take_of_transaction(r, 1) : stage_ids(r);
}

static enum vs_reply_state stage_block(struct vs_request *r) {
    uint64_t may;
    if (!may_take(r, r->n, false, &may)) return vs_take_wait(r, stage_block);
    int rc = r->tag ? next_numbers(r, may, &r->got.numbers) : vesta_next_block(r->gen, may, &r->got.block, &r->pause);
    if (rc != VESTA_OK) return vs_take_wait(r, stage_block);
    vs_count_ids(r, r->tag ? r->got.numbers.count : r->got.block.count);
    return r->then(r);
}

enum vs_reply_state vs_take_block(struct vs_request *r, uint64_t n, vs_handler *done) {
    return take_begin(r, n, done, stage_block);
}

static enum vs_reply_state stage_turn(struct vs_request *r) {
    uint64_t may;
    return may_take(r, r->n, true, &may) ? r->then(r) : vs_take_wait(r, stage_turn);
}

enum vs_reply_state vs_take_turn(struct vs_request *r, uint64_t n, vs_handler *done) {
    return take_begin(r, n, done, stage_turn);
}

/* ------------------------------------------------------------------ numbers in a row */

/* Returns how many numbers a range of the tag can have: the numbers of the current range, or of the next range with the
 * smallest step of the tag's databases, whichever is more. */
static uint64_t range_count(const struct vesta_segment_info *info) {
    uint64_t step = UINT64_MAX;
    for (int i = 0; i < info->stores; i++)
        if (info->database[i].step < step) step = info->database[i].step;
    step /= info->stride > 0 ? info->stride : 1;
    return info->count > step ? info->count : step;
}

/* Discards the remainder of a range that is too short.  vs_take_check_run has ensured that the next range is long
 * enough. */
bool vs_take_run_now(struct vs_request *r, uint64_t n, uint64_t *last) {
    struct vesta_numbers numbers = {.count = 0};
    uint64_t may;
    if (!may_take(r, n, true, &may)) return false;
    do {
        if (next_numbers(r, n, &numbers) != VESTA_OK) return false;
        vs_count_ids(r, numbers.count);
        r->pause = (struct vesta_pause){.why = VESTA_RANGE, .wait_us = 0};
        /* the tag's first range has just arrived, and vs_take_check_run will reject the request */
        if (n > 1 && numbers.stride > 1) return false;
    } while (numbers.count < n);
    *last = numbers.first + (n - 1);
    return true;
}

bool vs_take_check_run(struct vs_request *r, uint64_t n) {
    struct vesta_segment_info info;
    if (n == 1 || r->tag->desk) return true;
    vesta_segment_get_info(r->tag->seg, &info);
    if (info.stride > 1) {
        vs_refuse(r, "bad_count",
                  "the numbers of '%s' are %llu apart, because several databases issue them, so %llu of them are never "
                  "consecutive: take one with INCR %s, or several with VESTA.NEXT %s %llu",
                  r->tag->name, (unsigned long long)info.stride, (unsigned long long)n, r->tag->name, r->tag->name,
                  (unsigned long long)n);
        return false;
    }
    uint64_t most = range_count(&info);
    if (n <= most) return true;
    vs_refuse(r, "bad_count", "n %llu exceeds the %llu numbers of a range of '%s': raise its step",
              (unsigned long long)n, (unsigned long long)most, r->tag->name);
    return false;
}

/* Checks the run at each try, because the tag may have had no range at the first try. */
static enum vs_reply_state stage_run(struct vs_request *r) {
    if (!vs_take_check_run(r, r->n)) return VS_ANSWERED;
    return vs_take_run_now(r, r->n, r->ids) ? r->then(r) : vs_take_wait(r, stage_run);
}

enum vs_reply_state vs_take_run(struct vs_request *r, uint64_t n, vs_handler *done) {
    r->n = n;
    r->then = done;
    if (!vs_multi_hands_out(r->session)) return stage_run(r);
    if (vs_multi_is_counting(r->session) && !vs_take_check_run(r, n))
        return r->session->multi->cannot = true, VS_ANSWERED;
    return take_of_transaction(r, n);
}
