/* files.h -- creates files and folders, and checks their writers and their file systems. */
#ifndef VS_OS_FILES_H
#define VS_OS_FILES_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* The folder for state: $VESTA_STATE, else /var/lib/vesta if writable, else the user's state folder.  It need not
 * exist.  Returns 0, or -1 if there is no candidate or the path is longer than size. */
int vs_state_dir(char *buf, size_t size);

/* Creates a folder with mode 0700, or with 0770 and `group` (a gid, or -1 for none).  Missing parents get mode 0755,
 * less the umask if there is no group.  Returns 0, or -1 with errno. */
int vs_make_dirs(const char *path, int group);

/* Makes an open file belong to `group` with mode 0660.  Does nothing for -1.  Returns 0, or -1 with errno. */
int vs_share_file(int fd, int group);

/* VESTA_OK if no other user can have replaced this file or folder.  No folder above it may be writable by everyone,
 * except a sticky folder whose entry belongs to this process's user, to root or to `group`.
 * Errors: VESTA_EIO with the remedy. */
int vs_path_check(const char *path, int group, struct vesta_error *err);
/* Also, no other user can have created files in this folder: it may not be writable by everyone, even if it is sticky.
 */
int vs_folder_check(const char *path, int group, struct vesta_error *err);

/* Whether this process is root and the folder belongs to another user, who must then own new files in it. */
bool vs_is_for_owner(const struct stat *folder);
/* Sets owner and group of a new file in a folder: if root made it, the folder's owner, and `group` as in vs_share_file.
 * Returns 0, or -1 with errno. */
int vs_own_file(int fd, const struct stat *folder, int group);

/* The access of users other than a file's owner and group: "read", "write", "read and write", or NULL. */
const char *vs_open_to_others(const struct stat *file);

/* VESTA_OK if an open file or folder is on a local file system.  `path` and `what`, the thing that must be on one, are
 * for the message. */
int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err);

#endif
