/* keep.c -- the keeper process: carries out what decide.c decides (see keep.h). */
#include "run/keep.h"
#include "run/alarm.h"
#include "run/caller.h"
#include "run/tree.h"
#include "base/error.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP_RETRY_US 100000    /* the shortest pause between two calls that fail */
#define KEEP_TOLD_WAIT_MS 2000  /* a longer wait is reported */
#define KEEP_TOLD_STEP_MS 100   /* a clock that goes back further is reported */
#define KEEP_TOLD_UNDEAD_US 2000000

struct keep {
    const struct vs_run_keep_opts *opts;
    const struct vs_run_opts *run_opts;
    struct vs_run_facts run;
    struct vs_run_caller caller;
    enum vs_run_step call; /* the call in progress */
    int children;          /* a signalfd: readable if a child has ended */
    struct vs_run_alarm alarm;
    pid_t pid;   /* of COMMAND */
    int status;  /* of COMMAND, as in waitpid */
    int why_not; /* the errno if COMMAND could not be run, or 0 */
    int asked_signal;
    struct vs_run_now now;
    int64_t offset_ms;      /* the clock minus boot time, at the last keep_look */
    int64_t high_offset_ms; /* the highest offset since the program started */
    int64_t ended_ms;  /* the last instant at which a process of the program was alive */
    bool is_told_wait, is_told_trouble, is_told_undead;
};

void vs_run_say(const struct vs_run_opts *opts, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    opts->say(text);
}

#define KEEP_SAY(k, ...) vs_run_say((k)->run_opts, __VA_ARGS__)
#define KEEP_SHOW(k, ...) ((k)->run_opts->is_verbose ? vs_run_say((k)->run_opts, __VA_ARGS__) : (void)0)

static const char *keep_iso(int64_t unix_ms, char *buf) {
    vesta_iso(unix_ms, buf);
    return buf;
}

/* ------------------------------------------------------------------ events */

/* Reads the clocks. */
static void keep_look(struct keep *k) {
    const struct vesta_clock *clock = vs_clock_system();
    k->now = (struct vs_run_now){.boot_us = clock->boot_us(clock->self), .unix_ms = clock->unix_us(clock->self) / 1000};
    int64_t offset_ms = k->now.unix_ms - k->now.boot_us / 1000, back_ms = k->offset_ms - offset_ms;
    if (k->offset_ms && back_ms > KEEP_TOLD_STEP_MS && k->run.is_started)
        KEEP_SAY(k, "the clock went back %.1f s: the program may wait, or repeat its own ids. Check the program's "
                    "documentation", (double)back_ms / 1000);
    k->offset_ms = offset_ms;
    if (!k->run.is_started || k->high_offset_ms < offset_ms) k->high_offset_ms = offset_ms;
    k->now.high_ms = vs_run_high_ms(&k->now, k->high_offset_ms);
    k->opts->page->high_offset_ms = k->high_offset_ms;
}

/* Publishes the deadlines for the front.  A renewal only moves them to later times, so they may be written in any
 * order. */
static void keep_publish(struct keep *k) {
    const struct vs_run_facts *run = &k->run;
    bool is_alive = run->is_started && (run->is_alive || run->has_others);
    k->opts->page->starts_ms = run->starts_ms;
    k->opts->page->kill_at_ms = vs_run_kill_at_ms(run);
    k->opts->page->kill_at_us = is_alive ? vs_run_kill_at_us(run) : 0;
}

/* Reaps the processes that have ended.  COMMAND's orphans become children of this process.  So if it has no child, no
 * process of the program is alive. */
static void keep_reap(struct keep *k) {
    struct signalfd_siginfo unused;
    int status;
    pid_t pid;
    bool was_alive = k->run.is_alive || k->run.has_others;
    (void)!read(k->children, &unused, sizeof unused);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != k->pid) continue;
        k->run.is_alive = false;
        k->status = status;
        k->run.has_ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    k->run.has_others = pid == 0 && !k->run.is_alive;
    if (!was_alive || k->run.is_alive || k->run.has_others) return;
    keep_look(k);
    k->ended_ms = k->now.high_ms;
    keep_publish(k);
}

/* A signal that is ignored, as by nohup, asks for nothing. */
static bool keep_is_ending(int number) {
    struct sigaction at;
    bool is_end = number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
    return is_end && sigaction(number, NULL, &at) == 0 && at.sa_handler != SIG_IGN;
}

static void keep_forward(struct keep *k, int number) {
    if (keep_is_ending(number)) {
        k->run.is_asked = true;
        k->asked_signal = number;
    }
    if (number && k->run.is_alive && k->pid) kill(k->pid, number);
}

static void keep_read_orders(struct keep *k) {
    unsigned char orders[64];
    ssize_t length = read(k->opts->orders, orders, sizeof orders);
    for (ssize_t i = 0; i < length; i++)
        keep_forward(k, orders[i]);
    if (length == 0) k->run.is_orphaned = true;
}

/* ------------------------------------------------------------------ calls to the store */

static void keep_call(struct keep *k, enum vs_run_step step, int64_t ended_ms) {
    k->run.is_calling = true;
    k->call = step;
    vs_run_caller_ask(&k->caller, step, ended_ms, k->high_offset_ms);
}

static void keep_held(struct keep *k) {
    const struct vs_worker *w = &k->caller.w;
    char expires[VESTA_ISO_MAX];
    bool is_new = !k->run.has_lease;
    vs_run_held(&k->run, &k->caller.sent, w->earlier_ms, w->expires_ms, w->deadline_boot_us);
    k->opts->page->worker = (int64_t)w->key.worker;
    keep_publish(k);
    keep_iso(w->expires_ms, expires);
    if (is_new)
        KEEP_SHOW(k, "leased worker id %" PRIu64 " until %s", w->key.worker, expires);
    else if (k->is_told_trouble)
        KEEP_SAY(k, "renewed the lease of worker id %" PRIu64 " until %s", w->key.worker, expires);
    k->is_told_trouble = false;
}

/* Handles a call that failed.  The lease is valid until its deadline. */
static void keep_trouble(struct keep *k) {
    int64_t retry_us = k->caller.w.retry_boot_us;
    k->run.retry_boot_us = retry_us > k->now.boot_us + KEEP_RETRY_US ? retry_us : k->now.boot_us + KEEP_RETRY_US;
    if (k->call == VS_RUN_CLAIM || k->is_told_trouble) return;
    k->is_told_trouble = true;
    int64_t left_us = vs_run_kill_at_us(&k->run) - k->run.times.kill_after_ms * 1000 - k->now.boot_us;
    KEEP_SAY(k, "the lease of worker id %" PRIu64 " was not renewed: %s. Unless a later renewal succeeds, the program gets "
                "TERM in %.1f s", k->caller.w.key.worker, k->caller.err.text, left_us > 0 ? (double)left_us / 1e6 : 0.0);
}

static void keep_claim_failed(struct keep *k) {
    keep_trouble(k);
    if (k->caller.is_hopeless) k->run.has_failed = true;
    if (k->caller.end == VS_WORKER_LOST) k->run.retry_boot_us = k->now.boot_us + KEEP_RETRY_US;
}

static void keep_released(struct keep *k) {
    char expires[VESTA_ISO_MAX];
    k->run.is_released = true;
    if (k->caller.end == VS_WORKER_RELEASED)
        KEEP_SHOW(k, "released worker id %" PRIu64, k->caller.w.key.worker);
    else
        KEEP_SAY(k, "worker id %" PRIu64 " was not released: %s. It is free after its lease expires at %s",
                 k->caller.w.key.worker, k->caller.err.text, keep_iso(k->run.expires_ms, expires));
}

static void keep_take_reply(struct keep *k) {
    if (!vs_run_caller_take(&k->caller)) return;
    k->run.is_calling = false;
    if (k->call == VS_RUN_RELEASE)
        keep_released(k);
    else if (k->caller.end == VS_WORKER_HELD)
        keep_held(k);
    else if (k->call == VS_RUN_CLAIM)
        keep_claim_failed(k);
    else if (k->caller.end == VS_WORKER_LOST)
        vs_run_lost(&k->run);
    else
        keep_trouble(k);
}

/* ------------------------------------------------------------------ steps */

static void keep_start(struct keep *k) {
    const struct vs_worker *w = &k->caller.w;
    k->why_not = vs_run_set_names(k->run_opts, w->key.worker, (unsigned)w->layout.field[w->layout.worker].width,
                                  w->expires_ms);
    keep_publish(k);
    if (k->why_not == 0) k->pid = vs_run_spawn(k->run_opts->command, k->opts->mask, k->opts->group, &k->why_not);
    vs_run_let_go();
    if (k->pid) return;
    k->run.is_alive = false;
    k->ended_ms = VS_WORKER_UNUSED;
    keep_publish(k);
    const char *command = k->run_opts->command[0];
    KEEP_SAY(k, "%s cannot be run: %s. Check its path and its permissions", VS_QUOTE(command, strlen(command)),
             strerror(k->why_not));
}

/* Reports why the program is ended. */
static void keep_tell_why(struct keep *k, const char *name) {
    static const char *const whys[] = {
        [VS_RUN_NO_ANSWER] = "its lease was not renewed, and another process may claim it",
        [VS_RUN_LOST] = "its lease has ended, and another process may have claimed it",
        [VS_RUN_AHEAD] = "the clock reached the end of its lease. Check the clock of this machine",
        [VS_RUN_BEHIND] = "the clock went back to the ids of earlier holders. Check the clock of this machine",
        [VS_RUN_ORPHANED] = "vesta was killed",
        [VS_RUN_LEFT] = "the program has ended, and processes that it started have not"};
    if (k->run.why != VS_RUN_FINE && k->run.why != VS_RUN_LEFT)
        KEEP_SAY(k, "sending %s to the program, which uses worker id %" PRIu64 ": %s", name, k->caller.w.key.worker,
                 whys[k->run.why]);
    else
        KEEP_SHOW(k, "sending %s: %s", name, k->run.why ? whys[k->run.why] : "the program did not end after TERM");
}

static void keep_term(struct keep *k) {
    keep_tell_why(k, "TERM");
    vs_run_signal_all(getpid(), SIGTERM);
    vs_run_signal_all(getpid(), SIGCONT); /* a stopped process would not receive TERM */
}

static void keep_kill(struct keep *k, bool is_first) {
    int alive = vs_run_signal_all(getpid(), SIGKILL);
    static int64_t first_us;
    if (k->pid && k->run.is_alive) kill(k->pid, SIGKILL); /* without /proc, vs_run_signal_all finds no process */
    if (is_first) {
        first_us = k->now.boot_us;
        keep_tell_why(k, "KILL");
    }
    if (alive && !k->is_told_undead && k->now.boot_us > first_us + KEEP_TOLD_UNDEAD_US) {
        k->is_told_undead = true;
        KEEP_SAY(k, "%d processes of the program do not end after KILL. Until they do, they may issue ids with worker id "
                    "%" PRIu64, alive, k->caller.w.key.worker);
    }
}

static void keep_sleep(struct keep *k, int64_t until_boot_us) {
    char starts[VESTA_ISO_MAX];
    int64_t start_ms = k->run.starts_ms + k->run.times.skew_ms;
    if (k->run.has_lease && !k->run.is_started && !k->is_told_wait && start_ms - k->now.unix_ms > KEEP_TOLD_WAIT_MS) {
        k->is_told_wait = true;
        KEEP_SAY(k, "worker id %" PRIu64 ": waiting %.1f s until %s, because its last holder may have issued ids until then",
                 k->caller.w.key.worker, (double)(start_ms - k->now.unix_ms) / 1000, keep_iso(start_ms, starts));
    }
    struct pollfd at[5] = {{.fd = k->children, .events = POLLIN},
                           {.fd = k->caller.ready, .events = POLLIN},
                           {.fd = k->run.is_orphaned ? -1 : k->opts->orders, .events = POLLIN}};
    vs_run_alarm_wait(&k->alarm, until_boot_us, at, 5);
}

static bool keep_step(struct keep *k) {
    int64_t until_boot_us = 0;
    keep_reap(k);
    keep_take_reply(k);
    keep_read_orders(k);
    keep_look(k);
    bool is_first = k->run.kill_boot_us == 0;
    enum vs_run_step step = vs_run_next(&k->run, &k->now, &until_boot_us);
    switch (step) {
    case VS_RUN_SLEEP: keep_sleep(k, until_boot_us); break;
    case VS_RUN_CLAIM:
    case VS_RUN_RENEW: keep_call(k, step, 0); break;
    case VS_RUN_RELEASE: keep_call(k, step, k->run.is_started ? k->ended_ms : VS_WORKER_UNUSED); break;
    case VS_RUN_START: keep_start(k); break;
    case VS_RUN_TERM: keep_term(k); break;
    case VS_RUN_KILL: keep_kill(k, is_first); break;
    case VS_RUN_END: return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the process */

static int keep_code(const struct keep *k) {
    enum vs_run_why why = k->run.why;
    if (k->why_not) return k->why_not == ENOENT ? VS_RUN_NOT_FOUND : VS_RUN_NOT_RUN;
    if (!k->run.is_started) return k->asked_signal ? 128 + k->asked_signal : VS_RUN_FAILED;
    if (k->opts->page->is_overdue || why == VS_RUN_NO_ANSWER || why == VS_RUN_LOST || why == VS_RUN_AHEAD || why == VS_RUN_BEHIND)
        return VS_RUN_ENDED;
    return WIFSIGNALED(k->status) ? 128 + WTERMSIG(k->status) : WEXITSTATUS(k->status);
}

static int keep_signal(const struct keep *k) {
    if (!k->run.is_started) return k->asked_signal;
    return !k->why_not && WIFSIGNALED(k->status) ? WTERMSIG(k->status) : 0;
}

static void keep_begin(struct keep *k) {
    sigset_t children, all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* a truncated map: see mapping/guard.c */
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* if it were still ignored, waitpid would return no exit codes */
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    k->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    setpgid(0, 0); /* so that Ctrl-C and Ctrl-Z at a terminal do not reach the keeper */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "vesta keeper");
    fcntl(k->opts->orders, F_SETFL, O_NONBLOCK);
}

void vs_run_keep(const struct vs_run_keep_opts *opts) {
    struct keep k = {.opts = opts, .run_opts = opts->run, .run.times = opts->run->times, .caller.opts = opts->run};
    keep_begin(&k);
    bool is_ready = k.children >= 0 && vs_run_alarm_open(&k.alarm) == 0 && vs_run_caller_start(&k.caller) == 0;
    if (!is_ready) KEEP_SAY(&k, "the keeper cannot be started: %s", strerror(errno));
    while (is_ready && keep_step(&k))
        ;
    if (is_ready && !k.run.is_started && !k.run.is_asked && !k.run.is_orphaned)
        KEEP_SAY(&k, "no worker id was leased: %s%s", k.caller.err.text,
                 k.caller.end == VS_WORKER_BUSY && !k.run_opts->times.patience_ms ? ". To wait for one, add --wait SECONDS" : "");
    opts->page->code = is_ready ? keep_code(&k) : VS_RUN_FAILED;
    opts->page->signal = keep_signal(&k);
    opts->page->is_done = true;
    if (is_ready) vs_run_caller_close(&k.caller);
    _exit(0);
}
