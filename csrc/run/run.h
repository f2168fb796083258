/* run.h -- runs a program under a lease of a worker id, and ends it before another holder can claim that worker id.
 *
 * Two processes share the work.  Each can end the program alone, so the program does not outlive the lease if one of
 * them is killed or stopped:
 *
 *     front    the process that the user started.  It forwards signals, and checks the keeper's deadline
 *       keeper   claims and renews the lease, starts the program, and adopts all processes that the program starts
 *         COMMAND
 *
 * The kernel sends KILL to COMMAND if the keeper dies. */
#ifndef VS_RUN_RUN_H
#define VS_RUN_RUN_H

#include "run/decide.h"
#include "vesta.h"

struct vs_run_opts {
    const char *uri, *namespace_, *secret;
    const char *layout;  /* NULL: the namespace's layout */
    const char *fallback; /* the layout of a namespace that does not exist yet, if `layout` is NULL */
    const char *identity; /* NULL: none */
    bool has_worker;
    uint64_t worker;
    struct vs_run_times times;
    unsigned datacenter_bits; /* 0: the worker id has no parts */
    char **names;             /* NAME or NAME=TEXT, for the program's environment.  Ends with NULL */
    char **command;           /* ends with NULL */
    bool is_verbose;
    void (*say)(const char *text); /* prints a message */
};

/* Exit codes, as those of env, nohup and timeout. */
#define VS_RUN_ENDED 124     /* vesta ended the program, because its lease ended */
#define VS_RUN_FAILED 125    /* there is no lease */
#define VS_RUN_NOT_RUN 126   /* COMMAND cannot be run */
#define VS_RUN_NOT_FOUND 127 /* there is no COMMAND */

/* Returns NULL if NAME or NAME=TEXT may be set, else the reason as the end of a sentence. */
const char *vs_run_name_trouble(const char *name, bool has_parts);

/* Runs the program until it and all processes that it started have ended.  Returns the exit code: the program's, 128 and
 * the signal that ended it, or one of the codes above.  Call it while the process has only one thread. */
int vs_run(const struct vs_run_opts *opts);

/* A lease that is not renewed. */
struct vs_run_lease {
    uint64_t worker, fence;
    int64_t starts_ms, expires_ms;
};
/* Claims a worker id, and waits until the ids of earlier holders are in the past.  Errors: those of the store. */
int vs_run_once(const struct vs_run_opts *opts, struct vs_run_lease *out, struct vesta_error *err);

#endif
