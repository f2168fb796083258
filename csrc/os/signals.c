/* signals.c -- blocks signals in the library's threads, so that the program's own threads receive them. */
#include "os/thread.h"

#include <signal.h>

void vs_signals_to_block(sigset_t *set) {
    sigfillset(set);
    sigdelset(set, SIGBUS);
}

/* A new thread inherits the signal mask of its creator, so the mask is set for the moment of creation. */
int vs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, were;
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &were);
    int rc = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &were, NULL);
    return rc;
}
