/* thread.h -- what a thread of ours asks of the system: what it has used, the time that it is woken by, signals. */
#ifndef VS_OS_THREAD_H
#define VS_OS_THREAD_H

#include "vesta.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* The machine's clocks, but boot_us is the processor time that the calling thread has used: for limits on work, which
 * must not depend on how busy the machine is. */
const struct vesta_clock *vs_clock_thread(void);

/* The processor time that a thread of this process, which has not ended, has had. */
int64_t vs_thread_us(pthread_t thread);

/* CLOCK_MONOTONIC, for who compares it with another program's or the kernel's, as service managers do. */
int64_t vs_monotonic_us(void);

/* Makes a condition whose waits end by CLOCK_MONOTONIC. */
void vs_cond_init(pthread_cond_t *cond);
/* Waits on such a condition until that vs_monotonic_us at the latest.  false: it has come. */
bool vs_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);

/* For a thread that shall take no signal of the program's: all but the one that it may bring about itself by touching a
 * map that was cut short (guard.c), since that one blocked is the program's end. */
void vs_signals_to_block(sigset_t *set);

/* Starts such a thread: signals are the program's business.  0, or an errno. */
int vs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
