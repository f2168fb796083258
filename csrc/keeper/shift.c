/* shift.c -- a thread that runs the keepers of several files, and the order of their turns (shift.h). */
#include "keeper/shift.h"
#include "os/process.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Poll intervals for kernels where a thread can sleep on a single futex only.  POOR_ALONE_US is used if there are no
 * tasks. */
#define POOR_US 20000
#define POOR_ALONE_US 100000
#define PHASE_STEP_US 7919

struct vs_shift {
    struct vs_shift *next; /* next shift in the list, guarded by the process lock */
    uint64_t runs_in;      /* vs_process_token.  A forked child inherits the list, but not the threads */
    char *store;
    int64_t phase_us;
    pthread_t thread;
    _Atomic uint32_t bell; /* futex, incremented when a task is added or kicked, or when the thread must end */
    pthread_mutex_t lock;  /* guards the members below */
    pthread_cond_t turned;
    struct vs_task *running; /* the task that has its turn now.  The lock is not held during a turn */
    bool ends;
    int count;
    int at[2]; /* indices of the tasks that had the last turn, one for each value of `holds` */
    int row;   /* number of consecutive turns of tasks with `holds` */
    struct vs_task *task[VS_SHIFT_TASKS];
};

static struct vs_shift *shifts; /* guarded by the process lock */

static void shift_ring(struct vs_shift *shift) {
    atomic_fetch_add(&shift->bell, 1);
    vs_futex_wake(&shift->bell);
}

/* ------------------------------------------------------------------ turns */

/* Caches the current time of one clock for all tasks that use that clock. */
struct now {
    const struct vesta_clock *clock;
    int64_t boot_us;
};

static int64_t left_us(const struct vs_task *task, struct now *now) {
    if (task->clock != now->clock) *now = (struct now){task->clock, task->clock->boot_us(task->clock->self)};
    return task->until_boot_us > now->boot_us ? task->until_boot_us - now->boot_us : 0;
}

static bool shift_is_due(struct vs_task *task, struct now *now) {
    if (task->is_over) return false;
    return atomic_load(&task->kicked) || atomic_load_explicit(task->word, memory_order_acquire) != task->seen ||
           left_us(task, now) == 0;
}

/* Returns the index of the next due task with this value of `holds`, in round-robin order, or -1. */
static int find_next(struct vs_shift *shift, bool holds, struct now *now) {
    for (int i = 1; i <= shift->count; i++) {
        int at = (shift->at[holds] + i) % shift->count;
        if (shift->task[at]->holds == holds && shift_is_due(shift->task[at], now)) return at;
    }
    return -1;
}

/* Returns the task that gets the next turn, or NULL.  Call with the lock held. */
static struct vs_task *find_due(struct vs_shift *shift, struct now *now) {
    bool holds = shift->row < VS_SHIFT_ROW;
    assert(!shift->running);
    int at = find_next(shift, holds, now);
    if (at < 0) at = find_next(shift, holds = !holds, now);
    if (at < 0) return NULL;
    shift->row = holds && shift->row < VS_SHIFT_ROW ? shift->row + 1 : 0;
    shift->at[holds] = at;
    return shift->task[at];
}

static void have_turn(struct vs_task *task) {
    assert(!task->is_over);
    atomic_store(&task->kicked, 0); /* clear this before the turn, so that a kick during the turn causes another turn */
    task->is_over = !task->turn(task);
}

/* Runs a task's turn.  Call with the lock held.  The lock is released during the turn. */
static void shift_run(struct vs_shift *shift, struct vs_task *task) {
    assert(!shift->running);
    shift->running = task;
    pthread_mutex_unlock(&shift->lock);
    have_turn(task);
    pthread_mutex_lock(&shift->lock);
    shift->running = NULL;
    pthread_cond_broadcast(&shift->turned);
}

#define IDLE_US INT64_C(60000000) /* maximum sleep.  The bell can end the sleep earlier */

/* Sleeps until a task is due.  Call with the lock held.  The lock is released during the sleep, so a task may be
 * removed, and its futex unmapped.  The kernel then returns an error, which is harmless. */
static void wait_for_any(struct vs_shift *shift, uint32_t bell, struct now *now) {
    struct vs_sleep on[VS_FUTEXES_MAX];
    int count = 0;
    int64_t us = IDLE_US;
    for (int i = 0; i < shift->count; i++) {
        const struct vs_task *task = shift->task[i];
        if (task->is_over) continue;
        on[count++] = (struct vs_sleep){task->word, task->seen};
        int64_t left = left_us(task, now);
        if (left < us) us = left;
    }
    on[count] = (struct vs_sleep){&shift->bell, bell};
    pthread_mutex_unlock(&shift->lock);
    int woken = vs_futex_wait_any(on, count + 1, us, count == 1 ? POOR_ALONE_US : POOR_US);
    pthread_mutex_lock(&shift->lock);
    /* a woken task gets a turn even if its futex word is unchanged */
    for (int i = 0; woken >= 0 && i < shift->count; i++)
        if (shift->task[i]->word == on[woken].word) atomic_store(&shift->task[i]->kicked, 1);
}

static void *shift_main(void *arg) {
    struct vs_shift *shift = arg;
    pthread_mutex_lock(&shift->lock);
    while (!shift->ends) {
        uint32_t bell = atomic_load(&shift->bell);
        struct now now = {NULL, 0};
        struct vs_task *task = find_due(shift, &now);
        if (task)
            shift_run(shift, task);
        else
            wait_for_any(shift, bell, &now);
    }
    pthread_mutex_unlock(&shift->lock);
    return NULL;
}

int64_t vs_shift_look_us(const struct vs_task *task, int64_t boot_us, int64_t period_us) {
    assert(period_us > 0);
    int64_t phase_us = task->shift ? task->shift->phase_us % period_us : 0;
    return boot_us - (boot_us - phase_us) % period_us + period_us;
}

/* ------------------------------------------------------------------ which shift */

/* In a forked child, frees the shifts of the parent.  Their threads do not exist in the child, and their locks may be
 * held forever. */
static void forget_parents(void) {
    assert(vs_process_is_locked());
    while (shifts && shifts->runs_in != vs_process_token()) {
        struct vs_shift *parents = shifts;
        shifts = parents->next;
        free(parents->store);
        free(parents);
    }
}

static int count_of(struct vs_shift *shift) {
    pthread_mutex_lock(&shift->lock);
    int count = shift->count;
    pthread_mutex_unlock(&shift->lock);
    return count;
}

/* Returns the store's shift with the fewest tasks, or NULL.  Sets *of_store to the number of the store's shifts. */
static struct vs_shift *find_least(const char *store, int *of_store) {
    struct vs_shift *least = NULL;
    int fewest = VS_SHIFT_TASKS;
    *of_store = 0;
    for (struct vs_shift *shift = shifts; shift; shift = shift->next) {
        assert(shift->runs_in == vs_process_token());
        if (strcmp(shift->store, store) != 0) continue;
        int count = count_of(shift);
        ++*of_store;
        if (count < fewest) least = shift, fewest = count;
    }
    return least;
}

static void free_shift(struct vs_shift *shift) {
    assert(shift->count == 0);
    pthread_cond_destroy(&shift->turned);
    pthread_mutex_destroy(&shift->lock);
    free(shift->store);
    free(shift);
}

static int make_shift(const char *store, int of_store, struct vs_shift **out) {
    struct vs_shift *shift = calloc(1, sizeof *shift);
    if (!shift || !(shift->store = strdup(store))) {
        free(shift);
        return ENOMEM;
    }
    shift->runs_in = vs_process_token();
    shift->phase_us = of_store * PHASE_STEP_US; /* different phases, so that shifts wake at different times */
    pthread_mutex_init(&shift->lock, NULL);
    pthread_cond_init(&shift->turned, NULL);
    int rc = vs_thread_start(&shift->thread, shift_main, shift);
    if (rc != 0) {
        free_shift(shift);
        return rc;
    }
    shift->next = shifts;
    shifts = shift;
    *out = shift;
    return 0;
}

int vs_shift_enter(struct vs_task *task, const char *store) {
    int of_store, rc;
    assert(vs_process_is_locked());
    assert(task->turn && task->word && task->clock);
    forget_parents();
    struct vs_shift *shift = find_least(store, &of_store);
    if (!shift || of_store < VS_SHIFTS_OF_A_STORE) {
        struct vs_shift *shared = shift;
        if ((rc = make_shift(store, of_store, &shift)) != 0 && !(shift = shared)) return rc;
    }
    task->is_over = false;
    task->shift = shift;
    atomic_store(&task->kicked, 1);
    pthread_mutex_lock(&shift->lock);
    assert(shift->count < VS_SHIFT_TASKS);
    shift->task[shift->count++] = task;
    pthread_mutex_unlock(&shift->lock);
    shift_ring(shift);
    return 0;
}

void vs_task_kick(struct vs_task *task) {
    atomic_store(&task->kicked, 1);
    shift_ring(task->shift);
}

/* ------------------------------------------------------------------ leaving */

/* Removes a task from its shift.  Returns true if it was the last task, and the shift was removed from the list. */
static bool take_away(struct vs_shift *shift, struct vs_task *task) {
    int i = 0;
    vs_process_lock();
    pthread_mutex_lock(&shift->lock);
    while (shift->running == task) {
        vs_process_unlock(); /* the turn may need the process lock */
        pthread_cond_wait(&shift->turned, &shift->lock);
        pthread_mutex_unlock(&shift->lock);
        vs_process_lock();
        pthread_mutex_lock(&shift->lock);
    }
    while (shift->task[i] != task)
        i++;
    assert(i < shift->count);
    shift->task[i] = shift->task[--shift->count];
    shift->ends = shift->count == 0;
    bool last = shift->ends;
    struct vs_shift **at = &shifts;
    for (; last && *at != shift; at = &(*at)->next)
        assert(*at);
    if (last) *at = shift->next;
    pthread_mutex_unlock(&shift->lock);
    vs_process_unlock();
    return last;
}

/* Runs the task's remaining turns in this thread.  Signals are blocked, as they are in the shift's thread. */
static void shift_finish(struct vs_task *task) {
    assert(!task->shift); /* no other thread runs the task's turns */
    sigset_t all, was;
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    while (!task->is_over) {
        struct now now = {NULL, 0};
        if (shift_is_due(task, &now))
            have_turn(task);
        else
            vs_futex_wait(task->word, task->seen, left_us(task, &now));
    }
    pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void vs_shift_leave(struct vs_task *task) {
    struct vs_shift *shift = task->shift;
    assert(!vs_process_is_locked());
    assert(shift->runs_in == vs_process_token());
    bool last = take_away(shift, task);
    if (last) {
        shift_ring(shift);
        pthread_join(shift->thread, NULL);
        free_shift(shift);
    }
    task->shift = NULL;
    atomic_store(&task->kicked, 1); /* ends the task's wait, because the task must stop */
    shift_finish(task);
}
