/* watch.c -- what is looked at again each second, until Ctrl-C: a screen that says when it is old.  Knows no command.
 */
#include "command/command.h"

#include "os/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The first thing that a look said: what went wrong. */
static char trouble[512];

static void keep(const char *text) {
    if (!*trouble) snprintf(trouble, sizeof trouble, "%s", text);
}

struct watching {
    const struct vs_watch *watch;
    char told[sizeof trouble]; /* what is known by now; empty: all is well */
    int64_t seen_ms;           /* when what stands on the screen was true */
};

/* A trouble is told when it comes, when it is another, and when it is over; a screen says each second how old it is. */
static void tell(struct watching *w, bool is_seen) {
    char iso[VESTA_ISO_MAX];
    if (strcmp(trouble, w->told) != 0 && *trouble) vs_say("%s", trouble);
    if (!*trouble && *w->told && !w->watch->redraws) vs_say("it answers again");
    memcpy(w->told, trouble, sizeof trouble);
    if (is_seen || !w->watch->redraws) return;
    if (w->seen_ms)
        vs_status("what stands above is of %s, %" PRId64 " s ago; tried each second",
                  vs_iso(w->seen_ms - w->seen_ms % 1000, iso), (vs_now_ms() - w->seen_ms) / 1000);
    else
        vs_status("nothing was seen yet; tried each second");
}

int vs_watch(const struct vs_watch *watch) {
    struct watching w = {.watch = watch};
    vs_catch_signals();
    while (!interrupted && !vs_out_gone()) {
        *trouble = '\0';
        vs_say_by(keep);
        int rc = watch->look(watch->self);
        vs_say_by(NULL);
        if (rc == VS_DONE) {
            w.seen_ms = vs_now_ms();
            vs_progress_end();
            if (watch->redraws) vs_outf("\033[H\033[J"); /* to the top, and clear */
            watch->print(watch->self);
            vs_out_flush();
        }
        tell(&w, rc == VS_DONE);
        if (!interrupted) sleep(1);
    }
    vs_progress_end();
    return VS_DONE;
}
