/* anchor.h -- generator files.  A file has the generator's options and the key of its map, but no cursor, so copies,
 * backups, links and mounts of it are harmless.  This code decides which users' files may be used. */
#ifndef VS_ANCHOR_H
#define VS_ANCHOR_H

#include "generator/map.h"

#include <sys/types.h>

/* The properties of a kind of map: a generator's or a segment's.  Each map begins with a struct vs_header. */
struct vs_map_kind {
    const char *magic; /* the header's magic, 8 bytes */
    uint32_t format;
    size_t size;
    const char *alone; /* the end of a warning: the effect of a map that no other process can use */
    /* Initializes the part of a new map after its header. */
    void (*begin)(void *map, const struct vesta_clock *clock);
    /* Copies the state that must be preserved from a used-up map to the map that replaces it.  NULL: there is none. */
    void (*inherit)(void *map, void *old);
    /* Returns whether a map can issue no more ids, so that another map must replace it. */
    bool (*is_used_up)(const void *map);
    /* Marks a map as stopped, with a message for people to read.  The map is zero except for its header. */
    void (*bury)(void *map, const char *said);
};
extern const struct vs_map_kind vs_generator_map;

struct vs_anchor {
    const struct vs_map_kind *kind; /* the kind of its maps */
    struct vs_header header;
    uid_t owner;
    gid_t owner_group;
    int no_file; /* the errno that explains why there is no file at its path. 0: there is a file, or none is needed */
};

/* Reads the generator file at a path.  Also accepts a file that belongs to `group` (-1: none).
 * Errors: VESTA_EIO with the reason why the file must not be used. */
int vs_anchor_read(const char *path, int group, bool *found, struct vs_anchor *out, struct vesta_error *err);

/* Creates the generator file at a path.  If another process has created it in the meantime, reads that file.  The
 * caller sets the header except for magic, format, size and key.  A file that root creates in another user's folder
 * belongs to the folder's owner. */
int vs_anchor_make(const char *path, const struct vs_header *header, struct vs_anchor *out, struct vesta_error *err);

/* Returns EROFS, EACCES or EPERM if this process may not create a file in the folder, which need not exist yet.
 * Otherwise returns 0, although creating a file may still fail for another reason. */
int vs_anchor_blocked(const char *folder);

/* Makes an anchor without a file, for a path that cannot be written, or for a segment, which needs no file.  Its key is
 * derived from the options and the user, so all processes of this user with the same options find the same map.
 * `store`: the store's address without secrets.  `blocked`: the result of vs_anchor_blocked, or 0 for a segment. */
void vs_anchor_derive(const struct vs_header *header, const char *store, int blocked, struct vs_anchor *out);

/* Records in the file at the path which store granted the leases, if the file still has this anchor's key.  Returns
 * false if that failed, which is harmless: the record only speeds up the next start. */
bool vs_anchor_note(const char *path, const struct vs_anchor *anchor);
/* Records in the same way that the ids were proved to belong to no other layout. */
bool vs_anchor_note_proof(const char *path, const struct vs_anchor *anchor);

/* Checks that no other user could replace a generator file in this folder.  Errors: VESTA_EIO. */
int vs_anchor_folder_check(const char *folder, struct vesta_error *err);

#endif
