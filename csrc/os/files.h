/* files.h -- creates files and folders, and checks which users can write to them and on which file system they are. */
#ifndef VS_OS_FILES_H
#define VS_OS_FILES_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Writes the path of the folder for state: $VESTA_STATE, else /var/lib/vesta if writable, else the user's state
 * folder.  The folder need not exist.  Returns 0, or -1 if there is no candidate or its path does not fit into `size`
 * bytes. */
int vs_state_dir(char *buf, size_t size);

/* Creates a folder and its missing parents.  `group` is a gid, or -1 for none.  The folder gets mode 0700, or 0770 with
 * a group.  Parents get mode 0755, and the umask applies to them if there is no group.  Returns 0, or -1 with errno. */
int vs_make_dirs(const char *path, int group);

/* Assigns an open file to `group` with mode 0660, or does nothing if group is -1.  Returns 0, or -1 with errno. */
int vs_share_file(int fd, int group);

/* Checks that no untrusted user could have replaced this file or folder.  No folder above it may be writable by
 * everyone, except a sticky folder in which the next entry of the path belongs to this process's user, root or `group`.
 * Errors: VESTA_EIO with the next step. */
int vs_path_check(const char *path, int group, struct vesta_error *err);
/* Like vs_path_check, but also rejects a folder that everyone can write to, even a sticky folder, because other users
 * could have created files in it. */
int vs_folder_check(const char *path, int group, struct vesta_error *err);

/* Returns whether new files in the folder must be assigned to its owner: this process is root, and the folder belongs
 * to another user. */
bool vs_is_for_owner(const struct stat *folder);
/* Sets the owner and group of a new file in a folder.  A file that root creates gets the folder's owner.  `group` is as
 * in vs_share_file.  Returns 0, or -1 with errno. */
int vs_own_file(int fd, const struct stat *folder, int group);

/* Returns the access that a file grants to users other than its owner and group: "read", "write", "read and write", or
 * NULL. */
const char *vs_open_to_others(const struct stat *file);

/* Checks that an open file or folder is on a local file system.  `path` and `what` (for example "a generator file") are
 * for the message.
 * Errors: VESTA_EIO. */
int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err);

#endif
