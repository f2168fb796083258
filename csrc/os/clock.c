/* clock.c -- the machine's clocks.  CLOCK_REALTIME provides the time in ids.  CLOCK_BOOTTIME cannot be set and counts
 * suspend, so comparing both shows whether CLOCK_REALTIME was set. */
#include "os/clock.h"
#include "os/thread.h"

#include <errno.h>
#include <sys/timex.h>
#include <time.h>

static int64_t read_us(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + (uint32_t)ts.tv_nsec / 1000; /* a 32-bit division is faster */
}

static int64_t unix_us(void *self) {
    (void)self;
    return read_us(CLOCK_REALTIME);
}

/* time() returns the seconds that the kernel stored at its last timer tick. */
int64_t vs_clock_late_s(void *self) {
    (void)self;
    return (int64_t)time(NULL);
}

int64_t vs_clock_late_us(void *self) {
    (void)self;
    return read_us(CLOCK_REALTIME_COARSE);
}

static int64_t boot_us(void *self) {
    (void)self;
    return read_us(CLOCK_BOOTTIME);
}

static void sleep_us(void *self, int64_t us) {
    (void)self;
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
        ;
}

static int64_t thread_us(void *self) {
    (void)self;
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

const struct vesta_clock *vs_clock_thread(void) {
    static const struct vesta_clock clock = {NULL, unix_us, thread_us, sleep_us};
    return &clock;
}

int64_t vs_thread_us(pthread_t thread) {
    clockid_t id;
    return pthread_getcpuclockid(thread, &id) == 0 ? read_us(id) : 0;
}

int64_t vs_monotonic_us(void) {
    return read_us(CLOCK_MONOTONIC);
}

void vs_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool vs_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us) {
    const struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

int vs_clock_in_step(int64_t *error_us) {
    struct timex kernel = {.modes = 0}; /* modes 0 changes nothing */
    int state = adjtimex(&kernel);
    if (state < 0) return -1;
    *error_us = kernel.maxerror;
    return state != TIME_ERROR && !(kernel.status & STA_UNSYNC);
}

const struct vesta_clock *vs_clock_system(void) {
    static const struct vesta_clock clock = {NULL, unix_us, boot_us, sleep_us};
    return &clock;
}
