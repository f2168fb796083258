/* watermarks.c -- a thread that reads the watermarks of the served namespaces for requests.  It starts with the first
 * such request.  A reading answers the requests of the next second, because a watermark stays true.  Contains no
 * request code. */
#include "base/error.h"
#include "command/options.h"
#include "keeper/file.h"
#include "os/thread.h"
#include "serve/serving.h"
#include "server/desk.h"
#include "store/watermark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKS_FRESH_US 1000000

STAILQ_HEAD(marks_jobs, vs_desk_job);

/* A namespace, and its last reading. */
struct marks_place {
    struct vs_store *store; /* NULL until it is open */
    char name[VESTA_NAMESPACE_MAX];
    int64_t read_us; /* boot time at which `mark` was read.  0: never */
    struct vs_watermark mark;
};

struct vs_watermarks {
    struct vs_desk desk; /* first, because the server points to it */
    struct vs_serving *serving;
    _Atomic int64_t cut_us; /* store calls must end at this instant, in boot time (0: no limit) */
    pthread_mutex_t lock;   /* guards the following members */
    pthread_cond_t woken;
    struct marks_jobs jobs;
    int waiting;
    bool running, ending;
    struct marks_place *places; /* of the thread */
};

/* ------------------------------------------------------------------ one job */

static int marks_open(struct vs_watermarks *marks, int of, struct marks_place *place, struct vesta_error *err) {
    const struct vs_serving *serving = marks->serving;
    const struct vs_conf_namespace *conf = &serving->config->ns[of];
    struct vs_header header = {.store = ""};
    const char *uri = conf->opts.store;
    snprintf(place->name, sizeof place->name, "%s",
             conf->leased_as ? conf->leased_as : serving->server.names.at[of].name);
    if (place->store) return VESTA_OK;
    if (!uri && vs_anchor_look(&conf->opts, &header, err) != VESTA_OK) return err->code;
    const struct vs_store_opts opts = {.namespace_ = place->name,
                                       .group = -1,
                                       .clock = serving->server.clock,
                                       .secret = conf->opts.secret,
                                       .call_ms_max = vs_lease_preset("balanced")->call_ms,
                                       .cut_us = &marks->cut_us};
    return vs_store_open(uri ? uri : header.store, &opts, &place->store, err);
}

static int marks_read(struct vs_watermarks *marks, int of, struct marks_place *place, struct vesta_error *err) {
    const struct vesta_clock *clock = marks->serving->server.clock;
    int64_t now_us = clock->boot_us(clock->self);
    if (place->read_us && now_us - place->read_us < MARKS_FRESH_US) return VESTA_OK;
    place->read_us = 0; /* a failure must not be answered with the watermark before it */
    int rc = marks_open(marks, of, place, err);
    if (rc == VESTA_OK) rc = vs_watermark_read(place->store, place->name, false, &place->mark, err);
    if (rc == VESTA_OK) place->read_us = now_us;
    return rc;
}

static void marks_serve(struct vs_watermarks *marks, struct vs_desk_job *job) {
    struct marks_place *place = &marks->places[job->mark.of];
    struct vesta_error err = {.text = ""};
    char text[VS_WATERMARK_TEXT_MAX];
    int rc = marks_read(marks, job->mark.of, place, &err);
    job->answer = rc == VESTA_OK        ? VS_DESK_DONE
                  : rc == VESTA_EIO     ? VS_DESK_DOWN
                  : rc == VESTA_ENOTNOW ? VS_DESK_BUSY
                                        : VS_DESK_REJECTED;
    snprintf(job->text, sizeof job->text, "%.390s", err.text);
    if (rc != VESTA_OK) return;
    const struct vs_watermark *mark = &place->mark;
    job->mark.id = mark->id;
    job->mark.sorts = mark->sorts;
    job->mark.time_ms = mark->time_us / 1000;
    job->mark.behind_ms = mark->store_ms - job->mark.time_ms;
    snprintf(job->text, sizeof job->text, "%.390s", vs_watermark_text(mark, text));
    snprintf(job->mark.why, sizeof job->mark.why, "%s", mark->why);
}

/* ------------------------------------------------------------------ the thread */

static struct vs_desk_job *marks_next(struct vs_watermarks *marks) {
    pthread_mutex_lock(&marks->lock);
    while (STAILQ_EMPTY(&marks->jobs) && !marks->ending)
        pthread_cond_wait(&marks->woken, &marks->lock);
    struct vs_desk_job *job = marks->ending ? NULL : STAILQ_FIRST(&marks->jobs);
    if (job) {
        STAILQ_REMOVE_HEAD(&marks->jobs, queued);
        marks->waiting--;
    }
    pthread_mutex_unlock(&marks->lock);
    return job;
}

static void *marks_work(void *arg) {
    struct vs_watermarks *marks = arg;
    struct vs_desk_job *job;
    while ((job = marks_next(marks))) {
        if (!vs_desk_job_is_left(job)) marks_serve(marks, job);
        atomic_store(&job->is_done, true);
        vs_desk_job_let(job);
        vs_serve_wake(&marks->serving->server);
    }
    for (int i = 0; i < marks->serving->server.names.count; i++)
        if (marks->places[i].store) marks->places[i].store->backend->close(marks->places[i].store);
    pthread_mutex_lock(&marks->lock);
    marks->running = false;
    pthread_cond_broadcast(&marks->woken);
    pthread_mutex_unlock(&marks->lock);
    return NULL;
}

/* Starts the thread.  The caller must hold the lock. */
static void marks_start(struct vs_watermarks *marks) {
    pthread_t thread;
    if (!marks->places) marks->places = calloc((size_t)marks->serving->server.names.count, sizeof *marks->places);
    marks->running = marks->places && vs_thread_start(&thread, marks_work, marks) == 0;
    if (marks->running) pthread_detach(thread);
}

static bool marks_queue(struct vs_desk *desk, struct vs_desk_job *job) {
    struct vs_watermarks *marks = (struct vs_watermarks *)desk;
    pthread_mutex_lock(&marks->lock);
    if (!marks->running && !marks->ending) marks_start(marks);
    bool has_room = marks->waiting < VS_DESK_WAITING_MAX && marks->running && !marks->ending;
    if (has_room) {
        STAILQ_INSERT_TAIL(&marks->jobs, job, queued);
        marks->waiting++;
    }
    pthread_cond_signal(&marks->woken);
    pthread_mutex_unlock(&marks->lock);
    return has_room;
}

bool vs_marks_begin(struct vs_serving *serving) {
    struct vs_watermarks *marks = calloc(1, sizeof *marks);
    if (!marks) return false;
    marks->desk.take = marks_queue;
    marks->serving = serving;
    STAILQ_INIT(&marks->jobs);
    pthread_mutex_init(&marks->lock, NULL);
    vs_cond_init(&marks->woken);
    serving->marks = marks;
    serving->server.marks = &marks->desk;
    return true;
}

bool vs_marks_end(struct vs_serving *serving, int64_t until_us) {
    struct vs_watermarks *marks = serving->marks;
    const struct vesta_clock *clock = serving->server.clock;
    if (!marks) return true;
    pthread_mutex_lock(&marks->lock);
    marks->ending = true;
    atomic_store(&marks->cut_us, clock->boot_us(clock->self) + 1000000);
    pthread_cond_broadcast(&marks->woken);
    while (marks->running && vs_cond_wait(&marks->woken, &marks->lock, until_us))
        ;
    bool ended = !marks->running;
    pthread_mutex_unlock(&marks->lock);
    if (!ended) return false;
    for (struct vs_desk_job *job; (job = STAILQ_FIRST(&marks->jobs));) { /* no request waits for these any more */
        STAILQ_REMOVE_HEAD(&marks->jobs, queued);
        vs_desk_job_let(job);
    }
    pthread_cond_destroy(&marks->woken);
    pthread_mutex_destroy(&marks->lock);
    free(marks->places);
    free(marks);
    serving->marks = NULL;
    return true;
}
