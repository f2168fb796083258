/* life.c -- a thread that wakes twice a second.  It notifies the service manager, logs the state of namespaces and
 * keepers, and handles the signals HUP, USR1 and USR2.  Contains no protocol code. */
#include "command/options.h"
#include "log/access.h"
#include "serve/serving.h"
#include "serve/systemd.h"
#include "os/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK_US 500000
#define LOOKS_MAX 512 /* maximum number of namespaces checked per tick: ten thousand take ten seconds */
#define ALIVE_MS 2000         /* an event loop that has not swept for this long is stuck */
/* READY is sent after this time even if a namespace still waits for its store, because a service manager would kill a
 * server that is not ready. */
#define READY_US_MAX 10000000

struct vs_life {
    struct vs_serving *serving;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the following members up to `served` */
    pthread_cond_t woken;
    bool stopping, ending, reloading, ready_told, files_asked;
    int64_t from_us;
    uint64_t reloads; /* number of policy reloads when a reload was last requested */
    int served; /* number of namespaces that issued ids when all namespaces had settled (0: some still wait) */
    /* The following members are used only by the thread. */
    int64_t watchdog_us, watchdog_told_us;
    struct vs_policies_status status;
    struct vs_seen *seen; /* one element per namespace */
    int looked_at;        /* index of the next namespace to check */
    int stopped_told;     /* number of namespaces without ids in the last STATUS */
};

/* ------------------------------------------------------------------ twice a second */

static void look_at_namespaces(struct vs_life *life, bool tell) {
    struct vs_server *server = &life->serving->server;
    for (int left = server->names.count < LOOKS_MAX ? server->names.count : LOOKS_MAX; left > 0; left--) {
        int i = life->looked_at;
        life->looked_at = (i + 1) % server->names.count;
        if (vs_start_is_ready(life->serving->start, i))
            vs_watch_namespace(server, &server->names.at[i], &life->seen[i], tell);
    }
}

/* Returns true once.  The caller that gets true must send READY. */
static bool take_ready(struct vs_life *life) {
    pthread_mutex_lock(&life->mutex);
    bool mine = !life->ready_told && !life->stopping;
    life->ready_told = true;
    pthread_mutex_unlock(&life->mutex);
    return mine;
}

/* Sends READY after READY_US_MAX even if some namespaces still wait, because the server already serves the others. */
static void look_at_start(struct vs_life *life) {
    int waiting = vs_start_waiting(life->serving->start);
    if (waiting == 0 || vs_monotonic_us() - life->from_us < READY_US_MAX || !take_ready(life)) return;
    vs_notify("READY=1\nSTATUS=%d of %d namespaces wait for a worker id", waiting,
              life->serving->server.names.count);
    vs_log(VS_LOG_WARN, "serving, but some namespaces are not ready yet", "waiting", VS_DIGITS(waiting), NULL);
}

/* Sends the state of the namespaces as STATUS once the start is over, because operators read STATUS first. */
static void life_tell_status(struct vs_life *life) {
    int count = life->serving->server.names.count, stopped = 0;
    pthread_mutex_lock(&life->mutex);
    int served = life->served;
    pthread_mutex_unlock(&life->mutex);
    for (int i = 0; i < count; i++)
        stopped += life->seen[i].is_stopped;
    if (served == 0 || stopped == life->stopped_told) return;
    life->stopped_told = stopped;
    if (stopped)
        vs_notify("STATUS=%d of %d namespaces issue no ids: the log has the reason", stopped, count);
    else
        vs_notify("STATUS=serving ids of %d namespace%s", served, served == 1 ? "" : "s");
}

static void end_reload(struct vs_life *life) {
    const struct vs_policies_status *status = &life->status;
    pthread_mutex_lock(&life->mutex);
    bool over = life->reloading && status->reloads != life->reloads;
    if (over) life->reloading = false;
    pthread_mutex_unlock(&life->mutex);
    if (over)
        vs_notify("READY=1\nSTATUS=%s",
                  status->reload_ok ? "reloaded" : "the reload failed, so the old policies stay in use");
}

/* Notifies the watchdog unless a policy or an event loop is stuck.  Without notifications, the service manager restarts
 * the server. */
static void tell_watchdog(struct vs_life *life) {
    int64_t now_us = vs_monotonic_us();
    if (!life->watchdog_us || !vs_life_is_ready(life->serving) ||
        now_us - life->watchdog_told_us < life->watchdog_us / 2 - TICK_US / 2)
        return;
    if (life->status.stuck || !vs_serve_alive(&life->serving->server, ALIVE_MS)) {
        vs_log(VS_LOG_ERROR, "stuck: the service manager's watchdog is not notified", "what",
               life->status.stuck ? "a policy" : "a loop", NULL);
        return;
    }
    vs_notify("WATCHDOG=1");
    life->watchdog_told_us = now_us;
}

static void tick(struct vs_life *life, bool stopping) {
    const struct vs_policies *policies = &life->serving->server.above.policies;
    vs_log_tick();
    if (!stopping) look_at_start(life);
    look_at_namespaces(life, !stopping);
    if (policies->status) policies->status(policies->self, &life->status);
    end_reload(life);
    if (!stopping) life_tell_status(life);
    tell_watchdog(life);
}

static void *watch(void *arg) {
    struct vs_life *life = arg;
    int64_t step_us = life->watchdog_us && life->watchdog_us / 4 < TICK_US ? life->watchdog_us / 4 : TICK_US;
    pthread_mutex_lock(&life->mutex);
    while (!life->ending) {
        int64_t until_us = vs_monotonic_us() + step_us;
        vs_cond_wait(&life->woken, &life->mutex, until_us);
        bool stopping = life->stopping, asked = life->files_asked;
        life->files_asked = false;
        pthread_mutex_unlock(&life->mutex);
        /* Runs on this thread, so that a disk that hangs does not delay an event loop. */
        if (asked && life->serving->config->clients) vs_clients_reload(life->serving);
        vs_secure_look(life->serving, asked);
        tick(life, stopping);
        pthread_mutex_lock(&life->mutex);
    }
    pthread_mutex_unlock(&life->mutex);
    return NULL;
}

/* ------------------------------------------------------------------ begin and end */

int vs_life_begin(struct vs_serving *serving) {
    struct vs_life *life = calloc(1, sizeof *life);
    if (life) life->seen = calloc((size_t)serving->server.names.count + 1, sizeof *life->seen);
    if (!life || !life->seen) return free(life), vs_say("no memory"), VS_FAILED;
    life->serving = serving;
    life->watchdog_us = vs_watchdog_us();
    life->watchdog_told_us = life->from_us = vs_monotonic_us();
    pthread_mutex_init(&life->mutex, NULL);
    vs_cond_init(&life->woken);
    int rc = vs_thread_start(&life->thread, watch, life);
    if (rc != 0) {
        free(life->seen);
        free(life);
        return vs_say("cannot start a thread: %s", strerror(rc)), VS_FAILED;
    }
    serving->life = life;
    return VS_GO;
}

void vs_life_end(struct vs_serving *serving) {
    struct vs_life *life = serving->life;
    if (!life) return;
    pthread_mutex_lock(&life->mutex);
    life->ending = true;
    pthread_cond_signal(&life->woken);
    pthread_mutex_unlock(&life->mutex);
    pthread_join(life->thread, NULL);
    free(life->seen);
    free(life);
    serving->life = NULL;
}

bool vs_life_is_ready(const struct vs_serving *serving) {
    struct vs_life *life = serving->life;
    pthread_mutex_lock(&life->mutex);
    bool ready = life->ready_told;
    pthread_mutex_unlock(&life->mutex);
    return ready;
}

void vs_life_ready(const struct vs_serving *serving, int ready) {
    struct vs_life *life = serving->life;
    int count = serving->server.names.count;
    pthread_mutex_lock(&life->mutex);
    life->served = ready;
    pthread_mutex_unlock(&life->mutex);
    if (take_ready(life))
        vs_notify("READY=1\nSTATUS=serving ids of %d namespace%s", ready, ready == 1 ? "" : "s");
    else
        vs_notify("STATUS=serving ids of %d namespace%s", ready, ready == 1 ? "" : "s");
    if (ready == count)
        vs_log(VS_LOG_INFO, "ready", NULL);
    else
        vs_log(VS_LOG_WARN, "serving, but some namespaces are not served", "served", VS_DIGITS(ready), "of",
               VS_DIGITS(count), NULL);
}

void vs_life_stopping(void *self) {
    struct vs_serving *serving = self;
    struct vs_life *life = serving->life;
    vs_ending_begin(serving);
    pthread_mutex_lock(&life->mutex);
    life->stopping = true; /* leases that end from now on are not logged */
    pthread_mutex_unlock(&life->mutex);
    vs_log(VS_LOG_INFO, "stopping after the requests in flight", NULL);
    vs_notify("STOPPING=1\nSTATUS=answering requests in flight");
}

/* ------------------------------------------------------------------ signals */

static void ask_for_files(struct vs_life *life) {
    pthread_mutex_lock(&life->mutex);
    life->files_asked = true;
    pthread_cond_signal(&life->woken);
    pthread_mutex_unlock(&life->mutex);
}

static void reload(struct vs_life *life) {
    const struct vs_policies *policies = &life->serving->server.above.policies;
    struct vs_policies_status status;
    vs_notify("RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=reloading", (long long)vs_monotonic_us());
    const struct vs_server *server = &life->serving->server;
    bool has_files = life->serving->config->clients || life->serving->secure;
    if (has_files) ask_for_files(life);
    if (server->tags.reread) server->tags.reread(server->tags.self);
    if (!policies->reload || !policies->status) {
        if (!server->tags.reread && !has_files) vs_log(VS_LOG_INFO, "nothing to reload: there are no policies", NULL);
        vs_notify("READY=1");
        return;
    }
    policies->status(policies->self, &status);
    pthread_mutex_lock(&life->mutex);
    life->reloading = true;
    life->reloads = status.reloads;
    pthread_mutex_unlock(&life->mutex);
    policies->reload(policies->self);
}

void vs_life_signal(void *self, int number) {
    const struct vs_serving *serving = self;
    switch (number) {
    case SIGHUP: reload(serving->life); break;
    case SIGUSR1:
        vs_log_reopen();
        vs_access_reopen(serving->server.monitor.access);
        break;
    case SIGUSR2: vs_namespaces_state(serving); break;
    }
}
