/* mapping.h -- live maps: the state of a generator or a segment, in memory that all processes of this host share and
 * that is lost at a reboot.  A map is complete before it gets a name.  Any number of maps is safe, because each begins
 * empty.  Only a map that went back to an older state could repeat ids, and nothing can restore such memory. */
#ifndef VS_MAPPING_H
#define VS_MAPPING_H

#include "mapping/anchor.h"

#define VS_MAP_NAME_MAX (VS_MAPS_MAX + 96)

struct vs_mapping {
    union {
        void *at;
        struct vs_map *map; /* for a generator */
    };
    const struct vs_map_kind *kind;
    uint64_t dev, ino;
    int fd; /* kept open, because the keeper's locks are on it. -1: a private generator */
    bool is_new;
    char name[VS_MAP_NAME_MAX]; /* "": memory of this process and its children only */
};

/* Stale: ours but useless, so it may be replaced.  Foreign: another user's, or not a file. */
enum vs_found { VS_FOUND_NONE, VS_FOUND_STALE, VS_FOUND_FOREIGN, VS_FOUND_TRUSTED };

/* A foreign file at a map's name blocks nothing: the map then gets "~1" to "~7" after its name.  If these are foreign
 * too, it is memory of one process.  Several maps of one anchor are as safe as one. */
#define VS_MAP_NAMES 8
#define VS_MAP_SUFFIX '~'
#define VS_MAP_SUFFIX_MAX 16

/* The path of an anchor's map for this process.  It contains the key and the time namespace, because uptime differs
 * between time namespaces.  Returns 0, or -1 if the kernel does not report it. */
int vs_mapping_name(const struct vs_header *anchor, char name[VS_MAP_NAME_MAX]);

/* Looks for a map under this name and its suffixes.  *found is the result; a trusted map is mapped.  err->text is "",
 * or describes a foreign file, even with VESTA_OK.
 * Errors: VESTA_EIO if the map cannot be examined. */
int vs_mapping_attach(const char *name, const struct vs_anchor *anchor, enum vs_found *found, struct vs_mapping *out,
                      struct vesta_error *err);

/* Maps the map of an anchor, and makes it if there is none or a stale one.  If it cannot be made (no such folder, no
 * space, only foreign files), it is memory of this process and its children, and `why` has the reason.  Otherwise `why`
 * is "".  Call with the process lock held.  Errors: as vs_mapping_attach; VESTA_ENOMEM. */
#define VS_WHY_MAX 256
int vs_mapping_open(const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                    char why[VS_WHY_MAX], struct vesta_error *err);

/* Whether this map has that name, with any suffix. */
bool vs_mapping_has_name(const struct vs_mapping *mapping, const char *name);

/* Whether the name still refers to this map.  It may have been removed or replaced. */
bool vs_mapping_is_named(const struct vs_mapping *mapping);

/* A number that changes whenever a name in that folder may have been added, removed or changed.  It spares checking
 * very many maps one by one. */
uint64_t vs_maps_changes(const char *folder, int64_t boot_us);

/* Removes the name of a map that is no longer needed. */
void vs_mapping_remove(const struct vs_mapping *mapping);

/* An anonymous map for VESTA_UNSAFE_PRIVATE, shared with forked children only. */
struct vs_map *vs_mapping_private(void);

/* Also closes `fd`, which drops this process's locks on the map. */
void vs_mapping_close(struct vs_mapping *mapping);
void vs_mapping_unmap(struct vs_map *map);

/* ---- guard.c: a map that is truncated while in use becomes a failstop with a message instead of a crash.  For
 * programs only, because it takes SIGBUS for the whole process.  Returns 0, or -1 with errno. */
#define VS_GUARDED_MAX 32768 /* maps; more are not guarded */
int vs_guard_on(void);
void vs_guard_add(const struct vs_mapping *mapping);
void vs_guard_remove(const struct vs_mapping *mapping);

/* The folder for maps: $VESTA_MAPS, else /dev/shm.  Returns 0, or -1 if it is longer than VS_MAPS_MAX or not absolute.
 */
int vs_maps_dir(char out[VS_MAPS_MAX]);
/* Whether a folder is in memory, as maps require. */
bool vs_maps_are_shared(const char *folder);

#endif
