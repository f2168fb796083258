/* mapping.c -- generator files.  A file gets its name when it is complete and on disk, so nobody ever sees half a
 * header; a file of this boot is never replaced, because somebody may be issuing from it. */
#include "os/mapping.h"
#include "core/core.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int io_error(struct vesta_error *err, const char *what, const char *path) {
    return vs_fail(err, VESTA_EIO, "cannot %s %.150s: %s", what, path, strerror(errno));
}

/* When a file was made, or 0 where the file system does not say. */
static int64_t born_ns(int fd) {
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) != 0 || !(st.stx_mask & STATX_BTIME)) return 0;
    return st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
}

static int identify(int fd, const struct stat *st, struct vs_file_identity *out, struct vesta_error *err) {
    memset(out, 0, sizeof *out);
    out->born_ns = born_ns(fd);
    out->dev = st->st_dev;
    out->ino = st->st_ino;
    return vs_boot_id(out->boot_id) == 0 ? VESTA_OK : io_error(err, "read", "the kernel's boot id");
}

static int map_file(int fd, const char *path, struct vs_map **map, struct vesta_error *err) {
    void *at = mmap(NULL, sizeof(struct vs_map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return io_error(err, "map", path);
    *map = at;
    return VESTA_OK;
}

static int attach_fd(int fd, const char *path, enum vs_found *found, struct vs_mapping *out, struct vs_header *stale,
                     struct vesta_error *err) {
    struct stat st;
    struct vs_file_identity now;
    if (fstat(fd, &st) != 0) return io_error(err, "look at", path);
    if (!S_ISREG(st.st_mode)) return vs_fail(err, VESTA_EIO, "%.150s is not a regular file", path);
    int rc = vs_file_system_check(fd, path, "a generator file", err);
    if (rc != VESTA_OK || (rc = identify(fd, &st, &now, err)) != VESTA_OK) return rc;
    memset(stale, 0, sizeof *stale);
    if (pread(fd, stale, sizeof *stale, 0) < 0) return io_error(err, "read", path);
    const char *why = vs_map_reject(stale, (uint64_t)st.st_size);
    if (why)
        return vs_fail(err, VESTA_EIO, "%.150s cannot be used: %s; move it away, a new one will be made", path, why);
    if (!vs_map_trusted(stale, &now)) {
        *found = VS_FOUND_STALE;
        return VESTA_OK;
    }
    rc = map_file(fd, path, &out->map, err);
    if (rc == VESTA_OK) {
        *found = VS_FOUND_TRUSTED;
        out->dev = st.st_dev;
        out->ino = st.st_ino;
    }
    return rc;
}

int vs_mapping_attach(const char *path, enum vs_found *found, struct vs_mapping *out, struct vs_header *stale,
                      struct vesta_error *err) {
    *found = VS_FOUND_NONE;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ELOOP)
        return vs_fail(err, VESTA_EIO, "%.150s is a symbolic link: give the path of the file itself", path);
    if (fd < 0) return errno == ENOENT ? VESTA_OK : io_error(err, "open", path);
    int rc = attach_fd(fd, path, found, out, stale, err);
    close(fd);
    return rc;
}

/* ------------------------------------------------------------------ making */

static int fill_file(int fd, const char *path, const struct vs_header *header, const struct vesta_clock *clock,
                     struct vs_mapping *out, struct vesta_error *err) {
    struct stat st;
    struct vs_file_identity now;
    struct vs_map *map = NULL;
    int rc = vs_file_system_check(fd, path, "a generator file", err);
    if (rc != VESTA_OK) return rc;
    if (fstat(fd, &st) != 0) return io_error(err, "look at", path);
    if ((rc = identify(fd, &st, &now, err)) != VESTA_OK) return rc;
    /* really allocated: a full disk must be an error here, not a SIGBUS later */
    if ((errno = posix_fallocate(fd, 0, sizeof(struct vs_map))) != 0) return io_error(err, "make room for", path);
    if ((rc = map_file(fd, path, &map, err)) != VESTA_OK) return rc;
    map->header = *header;
    memcpy(map->header.magic, VS_MAP_MAGIC, sizeof map->header.magic);
    map->header.format = VS_MAP_FORMAT;
    map->header.size = sizeof(struct vs_map);
    map->header.dev = now.dev;
    map->header.ino = now.ino;
    map->header.born_ns = now.born_ns;
    memcpy(map->header.boot_id, now.boot_id, sizeof map->header.boot_id);
    vs_map_format(map, clock);
    if (msync(map, sizeof *map, MS_SYNC) != 0 || fsync(fd) != 0) {
        vs_mapping_unmap(map);
        return io_error(err, "write", path);
    }
    *out = (struct vs_mapping){map, now.dev, now.ino};
    return VESTA_OK;
}

/* A new file gets its name by link(2), which fails where there is one; in a stale one's place it comes by rename(2), so
 * that whoever only attaches never finds the name free. */
static int name_new(const char *path, const struct vs_header *header, const struct vesta_clock *clock, bool replaces,
                    struct vs_mapping *out, struct vesta_error *err) {
    char temp[PATH_MAX];
    if (snprintf(temp, sizeof temp, "%s.new.%d", path, (int)getpid()) >= (int)sizeof temp)
        return vs_fail(err, VESTA_EIO, "the path is too long: %.150s", path);
    unlink(temp); /* left by a process of the same number that was killed here */
    int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return io_error(err, "make", temp);
    int rc = vs_share_file(fd, header->group) == 0 ? VESTA_OK : io_error(err, "give to the group", temp);
    if (rc == VESTA_OK) rc = fill_file(fd, path, header, clock, out, err);
    if (rc == VESTA_OK && (replaces ? rename(temp, path) : link(temp, path)) != 0) {
        vs_mapping_unmap(out->map);
        rc = io_error(err, "make", path);
    }
    close(fd);
    unlink(temp);
    return rc;
}

/* With the creation lock: the second look, and then nobody else can make or remove the file. */
static int make_locked(const char *path, const struct vs_header *header, const struct vesta_clock *clock,
                       struct vs_mapping *out, struct vesta_error *err) {
    enum vs_found found;
    struct vs_header stale;
    int rc = vs_mapping_attach(path, &found, out, &stale, err);
    if (rc != VESTA_OK || found == VS_FOUND_TRUSTED) return rc;
    return name_new(path, header, clock, found == VS_FOUND_STALE, out, err);
}

static int with_lock(const char *path, int group, int *lock_fd, struct vesta_error *err) {
    char lock[PATH_MAX];
    if (snprintf(lock, sizeof lock, "%s.lock", path) >= (int)sizeof lock)
        return vs_fail(err, VESTA_EIO, "the path is too long: %.150s", path);
    *lock_fd = vs_lock_open(lock, group);
    if (*lock_fd < 0) return io_error(err, "make", lock);
    if (vs_lock_byte_patiently(*lock_fd, 0)) return VESTA_OK;
    close(*lock_fd);
    return io_error(err, "lock", lock);
}

int vs_mapping_make(const char *path, const struct vs_header *header, const struct vesta_clock *clock,
                    struct vs_mapping *out, struct vesta_error *err) {
    int lock_fd = -1, rc = with_lock(path, header->group, &lock_fd, err);
    if (rc != VESTA_OK) return rc;
    rc = make_locked(path, header, clock, out, err);
    close(lock_fd);
    return rc;
}

int vs_mapping_retire(const char *path, uint64_t dev, uint64_t ino, struct vesta_error *err) {
    char aside[PATH_MAX];
    struct stat st;
    int lock_fd = -1, rc = with_lock(path, -1, &lock_fd, err);
    if (rc != VESTA_OK) return rc;
    snprintf(aside, sizeof aside, "%s.retired", path);
    if (stat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino && rename(path, aside) != 0)
        rc = io_error(err, "put aside", path);
    close(lock_fd);
    return rc;
}

struct vs_map *vs_mapping_private(void) {
    void *at = mmap(NULL, sizeof(struct vs_map), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void vs_mapping_unmap(struct vs_map *map) {
    munmap(map, sizeof *map);
}
