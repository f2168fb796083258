/* thread.h -- CPU time, condition variables and signals of the library's threads. */
#ifndef VS_OS_THREAD_H
#define VS_OS_THREAD_H

#include "vesta.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Returns the machine's clocks, except that boot_us is the CPU time of the calling thread.  Limits on computing time
 * use these clocks, so that the limits do not depend on the load of the machine. */
const struct vesta_clock *vs_clock_thread(void);

/* Returns the CPU time of a running thread of this process. */
int64_t vs_thread_us(pthread_t thread);

/* Returns CLOCK_MONOTONIC, for comparison with times of the kernel or of a program such as a service manager. */
int64_t vs_monotonic_us(void);

/* Makes a condition variable that waits on CLOCK_MONOTONIC. */
void vs_cond_init(pthread_cond_t *cond);
/* Waits on such a condition variable until vs_monotonic_us() reaches `until_us`.  Returns false if that time has
 * passed. */
bool vs_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);

/* Sets the signals that library threads block: all but SIGBUS.  A thread that reads a truncated map causes SIGBUS (see
 * guard.c), and a blocked SIGBUS would kill the program. */
void vs_signals_to_block(sigset_t *set);

/* Starts a thread that blocks the signals of vs_signals_to_block.  Returns 0, or an errno. */
int vs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
