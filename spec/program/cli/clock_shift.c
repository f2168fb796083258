/* clock_shift.c -- LD_PRELOAD library that shifts or stops the clock of a program. The uptime is unchanged.
 *
 * CLOCK_SHIFT is a number of seconds (`+600`, `-3`), a fixed time (`=1700000000`), or the path of a file that
 * contains one of these. Replace the file atomically.
 *
 * If NO_RANDOM is a number, getrandom fails for that many bytes, as in a sandbox that does not permit it.
 *
 * With KEEP_PRIORITY set, setpriority does nothing, so that a spec of the program's policies also ends on a loaded
 * machine, where a thread of low priority waits for minutes.
 *
 * libfaketime is unsuitable: its threads share memory, so sometimes one of them reads a time that was never set, or
 * aborts on a partly written file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void read_word(const char *path, char *word, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, word, size - 1);
    if (length <= 0) {
        perror(path);
        abort(); /* Running on with the true time would let a test pass without its shift. */
    }
    word[length] = '\0';
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    char word[32];
    long rc = syscall(SYS_clock_gettime, id, ts);
    const char *said = getenv("CLOCK_SHIFT");
    if (rc != 0 || !said || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return (int)rc;
    if (*said == '/') {
        read_word(said, word, sizeof word);
        said = word;
    }
    if (*said == '=')
        *ts = (struct timespec){.tv_sec = strtol(said + 1, NULL, 10)};
    else
        ts->tv_sec += strtol(said, NULL, 10);
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    struct timespec ts;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}

ssize_t getrandom(void *buf, size_t size, unsigned flags) {
    const char *none = getenv("NO_RANDOM");
    if (!none || size != strtoul(none, NULL, 10)) return syscall(SYS_getrandom, buf, size, flags);
    errno = ENOSYS;
    return -1;
}

int setpriority(__priority_which_t which, id_t who, int priority) {
    return getenv("KEEP_PRIORITY") ? 0 : (int)syscall(SYS_setpriority, which, who, priority);
}
