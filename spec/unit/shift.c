/* shift.c -- threads that run several tasks: the order of turns, and which tasks wait for each other. */
#include "keeper/shift.h"
#include "check.h"
#include "os/clock.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FAR_US INT64_C(3600000000)

/* A task with turns that the test can block. */
struct work {
    struct vs_task task; /* first, so that a task can be cast to its work */
    _Atomic uint32_t word;
    atomic_int turns, inside, most_inside, last_turn;
    atomic_bool held, ends, never_rests, holds;
};

static atomic_int turns_of_all;

static int64_t now_us(void) {
    return vs_clock_system()->boot_us(vs_clock_system()->self);
}

static bool work_turn(struct vs_task *task) {
    struct work *w = (struct work *)task;
    task->seen = atomic_load(&w->word);
    bool goes_on = !atomic_load(&w->ends);
    int inside = atomic_fetch_add(&w->inside, 1) + 1;
    if (inside > atomic_load(&w->most_inside)) atomic_store(&w->most_inside, inside);
    while (atomic_load(&w->held))
        usleep(200);
    task->until_boot_us = now_us() + (atomic_load(&w->never_rests) ? 0 : FAR_US);
    task->holds = atomic_load(&w->holds);
    atomic_fetch_sub(&w->inside, 1);
    atomic_store(&w->last_turn, atomic_fetch_add(&turns_of_all, 1));
    atomic_fetch_add(&w->turns, 1);
    return goes_on;
}

static void enter(struct work *w, const char *store) {
    w->task = (struct vs_task){.turn = work_turn, .word = &w->word, .clock = vs_clock_system()};
    vs_process_lock();
    CHECK(vs_shift_enter(&w->task, store) == 0);
    vs_process_unlock();
}

static void leave(struct work *w) {
    atomic_store(&w->ends, true);
    vs_shift_leave(&w->task);
}

static void *leave_main(void *arg) {
    leave(arg);
    return NULL;
}

static void raise_word(struct work *w) {
    atomic_fetch_add(&w->word, 1);
    vs_futex_wake(&w->word);
}

static int threads(void) {
    char line[256];
    int count = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &count) == 1) break;
    if (file) fclose(file);
    return count;
}

/* Returns the number of threads. A sanitizer starts a thread of its own with the program's first one, so this starts
 * one before. */
static int threads_before(void) {
    struct work first = {.turns = 0};
    enter(&first, "file:/first");
    leave(&first);
    return threads();
}

/* One task more than a store has threads, so that two tasks share a thread. */
#define CROWD (VS_SHIFTS_OF_A_STORE + 1)
static struct work crowd[CROWD];

static void enter_crowd(void) {
    for (int i = 0; i < CROWD; i++) {
        memset(&crowd[i], 0, sizeof crowd[i]);
        enter(&crowd[i], "file:/crowd");
    }
    for (int i = 0; i < CROWD; i++)
        AWAIT(atomic_load(&crowd[i].turns) > 0);
}

static void leave_crowd(void) {
    for (int i = 0; i < CROWD; i++)
        leave(&crowd[i]);
}

/* Returns whether two tasks share a thread. */
static bool is_shared(int i, int j) {
    return crowd[i].task.shift == crowd[j].task.shift;
}

static struct work *mate_of(struct work **first) {
    for (int i = 0; i < CROWD; i++)
        for (int j = i + 1; j < CROWD; j++)
            if (is_shared(i, j)) return *first = &crowd[i], &crowd[j];
    return NULL;
}

static void threads_are_few(void) {
    static struct work many[200];
    int before = threads_before();
    for (int i = 0; i < 200; i++)
        enter(&many[i], "file:/many");
    for (int i = 0; i < 200; i++)
        AWAIT(atomic_load(&many[i].turns) > 0);
    CHECK_EQ_I64(threads() - before, VS_SHIFTS_OF_A_STORE);
    for (int i = 0; i < 200; i++)
        leave(&many[i]);
    AWAIT(threads() == before);
}

static void full_threads_get_another(void) {
    enum { MANY = VS_SHIFTS_OF_A_STORE * VS_SHIFT_TASKS + 1 };
    struct work *many = calloc(MANY, sizeof *many);
    int before = threads_before();
    for (int i = 0; i < MANY; i++)
        enter(&many[i], "file:/many");
    for (int i = 0; i < MANY; i++)
        AWAIT(atomic_load(&many[i].turns) > 0);
    CHECK_EQ_I64(threads() - before, VS_SHIFTS_OF_A_STORE + 1);
    for (int i = 0; i < MANY; i++)
        leave(&many[i]);
    AWAIT(threads() == before);
    free(many);
}

static void other_stores_continue(void) {
    struct work away = {.held = true}, here = {.turns = 0};
    enter(&away, "mysql://away/db");
    AWAIT(atomic_load(&away.inside) == 1);
    enter(&here, "mysql://here/db");
    for (int i = 1; i < 50; i++) {
        AWAIT(atomic_load(&here.turns) >= i);
        raise_word(&here);
    }
    CHECK_EQ_I64(atomic_load(&away.turns), 0);
    leave(&here);
    atomic_store(&away.held, false);
    leave(&away);
}

static void kicked_in_its_turn(bool by_word) {
    struct work w = {.held = true};
    enter(&w, "file:/one");
    AWAIT(atomic_load(&w.inside) == 1);
    if (by_word)
        raise_word(&w);
    else
        vs_task_kick(&w.task);
    atomic_store(&w.held, false);
    AWAIT(atomic_load(&w.turns) == 2);
    leave(&w);
}

static void a_kick_is_not_lost(void) {
    kicked_in_its_turn(false);
}

static void a_changed_word_is_not_lost(void) {
    kicked_in_its_turn(true);
}

static void a_close_waits_for_its_turn(void) {
    struct work *w, *mate;
    pthread_t leaver;
    enter_crowd();
    mate = mate_of(&w);
    NEED(mate != NULL);
    atomic_store(&w->held, true);
    vs_task_kick(&w->task);
    AWAIT(atomic_load(&w->inside) == 1);
    int had = atomic_load(&w->turns);
    CHECK(pthread_create(&leaver, NULL, leave_main, w) == 0);
    usleep(300000); /* gives the thread time to start waiting, which the result does not depend on */
    atomic_store(&w->held, false);
    pthread_join(leaver, NULL);
    CHECK_EQ_I64(atomic_load(&w->most_inside), 1);
    CHECK_EQ_I64(atomic_load(&w->turns), had + 2); /* the turn in progress, and the last turn of the removal */
    for (int i = 0; i < CROWD; i++)
        if (&crowd[i] != w) leave(&crowd[i]);
}

static void a_close_waits_for_no_other(void) {
    struct work *hung, *other;
    pthread_t leaver;
    enter_crowd();
    other = mate_of(&hung);
    NEED(other != NULL);
    atomic_store(&hung->held, true);
    vs_task_kick(&hung->task);
    AWAIT(atomic_load(&hung->inside) == 1);
    int had = atomic_load(&other->turns);
    vs_task_kick(&other->task); /* due while its thread runs another task's turn */
    CHECK(pthread_create(&leaver, NULL, leave_main, other) == 0);
    AWAIT(atomic_load(&other->turns) > had);
    CHECK_EQ_I64(atomic_load(&hung->inside), 1);
    pthread_join(leaver, NULL);
    atomic_store(&hung->held, false);
    for (int i = 0; i < CROWD; i++)
        if (&crowd[i] != other) leave(&crowd[i]);
}

static void a_busy_task_leaves_others_their_turns(void) {
    struct work *busy, *other;
    enter_crowd();
    other = mate_of(&busy);
    NEED(other != NULL);
    for (int i = 0; i < 2; i++) { /* in both orders of the two tasks */
        int had = atomic_load(&other->turns);
        atomic_store(&busy->never_rests, true);
        vs_task_kick(&busy->task);
        vs_task_kick(&other->task);
        AWAIT(atomic_load(&other->turns) > had);
        atomic_store(&busy->never_rests, false);
        struct work *was = busy;
        busy = other, other = was;
    }
    leave_crowd();
}

/* So many tasks share a thread that a busy one gets its next turn only after VS_SHIFT_ROW others. */
#define MATES (2 * VS_SHIFT_ROW)
static struct work queue[MATES * VS_SHIFTS_OF_A_STORE];

static int enter_queue(struct work *mates[MATES], int holders) {
    int count = 0;
    for (int i = 0; i < MATES * VS_SHIFTS_OF_A_STORE; i++) {
        memset(&queue[i], 0, sizeof queue[i]);
        enter(&queue[i], "mysql://queue/db");
    }
    for (int i = 0; i < MATES * VS_SHIFTS_OF_A_STORE; i++) {
        AWAIT(atomic_load(&queue[i].turns) > 0);
        if (queue[i].task.shift == queue[0].task.shift && count < MATES) mates[count++] = &queue[i];
    }
    for (int i = 0; i < count; i++) {
        int had = atomic_load(&mates[i]->turns);
        atomic_store(&mates[i]->holds, i < holders);
        vs_task_kick(&mates[i]->task);
        AWAIT(atomic_load(&mates[i]->turns) > had);
    }
    return count;
}

static void leave_queue(void) {
    for (int i = 0; i < MATES * VS_SHIFTS_OF_A_STORE; i++)
        leave(&queue[i]);
}

/* Both tasks become due during the turn of another one, in both orders in the list. */
static void holders_go_first(void) {
    struct work *mates[MATES];
    NEED(enter_queue(mates, MATES / 2) == MATES);
    for (int i = 1; i < MATES / 2; i++) {
        struct work *holder = mates[i], *claimer = mates[MATES / 2 + i - 1], *at_work = mates[0];
        int had = atomic_load(&holder->turns), claimer_had = atomic_load(&claimer->turns);
        atomic_store(&at_work->held, true);
        vs_task_kick(&at_work->task);
        AWAIT(atomic_load(&at_work->inside) == 1);
        vs_task_kick(&claimer->task);
        vs_task_kick(&holder->task);
        atomic_store(&at_work->held, false);
        AWAIT(atomic_load(&holder->turns) > had && atomic_load(&claimer->turns) > claimer_had);
        CHECK(atomic_load(&holder->last_turn) < atomic_load(&claimer->last_turn));
    }
    leave_queue();
}

static void no_task_is_starved(void) {
    struct work *mates[MATES];
    int had[MATES];
    NEED(enter_queue(mates, MATES - 2) == MATES);
    for (int i = 0; i < MATES; i++) {
        atomic_store(&mates[i]->never_rests, true);
        vs_task_kick(&mates[i]->task);
    }
    for (int i = 0; i < MATES; i++)
        had[i] = atomic_load(&mates[i]->turns);
    for (int i = 0; i < MATES; i++)
        AWAIT(atomic_load(&mates[i]->turns) > had[i] + 2);
    for (int i = 0; i < MATES; i++)
        atomic_store(&mates[i]->never_rests, false);
    leave_queue();
}

#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer takes a child's threads for its parent's if they use the same memory */
static void a_child_starts_its_own_threads(void) {
    struct work w = {.held = true};
    enter(&w, "file:/one");
    AWAIT(atomic_load(&w.inside) == 1);
    pid_t child = fork();
    if (child == 0) {
        struct work own = {.turns = 0};
        enter(&own, "file:/one");
        while (atomic_load(&own.turns) == 0)
            usleep(200);
        leave(&own);
        _exit(atomic_load(&own.turns) == 2 ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    atomic_store(&w.held, false);
    leave(&w);
}
#endif

/* Simulates a kernel or container without the system call futex_waitv. */
static bool have_none(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 449, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38 /* ENOSYS */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void an_old_kernel_is_supported(void) {
    pid_t child = fork();
    if (child == 0) {
        if (!have_none()) _exit(2);
        enter_crowd();
        for (int turn = 0; turn < 5; turn++)
            for (int i = 0; i < CROWD; i++) {
                int had = atomic_load(&crowd[i].turns);
                raise_word(&crowd[i]);
                AWAIT(atomic_load(&crowd[i].turns) > had);
            }
        leave_crowd();
        _exit(atomic_load(&check_failures) > 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
}

static const struct check_case cases[] = {
    {"two hundred tasks of one store share eight threads, which end with them", threads_are_few},
    {"if all of a store's threads are full, another one starts", full_threads_get_another},
    {"a store that hangs delays no other store's tasks", other_stores_continue},
    {"a kick during a turn causes another turn", a_kick_is_not_lost},
    {"a word that changes during a turn causes another turn", a_changed_word_is_not_lost},
    {"removing a task waits for its turn, so that two turns never overlap", a_close_waits_for_its_turn},
    {"removing a task does not wait for the turn of another task of its thread", a_close_waits_for_no_other},
    {"a task that is always due leaves the others their turns", a_busy_task_leaves_others_their_turns},
    {"if two tasks are due, the one that holds a lease goes first", holders_go_first},
    {"if the tasks with leases are always due, each of the others still has turns", no_task_is_starved},
#ifndef __SANITIZE_THREAD__
    {"a forked child's tasks have their own threads, whatever its parent's do", a_child_starts_its_own_threads},
#endif
    {"tasks also run on a kernel without futex_waitv", an_old_kernel_is_supported},
};

CHECK_MAIN(cases)
