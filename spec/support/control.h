/* control.h -- a control thread that a spec controls: policies as files of its own, a manual clock, and a generator
 * that has no id to issue. */
#ifndef SPEC_HOST_H
#define SPEC_HOST_H

#include "policy/control/controls.h"
#include "base/error.h"
#include "log/log.h"
#include "tools.h"

#include <stdio.h>
#include <unistd.h>

#define FOUR_A_MS "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"
#define MS INT64_C(1000)
#define BACK_US (3000 * MS)
#define NAMESPACES 2

static struct desk {
    _Atomic int64_t unix_us, boot_us;
    struct vesta_clock clock;
    char folder[64], path[NAMESPACES][96], log[96];
    bool has[NAMESPACES]; /* whether the namespace has a policy */
    char shadow[96];      /* path of a shadow policy of the first namespace ("": none) */
    struct vs_vm_limits limits;
    struct vesta_gen *gen;
    struct vesta_pause back, full; /* pauses of that generator */
    struct vs_control *control;
    struct vs_policies policies;
    atomic_int changes;
} desk;

static int64_t desk_unix_us(void *self) {
    return atomic_load(&((struct desk *)self)->unix_us);
}

static int64_t desk_boot_us(void *self) {
    return atomic_load(&((struct desk *)self)->boot_us);
}

static void desk_sleep_us(void *self, int64_t us) {
    (void)self;
    (void)us;
    abort(); /* nothing here sleeps by this clock */
}

__attribute__((unused)) static void pass_ms(int64_t ms) {
    atomic_fetch_add(&desk.unix_us, ms * MS);
    atomic_fetch_add(&desk.boot_us, ms * MS);
}

static const char *const desk_names[NAMESPACES] = {"default", "orders"};

/* Writes the policy of a namespace (NULL: none). */
static void write_policy(int ns, const char *source) {
    FILE *file = source ? fopen(desk.path[ns], "w") : NULL;
    desk.has[ns] = source != NULL;
    if (!source) return;
    if (!file || fputs(source, file) < 0 || fclose(file) != 0) abort();
}

/* Reads the policies as a server's config does. */
static int desk_sources(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow, struct vesta_error *err) {
    struct vesta_error why;
    int rc = VESTA_OK;
    (void)self;
    for (int i = 0; i < NAMESPACES && rc == VESTA_OK; i++) {
        if (!desk.has[i]) continue;
        rc = vs_policy_read(desk.path[i], NULL, &out[i], &why);
        if (rc == VESTA_OK) rc = vs_policy_try(&out[i], desk_names[i], atomic_load(&desk.unix_us) / 1000, &why);
        if (rc != VESTA_OK) vs_fail(err, rc, "namespace '%s': %s", desk_names[i], why.text);
    }
    if (rc == VESTA_OK && *desk.shadow) rc = vs_policy_read(desk.shadow, NULL, shadow, err);
    return rc;
}

static void desk_changed(void *self) {
    atomic_fetch_add(&((struct desk *)self)->changes, 1);
}

static int open_control(struct vesta_error *err) {
    struct vs_control_opts opts = {.name = desk_names,
                                   .ns_count = NAMESPACES,
                                   .sources = desk_sources,
                                   .changed = desk_changed,
                                   .self = &desk,
                                   .clock = &desk.clock,
                                   .limits = desk.limits};
    int rc = vs_control_open(&opts, &desk.control, err);
    if (rc == VESTA_OK) desk.policies = vs_control_policies(desk.control);
    return rc;
}

/* Locks the lock, which must be free and is not taken before a request comes. */
static bool is_idle(void) {
    struct vs_control *c = desk.control;
    pthread_mutex_lock(&c->lock);
    bool idle = c->idle && !c->reload;
    for (int i = 0; i < NAMESPACES * VS_CAUSES; i++)
        idle = idle && !c->asked[i];
    pthread_mutex_unlock(&c->lock);
    return idle;
}

/* Waits until the thread has answered all requests. */
static void settle(void) {
    AWAIT(is_idle());
}

/* Sets up two namespaces, the first with this policy. */
static void set_desk_within(const char *source, struct vs_vm_limits limits) {
    struct vesta_opts opts = {
        .size = sizeof opts, .layout = FOUR_A_MS, .has_worker = 1, .worker = 5, .flags = VESTA_UNSAFE_PRIVATE};
    struct vesta_error err = {0};
    uint64_t id;
    memset(&desk, 0, sizeof desk);
    desk.limits = limits;
    strcpy(desk.folder, "/tmp/vesta-host-XXXXXX");
    if (!mkdtemp(desk.folder)) abort();
    snprintf(desk.log, sizeof desk.log, "%s/log", desk.folder);
    for (int i = 0; i < NAMESPACES; i++)
        snprintf(desk.path[i], sizeof desk.path[i], "%s/p%d.lua", desk.folder, i);
    desk.unix_us = INT64_C(1700000000000000);
    desk.boot_us = INT64_C(1000000000);
    desk.clock = (struct vesta_clock){&desk, desk_unix_us, desk_boot_us, desk_sleep_us};
    opts.clock = &desk.clock;
    if (vs_log_setup(&(struct vs_log_opts){.path = desk.log, .clock = &desk.clock}, &err) != VESTA_OK)
        CHECK_FAIL("%s", err.text);
    if (vesta_open(&opts, &desk.gen, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    while (vesta_next(desk.gen, &id, &desk.full) == VESTA_OK)
        ;
    desk.unix_us -= BACK_US;
    CHECK(vesta_next(desk.gen, &id, &desk.back) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(desk.full.why), "full");
    CHECK_STR(vesta_why_name(desk.back.why), "clock_back");
    write_policy(0, source);
    if (open_control(&err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    settle(); /* requests while the thread starts get no answer */
}

/* Stops the clock of the budget too.  Other limits would soon be exceeded, because the thread has the lowest priority
 * and gets little time on a busy machine. */
static void set_desk(const char *source) {
    set_desk_within(source,
                    (struct vs_vm_limits){.clock = &desk.clock, .instructions = 500000, .memory_bytes = 2 << 20});
}

static void clear_desk(void) {
    char command[128];
    vs_control_close(desk.control);
    vesta_close(desk.gen);
    vs_log_end(VS_LOG_END_MS);
    snprintf(command, sizeof command, "rm -rf %s", desk.folder);
    CHECK(system(command) == 0);
}

/* Returns the text of the log so far. */
__attribute__((unused)) static const char *told(void) {
    return text_in(desk.log);
}

/* ------------------------------------------------------------------ requests */

static struct vs_policies_status status_now(void) {
    struct vs_policies_status status;
    desk.policies.status(desk.policies.self, &status);
    return status;
}

__attribute__((unused)) static uint64_t calls(enum vs_hook hook, enum vs_call_result result) {
    return status_now().calls[hook][result];
}

/* Returns the immediate answer.  Must not block. */
static enum vs_next_step ask_once(int ns, const struct vesta_pause *pause, int64_t *until_us) {
    return desk.policies.judge(desk.policies.self, ns, desk.gen, pause, until_us);
}

/* Returns the answer after the thread has decided. */
__attribute__((unused)) static enum vs_next_step ask(int ns, const struct vesta_pause *pause) {
    int64_t until_us;
    enum vs_next_step verdict = ask_once(ns, pause, &until_us);
    for (int i = 0; verdict == VS_PENDING && i < 3; i++) {
        settle();
        verdict = ask_once(ns, pause, &until_us);
    }
    settle();
    return verdict;
}

__attribute__((unused)) static void reload_while_asked(void) {
    uint64_t before = status_now().reloads;
    desk.policies.reload(desk.policies.self);
    AWAIT(status_now().reloads != before);
}

__attribute__((unused)) static void reload(void) {
    reload_while_asked();
    settle();
}

#endif
