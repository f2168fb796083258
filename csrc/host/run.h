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
    VS_CALL_INSTRUCTIONS, /* ... or for more than vs_vm_limits.instructions */
    VS_CALL_MEMORY,
    VS_CALL_RESULTS
};

#define VS_CALL_MS 5000
#define VS_CALL_MS_MAX 60000

/* Of one call (or of running the file), and anew for each; 0: the default.  Instructions are what ends a call, as soon
 * on a fast machine as on a slow one; time is for what they do not count. */
struct vs_vm_limits {
    int64_t call_ms;                 /* of the processor: VS_CALL_MS; VS_CALL_MS_MAX at most */
    uint64_t instructions;           /* 10 million; a call counts as ten, work done in C by its size (vm.c) */
    size_t memory_bytes;             /* 16 MiB, of all that a policy holds; 64 KiB at least */
    const atomic_bool *cancel;       /* once it is true, what runs is ended as if its time were up; NULL: never */
    const struct vesta_clock *clock; /* whose boot_us call_ms is measured with; NULL: vs_clock_thread() */
};

#endif
