/* process.h -- identifies this process, and measures its use of resources. */
#ifndef VS_OS_PROCESS_H
#define VS_OS_PROCESS_H

#include <stdint.h>

/* A random number that identifies this process.  A forked child draws its own, however it was forked and whatever its
 * pid.  Never 0. */
uint64_t vs_process_token(void);

/* The word that holds this number.  It is 0 in a child that has not drawn its own.  NULL if the kernel does not clear
 * it in every child (before Linux 4.14). */
const _Atomic uint64_t *vs_process_word(void);

/* Resources that this process uses and may use.  Reads /proc.  Returns 0, or -1. */
struct vs_process_usage {
    int64_t start_unix_ms;
    int64_t cpu_user_us, cpu_system_us;
    uint64_t cpu_ms, resident_bytes, peak_bytes, virtual_bytes, open_fds, max_fds;
    uint64_t system_bytes; /* the machine's memory */
};
int vs_process_measure(struct vs_process_usage *out);

#endif
