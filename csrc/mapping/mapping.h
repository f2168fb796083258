/* mapping.h -- live maps: the state of a generator or a segment, in memory that all processes of this host share and
 * that is lost at a reboot.  A map is complete before it gets its name.  Several maps of one anchor are safe, because
 * each starts without a lease and claims its own.  Ids could repeat only if a map returned to an older state, and
 * nothing can restore this memory. */
#ifndef VS_MAPPING_H
#define VS_MAPPING_H

#include "mapping/anchor.h"

#define VS_MAP_NAME_MAX (VS_MAPS_MAX + 96)

struct vs_mapping {
    union {
        void *at;
        struct vs_map *map; /* the same address, if the map is a generator's */
    };
    const struct vs_map_kind *kind;
    uint64_t dev, ino;
    int fd; /* stays open, because the keeper's locks are on it. -1: a private generator */
    bool is_new;
    char name[VS_MAP_NAME_MAX]; /* the path. "": the memory belongs to this process and its children only */
};

/* A stale map belongs to this user but cannot be used, so it may be replaced.  A foreign file belongs to another user,
 * or is not a regular file in memory. */
enum vs_found { VS_FOUND_NONE, VS_FOUND_STALE, VS_FOUND_FOREIGN, VS_FOUND_TRUSTED };

/* If a foreign file has a map's name, the map uses the name with "~1" to "~7" appended.  If foreign files have all
 * these names too, the map is memory of one process. */
#define VS_MAP_NAMES 8
#define VS_MAP_SUFFIX '~'
#define VS_MAP_SUFFIX_MAX 16

/* Writes the path of an anchor's map for this process.  The path contains the key, and the time namespace because
 * uptime differs between time namespaces.  Returns 0, or -1 if the kernel does not report the time namespace. */
int vs_mapping_name(const struct vs_header *anchor, char name[VS_MAP_NAME_MAX]);

/* Looks for a map with this name, and with each suffix appended.  Sets *found, and maps a map that is trusted.  On
 * success, err->text is "" or describes a foreign file.
 * Errors: VESTA_EIO if a file cannot be examined. */
int vs_mapping_attach(const char *name, const struct vs_anchor *anchor, enum vs_found *found, struct vs_mapping *out,
                      struct vesta_error *err);

/* Maps the map of an anchor.  Creates it if it does not exist or is stale.  If it cannot be created (no such folder, no
 * space, only foreign files), uses memory of this process and its children instead, and sets `why` to the reason.
 * Otherwise sets `why` to "".  Call it with the process lock held.
 * Errors: as vs_mapping_attach, VESTA_ENOMEM. */
#define VS_WHY_MAX 256
int vs_mapping_open(const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                    char why[VS_WHY_MAX], struct vesta_error *err);

/* Returns whether this map has the given name, with or without a suffix. */
bool vs_mapping_has_name(const struct vs_mapping *mapping, const char *name);

/* Returns whether the map's name still refers to it.  The file may have been removed or replaced. */
bool vs_mapping_is_named(const struct vs_mapping *mapping);

/* Returns a number that changes whenever a name in the folder may have been added, removed or changed.  With many maps,
 * this is cheaper than to check each of them. */
uint64_t vs_maps_changes(const char *folder, int64_t boot_us);

/* Removes the file of a map that is no longer needed. */
void vs_mapping_remove(const struct vs_mapping *mapping);

/* Returns an anonymous map for VESTA_UNSAFE_PRIVATE, which only forked children share.  NULL: no memory. */
struct vs_map *vs_mapping_private(void);

/* Unmaps the map and closes `fd`, which drops this process's locks on the map. */
void vs_mapping_close(struct vs_mapping *mapping);
void vs_mapping_unmap(struct vs_map *map);

/* ---- guard.c: if a map is truncated while in use, causes a failstop with a message instead of a crash.  Only programs
 * call vs_guard_on, because it installs a SIGBUS handler for the whole process.  It returns 0, or -1 with errno. */
#define VS_GUARDED_MAX 32768 /* the maximum number of guarded maps */
int vs_guard_on(void);
void vs_guard_add(const struct vs_mapping *mapping);
void vs_guard_remove(const struct vs_mapping *mapping);

/* Writes the path of the folder for maps: $VESTA_MAPS, else /dev/shm.  Returns 0, or -1 if the path does not fit into
 * VS_MAPS_MAX bytes or is not absolute. */
int vs_maps_dir(char out[VS_MAPS_MAX]);
/* Returns whether a folder is in memory (tmpfs), as maps require.  Also returns true if the folder exists but cannot be
 * opened, because creating a map then reports the reason. */
bool vs_maps_are_shared(const char *folder);

#endif
