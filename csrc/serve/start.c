/* start.c -- from listening to serving.  A few threads per store (crews/) open the namespaces, so that an unreachable
 * store does not affect the namespaces of other stores.  One thread watches all namespaces that wait for their worker
 * ids.  Contains no socket code. */
#include "policy/control/control.h"
#include "serve/crews/threads.h"
#include "command/options.h"
#include "serve/serving.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Maximum interval between two checks of a waiting namespace (the first intervals are shorter). */
#define STEP_US_MAX 2000000
#define STEP_US_MIN 1000
#define STEPS_OF_AGE 8
#define LOOK_US 100000 /* interval at which an opener checks whether the server is stopping */
#define TELLS_MAX 8 /* maximum number of namespaces logged at a time (the others are counted) */
#define PROGRESS_US 2000000 /* at first, a waiting server logs at least this often */
#define PROGRESS_US_MAX 60000000
#define RETRY_US 1000000         /* pause after a generator could not be opened */

/* An open namespace that waits for its worker id. */
struct waiter {
    struct waiter *next;
    int ns;
    int64_t since_us, due_us;
    char text[256]; /* the reason for the wait */
};

enum place { WAITING, READY, FAILED, PLACES };

/* When the reason for a wait was last logged, and for how long it is not logged again.  If all members are zero, the
 * reason is logged now. */
struct progress {
    int64_t said_us, rest_us;
};

struct vs_start {
    struct vs_serving *serving;
    struct vs_threads *threads;
    pthread_t waiting; /* the thread that checks the waiters */
    bool has_waiting;
    int64_t from_us;
    struct progress progress; /* of the namespaces that wait for a worker id */
    atomic_bool ending;
    struct one *one;      /* one per namespace, used only by its opener */
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t arrived;
    struct waiter *waiter; /* list of newly opened namespaces */
    bool knows_tags; /* the tags were read, or there are none */
    int rc;          /* exit code of a start that failed as a whole */
    int count[PLACES];
    enum place at[]; /* one per namespace */
};

/* ------------------------------------------------------------------ progress */

/* Ends the server, because the start has failed as a whole. */
static void give_up(struct vs_start *start, int rc) {
    pthread_mutex_lock(&start->lock);
    if (start->rc == VS_GO) start->rc = rc;
    pthread_mutex_unlock(&start->lock);
    vs_serve_stop(&start->serving->server);
}

/* When every namespace has settled, reports that the server is ready.  If nothing can be served, ends the server
 * instead. */
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

static void start_settle(struct vs_start *start, int i, enum place place) {
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

/* Returns whether every other namespace has failed and there are no segments.  In that case a failure of this namespace
 * ends the server, and a service manager may restart it. */
static bool is_last(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    bool last = !start->serving->segments && start->count[FAILED] == start->serving->server.names.count - 1;
    pthread_mutex_unlock(&start->lock);
    return last;
}

/* Records that a namespace failed permanently.  Ends the server if nothing else can be served. */
static void fail(struct vs_start *start, int i, int rc, const char *text) {
    struct vs_namespace *ns = &start->serving->server.names.at[i];
    vs_log(VS_LOG_ERROR, text, "namespace", ns->name, NULL);
    vs_namespace_set(ns, VS_NAMESPACE_REFUSED, text);
    if (is_last(start)) give_up(start, rc);
    start_settle(start, i, FAILED);
}

/* Records that a namespace has ended.  Its ids can still be decoded, and other namespaces are served. */
static void end(struct vs_start *start, int i, const char *text) {
    struct vs_server *server = &start->serving->server;
    vs_log(VS_LOG_WARN, "a namespace has ended: its ids can be decoded, but no new ones are issued", "namespace",
           server->names.at[i].name, "why", text, NULL);
    vs_namespace_set(&server->names.at[i], VS_NAMESPACE_ENDED, text);
    vs_namespace_seen(&server->names, &server->names.at[i],
                      true); /* no server can issue its ids, so it does not affect whether this one is ready */
    start_settle(start, i, FAILED);
}

/* Ends the server if the configured time for a start has passed, even if other namespaces are served.  Returns whether
 * the server was ended. */
static bool is_too_late(struct vs_start *start, int i, const char *text) {
    struct vs_serving *serving = start->serving;
    int64_t ms_max = serving->config->start_wait_ms_max;
    char sentence[VS_NAMESPACE_WHY_MAX];
    if (ms_max == 0 || vs_monotonic_us() - start->from_us < ms_max * 1000) return false;
    snprintf(sentence, sizeof sentence, "%s: no worker id within %lld ms (--start-wait-ms): %.300s",
             serving->server.names.at[i].name, (long long)ms_max, text);
    vs_log(VS_LOG_ERROR, sentence, NULL);
    give_up(start, VS_FAILED);
    return true;
}

static bool start_is_ending(const struct vs_start *start) {
    return atomic_load(&start->ending);
}

static void tell_waiting(const struct vs_namespace *ns, const char *text) {
    vs_log(VS_LOG_WARN, "waiting for a worker id", "namespace", ns->name, "why", text, NULL);
    vs_notify("STATUS=waiting for a worker id of %s", ns->name);
}

/* ------------------------------------------------------------------ opening */

/* What an opener stores about a namespace. */
struct one {
    bool is_proved;
    int64_t again_us;
    struct progress progress;
};

static bool progress_is_due(const struct progress *progress, int64_t now_us) {
    return now_us - progress->said_us >= progress->rest_us;
}

/* Doubles the interval each time, up to a minute, so that a day of waiting does not fill the log. */
static void progress_told(struct progress *progress, int64_t now_us) {
    int64_t rest_us = progress->rest_us ? 2 * progress->rest_us : 2 * PROGRESS_US;
    progress->said_us = now_us;
    progress->rest_us = rest_us < PROGRESS_US_MAX ? rest_us : PROGRESS_US_MAX;
}

static void fail_to_open(struct vs_start *start, int i, const struct vesta_error *err) {
    char text[VS_NAMESPACE_WHY_MAX];
    bool usage = vs_is_usage(err);
    snprintf(text, sizeof text, usage ? "%.400s" : "%.400s (%s)", err->text, vesta_code_name(err->code));
    fail(start, i, usage ? VS_USAGE : VS_FAILED, text);
}

/* Schedules another attempt in one second, unless the time for a start has passed. */
static int64_t try_again(struct vs_start *start, int i, const char *text) {
    vs_namespace_set(&start->serving->server.names.at[i], VS_NAMESPACE_OPENING, text);
    if (is_too_late(start, i, text)) return VS_THREADS_DONE;
    start->one[i].again_us = vs_monotonic_us() + RETRY_US;
    return LOOK_US;
}

static void tell_unproved(const struct vs_start *start, int i, const char *text) {
    struct progress *progress = &start->one[i].progress;
    int64_t now_us = vs_monotonic_us();
    if (!progress_is_due(progress, now_us)) return;
    progress_told(progress, now_us);
    tell_waiting(&start->serving->server.names.at[i], text);
}

/* Proves a generation.  If the store is unreachable or does not have the generation yet, the namespace waits as it does
 * for a worker id, and the server continues to run. */
static int64_t prove(struct vs_start *start, int i) {
    struct vesta_error err;
    int rc = vs_namespace_prove(&start->serving->config->ns[i], &err);
    start->one[i].is_proved = rc == VESTA_OK;
    if (rc == VESTA_OK) return 0;
    if (rc != VESTA_EIO) return fail_to_open(start, i, &err), VS_THREADS_DONE;
    tell_unproved(start, i, err.text);
    return try_again(start, i, err.text);
}

static void wait_for_number(struct vs_start *start, int i);

static int64_t open_generator(struct vs_start *start, int i) {
    struct vs_serving *serving = start->serving;
    struct vs_namespace *ns = &serving->server.names.at[i];
    struct vesta_error err;
    if (vs_namespace_open_gen(serving, i, &err) == VESTA_OK) {
        if (serving->control) vs_control_enter(serving->control, i, ns->gen[VS_RESP]);
        vs_namespace_set(ns, VS_NAMESPACE_OPEN, NULL);
        wait_for_number(start, i);
        return VS_THREADS_DONE;
    }
    if (err.code == VESTA_EEPOCH && ns->ended && !is_last(start)) return end(start, i, err.text), VS_THREADS_DONE;
    bool may_pass = err.code == VESTA_EIO || err.code == VESTA_ENOMEM;
    if (!may_pass || is_last(start)) return fail_to_open(start, i, &err), VS_THREADS_DONE;
    struct progress *progress = &start->one[i].progress;
    if (progress_is_due(progress, vs_monotonic_us())) {
        progress_told(progress, vs_monotonic_us());
        vs_log(VS_LOG_WARN, err.text, "namespace", ns->name, "again", "each second", NULL);
    }
    return try_again(start, i, err.text);
}

/* Opens a namespace.  Returns VS_THREADS_DONE if it is open or cannot be served, or if the server is stopping. */
static int64_t open_namespace(void *self, int i) {
    struct vs_start *start = self;
    struct one *one = &start->one[i];
    if (start_is_ending(start)) return VS_THREADS_DONE;
    if (vs_monotonic_us() < one->again_us) return LOOK_US;
    int64_t rest_us = one->is_proved ? 0 : prove(start, i);
    return one->is_proved && !start_is_ending(start) ? open_generator(start, i)
           : start_is_ending(start)                  ? VS_THREADS_DONE
                                                     : rest_us;
}

/* ------------------------------------------------------------------ the first lease */

/* Lets a policy decide whether the keeper leases a worker id.  Returns false if the policy decides against it. */
static bool start_is_wanted(const struct vs_serving *serving, int i, const struct vesta_pause *pause, char *why) {
    const struct vs_policies *policies = &serving->server.above.policies;
    int64_t until_us;
    if (!serving->control) return true;
    if (pause->why == VESTA_CHOOSE)
        (void)policies->judge(policies->self, i, serving->server.names.at[i].gen[VS_RESP], pause, &until_us);
    return !vs_control_is_over(serving->control, i, why);
}

static void fail_as(struct vs_start *start, int i, const char *text) {
    char sentence[VS_NAMESPACE_WHY_MAX];
    snprintf(sentence, sizeof sentence, "%s: %.400s", start->serving->server.names.at[i].name, text);
    fail(start, i, VS_FAILED, sentence);
}

static void be_ready(struct vs_start *start, int i) {
    struct vs_server *server = &start->serving->server;
    vs_namespace_seen(&server->names, &server->names.at[i], true); /* before the first check by life.c */
    vs_namespace_say(server, &server->names.at[i]);
    start_settle(start, i, READY);
}

/* Checks a waiting namespace.  Returns false if it no longer waits. */
static bool start_look_at(struct vs_start *start, struct waiter *w) {
    const struct vs_serving *serving = start->serving;
    struct vesta_gen *gen = serving->server.names.at[w->ns].gen[VS_RESP];
    struct vesta_pause pause;
    char over[VS_OVER_MAX];
    uint64_t id;
    if (vesta_next(gen, &id, &pause) == VESTA_OK) return be_ready(start, w->ns), false;
    bool is_stopped = pause.why == VESTA_FAILSTOP; /* the keeper notices when an operator has repaired the store */
    bool is_keepers =
        pause.why == VESTA_LEASE || pause.why == VESTA_CHOOSE || pause.why == VESTA_CLOSED || is_stopped;
    if (is_keepers && vesta_keep(gen) != VESTA_OK)
        return fail_as(start, w->ns, "cannot start the keeper of the lease"), false;
    if (pause.why != VESTA_CHOOSE || !*w->text) /* the policy's last answer explains more than its next question */
        vesta_pause_text(gen, &pause, w->text, sizeof w->text);
    if (!start_is_wanted(serving, w->ns, &pause, over)) return fail_as(start, w->ns, over), false;
    if (pause.wait_us < 0 && !is_stopped) return fail_as(start, w->ns, w->text), false;
    if (!is_keepers) return be_ready(start, w->ns), false; /* a pause that any request may encounter */
    return !is_too_late(start, w->ns, w->text);
}

static int64_t step_us(const struct waiter *w, int64_t now_us) {
    int64_t us = (now_us - w->since_us) / STEPS_OF_AGE;
    return us < STEP_US_MIN ? STEP_US_MIN : us > STEP_US_MAX ? STEP_US_MAX : us;
}

/* Logs from time to time why namespaces are still waiting. */
static void tell_progress(struct vs_start *start, const struct waiter *w) {
    int64_t now_us = vs_monotonic_us();
    int told = 0, more = 0;
    if (!w || !progress_is_due(&start->progress, now_us)) return;
    for (; w; w = w->next) {
        if (now_us - w->since_us < PROGRESS_US || !*w->text) continue;
        if (told < TELLS_MAX)
            tell_waiting(&start->serving->server.names.at[w->ns], w->text), told++;
        else
            more++;
    }
    if (more > 0)
        vs_log(VS_LOG_WARN, "more namespaces wait for a worker id", "waiting", VS_DIGITS(more), NULL);
    if (told > 0) progress_told(&start->progress, now_us);
}

/* Checks the namespaces that are due.  Returns when the next one is due. */
static int64_t start_go_round(struct vs_start *start, struct waiter **waiters) {
    int64_t first_us = vs_monotonic_us() + STEP_US_MAX;
    for (struct waiter **at = waiters, *w; (w = *at) && !start_is_ending(start);) {
        int64_t now_us = vs_monotonic_us();
        if (w->due_us <= now_us) {
            if (!start_look_at(start, w)) {
                *at = w->next;
                free(w);
                continue;
            }
            w->due_us = now_us + step_us(w, now_us);
        }
        if (w->due_us < first_us) first_us = w->due_us;
        at = &w->next;
    }
    return first_us;
}

/* Moves the newly arrived namespaces to the front of the list. */
static void take_arrived(struct vs_start *start, struct waiter **waiters) {
    struct waiter **last = &start->waiter;
    while (*last)
        last = &(*last)->next;
    *last = *waiters;
    *waiters = start->waiter;
    start->waiter = NULL;
}

static void *see_to_waiters(void *self) {
    struct vs_start *start = self;
    struct waiter *waiters = NULL, *next;
    pthread_mutex_lock(&start->lock);
    while (!start_is_ending(start)) {
        take_arrived(start, &waiters);
        pthread_mutex_unlock(&start->lock);
        int64_t until_us = start_go_round(start, &waiters);
        tell_progress(start, waiters);
        pthread_mutex_lock(&start->lock);
        if (start->count[WAITING] == 0) break;
        if (!start->waiter && !start_is_ending(start)) vs_cond_wait(&start->arrived, &start->lock, until_us);
    }
    take_arrived(start, &waiters);
    pthread_mutex_unlock(&start->lock);
    for (; waiters; waiters = next) {
        next = waiters->next;
        free(waiters);
    }
    return NULL;
}

static void wait_for_number(struct vs_start *start, int i) {
    struct waiter *w = calloc(1, sizeof *w);
    if (!w || vesta_keep(start->serving->server.names.at[i].gen[VS_RESP]) != VESTA_OK) {
        fail_as(start, i, "cannot start the keeper of the lease");
        free(w);
        return;
    }
    w->ns = i;
    w->since_us = vs_monotonic_us();
    pthread_mutex_lock(&start->lock);
    w->next = start->waiter;
    start->waiter = w;
    pthread_cond_signal(&start->arrived);
    pthread_mutex_unlock(&start->lock);
}

/* ------------------------------------------------------------------ begin and end */

void vs_start_begin(struct vs_start *start) {
    const struct vs_server *server = &start->serving->server;
    start->from_us = vs_monotonic_us();
    start->progress = (struct progress){start->from_us, PROGRESS_US};
    if (start->serving->segments && !vs_segments_begin(start->serving)) {
        vs_log(VS_LOG_ERROR, "cannot start a thread for the segments", NULL);
        give_up(start, VS_FAILED);
        return;
    }
    if (server->names.count == 0) return;
    start->has_waiting = vs_thread_start(&start->waiting, see_to_waiters, start) == 0;
    start->threads = start->has_waiting ? vs_threads_start(&start->serving->crews, open_namespace, start) : NULL;
    for (int i = 0; i < server->names.count; i++)
        if (!start->threads || !vs_threads_began(start->threads, i)) fail(start, i, VS_FAILED, "cannot start a thread");
}

struct vs_start *vs_start_make(struct vs_serving *serving) {
    size_t count = (size_t)serving->server.names.count;
    struct vs_start *start = calloc(1, sizeof *start + count * sizeof start->at[0]);
    if (start) start->one = calloc(count + 1, sizeof *start->one);
    if (!start || !start->one) return free(start), NULL;
    start->count[WAITING] = (int)count;
    vs_cond_init(&start->arrived);
    start->serving = serving;
    start->rc = VS_GO;
    start->knows_tags = !serving->segments;
    pthread_mutex_init(&start->lock, NULL);
    return start;
}

void vs_start_stop(struct vs_start *start) {
    pthread_mutex_lock(&start->lock);
    atomic_store(&start->ending, true);
    pthread_cond_signal(&start->arrived);
    pthread_mutex_unlock(&start->lock);
    if (start->has_waiting) pthread_join(start->waiting, NULL); /* the thread calls no store, so it cannot hang */
    start->has_waiting = false;
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
    pthread_cond_destroy(&start->arrived);
    pthread_mutex_destroy(&start->lock);
    for (struct waiter *w = start->waiter, *next; w; w = next) { /* added by an opener that ended late */
        next = w->next;
        free(w);
    }
    free(start->one);
    free(start);
}
