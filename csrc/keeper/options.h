/* options.h -- what a caller of vesta_open asked for, checked and completed. */
#ifndef VS_OPTIONS_H
#define VS_OPTIONS_H

#include "generator/map.h"

#include <limits.h>

#define VS_SECRET_MAX 512

struct vs_settings {
    struct vesta_opts opts; /* as this library knows them */
    const struct vesta_clock *clock;
    bool has_layout;
    bool looks_only;
    struct vesta_layout layout; /* the layout asked for, else the default */
    char path[VS_IDENTITY_MAX];
    char store[VS_URI_MAX]; /* "" where none was named */
    const char *secret;     /* the caller's; NULL: none */
    int group;              /* gid or -1 */
    bool has_no_folder;     /* this user has no folder for state: the path is only a name */
    int blocked;            /* why no file can be made at the path, as errno; 0: one can */
};

/* A struct of options, of which the first member is its size: what the caller was compiled with. */
struct vs_opts_kind {
    const char *name, *init;
    size_t size; /* as this library knows it */
};
/* Copies the caller's, whatever version it is of.  Errors: VESTA_EOPTION. */
int vs_opts_take(const struct vs_opts_kind *kind, const void *from, void *to, struct vesta_error *err);

/* The number of a group by its name, -1 for NULL.  Errors: VESTA_EOPTION: there is none. */
int vs_group_find(const char *name, int *gid, struct vesta_error *err);

/* Whether a handle with these flags may start a thread for that store. */
bool vs_may_keep(unsigned flags, const char *store);

/* Checks each option by itself, fills in the defaults that need no file, and makes the file's folder.  Where that
 * cannot be made, `blocked` says so, if ids can go on without it.  Errors: as vesta_open. */
int vs_settings_read(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* The same for who only looks: makes nothing; where the folder is not there yet, the path is as it was written. */
int vs_settings_look(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err);

/* The header of a file that these settings would make.  Errors: VESTA_ENOGEN where too little was said, VESTA_EOPTION.
 */
int vs_settings_header(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err);

/* Fills in who asks the store (one of this machine, or not) for a file of that path, unless that was given.  Errors:
 * VESTA_EOPTION. */
int vs_settings_identity(const char *path, bool is_local, struct vs_header *header, struct vesta_error *err);

/* VESTA_OK if an existing file is what was asked for, else VESTA_EMISMATCH with both values. */
int vs_settings_matches(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err);

/* What may stand together, whoever said it: flags, a config, C or Lua.  Errors: VESTA_EOPTION, with the option to blame
 * and a text that goes on from its name. */
int vs_opts_together(const struct vesta_opts *opts, const char **member, struct vesta_error *err);

/* VESTA_OK if ids of the layout may have that worker number, else VESTA_EFIELD. */
int vs_worker_check(const struct vesta_layout *layout, uint64_t worker, struct vesta_error *err);

/* VESTA_OK if a namespace may have that name, else VESTA_EOPTION. */
int vs_namespace_check(const char *name, struct vesta_error *err);

/* Refuses a layout whose time is over or has not begun; warns within a year of its end. */
int vs_check_lifetime(const struct vesta_layout *layout, const struct vesta_clock *clock, char *warning, size_t size,
                      struct vesta_error *err);

#endif
