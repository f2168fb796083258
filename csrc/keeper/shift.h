/* shift.h -- threads that run the keepers of many files.  A shift is a thread that runs the tasks of one store, one
 * task per file.  A task gets a turn when its time has come, or when its futex word has changed.  Turns run one after
 * another.  If a store is slow, all tasks of its shifts wait, but no task of another store waits. */
#ifndef VS_SHIFT_H
#define VS_SHIFT_H

#include "os/lock.h"
#include "vesta.h"

#include <stdbool.h>

/* A task of a shift.  During a turn, the thread that runs the turn owns the task.  Otherwise the shift owns it. */
struct vs_task {
    /* Does the work that is due.  Returns false if this was the last turn.  Otherwise the next turn begins when *word
     * is not `seen`, at until_boot_us, or after vs_task_kick. */
    bool (*turn)(struct vs_task *task);
    _Atomic uint32_t *word;
    uint32_t seen;
    int64_t until_boot_us;
    const struct vesta_clock *clock;
    bool holds; /* true if the task has a lease, which a late turn could lose (VS_SHIFT_ROW) */
    _Atomic uint32_t kicked;
    bool is_over;
    struct vs_shift *shift;
};

/* Maximum number of threads per store.  Additional files share these threads. */
#define VS_SHIFTS_OF_A_STORE 8
#define VS_SHIFT_TASKS (VS_FUTEXES_MAX - 1)

/* Due tasks with `holds` have priority.  After this many turns in a row, a task without `holds` gets a turn, so that it
 * is not starved. */
#define VS_SHIFT_ROW 16

/* Adds a task to a shift of that store.  Call with the process lock held.  Returns 0, or an errno if no thread could be
 * started. */
int vs_shift_enter(struct vs_task *task, const char *store);

/* Gives the task a turn soon. */
void vs_task_kick(struct vs_task *task);

/* Removes the task from its shift, and runs the task's remaining turns in the calling thread.  Waits until a running
 * turn of this task has ended, but does not wait for other tasks.  Call without the process lock. */
void vs_shift_leave(struct vs_task *task);

/* Returns the next time for a periodic check.  This time is the same for all tasks of a shift, so that the thread wakes
 * once for all of them. */
int64_t vs_shift_look_us(const struct vs_task *task, int64_t boot_us, int64_t period_us);

#endif
