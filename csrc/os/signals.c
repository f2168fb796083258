/* signals.c -- what threads of the library keep from taking. */
#include "os/thread.h"

#include <signal.h>

void vs_signals_to_block(sigset_t *set) {
    sigfillset(set);
    sigdelset(set, SIGBUS);
}

/* It inherits what is blocked when it begins. */
int vs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, were;
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &were);
    int rc = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &were, NULL);
    return rc;
}
