/* leases.c -- threads that lease worker ids to other programs, over the network.  All state is in the store, so this
 * server after a restart, and other servers of the store, find each lease by its key.  Contains no request code. */
#include "base/error.h"
#include "command/options.h"
#include "id/id.h"
#include "keeper/file.h"
#include "os/host.h"
#include "os/random.h"
#include "os/thread.h"
#include "past/past.h"
#include "serve/serving.h"
#include "server/desk.h"
#include "worker/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEASING_THREADS 2

STAILQ_HEAD(leasing_jobs, vs_desk_job);

struct vs_lease_clerks {
    struct vs_desk desk; /* first, because the server points to it */
    struct vs_serving *serving;
    _Atomic int64_t cut_us; /* store calls must end at this instant, in boot time (0: no limit) */
    pthread_mutex_t limiting; /* held while a client with a limit leases, so that two threads do not exceed it */
    pthread_mutex_t lock;     /* guards the following members */
    pthread_cond_t woken;
    struct leasing_jobs jobs;
    int waiting, running;
    bool ending;
};

/* A namespace that a thread has opened. */
struct leased_place {
    struct vs_lineage at; /* at.store is NULL until it is open */
    char uri[VS_URI_MAX];
    bool has_layout;
    struct vesta_layout layout;
};

/* ------------------------------------------------------------------ the store of a namespace */

/* Returns the config's namespace with this name.  If there is none, returns the first namespace, because its store also
 * contains the namespaces that the server does not serve itself. */
static const struct vs_conf_namespace *leasing_conf(const struct vs_config *config, const char *name, bool *is_own) {
    for (int i = 0; i < config->ns_count; i++)
        if (strcmp(config->ns[i].name, name) == 0) return *is_own = true, &config->ns[i];
    return *is_own = false, &config->ns[0];
}

static int leasing_open(struct vs_lease_clerks *leasing, int of, struct leased_place *place, struct vesta_error *err) {
    const struct vs_serving *serving = leasing->serving;
    const char *name = serving->server.leases.name[of];
    bool is_own;
    const struct vs_conf_namespace *conf = leasing_conf(serving->config, name, &is_own);
    struct vs_header header = {.store = ""};
    if (place->at.store) return VESTA_OK;
    if (!conf->opts.store && vs_anchor_look(&conf->opts, &header, err) != VESTA_OK) return err->code;
    snprintf(place->uri, sizeof place->uri, "%s", conf->opts.store ? conf->opts.store : header.store);
    place->at = (struct vs_lineage){.uri = place->uri,
                                    .secret = conf->opts.secret,
                                    .name = is_own && conf->leased_as ? conf->leased_as : name,
                                    .clock = serving->server.clock};
    const struct vs_store_opts opts = {.namespace_ = place->at.name,
                                       .group = -1,
                                       .clock = serving->server.clock,
                                       .secret = conf->opts.secret,
                                       .call_ms_max = vs_lease_preset("balanced")->call_ms,
                                       .cut_us = &leasing->cut_us};
    return vs_store_open(place->uri, &opts, &place->at.store, err);
}

/* Opens the store and reads the namespace's layout, each once. */
static bool leasing_find(struct vs_lease_clerks *leasing, struct leased_place *place, struct vs_desk_job *job) {
    struct vesta_error err;
    int rc = leasing_open(leasing, job->lease.of, place, &err);
    if (rc == VESTA_OK && !place->has_layout) rc = vs_worker_layout(&place->at, NULL, &place->layout, &err);
    place->has_layout = rc == VESTA_OK;
    if (rc == VESTA_OK) return true;
    job->answer = rc == VESTA_ENOGEN ? VS_DESK_NO_NAME : rc == VESTA_EMISMATCH ? VS_DESK_REJECTED : VS_DESK_DOWN;
    snprintf(job->text, sizeof job->text, "%.390s", err.text);
    return false;
}

/* ------------------------------------------------------------------ one job */

static void leasing_take(struct vs_desk_job *job, const struct vs_worker *w) {
    struct vs_desk_lease *lease = &job->lease;
    lease->worker = w->key.worker;
    memcpy(lease->owner, w->key.owner, sizeof lease->owner);
    lease->incarnation = w->key.incarnation;
    lease->fence = w->fence;
    lease->ttl_ms = w->ttl_ms;
    lease->starts_ms = w->starts_ms;
    lease->expires_ms = w->expires_ms;
}

static void leasing_answer(struct vs_desk_job *job, enum vs_worker_end end, const char *text) {
    static const enum vs_desk_answer answers[] = {
        [VS_WORKER_HELD] = VS_DESK_DONE,    [VS_WORKER_RELEASED] = VS_DESK_DONE,     [VS_WORKER_BUSY] = VS_DESK_BUSY,
        [VS_WORKER_AWAY] = VS_DESK_UNKNOWN, [VS_WORKER_REJECTED] = VS_DESK_REJECTED, [VS_WORKER_LOST] = VS_DESK_LOST,
    };
    job->answer = answers[end];
    if (job->answer != VS_DESK_DONE) snprintf(job->text, sizeof job->text, "%.390s", text);
}

/* The identity in the store's record.  Only the client that leased a worker id may renew or release it, so the
 * client's name is part of it. */
static int leasing_identity(const struct vs_desk_lease *lease, char identity[VS_IDENTITY_MAX]) {
    uint64_t random[2];
    if (*lease->name) return snprintf(identity, VS_IDENTITY_MAX, "net:%s:%s", lease->client, lease->name);
    if (vs_random(random, sizeof random) != 0) return -1;
    return snprintf(identity, VS_IDENTITY_MAX, "net:%s:%016" PRIx64 "%016" PRIx64, lease->client, random[0], random[1]);
}

static bool leasing_is_left(struct vs_lease_clerks *leasing, struct vs_desk_job *job) {
    const struct vesta_clock *clock = leasing->serving->server.clock;
    return vs_desk_job_is_left(job) || clock->boot_us(clock->self) >= job->until_us;
}

/* Returns whether the client may hold another worker id. */
static bool leasing_has_room(const struct leased_place *place, struct vs_desk_job *job) {
    const struct vs_desk_lease *lease = &job->lease;
    char prefix[VS_IDENTITY_MAX];
    struct vesta_error err;
    uint64_t held;
    snprintf(prefix, sizeof prefix, "net:%s:", lease->client);
    enum vs_worker_end end = vs_worker_count(&place->at, prefix, &held, &err);
    if (end != VS_WORKER_HELD) return leasing_answer(job, end, err.text), false;
    if (held < lease->held_max) return true;
    job->answer = VS_DESK_LIMIT;
    snprintf(job->text, sizeof job->text,
             "client '%s' holds %" PRIu64 " worker ids of %s, and its limit is %" PRIu64
             ": release one, wait until one expires, or raise the limit (vesta client set %s --leases N)",
             lease->client, held, place->at.name, lease->held_max, lease->client);
    return false;
}

/* Returns whether leasing_has_room does not count the lease that the client renews, because the lease has expired. */
static bool leasing_is_expired(const struct leased_place *place, const struct vs_desk_job *job) {
    struct vs_reply reply;
    place->at.store->leases->read(place->at.store, job->lease.worker, &reply);
    const struct vs_record *r = &reply.record;
    return reply.outcome == VS_STORE_OK && r->held && memcmp(r->owner, job->lease.owner, sizeof r->owner) == 0 &&
           vs_record_is_free(r, reply.store_ms);
}

/* Claims the worker id or renews its lease.  Does neither if the client would then hold more worker ids than it may. */
static bool leasing_hold(struct vs_lease_clerks *leasing, const struct leased_place *place, struct vs_desk_job *job,
                         struct vs_worker *w) {
    bool renews = job->ask == VS_DESK_RENEW, is_limited = job->lease.held_max > 0;
    is_limited = is_limited && (!renews || leasing_is_expired(place, job));
    struct vesta_error err = {.text = ""};
    if (is_limited) pthread_mutex_lock(&leasing->limiting);
    bool may = !is_limited || leasing_has_room(place, job);
    enum vs_worker_end end = !may ? VS_WORKER_BUSY : renews ? vs_worker_renew(w, &err) : vs_worker_claim(w, &err);
    if (is_limited) pthread_mutex_unlock(&leasing->limiting);
    if (may) leasing_answer(job, end, err.text);
    return end == VS_WORKER_HELD;
}

static void leasing_claim(struct vs_lease_clerks *leasing, const struct leased_place *place, struct vs_desk_job *job) {
    char identity[VS_IDENTITY_MAX], host[64], holder[VS_HOLDER_MAX];
    struct vesta_error err;
    struct vs_worker w;
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s through %.20s", job->lease.from, host);
    struct vs_worker_ask ask = {.layout = &place->layout,
                                .has_worker = job->lease.has_worker,
                                .worker = job->lease.worker,
                                .ttl_ms = job->lease.ttl_ms,
                                .identity = identity,
                                .holder = holder};
    if (leasing_identity(&job->lease, identity) < 0) {
        leasing_answer(job, VS_WORKER_AWAY, VS_NO_RANDOM);
        return;
    }
    int rc = vs_worker_init(&w, &place->at, &ask, &err);
    if (rc != VESTA_OK) {
        job->answer = rc == VESTA_EIO ? VS_DESK_DOWN : VS_DESK_BAD;
        snprintf(job->text, sizeof job->text, "%.390s", err.text);
        return;
    }
    if (!leasing_hold(leasing, place, job, &w)) return;
    leasing_take(job, &w);
    if (leasing_is_left(leasing, job))
        vs_worker_release(&w, VS_WORKER_UNUSED, &err); /* the client no longer waits for it */
}

static void leasing_continue(struct vs_lease_clerks *leasing, const struct leased_place *place,
                             struct vs_desk_job *job) {
    struct vs_desk_lease *lease = &job->lease;
    const struct vs_worker_key key = {lease->worker, {lease->owner[0], lease->owner[1]}, lease->incarnation};
    char identity[VS_IDENTITY_MAX];
    struct vs_worker_ask ask = {.layout = &place->layout, .identity = identity};
    struct vesta_error err = {.text = ""};
    struct vs_worker w;
    if (key.worker > vs_worker_max(&place->layout)) {
        leasing_answer(job, VS_WORKER_LOST, "the namespace has no such worker id");
        return;
    }
    snprintf(identity, sizeof identity, "net:%s:", lease->client);
    vs_worker_resume(&w, &place->at, &key, &ask);
    if (job->ask == VS_DESK_RELEASE)
        leasing_answer(job, vs_worker_release(&w, lease->ended_ms, &err), err.text);
    else if (leasing_hold(leasing, place, job, &w))
        leasing_take(job, &w);
}

/* Leases a range of past ids.  A range that the client no longer waits for is returned. */
static void leasing_past(struct vs_lease_clerks *leasing, const struct leased_place *place, struct vs_desk_job *job) {
    struct vs_desk_past *past = job->lease.past;
    char host[64], holder[VS_HOLDER_MAX];
    struct vesta_error err;
    struct vs_past_range range;
    bool is_own;
    const struct vs_conf_namespace *conf =
        leasing_conf(leasing->serving->config, leasing->serving->server.leases.name[job->lease.of], &is_own);
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s through %.20s", job->lease.from, host);
    const struct vs_past_ask ask = {.span = past->span,
                                    .fields = is_own ? conf->opts.fields : NULL,
                                    .method = is_own ? conf->opts.method : NULL,
                                    .holder = holder};
    int rc = vs_past_claim(&place->at, &ask, &range, &err);
    job->answer = rc == VESTA_OK          ? VS_DESK_DONE
                  : rc == VESTA_EIO       ? VS_DESK_UNKNOWN
                  : rc == VESTA_ENOGEN    ? VS_DESK_NO_NAME
                  : rc == VESTA_EMISMATCH ? VS_DESK_REJECTED
                                          : VS_DESK_BAD;
    if (rc != VESTA_OK)
        snprintf(job->text, sizeof job->text, "%.390s", err.text);
    else if (leasing_is_left(leasing, job))
        vs_past_give_back(place->at.store, &range, range.from, &err);
    else
        vs_past_describe(&range, &past->info);
}

static void leasing_serve(struct vs_lease_clerks *leasing, struct leased_place *place, struct vs_desk_job *job) {
    if (leasing_is_left(leasing, job) || !leasing_find(leasing, place, job)) return;
    if (job->ask == VS_DESK_PAST)
        leasing_past(leasing, place, job);
    else if (job->ask == VS_DESK_LEASE)
        leasing_claim(leasing, place, job);
    else
        leasing_continue(leasing, place, job);
    if (job->answer == VS_DESK_REJECTED) place->has_layout = false; /* the namespace may have been created again */
}

/* ------------------------------------------------------------------ threads */

static struct vs_desk_job *leasing_next(struct vs_lease_clerks *leasing) {
    pthread_mutex_lock(&leasing->lock);
    while (STAILQ_EMPTY(&leasing->jobs) && !leasing->ending)
        pthread_cond_wait(&leasing->woken, &leasing->lock);
    struct vs_desk_job *job = leasing->ending ? NULL : STAILQ_FIRST(&leasing->jobs);
    if (job) {
        STAILQ_REMOVE_HEAD(&leasing->jobs, queued);
        leasing->waiting--;
    }
    pthread_mutex_unlock(&leasing->lock);
    return job;
}

static void *leasing_work(void *arg) {
    struct vs_lease_clerks *leasing = arg;
    int count = leasing->serving->server.leases.count;
    struct leased_place *places = calloc((size_t)count, sizeof *places);
    struct vs_desk_job *job;
    while ((job = leasing_next(leasing))) {
        job->answer = VS_DESK_DOWN;
        if (places) leasing_serve(leasing, &places[job->lease.of], job);
        atomic_store(&job->is_done, true);
        vs_desk_job_let(job);
        vs_serve_wake(&leasing->serving->server);
    }
    for (int i = 0; places && i < count; i++)
        if (places[i].at.store) places[i].at.store->backend->close(places[i].at.store);
    free(places);
    pthread_mutex_lock(&leasing->lock);
    leasing->running--;
    pthread_cond_broadcast(&leasing->woken);
    pthread_mutex_unlock(&leasing->lock);
    return NULL;
}

static bool leasing_queue(struct vs_desk *desk, struct vs_desk_job *job) {
    struct vs_lease_clerks *leasing = (struct vs_lease_clerks *)desk;
    pthread_mutex_lock(&leasing->lock);
    bool has_room = leasing->waiting < VS_DESK_WAITING_MAX && leasing->running > 0 && !leasing->ending;
    if (has_room) {
        STAILQ_INSERT_TAIL(&leasing->jobs, job, queued);
        leasing->waiting++;
    }
    pthread_cond_signal(&leasing->woken);
    pthread_mutex_unlock(&leasing->lock);
    return has_room;
}

int vs_leasing_begin(struct vs_serving *serving) {
    const struct vs_conf_list *names = &serving->config->leases;
    struct vs_lease_clerks *leasing = names->count > 0 ? calloc(1, sizeof *leasing) : NULL;
    if (names->count == 0) return VS_GO;
    if (!leasing) return vs_say("no memory"), VS_FAILED;
    leasing->desk.take = leasing_queue;
    leasing->serving = serving;
    STAILQ_INIT(&leasing->jobs);
    pthread_mutex_init(&leasing->limiting, NULL);
    pthread_mutex_init(&leasing->lock, NULL);
    vs_cond_init(&leasing->woken);
    serving->leasing = leasing;
    serving->server.leases = (struct vs_leases){names->text, names->count, &leasing->desk};
    for (int i = 0; i < LEASING_THREADS; i++) {
        pthread_t thread;
        pthread_mutex_lock(&leasing->lock);
        bool begun = vs_thread_start(&thread, leasing_work, leasing) == 0;
        leasing->running += begun;
        pthread_mutex_unlock(&leasing->lock);
        if (begun) pthread_detach(thread);
    }
    return VS_GO;
}

bool vs_leasing_end(struct vs_serving *serving, int64_t until_us) {
    struct vs_lease_clerks *leasing = serving->leasing;
    const struct vesta_clock *clock = serving->server.clock;
    if (!leasing) return true;
    pthread_mutex_lock(&leasing->lock);
    leasing->ending = true;
    atomic_store(&leasing->cut_us, clock->boot_us(clock->self) + 1000000);
    pthread_cond_broadcast(&leasing->woken);
    while (leasing->running > 0 && vs_cond_wait(&leasing->woken, &leasing->lock, until_us))
        ;
    bool ended = leasing->running == 0;
    pthread_mutex_unlock(&leasing->lock);
    if (!ended) return false;
    for (struct vs_desk_job *job; (job = STAILQ_FIRST(&leasing->jobs));) { /* no request waits for these any more */
        STAILQ_REMOVE_HEAD(&leasing->jobs, queued);
        vs_desk_job_let(job);
    }
    pthread_cond_destroy(&leasing->woken);
    pthread_mutex_destroy(&leasing->limiting);
    pthread_mutex_destroy(&leasing->lock);
    free(leasing);
    serving->leasing = NULL;
    return true;
}
