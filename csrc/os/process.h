/* process.h -- identifies this process, and measures its use of resources. */
#ifndef VS_OS_PROCESS_H
#define VS_OS_PROCESS_H

#include <stdint.h>

/* Returns a random number that identifies this process, never 0.  A child draws a new number, whether it was created by
 * fork() or by clone(2). */
uint64_t vs_process_token(void);

/* Returns the address of the token.  The word is 0 in a child that has not drawn its token yet.  Returns NULL if the
 * kernel cannot clear the word in every child (before Linux 4.14). */
const _Atomic uint64_t *vs_process_word(void);

/* The resources that this process uses, and its limits. */
struct vs_process_usage {
    int64_t start_unix_ms;
    int64_t cpu_user_us, cpu_system_us;
    uint64_t cpu_ms, resident_bytes, peak_bytes, virtual_bytes, open_fds, max_fds;
    uint64_t system_bytes; /* the machine's memory */
};
/* Reads the resources from /proc.  Returns 0, or -1. */
int vs_process_measure(struct vs_process_usage *out);

#endif
