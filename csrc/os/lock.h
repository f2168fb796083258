/* lock.h -- a process-wide mutex, locks on bytes of files, and futexes. */
#ifndef VS_OS_LOCK_H
#define VS_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The mutex of the registry and the keepers.  Issuing ids does not take it.  It is held during fork(), because a child
 * that inherited the mutex while another thread held it could never unlock it. */
void vs_process_lock(void);
bool vs_process_trylock(void);
void vs_process_unlock(void);
/* Returns whether the calling thread holds the mutex, for assertions. */
bool vs_process_is_locked(void);

/* Locks one byte of a file with fcntl.  Such locks belong to the process, and a forked child does not inherit them.
 * Open the file only once per process, because closing any descriptor of it drops all its locks.  Returns true if the
 * byte is locked.  Otherwise errno is EAGAIN or EACCES if another process holds the lock. */
bool vs_lock_byte(int fd, int64_t byte, bool exclusive);
/* Locks a byte exclusively, and retries for up to 3 seconds.  It does not wait longer, because the process that holds
 * the lock may be suspended. */
bool vs_lock_byte_patiently(int fd, int64_t byte);
void vs_unlock_byte(int fd, int64_t byte);

/* Sleeps on a word in shared memory, and wakes sleepers of all processes. */
void vs_futex_wait(_Atomic uint32_t *word, uint32_t while_equal, int64_t us);
void vs_futex_wake(_Atomic uint32_t *word);
/* Sleeps until one of several words is woken or differs from its `while_equal`.  Returns the index of the word that was
 * woken, or -1 if it is not known.  On a kernel before 5.16 it sleeps on the first word only, for at most `poor_us`. */
#define VS_FUTEXES_MAX 128
struct vs_sleep {
    _Atomic uint32_t *word;
    uint32_t while_equal;
};
int vs_futex_wait_any(const struct vs_sleep *on, int count, int64_t us, int64_t poor_us);

#endif
