/* caller.c -- calls the store for a program under a lease (see caller.h). */
#include "run/caller.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/host.h"
#include "os/thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CALLER_RETRY_US 500000 /* after the namespace could not be read */
#define CALLER_CALL_MS_MAX 4000

/* ------------------------------------------------------------------ preparing */

static int caller_open_store(struct vs_run_caller *caller, struct vesta_error *err) {
    const struct vs_run_opts *opts = caller->opts;
    int64_t call_ms = opts->times.ttl_ms / 10;
    struct vs_store_opts store = {.namespace_ = opts->namespace_,
                                  .group = -1,
                                  .clock = vs_clock_system(),
                                  .secret = opts->secret,
                                  .call_ms_max = call_ms < CALLER_CALL_MS_MAX ? call_ms : CALLER_CALL_MS_MAX};
    return vs_store_open(opts->uri, &store, &caller->store, err);
}

/* Finds the layout of the namespace.  In a store on this host, the namespace may not exist yet. */
static int caller_find_layout(const struct vs_run_opts *opts, const struct vs_lineage *at, struct vesta_layout *out,
                              struct vesta_error *err) {
    struct vesta_layout wanted;
    const char *text = opts->layout ? opts->layout : opts->fallback;
    int rc = vesta_layout_parse(text, &wanted, err);
    if (rc != VESTA_OK) return rc;
    if (opts->layout) return vs_worker_layout(at, &wanted, out, err);
    rc = vs_worker_layout(at, NULL, out, err);
    return rc == VESTA_ENOGEN ? vs_worker_layout(at, &wanted, out, err) : rc;
}

static int caller_check_parts(const struct vs_run_opts *opts, const struct vesta_layout *layout,
                              struct vesta_error *err) {
    unsigned width = (unsigned)layout->field[layout->worker].width;
    if (opts->datacenter_bits < width) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "--datacenter-bits is %u, but worker ids of this layout have only %u bits: use at most %u",
                   opts->datacenter_bits, width, width - 1);
}

/* The holder's text names the front, which is the keeper's parent, because users send signals to the front. */
static void caller_name(const struct vs_run_opts *opts, char holder[VS_HOLDER_MAX]) {
    char host[64];
    const char *command = opts->command[0], *slash = command ? strrchr(command, '/') : NULL;
    const char *name = slash ? slash + 1 : command;
    vs_host_name(host, sizeof host);
    if (command)
        snprintf(holder, VS_HOLDER_MAX, "%s pid %d: %s", host, (int)getppid(), VS_QUOTE(name, strlen(name)));
    else
        snprintf(holder, VS_HOLDER_MAX, "%s: lease run --once", host);
}

/* Returns the latest time that an id of the program may have, because the lease must cover it. */
static int64_t caller_unix_us(void *self) {
    const struct vs_run_caller *caller = self;
    const struct vesta_clock *clock = vs_clock_system();
    int64_t unix_us = clock->unix_us(clock->self), boot_us = clock->boot_us(clock->self);
    int64_t high_us = boot_us + caller->high_offset_ms * 1000;
    return high_us > unix_us ? high_us : unix_us;
}

static int caller_prepare(struct vs_run_caller *caller, struct vesta_error *err) {
    const struct vs_run_opts *opts = caller->opts;
    struct vesta_layout layout;
    int rc = caller->store ? VESTA_OK : caller_open_store(caller, err);
    if (rc != VESTA_OK) return rc;
    caller->clock = *vs_clock_system();
    caller->clock.self = caller;
    caller->clock.unix_us = caller_unix_us;
    const struct vs_lineage at = {.uri = opts->uri,
                                  .secret = opts->secret,
                                  .name = opts->namespace_,
                                  .clock = &caller->clock,
                                  .call_ms_max = caller->store->call_ms_max,
                                  .store = caller->store};
    rc = caller_find_layout(opts, &at, &layout, err);
    if (rc == VESTA_OK) rc = caller_check_parts(opts, &layout, err);
    if (rc != VESTA_OK) return rc;
    caller_name(opts, caller->holder);
    const struct vs_worker_ask ask = {.layout = &layout,
                                      .has_worker = opts->has_worker,
                                      .worker = opts->worker,
                                      .ttl_ms = opts->times.ttl_ms,
                                      .identity = opts->identity,
                                      .holder = caller->holder};
    return vs_worker_init(&caller->w, &at, &ask, err);
}

/* ------------------------------------------------------------------ one call */

static enum vs_worker_end caller_claim(struct vs_run_caller *caller) {
    if (caller->w.lease.published) caller->is_prepared = false; /* the deadline of that lease has passed */
    int rc = caller->is_prepared ? VESTA_OK : caller_prepare(caller, &caller->err);
    if (rc != VESTA_OK) {
        caller->is_hopeless = rc != VESTA_EIO;
        caller->w.retry_boot_us = caller->sent.boot_us + CALLER_RETRY_US;
        return rc == VESTA_EIO ? VS_WORKER_AWAY : VS_WORKER_REJECTED;
    }
    caller->is_prepared = true;
    return vs_worker_claim(&caller->w, &caller->err);
}

/* If the clock jumped ahead, the program may have issued ids beyond its lease.  A renewal covers their times, unless the
 * clock is further ahead than the store permits. */
static enum vs_worker_end caller_release(struct vs_run_caller *caller, int64_t ended_ms) {
    bool is_beyond = ended_ms != VS_WORKER_UNUSED && ended_ms >= caller->w.expires_ms;
    if (is_beyond && vs_worker_renew(&caller->w, &caller->err) == VS_WORKER_LOST) return VS_WORKER_LOST;
    return vs_worker_release(&caller->w, ended_ms, &caller->err);
}

void vs_run_call(struct vs_run_caller *caller, enum vs_run_step step, int64_t ended_ms) {
    const struct vesta_clock *clock = vs_clock_system();
    caller->sent.boot_us = clock->boot_us(clock->self);
    caller->sent.unix_ms = clock->unix_us(clock->self) / 1000;
    if (step == VS_RUN_CLAIM)
        caller->end = caller_claim(caller);
    else if (step == VS_RUN_RENEW)
        caller->end = vs_worker_renew(&caller->w, &caller->err);
    else
        caller->end = caller_release(caller, ended_ms);
    if (caller->end == VS_WORKER_LOST) caller->is_prepared = false;
}

/* ------------------------------------------------------------------ the thread */

static void *caller_run(void *self) {
    struct vs_run_caller *caller = self;
    for (;;) {
        pthread_mutex_lock(&caller->mutex);
        while (caller->step == VS_RUN_SLEEP)
            pthread_cond_wait(&caller->asked, &caller->mutex);
        enum vs_run_step step = caller->step;
        int64_t ended_ms = caller->ended_ms;
        pthread_mutex_unlock(&caller->mutex);
        if (step == VS_RUN_END) return NULL;
        vs_run_call(caller, step, ended_ms);
        pthread_mutex_lock(&caller->mutex);
        if (caller->step == step) caller->step = VS_RUN_SLEEP;
        pthread_mutex_unlock(&caller->mutex);
        (void)!write(caller->ready, &(uint64_t){1}, sizeof(uint64_t));
    }
}

int vs_run_caller_start(struct vs_run_caller *caller) {
    caller->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (caller->ready < 0) return errno;
    pthread_mutex_init(&caller->mutex, NULL);
    pthread_cond_init(&caller->asked, NULL);
    return vs_thread_start(&caller->thread, caller_run, caller);
}

void vs_run_caller_ask(struct vs_run_caller *caller, enum vs_run_step step, int64_t ended_ms, int64_t high_offset_ms) {
    pthread_mutex_lock(&caller->mutex);
    caller->high_offset_ms = high_offset_ms;
    caller->step = step;
    caller->ended_ms = ended_ms;
    pthread_cond_signal(&caller->asked);
    pthread_mutex_unlock(&caller->mutex);
}

bool vs_run_caller_take(struct vs_run_caller *caller) {
    uint64_t count;
    return read(caller->ready, &count, sizeof count) == sizeof count;
}

void vs_run_caller_close(struct vs_run_caller *caller) {
    vs_run_caller_ask(caller, VS_RUN_END, 0, 0);
    pthread_join(caller->thread, NULL);
    if (caller->store) caller->store->backend->close(caller->store);
}
