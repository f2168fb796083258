/* slow.c -- a line at a terminal while a call of the main thread blocks (see slow.h).
 *
 * A thread checks twice a second whether a call blocks.  It prints while it holds a lock that the main thread needs to
 * continue, so the two threads never print at the same time.  Signals go to the main thread and interrupt its call. */
#include "modules/slow.h"

#include "command/command.h"
#include "os/clock.h"
#include "os/thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SLOW_LOOKS_US 500000
#define SLOW_AFTER_US 2000000
#define SLOW_WHAT_MAX 200

static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following variables */
static char slow_what[SLOW_WHAT_MAX];
static int64_t slow_since_us; /* boot time when the call began (0: no call blocks) */
static bool slow_is_shown;

static int64_t slow_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

static void *slow_run(void *unused) {
    for (;;) {
        usleep(SLOW_LOOKS_US);
        pthread_mutex_lock(&slow_lock);
        int64_t took_us = slow_since_us ? slow_now_us() - slow_since_us : 0;
        if (took_us >= SLOW_AFTER_US) {
            vs_status("waiting for %s for %" PRId64 " s", slow_what, took_us / 1000000);
            slow_is_shown = true;
        }
        pthread_mutex_unlock(&slow_lock);
    }
    return unused;
}

/* Starts the thread, which ends with the process. */
static bool slow_start(void) {
    pthread_t thread;
    if (!isatty(STDERR_FILENO) || vs_thread_start(&thread, slow_run, NULL) != 0) return false;
    pthread_detach(thread);
    return true;
}

/* Returns whether the thread runs.  The first call starts it. */
static bool slow_is_on(void) {
    static int is_on = -1;
    if (is_on < 0) is_on = slow_start();
    return is_on;
}

void vs_slow_begin(const char *what) {
    if (!slow_is_on()) return;
    pthread_mutex_lock(&slow_lock);
    snprintf(slow_what, sizeof slow_what, "%s", what);
    slow_since_us = slow_now_us();
    pthread_mutex_unlock(&slow_lock);
}

void vs_slow_end(void) {
    if (!slow_is_on()) return;
    pthread_mutex_lock(&slow_lock);
    slow_since_us = 0;
    if (slow_is_shown) vs_progress_end();
    slow_is_shown = false;
    pthread_mutex_unlock(&slow_lock);
}
