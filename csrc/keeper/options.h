/* options.h -- the options of vesta_open, checked, with defaults filled in. */
#ifndef VS_OPTIONS_H
#define VS_OPTIONS_H

#include "generator/map.h"

#include <limits.h>

#define VS_SECRET_MAX 512

struct vs_settings {
    struct vesta_opts opts; /* copied into this library's version of the struct */
    const struct vesta_clock *clock;
    bool has_layout;
    bool looks_only;
    struct vesta_layout layout; /* layout in the options, or else the default layout */
    char path[VS_IDENTITY_MAX];
    char store[VS_URI_MAX]; /* URI of the store, or "" if the options name none */
    const char *secret;     /* the caller's secret, or NULL */
    int group;              /* gid, or -1 for none */
    bool has_no_folder;     /* true if this user has no state folder, so that the path serves only as a name */
    int blocked;            /* errno that prevents creating a file at the path.  0: the file can be created */
};

/* A kind of options struct.  The struct's first member is its size in the version that the caller was compiled with. */
struct vs_opts_kind {
    const char *name, *init;
    size_t size; /* size in this library's version */
};
/* Copies the caller's options from any version of the struct.  Errors: VESTA_EOPTION. */
int vs_opts_take(const struct vs_opts_kind *kind, const void *from, void *to, struct vesta_error *err);

/* Sets *gid to the id of the named group, or to -1 if the name is NULL.  Errors: VESTA_EOPTION if no such group exists.
 */
int vs_group_find(const char *name, int *gid, struct vesta_error *err);

/* Returns true if a handle with these flags may start a keeper for that store. */
bool vs_may_keep(unsigned flags, const char *store);

/* Checks each option, fills in the defaults that do not depend on the file, and creates the file's folder.  If the
 * folder cannot be created, but ids can be issued without it, sets `blocked`.  Errors: the same as vesta_open. */
int vs_settings_read(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* Does the same as vs_settings_read, but does not create the folder.  If the folder does not exist, the path is not
 * resolved. */
int vs_settings_look(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* Fills in the header of a file to be created from these settings.  Errors: VESTA_ENOGEN if neither a worker id nor a
 * store was given.  VESTA_EOPTION. */
int vs_settings_header(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err);

/* Fills in the identity of the file at that path, unless the caller has set one.  `is_local`: the store is on this
 * machine, so the identity needs no host name.  Errors: VESTA_EOPTION. */
int vs_settings_identity(const char *path, bool is_local, struct vs_header *header, struct vesta_error *err);

/* Returns VESTA_OK if an existing file matches the settings.  Otherwise returns VESTA_EMISMATCH, with both values in
 * the text. */
int vs_settings_matches(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err);

/* Checks whether the options can be combined.  Command-line flags, config files, C and Lua all use this check.  Errors:
 * VESTA_EOPTION.  *member is then the name of the wrong option, and the text continues after that name. */
int vs_opts_together(const struct vesta_opts *opts, const char **member, struct vesta_error *err);

/* Returns VESTA_OK if the worker id fits the layout.  Errors: VESTA_EFIELD. */
int vs_worker_check(const struct vesta_layout *layout, uint64_t worker, struct vesta_error *err);

/* Returns VESTA_OK if the name is valid for a namespace.  Errors: VESTA_EOPTION. */
int vs_namespace_check(const char *name, struct vesta_error *err);

/* Rejects a layout if its time has ended or has not begun.  Sets a warning if its time ends within a year. */
int vs_check_lifetime(const struct vesta_layout *layout, const struct vesta_clock *clock, char *warning, size_t size,
                      struct vesta_error *err);

#endif
