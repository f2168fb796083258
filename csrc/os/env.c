/* env.c -- the boot id, time and mount namespaces, and the folder for state. */
#include "os/files.h"
#include "os/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int vs_boot_id(char *buf) {
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t got = read(fd, buf, VS_BOOT_ID_MAX - 1);
    close(fd);
    if (got < 36) {
        errno = EIO;
        return -1;
    }
    buf[36] = '\0';
    return 0;
}

const char *vs_environment(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* Returns whether timens_offsets describes the clock of this process.  After unshare(CLONE_NEWTIME) it has the offset
 * of the children, although the process itself stays in its namespace.  In that case the namespace's inode identifies
 * the clock. */
static bool clock_is_childrens(struct stat *own) {
    struct stat next;
    if (stat("/proc/self/ns/time", own) != 0 || stat("/proc/self/ns/time_for_children", &next) != 0) return true;
    return own->st_ino == next.st_ino;
}

int vs_boot_offset(char buf[VS_BOOT_OFFSET_MAX]) {
    char text[256], *line;
    struct stat own;
    long long s = 0, ns = 0;
    buf[0] = '\0';
    int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : -1; /* the kernel has no time namespaces */
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    if (!(line = strstr(text, "boottime")) || sscanf(line, "boottime %lld %lld", &s, &ns) != 2) return -1;
    if (!clock_is_childrens(&own))
        snprintf(buf, VS_BOOT_OFFSET_MAX, "-time%llu", (unsigned long long)own.st_ino);
    else if (s || ns)
        snprintf(buf, VS_BOOT_OFFSET_MAX, "-boot%lld.%09lld", s, ns);
    return 0;
}

uint64_t vs_mount_namespace(void) {
    struct stat st;
    return stat("/proc/self/ns/mnt", &st) == 0 ? st.st_ino : 0;
}

/* Returns whether the folder is writable, or does not exist and its parent is writable. */
static bool env_usable(const char *dir, const char *parent) {
    return access(dir, W_OK | X_OK) == 0 || (errno == ENOENT && access(parent, W_OK | X_OK) == 0);
}

int vs_state_dir(char *buf, size_t size) {
    const char *set = vs_environment("VESTA_STATE"), *base = NULL, *tail = "";
    if (set) {
        base = set;
    } else if (env_usable("/var/lib/vesta", "/var/lib")) {
        base = "/var/lib/vesta";
    } else if ((set = vs_environment("XDG_STATE_HOME")) && *set == '/') {
        base = set, tail = "/vesta";
    } else if ((set = vs_environment("HOME")) && *set == '/') {
        base = set, tail = "/.local/state/vesta";
    }
    if (!base) return -1;
    int length = snprintf(buf, size, "%s%s", base, tail);
    return length > 0 && (size_t)length < size ? 0 : -1;
}

/* Syncs the parent of a new folder, which makes the new name durable. */
static int settle_dir(const char *above) {
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 && errno == EACCES ? 0 : fsync(fd);
    if (rc != 0 && errno == EINVAL) rc = 0; /* this file system does not support fsync on folders */
    if (fd >= 0) close(fd);
    return rc;
}

/* Creates one folder.  If root creates it in the folder of another user, assigns it to that user. */
static int make_dir(const char *path, mode_t mode, int group) {
    char above[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    struct stat st;
    if (slash) snprintf(above, sizeof above, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (mkdir(path, mode) != 0) return errno == EEXIST ? 0 : -1;
    if (stat(above, &st) != 0) return -1;
    if (vs_is_for_owner(&st) && chown(path, st.st_uid, st.st_gid) != 0) return -1;
    /* chmod, because the umask may have removed the group's permissions */
    if (group >= 0 && (chown(path, (uid_t)-1, (gid_t)group) != 0 || chmod(path, mode) != 0)) return -1;
    return settle_dir(above);
}

static int make_dirs_above(char *path, int group) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_dir(path, 0755, group) != 0) return -1;
        *slash = '/';
    }
    return 0;
}

int vs_make_dirs(const char *path, int group) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    mode_t mode = group >= 0 ? 0770 : 0700;
    if (length == 0 || length >= sizeof part) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    if (make_dir(path, mode, group) == 0) return 0; /* the usual case: the parents exist */
    if (errno != ENOENT) return -1;
    memcpy(part, path, length + 1);
    return make_dirs_above(part, group) == 0 ? make_dir(part, mode, group) : -1;
}

int vs_share_file(int fd, int group) {
    if (group < 0) return 0;
    return fchown(fd, (uid_t)-1, (gid_t)group) == 0 && fchmod(fd, 0660) == 0 ? 0 : -1;
}
