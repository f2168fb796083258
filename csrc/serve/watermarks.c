/* watermarks.c -- a thread that reads the watermarks of the served namespaces for requests.  It starts with the first
 * such request.  A reading answers the requests of the next second, because a watermark stays true.  Contains no
 * request code. */
#include "base/error.h"
#include "command/options.h"
#include "keeper/file.h"
#include "os/thread.h"
#include "serve/serving.h"
#include "server/desk.h"
#include "store/lineage.h"
#include "store/watermark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKS_FRESH_US 1000000

STAILQ_HEAD(marks_jobs, vs_desk_job);

/* A layout of a namespace, and its last reading. */
struct marks_place {
    SLIST_ENTRY(marks_place) next;
    int of;                 /* the index in server->names.at */
    bool is_named;          /* requests name the layout */
    struct vs_store *store; /* NULL until it is open */
    char name[VESTA_NAMESPACE_MAX];
    int64_t read_us; /* boot time of the last reading.  0: never */
    int rc;          /* its result, and its error */
    struct vesta_error err;
    unsigned newest; /* the namespace's newest layout then */
    struct vs_watermark mark;
};
SLIST_HEAD(marks_places, marks_place);

struct vs_watermarks {
    struct vs_desk desk; /* first, because the server points to it */
    struct vs_serving *serving;
    _Atomic int64_t cut_us; /* store calls must end at this instant, in boot time (0: no limit) */
    pthread_mutex_t lock;   /* guards the following members */
    pthread_cond_t woken;
    struct marks_jobs jobs;
    int waiting;
    bool running, ending;
    struct marks_places places; /* of the thread */
};

/* ------------------------------------------------------------------ one job */

static struct marks_place *marks_find(struct vs_watermarks *marks, const struct vs_desk_mark *asked) {
    const char *leased_as = marks->serving->config->ns[asked->of].leased_as, *name = asked->leased_as;
    bool is_named = *name != '\0';
    struct marks_place *place;
    if (!is_named) name = leased_as ? leased_as : marks->serving->server.names.at[asked->of].name;
    SLIST_FOREACH(place, &marks->places, next)
    if (place->of == asked->of && place->is_named == is_named && strcmp(place->name, name) == 0) return place;
    place = calloc(1, sizeof *place);
    if (!place) return NULL;
    place->of = asked->of;
    place->is_named = is_named;
    snprintf(place->name, sizeof place->name, "%s", name);
    SLIST_INSERT_HEAD(&marks->places, place, next);
    return place;
}

static int marks_open(struct vs_watermarks *marks, struct marks_place *place, struct vesta_error *err) {
    const struct vs_serving *serving = marks->serving;
    const struct vs_conf_namespace *conf = &serving->config->ns[place->of];
    struct vs_header header = {.store = ""};
    const char *uri = conf->opts.store;
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

/* Reads the watermark, unless the last reading was a moment ago.  A failure counts as a reading, because readers ask
 * most often while there is no watermark.  It is not answered with the watermark before it. */
static int marks_read(struct vs_watermarks *marks, struct marks_place *place, struct vesta_error *err) {
    const struct vesta_clock *clock = marks->serving->server.clock;
    if (!place->read_us || clock->boot_us(clock->self) - place->read_us >= MARKS_FRESH_US) {
        place->rc = marks_open(marks, place, &place->err);
        const struct vs_lineage lineage = {.name = marks->serving->server.names.at[place->of].name,
                                           .store = place->store};
        if (place->rc == VESTA_OK)
            place->rc = vs_watermark_read(place->store, place->name, false, &place->mark, &place->err);
        if (place->rc == VESTA_OK) place->rc = vs_lineage_newest(&lineage, &place->newest, &place->err);
        place->read_us = clock->boot_us(clock->self);
    }
    *err = place->err;
    return place->rc;
}

static void watermarks_put(const struct vs_watermark *mark, struct vs_desk_job *job) {
    char text[VS_WATERMARK_TEXT_MAX];
    job->answer = VS_DESK_DONE;
    job->mark.id = mark->id;
    job->mark.sorts = mark->sorts;
    job->mark.time_ms = mark->time_us / 1000;
    job->mark.behind_ms = mark->store_ms - job->mark.time_ms;
    snprintf(job->text, sizeof job->text, "%.390s", vs_watermark_text(mark, text));
    snprintf(job->mark.why, sizeof job->mark.why, "%s", mark->why);
}

static void marks_serve(struct vs_watermarks *marks, struct vs_desk_job *job) {
    const char *name = marks->serving->server.names.at[job->mark.of].name, *leased_as = job->mark.leased_as;
    char newest[VESTA_NAMESPACE_MAX];
    struct vesta_error err = {.text = "the server has no memory"};
    if (*leased_as && !vs_generation_of(name, leased_as)) { /* it would be another namespace of the store */
        job->answer = VS_DESK_BAD;
        snprintf(job->text, sizeof job->text, "leased_as '%s' is not a layout of '%s': '%s' and '%s.2' are", leased_as,
                 name, name, name);
        return;
    }
    struct marks_place *place = marks_find(marks, &job->mark);
    int rc = place ? marks_read(marks, place, &err) : VESTA_EIO;
    snprintf(job->text, sizeof job->text, "%.390s", err.text);
    if (rc != VESTA_OK) {
        job->answer = rc == VESTA_EIO ? VS_DESK_DOWN : rc == VESTA_ENOTNOW ? VS_DESK_BUSY : VS_DESK_REJECTED;
    } else if (!*leased_as && place->newest > 1) { /* a reader of one layout would miss ids of the others */
        job->answer = VS_DESK_SETTLED;
        snprintf(job->text, sizeof job->text,
                 "'%s' has %u layouts, and each has a watermark. Ask for each, from leased_as=%s to leased_as=%s", name,
                 place->newest, name, vs_generation_name(name, place->newest, newest));
    } else {
        watermarks_put(&place->mark, job);
    }
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
    for (struct marks_place *place; (place = SLIST_FIRST(&marks->places));) {
        SLIST_REMOVE_HEAD(&marks->places, next);
        if (place->store) place->store->backend->close(place->store);
        free(place);
    }
    pthread_mutex_lock(&marks->lock);
    marks->running = false;
    pthread_cond_broadcast(&marks->woken);
    pthread_mutex_unlock(&marks->lock);
    return NULL;
}

/* Starts the thread.  The caller must hold the lock. */
static void marks_start(struct vs_watermarks *marks) {
    pthread_t thread;
    marks->running = vs_thread_start(&thread, marks_work, marks) == 0;
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
    free(marks);
    serving->marks = NULL;
    return true;
}
