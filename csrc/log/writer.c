/* writer.c -- writes lines to a file or stderr, with one write call per line.  A line that cannot be written is lost
 * and counted, because issuing ids is more important than the log.
 *
 * A disk can hang in any call, so a server passes its lines to a thread in memory.  There are two buffers: one is
 * filled while the thread writes the other. */
#include "log/writer.h"
#include "base/error.h"
#include "os/host.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 512
#define HALF_BYTES 65536
/* number of attempts to open the file, because logrotate, for example, may create or move it at the same time */
#define OPEN_TRIES 8

_Static_assert(VS_LOG_LINE_MAX <= 4096, "PIPE_BUF: a pipe takes a line whole or not at all");

struct half {
    size_t used;
    char lines[HALF_BYTES]; /* lines, each preceded by its struct writer_entry */
};

struct writer_entry {
    size_t length;
    uint64_t lost; /* number of lost lines that this line reports */
};

static struct {
    pthread_mutex_t mutex; /* guards all members below except `to` */
    pthread_cond_t event;  /* signaled when there is work for the thread, or when the thread has ended */
    bool has_thread, reopens, ending, is_over, is_journal;
    uint64_t lost;
    struct half *filled, half[2];
    pthread_t thread;
    char path[PATH_BYTES]; /* "" means stderr */
    struct {
        int fd;
        bool is_socket, is_torn; /* is_torn: the last line was written only partly */
        bool is_full;            /* the file accepts no lines, and stderr has reported that */
    } to;                        /* used only by the thread while the thread runs, and guarded by the mutex otherwise */
} self = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = self.half, .to = {.fd = STDERR_FILENO}};

void vs_writer_lock(void) {
    pthread_mutex_lock(&self.mutex);
}

void vs_writer_unlock(void) {
    pthread_mutex_unlock(&self.mutex);
}

bool vs_writer_is_journal(void) {
    return self.is_journal;
}

/* ------------------------------------------------------------------ the file */

/* Reopens a pipe or a terminal on stderr with O_NONBLOCK.  Setting the flag on stderr itself would change it for all
 * processes that share the terminal.  A socket cannot be reopened, so send() gets MSG_DONTWAIT for each line. */
static int own_stderr(void) {
    struct stat st;
    int fd = -1;
    if (fstat(STDERR_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? STDERR_FILENO : fd;
}

static bool is_trusted(const struct stat *st) {
    return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Returns the status of the folder that contains this path, or all zero if there is none. */
static struct stat folder_of(const char *path) {
    char folder[PATH_MAX] = ".";
    struct stat st = {0};
    const char *slash = strrchr(path, '/');
    if (slash) snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return stat(folder, &st) == 0 ? st : (struct stat){0};
}

/* Rejects a file that another user may have planted.  Another user's symbolic or hard link would direct the log into
 * any file that this process may write.  A hard link does not show which user created it, so it is rejected if its
 * folder lets all users, or an untrusted owner, create links.  An owner's link to the owner's file is accepted, because
 * the owner gains nothing by it.  The folder's group is trusted like its owner.  Another user's file is rejected in a
 * folder where all users may create files.  In other folders, another user's file is accepted, because the folder's
 * owner has allowed it. */
static int check_entry(const char *what, const char *path, const struct stat *st, struct vesta_error *err) {
    const struct stat folder = folder_of(path);
    bool is_link = S_ISLNK(st->st_mode), is_shared = folder.st_mode & S_IWOTH;
    bool is_linked_by_others = is_shared || (!is_trusted(&folder) && folder.st_uid != st->st_uid);
    if (!is_trusted(st) && (is_link || is_shared))
        return vs_fail(err, VESTA_EIO, "the %s '%.300s' is a %s of user %u, which could redirect this log: remove it",
                       what, path, is_link ? "symbolic link" : "file", (unsigned)st->st_uid);
    if (!S_ISDIR(st->st_mode) && st->st_nlink > 1 && is_linked_by_others)
        return vs_fail(
            err, VESTA_EIO,
            "the %s '%.300s' is a hard link, which other users may create in this folder: remove it, or use a "
            "folder that only your user may write",
            what, path);
    return VESTA_OK;
}

static int check_open(const char *what, const char *path, int fd, struct vesta_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return vs_fail(err, VESTA_EIO, "the %s '%s' cannot be checked: %s", what, path, strerror(errno));
    return check_entry(what, path, &st, err);
}

/* Opens an entry safely, because another user can replace it between its check and the open.  An absent file is created
 * exclusively, and an existing file is checked again when it is open.  The target of a link is not checked, because the
 * link's owner has chosen it. Returns false if the entry has changed, so that the caller must check it again. */
static bool open_entry(const char *what, const char *path, int *fd, int *rc, struct vesta_error *err) {
    struct stat st;
    bool is_there = lstat(path, &st) == 0, is_link = is_there && S_ISLNK(st.st_mode);
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (is_there && (*rc = check_entry(what, path, &st, err)) != VESTA_OK) return true;
    *fd = open(path, flags | (!is_there ? O_CREAT | O_EXCL : is_link ? O_CREAT : O_NOFOLLOW), 0640);
    int why = errno;
    if (*fd < 0) *rc = vs_fail(err, VESTA_EIO, "the %s '%s' cannot be opened: %s", what, path, strerror(why));
    if (*fd < 0) return why != (is_there ? ENOENT : EEXIST);
    *rc = is_link ? VESTA_OK : check_open(what, path, *fd, err);
    if (*rc != VESTA_OK) close(*fd), *fd = -1;
    return true;
}

int vs_log_open_file(const char *what, const char *path, int *fd, struct vesta_error *err) {
    int rc = VESTA_OK;
    for (int tries = 0; tries < OPEN_TRIES && !open_entry(what, path, fd, &rc, err); tries++)
        ;
    return rc;
}

static bool reads_journal(const struct stat *st) {
    const char *text = vs_environment("JOURNAL_STREAM");
    unsigned long long device, inode;
    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 && device == st->st_dev && inode == st->st_ino;
}

/* Makes the descriptor the log's output.  Call with the lock held.  Returns the descriptor to close after unlocking, or
 * -1. */
static int writer_take(int fd) {
    struct stat st = {0};
    int old = self.to.fd == STDERR_FILENO ? -1 : self.to.fd;
    (void)fstat(fd, &st); /* if stderr is closed, this fails and st stays zero */
    self.to.fd = fd;
    self.to.is_torn = self.to.is_full = false;
    self.to.is_socket = S_ISSOCK(st.st_mode);
    self.is_journal = !*self.path && reads_journal(&st);
    return old;
}

static void writer_let_go(int fd) {
    if (fd >= 0) close(fd);
}

static bool writer_write_bytes(const char *text, size_t length) {
    ssize_t done = self.to.is_socket ? send(self.to.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                                     : write(self.to.fd, text, length);
    if (done > 0) self.to.is_torn = (size_t)done < length;
    return done == (ssize_t)length;
}

/* Reports on stderr that the file accepts no lines, because an operator who finds an empty log looks at stderr, which
 * is the journal under systemd.  Writes one line, with the first lost line, until the file accepts lines again. */
static void writer_tell_full(const char *text, size_t length, int why) {
    if (self.to.is_full || !*self.path) return;
    self.to.is_full = true;
    (void)dprintf(STDERR_FILENO, "the log file '%s' accepts no lines (%s): %.*s", self.path, strerror(why), (int)length,
                  text);
}

static bool write_line(const char *text, size_t length) {
    errno = ENOSPC; /* error for a partly written line */
    if (self.to.is_torn) writer_write_bytes("\n", 1);
    bool is_done = !self.to.is_torn && writer_write_bytes(text, length);
    if (is_done)
        self.to.is_full = false;
    else
        writer_tell_full(text, length, errno);
    return is_done;
}

/* ------------------------------------------------------------------ handing over */

static bool writer_append(const struct writer_entry *entry, const char *text) {
    struct half *half = self.filled;
    if (HALF_BYTES - half->used < sizeof *entry + entry->length) return false;
    memcpy(half->lines + half->used, entry, sizeof *entry);
    memcpy(half->lines + half->used + sizeof *entry, text, entry->length);
    half->used += sizeof *entry + entry->length;
    pthread_cond_signal(&self.event);
    return true;
}

void vs_writer_put(struct vs_line *line) {
    if (self.lost) vs_line_count(line, "lost", self.lost);
    vs_line_end(line);
    const struct writer_entry entry = {line->used, self.lost};
    if (self.has_thread ? writer_append(&entry, line->text) : write_line(line->text, line->used))
        self.lost = 0;
    else
        self.lost++;
}

/* ------------------------------------------------------------------ the thread */

/* Writes a buffer to the log.  Returns the number of lost lines. */
static uint64_t write_half(const struct half *half) {
    uint64_t lost = 0;
    struct writer_entry entry;
    for (size_t at = 0; at < half->used; at += sizeof entry + entry.length) {
        memcpy(&entry, half->lines + at, sizeof entry);
        if (!write_line(half->lines + at + sizeof entry, entry.length)) lost += 1 + entry.lost;
    }
    return lost;
}

static void write_filled(void) {
    struct half *half = self.filled;
    self.filled = half == self.half ? self.half + 1 : self.half;
    vs_writer_unlock();
    uint64_t lost = write_half(half);
    vs_writer_lock();
    self.lost += lost;
    half->used = 0;
}

/* Reopens the file.  Call without the lock. */
static void writer_reopen(void) {
    struct vesta_error err;
    int fd;
    if (*self.path && vs_log_open_file("log file", self.path, &fd, &err) != VESTA_OK) {
        vs_log(VS_LOG_ERROR, "the log could not be reopened and continues in the old file", "error", err.text, NULL);
        return;
    }
    if (*self.path) {
        vs_writer_lock();
        int old = writer_take(fd);
        vs_writer_unlock();
        writer_let_go(old);
    }
    vs_log(VS_LOG_INFO, "the log was reopened", NULL);
}

static void reopen_as_asked(void) {
    self.reopens = false;
    vs_writer_unlock();
    writer_reopen();
    vs_writer_lock();
}

static void *writer_write_all(void *unused) {
    vs_writer_lock();
    while (self.filled->used || self.reopens || !self.ending) {
        if (self.filled->used)
            write_filled();
        else if (self.reopens)
            reopen_as_asked();
        else
            pthread_cond_wait(&self.event, &self.mutex);
    }
    self.has_thread = false; /* after this, vs_writer_put writes in the caller's thread */
    self.is_over = true;
    pthread_cond_broadcast(&self.event);
    vs_writer_unlock();
    return unused;
}

/* ------------------------------------------------------------------ begin and end */

int vs_writer_open(const char *path, struct vesta_error *err) {
    size_t length = path ? strlen(path) : 0;
    int fd, rc;
    if (length >= PATH_BYTES)
        return vs_fail(err, VESTA_EIO, "the log file's path has %zu bytes, at most %d", length, PATH_BYTES - 1);
    if (!path)
        fd = own_stderr();
    else if ((rc = vs_log_open_file("log file", path, &fd, err)) != VESTA_OK)
        return rc;
    vs_writer_lock();
    assert(!self.has_thread); /* the thread uses `to` without the lock */
    memcpy(self.path, path ? path : "", length + 1);
    int old = writer_take(fd);
    vs_writer_unlock();
    writer_let_go(old);
    return VESTA_OK;
}

void vs_log_reopen(void) {
    vs_writer_lock();
    bool leaves = self.has_thread;
    self.reopens = leaves;
    pthread_cond_signal(&self.event);
    vs_writer_unlock();
    if (!leaves) writer_reopen();
}

int vs_log_begin(struct vesta_error *err) {
    assert(!self.has_thread);
    vs_cond_init(&self.event);
    self.ending = self.is_over = false;
    int rc = vs_thread_start(&self.thread, writer_write_all, NULL);
    if (rc != 0) return vs_fail(err, VESTA_EIO, "cannot start the log's thread: %s", strerror(rc));
    vs_writer_lock();
    self.has_thread = true;
    vs_writer_unlock();
    return VESTA_OK;
}

/* Ends the thread.  Returns false if the thread hangs. */
static bool writer_end_thread(int64_t wait_ms) {
    int64_t until_us = vs_monotonic_us() + wait_ms * 1000;
    self.ending = true;
    pthread_cond_broadcast(&self.event);
    while (!self.is_over && vs_cond_wait(&self.event, &self.mutex, until_us))
        ;
    return self.is_over;
}

void vs_writer_end(int64_t wait_ms) {
    int old = -1;
    vs_writer_lock();
    bool had_thread = self.has_thread, is_over = !had_thread || writer_end_thread(wait_ms);
    if (is_over) {
        *self.path = '\0';
        old = writer_take(STDERR_FILENO);
    }
    vs_writer_unlock();
    writer_let_go(old);
    if (had_thread) (is_over ? pthread_join(self.thread, NULL) : pthread_detach(self.thread));
}
