/* mapping.h -- generator files: made whole before they have a name, trusted only in the boot that made them. */
#ifndef VS_MAPPING_H
#define VS_MAPPING_H

#include "core/map.h"

struct vs_mapping {
    struct vs_map *map;
    uint64_t dev, ino;
};

enum vs_found { VS_FOUND_NONE, VS_FOUND_STALE, VS_FOUND_TRUSTED };

/* Looks at the file of a path.  *found says what is there; a trusted file is mapped, of a stale one (another boot, or
 * a copy) only the header is given.  Errors: VESTA_EIO: a file that is not ours to use, and why. */
int vs_mapping_attach(const char *path, enum vs_found *found, struct vs_mapping *out, struct vs_header *stale,
                      struct vesta_error *err);

/* Makes the file of a path from a header (magic, boot, dev, ino and size are filled in here), or maps the one that
 * another process made meanwhile.  A stale file in its place is removed, a file of this boot never.
 * Call with the process lock held. */
int vs_mapping_make(const char *path, const struct vs_header *header, const struct vesta_clock *clock,
                    struct vs_mapping *out, struct vesta_error *err);

/* Puts a used-up file aside (it stays mapped where it is mapped) so that the next make finds the name free.
 * Does nothing if the path no longer names that file.  Call with the process lock held. */
int vs_mapping_retire(const char *path, uint64_t dev, uint64_t ino, struct vesta_error *err);

/* VESTA_OK if the file system of an open file or folder is this machine's own; `path` and `what`, which must lie on one,
 * are for the message. */
int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err);

/* An anonymous map for VESTA_UNSAFE_PRIVATE: shared with forked children, with nobody else. */
struct vs_map *vs_mapping_private(void);

void vs_mapping_unmap(struct vs_map *map);

#endif
