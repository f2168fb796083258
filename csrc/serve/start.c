/* start.c -- from listening to serving: each namespace is opened, and waits for its worker number, on a thread of its
 * own, so that one whose store is away harms no other.  Knows no socket. */
#include "policy/control/control.h"
#include "serve/threads.h"
#include "command/options.h"
#include "serve/serving.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LEASE_STEP_US 100000
#define PROGRESS_US 2000000      /* nobody should look at a silent program for longer; */
#define PROGRESS_US_MAX 60000000 /* twice as long each time up to this: a day of waiting is not a log full of it */
#define CHOICE_STEP_US 1000      /* a policy answers soon */
#define RETRY_US 1000000         /* after a generator that could not be opened */

enum place { WAITING, READY, FAILED, PLACES };

struct vs_start {
    struct vs_serving *serving;
    struct vs_threads *threads;
    int64_t from_us;
    atomic_bool ending;
    pthread_mutex_t lock; /* over what follows */
    bool knows_tags; /* or there are none */
    int rc;          /* of a start that failed as a whole */
    int count[PLACES];
    enum place at[]; /* of each namespace */
};

/* ------------------------------------------------------------------ how far they are */

/* The start has failed, and with it the server. */
static void give_up(struct vs_start *start, int rc) {
    pthread_mutex_lock(&start->lock);
    if (start->rc == VS_GO) start->rc = rc;
    pthread_mutex_unlock(&start->lock);
    vs_serve_stop(&start->serving->app);
}

/* The last to settle says that the server is ready; where none can be served any more, it ends. */
static void look_whether_all_settled(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    int waiting = start->count[WAITING] + !start->knows_tags, ready = start->count[READY];
    pthread_mutex_unlock(&start->lock);
    if (waiting > 0 || atomic_load(&start->ending)) return;
    if (ready > 0 || start->serving->segments)
        vs_life_ready(start->serving, ready);
    else
        give_up(start, VS_FAILED);
}

static void settle(struct vs_start *start, int i, enum place place) {
    pthread_mutex_lock(&start->lock);
    start->count[start->at[i]]--;
    start->count[start->at[i] = place]++;
    pthread_mutex_unlock(&start->lock);
    look_whether_all_settled(start);
}

void vs_start_segments_settled(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    start->knows_tags = true;
    pthread_mutex_unlock(&start->lock);
    look_whether_all_settled(start);
}

bool vs_start_is_ready(struct vs_start *start, int i) {
    pthread_mutex_lock(&start->lock);
    bool ready = start->at[i] == READY;
    pthread_mutex_unlock(&start->lock);
    return ready;
}

int vs_start_waiting(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    int waiting = start->count[WAITING];
    pthread_mutex_unlock(&start->lock);
    return waiting;
}

/* Whether this one is all that could still be served: then what is wrong with it ends the server, and its manager may
 * try again. */
static bool is_last(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    bool last = !start->serving->segments && start->count[FAILED] == start->serving->app.ns_count - 1;
    pthread_mutex_unlock(&start->lock);
    return last;
}

/* No wait mends it.  Until the server is ready that is a start which failed, as a wrong config is; afterwards others
 * live by this server, and are not ended for it. */
static void fail(struct vs_start *start, int i, int rc, const char *text) {
    struct vs_namespace *ns = &start->serving->app.ns[i];
    vs_log(VS_LOG_ERROR, text, "namespace", ns->name, NULL);
    vs_namespace_set(ns, VS_NAMESPACE_REFUSED, text);
    if (!vs_life_is_ready(start->serving)) give_up(start, rc);
    settle(start, i, FAILED);
}

/* The operator has said how long a start may take; the server ends, whatever else it could serve. */
static bool is_too_late(struct vs_start *start, int i, const char *text) {
    struct vs_serving *serving = start->serving;
    int64_t ms_max = serving->config->start_wait_ms_max;
    char sentence[VS_NAMESPACE_WHY_MAX];
    if (ms_max == 0 || vs_monotonic_us() - start->from_us < ms_max * 1000) return false;
    snprintf(sentence, sizeof sentence, "%s: no worker number within %lld ms (--start-wait-ms): %.300s",
             serving->app.ns[i].name, (long long)ms_max, text);
    vs_log(VS_LOG_ERROR, sentence, NULL);
    give_up(start, VS_FAILED);
    return true;
}

static bool is_ending(const struct vs_start *start) {
    return atomic_load(&start->ending);
}

static void rest(const struct vs_start *start, int64_t us) {
    const struct vesta_clock *clock = start->serving->app.clock;
    for (; us > 0 && !is_ending(start); us -= LEASE_STEP_US)
        clock->sleep_us(clock->self, us < LEASE_STEP_US ? us : LEASE_STEP_US);
}

struct progress {
    int64_t said_us, rest_us;
};

static void tell_progress(const struct vs_namespace *ns, const char *text, struct progress *progress) {
    int64_t now_us = vs_monotonic_us();
    if (now_us - progress->said_us < progress->rest_us) return;
    progress->said_us = now_us;
    progress->rest_us = 2 * progress->rest_us < PROGRESS_US_MAX ? 2 * progress->rest_us : PROGRESS_US_MAX;
    vs_log(VS_LOG_WARN, "waiting for a worker number", "namespace", ns->name, "why", text, NULL);
    vs_notify("STATUS=waiting for a worker number of %s", ns->name);
}

/* ------------------------------------------------------------------ opening */

static void fail_to_open(struct vs_start *start, int i, const struct vesta_error *err) {
    char text[VS_NAMESPACE_WHY_MAX];
    bool usage = vs_is_usage(err);
    snprintf(text, sizeof text, usage ? "%.400s" : "%.400s (%s)", err->text, vesta_code_name(err->code));
    fail(start, i, usage ? VS_USAGE : VS_FAILED, text);
}

/* Where the ids of a generation cannot be proved because its store is away, or was not told of it yet, that is waited for
 * as a number is: it ends no server.  False: it cannot be served, or the server ends. */
static bool prove(struct vs_start *start, int i) {
    struct vs_serving *serving = start->serving;
    struct progress progress = {start->from_us - PROGRESS_US, PROGRESS_US};
    struct vesta_error err;
    while (!is_ending(start)) {
        int rc = vs_namespace_prove(&serving->config->ns[i], &err);
        if (rc == VESTA_OK) return true;
        if (rc != VESTA_EIO) return fail_to_open(start, i, &err), false;
        tell_progress(&serving->app.ns[i], err.text, &progress);
        vs_namespace_set(&serving->app.ns[i], VS_NAMESPACE_OPENING, err.text);
        if (is_too_late(start, i, err.text)) return false;
        rest(start, RETRY_US);
    }
    return false;
}

/* False: it cannot be served, or the server ends. */
static bool open_generator(struct vs_start *start, int i) {
    struct vs_serving *serving = start->serving;
    struct vs_namespace *ns = &serving->app.ns[i];
    struct vesta_error err;
    while (!is_ending(start)) {
        if (vs_namespace_open_gen(serving, i, &err) == VESTA_OK) {
            if (serving->control) vs_control_enter(serving->control, i, ns->gen[VS_RESP]);
            vs_namespace_set(ns, VS_NAMESPACE_OPEN, NULL);
            return true;
        }
        bool may_pass = err.code == VESTA_EIO || err.code == VESTA_ENOMEM;
        if (!may_pass || is_last(start)) return fail_to_open(start, i, &err), false;
        vs_log(VS_LOG_WARN, err.text, "namespace", ns->name, "again", "in a second", NULL);
        vs_namespace_set(ns, VS_NAMESPACE_OPENING, err.text);
        if (is_too_late(start, i, err.text)) return false;
        rest(start, RETRY_US);
    }
    return false;
}

/* ------------------------------------------------------------------ the first lease */

/* Has the keeper's question answered; false: a policy wants no lease. */
static bool is_wanted(const struct vs_serving *serving, int i, const struct vesta_pause *pause, char *why) {
    const struct vs_policies *policies = &serving->app.policies;
    int64_t until_us;
    if (!serving->control) return true;
    if (pause->why == VESTA_CHOOSE)
        (void)policies->judge(policies->self, i, serving->app.ns[i].gen[VS_RESP], pause, &until_us);
    return !vs_control_is_over(serving->control, i, why);
}

static void fail_as(struct vs_start *start, int i, const char *text) {
    char sentence[VS_NAMESPACE_WHY_MAX];
    snprintf(sentence, sizeof sentence, "%s: %.400s", start->serving->app.ns[i].name, text);
    fail(start, i, VS_FAILED, sentence);
}

/* True: ids are given, or a pause is met that a request may meet at any time. */
static bool lease(struct vs_start *start, int i) {
    const struct vs_serving *serving = start->serving;
    const struct vs_namespace *ns = &serving->app.ns[i];
    const struct vesta_clock *clock = serving->app.clock;
    struct vesta_gen *gen = ns->gen[VS_RESP];
    struct progress progress = {start->from_us, PROGRESS_US};
    struct vesta_pause pause;
    char text[256] = "", over[VS_OVER_MAX];
    uint64_t id;
    if (vesta_keep(gen) != VESTA_OK) return fail_as(start, i, "cannot start the keeper of the lease"), false;
    while (!is_ending(start) && vesta_next_wait(gen, &id, LEASE_STEP_US, &pause) != VESTA_OK) {
        if (pause.why != VESTA_CHOOSE || !*text) /* the last answer's reason says more than the next question */
            vesta_pause_text(gen, &pause, text, sizeof text);
        if (!is_wanted(serving, i, &pause, over)) return fail_as(start, i, over), false;
        if (pause.why == VESTA_CHOOSE)
            clock->sleep_us(clock->self, CHOICE_STEP_US);
        else if (pause.why != VESTA_LEASE && pause.wait_us >= 0)
            return true;
        if (pause.wait_us < 0) return fail_as(start, i, text), false;
        if (is_too_late(start, i, text)) return false;
        tell_progress(ns, text, &progress);
    }
    return !is_ending(start);
}

static void start_namespace(void *self, int i) {
    struct vs_start *start = self;
    if (!prove(start, i) || !open_generator(start, i) || !lease(start, i)) return;
    vs_namespace_say(&start->serving->app.ns[i]);
    settle(start, i, READY);
}

/* ------------------------------------------------------------------ begin and end */

void vs_start_begin(struct vs_start *start) {
    const struct vs_app *app = &start->serving->app;
    start->from_us = vs_monotonic_us();
    if (start->serving->segments && !vs_segments_begin(start->serving)) {
        vs_log(VS_LOG_ERROR, "cannot start a thread for the segments", NULL);
        give_up(start, VS_FAILED);
        return;
    }
    start->threads = vs_threads_start(app->ns_count, start_namespace, start);
    for (int i = 0; i < app->ns_count; i++)
        if (!start->threads || !vs_threads_began(start->threads, i)) fail(start, i, VS_FAILED, "cannot start a thread");
}

struct vs_start *vs_start_make(struct vs_serving *serving) {
    size_t count = (size_t)serving->app.ns_count;
    struct vs_start *start = calloc(1, sizeof *start + count * sizeof start->at[0]);
    if (!start) return NULL;
    start->count[WAITING] = (int)count;
    start->serving = serving;
    start->rc = VS_GO;
    start->knows_tags = !serving->segments;
    pthread_mutex_init(&start->lock, NULL);
    return start;
}

void vs_start_stop(struct vs_start *start) {
    atomic_store(&start->ending, true);
}

bool vs_start_stopped(struct vs_start *start, int i, int64_t until_us) {
    return !start->threads || !vs_threads_began(start->threads, i) || vs_threads_did(start->threads, i, until_us);
}

bool vs_start_end(struct vs_start *start, int64_t until_us) {
    if (start->threads) start->threads = vs_threads_end(start->threads, until_us);
    return !start->threads;
}

int vs_start_result(const struct vs_start *start) {
    return start->rc;
}

void vs_start_free(struct vs_start *start) {
    if (!start) return;
    pthread_mutex_destroy(&start->lock);
    free(start);
}
