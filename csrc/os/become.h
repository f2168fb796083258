/* become.h -- switches the process to another user permanently, and restricts its privileges and access to its memory.
 * Only programs call this, never the library. */
#ifndef VS_BECOME_H
#define VS_BECOME_H

#include "vesta.h"

#include <sys/types.h>

struct vs_identity {
    uid_t uid;
    gid_t gid;
    char user[64];
};

/* Finds a user and a group by name or number.  If group is "", uses the user's primary group.
 * Errors: VESTA_EOPTION if there is no such user or group. */
int vs_identity_find(const char *user, const char *group, struct vs_identity *out, struct vesta_error *err);

/* Checks whether the user may access a path, with a `mode` as in access(2).  Returns 0 if the user may, else the errno.
 * Returns -1 if this process cannot check, because it is neither root nor that user. */
int vs_identity_try(const struct vs_identity *who, const char *path, int mode);

/* Creates a missing folder and its parents, owned by the user.  Errors: VESTA_EIO. */
int vs_identity_own_dir(const struct vs_identity *who, const char *path, struct vesta_error *err);
/* Makes the user the owner of a socket file. */
int vs_identity_own_file(const struct vs_identity *who, const char *path, struct vesta_error *err);

/* Switches the process to the user and all of the user's groups, and checks that it cannot become root again. Does
 * nothing if the process already runs as this user.  Call it while the process has only one thread.
 * Errors: VESTA_EIO, VESTA_EOPTION if the process is not root. */
int vs_identity_become(const struct vs_identity *who, struct vesta_error *err);

/* Prevents programs that this process starts from gaining privileges (PR_SET_NO_NEW_PRIVS). */
void vs_no_new_rights(void);
/* Protects the process's memory, which may contain secrets: disables core files, and access by other processes of the
 * same user. */
void vs_no_core_file(void);

#endif
