/* run.h -- the limits of a Lua run, and its possible results.  Does not include Lua's headers, so that a server can
 * count results without Lua. */
#ifndef VS_RUN_H
#define VS_RUN_H

#include "vesta.h"

#include <stdatomic.h>
#include <stddef.h>

enum vs_call_result {
    VS_CALL_OK,
    VS_CALL_ERROR,        /* the call raised an error */
    VS_CALL_GARBAGE,      /* the call returned a value of the wrong type or shape */
    VS_CALL_TIME,         /* the call ran longer than vs_vm_limits.call_ms */
    VS_CALL_INSTRUCTIONS, /* the call executed more than vs_vm_limits.instructions */
    VS_CALL_MEMORY,
    VS_CALL_RESULTS
};

#define VS_CALL_MS 5000
#define VS_CALL_MS_MAX 60000

/* The limits of one call, or of running the file.  Each call starts with a full budget.  0 selects the default.  The
 * instruction limit ends a call at the same point on fast and slow machines.  The time limit covers work that the
 * instruction count misses. */
struct vs_vm_limits {
    int64_t call_ms; /* CPU time.  Default VS_CALL_MS, at most VS_CALL_MS_MAX */
    /* default 10 million.  A call counts as 10, and work in C counts by its size (vm.c) */
    uint64_t instructions;
    size_t memory_bytes;             /* memory of the whole policy.  Default 16 MiB, at least 64 KiB */
    const atomic_bool *cancel;       /* when set, the run ends as if its time were up.  NULL: never */
    const struct vesta_clock *clock; /* its boot_us measures call_ms.  NULL: vs_clock_thread() */
};

#endif
