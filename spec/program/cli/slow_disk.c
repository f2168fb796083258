/* slow_disk.c -- LD_PRELOAD library that simulates a slow or failing disk.
 *
 * SLOW_DISK names a control file. While it contains a number, each fsync and fdatasync takes at least that many
 * milliseconds in total, and returns early if the number is removed. While it contains `EIO`, each call is done and
 * then fails. If SLOW_DISK_BELOW is set, only files in that folder and below are affected.
 *
 * SIGSTOP cannot replace this: it stops the whole process, but a disk that hangs stops one thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 20

static void wish(char text[16]) {
    const char *path = getenv("SLOW_DISK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? read(fd, text, 15) : 0;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
}

static int is_on_disk(int fd) {
    const char *below = getenv("SLOW_DISK_BELOW");
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return !below || strncmp(path, below, strlen(below)) == 0;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Creates `<control file>.hangs` to signal that a call waits. */
static void mark(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s.hangs", getenv("SLOW_DISK"));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) close(fd);
}

static int after(int (*sync)(int), int fd) {
    char text[16];
    long begun_ms = now_ms();
    int rc = sync(fd);
    if (!is_on_disk(fd)) return rc;
    wish(text);
    if (atol(text) > 0) mark();
    while (now_ms() - begun_ms < atol(text)) {
        struct timespec step = {.tv_nsec = STEP_MS * 1000000};
        nanosleep(&step, NULL);
        wish(text);
    }
    if (strncmp(text, "EIO", 3) != 0) return rc;
    errno = EIO;
    return -1;
}

static int (*real(const char *name))(int) {
    void *found = dlsym(RTLD_NEXT, name);
    int (*call)(int);
    memcpy(&call, &found, sizeof call);
    return call;
}

int fsync(int fd) {
    return after(real("fsync"), fd);
}

int fdatasync(int fd) {
    return after(real("fdatasync"), fd);
}
