/* power.h -- a simulated disk that loses data that was not synced, under a spec's own calls and those of its libraries.  It
 * keeps what fsync(file) or fdatasync(file) has written of a file, the names that a sync of the folder has written, and
 * any part, down to a sector, of later writes.  The power is cut before and after each call that changes something below
 * `place`.  The disk after the cut is built at `found`, in many variants.
 *
 * The simulated content is compared with the files, so a write through an unknown call is an error here. */
#ifndef SPEC_POWER_H
#define SPEC_POWER_H

#include "crowd.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>

#define SECTOR 512
#define POWER_FILES_MAX 8192
#define POWER_FOLDERS_MAX 8
#define POWER_NAMES_MAX 64
#define SEEN __attribute__((visibility("default"))) /* for the libraries, in place of libc's */

/* A write, or a truncation to `at` bytes if there is no data. */
struct power_op {
    size_t at, length;
    unsigned char *data;
};

struct power_file {
    ino_t ino;
    size_t length; /* synced bytes */
    unsigned char *bytes;
    size_t ops; /* since the last sync */
    struct power_op *op;
};

struct power_folder {
    ino_t ino;
    size_t names;
    struct power_name {
        char name[256];
        ino_t ino; /* of a folder */
        struct power_file *file;
    } name[POWER_NAMES_MAX];
};

static struct {
    bool is_on; /* if false, the spec itself works, which the disk ignores */
    char place[160], found[160];
    int mixes; /* variants of partial loss, in addition to losing all and nothing */
    uint64_t dice;
    bool (*is_lost)(const char *found);                /* whether something acknowledged is missing */
    bool (*forgets)(const char *path, bool is_folder); /* whether the disk claims a sync that it did not do */
    size_t cuts, losses;
    struct power_file file[POWER_FILES_MAX];
    size_t files;
    struct power_folder folder[POWER_FOLDERS_MAX];
    size_t folders;
} power;

static void power_cut(void);

/* Returns the C library's function. */
#define REAL(name) ((__typeof__(&name))power_real(#name))

static void *power_real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

/* ------------------------------------------------------------------ the content of the disk */

/* Returns the latest file with that inode number, which may have been reused. */
static struct power_file *power_file_of(ino_t ino) {
    for (size_t i = power.files; i-- > 0;)
        if (power.file[i].ino == ino) return &power.file[i];
    return NULL;
}

static struct power_file *power_new_file(ino_t ino) {
    if (power.files == POWER_FILES_MAX) abort();
    power.file[power.files] = (struct power_file){.ino = ino};
    return &power.file[power.files++];
}

static struct power_folder *power_folder_of(ino_t ino) {
    for (size_t i = 0; i < power.folders; i++)
        if (power.folder[i].ino == ino) return &power.folder[i];
    return NULL;
}

/* Returns the path of a descriptor, if it is below the place. */
static bool power_path(int fd, char path[PATH_MAX]) {
    char link[40];
    size_t own = strlen(power.place);
    if (!power.is_on) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return strncmp(path, power.place, own) == 0 && (path[own] == '/' || path[own] == '\0');
}

/* Returns the file of a descriptor, or NULL if it is outside. */
static struct power_file *power_tracked(int fd) {
    char path[PATH_MAX];
    struct stat st;
    if (!power_path(fd, path) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    return power_file_of(st.st_ino);
}

static void power_note(struct power_file *file, size_t at, const void *data, size_t length) {
    file->op = realloc(file->op, (file->ops + 1) * sizeof *file->op);
    struct power_op *op = &file->op[file->ops++];
    *op = (struct power_op){.at = at, .length = length, .data = data ? malloc(length + 1) : NULL};
    if (data) memcpy(op->data, data, length);
}

static void power_list(const char *path, struct power_folder *to) {
    DIR *dir = opendir(path);
    struct dirent *entry;
    to->names = 0;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (to->names == POWER_NAMES_MAX) abort();
        struct power_name *name = &to->name[to->names++];
        bool is_folder = entry->d_type == DT_DIR;
        snprintf(name->name, sizeof name->name, "%s", entry->d_name);
        name->ino = entry->d_ino;
        name->file = is_folder ? NULL : power_file_of(entry->d_ino);
        if (!is_folder && !name->file) abort(); /* it was made by a call that is unknown here */
    }
    if (dir) closedir(dir);
}

/* ------------------------------------------------------------------ the content of a file after a cut */

struct power_image {
    size_t length;
    unsigned char *bytes;
};

static void power_resize(struct power_image *image, size_t length, bool is_noise) {
    image->bytes = realloc(image->bytes, length + 1);
    for (size_t i = image->length; i < length; i++)
        image->bytes[i] = is_noise ? (unsigned char)roll_below(&power.dice, 256) : 0;
    image->length = length;
}

/* Applies a write completely, or only some sectors, chosen at random.  Gaps may be zeros, or the old content. */
static void power_write(struct power_image *image, const struct power_op *op, bool is_torn) {
    size_t end = op->at + op->length;
    if (end > image->length) power_resize(image, end, is_torn && roll_below(&power.dice, 2));
    for (size_t at = op->at; at < end;) {
        size_t next = (at / SECTOR + 1) * SECTOR;
        if (next > end) next = end;
        if (!is_torn || roll_below(&power.dice, 2)) memcpy(image->bytes + at, op->data + (at - op->at), next - at);
        at = next;
    }
}

enum power_way { POWER_NONE, POWER_ALL, POWER_SOME }; /* which part of the unsynced writes is kept */

static struct power_image power_compose(const struct power_file *file, enum power_way way) {
    struct power_image image = {0};
    power_resize(&image, file->length, false);
    if (file->length) memcpy(image.bytes, file->bytes, file->length);
    for (size_t i = 0; i < file->ops && way != POWER_NONE; i++) {
        const struct power_op *op = &file->op[i];
        uint64_t luck = way == POWER_ALL ? 0 : roll_below(&power.dice, 3);
        if (luck == 2) continue;
        if (op->data)
            power_write(&image, op, luck == 1);
        else
            power_resize(&image, op->at, false), image.length = op->at;
    }
    return image;
}

static void power_forget(struct power_file *file) {
    for (size_t i = 0; i < file->ops; i++)
        free(file->op[i].data);
    free(file->op);
    free(file->bytes);
}

static void power_keep_file(struct power_file *file) {
    struct power_image image = power_compose(file, POWER_ALL);
    power_forget(file);
    *file = (struct power_file){.ino = file->ino, .bytes = image.bytes, .length = image.length};
}

static void power_keep_folder(const char *path, ino_t ino) {
    struct power_folder *kept = power_folder_of(ino);
    if (!kept && power.folders == POWER_FOLDERS_MAX) abort();
    if (!kept) kept = &power.folder[power.folders++];
    kept->ino = ino;
    power_list(path, kept);
}

/* ------------------------------------------------------------------ a power cut */

static size_t power_find(const struct power_folder *in, const char *name) {
    size_t at = 0;
    while (at < in->names && strcmp(in->name[at].name, name) != 0)
        at++;
    return at;
}

/* Restores the folder's names: each as synced, or as it is now, which may be deleted. */
static void power_mix(struct power_folder *out, const struct power_folder *now) {
    for (size_t at = 0; at < out->names;)
        if (power_find(now, out->name[at].name) == now->names && roll_below(&power.dice, 2))
            out->name[at] = out->name[--out->names];
        else
            at++;
    for (size_t i = 0; i < now->names; i++) {
        if (roll_below(&power.dice, 2)) continue;
        size_t at = power_find(out, now->name[i].name);
        if (at == POWER_NAMES_MAX) abort();
        if (at == out->names) out->names++;
        out->name[at] = now->name[i];
    }
}

static void power_put(const char *path, const struct power_file *file, enum power_way way) {
    struct power_image image = power_compose(file, way);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, image.bytes, image.length) != (ssize_t)image.length) abort();
    close(fd);
    free(image.bytes);
}

static void power_rebuild(const char *from, ino_t ino, const char *to, enum power_way way) {
    struct power_folder now, names = {.names = 0};
    const struct power_folder *synced = power_folder_of(ino);
    char below_from[600], below_to[600];
    power_list(from, &now);
    if (way == POWER_ALL)
        names = now;
    else if (synced)
        names = *synced;
    if (way == POWER_SOME) power_mix(&names, &now);
    if (mkdir(to, 0700) != 0) abort();
    for (size_t i = 0; i < names.names; i++) {
        snprintf(below_from, sizeof below_from, "%s/%s", from, names.name[i].name);
        snprintf(below_to, sizeof below_to, "%s/%s", to, names.name[i].name);
        if (names.name[i].file)
            power_put(below_to, names.name[i].file, way);
        else
            power_rebuild(below_from, names.name[i].ino, below_to, way);
    }
}

/* Checks that the simulated content, if all of it were synced, equals the files.  SQLite's index of its log is
 * memory. */
static void power_is_as_seen(const char *path, const struct power_file *file) {
    struct power_image image = power_compose(file, POWER_ALL);
    unsigned char *real = malloc(image.length + 1);
    int fd = open(path, O_RDONLY);
    size_t end = strlen(path);
    ssize_t got = pread(fd, real, image.length + 1, 0);
    bool is_memory = end > 4 && strcmp(path + end - 4, "-shm") == 0;
    if (!is_memory && (got != (ssize_t)image.length || memcmp(real, image.bytes, image.length) != 0))
        CHECK_FAIL("%s was written to by a way that is not seen here", path);
    if (fd >= 0) close(fd);
    free(real);
    free(image.bytes);
}

static void power_look(const char *path) {
    struct power_folder now;
    char below[600];
    power_list(path, &now);
    for (size_t i = 0; i < now.names; i++) {
        snprintf(below, sizeof below, "%s/%s", path, now.name[i].name);
        if (now.name[i].file)
            power_is_as_seen(below, now.name[i].file);
        else
            power_look(below);
    }
}

static void power_cut(void) {
    int kept_errno = errno;
    struct stat st;
    if (!power.is_on) return;
    power.is_on = false;
    if (stat(power.place, &st) != 0) abort();
    power_look(power.place);
    for (int i = 0; i < 2 + power.mixes; i++) {
        nftw(power.found, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        power_rebuild(power.place, st.st_ino, power.found, i == 0 ? POWER_NONE : i == 1 ? POWER_ALL : POWER_SOME);
        power.losses += power.is_lost(power.found);
        power.cuts++;
    }
    power.is_on = true;
    errno = kept_errno;
}

/* Begins with an empty place and an empty disk. */
__attribute__((unused)) static void power_on(int mixes, bool (*is_lost)(const char *found),
                                             bool (*forgets)(const char *path, bool is_folder)) {
    power.cuts = power.losses = 0;
    power.dice = 7;
    power.mixes = mixes;
    power.is_lost = is_lost;
    power.forgets = forgets;
    snprintf(power.place, sizeof power.place, "%s", in_folder("place"));
    snprintf(power.found, sizeof power.found, "%s", in_folder("found"));
    if (mkdir(power.place, 0700) != 0) abort();
    power.is_on = true;
}

/* The counts are kept. */
__attribute__((unused)) static void power_off(void) {
    power.is_on = false;
    for (size_t i = 0; i < power.files; i++)
        power_forget(&power.file[i]);
    power.files = power.folders = 0;
}

/* ------------------------------------------------------------------ the calls */

static int power_sync(int fd, int rc) {
    char path[PATH_MAX];
    struct stat st;
    if (rc != 0 || !power_path(fd, path) || fstat(fd, &st) != 0) return rc;
    power_cut();
    bool is_folder = S_ISDIR(st.st_mode);
    if (power.forgets && power.forgets(path, is_folder)) return rc;
    if (is_folder)
        power_keep_folder(path, st.st_ino);
    else if (power_file_of(st.st_ino))
        power_keep_file(power_file_of(st.st_ino));
    power_cut();
    return rc;
}

SEEN int fsync(int fd) {
    return power_sync(fd, power.is_on ? REAL(fsync)(fd) : 0);
}

SEEN int fdatasync(int fd) {
    return power_sync(fd, power.is_on ? REAL(fdatasync)(fd) : 0);
}

static ssize_t power_written(int fd, const void *data, size_t at, ssize_t rc) {
    struct power_file *file = rc > 0 ? power_tracked(fd) : NULL;
    if (!file) return rc;
    power_note(file, at, data, (size_t)rc);
    power_cut();
    return rc;
}

SEEN ssize_t write(int fd, const void *data, size_t length) {
    off_t at = power.is_on ? lseek(fd, 0, SEEK_CUR) : 0;
    return power_written(fd, data, at > 0 ? (size_t)at : 0, REAL(write)(fd, data, length));
}

SEEN ssize_t pwrite(int fd, const void *data, size_t length, off_t at) {
    return power_written(fd, data, (size_t)at, REAL(pwrite)(fd, data, length, at));
}

SEEN ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
    return power_written(fd, data, (size_t)at, REAL(pwrite64)(fd, data, length, at));
}

static int power_was_cut(int fd, size_t length, int rc) {
    struct power_file *file = rc == 0 ? power_tracked(fd) : NULL;
    if (!file) return rc;
    power_note(file, length, NULL, 0);
    power_cut();
    return rc;
}

SEEN int ftruncate(int fd, off_t length) {
    return power_was_cut(fd, (size_t)length, REAL(ftruncate)(fd, length));
}

SEEN int ftruncate64(int fd, off64_t length) {
    return power_was_cut(fd, (size_t)length, REAL(ftruncate64)(fd, length));
}

/* A new file's inode number may have belonged to another. */
static int power_opened(int fd, int flags, bool was_there) {
    char path[PATH_MAX];
    struct stat st;
    if (fd < 0 || !(flags & O_CREAT) || was_there || !power_path(fd, path) || fstat(fd, &st) != 0) return fd;
    power_new_file(st.st_ino);
    power_cut();
    return fd;
}

static mode_t power_mode(int flags, va_list args) {
    return flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
}

#define POWER_OPEN(name)                                                                                               \
    SEEN int name(const char *path, int flags, ...) {                                                                  \
        va_list args;                                                                                                  \
        va_start(args, flags);                                                                                         \
        mode_t mode = power_mode(flags, args);                                                                         \
        va_end(args);                                                                                                  \
        bool was_there = power.is_on && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;                     \
        return power_opened(REAL(name)(path, flags, mode), flags, was_there);                                          \
    }
POWER_OPEN(open)
POWER_OPEN(open64)

SEEN int openat(int folder_fd, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = power_mode(flags, args);
    va_end(args);
    bool was_there = power.is_on && faccessat(folder_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return power_opened(REAL(openat)(folder_fd, path, flags, mode), flags, was_there);
}

/* Handles names before and after the call, according to the folder's content. */
#define POWER_NAMES(name, parameters, ...)                                                                             \
    SEEN int name parameters {                                                                                         \
        power_cut();                                                                                                   \
        int rc = REAL(name)(__VA_ARGS__);                                                                              \
        power_cut();                                                                                                   \
        return rc;                                                                                                     \
    }
POWER_NAMES(renameat, (int from_fd, const char *from, int to_fd, const char *to), from_fd, from, to_fd, to)
POWER_NAMES(unlink, (const char *path), path)
POWER_NAMES(unlinkat, (int fd, const char *path, int flags), fd, path, flags)
POWER_NAMES(mkdir, (const char *path, mode_t mode), path, mode)

#endif
