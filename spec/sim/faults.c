/* faults.c -- one schedule: random hostile events for a while, then a calm in which every process must get ids
 * again. */
#include "sim.h"

#include <string.h>

#define STORM_US (60 * SEC)
#define BEHIND_US (200 * SEC) /* the lag, the step, and how long a record may take to expire */
#define FAULT_US (1100 * MS) /* mean time between two faults */

/* ------------------------------------------------------------------ victims */

/* Returns a random living process, or -1. */
static int some_proc(void) {
    int alive[PROCS_MAX];
    uint32_t n = 0;
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive) alive[n++] = i;
    return n ? alive[rnd_below(n)] : -1;
}

/* Returns the keeper of a random path, or any living process. A keeper is the more interesting victim. */
static int some_keeper(void) {
    int path = (int)rnd_below((uint32_t)sim.paths);
    int proc = path_keeper(path);
    return proc >= 0 && sim.proc[proc].alive ? proc : some_proc();
}

static int living(void) {
    int n = 0;
    for (int i = 0; i < sim.procs; i++)
        n += sim.proc[i].alive;
    return n;
}

/* ------------------------------------------------------------------ faults */

static void crash(void) {
    int proc = chance(50) ? some_keeper() : some_proc();
    if (proc < 0) return;
    sim.counts.crashes++;
    proc_kill(proc);
}

static void crash_whole_path(void) {
    int path = (int)rnd_below((uint32_t)sim.paths);
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.proc[i].path == path) {
            sim.counts.crashes++;
            proc_kill(i);
        }
}

static void stop_and_continue(void) {
    int proc = chance(60) ? some_keeper() : some_proc();
    if (proc >= 0) proc_pause(proc, chance(50) ? rnd_between(100 * MS, 3 * SEC) : rnd_between(SEC, 45 * SEC));
}

/* Stops all processes of a path, like a frozen container. */
static void freeze_path(void) {
    int path = (int)rnd_below((uint32_t)sim.paths);
    int64_t us = rnd_between(SEC, 40 * SEC);
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.proc[i].path == path) proc_pause(i, us);
}

static void stand_still(void) {
    host_stand_still((int)rnd_below((uint32_t)sim.hosts), rnd_between(100 * MS, 40 * SEC));
}

static void set_clock(void) {
    static const int64_t sizes[] = {20 * MS, 800 * MS, 3 * SEC, 9 * SEC, 12 * SEC, 60 * SEC, 288 * SEC};
    int64_t size = sizes[rnd_below(chance(60) ? 4 : 7)];
    host_step((int)rnd_below((uint32_t)sim.hosts), rnd_between(-size, size + 1));
}

static void fork_one(void) {
    int proc = some_proc();
    if (proc >= 0 && living() < 12) proc_fork(proc);
}

static void release(void) {
    int proc = chance(60) ? some_keeper() : some_proc();
    if (proc >= 0) proc_release(proc, chance(40));
}

/* Only if no other process uses the path does a release free the worker id in the store. */
static void release_alone(void) {
    int keeper = some_keeper();
    if (keeper < 0) return;
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && i != keeper && sim.proc[i].path == sim.proc[keeper].path) proc_kill(i);
    proc_release(keeper, chance(30));
}

static void copy(void) {
    int from = (int)rnd_below((uint32_t)sim.paths), to = 0;
    while (to < sim.paths && sim.path[to].made)
        to++;
    if (to == sim.paths || sim.path[from].file < 0) return;
    struct path *p = &sim.path[to];
    p->host = sim.path[from].host;
    p->pacing = sim.path[from].pacing;
    p->has_worker = sim.path[from].has_worker;
    p->worker = sim.path[from].worker;
    p->ahead_ticks = sim.path[from].ahead_ticks;
    p->made = true;
    p->procs_wanted = 1;
    p->respawn_us = sim.now_us + rnd_around(200 * MS);
    file_copy(from, to);
}

static void another(void) {
    int path = (int)rnd_below((uint32_t)sim.paths);
    if (sim.path[path].made && living() < 12) proc_start(path);
}

static void two_keepers(void) {
    int path = (int)rnd_below((uint32_t)sim.paths), keeper = path_keeper(path);
    if (keeper < 0) return;
    keeper_forget_lock(path);
    if (chance(50)) proc_pause(keeper, rnd_between(100 * MS, 12 * SEC));
    if (living() < 12) proc_start(path);
}

static void reboot(void) {
    int host = (int)rnd_below((uint32_t)sim.hosts);
    host_reboot(host);
    if (chance(50)) host_step(host, rnd_between(-60 * SEC, 5 * SEC)); /* the hardware clock is wrong after a reboot */
}

static void store_away(void) {
    store_down(sim.now_us + (chance(70) ? rnd_around(2 * SEC) : rnd_around(12 * SEC)));
}

static void drop(void) {
    int proc = some_proc();
    if (proc >= 0) proc_drop(proc);
}

static void lose_map(void) {
    file_lose((int)rnd_below((uint32_t)sim.paths));
}

/* Copies a machine when vesta_prepare_snapshot permits it. The copy starts soon, or after the original has done
 * much. */
static void snapshot(void) {
    int proc = some_proc();
    if (proc >= 0) proc_snapshot(proc);
}

static void go_on_from_image(void) {
    for (int i = 0; i < sim.paths; i++)
        if (image_exists(i)) {
            image_restore();
            return;
        }
    snapshot();
}

static const struct fault {
    uint32_t weight;
    void (*strike)(void);
} faults[] = {
    {14, crash},
    {6, crash_whole_path},
    {14, stop_and_continue},
    {6, freeze_path},
    {3, stand_still},
    {28, set_clock},
    {8, fork_one},
    {6, release},
    {8, release_alone},
    {4, copy},
    {9, another},
    {9, two_keepers},
    {3, reboot},
    {5, store_away},
    {4, drop},
    {6, snapshot},
    {10, go_on_from_image},
    {4, lose_map},
};
#define FAULTS (sizeof faults / sizeof *faults)

static void strike(void) {
    uint32_t sum = 0;
    if (sim.timing.is_shared && chance(4)) {
        store_fail_over();
        return;
    }
    for (size_t i = 0; i < FAULTS; i++)
        sum += faults[i].weight;
    uint32_t at = rnd_below(sum);
    size_t i = 0;
    while (at >= faults[i].weight)
        at -= faults[i++].weight;
    faults[i].strike();
}

/* ------------------------------------------------------------------ the storm and the calm */

static void respawn(void) {
    for (int i = 0; i < sim.paths; i++) {
        struct path *p = &sim.path[i];
        if (p->respawn_us > sim.now_us) continue;
        p->respawn_us = NEVER;
        if (!path_alive(i) || chance(50)) proc_start(i);
    }
}

static int64_t next_respawn_us(void) {
    int64_t next = NEVER;
    for (int i = 0; i < sim.paths; i++)
        if (sim.path[i].respawn_us < next) next = sim.path[i].respawn_us;
    return next;
}

static void run_until(int64_t until_us) {
    while (sim.now_us < until_us && !sim.found) {
        respawn();
        mark_turn();
        int64_t next = next_respawn_us(), reader = mark_next_us();
        next = next < reader ? next : reader;
        next = next < until_us ? next : until_us;
        while (sim.now_us < next && !sim.found && !sim.respawns)
            sched_turn(next);
        sim.respawns = false;
    }
}

static void storm(void) {
    while (sim.now_us < STORM_US && !sim.found) {
        run_until(sim.now_us + rnd_between(1, 2 * FAULT_US));
        if (!sim.found) strike();
    }
}

static void begin_calm(void) {
    TRACE("calm: clocks are right, the store replies, no process crashes");
    sim.calm = true;
    image_forget();
    store_heal();
    for (int i = 0; i < sim.hosts; i++) {
        struct host *h = &sim.host[i];
        oracle_clock(i);
        h->offset_us -= host_unix_us(h) - (START_UNIX_US + sim.now_us);
        h->offset_us += sim.now_us / SEC * h->rate_ppm;
        h->rate_ppm = 0;
        h->went_on_us = 0;
        host_was_set(h);
        oracle_clock(i);
    }
    for (int i = 0; i < sim.procs; i++) {
        threads_stop(i, 0);
        sim.proc[i].ids_calm = 0;
    }
    for (int i = 0; i < sim.paths; i++)
        if (sim.path[i].made && !path_alive(i)) sim.path[i].respawn_us = sim.now_us;
}

/* Returns how long after the last fault every process must have an id: the clocks were ahead by `ahead_us`, a leap must
 * last for a minute, and two leases of an earlier holder must expire. */
static int64_t patience_us(int64_t ahead_us) {
    return ahead_us + VS_CLOCK_CONFIRM_US + 2 * sim.timing.lease_ms * 1000 + 4 * sim.timing.window_ms * 1000 +
           sim.timing.skew_ms * 1000 + 60 * SEC;
}

static bool holds(const struct vs_record *record) {
    for (int i = 0; record->held && i < sim.procs; i++) {
        const struct proc *p = &sim.proc[i];
        if (p->alive && p->ids_calm && strcmp(sim.path[p->path].identity, record->identity) == 0) return true;
    }
    return false;
}

/* Returns whether living processes of other paths hold all worker ids that this path may use. */
static bool is_shut_out(const struct path *path) {
    for (uint64_t w = 0; w <= sim.worker_max; w++) {
        if (path->has_worker && w != path->worker) continue;
        const struct vs_record *record = store_record(w);
        if (strcmp(record->identity, path->identity) == 0 || !holds(record)) return false;
    }
    return true;
}

/* Returns the first living process that got no id since the storm, or -1. */
static int without_ids(void) {
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && !sim.proc[i].ids_calm && !is_shut_out(&sim.path[sim.proc[i].path])) return i;
    return -1;
}

/* A lease that ended before the first watermark, and had no deadline, may hold it back for a day. */
static bool mark_is_behind(void) {
    return sim.is_marked && sim.marked && mark_behind_us() > BEHIND_US;
}

static void calm(int64_t ahead_us) {
    int64_t until_us = sim.now_us + patience_us(ahead_us);
    int stuck;
    do {
        run_until(sim.now_us + SEC);
        stuck = without_ids();
    } while (stuck >= 0 && sim.now_us < until_us && !sim.found);
    while (mark_is_behind() && sim.now_us < until_us && !sim.found)
        run_until(sim.now_us + SEC);
    if (mark_is_behind() && !sim.found)
        oracle_found(BEHIND, "the watermark is %.1f s behind the clock", (double)mark_behind_us() / 1e6);
    if (stuck >= 0 && !sim.found)
        oracle_found(STUCK, "process %d at %s has no id %.0f s after the last fault; its keeper reports: %s", stuck,
                     sim.path[sim.proc[stuck].path].identity, (double)patience_us(ahead_us) / 1e6,
                     (const char *)sim.file[sim.proc[stuck].file].map->shared.keeper);
}

/* Returns how far ahead of the true time a clock was read or a lease was granted. Both count, because a reboot forgets
 * the clock's readings only. */
static int64_t furthest_ahead_us(void) {
    int64_t most_us = START_UNIX_US + sim.now_us, now_us = most_us;
    for (int i = 0; i < sim.hosts; i++)
        if (sim.host[i].read_max_us > most_us) most_us = sim.host[i].read_max_us;
    for (uint64_t w = 0; w <= sim.worker_max; w++) {
        int64_t until_us = vs_tick_unix_us(&sim.shape, store_record(w)->until);
        if (until_us > most_us) most_us = until_us;
    }
    return most_us - now_us;
}

void schedule_run(uint64_t seed) {
    world_make(seed);
    storm();
    if (!sim.found) {
        begin_calm();
        calm(furthest_ahead_us() + 120 * SEC);
    }
}
