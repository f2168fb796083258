/* watch.c -- the signals that end a command which runs until Ctrl-C.  Knows no command. */
#include "command/command.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    if (number != SIGWINCH) interrupted = 1;
}

void vs_catch_signals(void) {
    const struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART: a sleep ends */
    struct sigaction before;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &act, NULL); /* nohup */
    sigaction(SIGWINCH, &act, NULL);   /* a screen of another size is drawn at once */
}

bool vs_interrupted(void) {
    return interrupted;
}
