/* run.h -- the limits of a run of Lua, and how it ended.  Knows no Lua, so that a server can count results. */
#ifndef VS_RUN_H
#define VS_RUN_H

#include "vesta.h"

#include <stdatomic.h>
#include <stddef.h>

enum vs_call_result {
    VS_CALL_OK,
    VS_CALL_ERROR,        /* it raised an error */
    VS_CALL_GARBAGE,      /* it returned a value of the wrong shape */
    VS_CALL_TIME,         /* it ran for more than vs_vm_limits.call_ms */
    VS_CALL_INSTRUCTIONS, /* it executed more than vs_vm_limits.instructions */
    VS_CALL_MEMORY,
    VS_CALL_RESULTS
};

#define VS_CALL_MS 5000
#define VS_CALL_MS_MAX 60000

/* The limits of one call, or of running the file.  Each call starts with a full budget.  0: the default.  The limit of
 * instructions ends a call at the same point on a fast and on a slow machine.  The time limit is for work that the
 * instructions do not count. */
struct vs_vm_limits {
    int64_t call_ms;                 /* processor time.  Default VS_CALL_MS, at most VS_CALL_MS_MAX */
    uint64_t instructions;           /* default 10 million.  A call counts as ten, work in C by its size (vm.c) */
    size_t memory_bytes;             /* of everything that a policy holds.  Default 16 MiB, at least 64 KiB */
    const atomic_bool *cancel;       /* when it becomes true, the run ends as if its time were up.  NULL: never */
    const struct vesta_clock *clock; /* measures call_ms by its boot_us.  NULL: vs_clock_thread() */
};

#endif
