/* anchor.c -- generator files.  A file is complete before it gets its name.  It is used only if no untrusted user could
 * have created or replaced it.  Inode and path have no meaning, so a copy of a file is equivalent to the original. */
#include "mapping/anchor.h"
#include "base/error.h"
#include "mapping/mapping.h"
#include "os/files.h"
#include "os/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int anchor_io_error(struct vesta_error *err, const char *what, const char *path) {
    return vs_fail(err, VESTA_EIO, "cannot %s %.150s: %s", what, path, strerror(errno));
}

/* ------------------------------------------------------------------ trust in the folder and the file */

static void anchor_folder_of(const char *path, char *folder) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int check_folder(const char *folder, struct stat *st, struct vesta_error *err) {
    if (stat(folder, st) != 0) return anchor_io_error(err, "stat the folder", folder);
    if (!(st->st_mode & S_IWOTH)) return VESTA_OK;
    if (!(st->st_mode & S_ISVTX))
        return vs_fail(
            err, VESTA_EIO,
            "%.150s is writable by everyone (mode %o), so others could replace this file: chmod o-w it, or use a "
            "folder of your own",
            folder, st->st_mode & 07777);
    if (st->st_uid == geteuid() || st->st_uid == 0) return VESTA_OK;
    return vs_fail(err, VESTA_EIO,
                   "%.150s is writable by everyone and belongs to user %ld: use a folder of your own, or root's",
                   folder, (long)st->st_uid);
}

int vs_anchor_folder_check(const char *folder, struct vesta_error *err) {
    struct stat st;
    return check_folder(folder, &st, err);
}

/* Returns whether a trusted user created the file.  In a folder to which everyone can write, only files of this user
 * and root are trusted.  In other folders, files of the folder's owner, of the group that can write to the folder, and
 * of the named group are trusted too. */
static bool anchor_is_trusted(const struct stat *file, const struct stat *folder, int group) {
    if (file->st_uid == geteuid() || file->st_uid == 0) return true;
    if (folder->st_mode & S_IWOTH) return false;
    bool is_shared = (folder->st_mode & S_IWGRP) && file->st_gid == folder->st_gid;
    bool is_named = group >= 0 && file->st_gid == (gid_t)group;
    return file->st_uid == folder->st_uid || is_shared || is_named;
}

static int check_owner(const char *path, const struct stat *file, int group, struct vesta_error *err) {
    char dir[PATH_MAX];
    struct stat folder;
    anchor_folder_of(path, dir);
    int rc = check_folder(dir, &folder, err);
    if (rc != VESTA_OK) return rc;
    if (!anchor_is_trusted(file, &folder, group))
        return vs_fail(err, VESTA_EIO,
                       "%.150s belongs to user %ld, so that user could change it: run as that user, name the group "
                       "that shares it, or remove the file and a new one will be created",
                       path, (long)file->st_uid);
    if (file->st_mode & S_IWOTH)
        return vs_fail(err, VESTA_EIO, "%.150s is writable by everyone (mode %o): chmod o-w it", path,
                       file->st_mode & 07777);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ reading */

static int read_fd(int fd, const char *path, int group, struct vs_anchor *out, struct vesta_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return anchor_io_error(err, "stat", path);
    if (S_ISDIR(st.st_mode)) return errno = EISDIR, anchor_io_error(err, "open", path);
    if (!S_ISREG(st.st_mode)) return vs_fail(err, VESTA_EIO, "%.150s is not a regular file", path);
    int rc = vs_file_system_check(fd, path, "a generator file", err);
    if (rc != VESTA_OK || (rc = check_owner(path, &st, group, err)) != VESTA_OK) return rc;
    *out = (struct vs_anchor){.kind = &vs_generator_map};
    if (pread(fd, &out->header, sizeof out->header, 0) < 0) return anchor_io_error(err, "read", path);
    const char *why = vs_anchor_reject(&out->header, (uint64_t)st.st_size);
    if (why)
        return vs_fail(err, VESTA_EIO, "%.150s cannot be used: %s. Move it away, and a new one will be created", path,
                       why);
    out->owner = st.st_uid;
    out->owner_group = st.st_gid;
    return VESTA_OK;
}

int vs_anchor_read(const char *path, int group, bool *found, struct vs_anchor *out, struct vesta_error *err) {
    *found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return vs_fail(err, VESTA_EIO, "%.150s is a symbolic link: give the path of the file itself", path);
    if (fd < 0) return errno == ENOENT ? VESTA_OK : anchor_io_error(err, "open", path);
    int rc = read_fd(fd, path, group, out, err);
    *found = rc == VESTA_OK;
    close(fd);
    return rc;
}

/* ------------------------------------------------------------------ making */

/* Makes a temporary name.  It is random, because processes in different containers may have the same pid. */
static int temp_name(const char *path, char *temp, struct vesta_error *err) {
    uint64_t random;
    if (vs_random(&random, sizeof random) != 0)
        return vs_fail(err, VESTA_EIO, "the kernel returned no random bytes: %s", strerror(errno));
    if (snprintf(temp, PATH_MAX, "%s.new.%016" PRIx64, path, random) >= PATH_MAX)
        return vs_fail(err, VESTA_EIO, "the path is too long: %.150s", path);
    return VESTA_OK;
}

static int anchor_fill_file(int fd, const char *path, const struct vs_header *header, struct vesta_error *err) {
    char dir[PATH_MAX];
    struct stat folder;
    int rc = vs_file_system_check(fd, path, "a generator file", err);
    if (rc != VESTA_OK) return rc;
    anchor_folder_of(path, dir);
    if (stat(dir, &folder) != 0 || vs_own_file(fd, &folder, header->group) != 0)
        return anchor_io_error(err, header->group >= 0 ? "give to the group" : "give to the folder's owner", path);
    ssize_t done = pwrite(fd, header, sizeof *header, 0);
    if (done >= 0 && done != (ssize_t)sizeof *header) errno = ENOSPC;
    if (done != (ssize_t)sizeof *header) return anchor_io_error(err, "write", path);
    return fsync(fd) == 0 ? VESTA_OK : anchor_io_error(err, "write", path);
}

/* Creates the complete file under a temporary name and syncs it, so that a crash leaves no partial file at the path. */
static int make_temp(const char *path, const struct vs_header *header, char *temp, struct vesta_error *err) {
    int rc = temp_name(path, temp, err);
    if (rc != VESTA_OK) return rc;
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return anchor_io_error(err, "make", path);
    rc = anchor_fill_file(fd, path, header, err);
    close(fd);
    if (rc != VESTA_OK) unlink(temp);
    return rc;
}

static void fill_words(struct vs_header *header) {
    memset(header->magic, 0, sizeof header->magic);
    memcpy(header->magic, VS_ANCHOR_MAGIC, sizeof VS_ANCHOR_MAGIC);
    header->format = VS_ANCHOR_FORMAT;
    header->size = sizeof *header;
}

int vs_anchor_make(const char *path, const struct vs_header *header, struct vs_anchor *out, struct vesta_error *err) {
    struct vs_header whole = *header;
    char temp[PATH_MAX], dir[PATH_MAX];
    bool found;
    anchor_folder_of(path, dir);
    int rc = vs_anchor_folder_check(dir, err);
    if (rc != VESTA_OK) return rc;
    fill_words(&whole);
    if (vs_random(whole.key, sizeof whole.key) != 0)
        return vs_fail(err, VESTA_EIO, "the kernel returned no random bytes for a key: %s", strerror(errno));
    if ((rc = make_temp(path, &whole, temp, err)) != VESTA_OK) return rc;
    /* link(2) does not replace a file, so all processes use the file of the process that was first */
    if (link(temp, path) != 0 && errno != EEXIST) rc = anchor_io_error(err, "make", path);
    unlink(temp);
    if (rc == VESTA_OK) rc = vs_anchor_read(path, header->group, &found, out, err);
    if (rc == VESTA_OK && !found) rc = vs_fail(err, VESTA_EIO, "%.150s was removed as soon as it was created", path);
    return rc;
}

/* ------------------------------------------------------------------ without a file */

int vs_anchor_blocked(const char *folder) {
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", folder);
    for (;;) {
        if (faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0) return 0;
        char *slash = strrchr(at, '/');
        if (errno == EROFS || errno == EACCES || errno == EPERM) return errno;
        if (errno != ENOENT || !slash || !slash[1]) return 0;
        slash[slash == at ? 1 : 0] =
            '\0'; /* the folder does not exist: check its parent, in which it would be created */
    }
}

/* Two FNV-1a hashes in parallel.  It does no harm that a map's name is predictable, because a file of another user
 * under that name is never used. */
struct key_hash {
    uint64_t a, b;
};

static void hash_bytes(struct key_hash *hash, const void *bytes, size_t size) {
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++) {
        hash->a = (hash->a ^ *at) * UINT64_C(0x100000001b3);
        hash->b = (hash->b ^ *at ^ 0xa5) * UINT64_C(0x100000001b3);
    }
}

static void hash_text(struct key_hash *hash, const char *text) {
    hash_bytes(hash, text, strlen(text) + 1);
}

/* The key includes every value that must be equal in a map and its anchor.  Otherwise processes with different options
 * would keep replacing each other's map.  It includes the store's address, because a namespace has no incarnation
 * before its first lease. */
void vs_anchor_derive(const struct vs_header *header, const char *store, int blocked, struct vs_anchor *out) {
    struct key_hash hash = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    const uint64_t words[] = {header->fingerprint,     header->pacing,   header->ahead_ticks_max,
                              header->has_worker,      header->worker,   geteuid(),
                              (uint64_t)header->group, VS_ANCHOR_FORMAT, sizeof(struct vs_header)};
    *out = (struct vs_anchor){.kind = &vs_generator_map};
    out->header = *header;
    fill_words(&out->header);
    hash_text(&hash, header->path);
    hash_text(&hash, header->namespace_);
    hash_text(&hash, header->layout);
    hash_text(&hash, store);
    hash_text(&hash, header->lease);
    hash_text(&hash, header->identity);
    hash_bytes(&hash, words, sizeof words);
    memcpy(out->header.key, &hash, sizeof out->header.key);
    out->owner = geteuid();
    out->owner_group = getegid();
    out->no_file = blocked;
}

/* ------------------------------------------------------------------ notes for the next start */

/* Reads the file again.  Returns false if the file does not have this anchor's key any more, or must not be replaced.
 */
static bool read_again(const char *path, const struct vs_anchor *anchor, struct vs_anchor *now) {
    struct vesta_error err;
    bool found;
    if (vs_anchor_read(path, anchor->header.group, &found, now, &err) != VESTA_OK || !found) return false;
    if (memcmp(now->header.key, anchor->header.key, sizeof now->header.key) != 0) return false;
    return now->owner == geteuid() ||
           geteuid() == 0; /* only its owner and root can preserve its owner and permissions */
}

static bool write_again(const char *path, const struct vs_anchor *now) {
    struct vesta_error err;
    char temp[PATH_MAX];
    if (make_temp(path, &now->header, temp, &err) != VESTA_OK) return false;
    bool kept = geteuid() != 0 || lchown(temp, now->owner, now->owner_group) == 0;
    if (kept && rename(temp, path) == 0) return true;
    unlink(temp);
    return false;
}

bool vs_anchor_note(const char *path, const struct vs_anchor *anchor) {
    struct vs_anchor now;
    if (!read_again(path, anchor, &now)) return false;
    now.header.incarnation = anchor->header.incarnation;
    memcpy(now.header.store, anchor->header.store, sizeof now.header.store);
    return write_again(path, &now);
}

bool vs_anchor_note_proof(const char *path, const struct vs_anchor *anchor) {
    struct vs_anchor now;
    if (!read_again(path, anchor, &now)) return false;
    now.header.is_proved = 1;
    return write_again(path, &now);
}
