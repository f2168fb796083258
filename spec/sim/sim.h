/* sim.h -- a world in one thread: virtual time, hosts with wrong clocks, generator files, processes that crash and
 * sleep, and a store that loses replies. They run the real core and the real lease engine. Everything follows from one
 * seed. No wall clock, address or scheduling of the machine affects a decision. */
#ifndef SIM_H
#define SIM_H

#include "generator/lane.h"
#include "generator/point.h"
#include "lease/mark.h"
#include "lease/term.h"
#include "vesta_lane.h"

#include <stdarg.h>
#include <stdio.h>

#define HOSTS_MAX 2
#define PATHS_MAX 8    /* names of generator files on all hosts */
#define FILES_MAX 160  /* inodes of generator files in a schedule */
#define PROCS_MAX 96   /* processes in a schedule */
#define THREADS_MAX 64 /* living threads */
#define WORKERS_MAX 8
#define MESSAGES_MAX 64 /* requests in transit to the store */
#define TOKENS_MAX 2048 /* claims in a schedule */
#define IDS_MAX 24000   /* ids in a schedule */
#define BATCH_MAX 12
#define LANES_MAX 3 /* per process */
#define STORE_TIMEOUT_US (2 * SEC)
#define KEPT_MAX 24 /* threads in an image */
#define LEAPS_MAX 16

#define MS INT64_C(1000)
#define SEC INT64_C(1000000)
#define START_UNIX_US (INT64_C(1800000000) * SEC)
#define NEVER INT64_MAX

/* The findings of the oracle. */
#define FINDINGS(X)                                                                                                    \
    X(DUPLICATE)   /* an id was issued twice */                                                                        \
    X(ORDER)       /* an id is not above an id of its slot that was issued before it was requested */                  \
    X(AHEAD)       /* an id's time exceeds all clock readings, the allowance and all verdicts, or a mark all leases */ \
    X(LATE)        /* an id's time had ended when it was requested, by the clock that may decide so */                 \
    X(LEAP)        /* an id's time follows a leap of the clock that had not lasted for a minute */                     \
    X(OUTSIDE)     /* an id is in no lease of its file */                                                              \
    X(UNGRANTED)   /* a slot's limit is above the bound that the store acknowledged for its token */                   \
    X(LOWERED)     /* a cursor or a limit went back, or a closed slot was opened */                                    \
    X(SELF_FENCED) /* a keeper gave up a lease that the store still holds for it */                                    \
    X(ENDED)       /* an id is from a lease that was closed before the id was requested */                             \
    X(FAILSTOP)    /* issuing stopped because the store went back, but it had not */                                   \
    X(PASSED)      /* an id is below a watermark that was published before the id was requested */                     \
    X(KEPT)        /* a lease was not released because the namespace's record had changed */                           \
    X(BEHIND)      /* the faults are over, and the watermark does not follow the clock */                              \
    X(STUCK)       /* the faults are over, and a living process gets no id */

enum finding {
    NOTHING,
#define FINDING_ENUM(name) name,
    FINDINGS(FINDING_ENUM) FINDING_COUNT
#undef FINDING_ENUM
};

/* Events that a schedule counts. Their sums over all schedules must reach the minimum in main.c. */
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
        X(given_back) X(led) X(marks) X(passed)

struct counts {
#define COUNT_FIELD(name) uint64_t name;
    COUNTS(COUNT_FIELD)
#undef COUNT_FIELD
};

struct host {
    struct vesta_clock clock; /* self points to this host */
    int64_t booted_us, offset_us, rate_ppm;
    int64_t read_max_us; /* the latest time that was read in this boot */
    unsigned boots, sets;
    int64_t set_us, stood_us, went_on_us; /* when its clock was set, and when it was last suspended, from and until */
    bool is_wild;                         /* its late clock shows random times if units are shorter than a second */
};

/* One inode. Its processes share the map. */
struct file {
    struct vs_map *map;
    int path, host;
    int keeper; /* the process that has the keeper's lock, or -1 */
    bool in_term[PROCS_MAX];
    unsigned boot;
    /* the oracle's own rule for trusting clocks */
    int64_t legit_us;
    int leaps;
    struct {
        int64_t off_us, since_us;
    } leap[LEAPS_MAX];
    /* the words that the oracle saw last */
    uint32_t used;
    struct {
        uint64_t tick, limit, given;
        bool is_unlisted; /* no record had the lease when watermarks were started */
    } was[VS_SLOTS_MAX];
    /* by all verdicts so far, because an expired verdict may be replaced by a lower one */
    uint64_t allowed[VS_SLOTS_MAX];
    uint64_t uuids;     /* one past the highest tick of UUIDs */
    int giving_back; /* number of threads that return the rest of a lane, during which a cursor may go back */
};

/* A lane, and the last id that it issued. */
struct lane {
    struct vesta_lane lane;
    bool is_open;
    struct file *gives_back; /* the file to which the lane's rest is being returned */
    uint64_t last;
};

struct path {
    int host, file; /* -1: no file has that name */
    bool has_worker;
    uint64_t worker;
    enum vesta_pacing pacing;
    uint64_t ahead_ticks;
    int procs_wanted;
    int64_t respawn_us; /* when the missing processes are started, or NEVER */
    char identity[16];
    uint64_t incarnation; /* of the store, as recorded in the anchor */
    bool made;
};

struct proc {
    bool alive, exits; /* exits: ends as soon as its lease is released */
    int path, file;
    struct vesta_gen gen;
    enum vs_stop stop;
    struct thread *keeper, *copier;
    uint64_t threads; /* started so far, each with its own number */
    _Atomic uint64_t token;
    struct lane lane[LANES_MAX];
    uint64_t ids_calm; /* issued since the last fault */
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
    bool tracing, quiet; /* quiet: the trace is recorded, not printed */
    bool calm;
    bool told;     /* a story decides which thread runs, and until where */
    bool locked;   /* the running thread is not paused */
    bool respawns; /* some path has a respawn_us */
    bool has_uuids;
    const struct vesta_layout *layout;
    struct vs_shape shape;
    uint64_t base, worker_max;
    bool is_marked;  /* a reader publishes watermarks, and every path has clock pacing */
    uint64_t marked; /* the highest watermark, a tick */
    int64_t started_unix_us; /* host 0's clock when watermarks were started */
    struct vs_lease_timing timing;
    int hosts, paths, files, procs;
    struct host host[HOSTS_MAX];
    struct path path[PATHS_MAX];
    struct file file[FILES_MAX];
    struct proc proc[PROCS_MAX];
    /* set by the oracle */
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
int64_t rnd_around(int64_t mean); /* mostly below twice the mean, sometimes far above */

/* Returns NULL if THREADS_MAX threads are alive. In a story the thread runs only on request. */
struct thread *thread_start(int proc, const char *name, void (*run)(struct proc *self));
void threads_kill(int proc);
void threads_stop(int proc, int64_t until_us); /* all threads of the process */
int thread_proc(void);                         /* the running thread's process */
const char *thread_name(void);
/* In a story: sets the number by which the process knows the thread, because addresses are reused. */
void thread_is(struct thread *thread, uint64_t number);
/* Sleeps. file_kick on `file` wakes the thread early. NULL: only time does. */
void thread_sleep(int64_t us, const struct file *file);
void threads_wake(const struct file *file);
/* Does one turn: runs a thread, or advances time to the next event, at most to until_us. */
void sched_turn(int64_t until_us);
/* Leaves the stack of the running thread for good. */
void thread_exit(void) __attribute__((noreturn));
/* Returns whether a thread of this process has taken a tick and not returned it yet. */
bool thread_has_tick(int proc);
/* In a story: runs this thread, and advances time while it waits, until it reaches the named point for the n-th time.
 * If the name is NULL, runs it until it ends. Returns false if it ended before, or if neither happens for long. */
bool thread_run_to(struct thread *thread, const char *point, int n);
bool thread_is_alive(const struct thread *thread);
/* Advances time, and runs one thread, or EVERYONE, or no thread (NULL). */
extern const struct thread *const EVERYONE;
void threads_pass(int64_t until_us, const struct thread *who);
/* Saves and restores the memory of a path's processes, including threads in the middle of a call. */
void image_take(int path);
bool image_exists(int path);
void image_restore(void);
void image_forget(void);
/* Returns how often a path's processes were restored from an image. */
unsigned image_lives(int path);
/* The threads' part of an image. */
void threads_keep(bool (*belongs)(int proc));
void threads_put_back(void);
void threads_forget(void);

/* ---- world.c: hosts, files, trust */

void world_make(uint64_t seed);
void world_for_story(void);
void world_path(int path, enum vesta_pacing pacing);
bool world_timing(const char *name);
/* Gives a story eight ids a millisecond instead of eight a second. Call it before the first process starts. */
void world_by_milliseconds(void);
int64_t host_unix_us(const struct host *host);
int64_t host_boot_us(const struct host *host);
/* CLOCK_REALTIME at the kernel's last tick, and a function that reads its seconds. */
int64_t host_late_us(const struct host *host);
int64_t host_late_s(void *host);
/* The same in microseconds, or a random time that differs for each caller. */
int64_t host_late_or_wild_us(void *host);
/* Stops the kernel's ticks for good. */
void host_stop_ticks(int host);
void host_step(int host, int64_t by_us);
/* Records that the host's clock was set. */
void host_was_set(struct host *host);
/* The machine does not run for that long: it is suspended or migrated. */
void host_stand_still(int host, int64_t us);
void host_reboot(int host);
/* Returns the path's file like the opener does: a trusted one, or a new one. */
int file_open(int path);
int file_copy(int from_path, int to_path);
/* Removes the path's map while it is in use. New processes create another one. */
void file_lose(int path);
/* Returns whether a new process would find this map. */
bool file_is_named(int file);
bool file_is_used_up(int file);
void file_kick(int file);

/* ---- store.c */

void store_reset(void);
int64_t store_next_us(void); /* when the next message arrives */
void store_deliver(void);    /* delivers the messages that are due */
void store_init(void);
void store_down(int64_t until_us);
void store_fail_over(void);
/* The parts of a fail-over, for stories. */
void store_keep_copy(void);
void store_go_back(void);
void store_put_right(void);
void store_heal(void);
void store_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev);
const struct vs_record *store_record(uint64_t worker);
/* The steps of a reader on host 0: each is one call to the store. */
void store_mark_read(struct vs_ns_record *out, struct vs_mark_now *now);
bool store_mark_swap(const struct vs_ns_record *next);
size_t store_mark_list(struct vs_listed listed[WORKERS_MAX], struct vs_mark_now *now);
bool store_mark_end(uint64_t worker, const struct vs_record *next, const struct vs_ns_record *known);
uint64_t store_incarnation(void);
/* In a story: the fate of the next write. Without a reply its outcome is unknown. */
extern enum store_fate { FATE_DONE, FATE_LOST, FATE_UNHEARD, FATE_LATE } store_fate;
extern int64_t store_late_us;
uint64_t store_granted(const uint64_t owner[2]);

/* ---- mark.c: a reader of watermarks */

void mark_reset(void);
int64_t mark_next_us(void); /* when the reader makes its next call to the store */
void mark_turn(void);
/* Returns how far the watermark is behind the true time. */
int64_t mark_behind_us(void);

/* ---- process.c */

int proc_start(int path);
int proc_fork(int parent);
void proc_kill(int proc);
void proc_pause(int proc, int64_t us);
void proc_release(int proc, bool exits);
/* A thread of this process makes the file rest and then takes an image of the path, like a tool that copies a
 * machine. */
void proc_snapshot(int proc);
/* The process gives up the ticks that its open slot was granted. */
void proc_drop(int proc);
/* Does the same as vs_handle_kick. */
void proc_kick(int proc);

/* ---- lane.c: lanes of a process, by index */

void lane_open(struct proc *proc, int i, uint64_t n);
int lane_next(struct proc *proc, int i, struct vesta_pause *pause);
void lane_close(struct proc *proc, int i);
/* Issues from a random lane. If another thread owns it, returns VESTA_EOPTION. */
int lane_take(struct proc *proc, struct vesta_pause *pause);
/* Copies lanes to a forked child, where they have the addresses of the parent's. */
void lanes_fork(struct proc *child, const struct proc *parent);
/* Ends calls in progress that return a rest, because their process is killed. */
void lanes_kill(struct proc *proc);
bool path_alive(int path);

/* ---- keeper.c */

int proc_index(const struct proc *proc);
/* Starts the process's keeper if it has none. */
void keeper_start(struct proc *proc);
/* Returns the process that keeps the path's file, or -1. */
int path_keeper(int path);
/* The path's keeper loses its lock but not its term. */
void keeper_forget_lock(int path);

/* ---- faults.c */

void schedule_run(uint64_t seed);

/* ---- story.c */

/* Runs a story, and sets sim.found to its result. Returns false if a step could not be done. */
bool story_tell(const char *file);

/* ---- oracle.c */

void oracle_reset(void);
void oracle_last_lines(void);
__attribute__((format(printf, 2, 3))) void oracle_found(enum finding kind, const char *format, ...);
/* The state before a call for ids, which its result is compared with. */
struct before {
    int file;
    int64_t unix_us, late_us; /* an id's time must not have ended at that time, unless the clock was set */
    unsigned sets;
    uint64_t marked;
    uint64_t given[VS_SLOTS_MAX]; /* one past the highest */
    bool ended[VS_SLOTS_MAX];
    bool is_uuid; /* UUIDs are requested, which may run further ahead of the clock */
    uint64_t uuids;
};
void oracle_before(int file, struct before *before);
/* The same for a lane, whose ids ascend. */
void oracle_before_lane(int file, struct before *before);
void oracle_lane(struct lane *lane, uint64_t id);
void oracle_ids(const struct before *before, int proc, const uint64_t *ids, size_t n);
void oracle_file(int file);
void oracle_clock(int host);
/* Records the ticks that verdicts have allowed a slot so far, and returns their end, or 0. */
uint64_t oracle_verdict(struct file *f, uint32_t slot);
void oracle_fenced(const struct vs_lease *lease);
const char *finding_name(enum finding kind);

#endif
