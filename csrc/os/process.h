/* process.h -- this process: what tells it from others, what it uses and may use. */
#ifndef VS_OS_PROCESS_H
#define VS_OS_PROCESS_H

#include <stdint.h>

/* A number that this process has and no other: drawn at random, anew in a forked child, however it was forked and
 * whatever its process number is.  Never 0. */
uint64_t vs_process_token(void);

/* The word that holds it: 0 in a child that has not drawn its own.  NULL: the kernel does not clear it in every child
 * (before Linux 4.14). */
const _Atomic uint64_t *vs_process_word(void);

/* What this process uses and may use.  Reads /proc.  0, or -1. */
struct vs_process_usage {
    int64_t start_unix_ms;
    int64_t cpu_user_us, cpu_system_us;
    uint64_t cpu_ms, resident_bytes, peak_bytes, virtual_bytes, open_fds, max_fds;
    uint64_t system_bytes; /* the machine's memory */
};
int vs_process_measure(struct vs_process_usage *out);

#endif
