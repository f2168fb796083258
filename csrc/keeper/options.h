/* options.h -- the options of vesta_open, checked, with defaults filled in. */
#ifndef VS_OPTIONS_H
#define VS_OPTIONS_H

#include "generator/map.h"

#include <limits.h>

#define VS_SECRET_MAX 512

struct vs_settings {
    struct vesta_opts opts; /* of this library's version */
    const struct vesta_clock *clock;
    bool has_layout;
    bool looks_only;
    struct vesta_layout layout; /* from the options, else the default */
    char path[VS_IDENTITY_MAX];
    char store[VS_URI_MAX]; /* "" if none was named */
    const char *secret;     /* the caller's; NULL: none */
    int group;              /* gid or -1 */
    bool has_no_folder;     /* this user has no state folder: the path is only used as a name */
    int blocked;            /* errno that prevents a file at the path; 0: it can be made */
};

/* A struct of options.  Its first member is its size in the version that the caller was compiled with. */
struct vs_opts_kind {
    const char *name, *init;
    size_t size; /* in this library's version */
};
/* Copies the caller's options, of any version.  Errors: VESTA_EOPTION. */
int vs_opts_take(const struct vs_opts_kind *kind, const void *from, void *to, struct vesta_error *err);

/* Sets *gid to the id of the named group, or to -1 for NULL.  Errors: VESTA_EOPTION: there is no such group. */
int vs_group_find(const char *name, int *gid, struct vesta_error *err);

/* True if a handle with these flags may start a thread for that store. */
bool vs_may_keep(unsigned flags, const char *store);

/* Checks each option, fills in the defaults that need no file, and makes the file's folder.  If the folder cannot be
 * made, but ids can go on without it, sets `blocked`.  Errors: as vesta_open. */
int vs_settings_read(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* Does the same without making the folder.  If it does not exist, the path stays as it was written. */
int vs_settings_look(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* Fills in the header of the file that these settings would make.  Errors: VESTA_ENOGEN: neither a worker id nor a
 * store was given; VESTA_EOPTION. */
int vs_settings_header(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err);

/* Fills in the identity of the file at that path, unless the caller has set one.  `is_local`: the store is on this
 * machine, so the identity needs no host name.  Errors: VESTA_EOPTION. */
int vs_settings_identity(const char *path, bool is_local, struct vs_header *header, struct vesta_error *err);

/* VESTA_OK if an existing file matches the settings, else VESTA_EMISMATCH with both values in the text. */
int vs_settings_matches(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err);

/* Checks which options may be used together, for flags, config, C and Lua.  Errors: VESTA_EOPTION; *member is then the
 * wrong option, and the text continues after its name. */
int vs_opts_together(const struct vesta_opts *opts, const char **member, struct vesta_error *err);

/* VESTA_OK if the worker id fits the layout, else VESTA_EFIELD. */
int vs_worker_check(const struct vesta_layout *layout, uint64_t worker, struct vesta_error *err);

/* VESTA_OK if the name is valid for a namespace, else VESTA_EOPTION. */
int vs_namespace_check(const char *name, struct vesta_error *err);

/* Rejects a layout whose time is over or has not begun.  Sets a warning within a year of its end. */
int vs_check_lifetime(const struct vesta_layout *layout, const struct vesta_clock *clock, char *warning, size_t size,
                      struct vesta_error *err);

#endif
