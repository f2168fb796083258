/* anchor.h -- generator files.  A file says what a generator is and by which key its map is found; it holds no cursor,
 * so copies, backups, links and mounts of it are harmless.  Whose file is used is decided here and nowhere else. */
#ifndef VS_ANCHOR_H
#define VS_ANCHOR_H

#include "generator/map.h"

#include <sys/types.h>

/* What all maps of a kind, a generator's or a segment's, have in common; each begins with its header. */
struct vs_map_kind {
    const char *magic; /* of the header, 8 bytes */
    uint32_t format;
    size_t size;
    const char *alone; /* what holds where a map is one process's: the end of a sentence */
    /* Makes the words behind the header of a new one. */
    void (*begin)(void *map, const struct vesta_clock *clock);
    /* Hands on what must outlive a map that is used up, to a new one in its place.  NULL: nothing. */
    void (*inherit)(void *map, void *old);
    /* Nothing comes from it any more: another takes its place. */
    bool (*is_used_up)(const void *map);
    /* Makes one, of zeros behind its header, give nothing, for a reason that may be shown. */
    void (*bury)(void *map, const char *said);
};
extern const struct vs_map_kind vs_generator_map;

struct vs_anchor {
    const struct vs_map_kind *kind; /* of its maps */
    struct vs_header header;
    uid_t owner;
    gid_t owner_group;
    int no_file; /* the errno that keeps it from its path; 0: it lies there */
};

/* Looks at the file of a path.  `group`: a group that the caller has named, or -1: its members' files are used, too.
 * Errors: VESTA_EIO: a file that is not ours to use, and why. */
int vs_anchor_read(const char *path, int group, bool *found, struct vs_anchor *out, struct vesta_error *err);

/* Makes the file of a path from a header (magic, format, size and key are filled in here), or reads the one that
 * another process made meanwhile.  What root makes in another's folder belongs to the folder's owner. */
int vs_anchor_make(const char *path, const struct vs_header *header, struct vs_anchor *out, struct vesta_error *err);

/* Whether it is forbidden to make a file in this folder, which may still have to be made itself: EROFS, EACCES, EPERM;
 * 0: it is not, though it may fail for another reason. */
int vs_anchor_blocked(const char *folder);

/* The anchor of a path that cannot be written, or of what needs no file, as a segment: its key follows from what it is
 * and from the user, so that all processes of this user that ask for the same one find one map.  `store`: its address
 * without secrets; `blocked`: what vs_anchor_blocked says, 0 where no file is missed. */
void vs_anchor_derive(const struct vs_header *header, const char *store, int blocked, struct vs_anchor *out);

/* Writes down which store granted the leases, if the file of the path still is this anchor.  A convenience for the next
 * start: false where it could not be done. */
bool vs_anchor_note(const char *path, const struct vs_anchor *anchor);
/* Writes down that its ids were proved to be no other layout's, likewise. */
bool vs_anchor_note_proof(const char *path, const struct vs_anchor *anchor);

/* Whether a generator file may be put into this folder at all, and be found there unchanged. */
int vs_anchor_folder_check(const char *folder, struct vesta_error *err);

#endif
