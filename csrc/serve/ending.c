/* ending.c -- stops a server.  Worker ids are released in parallel.  Each is released as soon as no thread is opening
 * its namespace any more.  The process exits within END_MS of the signal even if a store call, an fsync or a policy
 * hangs, and it logs what was not completed.  Only an uninterruptible wait in the kernel can take longer. */
#include "log/access.h"
#include "os/thread.h"
#include "serve/crews/threads.h"
#include "serve/holders.h"
#include "serve/serving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define END_MS 4800     /* the process exits this long after the signal */
#define RELEASE_MS 4200 /* releasing worker ids ends this long after the signal */
#define CLOSE_MS 4500
#define TOLD_MAX 16 /* maximum number of namespaces that the log lists because their worker ids were not released */
#define LOG_MS 4700 /* less than END_MS, because end_now's message would be wrong if only the log's disk hangs */

struct ending_release {
    struct vs_serving *serving;
    struct {
        bool begun; /* no thread was opening the namespace any more */
        int rc;
        struct vesta_error err;
    } of[];
};

/* ------------------------------------------------------------------ signals before and after the loops */

/* Exits on a signal that arrives before anything is leased.  This handler is needed if the process is PID 1 of a
 * container, because the kernel discards signals to PID 1 that have no handler. */
static void end_before(int number) {
    (void)number;
    _exit(VS_DONE);
}

static void end_now(int number) {
    static const char text[] = "vesta: forced to exit 5 s after the signal to stop, because something hangs: a worker "
                               "id may not have been released, and is free when its lease has expired\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(VS_FAILED);
}

static void on(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void vs_ending_prepare(void) {
    on(SIGTERM, end_before);
    on(SIGINT, end_before);
    on(SIGALRM, end_now);
    /* PID 1 of a container inherits the children of the program that called exec.  vesta itself starts no children. */
    on(SIGCHLD, SIG_IGN);
}

void vs_ending_begin(struct vs_serving *serving) {
    struct itimerval timer = {.it_value = {.tv_sec = END_MS / 1000, .tv_usec = END_MS % 1000 * 1000}};
    if (serving->ended_us) return;
    serving->ended_us = vs_monotonic_us();
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int64_t until_us(const struct vs_serving *serving, int64_t ms) {
    return serving->ended_us + ms * 1000;
}

/* ------------------------------------------------------------------ releasing */

static int64_t release_namespace(void *self, int i) {
    struct ending_release *release = self;
    const struct vs_serving *serving = release->serving;
    const struct vs_namespace *ns = &serving->server.names.at[i];
    int64_t end_us = until_us(serving, RELEASE_MS);
    if (!vs_start_stopped(serving->start, i, end_us) || vs_monotonic_us() >= end_us) return VS_THREADS_DONE;
    release->of[i].begun = true;
    if (vs_namespace_is_open(ns)) release->of[i].rc = vesta_release(ns->gen[VS_RESP], &release->of[i].err);
    return VS_THREADS_DONE;
}

static void tell(const struct vs_namespace *ns, const char *why) {
    vs_say("the worker id of '%s' was not released: %s", ns->name, why);
}

/* Reports the worker ids that were not released, and returns their number.  `threads`: threads that still hang.  A
 * namespace without an open generator has no lease. */
static int tell_all(const struct ending_release *release, struct vs_threads *threads) {
    const struct vs_server *server = &release->serving->server;
    int kept = 0;
    for (int i = 0; i < server->names.count; i++) {
        bool hangs = (threads && !vs_threads_did(threads, i, 0)) || !release->of[i].begun;
        if (hangs ? !vs_namespace_is_open(&server->names.at[i]) : release->of[i].rc == VESTA_OK) continue;
        if (kept++ < TOLD_MAX)
            tell(&server->names.at[i],
                 hangs ? "its store does not answer in time. The worker id is free when its lease has expired"
                       : release->of[i].err.text);
    }
    if (kept > TOLD_MAX) vs_say("the worker ids of %d more namespaces were not released", kept - TOLD_MAX);
    return kept;
}

void vs_ending_log(const struct vs_serving *serving) {
    int64_t left_ms = (until_us(serving, LOG_MS) - vs_monotonic_us()) / 1000;
    bool is_free = !serving->ended_us || left_ms > VS_LOG_END_MS;
    int64_t wait_ms = is_free ? VS_LOG_END_MS : left_ms > 0 ? left_ms : 0;
    vs_access_close(serving->server.monitor.access, wait_ms / 2);
    vs_log_end(wait_ms / 2);
}

/* Exits without freeing memory, because threads that hang still use it. */
static _Noreturn void leave(struct vs_serving *serving) {
    vs_log(VS_LOG_WARN, "stopped, although a call to a store still hangs", NULL);
    vs_unbind_all(serving);
    vs_ending_log(serving);
    _exit(VS_FAILED);
}

int vs_ending_release(struct vs_serving *serving) {
    size_t count = (size_t)serving->server.names.count;
    struct ending_release *release = calloc(1, sizeof *release + count * sizeof release->of[0]);
    vs_ending_begin(serving); /* needed if no signal was received */
    vs_start_stop(serving->start);
    if (!release) return vs_say("no memory"), VS_FAILED;
    release->serving = serving;
    struct vs_threads *threads = vs_threads_start(&serving->crews, release_namespace, release);
    bool begun = threads != NULL;
    if (begun) threads = vs_threads_end(threads, until_us(serving, RELEASE_MS));
    int kept = begun ? tell_all(release, threads) : serving->server.names.count;
    bool started = vs_start_end(serving->start, until_us(serving, RELEASE_MS));
    bool returned = vs_segments_release(serving, until_us(serving, RELEASE_MS));
    bool unread = vs_server_holders_end(serving, until_us(serving, RELEASE_MS));
    bool ended = vs_leasing_end(serving, until_us(serving, RELEASE_MS));
    ended = vs_marks_end(serving, until_us(serving, RELEASE_MS)) && ended;
    if (!begun || threads || !started || !returned || !unread || !ended) leave(serving);
    free(release);
    return kept > 0 ? VS_FAILED : VS_DONE;
}

/* ------------------------------------------------------------------ closing */

void vs_ending_given_back(void) {
    on(SIGALRM, end_before);
}

static int64_t close_namespace(void *self, int i) {
    vs_namespace_close(self, i);
    return VS_THREADS_DONE;
}

void vs_ending_close(struct vs_serving *serving) {
    struct vs_threads *threads = vs_threads_start(&serving->crews, close_namespace, serving);
    vs_segments_close(serving);
    if (!threads || vs_threads_end(threads, until_us(serving, CLOSE_MS))) leave(serving);
}
