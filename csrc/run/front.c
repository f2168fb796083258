/* front.c -- the process that the user started: forwards signals, and watches the keeper (see run.h). */
#include "run/alarm.h"
#include "run/keep.h"
#include "run/tree.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int front_forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

struct front {
    const struct vs_run_opts *opts;
    struct vs_run_page *page;
    struct vs_run_alarm alarm;
    int signals;
    int orders; /* the pipe to the keeper */
    pid_t keeper;
    bool has_terminal;
    bool has_keeper;     /* the keeper has not ended */
    int64_t off_boot_us; /* when the clock left the lease's times.  0: it is within them */
    bool is_told_late;
};

/* ------------------------------------------------------------------ signals */

/* At a terminal, the running program is in the same process group, and has received the terminal's signals itself. */
static void front_take_signals(struct front *f) {
    struct signalfd_siginfo info;
    while (read(f->signals, &info, sizeof info) == sizeof info) {
        bool is_had = f->has_terminal && info.ssi_code == SI_KERNEL && f->page->kill_at_us;
        if (info.ssi_signo == SIGCHLD || is_had || !f->has_keeper) continue;
        (void)!write(f->orders, &(unsigned char){(unsigned char)info.ssi_signo}, 1);
        kill(f->keeper, SIGCONT); /* the keeper may be stopped */
    }
}

/* As process 1, the front also adopts orphans that the program did not start. */
static void front_reap(struct front *f) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        if (pid == f->keeper) f->has_keeper = false;
}

/* ------------------------------------------------------------------ the watch */

/* Returns the instant from which the keeper is late.  The keeper sends KILL when a limit has passed.  The front waits
 * for half the margin longer, and then sends KILL itself. */
static int64_t front_late_us(struct front *f, const struct vs_run_now *now) {
    int64_t kill_at_us = f->page->kill_at_us, slack_us = vs_run_margin_ms(f->opts->times.ttl_ms) * 500;
    bool is_off =
        vs_run_high_ms(now, f->page->high_offset_ms) >= f->page->kill_at_ms || now->unix_ms < f->page->starts_ms;
    if (!kill_at_us || !is_off) f->off_boot_us = 0;
    if (!kill_at_us) return INT64_MAX;
    if (is_off && !f->off_boot_us) {
        f->off_boot_us = now->boot_us;
        (void)!write(f->orders, "", 1); /* 0 is no signal, but makes the keeper read the clock */
    }
    if (is_off && f->off_boot_us < kill_at_us) kill_at_us = f->off_boot_us;
    return kill_at_us + slack_us;
}

/* Ends the program, because the keeper did not. */
static void front_kill(struct front *f) {
    f->page->is_overdue = true;
    vs_run_signal_all(f->keeper, SIGKILL);
    kill(f->keeper, SIGCONT);
    if (f->is_told_late) return;
    f->is_told_late = true;
    vs_run_say(f->opts,
               "sending KILL to the program, which uses worker id %" PRId64 ": process %d, which renews its lease, "
               "was stopped or is late",
               (int64_t)f->page->worker, (int)f->keeper);
}

static void front_watch(struct front *f) {
    const struct vesta_clock *clock = vs_clock_system();
    while (f->has_keeper) {
        struct vs_run_now now = {.boot_us = clock->boot_us(clock->self), .unix_ms = clock->unix_us(clock->self) / 1000};
        int64_t until_us = front_late_us(f, &now);
        bool is_late = now.boot_us >= until_us;
        if (is_late) until_us = now.boot_us + VS_RUN_AGAIN_MS * 1000;
        if (is_late) front_kill(f);
        if (until_us > now.boot_us + VS_RUN_LOOK_MS * 1000) until_us = now.boot_us + VS_RUN_LOOK_MS * 1000;
        struct pollfd at[3] = {{.fd = f->signals, .events = POLLIN}};
        vs_run_alarm_wait(&f->alarm, until_us, at, 3);
        front_take_signals(f);
        front_reap(f);
    }
}

/* Called if the keeper was killed.  The kernel has sent KILL to COMMAND.  This process has adopted all other processes
 * of the program. */
static int front_mourn(const struct front *f) {
    vs_run_say(f->opts,
               "sending KILL to the program: process %d, which renews its lease, was killed. Worker id %" PRId64
               " is free after its lease expires",
               (int)f->keeper, (int64_t)f->page->worker);
    while (vs_run_signal_all(getpid(), SIGKILL) > 0) {
        usleep(VS_RUN_AGAIN_MS * 1000);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return VS_RUN_ENDED;
}

/* ------------------------------------------------------------------ the process */

/* A shell's loop ends only if Ctrl-C ended the command, so this process ends in the same way. */
static int front_end(const struct front *f) {
    if (!f->page->is_done) return front_mourn(f);
    if (f->page->signal == SIGINT && f->page->code == 128 + SIGINT && getpid() != 1) {
        sigset_t interrupt;
        sigemptyset(&interrupt);
        sigaddset(&interrupt, SIGINT);
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
        pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
    }
    return f->page->code;
}

static bool front_has_terminal(void) {
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static int front_fail(const struct vs_run_opts *opts, const char *what) {
    vs_run_say(opts, "%s: %s", what, strerror(errno));
    return VS_RUN_FAILED;
}

int vs_run(const struct vs_run_opts *opts) {
    struct front f = {.opts = opts, .has_terminal = front_has_terminal(), .has_keeper = true};
    sigset_t ours, before;
    int orders[2];
    f.page = mmap(NULL, sizeof *f.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f.page == MAP_FAILED || pipe2(orders, O_CLOEXEC) != 0) return front_fail(opts, "no memory or no descriptor");
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    for (size_t i = 0; i < sizeof front_forwarded / sizeof *front_forwarded; i++)
        sigaddset(&ours, front_forwarded[i]);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    signal(SIGCHLD, SIG_DFL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return front_fail(opts, "this system cannot adopt the processes that COMMAND starts");
    f.orders = orders[1];
    f.keeper = fork();
    if (f.keeper == 0) {
        close(orders[1]);
        vs_run_keep(&(const struct vs_run_keep_opts){opts, f.page, orders[0], &before, f.has_terminal ? getpgrp() : 0});
    }
    close(orders[0]);
    f.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (f.keeper < 0 || f.signals < 0 || vs_run_alarm_open(&f.alarm) != 0)
        return front_fail(opts, "the keeper cannot be started"); /* the end of the pipe ends the keeper */
    vs_run_let_go();
    fcntl(f.orders, F_SETFL, O_NONBLOCK);
    front_watch(&f);
    return front_end(&f);
}
