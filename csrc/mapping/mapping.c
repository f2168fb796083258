/* mapping.c -- see mapping.h.  A map is found by the key of its anchor.  A map is trusted only if it cannot be a
 * restored older state. */
#include "mapping/mapping.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/host.h"
#include "os/lock.h"
#include "os/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS 0x01021994
#define NO_REPLACE 1   /* RENAME_NOREPLACE of linux/fs.h */
#define BYTE_REPLACE 7 /* the byte that a process locks to replace a stale map */

static int map_io_error(struct vesta_error *err, const char *what, const char *path) {
    return vs_fail(err, VESTA_EIO, "cannot %s %.150s: %s", what, path, strerror(errno));
}

/* ------------------------------------------------------------------ names */

int vs_maps_dir(char out[VS_MAPS_MAX]) {
    const char *set = vs_environment("VESTA_MAPS");
    int length = snprintf(out, VS_MAPS_MAX, "%s", set ? set : "/dev/shm");
    return out[0] == '/' && length < VS_MAPS_MAX ? 0 : -1;
}

int vs_mapping_name(const struct vs_header *anchor, char name[VS_MAP_NAME_MAX]) {
    char key[2 * VS_KEY_BYTES + 1], offset[VS_BOOT_OFFSET_MAX];
    for (int i = 0; i < VS_KEY_BYTES; i++)
        snprintf(key + 2 * i, 3, "%02x", anchor->key[i]);
    if (vs_boot_offset(offset) != 0) return -1;
    snprintf(name, VS_MAP_NAME_MAX, "%.*s/vesta-%s%s", VS_MAPS_MAX - 1, anchor->maps, key, offset);
    return 0;
}

bool vs_mapping_is_named(const struct vs_mapping *mapping) {
    struct stat st;
    if (!mapping->name[0]) return true;
    if (lstat(mapping->name, &st) != 0) return errno != ENOENT && errno != ENOTDIR;
    return st.st_dev == mapping->dev && st.st_ino == mapping->ino;
}

void vs_mapping_remove(const struct vs_mapping *mapping) {
    if (mapping->name[0] && vs_mapping_is_named(mapping)) unlink(mapping->name);
}

/* ------------------------------------------------------------------ the map of a generator */

static void begin_generator(void *map, const struct vesta_clock *clock) {
    vs_map_format(map, clock);
}

static bool map_is_used_up(const void *at) {
    const struct vs_map *map = at;
    /* Acquire: pairs with vs_map_retire.  The process that closed the map had released its worker id before. */
    return atomic_load_explicit(&map->shared.stopped, memory_order_acquire) == VESTA_CLOSED;
}

/* UUIDs of the new map continue after those of the used-up one. */
static void inherit_generator(void *map, void *old) {
    struct vs_shared *to = &((struct vs_map *)map)->shared;
    struct vs_shared *from = &((struct vs_map *)old)->shared;
    uint64_t span = atomic_load(&from->uuid_span);
    atomic_store(&to->uuid_span, span ? span + 1 : 0);
    atomic_store(&to->slow_us, atomic_load(&from->slow_us));
}

/* Closes every slot, and leaves no slot that could be taken. */
static void bury_generator(void *at, const char *said) {
    struct vs_map *map = at;
    atomic_store(&map->shared.slots_used, VS_SLOTS_MAX);
    atomic_store(&map->shared.stopped, VESTA_FAILSTOP);
    for (int i = 0; i < VS_SLOTS_MAX; i++) {
        atomic_store(&map->slot[i].ended, 1);
        atomic_store(&map->slot[i].tick, VS_CLOSED);
    }
    for (size_t i = 0; said[i] && i + 1 < VS_SAID_MAX; i++)
        atomic_store(&map->shared.keeper[i], said[i]);
}

const struct vs_map_kind vs_generator_map = {
    .magic = VS_MAP_MAGIC,
    .format = VS_MAP_FORMAT,
    .size = sizeof(struct vs_map),
    .alone = "this process has a lease of its own, which it releases when it ends",
    .begin = begin_generator,
    .inherit = inherit_generator,
    .is_used_up = map_is_used_up,
    .bury = bury_generator,
};
_Static_assert(sizeof VS_MAP_MAGIC == sizeof((struct vs_header){0}).magic, "the magic fits the header's field");

/* ------------------------------------------------------------------ trust */

/* Returns the creation time of a file, or 0 if the file system does not record it. */
static int64_t born_ns(int fd) {
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) != 0 || !(st.stx_mask & STATX_BTIME)) return 0;
    return st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
}

static int map_identify(int fd, const struct stat *st, struct vs_file_identity *out, struct vesta_error *err) {
    memset(out, 0, sizeof *out);
    out->born_ns = born_ns(fd);
    out->dev = st->st_dev;
    out->ino = st->st_ino;
    return vs_boot_id(out->boot_id) == 0 ? VESTA_OK : map_io_error(err, "read", "the kernel's boot id");
}

/* Returns whether the map belongs to the anchor's owner, this user, root, or the group that shares the files. */
static bool map_is_ours(const struct stat *st, const struct vs_anchor *anchor) {
    int group = anchor->header.group;
    return st->st_uid == geteuid() || st->st_uid == anchor->owner || st->st_uid == 0 ||
           (group >= 0 && st->st_gid == (gid_t)group);
}

/* Returns whether the file has one name, only trusted users can write to it, and its size is right. */
static bool is_sound(const struct stat *st, const struct vs_anchor *anchor) {
    int group = anchor->header.group;
    bool is_closed = group < 0 ? (st->st_mode & 0177) == 0 : (st->st_mode & 0117) == 0 && st->st_gid == (gid_t)group;
    return st->st_nlink == 1 && is_closed && (size_t)st->st_size == anchor->kind->size;
}

static int map_file(int fd, const char *path, size_t size, void **at, struct vesta_error *err) {
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return map_io_error(err, "map", path);
    *at = map;
    return VESTA_OK;
}

static bool is_on_tmpfs(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_type & 0xffffffff) == TMPFS;
}

static bool is_of_kind(const struct vs_header *header, const struct vs_map_kind *kind) {
    return memcmp(header->magic, kind->magic, sizeof header->magic) == 0 && header->format == kind->format &&
           header->size == kind->size;
}

/* The map to find or create.  `clock` is only needed to create it. */
struct wanted {
    const char *name;
    const struct vs_anchor *anchor;
    const struct vesta_clock *clock;
};

static bool map_is_foreign(const struct stat *st, const struct vs_anchor *anchor) {
    return !S_ISREG(st->st_mode) || !map_is_ours(st, anchor);
}

/* Skips a file that another user has left at a map's name, and describes the file in `err`. */
static void pass_over(const struct wanted *wanted, const char *what, enum vs_found *found, struct vesta_error *err) {
    *found = VS_FOUND_FOREIGN;
    vs_fail(err, VESTA_EIO, "%.150s is %s, not our map: remove it", wanted->name, what);
}

/* Returns whether a file is a complete map of the anchor that was created since the last boot and is not a copy. */
static bool map_is_trusted(int fd, const struct stat *st, const struct vs_file_identity *now,
                           const struct vs_anchor *anchor) {
    struct vs_header header;
    memset(&header, 0, sizeof header);
    return is_sound(st, anchor) && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           is_of_kind(&header, anchor->kind) && vs_map_is_of(&header, &anchor->header) && vs_map_trusted(&header, now);
}

static int attach_fd(int fd, const struct wanted *wanted, enum vs_found *found, struct vs_mapping *out,
                     struct vesta_error *err) {
    const char *name = wanted->name;
    const struct vs_anchor *anchor = wanted->anchor;
    struct stat st;
    struct vs_file_identity now;
    if (fstat(fd, &st) != 0) return map_io_error(err, "stat", name);
    if (map_is_foreign(&st, anchor) || !is_on_tmpfs(fd)) {
        const char *of_ours = S_ISREG(st.st_mode) ? "not in memory (tmpfs)" : "not a regular file";
        pass_over(wanted, map_is_ours(&st, anchor) ? of_ours : "another user's", found, err);
        return VESTA_OK;
    }
    int rc = map_identify(fd, &st, &now, err);
    if (rc != VESTA_OK) return rc;
    *found = VS_FOUND_STALE;
    if (!map_is_trusted(fd, &st, &now, anchor)) return VESTA_OK;
    if ((rc = map_file(fd, name, anchor->kind->size, &out->at, err)) != VESTA_OK) return rc;
    if (anchor->kind->is_used_up(out->at)) {
        munmap(out->at, anchor->kind->size);
        return VESTA_OK;
    }
    *found = VS_FOUND_TRUSTED;
    out->kind = anchor->kind;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    out->fd = fd;
    out->is_new = false;
    snprintf(out->name, sizeof out->name, "%s", name);
    return VESTA_OK;
}

/* Describes, from the errno of open(2), a foreign file at the name.  Returns NULL if the error has another cause. */
static const char *foreign_of(int error) {
    switch (error) {
    case EACCES:
    case EPERM: return "closed to this user";
    case ELOOP: return "a symbolic link";
    case EISDIR: return "a directory";
    case ENXIO: return "a socket";
    default: return NULL;
    }
}

/* Examines one name.  If the map is stale, leaves its descriptor open in *stale_fd for the caller, which may replace
 * the map. */
static int map_look(const struct wanted *wanted, enum vs_found *found, int *stale_fd, struct vs_mapping *out,
                    struct vesta_error *err) {
    *found = VS_FOUND_NONE;
    int fd = open(wanted->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    const char *foreign = fd < 0 ? foreign_of(errno) : NULL;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return VESTA_OK;
    if (foreign) return pass_over(wanted, foreign, found, err), VESTA_OK;
    if (fd < 0) return map_io_error(err, "open the map", wanted->name);
    int rc = attach_fd(fd, wanted, found, out, err);
    if (*found == VS_FOUND_STALE && rc == VESTA_OK)
        *stale_fd = fd;
    else if (*found != VS_FOUND_TRUSTED || rc != VESTA_OK)
        close(fd);
    return rc;
}

/* One of the names that a map may have, and the result of examining it. */
struct map_place {
    char name[VS_MAP_NAME_MAX];
    enum vs_found found;
    int stale_fd; /* -1, or the descriptor of a stale map */
};

static void name_place(struct map_place *place, const char *name, int n) {
    char suffix[VS_MAP_SUFFIX_MAX] = "";
    if (n > 0) snprintf(suffix, sizeof suffix, "%c%d", VS_MAP_SUFFIX, n);
    snprintf(place->name, sizeof place->name, "%.*s%s", VS_MAP_NAME_MAX - VS_MAP_SUFFIX_MAX, name, suffix);
    place->found = VS_FOUND_FOREIGN;
    place->stale_fd = -1;
}

/* Examines the names until it finds a trusted map, and sets `free` to it.  If there is none, sets `free` to the first
 * name without a foreign file.  It examines all names before it uses a free one: the map under a later name must still
 * be found after a foreign file is removed.  `err` describes the last foreign file, or the failure. */
static int map_find_place(const struct wanted *wanted, struct map_place *free, struct vs_mapping *out,
                          struct vesta_error *err) {
    int rc = VESTA_OK;
    name_place(free, wanted->name, 0);
    for (int n = 0; rc == VESTA_OK && n < VS_MAP_NAMES && free->found != VS_FOUND_TRUSTED; n++) {
        struct map_place at;
        name_place(&at, wanted->name, n);
        struct wanted here = {at.name, wanted->anchor, wanted->clock};
        rc = map_look(&here, &at.found, &at.stale_fd, out, err);
        bool is_better = at.found == VS_FOUND_TRUSTED || free->found == VS_FOUND_FOREIGN;
        int unused_fd = is_better ? free->stale_fd : at.stale_fd;
        if (unused_fd >= 0) close(unused_fd);
        if (is_better) *free = at;
    }
    if (rc != VESTA_OK && free->stale_fd >= 0) close(free->stale_fd);
    return rc;
}

int vs_mapping_attach(const char *name, const struct vs_anchor *anchor, enum vs_found *found, struct vs_mapping *out,
                      struct vesta_error *err) {
    const struct wanted wanted = {name, anchor, NULL};
    struct map_place place;
    err->text[0] = '\0';
    int rc = map_find_place(&wanted, &place, out, err);
    if (rc != VESTA_OK) return rc;
    *found = place.found;
    if (place.stale_fd >= 0) close(place.stale_fd);
    if (*found == VS_FOUND_TRUSTED) vs_guard_add(out);
    return VESTA_OK;
}

bool vs_mapping_has_name(const struct vs_mapping *mapping, const char *name) {
    size_t length = strlen(name);
    return strncmp(mapping->name, name, length) == 0 &&
           (mapping->name[length] == '\0' || mapping->name[length] == VS_MAP_SUFFIX);
}

/* ------------------------------------------------------------------ making */

static int map_fill(int fd, const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                    struct vesta_error *err) {
    struct stat st;
    struct vs_file_identity now;
    const struct vs_map_kind *kind = anchor->kind;
    void *at = NULL;
    /* reserve the space, so that a full file system causes an error here and not a SIGBUS later */
    if ((errno = posix_fallocate(fd, 0, (off_t)kind->size)) != 0)
        return map_io_error(err, "make room for a map in", anchor->header.maps);
    if (fstat(fd, &st) != 0) return map_io_error(err, "stat", "a map");
    int rc = map_identify(fd, &st, &now, err);
    if (rc != VESTA_OK || (rc = map_file(fd, "a map", kind->size, &at, err)) != VESTA_OK) return rc;
    struct vs_header *header = at;
    *header = anchor->header;
    memcpy(header->magic, kind->magic, sizeof header->magic);
    header->size = kind->size;
    header->format = kind->format;
    header->dev = now.dev;
    header->ino = now.ino;
    header->born_ns = now.born_ns;
    header->mount = vs_mount_namespace();
    memcpy(header->boot_id, now.boot_id, sizeof header->boot_id);
    kind->begin(at, clock);
    *out = (struct vs_mapping){.at = at, .kind = kind, .dev = now.dev, .ino = now.ino, .fd = fd, .is_new = true};
    return VESTA_OK;
}

/* Sets owner and group of a new map.  A map that root creates belongs to the anchor's owner. */
static int map_own(int fd, const struct vs_anchor *anchor) {
    bool is_anothers = geteuid() == 0 && anchor->owner != 0;
    if (is_anothers && fchown(fd, anchor->owner, anchor->owner_group) != 0) return -1;
    return vs_share_file(fd, anchor->header.group);
}

/* Gives a complete map its name.  If there is no stale map to replace, this fails if another process was faster.  A
 * stale map is replaced by renaming over it, so that the name always exists. */
static int give_name(const char *temp, const char *name, bool replaces) {
    return replaces ? rename(temp, name) : (int)syscall(SYS_renameat2, AT_FDCWD, temp, AT_FDCWD, name, NO_REPLACE);
}

/* Copies the state that must be preserved from a used-up map.  The contents of other stale maps are not trusted. */
static void map_inherit(int stale_fd, const struct vs_anchor *anchor, void *at) {
    const struct vs_map_kind *kind = anchor->kind;
    struct vesta_error none;
    struct vs_file_identity now;
    struct stat st;
    void *old;
    if (!kind->inherit || fstat(stale_fd, &st) != 0 || map_identify(stale_fd, &st, &now, &none) != VESTA_OK ||
        !map_is_trusted(stale_fd, &st, &now, anchor) || map_file(stale_fd, "", kind->size, &old, &none) != VESTA_OK)
        return;
    kind->inherit(at, old);
    munmap(old, kind->size);
}

/* Creates a map with its name.  `stale_fd` is the map to replace, or -1.  Returns VESTA_EPAUSE if another process was
 * faster. */
static int make_named(const struct wanted *wanted, int stale_fd, struct vs_mapping *out, struct vesta_error *err) {
    const char *name = wanted->name;
    const struct vs_anchor *anchor = wanted->anchor;
    char temp[VS_MAP_NAME_MAX + 24];
    uint64_t random;
    if (vs_random(&random, sizeof random) != 0) return map_io_error(err, "get random bytes for", name);
    snprintf(temp, sizeof temp, "%s.%016" PRIx64, name, random);
    int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return map_io_error(err, "create a map in", anchor->header.maps);
    int rc = map_own(fd, anchor) == 0 ? VESTA_OK : map_io_error(err, "change the owner of", temp);
    if (rc == VESTA_OK) rc = map_fill(fd, anchor, wanted->clock, out, err);
    if (rc == VESTA_OK && stale_fd >= 0) map_inherit(stale_fd, anchor, out->at);
    if (rc == VESTA_OK && give_name(temp, name, stale_fd >= 0) != 0) {
        rc = errno == EEXIST ? VESTA_EPAUSE : map_io_error(err, "make", name);
        munmap(out->at, anchor->kind->size);
    }
    if (rc == VESTA_OK)
        snprintf(out->name, sizeof out->name, "%s", name);
    else
        unlink(temp), close(fd);
    return rc;
}

/* Replaces a stale map if it still has the name.  A lock prevents a second process from replacing the new map in turn.
 */
static int map_replace(const struct wanted *wanted, int stale_fd, struct vs_mapping *out, struct vesta_error *err) {
    struct stat st;
    (void)vs_lock_byte_patiently(stale_fd, BYTE_REPLACE); /* the lock only avoids extra maps, so a failure is ignored */
    if (fstat(stale_fd, &st) != 0) return map_io_error(err, "stat", wanted->name);
    struct vs_mapping stale = {.dev = st.st_dev, .ino = st.st_ino};
    snprintf(stale.name, sizeof stale.name, "%s", wanted->name);
    return vs_mapping_is_named(&stale) ? make_named(wanted, stale_fd, out, err) : VESTA_EPAUSE;
}

bool vs_maps_are_shared(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool yes = fd >= 0 && is_on_tmpfs(fd);
    /* the folder may exist, and creating a map will report the reason */
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR) yes = true;
    if (fd >= 0) close(fd);
    return yes;
}

/* Makes a map in memory of this process and its forked children, which no other process can find. */
static int make_lone(const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                     struct vesta_error *err) {
    int fd = (int)syscall(SYS_memfd_create, "vesta", 1u /* MFD_CLOEXEC */);
    if (fd < 0) return map_io_error(err, "make", "a map in memory");
    int rc = map_fill(fd, anchor, clock, out, err);
    if (rc != VESTA_OK) close(fd);
    return rc;
}

#define TRIES 100 /* it cannot happen this often that another process is faster */

/* Finds or creates the map under one of its names.  If it fails because the map cannot be created, sets
 * *is_ours_to_make.  The caller can then use memory of this process instead. */
static int open_named(const struct wanted *wanted, struct vs_mapping *out, bool *is_ours_to_make,
                      struct vesta_error *err) {
    int rc = VESTA_EPAUSE;
    for (int i = 0; i < TRIES && rc == VESTA_EPAUSE; i++) {
        struct map_place place;
        *is_ours_to_make = false;
        rc = map_find_place(wanted, &place, out, err);
        if (rc != VESTA_OK || place.found == VS_FOUND_TRUSTED) return rc;
        *is_ours_to_make = true;
        if (place.found == VS_FOUND_FOREIGN) return VESTA_EIO;
        struct wanted here = {place.name, wanted->anchor, wanted->clock};
        rc = place.found == VS_FOUND_NONE ? make_named(&here, -1, out, err)
                                          : map_replace(&here, place.stale_fd, out, err);
        if (place.stale_fd >= 0) close(place.stale_fd);
    }
    return rc == VESTA_EPAUSE
               ? vs_fail(err, VESTA_EIO, "%.150s is removed again and again: find the program that removes it",
                         wanted->name)
               : rc;
}

int vs_mapping_open(const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                    char why[VS_WHY_MAX], struct vesta_error *err) {
    struct vesta_error own;
    char name[VS_MAP_NAME_MAX];
    bool may_fail = true;
    int rc = VESTA_EIO;
    why[0] = '\0';
    if (vs_mapping_name(&anchor->header, name) != 0)
        return vs_fail(err, VESTA_EIO, "cannot read this process's time namespace: check that /proc is mounted");
    if (vs_maps_are_shared(anchor->header.maps))
        rc = open_named(&(struct wanted){name, anchor, clock}, out, &may_fail, &own);
    else
        vs_fail(&own, VESTA_EIO, "%.100s is not in memory (tmpfs)", anchor->header.maps);
    if (rc == VESTA_OK) vs_guard_add(out);
    if (rc == VESTA_OK) return VESTA_OK;
    if (!may_fail) return vs_fail(err, rc, "%s", own.text);
    snprintf(why, VS_WHY_MAX, "%.140s: %s", own.text, anchor->kind->alone);
    return make_lone(anchor, clock, out, err);
}

#define LOOK_US 100000
#define TICK_US                                                                                                        \
    1000000 /* longer than the resolution of the file system's clock, within which two changes have the same           \
             * time */

static uint64_t map_mix(uint64_t mark, uint64_t with) {
    return (mark ^ with) * 0x9e3779b97f4a7c15u;
}

/* Returns a hash of the folder's identity and modification time, or 0 if it cannot be read. */
static uint64_t map_look_at_folder(const char *folder, int64_t *age_us) {
    struct stat st;
    const struct vesta_clock *clock = vs_clock_system();
    if (stat(folder, &st) != 0) return 0;
    *age_us = clock->unix_us(clock->self) - (st.st_mtim.tv_sec * INT64_C(1000000) + st.st_mtim.tv_nsec / 1000);
    return map_mix(map_mix(map_mix(map_mix(1, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec), st.st_dev),
                   st.st_ino);
}

/* This function remembers one folder only.  If a process uses several folders, the number changes with each call, and
 * the callers check every map. */
uint64_t vs_maps_changes(const char *folder, int64_t boot_us) {
    static _Atomic int64_t looked_boot_us = -LOOK_US;
    static _Atomic uint64_t looked_at, mark, changes = 1;
    uint64_t name = 1;
    for (const char *c = folder; *c; c++)
        name = map_mix(name, (unsigned char)*c);
    int64_t since_us = boot_us - atomic_load(&looked_boot_us), age_us = 0;
    if (atomic_load(&looked_at) == name && since_us >= 0 && since_us < LOOK_US) return atomic_load(&changes);
    uint64_t now = map_look_at_folder(folder, &age_us);
    if (!now || atomic_exchange(&mark, now) != now || age_us < TICK_US) atomic_fetch_add(&changes, 1);
    atomic_store(&looked_boot_us, boot_us);
    atomic_store(&looked_at, name);
    return atomic_load(&changes);
}

struct vs_map *vs_mapping_private(void) {
    void *at = mmap(NULL, sizeof(struct vs_map), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void vs_mapping_unmap(struct vs_map *map) {
    munmap(map, sizeof *map);
}

void vs_mapping_close(struct vs_mapping *mapping) {
    vs_guard_remove(mapping);
    munmap(mapping->at, mapping->kind->size);
    if (mapping->fd >= 0) close(mapping->fd);
}
