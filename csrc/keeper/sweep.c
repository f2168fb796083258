/* sweep.c -- removes unused maps, which would otherwise stay in memory until the next boot.  A generator's map is
 * unused if its generator file is gone, no process has the map open, and no id was issued from the map for a while.  A
 * segment's map, which has no file, is unused if no process has used it for a week.  Removing a map is always safe. */
#include "keeper/file.h"
#include "keeper/segment/counter.h"
#include "os/host.h"
#include "os/lock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STILL_US (15 * 60 * INT64_C(1000000)) /* longer than any window that a restart could continue */
/* a map unused for this long is removed, and the numbers of its ranges stay unused */
#define UNUSED_US (7 * 24 * 3600 * INT64_C(1000000))
/* The cost of a sweep grows with the number of files in the folder.  So each sweep checks one file name in 16, and one
 * user's processes sweep at most once a minute, when they create a map. */
#define SWEEP_PARTS 16
#define SWEEP_US (STILL_US / SWEEP_PARTS)

/* This user's last sweep of the folder, as stored in a file in the folder. */
struct sweep {
    int64_t boot_us;
    uint64_t part;
};

static bool is_of_part(const char *name, unsigned part) {
    static const char prefix[] = "vesta-", digits[] = "0123456789abcdef";
    size_t length = sizeof prefix - 1;
    return strncmp(name, prefix, length) == 0 && name[length] == digits[part] &&
           strspn(name + length, digits) == 2 * VS_KEY_BYTES;
}

/* Returns whether a sweep is due, and sets *part to the part of the folder to check.  If the file cannot be used, a
 * sweep is always due. */
static bool sweep_take_turn(int dir, int64_t boot_us, unsigned *part) {
    char name[32];
    struct sweep last = {0, (uint64_t)boot_us / SWEEP_US};
    struct stat st;
    snprintf(name, sizeof name, "vesta-swept.%u", (unsigned)geteuid());
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    bool is_told = ours && pread(fd, &last, sizeof last, 0) == (ssize_t)sizeof last;
    bool is_due = !is_told || boot_us < last.boot_us || (uint64_t)boot_us - (uint64_t)last.boot_us >= SWEEP_US;
    const struct sweep next = {boot_us, last.part + 1};
    /* if this fails, the next process that creates a map sweeps again */
    if (ours && is_due) (void)!pwrite(fd, &next, sizeof next, 0);
    if (fd >= 0) close(fd);
    *part = (unsigned)(next.part % SWEEP_PARTS);
    return is_due;
}

/* Returns true if the map's generator file does not exist, and false if it exists or if that is unknown.  The caller
 * has checked the mount namespace, because the path is only valid in that namespace. */
static bool is_gone(const struct vs_header *header) {
    struct stat st;
    return header->path[0] == '/' && memchr(header->path, '\0', sizeof header->path) && lstat(header->path, &st) != 0 &&
           errno == ENOENT;
}

static bool is_still(int fd, int64_t now_us) {
    int64_t seen_us;
    off_t at = (off_t)(offsetof(struct vs_map, shared) + offsetof(struct vs_shared, seen_us));
    return pread(fd, &seen_us, sizeof seen_us, at) == (ssize_t)sizeof seen_us && now_us - seen_us > STILL_US;
}

static bool is_unused(int fd, int64_t now_us) {
    int64_t seen_us;
    return pread(fd, &seen_us, sizeof seen_us, offsetof(struct vs_segment_map, seen_us)) == (ssize_t)sizeof seen_us &&
           now_us - seen_us > UNUSED_US;
}

static bool is_of(const struct vs_header *header, const struct vs_map_kind *kind) {
    return memcmp(header->magic, kind->magic, sizeof header->magic) == 0;
}

/* Returns true if the map with this header is unused. */
static bool is_left_behind(int fd, const struct vs_header *header, int64_t now_us) {
    return is_of(header, &vs_segment_map) ? is_unused(fd, now_us)
                                          : is_of(header, &vs_generator_map) && is_gone(header) && is_still(fd, now_us);
}

/* Returns true for vesta-<key>.<random>, which a process leaves behind if it is killed while it creates a map. */
static bool is_unfinished(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && strlen(dot) == 17 && strspn(dot + 1, "0123456789abcdef") == 16;
}

static void sweep_look_at(int dir, const char *name, int64_t now_us, uint64_t mount) {
    struct stat st;
    struct vs_header header;
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    if (ours && is_unfinished(name)) {
        if (now_us / 1000000 - st.st_ctime > STILL_US / 1000000) unlinkat(dir, name, 0);
        ours = false;
    }
    bool whole = ours && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
    if (whole && header.mount == mount && is_left_behind(fd, &header, now_us) && vs_lock_byte(fd, VS_BYTE_HERE, true))
        unlinkat(dir, name, 0);
    close(fd);
}

void vs_sweep(const struct vs_mapping *made, const struct vesta_clock *clock) {
    assert(vs_process_is_locked());
    assert(made->is_new);
    assert(made->name[0] == '/');
    const char *own = strrchr(made->name, '/') + 1;
    char maps[VS_MAP_NAME_MAX];
    snprintf(maps, sizeof maps, "%.*s", (int)(own - made->name), made->name);
    DIR *dir = opendir(maps);
    if (!dir) return;
    int64_t boot_us = clock->boot_us(clock->self), now_us = clock->unix_us(clock->self);
    unsigned part;
    uint64_t mount = vs_mount_namespace();
    bool is_due = sweep_take_turn(dirfd(dir), boot_us, &part);
    for (struct dirent *entry; is_due && (entry = readdir(dir));)
        if (is_of_part(entry->d_name, part) && strcmp(entry->d_name, own) != 0 && !vs_file_has(entry->d_name) &&
            !vs_segments_have(entry->d_name))
            sweep_look_at(dirfd(dir), entry->d_name, now_us, mount);
    closedir(dir);
}
