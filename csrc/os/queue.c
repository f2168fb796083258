/* queue.c -- see queue.h.  Two open file descriptions exclude each other's OFD locks even in one process, for example
 * if it has two copies of this library, and closing another descriptor does not drop such a lock.  A forked child
 * shares the parent's description, so closing the descriptor does not end a turn: unlock explicitly. */
#include "os/clock.h"
#include "os/queue.h"

#include <errno.h>
#include <fcntl.h>

static int queue_ask(int fd, int command, struct flock *lock) {
    int rc;
    while ((rc = fcntl(fd, command, lock)) != 0 && errno == EINTR)
        ;
    return rc;
}

static struct flock range_of(short type, int64_t first, int64_t count) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = count};
}

bool vs_queue_try(int fd, int64_t first, int64_t count, bool exclusive) {
    struct flock lock = range_of(exclusive ? F_WRLCK : F_RDLCK, first, count);
    return queue_ask(fd, F_OFD_SETLK, &lock) == 0;
}

bool vs_queue_wait(int fd, int64_t first, int64_t count, bool exclusive, int64_t us_max) {
    const struct vesta_clock *clock = vs_clock_system();
    int64_t until = clock->boot_us(clock->self) + us_max;
    for (int64_t nap_us = 50; !vs_queue_try(fd, first, count, exclusive); nap_us = nap_us < 1000 ? nap_us * 2 : 1000) {
        if ((errno != EAGAIN && errno != EACCES) || clock->boot_us(clock->self) >= until) return false;
        clock->sleep_us(clock->self, nap_us);
    }
    return true;
}

int64_t vs_queue_process(int fd, int64_t first, int64_t count) {
    struct flock lock = range_of(F_WRLCK, first, count);
    return queue_ask(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0 ? lock.l_pid : -1;
}

int64_t vs_queue_count(int fd, int64_t first) {
    struct flock lock = range_of(F_WRLCK, first, 1);
    return queue_ask(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_len : 0;
}

void vs_queue_leave(int fd) {
    struct flock lock = range_of(F_UNLCK, 0, 0);
    (void)queue_ask(fd, F_OFD_SETLK, &lock);
}
