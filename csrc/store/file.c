/* file.c -- the store of one host: a folder a namespace, a file a record.
 *
 *     <place>/<namespace>/namespace     the namespace record
 *     <place>/<namespace>/<worker>      one lease record each, as text (core/record.h)
 *     <place>/<namespace>/lock          held by fcntl for the length of one read or swap
 *
 * A folder may be moved, or a copy be put in its place, under a process that works with it: the lock that counts is the
 * one that lies beside the records now, so each call looks whether its own is still that one.
 *
 * A swap is durable before it says so: write a new file, fsync it, rename it over the old, fsync the folder.  The
 * store's clock is the host's. */
#include "core/core.h"
#include "os/mapping.h"
#include "os/os.h"
#include "store/reply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCKS_MAX 3 /* in the place of which another was put, one after the other */

struct file_store {
    struct vs_store base;
    const struct vesta_clock *clock;
    int group;
    struct vs_met met;
    int lock_fd; /* the only one of this store on that file; -1: it could not be opened again */
    char dir[PATH_MAX - 64];
    size_t place_length; /* of the place, at dir's beginning */
};

static struct file_store *self_of(struct vs_store *store) {
    return (struct file_store *)store;
}

/* ------------------------------------------------------------------ files */

static void path_of(const struct file_store *self, const char *name, char *path) {
    snprintf(path, PATH_MAX, "%s/%s", self->dir, name);
}

static void name_of(uint64_t worker, char *name) {
    snprintf(name, 32, "%" PRIu64, worker);
}

/* The whole file: its length, 0 where there is none, -1 with the reply filled. */
static ssize_t load(const struct file_store *self, const char *name, char *text, struct vs_reply *reply) {
    char path[PATH_MAX];
    path_of(self, name, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) return 0;
    ssize_t got = fd < 0 ? -1 : read(fd, text, VS_RECORD_TEXT_MAX);
    if (got < 0) vs_answer(reply, VS_STORE_REFUSED, "cannot read %.90s: %.40s", path, strerror(errno));
    if (got == 0) {
        vs_answer(reply, VS_STORE_REFUSED, "%.90s cannot be used: it is empty", path);
        got = -1;
    }
    if (fd >= 0) close(fd);
    return got;
}

static bool write_all(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t put = write(fd, text, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text += put;
        length -= (size_t)put;
    }
    return true;
}

static bool sync_dir(const struct file_store *self) {
    int fd = open(self->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return done;
}

/* Before the rename nothing has happened; after it, an error means that a power cut may still undo it. */
static void save(const struct file_store *self, const char *name, const char *text, size_t length,
                 struct vs_reply *reply) {
    char path[PATH_MAX], temp[PATH_MAX + 8];
    path_of(self, name, path);
    snprintf(temp, sizeof temp, "%s.new", path);
    unlink(temp); /* left by one that was killed here, perhaps another user of the group */
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, self->group >= 0 ? 0660 : 0600);
    bool written = fd >= 0 && vs_share_file(fd, self->group) == 0 && write_all(fd, text, length) && fsync(fd) == 0;
    if (!written || rename(temp, path) != 0) {
        vs_answer(reply, VS_STORE_REFUSED, "cannot write %.90s: %.40s", path, strerror(errno));
        unlink(temp);
    } else if (!sync_dir(self)) {
        vs_answer(reply, VS_STORE_UNKNOWN, "cannot sync %.90s: %.40s", self->dir, strerror(errno));
    } else {
        reply->outcome = VS_STORE_OK;
    }
    if (fd >= 0) close(fd);
}

/* ------------------------------------------------------------------ under the lock */

static void load_record(struct file_store *self, uint64_t worker, struct vs_reply *reply) {
    char name[32], text[VS_RECORD_TEXT_MAX];
    name_of(worker, name);
    ssize_t length = load(self, name, text, reply);
    if (length > 0) vs_answer_record(reply, text, (size_t)length, self->dir, worker);
    if (length == 0) reply->outcome = VS_STORE_OK;
}

static void load_ns(struct file_store *self, struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    ssize_t length = load(self, "namespace", text, reply);
    if (length > 0) vs_answer_ns(reply, text, (size_t)length, self->dir);
    if (length == 0) reply->outcome = VS_STORE_OK;
}

static bool is_current(const struct file_store *self) {
    char path[PATH_MAX];
    struct stat mine, now;
    path_of(self, "lock", path);
    return fstat(self->lock_fd, &mine) == 0 && lstat(path, &now) == 0 && mine.st_dev == now.st_dev &&
           mine.st_ino == now.st_ino;
}

/* The lock beside the records: false with the reply filled. */
static bool open_lock(struct file_store *self, struct vs_reply *reply) {
    char path[PATH_MAX];
    path_of(self, "lock", path);
    if (self->lock_fd >= 0) close(self->lock_fd);
    self->lock_fd = vs_lock_open(path, self->group);
    if (self->lock_fd < 0) vs_answer(reply, VS_STORE_REFUSED, "cannot open %.90s: %.40s", path, strerror(errno));
    return self->lock_fd >= 0;
}

static bool take_lock(struct file_store *self, struct vs_reply *reply) {
    for (int tries = 0; tries < LOCKS_MAX; tries++) {
        if (self->lock_fd < 0 && !open_lock(self, reply)) return false;
        if (!vs_lock_byte_patiently(self->lock_fd, 0)) {
            vs_answer(reply, VS_STORE_DOWN, "another process keeps %.90s/lock locked: is it stopped?", self->dir);
            return false;
        }
        if (is_current(self)) return true;
        if (!open_lock(self, reply)) return false;
    }
    vs_answer(reply, VS_STORE_DOWN, "%.90s/lock is replaced all the time", self->dir);
    return false;
}

static bool begin(struct file_store *self, struct vs_reply *reply) {
    vs_reply_clear(reply);
    vs_process_lock();
    if (!take_lock(self, reply)) {
        vs_process_unlock();
        return false;
    }
    int64_t now_ms = self->clock->unix_us(self->clock->self) / 1000;
    reply->store_ms = now_ms > 0 ? now_ms : 0;
    return true;
}

static void end(struct file_store *self) {
    vs_unlock_byte(self->lock_fd, 0);
    vs_process_unlock();
}

static void file_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    if (!begin(self, reply)) return;
    load_record(self, worker, reply);
    end(self);
}

/* The namespace's record is small and was just read: looking again costs less than the write that follows. */
static bool is_same_namespace(struct file_store *self, struct vs_reply *reply) {
    load_ns(self, reply);
    return reply->outcome == VS_STORE_OK && vs_is_met(&self->met, reply);
}

static void file_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                      struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    char name[32], text[VS_RECORD_TEXT_MAX];
    if (!begin(self, reply)) return;
    if (is_same_namespace(self, reply)) load_record(self, worker, reply);
    if (reply->outcome == VS_STORE_OK && !vs_follows(record, &reply->record, old_ver)) {
        reply->outcome = VS_STORE_CONFLICT;
    } else if (reply->outcome == VS_STORE_OK) {
        reply->record = *record;
        reply->record.written_ms = reply->store_ms;
        name_of(worker, name);
        save(self, name, text, vs_record_write(&reply->record, text), reply);
    }
    end(self);
}

static void file_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    if (!begin(self, reply)) return;
    load_ns(self, reply);
    vs_meet(&self->met, reply);
    end(self);
}

static void file_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                         struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    char text[VS_RECORD_TEXT_MAX];
    if (!begin(self, reply)) return;
    load_ns(self, reply);
    if (reply->outcome == VS_STORE_OK && reply->ns.ver != old_ver) {
        reply->outcome = VS_STORE_CONFLICT;
    } else if (reply->outcome == VS_STORE_OK) {
        reply->ns = *record;
        save(self, "namespace", text, vs_ns_record_write(record, text), reply);
    }
    end(self);
}

/* ------------------------------------------------------------------ listing */

static void scan(struct file_store *self, DIR *dir, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    size_t room = 0;
    struct dirent *entry;
    reply->outcome = VS_STORE_OK;
    while ((entry = readdir(dir))) {
        uint64_t worker;
        if (!vs_is_number(entry->d_name, &worker)) continue;
        struct vs_listed *next = vs_list_room(listed, *count, &room);
        if (!next) {
            vs_answer(reply, VS_STORE_DOWN, "no memory for %zu records", *count + 1);
            return;
        }
        load_record(self, worker, reply);
        if (reply->outcome != VS_STORE_OK) return;
        *next = (struct vs_listed){worker, reply->record};
        ++*count;
    }
}

static void file_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    *listed = NULL;
    *count = 0;
    if (!begin(self, reply)) return;
    DIR *dir = opendir(self->dir);
    if (dir) {
        scan(self, dir, listed, count, reply);
        closedir(dir);
    } else {
        vs_answer(reply, VS_STORE_REFUSED, "cannot list %.90s: %.40s", self->dir, strerror(errno));
    }
    end(self);
    vs_list_sort(*listed, *count);
}

static void file_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to,
                       struct vs_reply *reply) {
    struct file_store *self = self_of(store);
    char place[PATH_MAX], path[PATH_MAX + 300];
    struct dirent *entry;
    vs_reply_clear(reply);
    snprintf(place, sizeof place, "%.*s", (int)self->place_length, self->dir);
    DIR *dir = opendir(place);
    if (!dir) {
        vs_answer(reply, VS_STORE_REFUSED, "cannot list %.90s: %.40s", place, strerror(errno));
        return;
    }
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s/namespace", place, entry->d_name);
        if (entry->d_name[0] != '.' && access(path, F_OK) == 0) tell(to, entry->d_name);
    }
    closedir(dir);
    reply->outcome = VS_STORE_OK;
}

/* ------------------------------------------------------------------ opening */

static void file_close(struct vs_store *store) {
    struct file_store *self = self_of(store);
    vs_process_lock(); /* closing drops the lock that another store object of this process may hold on the file */
    if (self->lock_fd >= 0) close(self->lock_fd);
    vs_process_unlock();
    free(self);
}

static int file_check(const char *uri, struct vesta_error *err) {
    const char *place;
    return vs_uri_path(uri, &place, err);
}

static int file_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                     struct vesta_error *err) {
    char lock[PATH_MAX];
    const char *place;
    int rc = vs_uri_path(uri, &place, err);
    if (rc != VESTA_OK) return rc;
    struct file_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base.ops = &vs_store_file;
    self->lock_fd = -1;
    self->clock = opts->clock;
    self->group = opts->group;
    self->place_length = strlen(place);
    if (snprintf(self->dir, sizeof self->dir, "%s/%s", place, opts->namespace_) >= (int)sizeof self->dir)
        rc = vs_fail(err, VESTA_EIO, "the store's path is too long: %.100s", place);
    else if (vs_make_dirs(self->dir, self->group) != 0)
        rc = vs_fail(err, VESTA_EIO, "cannot make %.150s: %s", self->dir, strerror(errno));
    if (rc == VESTA_OK) {
        path_of(self, "lock", lock);
        self->lock_fd = vs_lock_open(lock, self->group);
        rc = self->lock_fd >= 0 ? vs_file_system_check(self->lock_fd, self->dir, "a store", err)
                                : vs_fail(err, VESTA_EIO, "cannot open %.150s: %s", lock, strerror(errno));
    }
    if (rc != VESTA_OK) {
        file_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

const struct vs_store_ops vs_store_file = {
    .scheme = "file",
    .is_local = true,
    .check = file_check,
    .open = file_open,
    .close = file_close,
    .list = file_list,
    .read = file_read,
    .names = file_names,
    .swap = file_swap,
    .ns_read = file_ns_read,
    .ns_swap = file_ns_swap,
};
