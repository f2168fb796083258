/* run.h -- runs a program that holds a leased worker id, and ends it before another process can claim that worker id.
 *
 * Two processes watch the lease.  Each can end the program without the other.  So the program does not outlive the
 * lease if one of the two processes is killed or stopped:
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

/* Exit codes, as env, nohup and timeout use them. */
#define VS_RUN_ENDED 124     /* vesta ended the program, because its lease ended */
#define VS_RUN_FAILED 125    /* no worker id was leased */
#define VS_RUN_NOT_RUN 126   /* COMMAND cannot be run */
#define VS_RUN_NOT_FOUND 127 /* COMMAND does not exist */

/* Returns NULL if NAME or NAME=TEXT may be set.  Otherwise returns the reason, as the end of a sentence. */
const char *vs_run_name_trouble(const char *name, bool has_parts);

/* Runs the program until it and all processes that it started have ended.  Returns the program's exit code, or 128 plus
 * the number of the signal that ended it, or one of the codes above.  Call it while the process has only one thread. */
int vs_run(const struct vs_run_opts *opts);

/* A lease that vesta does not renew. */
struct vs_run_lease {
    uint64_t worker, fence;
    int64_t starts_ms, expires_ms;
};
/* Claims a worker id, and waits until the times of earlier holders' ids are in the past.  Errors: VESTA_EIO. */
int vs_run_once(const struct vs_run_opts *opts, struct vs_run_lease *out, struct vesta_error *err);

#endif
