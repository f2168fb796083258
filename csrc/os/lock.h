/* lock.h -- a lock of this process, locks on bytes of files, and futexes. */
#ifndef VS_OS_LOCK_H
#define VS_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One lock for all shared state of this process except issuing ids: the registry and the keepers.  It is held during
 * fork(), so that a child never inherits it locked by a thread that it lacks. */
void vs_process_lock(void);
bool vs_process_trylock(void);
void vs_process_unlock(void);
/* Whether this thread holds it, for assertions. */
bool vs_process_is_locked(void);

/* Locks one byte with fcntl.  Such locks belong to the process: a forked child does not inherit them.  Open a file only
 * once per process, because closing any descriptor of it drops the locks.  Returns true if it is locked now.  Otherwise
 * errno is EAGAIN or EACCES if another process holds it. */
bool vs_lock_byte(int fd, int64_t byte, bool exclusive);
/* The same, exclusive, retried for some seconds.  A holder may be stopped, and must not stop all other processes. */
bool vs_lock_byte_patiently(int fd, int64_t byte);
void vs_unlock_byte(int fd, int64_t byte);

/* Sleeps on a word in shared memory, and wakes sleepers of all processes. */
void vs_futex_wait(_Atomic uint32_t *word, uint32_t while_equal, int64_t us);
void vs_futex_wake(_Atomic uint32_t *word);
/* Sleeps on several words, until one of them changes or is woken.  Returns its index if known, else -1.  On an old
 * kernel it sleeps on the first word only, for at most `poor_us`. */
#define VS_FUTEXES_MAX 128
struct vs_sleep {
    _Atomic uint32_t *word;
    uint32_t while_equal;
};
int vs_futex_wait_any(const struct vs_sleep *on, int count, int64_t us, int64_t poor_us);

#endif
