/* anchor.h -- generator files.  A file has the generator's options and the key of its map, but no cursor, so copies,
 * backups, links and mounts of it are harmless.  Only this code decides whose files are used. */
#ifndef VS_ANCHOR_H
#define VS_ANCHOR_H

#include "generator/map.h"

#include <sys/types.h>

/* Properties of one kind of map, a generator's or a segment's.  Each map begins with its header. */
struct vs_map_kind {
    const char *magic; /* of the header, 8 bytes */
    uint32_t format;
    size_t size;
    const char *alone; /* the consequence of a map that only one process uses, as the end of a sentence */
    /* Writes the words after the header of a new map. */
    void (*begin)(void *map, const struct vesta_clock *clock);
    /* Copies to a new map the words that must outlive a map that is used up.  NULL: nothing. */
    void (*inherit)(void *map, void *old);
    /* Whether a map can issue nothing more, so that another map replaces it. */
    bool (*is_used_up)(const void *map);
    /* Makes a map, of zeros after its header, issue nothing, with a reason for people. */
    void (*bury)(void *map, const char *said);
};
extern const struct vs_map_kind vs_generator_map;

struct vs_anchor {
    const struct vs_map_kind *kind; /* of its maps */
    struct vs_header header;
    uid_t owner;
    gid_t owner_group;
    int no_file; /* the errno that prevents a file at its path, or 0 if there is a file */
};

/* Reads the file of a path.  `group`: a group named by the caller whose members' files are also used, or -1.
 * Errors: VESTA_EIO with the reason why the file must not be used. */
int vs_anchor_read(const char *path, int group, bool *found, struct vs_anchor *out, struct vesta_error *err);

/* Makes the file of a path from a header (magic, format, size and key are set here), or reads the file that another
 * process made in the meantime.  If root makes it in another user's folder, it belongs to the folder's owner. */
int vs_anchor_make(const char *path, const struct vs_header *header, struct vs_anchor *out, struct vesta_error *err);

/* Whether a file is forbidden in this folder, which may not exist yet: EROFS, EACCES or EPERM.  0 if it is not
 * forbidden, although it may fail for another reason. */
int vs_anchor_blocked(const char *folder);

/* The anchor of a path that cannot be written, or of a segment, which needs no file.  Its key is derived from its
 * options and the user, so all processes of this user with the same options find one map.  `store`: its address without
 * secrets.  `blocked`: the result of vs_anchor_blocked, or 0 if no file is needed. */
void vs_anchor_derive(const struct vs_header *header, const char *store, int blocked, struct vs_anchor *out);

/* Records which store granted the leases, if the file of the path is still this anchor.  It only speeds up the next
 * start: false if it could not be done. */
bool vs_anchor_note(const char *path, const struct vs_anchor *anchor);
/* The same for the proof that its ids belong to no other layout. */
bool vs_anchor_note_proof(const char *path, const struct vs_anchor *anchor);

/* Whether a generator file may be made in this folder, and no other user could replace it there. */
int vs_anchor_folder_check(const char *folder, struct vesta_error *err);

#endif
