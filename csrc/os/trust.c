/* trust.c -- decides which folders and files to trust, and sets the owner of new files. */
#include "base/error.h"
#include "os/files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool anyone_writes(const struct stat *st) {
    return (st->st_mode & S_IWOTH) != 0;
}

/* For an entry of a folder to which everyone can write: returns whether a trusted user created it, judging by the owner
 * and group of the entry. */
static bool trust_is_ours(const struct stat *st, int group) {
    return st->st_uid == geteuid() || st->st_uid == 0 || (group >= 0 && st->st_gid == (gid_t)group);
}

struct trust_step {
    char path[PATH_MAX];
    struct stat st;
};

static int trust_check_step(const struct trust_step *at, const struct trust_step *above, int group,
                            struct vesta_error *err) {
    if (!anyone_writes(&above->st)) return VESTA_OK;
    if (!(above->st.st_mode & S_ISVTX))
        return vs_fail(err, VESTA_EIO,
                       "anyone can replace the files in %.150s: remove write permission for others (chmod o-w), or set "
                       "the sticky bit (chmod +t)",
                       above->path);
    if (trust_is_ours(&at->st, group)) return VESTA_OK;
    return vs_fail(err, VESTA_EIO,
                   "%.150s belongs to user %u, and anyone can create files in %.150s: change its owner to the user of "
                   "this process (chown), or use another folder",
                   at->path, (unsigned)at->st.st_uid, above->path);
}

int vs_path_check(const char *path, int group, struct vesta_error *err) {
    struct trust_step at, above;
    if (!realpath(path, at.path) || stat(at.path, &at.st) != 0)
        return vs_fail(err, VESTA_EIO, "cannot stat %.150s: %s", path, strerror(errno));
    while (strcmp(at.path, "/") != 0) {
        strcpy(above.path, at.path);
        char *slash = strrchr(above.path, '/');
        slash[slash == above.path ? 1 : 0] = '\0';
        if (stat(above.path, &above.st) != 0)
            return vs_fail(err, VESTA_EIO, "cannot stat %.150s: %s", above.path, strerror(errno));
        int rc = trust_check_step(&at, &above, group, err);
        if (rc != VESTA_OK) return rc;
        at = above;
    }
    return VESTA_OK;
}

int vs_folder_check(const char *path, int group, struct vesta_error *err) {
    struct stat st;
    if (stat(path, &st) == 0 && anyone_writes(&st))
        return vs_fail(err, VESTA_EIO, "anyone can write in %.150s: remove that permission (chmod o-w)", path);
    return vs_path_check(path, group, err);
}

bool vs_is_for_owner(const struct stat *folder) {
    return geteuid() == 0 && folder->st_uid != 0 && !anyone_writes(folder);
}

int vs_own_file(int fd, const struct stat *folder, int group) {
    if (vs_is_for_owner(folder) && fchown(fd, folder->st_uid, folder->st_gid) != 0) return -1;
    return vs_share_file(fd, group);
}

const char *vs_open_to_others(const struct stat *file) {
    static const char *const words[] = {NULL, "read", "write", "read and write"};
    return words[(file->st_mode & S_IROTH ? 1 : 0) | (file->st_mode & S_IWOTH ? 2 : 0)];
}
