/* tree.h -- starts a program, and sends signals to all processes that it started. */
#ifndef VS_RUN_TREE_H
#define VS_RUN_TREE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Starts a program with this signal mask, in this process group (0: its own).  The kernel kills it when the calling thread
 * ends.  Returns its pid.  If it cannot be run, returns 0 and sets *why to the errno. */
pid_t vs_run_spawn(char **command, const sigset_t *mask, pid_t group, int *why);

/* Sends a signal to all live descendants of a process, but not to that process.  Returns their number. */
int vs_run_signal_all(pid_t root, int number);

/* Replaces stdin and stdout with /dev/null, so that a pipe of the program is closed when the program ends. */
void vs_run_let_go(void);

#endif
