/* lock.c -- locks between threads and between processes.  fcntl's record locks, not flock or OFD locks: those live
 * on in forked children and would keep a number locked whose holder is dead. */
#include "os/clock.h"
#include "os/lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PATIENCE_US 3000000

static pthread_mutex_t process_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_ours; /* this thread has the mutex */

static void lock_mutex(void) {
    assert(!is_ours); /* it would wait for itself */
    pthread_mutex_lock(&process_mutex);
    is_ours = true;
}

static void unlock_mutex(void) {
    assert(is_ours);
    is_ours = false;
    pthread_mutex_unlock(&process_mutex);
}

/* When this code is loaded: a fork that has begun meets no handler that comes later. */
__attribute__((constructor)) static void hold_over_fork(void) {
    pthread_atfork(lock_mutex, unlock_mutex, unlock_mutex);
}

void vs_process_lock(void) {
    lock_mutex();
}

bool vs_process_trylock(void) {
    assert(!is_ours);
    is_ours = pthread_mutex_trylock(&process_mutex) == 0;
    return is_ours;
}

void vs_process_unlock(void) {
    unlock_mutex();
}

bool vs_process_is_locked(void) {
    return is_ours;
}

static bool set_lock(int fd, int64_t byte, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int rc;
    while ((rc = fcntl(fd, F_SETLK, &lock)) != 0 && errno == EINTR)
        ;
    return rc == 0;
}

bool vs_lock_byte(int fd, int64_t byte, bool exclusive) {
    return set_lock(fd, byte, exclusive ? F_WRLCK : F_RDLCK);
}

bool vs_lock_byte_patiently(int fd, int64_t byte) {
    const struct vesta_clock *clock = vs_clock_system();
    int64_t until = clock->boot_us(clock->self) + LOCK_PATIENCE_US;
    for (int64_t nap_us = 50; !set_lock(fd, byte, F_WRLCK); nap_us = nap_us < 1000 ? nap_us * 2 : 1000) {
        if ((errno != EAGAIN && errno != EACCES) || clock->boot_us(clock->self) >= until) return false;
        clock->sleep_us(clock->self, nap_us);
    }
    return true;
}

void vs_unlock_byte(int fd, int64_t byte) {
    set_lock(fd, byte, F_UNLCK);
}

void vs_futex_wait(_Atomic uint32_t *word, uint32_t while_equal, int64_t us) {
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    syscall(SYS_futex, word, FUTEX_WAIT, while_equal, &ts, NULL, 0);
}

void vs_futex_wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
