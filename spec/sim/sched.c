/* sched.c -- virtual threads and the seed's random numbers. Each thread has its own stack. The seed decides at each
 * point of the core (VS_POINT) whether the thread is paused there. A killed thread is never resumed. */
#include "sim.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES 65536
#define STORY_STEP_US (900 * SEC) /* the longest duration of a story's step */

struct thread {
    bool alive;
    int proc;
    char name[16];
    uint64_t number; /* its number in the process */
    void (*run)(struct proc *self);
    int64_t wake_us, stopped_until_us; /* stopped_until_us: its process is stopped */
    const struct file *waits_for;
    bool entered;  /* false: it is started in its context `first`, true: it resumes at `here` */
    bool has_tick; /* paused between taking a tick and returning it */
    bool kept;     /* an image contains its stack, so no other thread may use this place */
};

struct context {
    ucontext_t first;
    jmp_buf here;
};

static struct thread threads[THREADS_MAX];
static struct context contexts[THREADS_MAX]; /* apart from the threads, because each turn scans those */
static char stacks[THREADS_MAX][STACK_BYTES] __attribute__((aligned(64)));
static struct thread *current;
static jmp_buf scheduler;
static int quantum; /* how many points the running thread passes before it may be paused */
static int top;     /* threads[top..] are unused in this schedule */
static uint64_t state;

/* ------------------------------------------------------------------ random numbers: splitmix64 */

uint64_t rnd(void) {
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t rnd_below(uint32_t n) {
    return (uint32_t)(((rnd() >> 32) * n) >> 32);
}

int64_t rnd_between(int64_t from, int64_t until) {
    assert(from < until);
    return from + (int64_t)(rnd() % (uint64_t)(until - from));
}

bool chance(uint32_t percent) {
    return rnd_below(100) < percent;
}

int64_t rnd_around(int64_t mean) {
    return rnd_between(0, 2 * mean + 1) * (chance(8) ? 5 : 1);
}

/* ------------------------------------------------------------------ threads */

static void enter(void) {
    current->run(&sim.proc[current->proc]);
    thread_exit();
}

static void prepare(ucontext_t *context, char *stack) {
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK_BYTES;
    context->uc_link = NULL;
    makecontext(context, enter, 0);
}

struct thread *thread_start(int proc, const char *name, void (*run)(struct proc *self)) {
    struct thread *t = threads;
    while (t < threads + THREADS_MAX && (t->alive || t->kept))
        t++;
    if (t == threads + THREADS_MAX) return NULL;
    if (t - threads >= top) top = (int)(t - threads) + 1;
    *t = (struct thread){.alive = true, .proc = proc, .run = run, .wake_us = sim.now_us};
    t->number = ++sim.proc[proc].threads;
    if (!sim.told) t->wake_us += rnd_between(0, 2 * MS);
    snprintf(t->name, sizeof t->name, "%s", name);
    prepare(&contexts[t - threads].first, stacks[t - threads]);
    return t;
}

void threads_kill(int proc) {
    for (int i = 0; i < top; i++)
        if (threads[i].alive && threads[i].proc == proc) threads[i].alive = false;
}

void threads_stop(int proc, int64_t until_us) {
    for (int i = 0; i < top; i++)
        if (threads[i].alive && threads[i].proc == proc) threads[i].stopped_until_us = until_us;
}

int thread_proc(void) {
    return current ? current->proc : -1;
}

const char *thread_name(void) {
    return current ? current->name : "world";
}

void thread_is(struct thread *t, uint64_t number) {
    t->number = number;
}

uint64_t vs_sim_thread(void) {
    return current ? current->number : 0;
}

/* A context starts a thread on its stack. Later switches use _longjmp, which saves no signal mask and so needs no
 * system call. */
static void leave(void) {
    if (_setjmp(contexts[current - threads].here) == 0) _longjmp(scheduler, 1);
}

static void go(struct thread *t) {
    if (_setjmp(scheduler) != 0) return;
    if (t->entered) _longjmp(contexts[t - threads].here, 1);
    t->entered = true;
    setcontext(&contexts[t - threads].first);
}

void thread_exit(void) {
    current->alive = false;
    _longjmp(scheduler, 1);
}

void thread_sleep(int64_t us, const struct file *file) {
    current->wake_us = sim.now_us + (us > 0 ? us : 1);
    current->waits_for = file;
    leave();
}

void threads_wake(const struct file *file) {
    for (int i = 0; i < top; i++)
        if (threads[i].alive && threads[i].waits_for == file && threads[i].wake_us > sim.now_us)
            threads[i].wake_us = sim.now_us;
}

/* The point at which a story stops the running thread. */
static struct {
    const char *point; /* NULL: at no point */
    int times;
} target;

void vs_sim_point(const char *name) {
    if (!current || sim.locked) return;
    if (sim.told) {
        if (!target.point || strcmp(target.point, name) != 0 || --target.times > 0) return;
        target.point = NULL;
        leave();
        return;
    }
    if (--quantum > 0) return;
    current->has_tick = strcmp(name, "composes") == 0 || strcmp(name, "begins_span") == 0;
    /* Usually the others get a turn. Sometimes the thread stays here for long, as under SIGSTOP or on a busy
     * machine. */
    if (!sim.calm && chance(2))
        current->wake_us = sim.now_us + (chance(60) ? rnd_between(0, 30 * MS) : rnd_between(0, 40 * SEC));
    leave();
}

/* ------------------------------------------------------------------ turns */

static void run(struct thread *t) {
    int file = sim.proc[t->proc].file;
    quantum = chance(12) ? 200 : 1 + (int)rnd_below(8);
    t->waits_for = NULL;
    t->has_tick = false;
    current = t;
    sim.counts.switches++;
    go(t);
    current = NULL;
    oracle_file(file);
}

void sched_turn(int64_t until_us) {
    struct thread *ready[THREADS_MAX];
    uint32_t n = 0;
    int64_t next_us = store_next_us();
    if (next_us <= sim.now_us) {
        store_deliver();
        return;
    }
    for (int i = 0; i < top; i++) {
        if (!threads[i].alive) continue;
        int64_t stopped_us = threads[i].stopped_until_us, at = threads[i].wake_us;
        at = at > stopped_us ? at : stopped_us;
        if (at <= sim.now_us)
            ready[n++] = &threads[i];
        else if (at < next_us)
            next_us = at;
    }
    if (n > 0) {
        struct thread *t = ready[n == 1 ? 0 : rnd_below(n)];
        if (chance(20)) sim.now_us += rnd_below(400);
        run(t);
    } else {
        sim.now_us = next_us < until_us ? next_us : until_us;
    }
}

void sched_reset(uint64_t seed) {
    state = seed;
    for (int i = 0; i < top; i++)
        threads[i].alive = threads[i].kept = false;
    top = 0;
    current = NULL;
}

/* ------------------------------------------------------------------ threads in stories */

bool thread_has_tick(int proc) {
    for (int i = 0; i < top; i++)
        if (threads[i].alive && threads[i].proc == proc && threads[i].has_tick) return true;
    return false;
}

bool thread_is_alive(const struct thread *t) {
    return t && t->alive;
}

/* Advances time until this thread is due, without running the others. */
static void wait_for(const struct thread *t) {
    int64_t next_us = store_next_us();
    if (next_us > sim.now_us) sim.now_us = t->wake_us < next_us ? t->wake_us : next_us;
    if (store_next_us() <= sim.now_us) store_deliver();
}

static void turn(struct thread *t) {
    current = t;
    go(t);
    current = NULL;
    for (int i = 0; i < sim.files; i++)
        oracle_file(i);
}

bool thread_run_to(struct thread *t, const char *point, int n) {
    int64_t until_us = sim.now_us + STORY_STEP_US;
    target.point = point;
    target.times = n;
    while (t->alive && !sim.found && sim.now_us < until_us) {
        if (t->wake_us > sim.now_us) {
            wait_for(t);
            continue;
        }
        turn(t);
        if (point && !target.point) return true;
    }
    target.point = NULL;
    return !point && !t->alive;
}

static struct thread all;
const struct thread *const EVERYONE = &all;

/* Returns the first thread that is due, in the order of creation. */
static struct thread *due(const struct thread *who, int64_t *next_us) {
    for (int i = 0; i < top && who; i++) {
        if (!threads[i].alive || (who != EVERYONE && who != &threads[i])) continue;
        if (threads[i].wake_us <= sim.now_us) return &threads[i];
        if (threads[i].wake_us < *next_us) *next_us = threads[i].wake_us;
    }
    return NULL;
}

void threads_pass(int64_t until_us, const struct thread *who) {
    while (sim.now_us < until_us && !sim.found) {
        int64_t next_us = store_next_us();
        if (next_us <= sim.now_us) {
            store_deliver();
            continue;
        }
        struct thread *t = due(who, &next_us);
        if (t)
            turn(t);
        else
            sim.now_us = next_us < until_us ? next_us : until_us;
    }
}

/* ------------------------------------------------------------------ images: threads with their stacks */

static struct kept {
    int at;
    struct thread thread;
    struct context context;
    char stack[STACK_BYTES];
} kept[KEPT_MAX];
static int kept_count;

void threads_forget(void) {
    for (int i = 0; i < kept_count; i++)
        threads[kept[i].at].kept = false;
    kept_count = 0;
}

void threads_keep(bool (*belongs)(int proc)) {
    threads_forget();
    for (int i = 0; i < top && kept_count < KEPT_MAX; i++) {
        if (!threads[i].alive || &threads[i] == current || !belongs(threads[i].proc)) continue;
        struct kept *k = &kept[kept_count++];
        k->at = i;
        threads[i].kept = true;
        k->thread = threads[i];
        k->context = contexts[i];
        memcpy(k->stack, stacks[i], STACK_BYTES);
    }
}

void threads_put_back(void) {
    for (int i = 0; i < kept_count; i++) {
        int at = kept[i].at;
        threads[at] = kept[i].thread;
        contexts[at] = kept[i].context;
        memcpy(stacks[at], kept[i].stack, STACK_BYTES);
        if (!threads[at].entered) prepare(&contexts[at].first, stacks[at]); /* a context contains its own address */
    }
    threads_forget();
}
