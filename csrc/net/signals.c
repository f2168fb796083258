/* signals.c -- delivers signals to the first loop.  The handler only sets a bit and writes to an eventfd, so it uses no
 * memory that could be freed. */
#include "base/array.h"
#include "net/inside.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The first ENDS signals stop the server. */
static const int net_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
#define ENDS 2
#define SIGNALS (int)VS_COUNT(net_signals)

static int net_heard_fd = -1; /* never closed, because the handler may run at any time */
static atomic_uint net_heard; /* received signals, one bit per index in net_signals */
static struct net_watched net_hearing;
static struct net_server *net_hearer; /* only used by the first loop's thread */
static void (*net_signal_came)(struct net_server *server, int number, bool ends);

static void net_on_signal(int number) {
    int error = errno;
    for (int i = 0; i < SIGNALS; i++)
        if (net_signals[i] == number) atomic_fetch_or(&net_heard, 1u << i);
    ssize_t written = write(net_heard_fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)written;
    errno = error;
}

static void net_on_heard(struct net_watched *of, uint32_t events) {
    uint64_t count;
    ssize_t got = read(net_heard_fd, &count, sizeof count);
    (void)of, (void)events, (void)got;
    unsigned bits = atomic_exchange(&net_heard, 0);
    for (int i = 0; i < SIGNALS; i++)
        if (bits & 1u << i) net_signal_came(net_hearer, net_signals[i], i < ENDS);
}

static void net_mask_others(int how) {
    sigset_t others;
    sigemptyset(&others);
    for (int i = ENDS; i < SIGNALS; i++)
        sigaddset(&others, net_signals[i]);
    pthread_sigmask(how, &others, NULL);
}

void net_hold_signals(void) {
    net_mask_others(SIG_BLOCK);
}

int net_signals_watch(struct net_server *server, void (*came)(struct net_server *server, int number, bool ends)) {
    struct sigaction action = {.sa_handler = net_on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    if (net_heard_fd < 0) net_heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    net_hearer = server;
    net_signal_came = came;
    net_hearing.ready = net_on_heard;
    if (net_heard_fd < 0 || net_poll_watch(server->loops[0], net_heard_fd, &net_hearing, EPOLLIN) != 0) return errno;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(net_signals[i], &action, NULL);
    net_mask_others(SIG_UNBLOCK);
    return 0;
}

/* Ignores HUP, USR1 and USR2 from now on, because their default action would end the process while it releases its
 * leases. */
void net_signals_end(void) {
    for (int i = 0; i < SIGNALS; i++)
        signal(net_signals[i], i < ENDS ? SIG_DFL : SIG_IGN);
}
