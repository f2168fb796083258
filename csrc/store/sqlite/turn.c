#include "store/sqlite/turn.h"
#include "base/error.h"
#include "os/files.h"
#include "os/queue.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ------------------------------------------------------------------ forks: calls share a lock, a fork excludes them */

#define INSIDE_INIT PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t inside = INSIDE_INIT;

#define FORK_TRIES_MAX 1000 /* one millisecond each */
#define TURNS_MAX 64

static _Thread_local bool is_alone;  /* this thread is forking, and no call is inside SQLite */
static atomic_bool was_inside;       /* this process was forked during a call of its parent */
static _Atomic int turns[TURNS_MAX]; /* for each turn in progress, its descriptor + 1 */

/* Waits until no call is in progress.  The wait is limited, because a call's disk may hang.  If the wait fails, the
 * child cannot use SQLite. */
static void turn_before_fork(void) {
    is_alone = false;
    for (int i = 0; !is_alone && i < FORK_TRIES_MAX; i++) {
        is_alone = pthread_rwlock_trywrlock(&inside) == 0;
        if (!is_alone) usleep(1000);
    }
}

static void turn_in_parent(void) {
    if (is_alone) pthread_rwlock_unlock(&inside);
}

static void turn_in_child(void) {
    if (is_alone) pthread_rwlock_unlock(&inside); /* lock checkers expect an unlock */
    inside = (pthread_rwlock_t)INSIDE_INIT;       /* forget the parent's waiting threads */
    if (is_alone) return;
    atomic_store(&was_inside, true);
    for (int i = 0; i < TURNS_MAX; i++) { /* the parent's turn must not outlive the parent */
        int fd = atomic_exchange(&turns[i], 0) - 1;
        if (fd >= 0) close(fd);
    }
}

static void note_turn(int was, int is) {
    assert(!was != !is);
    for (int i = 0; i < TURNS_MAX; i++) {
        int expected = was;
        if (atomic_compare_exchange_strong(&turns[i], &expected, is)) return;
    }
}

/* Registers the fork handlers when this code is loaded, because a fork in progress does not call handlers that are
 * registered later. */
__attribute__((constructor)) static void turn_watch_forks(void) {
    pthread_atfork(turn_before_fork, turn_in_parent, turn_in_child);
}

/* ------------------------------------------------------------------ turns */

/* Writes the folder of a path to `folder`, and the folder's status to *st. */
static int look_at_folder(const char *path, char *folder, struct stat *st) {
    snprintf(folder, PATH_MAX, "%s", path);
    char *slash = strrchr(folder, '/');
    assert(slash); /* the path is absolute */
    slash[slash == folder ? 1 : 0] = '\0';
    return stat(folder, st);
}

/* Opens the file, or creates it.  If this user is root, the file is created for the folder's owner. */
static int open_or_make(const char *path, int group) {
    char folder[PATH_MAX];
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 || errno != ENOENT || look_at_folder(path, folder, &st) != 0) return fd;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, group >= 0 ? 0660 : 0600);
    if (fd < 0 && errno == EEXIST) return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && vs_own_file(fd, &st, group) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int turn_open(const struct vs_sqlite_turn *turn) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s-turn", turn->path);
    assert((size_t)length < sizeof path); /* a truncated name could be the turn of another database */
    return open_or_make(path, turn->group);
}

enum vs_turn vs_sqlite_turn_enter(struct vs_sqlite_turn *turn, struct vs_reply *reply) {
    assert(turn->fd < 0); /* otherwise this call would wait for itself */
    if (atomic_load(&was_inside)) {
        vs_answer(reply, VS_STORE_DOWN, "this process was forked while its parent used %.80s: start it again",
                  turn->path);
        return VS_TURN_NONE;
    }
    pthread_rwlock_rdlock(&inside);
    turn->fd = turn_open(turn);
    if (turn->fd >= 0) note_turn(0, turn->fd + 1);
    /* OFD locks carry no pid, so the holder's pid is encoded as the length of the locked range. */
    if (turn->fd >= 0 && vs_queue_try(turn->fd, 0, getpid(), true)) return VS_TURN_OURS;
    bool busy = turn->fd >= 0 && (errno == EAGAIN || errno == EACCES);
    if (!busy)
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot open %.90s-turn: %.40s", turn->path,
                        strerror(errno));
    vs_sqlite_turn_leave(turn);
    return busy ? VS_TURN_BUSY : VS_TURN_NONE;
}

void vs_sqlite_turn_leave(struct vs_sqlite_turn *turn) {
    if (turn->fd >= 0) {
        vs_queue_leave(turn->fd);
        note_turn(turn->fd + 1, 0);
        close(turn->fd);
        turn->fd = -1;
    }
    pthread_rwlock_unlock(&inside);
}

/* ------------------------------------------------------------------ the holder of the lock */

/* Parses a line of /proc/locks: "1: POSIX  ADVISORY  WRITE 4711 08:01:131 1073741825 1073741825". */
static int64_t locker_in(const char *line, const struct stat *st) {
    int64_t pid;
    unsigned major, minor;
    unsigned long long ino;
    if (strstr(line, "->") ||
        sscanf(line, "%*d: POSIX %*s WRITE %" SCNd64 " %x:%x:%llu", &pid, &major, &minor, &ino) != 4)
        return -1;
    return ino == st->st_ino && major == major(st->st_dev) && minor == minor(st->st_dev) && pid > 0 ? pid : -1;
}

static int64_t locker_of(const char *path) {
    char line[256];
    struct stat st;
    int64_t pid = -1;
    FILE *file = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (file && pid < 0 && fgets(line, sizeof line, file))
        pid = locker_in(line, &st);
    if (file) fclose(file);
    return pid;
}

int64_t vs_sqlite_turn_holder(const struct vs_sqlite_turn *turn) {
    assert(turn->fd < 0); /* otherwise the result would be this process itself */
    int fd = turn_open(turn);
    int64_t pid = fd >= 0 ? vs_queue_count(fd, 0) : 0;
    if (fd >= 0) close(fd);
    return pid > 0 ? pid : locker_of(turn->path);
}

/* ------------------------------------------------------------------ the file */

/* Checks whether the file may be opened, without opening it.  Returns 0, or the errno that open would return. */
static int may_open(const char *path, const struct stat *st) {
    if (S_ISDIR(st->st_mode)) return EISDIR;
    if (S_ISLNK(st->st_mode)) return ELOOP;
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static int check_file(const char *path, int group, struct vesta_error *err) {
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW); /* closing an O_PATH descriptor drops no lock */
    int failed = fd < 0 || fstat(fd, &st) != 0 ? errno : may_open(path, &st), rc = VESTA_OK;
    if (failed)
        rc = vs_fail(err, VESTA_EIO, "cannot open %.150s: %s", path, strerror(failed));
    else if (!S_ISREG(st.st_mode))
        rc = vs_fail(err, VESTA_EIO, "%.150s is not a regular file", path);
    else
        rc = vs_file_system_check(fd, path, "a store", err);
    if (fd >= 0) close(fd);
    return rc == VESTA_OK ? vs_path_check(path, group, err) : rc;
}

int vs_sqlite_make_file(const struct vs_sqlite_turn *turn, struct vesta_error *err) {
    char folder[PATH_MAX];
    struct stat st;
    const char *path = turn->path, *slash = strrchr(path, '/');
    assert(path[0] == '/');
    if (slash == path || slash[1] == '\0')
        return vs_fail(err, VESTA_EOPTION, "the store's path %.150s does not name a file in a folder", path);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (vs_make_dirs(folder, turn->group) != 0)
        return vs_fail(err, VESTA_EIO, "cannot create %.150s: %s", folder, strerror(errno));
    if (lstat(path, &st) != 0) {
        int fd = errno == ENOENT ? open_or_make(path, turn->group) : -1;
        if (fd < 0) return vs_fail(err, VESTA_EIO, "cannot open %.150s: %s", path, strerror(errno));
        close(fd);
    }
    return check_file(path, turn->group, err);
}
