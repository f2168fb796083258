/* alive.c -- detects stuck event loops, for the service manager's watchdog. */
#include "check.h"
#include "os/clock.h"
#include "server/server.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct vs_server server;
static sem_t ready, stuck, go_on;

static void on_ready(void *self) {
    (void)self;
    sem_post(&ready);
}

static void hang(void *self, int number) {
    (void)self, (void)number;
    sem_post(&stuck);
    while (sem_wait(&go_on) != 0)
        ;
}

static void *serve(void *arg) {
    struct vs_serve_opts opts = {.server = &server, .threads = 2, .ready = on_ready, .on_signal = hang};
    struct vesta_error err;
    (void)arg;
    if (vs_serve(&opts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return NULL;
}

/* Waits, because a thread may take any time to get there on a busy machine. */
static void await_alive(bool alive) {
    AWAIT(vs_serve_alive(&server, 1000) == alive);
}

static void a_stuck_loop_is_not_alive(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0), sem_init(&stuck, 0, 0), sem_init(&go_on, 0, 0);
    server.clock = vs_clock_system();
    CHECK(vs_serve_alive(&server, 1000)); /* without a running loop none is stuck */
    NEED(pthread_create(&thread, NULL, serve, NULL) == 0);
    sem_wait(&ready);
    await_alive(true);
    kill(getpid(), SIGUSR2);
    sem_wait(&stuck);
    await_alive(false);
    CHECK(vs_serve_alive(&server, 3600000)); /* not yet stuck for an hour */
    sem_post(&go_on);
    await_alive(true);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    CHECK(vs_serve_alive(&server, 0));
}

static const struct check_case cases[] = {
    {"a loop that hangs is reported as stuck until it continues", a_stuck_loop_is_not_alive},
};
CHECK_MAIN(cases)
