/* extension.h -- declarations that the files of the PostgreSQL extension share.  Include it after postgres.h. */
#ifndef VPG_EXTENSION_H
#define VPG_EXTENSION_H

#include <fmgr.h>
#include <vesta.h>

#define VPG_PATH_MAX 251 /* bytes of a generator file's path, with the NUL, as vesta_open accepts it */

/* ---- module.c: the settings */

extern char *vpg_directory;      /* the folder of generator files */
extern char *vpg_default_name;   /* the generator of calls without a name */
extern int vpg_wait_ms;          /* how long a call waits during a pause */
extern bool vpg_keeps;           /* whether a background worker renews the leases */
extern uint64 vpg_directory_set; /* how often vpg_directory changed */

/* ---- generators.c: opens generators by name */

/* An open generator of this session.  It stays open until the session ends, because statements keep pointers to it. */
struct vpg_generator {
    struct vpg_generator *next;
    struct vesta_gen *gen;
    uint64 directory_set; /* vpg_directory_set when it was opened */
    bool is_announced;    /* this session has requested the background worker to renew the lease */
    char name[VESTA_NAMESPACE_MAX];
    char path[VPG_PATH_MAX];
};

/* Returns the generator that a call names in its argument `arg`, or the default generator if the call has no such
 * argument.  Opens the generator file at the first call, and never creates one. */
struct vpg_generator *vpg_generator_of(FunctionCallInfo fcinfo, int arg);

/* Raises an error of libvesta as an error of SQL. */
pg_attribute_noreturn() void vpg_raise(const struct vesta_error *err);

/* ---- keeper.c: the background worker that renews the leases of all sessions */

/* Requests the background worker to renew a generator's lease, and starts the worker if it does not run.  Returns NULL,
 * or the reason why no worker renews the lease, as a sentence with a remedy. */
const char *vpg_keeper_ask(const struct vpg_generator *generator);

#endif
