/* lying_disk.c -- LD_PRELOAD: falsifies one read, write or sync of a database's file.  The file $LYING_DISK controls it
 * with three numbers.  The last one is set when the call was falsified.
 *
 *     what   1 returns nothing, 2 half of it, 3 zeros, 4 the result of an earlier read, 5 late, 6 an error
 *     at     counts down the calls until the falsified one */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define BEFORE_MAX 65536
#define LATE_US 700000

enum { TRUTH, EMPTY, HALF, ZEROS, ANOTHER, LATE, ERROR };

static volatile int32_t *words;
static char before[BEFORE_MAX];
static size_t before_length;

static void begin(void) {
    int fd = open(getenv("LYING_DISK"), O_RDWR | O_CLOEXEC);
    void *at = fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) abort();
    words = at;
}

/* Whether the descriptor is of a database's file, by its name in /proc. */
static int is_ours(int fd) {
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return strstr(path, "vesta.db") && !strstr(path, "-turn");
}

/* Returns how to falsify this call. */
static int lie(int fd) {
    int was = errno;
    if (!words) begin();
    int what = is_ours(fd) && words[0] && --words[1] == 0 ? words[0] : TRUTH;
    if (what) words[2] = 1;
    if (what == LATE) usleep(LATE_US);
    errno = was;
    return what;
}

static ssize_t falsify(int what, char *at, ssize_t got) {
    char true_one[BEFORE_MAX];
    size_t length = got > 0 ? (size_t)got : 0;
    if (length > BEFORE_MAX) length = BEFORE_MAX;
    memcpy(true_one, at, length);
    if (what == ZEROS) memset(at, 0, length);
    if (what == ANOTHER && before_length == length) memcpy(at, before, length);
    if (what == TRUTH) {
        memcpy(before, true_one, length);
        before_length = length;
    }
    if (what == ERROR) errno = EIO;
    return what == ERROR ? -1 : what == EMPTY ? 0 : what == HALF ? got / 2 : got;
}

SHOWN ssize_t pread64(int fd, void *at, size_t size, off64_t where) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread64");
    ssize_t got = real(fd, at, size, where);
    return is_ours(fd) ? falsify(lie(fd), at, got) : got;
}

SHOWN ssize_t read(int fd, void *at, size_t size) {
    static ssize_t (*real)(int, void *, size_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "read");
    ssize_t got = real(fd, at, size);
    return is_ours(fd) ? falsify(lie(fd), at, got) : got;
}

/* A falsified write is done in part, or not at all and fails.  A write that claims more than it did cannot be detected,
 * so it is not simulated. */
SHOWN ssize_t pwrite64(int fd, const void *at, size_t size, off64_t where) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    int what = is_ours(fd) ? lie(fd) : TRUTH;
    if (what == EMPTY || what == ERROR) return errno = what == EMPTY ? ENOSPC : EIO, -1;
    return real(fd, at, what == HALF ? size / 2 : size, where);
}

static int sync_by(const char *name, int (**real)(int), int fd) {
    if (!*real) *(void **)real = dlsym(RTLD_NEXT, name);
    int what = is_ours(fd) ? lie(fd) : TRUTH;
    if (what == EMPTY || what == ERROR) return errno = EIO, -1;
    return (*real)(fd);
}

SHOWN int fsync(int fd) {
    static int (*real)(int);
    return sync_by("fsync", &real, fd);
}

SHOWN int fdatasync(int fd) {
    static int (*real)(int);
    return sync_by("fdatasync", &real, fd);
}
