/* desk.c -- threads that call the database for requests.  They take numbers in strict order, in one transaction for all
 * waiting requests, and they reserve and settle numbers of dense tags.  Each thread has its own connection.
 *
 * If the outcome of a step is unknown, the step is repeated with the same token, so that it is applied only once.  If a
 * client has disconnected, its jobs are not begun, and its reservations expire.  Contains no event loop code. */
#include "base/error.h"
#include "keeper/segment/memory.h"
#include "os/thread.h"
#include "serve/segments.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_US 20000 /* pause before repeating a step that conflicted with another writer's step */
/* A client that closed its sending side counts as disconnected after its job waited this long. */
#define IN_LINE_US 200000

STAILQ_HEAD(jobs, vs_desk_job);

struct desk {
    struct vs_desk desk; /* first, because tags point to it */
    struct vs_segments *segments;
    const struct vs_conf_segment *conf;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t woken;
    struct jobs jobs;
    int waiting, running; /* waiting jobs, running threads */
    bool ending;
};

/* ------------------------------------------------------------------ one job */

static bool is_over(const struct desk *desk, const struct vs_desk_job *job) {
    const struct vesta_clock *clock = desk->segments->serving->server.clock;
    return clock->boot_us(clock->self) >= job->until_us;
}

/* Raises the database's counter to the highest number granted to this host, so that no other host is granted these
 * numbers again. */
static void raise_counter(struct vs_store *store, const struct vs_counter *counter, struct vesta_segment *memory) {
    struct vs_reply lifted = {.outcome = VS_STORE_DOWN};
    store->counters->lift(store, counter, vs_memory_granted(memory), &lifted);
}

/* Stops a tag after its counter went back, because the database would grant its numbers again.  Nothing more is
 * reserved until an operator has acted. */
static void stop(struct vs_store *store, const struct vs_counter *counter, struct vesta_segment *memory,
                 const struct vs_reply *reply) {
    raise_counter(store, counter, memory);
    vs_memory_stop(memory, reply->lowered);
}

/* Commits a number again.  The database granted it a second time although this host saw it committed.  Without this
 * step the database could grant it to another host. */
static void commit_again(struct vs_store *store, const struct vs_counter *counter,
                         const struct vs_reservation *reservation, struct vs_reply *reply) {
    struct vs_reservation lost = *reservation;
    struct vs_reply settled = {.outcome = VS_STORE_DOWN};
    lost.number = reply->grant.from;
    store->counters->settle(store, counter, &lost, true, &settled);
    reply->outcome = VS_STORE_REFUSED;
    reply->by = VS_BY_HISTORY;
    reply->lowered = lost.number;
}

static void reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_desk_job *job,
                    const struct vs_reservation *reservation, struct vs_reply *reply) {
    if (vs_memory_is_alone(job->memory, store, reply)) store->counters->reserve(store, counter, reservation, reply);
    if (reply->outcome != VS_STORE_OK) return;
    if (vs_memory_has_committed(job->memory, reply->grant.from))
        commit_again(store, counter, reservation, reply);
    else
        vs_memory_grant(job->memory, reply->grant.from);
}

/* Returns whether to begin a job.  Over TCP, a client that has disconnected looks like a client that closed its sending
 * side and still reads.  Such a client is answered, but a job that had to wait is not begun for it. */
static bool is_to_begin(const struct desk *desk, struct vs_desk_job *job) {
    const struct vesta_clock *clock = desk->segments->serving->server.clock;
    if (vs_desk_job_is_left(job)) return false;
    if (!atomic_load(&job->is_half_closed) || clock->boot_us(clock->self) - job->asked_us < IN_LINE_US) return true;
    job->answer = VS_DESK_DOWN;
    job->pause = (struct vesta_pause){.why = VESTA_RANGE};
    snprintf(job->text, sizeof job->text, "the client closed its side of the connection while its request waited");
    return false;
}

static void ask_once(struct vs_store *store, const struct vs_conf_segment *conf, const struct vs_desk_job *job,
                     struct vs_reply *reply) {
    const struct vs_counter counter = {vs_conf_segment_table(conf), job->tag};
    const struct vs_reservation reservation = {.number = job->number,
                                               .token = {job->token[0], job->token[1]},
                                               .hold_ms = job->hold_ms,
                                               .granted = vs_memory_granted(job->memory)};
    if (job->ask == VS_DESK_RESERVE)
        reserve(store, &counter, job, &reservation, reply);
    else
        store->counters->settle(store, &counter, &reservation, job->ask == VS_DESK_COMMIT, reply);
    if (job->ask == VS_DESK_COMMIT && reply->outcome == VS_STORE_OK) vs_memory_commit(job->memory, job->number);
    if (reply->outcome == VS_STORE_REFUSED && reply->by == VS_BY_HISTORY) stop(store, &counter, job->memory, reply);
}

static enum vs_desk_answer answer_of(const struct vs_reply *reply, bool was_unknown) {
    if (reply->outcome == VS_STORE_OK) return VS_DESK_DONE;
    if (reply->outcome == VS_STORE_REFUSED && reply->by == VS_BY_RESERVATION) return VS_DESK_SETTLED;
    if (reply->outcome == VS_STORE_UNKNOWN || was_unknown) return VS_DESK_UNKNOWN;
    return reply->outcome == VS_STORE_REFUSED && reply->by == VS_BY_HISTORY ? VS_DESK_BACK : VS_DESK_DOWN;
}

static void say_why(struct vs_desk_job *job, const char *text) {
    struct vesta_pause pause = {.why = VESTA_FAILSTOP};
    if (job->answer == VS_DESK_BACK)
        vesta_segment_pause_text(job->memory, &pause, job->text, sizeof job->text);
    else
        snprintf(job->text, sizeof job->text, "%s", *text ? text : "the database does not answer");
}

/* Runs a job.  An attempt with an unknown outcome counts as possibly applied until a later attempt shows the result.
 * The function stops if the client has disconnected. */
static void serve_job(const struct desk *desk, struct vs_store *store, struct vs_desk_job *job) {
    const struct vesta_clock *clock = desk->segments->serving->server.clock;
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    bool was_unknown = false;
    if (job->ask == VS_DESK_RESERVE && vs_memory_is_stopped(job->memory)) {
        /* Repeated for each request, because the counter may have been lowered again. */
        raise_counter(store, &(struct vs_counter){vs_conf_segment_table(desk->conf), job->tag}, job->memory);
        job->answer = VS_DESK_BACK;
        say_why(job, "");
        return;
    }
    while (!is_over(desk, job) && !vs_desk_job_is_left(job)) {
        reply = (struct vs_reply){.outcome = VS_STORE_DOWN};
        ask_once(store, desk->conf, job, &reply);
        if (reply.outcome == VS_STORE_OK || reply.outcome == VS_STORE_REFUSED) break;
        was_unknown |= reply.outcome == VS_STORE_UNKNOWN;
        clock->sleep_us(clock->self, AGAIN_US);
    }
    job->answer = answer_of(&reply, was_unknown);
    char text[VS_REPLY_TEXT_MAX];
    say_why(job, vs_reply_say(&reply, "", text, sizeof text));
    if (job->answer == VS_DESK_DONE && job->ask == VS_DESK_RESERVE) {
        job->number = reply.grant.from;
        job->held_until_ms = reply.grant.held_until_ms;
    }
}

static struct vs_store *open_store(const struct desk *desk, struct vesta_error *err) {
    struct vs_store_opts opts = {.namespace_ = "default",
                                 .group = -1,
                                 .clock = desk->segments->serving->server.clock,
                                 .secret = desk->conf->secret[0],
                                 .cut_us = &desk->segments->cut_us};
    struct vs_store *store;
    return vs_store_open(desk->conf->uri[0], &opts, &store, err) == VESTA_OK ? store : NULL;
}

/* ------------------------------------------------------------------ numbers in strict order, for many at once */

#define SLICE_US 200000 /* interval at which a waiting thread checks whether the desk is ending */

/* Takes the first job, and all other jobs that request numbers of the same segment, because they share one
 * transaction.  Returns how many numbers these jobs need. */
static uint64_t take_alike(struct desk *desk, struct vs_desk_job *first, struct jobs *alike) {
    uint64_t count = first->count;
    struct jobs rest = STAILQ_HEAD_INITIALIZER(rest);
    STAILQ_INSERT_TAIL(alike, first, queued);
    pthread_mutex_lock(&desk->lock);
    for (struct vs_desk_job *job; (job = STAILQ_FIRST(&desk->jobs));) {
        bool is_alike = job->seg == first->seg && count + job->count <= VESTA_NUMBERS_MAX && !vs_desk_job_is_left(job);
        STAILQ_REMOVE_HEAD(&desk->jobs, queued);
        if (is_alike) STAILQ_INSERT_TAIL(alike, job, queued);
        if (!is_alike) STAILQ_INSERT_TAIL(&rest, job, queued);
        if (is_alike) desk->waiting--, count += job->count;
    }
    STAILQ_CONCAT(&desk->jobs, &rest);
    pthread_mutex_unlock(&desk->lock);
    return count;
}

static bool desk_is_ending(struct desk *desk) {
    pthread_mutex_lock(&desk->lock);
    bool ending = desk->ending;
    pthread_mutex_unlock(&desk->lock);
    return ending;
}

static void finish(struct desk *desk, struct vs_desk_job *job) {
    vs_tags_let(job->tags);
    atomic_store(&job->is_done, true);
    vs_desk_job_let(job);
    vs_serve_wake(&desk->segments->serving->server);
}

/* Requests numbers once and waits for the reply in slices.  If each slice made a new request, the numbers of earlier
 * replies would be lost, and a database that is slower than a slice would never deliver any. */
static int take_numbers(struct desk *desk, const struct vs_desk_job *first, uint64_t count,
                        struct vesta_numbers *numbers, struct vesta_pause *pause) {
    uint64_t ticket;
    int rc = VESTA_ENOTNOW;
    while ((rc == VESTA_ENOTNOW || (rc == VESTA_EPAUSE && pause->why == VESTA_RANGE)) && !is_over(desk, first) &&
           !desk_is_ending(desk)) {
        if (rc == VESTA_ENOTNOW && vesta_segment_ask(first->seg, count, &ticket) != VESTA_OK) break;
        (void)vesta_segment_await(first->seg, ticket, SLICE_US);
        rc = vesta_segment_answer(first->seg, ticket, count, numbers, pause);
    }
    return rc;
}

static void serve_alike(struct desk *desk, struct vs_desk_job *first) {
    struct jobs alike = STAILQ_HEAD_INITIALIZER(alike);
    struct vesta_numbers numbers = {.count = 0};
    struct vesta_pause pause = {.why = VESTA_RANGE};
    uint64_t count = take_alike(desk, first, &alike);
    int rc = take_numbers(desk, first, count, &numbers, &pause);
    for (struct vs_desk_job *job; (job = STAILQ_FIRST(&alike));) {
        STAILQ_REMOVE_HEAD(&alike, queued);
        job->answer = rc == VESTA_OK ? VS_DESK_DONE : VS_DESK_DOWN;
        job->pause = pause;
        job->numbers = (struct vesta_numbers){numbers.first, job->count, numbers.stride};
        numbers.first += job->count * numbers.stride;
        finish(desk, job);
    }
}

/* ------------------------------------------------------------------ threads */

static struct vs_desk_job *next_job(struct desk *desk) {
    pthread_mutex_lock(&desk->lock);
    while (STAILQ_EMPTY(&desk->jobs) && !desk->ending)
        pthread_cond_wait(&desk->woken, &desk->lock);
    struct vs_desk_job *job = desk->ending ? NULL : STAILQ_FIRST(&desk->jobs);
    if (job) STAILQ_REMOVE_HEAD(&desk->jobs, queued);
    if (job) desk->waiting--;
    pthread_mutex_unlock(&desk->lock);
    return job;
}

static void *desk_work(void *arg) {
    struct desk *desk = arg;
    struct vs_store *store = NULL;
    struct vs_desk_job *job;
    while ((job = next_job(desk))) {
        struct vesta_error err = {.text = ""};
        if (!is_to_begin(desk, job)) {
            finish(desk, job);
            continue;
        }
        if (job->ask == VS_DESK_NUMBERS) {
            serve_alike(desk, job);
            continue;
        }
        if (!store) store = open_store(desk, &err);
        if (store)
            serve_job(desk, store, job);
        else
            job->answer = VS_DESK_DOWN, snprintf(job->text, sizeof job->text, "%.250s", err.text);
        finish(desk, job);
    }
    if (store) store->backend->close(store);
    pthread_mutex_lock(&desk->lock);
    desk->running--;
    pthread_cond_broadcast(&desk->woken);
    pthread_mutex_unlock(&desk->lock);
    return NULL;
}

static bool take(struct vs_desk *self, struct vs_desk_job *job) {
    struct desk *desk = (struct desk *)self;
    pthread_mutex_lock(&desk->lock);
    bool has_room = desk->waiting < VS_DESK_WAITING_MAX && desk->running > 0 && !desk->ending;
    if (has_room) STAILQ_INSERT_TAIL(&desk->jobs, job, queued);
    if (has_room) desk->waiting++;
    pthread_cond_signal(&desk->woken);
    pthread_mutex_unlock(&desk->lock);
    return has_room;
}

/* Starts detached threads.  vs_desk_end waits until none is running. */
static void start_clerks(struct desk *desk) {
    pthread_t thread;
    for (int i = 0; i < VS_DESK_THREADS; i++) {
        pthread_mutex_lock(&desk->lock);
        bool begun = vs_thread_start(&thread, desk_work, desk) == 0;
        desk->running += begun;
        pthread_mutex_unlock(&desk->lock);
        if (begun) pthread_detach(thread);
    }
}

struct vs_desk *vs_desk_open(struct vs_segments *segments, const struct vs_conf_segment *conf) {
    struct desk *desk = calloc(1, sizeof *desk);
    if (!desk) return NULL;
    desk->desk.take = take;
    desk->segments = segments;
    desk->conf = conf;
    STAILQ_INIT(&desk->jobs);
    pthread_mutex_init(&desk->lock, NULL);
    vs_cond_init(&desk->woken);
    start_clerks(desk);
    return &desk->desk;
}

bool vs_desk_end(struct vs_desk *self, int64_t until_us) {
    struct desk *desk = (struct desk *)self;
    if (!desk) return true;
    pthread_mutex_lock(&desk->lock);
    desk->ending = true;
    pthread_cond_broadcast(&desk->woken);
    while (desk->running > 0 && vs_cond_wait(&desk->woken, &desk->lock, until_us))
        ;
    bool ended = desk->running == 0;
    pthread_mutex_unlock(&desk->lock);
    if (!ended) return false;
    for (struct vs_desk_job *job; (job = STAILQ_FIRST(&desk->jobs));) { /* no request waits for these jobs any more */
        STAILQ_REMOVE_HEAD(&desk->jobs, queued);
        vs_tags_let(job->tags);
        vs_desk_job_let(job);
    }
    pthread_cond_destroy(&desk->woken);
    pthread_mutex_destroy(&desk->lock);
    free(desk);
    return true;
}
