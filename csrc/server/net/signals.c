/* signals.c -- signals, heard by a loop.  The handler only notes them: it uses nothing that may be freed. */
#include "server/net/net.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The first two end the server. */
static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
#define ENDS 2
#define SIGNALS (int)(sizeof signals / sizeof *signals)

static int heard_fd = -1; /* made once, and never closed: a handler may run at any time */
static atomic_uint heard; /* bits, by `signals` */
static struct watched hearing;
static struct server *hearer; /* only its first loop's thread uses it */

static void on_signal(int number) {
    int error = errno;
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number) atomic_fetch_or(&heard, 1u << i);
    ssize_t written = write(heard_fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)written;
    errno = error;
}

static void on_heard(struct watched *of, uint32_t events) {
    uint64_t count;
    ssize_t got = read(heard_fd, &count, sizeof count);
    (void)of, (void)events, (void)got;
    unsigned bits = atomic_exchange(&heard, 0);
    for (int i = 0; i < SIGNALS; i++)
        if (bits & 1u << i) vs_signal_came(hearer, signals[i], i < ENDS);
}

static void mask_others(int how) {
    sigset_t others;
    sigemptyset(&others);
    for (int i = ENDS; i < SIGNALS; i++)
        sigaddset(&others, signals[i]);
    pthread_sigmask(how, &others, NULL);
}

void vs_serve_hold_signals(void) {
    mask_others(SIG_BLOCK);
}

int vs_signals_watch(struct server *server) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    if (heard_fd < 0) heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hearer = server;
    hearing.ready = on_heard;
    if (heard_fd < 0 || vs_poll_watch(server->loops[0], heard_fd, &hearing, EPOLLIN) != 0) return errno;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
    mask_others(SIG_UNBLOCK);
    return 0;
}

void vs_signals_end(void) {
    for (int i = 0; i < SIGNALS; i++)
        signal(signals[i], i < ENDS ? SIG_DFL : SIG_IGN);
}
