/* become.h -- changes the process's user for good, and protects its rights and its memory.  For programs only: the
 * library never changes these. */
#ifndef VS_BECOME_H
#define VS_BECOME_H

#include "vesta.h"

#include <sys/types.h>

struct vs_identity {
    uid_t uid;
    gid_t gid;
    char user[64];
};

/* Finds a user by name or number, and the group by name or number ("": the user's own).
 * Errors: VESTA_EOPTION: no such user or group. */
int vs_identity_find(const char *user, const char *group, struct vs_identity *out, struct vesta_error *err);

/* Whether the user may access a path, with a `mode` of access(2): 0, the errno, or -1 if only root or that user can
 * find out. */
int vs_identity_try(const struct vs_identity *who, const char *path, int mode);

/* Creates a missing folder and its parents, owned by the user.  Errors: VESTA_EIO. */
int vs_identity_own_dir(const struct vs_identity *who, const char *path, struct vesta_error *err);
/* Makes the user the owner of a socket file. */
int vs_identity_own_file(const struct vs_identity *who, const char *path, struct vesta_error *err);

/* Becomes the user with all groups, for good: it checks that there is no way back.  Does nothing if the process already
 * runs as this user.  Call it while there is only one thread.  Errors: VESTA_EIO, VESTA_EOPTION if this is not root. */
int vs_identity_become(const struct vs_identity *who, struct vesta_error *err);

/* No program started by this process can gain rights.  Old kernels ignore it. */
void vs_no_new_rights(void);
/* Keeps the process's memory, which may contain secrets, out of core files, and unreadable for the user's other
 * processes. */
void vs_no_core_file(void);

#endif
