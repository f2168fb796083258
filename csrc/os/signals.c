/* signals.c -- what threads of the library keep from taking. */
#include "os/thread.h"

#include <signal.h>

void vs_signals_to_block(sigset_t *set) {
    sigfillset(set);
    sigdelset(set, SIGBUS);
}
