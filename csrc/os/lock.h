/* lock.h -- locks: the process's own, bytes of files, sleeping on a word. */
#ifndef VS_OS_LOCK_H
#define VS_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One lock for everything in this process that is not an id: registry, keepers.  Held over fork(), so
 * that a child never inherits it locked. */
void vs_process_lock(void);
bool vs_process_trylock(void);
void vs_process_unlock(void);
/* Whether this thread has it: for assertions. */
bool vs_process_is_locked(void);

/* Locks one byte by fcntl: these locks belong to the process, so a forked child neither has nor blocks them.  Keep one
 * descriptor a file and process: closing any drops the locks.
 * True if it is held now; else errno is EAGAIN or EACCES where another process has it. */
bool vs_lock_byte(int fd, int64_t byte, bool exclusive);
/* As above, exclusive, trying for some seconds: the holder may be stopped, and must not stop everyone else. */
bool vs_lock_byte_patiently(int fd, int64_t byte);
void vs_unlock_byte(int fd, int64_t byte);

/* Sleeping on a word of shared memory, across processes. */
void vs_futex_wait(_Atomic uint32_t *word, uint32_t while_equal, int64_t us);
void vs_futex_wake(_Atomic uint32_t *word);
/* The same for several words: until one of them is not what it was, or is woken.  Which one, as far as that is known,
 * else -1.  Where the kernel cannot, the first is slept on alone, for `poor_us` at most. */
#define VS_FUTEXES_MAX 128
struct vs_sleep {
    _Atomic uint32_t *word;
    uint32_t while_equal;
};
int vs_futex_wait_any(const struct vs_sleep *on, int count, int64_t us, int64_t poor_us);

#endif
