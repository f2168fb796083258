/* control.c -- the control thread, which waits for questions and settles them one after another.  Also the watchdog,
 * which detects a call that does not end.  The meaning of verdicts is in judge.c and leases.c. */
#include "policy/control/shadow.h"

#include "base/error.h"
#include "log/log.h"
#include "os/clock.h"
#include "os/thread.h"

#include <assert.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The control thread has a lower priority, so that a policy in an endless loop does not slow down the event loops.
 * With a larger value, the thread would starve on a busy machine. */
#define NICENESS 10

/* ------------------------------------------------------------------ the watchdog */

/* Returns the calling thread's CPU time.  Elapsed time would be wrong, because a thread that gets little CPU time on a
 * busy machine is not stuck.  A test passes the clock of its budget instead. */
static int64_t control_had_us(const struct vs_control *c, const struct vesta_clock *budget) {
    return budget ? budget->boot_us(budget->self) : vs_thread_us(c->thread);
}

void vs_control_busy(struct vs_control *c, bool busy) {
    const struct vesta_clock *budget = c->opts.limits.clock;
    /* relaxed: other threads only compare this value, and no other memory depends on it.  The first load is in the
     * thread that opens the control, before a second thread exists. */
    atomic_store_explicit(&c->busy_since_us, busy ? control_had_us(c, budget ? budget : vs_clock_thread()) : 0,
                          memory_order_relaxed);
    if (!busy) vs_control_is_stuck(c);
}

bool vs_control_is_stuck(struct vs_control *c) {
    int64_t since_us = atomic_load_explicit(&c->busy_since_us, memory_order_relaxed);
    bool stuck = since_us != 0 && control_had_us(c, c->opts.limits.clock) - since_us >= VS_STUCK_MS * INT64_C(1000);
    if (atomic_load_explicit(&c->stuck, memory_order_relaxed) != stuck &&
        atomic_exchange_explicit(&c->stuck, stuck, memory_order_relaxed) != stuck) {
        if (stuck)
            vs_log(VS_LOG_ERROR, "a policy is stuck: the fixed rules hold until its call ends", NULL);
        else
            vs_log(VS_LOG_WARN, "the policy that was stuck has returned", NULL);
    }
    return stuck;
}

void vs_control_note(struct vs_control *c, const struct vesta_error *err) {
    snprintf(c->status.last_error, sizeof c->status.last_error, "%s", err->text);
    c->status.last_error_unix_ms = vs_control_unix_ms(c);
}

/* ------------------------------------------------------------------ the thread */

/* Leases do not signal changes of their state, so they must be polled. */
static bool control_look_is_due(const struct vs_control *c) {
    return c->opts.gen && vs_monotonic_us() - c->looked_us >= VS_LOOK_MS * INT64_C(1000);
}

/* Waits until a question is asked, and at most until the next look.  Call with the lock held. */
static void control_wait_to_be_asked(struct vs_control *c) {
    int64_t until_us = c->looked_us + VS_LOOK_MS * INT64_C(1000);
    c->idle = true;
    if (c->opts.gen)
        vs_cond_wait(&c->event, &c->lock, until_us);
    else
        pthread_cond_wait(&c->event, &c->lock);
    c->idle = false;
}

static void *control_main(void *arg) {
    struct vs_control *c = arg;
    id_t self = (id_t)gettid(); /* on Linux, the priority applies only to this thread */
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICENESS);
    pthread_mutex_lock(&c->lock);
    while (!c->ending) {
        bool reload = c->reload, look = c->look || control_look_is_due(c);
        int question = reload || look ? -1 : vs_control_next(c);
        if (!reload && !look && question < 0) {
            control_wait_to_be_asked(c);
            continue;
        }
        c->reload = c->look = false;
        pthread_mutex_unlock(&c->lock);
        if (look) {
            c->looked_us = vs_monotonic_us();
            vs_control_look(c);
        }
        if (reload)
            vs_control_renew(c);
        else if (question >= 0)
            vs_control_settle(c, question);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ------------------------------------------------------------------ what the server asks */

bool vs_control_lock_soon(pthread_mutex_t *lock, int steps) {
    const struct timespec step = {.tv_nsec = 200000};
    for (int i = 0; i < steps; i++) {
        if (pthread_mutex_trylock(lock) == 0) return true;
        nanosleep(&step, NULL);
    }
    return false;
}

static void control_ask_reload(void *self) {
    struct vs_control *c = self;
    pthread_mutex_lock(&c->lock);
    c->reload = true;
    pthread_cond_signal(&c->event);
    pthread_mutex_unlock(&c->lock);
}

static void control_tell_status(void *self, struct vs_policies_status *out) {
    struct vs_control *c = self;
    bool stuck = vs_control_is_stuck(c);
    pthread_mutex_lock(&c->told_lock);
    if (vs_control_lock_soon(&c->lock, VS_LOOK_STEPS)) {
        c->told = c->status;
        pthread_mutex_unlock(&c->lock);
    }
    *out = c->told;
    vs_shadow_counts(c, &out->shadow);
    pthread_mutex_unlock(&c->told_lock);
    out->stuck = stuck;
}

struct vs_policies vs_control_policies(struct vs_control *control) {
    return (struct vs_policies){.self = control,
                                .judge = vs_control_judge,
                                .lends = vs_control_lends,
                                .reload = control_ask_reload,
                                .status = control_tell_status,
                                .look = vs_control_look_at_policy,
                                .shadow = vs_shadow_look,
                                .verdict_name = vs_verdict_name_of,
                                .hook_name = vs_hook_name,
                                .result_name = vs_call_result_name,
                                .lua = LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE};
}

/* ------------------------------------------------------------------ open and close */

static void control_free(struct vs_control *c) {
    free(c->name);
    free(c->gen);
    free(c->leasing);
    free(c->hooks);
    free(c->wants);
    for (int i = 0; c->question && i < c->opts.ns_count * VS_CAUSES; i++)
        free(c->question[i].refusal);
    free(c->question);
    free(c->asked);
    free(c->lent);
    free(c);
}

static struct vs_control *control_make(const struct vs_control_opts *opts) {
    assert(opts->ns_count >= 1);
    size_t count = (size_t)opts->ns_count;
    struct vs_control *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->opts = *opts;
    c->name = calloc(count, sizeof *c->name);
    c->gen = calloc(count, sizeof *c->gen);
    c->leasing = calloc(count, sizeof *c->leasing);
    c->hooks = calloc(count, sizeof *c->hooks);
    c->wants = calloc(count, sizeof *c->wants);
    c->question = calloc(count * VS_CAUSES, sizeof *c->question);
    c->asked = calloc(count * VS_CAUSES, sizeof *c->asked);
    c->lent = calloc(count * VS_CAUSES, sizeof *c->lent);
    if (!c->name || !c->gen || !c->leasing || !c->hooks || !c->wants || !c->question || !c->asked || !c->lent)
        return control_free(c), NULL;
    memcpy(c->name, opts->name, count * sizeof *c->name);
    return c;
}

int vs_control_open(const struct vs_control_opts *opts, struct vs_control **out, struct vesta_error *err) {
    struct vs_policy_set *set;
    struct vs_control *c = control_make(opts);
    if (!c) return vs_fail(err, VESTA_ENOMEM, "no memory");
    c->clock = opts->clock ? opts->clock : vs_clock_system();
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->told_lock, NULL);
    pthread_mutex_init(&c->shadow_lock, NULL);
    for (int i = 0; opts->gen && i < opts->ns_count; i++)
        atomic_store(&c->gen[i], opts->gen[i]);
    vs_cond_init(&c->event);
    int rc = vs_policy_set_make(c, &set, err);
    if (rc == VESTA_OK) {
        vs_policy_set_swap(c, set);
        c->told = c->status;
        if (vs_thread_start(&c->thread, control_main, c) == 0) {
            *out = c;
            return VESTA_OK;
        }
        rc = vs_fail(err, VESTA_ENOMEM, "cannot start the thread of the policies");
        vs_shadow_close(atomic_load(&c->shadow));
        vs_policy_set_free(set);
    }
    control_free(c);
    return rc;
}

void vs_control_enter(struct vs_control *c, int ns, struct vesta_gen *gen) {
    atomic_store(&c->gen[ns], gen);
}

void vs_control_close(struct vs_control *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_cond_signal(&c->event);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    vs_shadow_close(atomic_load(&c->shadow));
    vs_policy_set_free(c->set);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->told_lock);
    pthread_mutex_destroy(&c->shadow_lock);
    pthread_cond_destroy(&c->event);
    control_free(c);
}
