/* files.h -- where files are made, who may have written them, and on which file systems they may lie. */
#ifndef VS_OS_FILES_H
#define VS_OS_FILES_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* The folder where state lives: $VESTA_STATE, else /var/lib/vesta if writable, else the user's state folder.
 * The folder need not exist yet.  0, or -1: no candidate, or the path is longer than size. */
int vs_state_dir(char *buf, size_t size);

/* Makes a folder, mode 0700, or 0770 and owned by `group` (gid, or -1 for none).  Folders above it that are missing get
 * mode 0755, less the umask if there is no group.  0, or -1 with errno. */
int vs_make_dirs(const char *path, int group);

/* Gives an open file to `group` with mode 0660; nothing for -1.  0, or -1 with errno. */
int vs_share_file(int fd, int group);

/* VESTA_OK if nobody else can have put a file or a folder in this one's place: no folder above it may be written by
 * anyone, but for sticky ones in which it was made by this process's user, by root, or for `group`.
 * Errors: VESTA_EIO with the remedy. */
int vs_path_check(const char *path, int group, struct vesta_error *err);
/* And nobody else can have put anything into this folder: it may not be written by anyone, sticky or not. */
int vs_folder_check(const char *path, int group, struct vesta_error *err);

/* Whether this is root in a folder of another: what is made there belongs to the folder's owner. */
bool vs_is_for_owner(const struct stat *folder);
/* A file that was just made in a folder: to its owner where root made it, and to `group` as vs_share_file.
 * 0, or -1 with errno. */
int vs_own_file(int fd, const struct stat *folder, int group);

/* What users other than a file's owner and group may do with it: "read", "write", "read and write", or NULL. */
const char *vs_open_to_others(const struct stat *file);

/* VESTA_OK if the file system of an open file or folder is this machine's own; `path` and `what`, which must lie on
 * one, are for the message. */
int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err);

#endif
