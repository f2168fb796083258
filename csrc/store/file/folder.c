/* folder.c -- see folder.h.  All operations use the folder's descriptor, because another folder may take over the path
 * at any time.  After a change, vs_folder_settle checks that the path still leads to the folder. */
#include "store/file/folder.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/queue.h"
#include "os/random.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_US_MAX 200000 /* a turn takes about a dozen system calls, none of which waits for a disk write */
#define LEFT_S_MAX 60      /* seconds after which a .new file is removed: its writer has died, or must start over */
_Static_assert(sizeof ".-2147483648-0123456789abcdef.next" + VS_FOLDER_NAME_MAX <= sizeof((struct vs_folder *)0)->next,
               "a file name with the suffix of a change fits");
_Static_assert(TURN_US_MAX < LEFT_S_MAX * 1000000, "a process that waits for its turn must not be taken for dead");

/* ------------------------------------------------------------------ the folder */

static bool is_as_trusted(const struct vs_folder *folder, const struct stat *st) {
    return folder->st.st_ino == st->st_ino && folder->st.st_dev == st->st_dev && folder->st.st_uid == st->st_uid &&
           folder->st.st_mode == st->st_mode;
}

static bool folder_trust(struct vs_folder *folder, struct vs_reply *reply) {
    struct vesta_error err;
    struct stat st;
    if (fstat(folder->fd, &st) != 0) {
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot stat %.90s: %.40s", folder->path,
                        strerror(errno));
        return false;
    }
    if (is_as_trusted(folder, &st)) return true;
    if (vs_folder_check(folder->path, folder->group, &err) != VESTA_OK) {
        vs_answer(reply, VS_STORE_REFUSED, "%s", err.text);
        return false;
    }
    folder->st = st;
    return true;
}

bool vs_folder_enter(struct vs_folder *folder, struct vs_reply *reply) {
    assert(folder->path[0] == '/');
    assert(folder->fd < 0); /* a call inside a call, or a missing vs_folder_leave */
    folder->turn_fd = -1;
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot open %.90s: %.40s", folder->path,
                        strerror(errno));
        return false;
    }
    if (folder_trust(folder, reply)) return true;
    vs_folder_leave(folder);
    return false;
}

void vs_folder_leave(struct vs_folder *folder) {
    assert(folder->fd >= 0);
    vs_folder_end_turn(folder);
    close(folder->fd);
    folder->fd = -1;
}

ssize_t vs_folder_load(const struct vs_folder *folder, const char *name, char *text, struct vs_reply *reply) {
    assert(folder->fd >= 0);
    assert(strlen(name) < VS_FOLDER_NAME_MAX);
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) return 0;
    ssize_t got = fd < 0 ? -1 : read(fd, text, VS_RECORD_TEXT_MAX);
    if (got < 0)
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot read %.90s/%s: %.40s", folder->path,
                        name, strerror(errno));
    if (got == 0) {
        vs_answer(reply, VS_STORE_REFUSED, "%.90s/%s cannot be used: it is empty", folder->path, name);
        got = -1;
    }
    if (fd >= 0) close(fd);
    return got;
}

/* ------------------------------------------------------------------ turns
 *
 * Older versions of vesta hold an exclusive lock on byte 0 while they write, so this version takes a shared lock on
 * byte 0. The places are the bytes after it. */

static bool meets_older(const struct vs_folder *folder, struct vs_reply *reply) {
    int64_t pid = vs_queue_process(folder->turn_fd, 0, 1);
    if (pid <= 0)
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED_FILE,
                               "an older version of vesta has locked %.90s/lock", folder->path);
    return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED_FILE,
                           "process %" PRId64 ", an older version of vesta, has locked %.90s/lock", pid, folder->path);
}

static int folder_open_turns(const struct vs_folder *folder) {
    int fd = openat(folder->fd, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = openat(folder->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, folder->group >= 0 ? 0660 : 0600);
    if (fd >= 0) (void)vs_own_file(fd, &folder->st, folder->group); /* fails if another user has just created it */
    return fd;
}

bool vs_folder_turn(struct vs_folder *folder, uint64_t first, uint64_t count, bool writes, struct vs_reply *reply) {
    /* only one turn at a time, because two processes that wait for each other's turn would both continue without one */
    assert(folder->turn_fd < 0);
    assert(first < INT64_MAX); /* place N is byte N + 1 of the file */
    assert(count <= INT64_MAX - first);
    int fd = folder->turn_fd = folder_open_turns(folder);
    if (fd < 0) {
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot open %.90s/lock: %.40s",
                        folder->path, strerror(errno));
        return false;
    }
    /* Any other error means that this file system does not support such locks, so an older version of vesta cannot use
     * them either. */
    if (!vs_queue_wait(fd, 0, 1, false, TURN_US_MAX) && (errno == EAGAIN || errno == EACCES))
        return meets_older(folder, reply);
    int64_t byte = (int64_t)first + 1, bytes = (int64_t)count;
    bool in_turn = folder->is_held_up ? vs_queue_try(fd, byte, bytes, writes)
                                      : vs_queue_wait(fd, byte, bytes, writes, TURN_US_MAX);
    folder->is_held_up = !in_turn;
    return true;
}

void vs_folder_end_turn(struct vs_folder *folder) {
    if (folder->turn_fd < 0) return;
    vs_queue_leave(folder->turn_fd);
    close(folder->turn_fd);
    folder->turn_fd = -1;
}

/* ------------------------------------------------------------------ a change */

static bool folder_write_all(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t put = write(fd, text, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text += put;
        length -= (size_t)put;
    }
    return true;
}

static bool cannot_write(const struct vs_folder *folder, const char *name, struct vs_reply *reply) {
    vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot write %.90s/%s: %.40s", folder->path,
                    name, strerror(errno));
    return false;
}

bool vs_folder_write(struct vs_folder *folder, const char *name, const char *text, size_t length,
                     struct vs_reply *reply) {
    uint64_t token;
    assert(strlen(name) < VS_FOLDER_NAME_MAX);
    assert(length > 0); /* a reader treats an empty or truncated text as damage */
    assert(length <= VS_RECORD_TEXT_MAX);
    assert(folder->st.st_mode);  /* vs_folder_enter has set this, so that the new file gets the folder's owner */
    assert(folder->turn_fd < 0); /* never wait for a disk during a turn */
    if (vs_random(&token, sizeof token) != 0) return cannot_write(folder, name, reply);
    snprintf(folder->fresh, sizeof folder->fresh, "%s.%d-%016" PRIx64 ".new", name, (int)getpid(), token);
    snprintf(folder->next, sizeof folder->next, "%s.%d-%016" PRIx64 ".next", name, (int)getpid(), token);
    int mode = folder->group >= 0 ? 0660 : 0600;
    int fd = openat(folder->fd, folder->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool written = fd >= 0 && vs_own_file(fd, &folder->st, folder->group) == 0 && folder_write_all(fd, text, length) &&
                   fsync(fd) == 0;
    if (!written) {
        cannot_write(folder, name, reply);
        if (fd >= 0) unlinkat(folder->fd, folder->fresh, 0);
    }
    if (fd >= 0) close(fd);
    return written;
}

void vs_folder_drop(const struct vs_folder *folder) {
    assert(folder->fresh[0]);
    unlinkat(folder->fd, folder->fresh, 0);
    unlinkat(folder->fd, folder->next, 0);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Returns whether the file was left behind by an older version of vesta, or by a process that died before it announced
 * its change. */
static bool was_left(const struct vs_folder *folder, const char *entry, const char *name) {
    struct stat st;
    size_t length = strlen(name);
    if (!ends_with(entry, ".new")) return false;
    if (strncmp(entry, name, length) == 0 && strcmp(entry + length, ".new") == 0) return true;
    int64_t now_s = vs_clock_system()->unix_us(NULL) / 1000000;
    return fstatat(folder->fd, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 && now_s - st.st_mtime > LEFT_S_MAX;
}

static bool folder_is_of(const char *entry, const char *name) {
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '.';
}

/* Returns whether the file is another writer's announced change of this name. */
static bool is_rival(const struct vs_folder *folder, const char *entry, const char *name) {
    return folder_is_of(entry, name) && ends_with(entry, ".next") && strcmp(entry, folder->next) != 0;
}

/* Removes every rival that was announced before this call. */
static bool take_rivals_away(const struct vs_folder *folder, const char *name, struct vs_reply *reply) {
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry = NULL;
    bool done = dir != NULL;
    assert(folder->next[0]); /* otherwise this call would remove its own change */
    while (done && (errno = 0, entry = readdir(dir))) {
        if (was_left(folder, entry->d_name, name)) (void)unlinkat(folder->fd, entry->d_name, 0);
        if (is_rival(folder, entry->d_name, name))
            done = unlinkat(folder->fd, entry->d_name, 0) == 0 || errno == ENOENT;
    }
    done = done && errno == 0;
    if (!done) cannot_write(folder, name, reply);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return done;
}

/* Renames a file in the folder.  Returns 0 or an errno. */
static int folder_move(const struct vs_folder *folder, const char *from, const char *to) {
    return renameat(folder->fd, from, folder->fd, to) == 0 ? 0 : errno;
}

/* Evaluates the result of a rename.  ENOENT means that another writer removed the change, in which case *fenced is
 * set. */
static bool was_moved(int failed, const struct vs_folder *folder, const char *name, struct vs_reply *reply,
                      bool *fenced) {
    assert(!*fenced); /* a fenced change has no further steps */
    if (!failed) return true;
    *fenced = failed == ENOENT;
    errno = failed;
    cannot_write(folder, name, reply);
    if (failed == EIO) reply->outcome = VS_STORE_UNKNOWN; /* a failing disk may have renamed the file */
    return false;
}

bool vs_folder_announce(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced) {
    assert(folder->turn_fd >= 0);
    assert(folder_is_of(folder->fresh, name)); /* otherwise the change belongs to another file */
    return was_moved(folder_move(folder, folder->fresh, folder->next), folder, name, reply, fenced) &&
           take_rivals_away(folder, name, reply);
}

bool vs_folder_make(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced) {
    assert(folder->turn_fd >= 0);
    assert(folder_is_of(folder->next, name));
    return was_moved(folder_move(folder, folder->next, name), folder, name, reply, fenced);
}

static bool has_its_name(const struct vs_folder *folder) {
    struct stat now;
    return stat(folder->path, &now) == 0 && now.st_dev == folder->st.st_dev && now.st_ino == folder->st.st_ino;
}

bool vs_folder_settle(const struct vs_folder *folder, struct vs_reply *reply) {
    assert(folder->turn_fd < 0); /* never wait for a disk during a turn */
    if (fsync(folder->fd) != 0)
        vs_answer_fault(reply, VS_STORE_UNKNOWN, vs_fault_of_errno(errno), "cannot sync %.90s: %.40s", folder->path,
                        strerror(errno));
    else if (!has_its_name(folder))
        vs_answer(reply, VS_STORE_UNKNOWN, "another folder replaced %.90s during a write", folder->path);
    else
        return true;
    return false;
}
