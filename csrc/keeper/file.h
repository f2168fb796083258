/* file.h -- a generator file as this process has it open: one mapping, one keeper, shared by all handles on it. */
#ifndef VS_FILE_H
#define VS_FILE_H

#include "core/generator.h"
#include "core/office.h"
#include "os/mapping.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

struct vs_file {
    struct vs_file *next; /* the registry; process lock */
    unsigned handles;
    bool closing;
    struct vs_mapping mapping;
    const struct vesta_clock *clock;
    struct vesta_layout layout;
    char path[VS_IDENTITY_MAX];
    int lock_fd;          /* <path>.keeper: byte 0 elects the keeper, byte 1 says that this process is here */
    pthread_t thread;
    pid_t keeper_pid;     /* the process that `thread` runs in; after fork() it is the parent's */
    _Atomic uint32_t stop; /* enum vs_stop */
};

/* The keeper floor's part of a handle. */
struct vs_handle {
    struct vs_file *file; /* process lock; NULL where is_private */
    bool is_private;
    bool keeps;           /* false: VESTA_NO_KEEPER */
    char warning[256];
};

/* ---- keeper.c */

#define VS_BYTE_KEEPER 0
#define VS_BYTE_HERE 1

/* Starts this process's keeper of a file, or wakes it.  Call with the process lock held.  0, or an errno. */
int vs_keeper_start(struct vs_file *file);
/* Tells everyone's keeper that a lease is wanted. */
void vs_keeper_want(struct vs_map *map);
/* Ends this process's keeper and waits for it.  Call without the process lock. */
void vs_keeper_stop(struct vs_file *file, enum vs_stop how);

/* ---- open.c */

/* Where the file was used up, moves the handle to its successor; else starts or wakes the keeper. */
int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err);

#endif
