/* thread.h -- threads of this library: processor time, condition variables and signals. */
#ifndef VS_OS_THREAD_H
#define VS_OS_THREAD_H

#include "vesta.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* The machine's clocks, except that boot_us is the processor time of the calling thread.  Limits on work use it,
 * because they must not depend on the load of the machine. */
const struct vesta_clock *vs_clock_thread(void);

/* The processor time of a thread of this process that has not ended. */
int64_t vs_thread_us(pthread_t thread);

/* CLOCK_MONOTONIC, to compare with times from the kernel or another program, such as a service manager. */
int64_t vs_monotonic_us(void);

/* Makes a condition variable that waits on CLOCK_MONOTONIC. */
void vs_cond_init(pthread_cond_t *cond);
/* Waits on such a condition until vs_monotonic_us() is `until_us`.  False if that time has come. */
bool vs_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);

/* The signals that a thread of the library blocks: all but SIGBUS.  A thread may cause SIGBUS itself by reading a map
 * that was truncated (guard.c), and a blocked SIGBUS would kill the program. */
void vs_signals_to_block(sigset_t *set);

/* Starts a thread with these signals blocked.  Returns 0, or an errno. */
int vs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
