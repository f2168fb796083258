/* keep.h -- the keeper process: claims and renews the lease, and runs the program. */
#ifndef VS_RUN_KEEP_H
#define VS_RUN_KEEP_H

#include "run/run.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Memory that front and keeper share.  The keeper writes it, except for is_overdue. */
struct vs_run_page {
    /* From these instants on, the program must not be alive.  kill_at_us is 0 while no process of it is alive. */
    _Atomic int64_t kill_at_us, kill_at_ms, starts_ms;
    _Atomic int64_t high_offset_ms; /* the latest time that an id may have, minus boot time: see vs_run_high_ms */
    _Atomic int64_t worker;
    /* Set before the keeper ends.  code: the exit code.  signal: the signal that ended COMMAND, or
     * the wait for its start, or 0. */
    _Atomic int code, signal;
    _Atomic bool is_done;
    _Atomic bool is_overdue; /* the front has sent KILL to the program */
};

struct vs_run_keep_opts {
    const struct vs_run_opts *run;
    struct vs_run_page *page;
    int orders;           /* a pipe.  Each byte is a signal to forward, or 0.  EOF: the front was killed */
    const sigset_t *mask; /* the signal mask of the program */
    pid_t group;          /* the process group of the program.  0: its own */
};

/* Runs the keeper in a new process. */
__attribute__((noreturn)) void vs_run_keep(const struct vs_run_keep_opts *opts);

__attribute__((format(printf, 2, 3))) void vs_run_say(const struct vs_run_opts *opts, const char *format, ...);

/* Sets the variables of a worker id in this process's environment.  Returns 0, or an errno if a variable could not be
 * set.  The program must not be started then, because it would issue ids with another worker id, or with none. */
int vs_run_set_names(const struct vs_run_opts *opts, uint64_t worker, unsigned width, int64_t expires_ms);

#endif
