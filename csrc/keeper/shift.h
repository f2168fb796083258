/* shift.h -- threads that keep many files.  A shift is one thread, and the files of one store that it keeps: each has a
 * turn when its instant has come, or its word has changed, one after another.  What a store makes one of them wait for
 * they all wait for, and no other store's.  Knows no lease and no map. */
#ifndef VS_SHIFT_H
#define VS_SHIFT_H

#include "os/lock.h"
#include "vesta.h"

#include <stdbool.h>

/* What a thread does now and then.  Between two turns it belongs to its shift, in a turn to whoever runs that. */
struct vs_task {
    /* What is due now.  False: there will never be any more.  Else the turn has set what it waits for: */
    bool (*turn)(struct vs_task *task);
    _Atomic uint32_t *word; /* another value than */
    uint32_t seen;          /* this; */
    int64_t until_boot_us;  /* this instant; or vs_task_kick */
    const struct vesta_clock *clock;
    bool holds; /* it has something to lose by waiting: see VS_SHIFT_ROW */
    _Atomic uint32_t kicked;
    bool is_over;
    struct vs_shift *shift;
};

/* So many files of one store have a thread each; with more of them, threads have several. */
#define VS_SHIFTS_OF_A_STORE 8
#define VS_SHIFT_TASKS (VS_FUTEXES_MAX - 1)

/* Of those that are due, who holds something goes first: so many in a row, and then one that does not, or it might
 * never begin. */
#define VS_SHIFT_ROW 16

/* Puts a task to work: among others of that store.  With the process lock held.  0, or an errno: there is no thread. */
int vs_shift_enter(struct vs_task *task, const char *store);

/* It is to have a turn. */
void vs_task_kick(struct vs_task *task);

/* Takes the task from its thread, behind the turn that is under way if it is this task's, and gives it all the turns
 * that it still wants here.  Others' turns are not waited for.  Call without the process lock. */
void vs_shift_leave(struct vs_task *task);

/* The next instant at which to look whether all is well, the same for all of a shift: it wakes once for all. */
int64_t vs_shift_look_us(const struct vs_task *task, int64_t boot_us, int64_t period_us);

#endif
