/* lock.c -- locks between threads and between processes.  Bytes are locked with fcntl's record locks, because a forked
 * child would inherit flock and OFD locks, and would keep a worker id locked after its holder has died. */
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
/* The thread that holds the mutex, or 0.  This is not a thread-local flag, because LeakSanitizer aborts on the
 * thread-local storage of a shared library. */
static _Atomic pthread_t owner;

static bool lock_is_ours(void) {
    return owner == pthread_self(); /* no data race: only this thread stores its own id */
}

static void lock_mutex(void) {
    assert(!lock_is_ours()); /* a second lock by the same thread would deadlock */
    pthread_mutex_lock(&process_mutex);
    owner = pthread_self();
}

static void unlock_mutex(void) {
    assert(lock_is_ours());
    owner = (pthread_t)0;
    pthread_mutex_unlock(&process_mutex);
}

/* Registers the handlers when this code is loaded.  A later registration could miss a fork in progress. */
__attribute__((constructor)) static void hold_over_fork(void) {
    pthread_atfork(lock_mutex, unlock_mutex, unlock_mutex);
}

void vs_process_lock(void) {
    lock_mutex();
}

bool vs_process_trylock(void) {
    assert(!lock_is_ours());
    if (pthread_mutex_trylock(&process_mutex) != 0) return false;
    owner = pthread_self();
    return true;
}

void vs_process_unlock(void) {
    unlock_mutex();
}

bool vs_process_is_locked(void) {
    return lock_is_ours();
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

/* futex_waitv of Linux 5.16, defined here because the headers may be older. */
#define FUTEX_WAITV_CALL 449
#define FUTEX_WORD_32 2
struct futex_word {
    uint64_t value, at;
    uint32_t flags, reserved;
};

/* Converts a duration into the absolute time that futex_waitv needs. */
static struct timespec monotonic_in(int64_t us) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int64_t ns = ts.tv_nsec + us % 1000000 * 1000;
    return (struct timespec){.tv_sec = ts.tv_sec + us / 1000000 + ns / 1000000000, .tv_nsec = ns % 1000000000};
}

int vs_futex_wait_any(const struct vs_sleep *on, int count, int64_t us, int64_t poor_us) {
    struct futex_word words[VS_FUTEXES_MAX];
    struct timespec until = monotonic_in(us);
    assert(count > 0 && count <= VS_FUTEXES_MAX);
    for (int i = 0; i < count; i++)
        words[i] = (struct futex_word){on[i].while_equal, (uint64_t)(uintptr_t)on[i].word, FUTEX_WORD_32, 0};
    long woken = syscall(FUTEX_WAITV_CALL, words, count, 0, &until, CLOCK_MONOTONIC);
    if (woken >= 0) return (int)woken;
    if (errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
        vs_futex_wait(on[0].word, on[0].while_equal, us < poor_us ? us : poor_us);
    return -1;
}

void vs_futex_wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
