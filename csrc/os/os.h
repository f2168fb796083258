/* os.h -- the only doors to the world below the stores: time, randomness, environment, locks, mappings. */
#ifndef VS_OS_H
#define VS_OS_H

#include "vesta.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The machine's clocks, through the vdso.  Lives for ever. */
const struct vesta_clock *vs_clock_system(void);
/* The same, but boot_us is the processor time that the calling thread has used: for limits on work, which must not
 * depend on how busy the machine is. */
const struct vesta_clock *vs_clock_thread(void);

/* The processor time that a thread of this process, which has not ended, has had. */
int64_t vs_thread_us(pthread_t thread);

/* CLOCK_MONOTONIC, for who compares it with another program's or the kernel's, as service managers do. */
int64_t vs_monotonic_us(void);

/* Whether something keeps CLOCK_REALTIME in step with a source of time; *error_us is then how wrong it may be.
 * 1, 0, or -1: the kernel does not say. */
int vs_clock_in_step(int64_t *error_us);

/* Fills buf with random bytes from the kernel.  0, or -1 with errno. */
int vs_random(void *buf, size_t size);

/* The kernel's boot id as 36 characters and a NUL.  0, or -1 with errno. */
#define VS_BOOT_ID_MAX 40
int vs_boot_id(char *buf);

/* What tells this process's uptime (CLOCK_BOOTTIME) from that of others on this machine: "" but in a time namespace.
 * 0, or -1 where the kernel does not tell. */
#define VS_BOOT_OFFSET_MAX 48
int vs_boot_offset(char buf[VS_BOOT_OFFSET_MAX]);

/* A number for this process's mount namespace; 0 where the kernel does not tell. */
uint64_t vs_mount_namespace(void);

/* The folder where state lives: $VESTA_STATE, else /var/lib/vesta if writable, else the user's state folder.
 * The folder need not exist yet.  0, or -1: no candidate, or the path is longer than size. */
int vs_state_dir(char *buf, size_t size);

/* This machine's name, "unknown" if it has none. */
void vs_host_name(char *buf, size_t size);

/* An address by which others may reach this machine, IPv4 where it has one.  0, or -1: it has none. */
#define VS_ADDRESS_MAX 64
int vs_host_address(char buf[VS_ADDRESS_MAX]);

/* The number behind the last '-' of a machine's name (domains aside), as a StatefulSet has it; -1: none. */
int64_t vs_host_ordinal(const char *host);

/* Makes a folder and its parents, mode 0700, or 0770 and owned by `group` (gid, or -1 for none).
 * 0, or -1 with errno. */
int vs_make_dirs(const char *path, int group);

/* For a thread that shall take no signal of the program's: all but the one that it may bring about itself by touching a
 * map that was cut short (guard.c), since that one blocked is the program's end. */
void vs_signals_to_block(sigset_t *set);

/* ---- locks */

/* One lock for everything in this process that is not an id: registry, keepers.  Held over fork(), so
 * that a child never inherits it locked. */
void vs_process_lock(void);
bool vs_process_trylock(void);
void vs_process_unlock(void);

/* Opens (makes) a lock file: fd, or -1 with errno.  Keep one fd a file and process: closing any drops the locks. */
int vs_lock_open(const char *path, int group);
/* Locks one byte by fcntl: these locks belong to the process, so a forked child neither has nor blocks them.
 * True if it is held now; else errno is EAGAIN or EACCES where another process has it. */
bool vs_lock_byte(int fd, int64_t byte, bool exclusive);
/* As above, exclusive, trying for some seconds: the holder may be stopped, and must not stop everyone else. */
bool vs_lock_byte_patiently(int fd, int64_t byte);
void vs_unlock_byte(int fd, int64_t byte);

/* Whose turn it is to write, by locks of an open file and not of a process; count 0: from `first` on for ever.
 * False: somebody else has a part of it, or the file cannot be locked.  One opening has one turn at a time. */
bool vs_queue_try(int fd, int64_t first, int64_t count, bool exclusive);
bool vs_queue_wait(int fd, int64_t first, int64_t count, bool exclusive, int64_t us_max);
/* The process that stands in the way by a lock of its own (fcntl's); -1: none, or it is an opening of a file. */
int64_t vs_queue_process(int fd, int64_t first, int64_t count);
/* How many bytes the one has locked who stands in the way at `first`; 0: nobody does. */
int64_t vs_queue_count(int fd, int64_t first);
/* Gives up all turns of this opening, also where a forked child has it open still. */
void vs_queue_leave(int fd);

/* ---- sleeping on a word of shared memory, across processes */
void vs_futex_wait(_Atomic uint32_t *word, uint32_t while_equal, int64_t us);
void vs_futex_wake(_Atomic uint32_t *word);

/* A number that this process has and no other: drawn at random, anew in a forked child, however it was forked and
 * whatever its process number is.  Never 0. */
uint64_t vs_process_token(void);

/* What this process uses and may use.  Reads /proc.  0, or -1. */
struct vs_process_usage {
    int64_t start_unix_ms;
    uint64_t cpu_ms, resident_bytes, virtual_bytes, open_fds, max_fds;
};
int vs_process_measure(struct vs_process_usage *out);

/* Gives an open file to `group` with mode 0660; nothing for -1.  0, or -1 with errno. */
int vs_share_file(int fd, int group);

/* ---- trust */

/* VESTA_OK if nobody else can have put a file or a folder in this one's place: no folder above it may be written by
 * anyone, but for sticky ones in which it was made by this process's user, by root, or for `group`.
 * Errors: VESTA_EIO with the remedy. */
int vs_path_check(const char *path, int group, struct vesta_error *err);
/* And nobody else can have put anything into this folder: it may not be written by anyone, sticky or not. */
int vs_folder_check(const char *path, int group, struct vesta_error *err);

/* Whether this is root in a folder of another: what is made there belongs to the folder's owner. */
bool vs_is_for_owner(const struct stat *folder);
/* A file that was just made in a folder: to its owner where root made it, and to `group` as vs_share_file.
 * 0, or -1 with errno. */
int vs_own_file(int fd, const struct stat *folder, int group);

/* VESTA_OK if the file system of an open file or folder is this machine's own; `path` and `what`, which must lie on
 * one, are for the message. */
int vs_file_system_check(int fd, const char *path, const char *what, struct vesta_error *err);

#endif
