/* file_system.c -- decides on which file systems leases and cursors may be stored.  They must be local to this machine,
 * with reliable locks, renames and fsync.  Unknown file systems are rejected, because they may lack one of these
 * properties. */
#include "base/error.h"
#include "os/files.h"
#include "os/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

struct fs_kind {
    unsigned long type; /* statfs' f_type */
    const char *name;
};

static const struct fs_kind good[] = {
    {0xef53, "ext4"}, /* and ext2, ext3 */
    {0x58465342, "XFS"},      {0x9123683e, "Btrfs"},     {0x2fc12fc1, "ZFS"},      {0xf2f52010, "F2FS"},
    {0xca451a4e, "bcachefs"}, {0x3153464a, "JFS"},       {0x52654973, "ReiserFS"}, {0x3434, "NILFS"},
    {0x24051905, "UBIFS"},    {0x794c7630, "overlayfs"}, /* containers: as reliable as the file system below it */
    {0x01021994, "tmpfs"}, /* lost at a reboot. A new store then starts its leases above the clock */
    {0x858458f6, "ramfs"}, /* as tmpfs */
};

/* File systems that are never accepted, even if VESTA_FILE_SYSTEMS lists them.  Several machines may write to them, or
 * their locks and maps may not work between machines. */
static const struct fs_kind bad[] = {
    {0x6969, "NFS"},       {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},    {0x517b, "SMB"},        {0x01021997, "9p"},
    {0x65735546, "FUSE"},  {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"}, {0x0bd00bd0, "Lustre"}, {0x00c36400, "Ceph"},
    {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},   {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x73757245, "Coda"},
    {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x564c, "NCP"},
};

static const struct fs_kind *fs_find(const struct fs_kind *kinds, size_t count, unsigned long type) {
    for (size_t i = 0; i < count; i++)
        if (kinds[i].type == type) return &kinds[i];
    return NULL;
}

/* Returns whether the operator accepts this type.  For example, VESTA_FILE_SYSTEMS=0x15013346,0x42465331 accepts two
 * types. */
static bool is_accepted(unsigned long type) {
    const char *at = vs_environment("VESTA_FILE_SYSTEMS");
    while (at && *at) {
        char *end;
        unsigned long listed = strtoul(at, &end, 0);
        if (end == at) return false;
        if (listed == type && (*end == ',' || *end == '\0')) return true;
        at = *end == ',' ? end + 1 : "";
    }
    return false;
}

int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err) {
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return vs_fail(err, VESTA_EIO, "cannot stat the file system of %.150s: %s", path, strerror(errno));
    unsigned long type = (unsigned long)fs.f_type & 0xffffffff;
    const struct fs_kind *refused = fs_find(bad, sizeof bad / sizeof *bad, type);
    if (refused)
        return vs_fail(err, VESTA_EIO, "%.150s is on %s: %s must be on a local file system", path, refused->name, what);
    if (fs_find(good, sizeof good / sizeof *good, type) || is_accepted(type)) return VESTA_OK;
    return vs_fail(
        err, VESTA_EIO,
        "%.100s is on a file system of the unknown type 0x%lx, so its locks and fsync may be unreliable: use ext4, "
        "XFS or Btrfs, or accept it with VESTA_FILE_SYSTEMS=0x%lx",
        path, type, type);
}
