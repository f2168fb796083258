/* sim.h -- a world in one thread: virtual time, hosts with wrong clocks, generator files, processes that crash and
 * sleep, a store that loses replies -- and the real core and lease engine in the middle of it.  Everything that happens
 * follows from one seed: no wall clock, no address, no order of the machine takes part in a decision. */
#ifndef SIM_H
#define SIM_H

#include "generator/lane.h"
#include "generator/point.h"
#include "lease/term.h"
#include "vesta_lane.h"

#include <stdarg.h>
#include <stdio.h>

#define HOSTS_MAX 2
#define PATHS_MAX 8    /* generator files by name, on all hosts */
#define FILES_MAX 160  /* generator files by inode, in the life of a schedule */
#define PROCS_MAX 96   /* processes in the life of a schedule */
#define THREADS_MAX 64 /* alive at a time */
#define WORKERS_MAX 8
#define MESSAGES_MAX 64 /* requests on their way to the store */
#define TOKENS_MAX 2048 /* claims in the life of a schedule */
#define IDS_MAX 24000   /* ids in the life of a schedule */
#define BATCH_MAX 12
#define LANES_MAX 3 /* of a process */
#define STORE_TIMEOUT_US (2 * SEC)
#define KEPT_MAX 24 /* threads of an image */
#define LEAPS_MAX 16

#define MS INT64_C(1000)
#define SEC INT64_C(1000000)
#define START_UNIX_US (INT64_C(1800000000) * SEC)
#define NEVER INT64_MAX

/* What an oracle may find. */
#define FINDINGS(X)                                                                                                    \
    X(DUPLICATE)   /* an id was given twice */                                                                         \
    X(ORDER)       /* an id is not above one of its slot that was given before it was asked for */                     \
    X(AHEAD)       /* an id's time lies past every clock reading, the allowance and all verdicts */                    \
    X(LATE)        /* an id's time was over when it was asked for, by the clock that may say so */                     \
    X(LEAP)        /* an id's time follows a leap of the clock that had not stood for a minute */                      \
    X(OUTSIDE)     /* an id lies in no lease of its file */                                                            \
    X(UNGRANTED)   /* a slot's limit is above what the store acknowledged to its token */                              \
    X(LOWERED)     /* a cursor or a limit went back, or a closed slot was opened */                                    \
    X(SELF_FENCED) /* a keeper gave up a lease that the store still holds for it */                                    \
    X(ENDED)       /* an id is of a lease that had been closed before it was asked for */                              \
    X(FAILSTOP)    /* issuing stopped for a store that went back, though it had not */                                 \
    X(STUCK)       /* the faults are over, and a living process gets no id */

enum finding {
    NOTHING,
#define FINDING_ENUM(name) name,
    FINDINGS(FINDING_ENUM) FINDING_COUNT
#undef FINDING_ENUM
};

/* What a schedule met; summed over all for the gate that says the schedules are not empty. */
#define COUNTS(X)                                                                                                      \
    X(ids)                                                                                                             \
    X(claims)                                                                                                          \
    X(takeovers)                                                                                                       \
    X(from_living)                                                                                                     \
    X(pauses)                                                                                                          \
    X(rollbacks)                                                                                                       \
    X(leaps)                                                                                                           \
    X(crashes)                                                                                                         \
    X(reboots)                                                                                                         \
    X(unknowns)                                                                                                        \
    X(forks)                                                                                                           \
    X(copies)                                                                                                          \
    X(releases)                                                                                                        \
    X(adoptions)                                                                                                       \
    X(two_keepers)                                                                                                     \
    X(stills)                                                                                                          \
    X(retired)                                                                                                         \
    X(fenced) X(failovers) X(left) X(switches) X(rests) X(restored) X(drops) X(loans) X(replaced) X(lost) X(by_lane)   \
        X(given_back)

struct counts {
#define COUNT_FIELD(name) uint64_t name;
    COUNTS(COUNT_FIELD)
#undef COUNT_FIELD
};

struct host {
    struct vesta_clock clock; /* self points to this host */
    int64_t booted_us, offset_us, rate_ppm;
    int64_t read_max_us; /* the latest time that anyone read in this boot */
    unsigned boots, sets;
    int64_t set_us, stood_us, went_on_us; /* when its clock was set, when it stood still last, and until when */
    bool is_wild;                         /* its late clock shows anything where units are shorter than a second */
};

/* One inode.  The map is what all its processes share. */
struct file {
    struct vs_map *map;
    int path, host;
    int keeper; /* the process that has the keeper's lock, -1 */
    bool in_term[PROCS_MAX];
    unsigned boot;
    /* the oracle's own idea of which clock may be believed */
    int64_t legit_us;
    int leaps;
    struct {
        int64_t off_us, since_us;
    } leap[LEAPS_MAX];
    /* as last seen by the oracle */
    uint32_t used;
    struct {
        uint64_t tick, limit, given;
    } was[VS_SLOTS_MAX];
    uint64_t allowed[VS_SLOTS_MAX]; /* by all verdicts so far: one that has expired may be replaced by a lower one */
    int giving_back; /* threads that are at it: meanwhile a cursor may go back */
};

/* A lane, and the last id that it gave. */
struct lane {
    struct vesta_lane lane;
    bool is_open;
    struct file *gives_back; /* what a thread ends just now is of this file */
    uint64_t last;
};

struct path {
    int host, file; /* -1: no file of that name */
    bool has_worker;
    uint64_t worker;
    enum vesta_pacing pacing;
    uint64_t ahead_ticks;
    int procs_wanted;
    int64_t respawn_us; /* when the missing processes are started, NEVER */
    char identity[16];
    uint64_t incarnation; /* of the store, as the anchor has it noted */
    bool made;
};

struct proc {
    bool alive, exits; /* exits: ends as soon as its lease is given back */
    int path, file;
    struct vesta_gen gen;
    enum vs_stop stop;
    struct thread *keeper, *copier;
    uint64_t threads; /* that were started in it: each has a number of its own */
    _Atomic uint64_t token;
    struct lane lane[LANES_MAX];
    uint64_t ids_calm; /* given since the faults are over */
};

struct reply {
    enum vs_outcome outcome;
    int64_t store_ms;
    struct vs_record record;
    struct vs_ns_record ns;
};

struct world {
    uint64_t seed;
    int64_t now_us;
    bool tracing, quiet; /* quiet: the story is kept, not printed */
    bool calm;
    bool told;     /* a story says who runs, and until where: story.c */
    bool locked;   /* the running thread is not left */
    bool respawns; /* a path's respawn_us was set */
    const struct vesta_layout *layout;
    struct vs_shape shape;
    uint64_t base, worker_max;
    struct vs_lease_timing timing;
    int hosts, paths, files, procs;
    struct host host[HOSTS_MAX];
    struct path path[PATHS_MAX];
    struct file file[FILES_MAX];
    struct proc proc[PROCS_MAX];
    /* the oracle's */
    enum finding expected, found; /* expected: NOTHING means that any finding ends the schedule */
    char story[512];
    struct counts counts;
};
extern struct world sim;

#define TRACE(...)                                                                                                     \
    do {                                                                                                               \
        if (sim.tracing) sim_trace(__VA_ARGS__);                                                                       \
    } while (0)
__attribute__((format(printf, 1, 2))) void sim_trace(const char *format, ...);

/* ---- sched.c: random numbers and virtual threads */

struct thread;
void sched_reset(uint64_t seed);
uint64_t rnd(void);
uint32_t rnd_below(uint32_t n);
int64_t rnd_between(int64_t from, int64_t until); /* [from, until) */
bool chance(uint32_t percent);
int64_t rnd_around(int64_t mean); /* mostly below twice the mean, now and then far above */

/* NULL: as many threads as there can be are alive.  In a story it runs when it is told to. */
struct thread *thread_start(int proc, const char *name, void (*run)(struct proc *self));
void threads_kill(int proc);
void threads_stop(int proc, int64_t until_us); /* all of a process */
int thread_proc(void);                         /* of the running thread */
const char *thread_name(void);
/* In a story: by what its process knows it, as threads come and go at one address. */
void thread_is(struct thread *thread, uint64_t number);
/* Sleeps; `file` wakes it early (file_kick), NULL for nothing but time. */
void thread_sleep(int64_t us, const struct file *file);
void threads_wake(const struct file *file);
/* One turn: runs a thread, or moves time to the next thing that is due, at most to until_us. */
void sched_turn(int64_t until_us);
/* The stack of the running thread is left for ever. */
void thread_exit(void) __attribute__((noreturn));
/* Some thread of this process has taken a tick and not returned it yet. */
bool thread_has_tick(int proc);
/* In a story: runs this thread, and moves time where it waits, until it stands at a point of that name for the n-th
 * time, or, where the name is NULL, until it ends.  False: it ended before, or neither happens for long. */
bool thread_run_to(struct thread *thread, const char *point, int n);
bool thread_is_alive(const struct thread *thread);
/* Time passes, and one thread runs, or EVERYONE, or nobody (NULL). */
extern const struct thread *const EVERYONE;
void threads_pass(int64_t until_us, const struct thread *who);
/* The memory of a path's processes as it is now, threads in the middle of what they do and all; and back to it. */
void image_take(int path);
bool image_exists(int path);
void image_restore(void);
void image_forget(void);
/* How often a path's processes were put back to an image. */
unsigned image_lives(int path);
/* The threads' part of it. */
void threads_keep(bool (*belongs)(int proc));
void threads_put_back(void);
void threads_forget(void);

/* ---- world.c: hosts, files, trust */

void world_make(uint64_t seed);
void world_for_story(void);
void world_path(int path, enum vesta_pacing pacing);
bool world_timing(const char *name);
/* A story's ids: eight a millisecond in place of eight a second; before its first process. */
void world_by_milliseconds(void);
int64_t host_unix_us(const struct host *host);
int64_t host_boot_us(const struct host *host);
/* CLOCK_REALTIME as the kernel's last tick left it, and what reads its second. */
int64_t host_late_us(const struct host *host);
int64_t host_late_s(void *host);
/* The same in microseconds; or anything, another thing to each who asks. */
int64_t host_late_or_wild_us(void *host);
/* No tick comes any more. */
void host_stop_ticks(int host);
void host_step(int host, int64_t by_us);
/* Its clock is another one from now on. */
void host_was_set(struct host *host);
/* The machine is not run for that long: suspended, or on its way to another. */
void host_stand_still(int host, int64_t us);
void host_reboot(int host);
/* The file of a path as an opener gets it: trusted, or a new one. */
int file_open(int path);
int file_copy(int from_path, int to_path);
/* The path's map is removed while it is in use: newcomers make another one. */
void file_lose(int path);
/* Whether a newcomer would find this map. */
bool file_is_named(int file);
bool file_is_used_up(int file);
void file_kick(int file);

/* ---- store.c */

void store_reset(void);
int64_t store_next_us(void); /* when a message arrives next */
void store_deliver(void);    /* those that are due */
void store_init(void);
void store_down(int64_t until_us);
void store_fail_over(void);
/* A story's fail-over, in its parts. */
void store_keep_copy(void);
void store_go_back(void);
void store_put_right(void);
void store_heal(void);
void store_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev);
const struct vs_record *store_record(uint64_t worker);
uint64_t store_incarnation(void);
/* In a story: what becomes of the next write.  Where nothing is heard of it, its outcome is unknown. */
extern enum store_fate { FATE_DONE, FATE_LOST, FATE_UNHEARD, FATE_LATE } store_fate;
extern int64_t store_late_us;
uint64_t store_granted(const uint64_t owner[2]);

/* ---- process.c */

int proc_start(int path);
int proc_fork(int parent);
void proc_kill(int proc);
void proc_pause(int proc, int64_t us);
void proc_release(int proc, bool exits);
/* A thread of this process rests the file and then takes an image of the path, as who copies a machine does. */
void proc_snapshot(int proc);
/* The process gives up what its open slot was granted. */
void proc_drop(int proc);
/* What vs_handle_kick does. */
void proc_kick(int proc);

/* ---- lane.c: lanes of a process, by their places in it */

void lane_open(struct proc *proc, int i, uint64_t n);
int lane_next(struct proc *proc, int i, struct vesta_pause *pause);
void lane_close(struct proc *proc, int i);
/* By one of them, which may be another thread's: VESTA_EOPTION then. */
int lane_take(struct proc *proc, struct vesta_pause *pause);
/* In a forked child, where all lies at the addresses that it had in the parent. */
void lanes_fork(struct proc *child, const struct proc *parent);
/* Whoever gave something back is killed. */
void lanes_kill(struct proc *proc);
bool path_alive(int path);

/* ---- keeper.c */

int proc_index(const struct proc *proc);
/* Starts the process's keeper where it has none. */
void keeper_start(struct proc *proc);
/* The process that keeps the path's file, or -1. */
int path_keeper(int path);
/* The path's keeper loses its lock but not its term. */
void keeper_forget_lock(int path);

/* ---- faults.c */

void schedule_run(uint64_t seed);

/* ---- story.c */

/* Tells it; sim.found says what came of it.  False: a step could not be done. */
bool story_tell(const char *file);

/* ---- oracle.c */

void oracle_reset(void);
void oracle_last_lines(void);
__attribute__((format(printf, 2, 3))) void oracle_found(enum finding kind, const char *format, ...);
/* Around a call for ids: what had been given before it, and what it gave. */
struct before {
    int file;
    int64_t unix_us, late_us; /* an id's time is not over then, unless the clock was set */
    unsigned sets;
    uint64_t given[VS_SLOTS_MAX]; /* one past the highest */
    bool ended[VS_SLOTS_MAX];
};
void oracle_before(int file, struct before *before);
/* The same for a lane, whose ids are in order among themselves. */
void oracle_before_lane(int file, struct before *before);
void oracle_lane(struct lane *lane, uint64_t id);
void oracle_ids(const struct before *before, int proc, const uint64_t *ids, size_t n);
void oracle_file(int file);
void oracle_clock(int host);
/* Notes what verdicts have allowed a slot so far, and returns it; 0: nothing. */
uint64_t oracle_verdict(struct file *f, uint32_t slot);
void oracle_fenced(const struct vs_lease *lease);
const char *finding_name(enum finding kind);

#endif
