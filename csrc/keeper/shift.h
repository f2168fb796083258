/* shift.h -- threads that keep many files.  A shift is a thread with tasks of one store, one task per file.  A task has
 * a turn when its time has come, or its futex word has changed.  Turns run one after another.  If the store is slow,
 * all tasks of the shift wait, but no task of another store. */
#ifndef VS_SHIFT_H
#define VS_SHIFT_H

#include "os/lock.h"
#include "vesta.h"

#include <stdbool.h>

/* A task of a shift.  During a turn, the thread that runs the turn owns it, otherwise the shift. */
struct vs_task {
    /* Does the work that is due.  False: this was the last turn.  True: the next turn begins when *word is not `seen`,
     * at until_boot_us, or after vs_task_kick. */
    bool (*turn)(struct vs_task *task);
    _Atomic uint32_t *word;
    uint32_t seen;
    int64_t until_boot_us;
    const struct vesta_clock *clock;
    bool holds; /* it has a lease, which a late turn could lose: see VS_SHIFT_ROW */
    _Atomic uint32_t kicked;
    bool is_over;
    struct vs_shift *shift;
};

/* Threads per store.  Further files share these threads. */
#define VS_SHIFTS_OF_A_STORE 8
#define VS_SHIFT_TASKS (VS_FUTEXES_MAX - 1)

/* Due tasks with `holds` have priority.  After this many in a row, one without `holds` has a turn, so that it is not
 * starved. */
#define VS_SHIFT_ROW 16

/* Adds a task to a shift of that store.  Call with the process lock held.  0, or an errno: no thread could be started.
 */
int vs_shift_enter(struct vs_task *task, const char *store);

/* Gives the task a turn soon. */
void vs_task_kick(struct vs_task *task);

/* Removes the task from its shift, and runs its remaining turns in the calling thread.  Waits for a turn of this task
 * that is under way, but not for turns of other tasks.  Call without the process lock. */
void vs_shift_leave(struct vs_task *task);

/* Returns the next time for a periodic check.  It is the same for all tasks of a shift, so that the thread wakes once.
 */
int64_t vs_shift_look_us(const struct vs_task *task, int64_t boot_us, int64_t period_us);

#endif
