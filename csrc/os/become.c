/* become.c -- drops root privileges.  The order is required: supplementary groups, group, user, and then a check that
 * it worked. */
#include "os/become.h"

#include "base/error.h"
#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BECOME_GROUPS_MAX 1024

static bool become_is_number(const char *text, uint32_t *number) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno || value >= UINT32_MAX) return false; /* the kernel reads UINT32_MAX as "do not change" */
    *number = (uint32_t)value;
    return true;
}

static int find_group(const char *group, gid_t *gid, struct vesta_error *err) {
    uint32_t number;
    const struct group *found = getgrnam(group);
    if (!found && !become_is_number(group, &number))
        return vs_fail(err, VESTA_EOPTION, "there is no group '%s' on this machine", VS_QUOTE(group, strlen(group)));
    *gid = found ? found->gr_gid : number;
    return VESTA_OK;
}

int vs_identity_find(const char *user, const char *group, struct vs_identity *out, struct vesta_error *err) {
    uint32_t number;
    const struct passwd *found = getpwnam(user);
    if (!found && become_is_number(user, &number)) found = getpwuid(number);
    if (!found)
        return vs_fail(err, VESTA_EOPTION,
                       "there is no user '%s' on this machine: create one, for example with `adduser --system`",
                       VS_QUOTE(user, strlen(user)));
    out->uid = found->pw_uid;
    out->gid = found->pw_gid;
    snprintf(out->user, sizeof out->user, "%s", found->pw_name);
    return *group ? find_group(group, &out->gid, err) : VESTA_OK;
}

/* ------------------------------------------------------------------ the user's files */

/* Runs in a forked child.  It must not take locks, because another thread may have held them at the fork. */
static int become_try(const struct vs_identity *who, const gid_t *groups, int count, const char *path, int mode) {
    if (setgroups((size_t)count, groups) != 0 || setresgid(who->gid, who->gid, who->gid) != 0 ||
        setresuid(who->uid, who->uid, who->uid) != 0)
        return 255;
    return access(path, mode) == 0 ? 0 : errno;
}

int vs_identity_try(const struct vs_identity *who, const char *path, int mode) {
    gid_t groups[BECOME_GROUPS_MAX];
    int count = BECOME_GROUPS_MAX, status;
    if (geteuid() == who->uid) return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? 0 : errno;
    if (geteuid() != 0 || getgrouplist(who->user, who->gid, groups, &count) < 0) return -1;
    pid_t child = fork();
    if (child == 0) _exit(become_try(who, groups, count, path, mode));
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255) return -1;
    return WEXITSTATUS(status);
}

static int become_own(const struct vs_identity *who, const char *path, struct vesta_error *err) {
    if (lchown(path, who->uid, who->gid) == 0) return VESTA_OK;
    return vs_fail(err, VESTA_EIO, "cannot change the owner of %s to '%s': %s", path, who->user, strerror(errno));
}

int vs_identity_own_dir(const struct vs_identity *who, const char *path, struct vesta_error *err) {
    struct stat st;
    if (geteuid() != 0 || stat(path, &st) == 0) return VESTA_OK; /* keep the owner of an existing folder */
    mode_t mask = umask(022);                                    /* lets the user enter the parent folders */
    int rc = vs_make_dirs(path, -1), failed = errno;
    umask(mask);
    if (rc == 0) return become_own(who, path, err);
    if (failed == EROFS) return VESTA_OK; /* not an error here: vesta_open uses another folder or reports it */
    return vs_fail(err, VESTA_EIO, "cannot create %s: %s", path, strerror(failed));
}

int vs_identity_own_file(const struct vs_identity *who, const char *path, struct vesta_error *err) {
    return geteuid() == 0 ? become_own(who, path, err) : VESTA_OK;
}

/* ------------------------------------------------------------------ becoming */

static bool is_them(const struct vs_identity *who) {
    uid_t uid[3];
    gid_t gid[3];
    if (getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0) return false;
    for (int i = 0; i < 3; i++)
        if (uid[i] != who->uid || gid[i] != who->gid) return false;
    return true;
}

int vs_identity_become(const struct vs_identity *who, struct vesta_error *err) {
    if (geteuid() != 0 && is_them(who)) return VESTA_OK;
    if (geteuid() != 0)
        return vs_fail(err, VESTA_EOPTION, "only root can become user '%s', and this process is run by user %ld",
                       who->user, (long)geteuid());
    if (initgroups(who->user, who->gid) != 0 || setresgid(who->gid, who->gid, who->gid) != 0 ||
        setresuid(who->uid, who->uid, who->uid) != 0)
        return vs_fail(err, VESTA_EIO, "cannot become user '%s': %s", who->user, strerror(errno));
    if (!is_them(who) || (who->uid != 0 && (setuid(0) == 0 || seteuid(0) == 0)))
        return vs_fail(err, VESTA_EIO, "became user '%s', but could become root again. Report this bug", who->user);
    return VESTA_OK;
}

void vs_no_new_rights(void) {
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void vs_no_core_file(void) {
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
