/* fs_type.h -- pretends a type of file system, with a wrapped fstatfs: link with -Wl,--wrap=fstatfs. */
#ifndef SPEC_FS_TYPE_H
#define SPEC_FS_TYPE_H

#include <sys/vfs.h>

static unsigned long fs_type; /* 0: the real one */

int __real_fstatfs(int fd, struct statfs *out);
int __wrap_fstatfs(int fd, struct statfs *out);

int __wrap_fstatfs(int fd, struct statfs *out) {
    int rc = __real_fstatfs(fd, out);
    if (rc == 0 && fs_type) out->f_type = (__fsword_t)fs_type;
    return rc;
}

#endif
