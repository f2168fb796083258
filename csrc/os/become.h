/* become.h -- who a process is: another user for good, no more rights by exec, no memory in a core dump.
 * For programs; the library leaves its process as it is. */
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

/* Whether the user may use a path, by a `mode` of access(2): 0, the errno, or -1: only root or the user can find out. */
int vs_identity_try(const struct vs_identity *who, const char *path, int mode);

/* Makes a folder that is not there, and its parents, and gives it to them.  Errors: VESTA_EIO. */
int vs_identity_own_dir(const struct vs_identity *who, const char *path, struct vesta_error *err);
/* Gives a socket's file to them. */
int vs_identity_own_file(const struct vs_identity *who, const char *path, struct vesta_error *err);

/* Becomes them with all their groups, for good: it is tried whether there is a way back.  Nothing to do for who is
 * them already.  Call it while there is one thread.  Errors: VESTA_EIO, VESTA_EOPTION: only root can. */
int vs_identity_become(const struct vs_identity *who, struct vesta_error *err);

/* No program that is started from here can have more rights.  Harmless where it fails: an old kernel. */
void vs_no_new_rights(void);
/* The process's memory, where secrets may be, goes into no core file, and no other process of the user may read it. */
void vs_no_core_file(void);

#endif
