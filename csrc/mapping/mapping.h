/* mapping.h -- live maps: the words of a generator, or of a segment, in memory that all processes of this host share
 * and that dies with the boot.  A map is made whole before it has a name; any number of them is safe, as each begins
 * empty, and only one that went backward could repeat: nothing can bring an older state of such memory back. */
#ifndef VS_MAPPING_H
#define VS_MAPPING_H

#include "mapping/anchor.h"

#define VS_MAP_NAME_MAX (VS_MAPS_MAX + 96)

struct vs_mapping {
    union {
        void *at;
        struct vs_map *map; /* a generator's */
    };
    const struct vs_map_kind *kind;
    uint64_t dev, ino;
    int fd; /* kept open: the keeper's locks lie on it.  -1: a private generator's */
    bool is_new;
    char name[VS_MAP_NAME_MAX]; /* "": memory of this process and its children alone */
};

/* Stale: ours, and of no use, so that its place may be taken.  Foreign: another user's, or no file at all. */
enum vs_found { VS_FOUND_NONE, VS_FOUND_STALE, VS_FOUND_FOREIGN, VS_FOUND_TRUSTED };

/* A foreign file at a map's name stops nobody: the map then has the name with "~1" behind it, up to "~7".  Beyond these
 * it is memory of one process.  Several maps of one anchor are as safe as one. */
#define VS_MAP_NAMES 8
#define VS_MAP_SUFFIX '~'
#define VS_MAP_SUFFIX_MAX 16

/* Where the map of an anchor is, seen from this process: by key, and by the time namespace, as two of them count the
 * uptime from different instants.  0, or -1 where the kernel does not tell. */
int vs_mapping_name(const struct vs_header *anchor, char name[VS_MAP_NAME_MAX]);

/* Looks at the map of that name, and at its other names.  *found says what is there; a trusted map is mapped.
 * err->text: "", or which foreign file was found, also if the result is VESTA_OK.
 * Errors: VESTA_EIO: it cannot be looked at. */
int vs_mapping_attach(const char *name, const struct vs_anchor *anchor, enum vs_found *found, struct vs_mapping *out,
                      struct vesta_error *err);

/* Maps the map of an anchor, and makes it where there is none or only a stale one.  Where it cannot be made (no such
 * place, no room, all its names are foreign), it is memory of this process and its children alone, and `why` says so;
 * else `why` is "".
 * Call with the process lock held.  Errors: as vs_mapping_attach; VESTA_ENOMEM. */
#define VS_WHY_MAX 256
int vs_mapping_open(const struct vs_anchor *anchor, const struct vesta_clock *clock, struct vs_mapping *out,
                    char why[VS_WHY_MAX], struct vesta_error *err);

/* Whether this is the map of that name, under whichever suffix. */
bool vs_mapping_has_name(const struct vs_mapping *mapping, const char *name);

/* Whether the name still leads to this very map: it may have been removed, or another be in its place. */
bool vs_mapping_is_named(const struct vs_mapping *mapping);

/* A number that is another one whenever a name in that folder may have come, gone or changed: while it stays, what had a
 * name has it.  For who asks that of very many maps. */
uint64_t vs_maps_changes(const char *folder, int64_t boot_us);

/* Takes the name away from a map that nobody needs any more. */
void vs_mapping_remove(const struct vs_mapping *mapping);

/* An anonymous map for VESTA_UNSAFE_PRIVATE: shared with forked children, with nobody else. */
struct vs_map *vs_mapping_private(void);

/* Also closes `fd`, and with it this process's locks on the map. */
void vs_mapping_close(struct vs_mapping *mapping);
void vs_mapping_unmap(struct vs_map *map);

/* ---- guard.c: a map that is cut short while in use is a failstop with a sentence, and no crash.  For programs: it
 * takes SIGBUS for the whole process.  0, or -1 with errno. */
#define VS_GUARDED_MAX 32768 /* maps; one more is not guarded */
int vs_guard_on(void);
void vs_guard_add(const struct vs_mapping *mapping);
void vs_guard_remove(const struct vs_mapping *mapping);

/* The folder for maps: $VESTA_MAPS, else /dev/shm.  0, or -1: it is longer than VS_MAPS_MAX, or not absolute. */
int vs_maps_dir(char out[VS_MAPS_MAX]);
/* Whether a folder lies in memory, as maps must. */
bool vs_maps_are_shared(const char *folder);

#endif
