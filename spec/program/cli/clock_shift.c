/* clock_shift.c -- preloaded into a program that knows nothing of it: its clock is shifted, or stands; its uptime is
 * not. CLOCK_SHIFT says how: `+600` and `-3` are seconds, at `=1700000000` the clock stands, `/a/file` has one of these
 * in it, and is replaced as a whole.  (Threads of libfaketime read its file into memory that they share: now and then
 * one sees a time that nobody set, or ends the program over half a word.) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void read_word(const char *path, char *word, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, word, size - 1);
    if (length <= 0) {
        perror(path);
        abort(); /* the true time would be a test of nothing */
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
